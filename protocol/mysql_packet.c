/* SPDX-License-Identifier: Apache-2.0
 *
 * See mysql_packet.h. */
#include "protocol/mysql_packet.h"

enum wire_result mysql_packet_read(struct bytes in, size_t limit_bytes, uint8_t *seq,
                                   struct bytes *payload, size_t *used_bytes)
{
    if (in.len < MYSQL_HEADER_BYTES)
        return WIRE_MORE;
    size_t len = mysql_header_length(in.at);
    if (len > limit_bytes)
        return WIRE_BAD;
    if (in.len - MYSQL_HEADER_BYTES < len)
        return WIRE_MORE;
    *seq = in.at[3];
    *payload = bytes_of(in.at + MYSQL_HEADER_BYTES, len);
    *used_bytes = MYSQL_HEADER_BYTES + len;
    return WIRE_DONE;
}

size_t mysql_packet_begin(struct wire_writer *w)
{
    size_t begin = (size_t)(w->at - w->start);
    wire_put_zeros(w, MYSQL_HEADER_BYTES);
    return begin;
}

size_t mysql_packet_end(struct wire_writer *w, size_t begin, uint8_t seq)
{
    if (w->full)
        return 0;
    size_t whole = (size_t)(w->at - w->start) - begin;
    if (whole - MYSQL_HEADER_BYTES >= MYSQL_PAYLOAD_MAX_BYTES) {
        w->full = true; /* it would go on in a second packet */
        return 0;
    }
    mysql_header_write(w->start + begin, (uint32_t)(whole - MYSQL_HEADER_BYTES), seq);
    return whole;
}
