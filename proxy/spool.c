/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/spool.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pool/iobuf.h"
#include "protocol/mysql_packet.h"

/* What goes out instead of a range of the payload. */
struct spool_edit {
    uint64_t at;
    uint64_t old_bytes;
    uint8_t *with; /* owned */
    size_t bytes;
};

/* How far sending is. */
struct spool_cursor {
    uint64_t from;  /* in the payload as it came */
    uint64_t given; /* of the payload as it goes out */
    uint32_t edits; /* done with */
    size_t edit_given;
    uint64_t packet_left;
    bool last; /* no packet follows the one in hand */
    uint8_t seq;
};

struct spool {
    int fd;
    uint64_t file_bytes;    /* written */
    uint64_t payload_bytes; /* announced by the headers so far */
    uint64_t packet_left;   /* of the packet in hand */
    bool continues;         /* another packet follows it */
    bool whole;
    uint8_t header[MYSQL_HEADER_BYTES];
    uint8_t header_have;
    uint8_t seq;                             /* of the next packet */
    struct spool_edit edit[SPOOL_EDITS_MAX]; /* ascending, apart */
    uint32_t edits;
    struct spool_cursor out;
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
    for (uint32_t i = 0; i < s->edits; i++)
        free(s->edit[i].with);
    free(s);
}

static size_t smaller(uint64_t a, size_t b)
{
    return a < b ? (size_t)a : b;
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

/* Payload as it came, from `from` up to the next packet's header. 0: the file cannot be read. */
static size_t read_payload(struct spool *s, uint64_t from, uint8_t *at, size_t room)
{
    uint64_t packet = from / MYSQL_PAYLOAD_MAX_BYTES;
    size_t n = smaller((packet + 1) * MYSQL_PAYLOAD_MAX_BYTES - from, room);
    return read_all(s, from + (packet + 1) * MYSQL_HEADER_BYTES, at, n) ? n : 0;
}

size_t spool_head(struct spool *s, uint8_t *out, size_t room)
{
    size_t len = smaller(s->payload_bytes - s->packet_left, room);
    for (size_t have = 0, n; have < len; have += n) {
        n = read_payload(s, have, out + have, len - have);
        if (!n)
            return 0;
    }
    return len;
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

void spool_replace(struct spool *s, size_t at, size_t old_bytes, struct bytes with)
{
    assert(s->whole && at + old_bytes <= s->payload_bytes);
    uint32_t i = 0;
    while (i < s->edits && s->edit[i].at < at)
        i++;
    if (i < s->edits && s->edit[i].at == at) {
        free(s->edit[i].with);
    } else {
        assert(s->edits < SPOOL_EDITS_MAX);
        memmove(&s->edit[i + 1], &s->edit[i], (s->edits - i) * sizeof s->edit[0]);
        s->edits++;
    }
    s->edit[i] = (struct spool_edit){
        .at = at, .old_bytes = old_bytes, .with = (uint8_t *)xstrndup(with), .bytes = with.len};
    assert(i == 0 || s->edit[i - 1].at + s->edit[i - 1].old_bytes <= at);
    assert(i + 1 == s->edits || at + old_bytes <= s->edit[i + 1].at);
    spool_rewind(s);
}

uint64_t spool_outgoing_bytes(const struct spool *s)
{
    uint64_t bytes = s->payload_bytes;
    for (uint32_t i = 0; i < s->edits; i++)
        bytes = bytes - s->edit[i].old_bytes + s->edit[i].bytes;
    return bytes;
}

static void begin_outgoing(struct spool *s, uint8_t *header)
{
    struct spool_cursor *out = &s->out;
    uint64_t left = spool_outgoing_bytes(s) - out->given;
    out->last = left < MYSQL_PAYLOAD_MAX_BYTES;
    out->packet_left = out->last ? left : MYSQL_PAYLOAD_MAX_BYTES;
    mysql_header_write(header, (uint32_t)out->packet_left, out->seq++);
}

/* Up to the next packet's header or edit. 0: the file cannot be read. */
static size_t give_kept(struct spool *s, uint8_t *at, size_t room)
{
    struct spool_cursor *out = &s->out;
    if (out->edits < s->edits)
        room = smaller(s->edit[out->edits].at - out->from, room);
    size_t n = read_payload(s, out->from, at, room);
    out->from += n;
    return n;
}

/* At least a byte of the payload, `room` at most; some must be left. 0: the file cannot be read. */
static size_t give_payload(struct spool *s, uint8_t *at, size_t room)
{
    struct spool_cursor *out = &s->out;
    while (out->edits < s->edits && out->from == s->edit[out->edits].at) {
        const struct spool_edit *e = &s->edit[out->edits];
        size_t n = smaller(e->bytes - out->edit_given, room);
        if (n) {
            memcpy(at, e->with + out->edit_given, n);
            out->edit_given += n;
            return n;
        }
        out->from += e->old_bytes;
        out->edit_given = 0;
        out->edits++;
    }
    return give_kept(s, at, room);
}

struct bytes spool_next(struct spool *s)
{
    struct spool_cursor *out = &s->out;
    size_t len = 0;
    /* A header is never cut. */
    while (SPOOL_BLOCK_BYTES - len >= MYSQL_HEADER_BYTES && (out->packet_left || !out->last)) {
        if (!out->packet_left) {
            begin_outgoing(s, s->block + len);
            len += MYSQL_HEADER_BYTES;
            continue;
        }
        size_t n =
            give_payload(s, s->block + len, smaller(out->packet_left, SPOOL_BLOCK_BYTES - len));
        if (!n)
            return bytes_of(NULL, 0);
        out->packet_left -= n;
        out->given += n;
        len += n;
    }
    return bytes_of(s->block, len);
}

void spool_rewind(struct spool *s)
{
    s->out = (struct spool_cursor){0};
}
