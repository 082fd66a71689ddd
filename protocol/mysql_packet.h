/* SPDX-License-Identifier: Apache-2.0
 *
 * The packet: 3 bytes of payload length, 1 of sequence id, payload. A payload of exactly 0xFFFFFF
 * bytes goes on in the next packet. ("MySQL Packets", protocol basics of the MySQL internals
 * documentation.) Any thread. */
#ifndef SLUICE_PROTOCOL_MYSQL_PACKET_H
#define SLUICE_PROTOCOL_MYSQL_PACKET_H

#include "protocol/wire.h"

enum {
    MYSQL_HEADER_BYTES = 4,
    MYSQL_PAYLOAD_MAX_BYTES = 0xFFFFFF,
};

/* Reads one whole packet from the front of `in`.
 *
 * in          bytes not yet consumed; borrowed
 * limit_bytes largest payload to accept, 0..MYSQL_PAYLOAD_MAX_BYTES
 * seq, payload, used_bytes  filled only on WIRE_DONE; payload borrows from `in`
 *
 * WIRE_DONE, WIRE_MORE, or WIRE_BAD when the length in the header is above limit_bytes. */
MUST_CHECK enum wire_result mysql_packet_read(struct bytes in, size_t limit_bytes, uint8_t *seq,
                                              struct bytes *payload, size_t *used_bytes);

static inline uint32_t mysql_header_length(const uint8_t *header)
{
    return (uint32_t)header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16;
}

static inline void mysql_header_write(uint8_t *header, uint32_t payload_bytes, uint8_t seq)
{
    header[0] = (uint8_t)payload_bytes;
    header[1] = (uint8_t)(payload_bytes >> 8);
    header[2] = (uint8_t)(payload_bytes >> 16);
    header[3] = seq;
}

/* Leaves room for a header in front of what is written next; mysql_packet_end fills it in and gives
 * the number of bytes of the whole packet, 0 when the writer is full. One packet only: the payload
 * is below 0xFFFFFF. */
size_t mysql_packet_begin(struct wire_writer *w);
size_t mysql_packet_end(struct wire_writer *w, size_t begin, uint8_t seq);

#endif
