/* SPDX-License-Identifier: Apache-2.0
 *
 * The words that every parser here uses: a borrowed run of bytes, a reader and a writer over one,
 * and the verdict. Keeps no state of its own and allocates nothing: any thread. */
#ifndef SLUICE_PROTOCOL_WIRE_H
#define SLUICE_PROTOCOL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MUST_CHECK __attribute__((warn_unused_result))

/* What a parser says of the bytes it was shown. */
enum wire_result {
    WIRE_DONE, /* all of it is there and was read */
    WIRE_MORE, /* right so far, show me more */
    WIRE_BAD,  /* can never become right */
};

/* Borrowed bytes; they belong to whoever filled them in and end with his buffer. */
struct bytes {
    const uint8_t *at;
    size_t len;
};

static inline struct bytes bytes_of(const void *at, size_t len)
{
    return (struct bytes){.at = at, .len = len};
}

static inline struct bytes bytes_text(const char *text)
{
    return bytes_of(text, strlen(text));
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Reads from the front of a whole payload. `bad` sticks: after one short read all further ones give
 * zero or empty, so that a caller checks once, at the end. */
struct wire_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

struct wire_reader wire_reader(struct bytes in);
uint8_t wire_u8(struct wire_reader *r);
uint16_t wire_u16(struct wire_reader *r);
uint32_t wire_u24(struct wire_reader *r);
uint32_t wire_u32(struct wire_reader *r);
uint64_t wire_u64(struct wire_reader *r);
/* Length-encoded integer (protocol::LengthEncodedInteger). 0xFB and 0xFF are bad. */
uint64_t wire_lenenc(struct wire_reader *r);
/* `len` bytes, borrowed from the input. */
struct bytes wire_take(struct wire_reader *r, size_t len);
/* Length-encoded string. */
struct bytes wire_lenenc_bytes(struct wire_reader *r);
/* Up to and over a NUL; bad without one. The NUL is not in the result. */
struct bytes wire_nul_bytes(struct wire_reader *r);
/* All that is left. */
struct bytes wire_rest(struct wire_reader *r);
static inline size_t wire_left(const struct wire_reader *r)
{
    return (size_t)(r->end - r->at);
}

/* Writes into the caller's buffer. `full` sticks: nothing is written after the first thing that did
 * not fit. */
struct wire_writer {
    uint8_t *start;
    uint8_t *at;
    uint8_t *end;
    bool full;
};

struct wire_writer wire_writer(void *out, size_t room);
void wire_put_u8(struct wire_writer *w, uint8_t v);
void wire_put_u16(struct wire_writer *w, uint16_t v);
void wire_put_u24(struct wire_writer *w, uint32_t v);
void wire_put_u32(struct wire_writer *w, uint32_t v);
void wire_put_u64(struct wire_writer *w, uint64_t v);
void wire_put_lenenc(struct wire_writer *w, uint64_t v);
void wire_put(struct wire_writer *w, struct bytes b);
void wire_put_lenenc_bytes(struct wire_writer *w, struct bytes b);
/* The bytes and a NUL behind them. */
void wire_put_nul_bytes(struct wire_writer *w, struct bytes b);
void wire_put_zeros(struct wire_writer *w, size_t n);
/* Bytes written; 0 once full. */
size_t wire_written(const struct wire_writer *w);

/* Writes over four bytes that stand there. */
static inline void wire_set_u32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

#endif
