/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pool/iobuf.h"
#include "protocol/mysql_packet.h"

struct spool {
    int fd;
    uint64_t file_bytes;    /* written */
    uint64_t payload_bytes; /* announced by the headers so far */
    uint64_t packet_left;   /* of the packet in hand */
    bool continues;         /* another packet follows it */
    bool whole;
    uint8_t header[MYSQL_HEADER_BYTES];
    uint8_t header_have;
    uint8_t seq; /* of the next packet */
    uint64_t sent;
    uint8_t block[SPOOL_BLOCK_BYTES];
};

static int open_file(void)
{
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (!places[i] || !*places[i])
            continue;
        int fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
    }
    return memfd_create("sluice-spool", MFD_CLOEXEC);
}

struct spool *spool_new(void)
{
    int fd = open_file();
    if (fd < 0)
        return NULL;
    struct spool *s = malloc(sizeof *s);
    if (!s) {
        (void)close(fd);
        return NULL;
    }
    memset(s, 0, offsetof(struct spool, block));
    s->fd = fd;
    s->continues = true; /* the first packet */
    return s;
}

void spool_free(struct spool *s)
{
    if (!s)
        return;
    (void)close(s->fd);
    free(s);
}

static bool write_all(struct spool *s, const uint8_t *at, size_t len)
{
    while (len) {
        ssize_t n = pwrite(s->fd, at, len, (off_t)s->file_bytes);
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
        s->file_bytes += (uint64_t)n;
    }
    return true;
}

static bool read_all(struct spool *s, uint64_t from, uint8_t *at, size_t len)
{
    while (len) {
        ssize_t n = pread(s->fd, at, len, (off_t)from);
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
        from += (uint64_t)n;
    }
    return true;
}

/* Collects a header; false when it is out of order or cannot be kept. */
static bool begin_packet(struct spool *s)
{
    if (s->header[3] != s->seq++ || !write_all(s, s->header, MYSQL_HEADER_BYTES))
        return false;
    s->packet_left = mysql_header_length(s->header);
    s->payload_bytes += s->packet_left;
    s->continues = s->packet_left == MYSQL_PAYLOAD_MAX_BYTES;
    s->header_have = 0;
    return true;
}

enum wire_result spool_take(struct spool *s, struct bytes in, size_t *used)
{
    *used = 0;
    while (*used < in.len && !s->whole) {
        const uint8_t *at = in.at + *used;
        size_t left = in.len - *used;
        if (s->packet_left == 0 && s->continues) {
            s->header[s->header_have++] = *at;
            ++*used;
            if (s->header_have == MYSQL_HEADER_BYTES && !begin_packet(s))
                return WIRE_BAD;
        } else {
            size_t n = s->packet_left < left ? (size_t)s->packet_left : left;
            if (!write_all(s, at, n))
                return WIRE_BAD;
            s->packet_left -= n;
            *used += n;
        }
        s->whole = s->packet_left == 0 && !s->continues;
    }
    return s->whole ? WIRE_DONE : WIRE_MORE;
}

uint64_t spool_payload_bytes(const struct spool *s)
{
    return s->payload_bytes;
}

void spool_rest(const struct spool *s, uint64_t *left, bool *continues, uint8_t *next_seq)
{
    *left = s->packet_left;
    *continues = s->continues;
    *next_seq = s->seq;
}

size_t spool_head(struct spool *s, uint8_t *out, size_t room)
{
    size_t first =
        s->file_bytes > MYSQL_HEADER_BYTES ? (size_t)(s->file_bytes - MYSQL_HEADER_BYTES) : 0;
    size_t n = first < room ? first : room;
    return read_all(s, MYSQL_HEADER_BYTES, out, n) ? n : 0;
}

bool spool_scan(struct spool *s, struct sql_scan *scan)
{
    uint64_t at = MYSQL_HEADER_BYTES + 1;
    uint64_t packet_end = MYSQL_HEADER_BYTES + (uint64_t)MYSQL_PAYLOAD_MAX_BYTES;
    while (at < s->file_bytes) {
        if (at == packet_end) { /* a header in between */
            at += MYSQL_HEADER_BYTES;
            packet_end = at + MYSQL_PAYLOAD_MAX_BYTES;
            continue;
        }
        uint64_t end = packet_end < s->file_bytes ? packet_end : s->file_bytes;
        size_t n = end - at < SPOOL_BLOCK_BYTES ? (size_t)(end - at) : SPOOL_BLOCK_BYTES;
        if (!read_all(s, at, s->block, n))
            return false;
        sql_scan_feed(scan, bytes_of(s->block, n));
        at += n;
    }
    return true;
}

struct bytes spool_next(struct spool *s)
{
    uint64_t left = s->file_bytes - s->sent;
    size_t n = left < SPOOL_BLOCK_BYTES ? (size_t)left : SPOOL_BLOCK_BYTES;
    if (!read_all(s, s->sent, s->block, n))
        return bytes_of(NULL, 0);
    s->sent += n;
    return bytes_of(s->block, n);
}

void spool_rewind(struct spool *s)
{
    s->sent = 0;
}
