/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes in order with a mandatory upper bound: appended behind, consumed in front. Its memory goes
 * when it is empty. Loop thread only. */
#ifndef SLUICE_POOL_IOBUF_H
#define SLUICE_POOL_IOBUF_H

#include "protocol/wire.h"

struct iobuf {
    uint8_t *data;
    uint32_t start;
    uint32_t end;
    uint32_t room;
    uint32_t limit_bytes; /* set by iobuf_init; an append beyond it fails */
};

void iobuf_init(struct iobuf *b, uint32_t limit_bytes);
/* Frees the memory; the buffer is empty and usable afterwards. */
void iobuf_fini(struct iobuf *b);
/* Empties it but keeps its memory, for one that is used over and over. */
static inline void iobuf_clear(struct iobuf *b)
{
    b->start = b->end = 0;
}
/* Wipes before it frees: for what may hold a password. */
void iobuf_wipe(struct iobuf *b);

static inline size_t iobuf_len(const struct iobuf *b)
{
    return b->end - b->start;
}

static inline struct bytes iobuf_bytes(const struct iobuf *b)
{
    return bytes_of(b->data ? b->data + b->start : NULL, iobuf_len(b)); /* NULL + 0 is undefined */
}

/* False when the limit would be passed; nothing is added then. `add` must not lie in the buffer. */
MUST_CHECK bool iobuf_append(struct iobuf *b, struct bytes add);
/* At least `n` bytes of room behind the end, NULL beyond the limit; iobuf_grew says how many were
 * filled. */
MUST_CHECK uint8_t *iobuf_reserve(struct iobuf *b, size_t n);
void iobuf_grew(struct iobuf *b, size_t n);
/* Drops n bytes in front; frees the memory when nothing is left. */
void iobuf_consume(struct iobuf *b, size_t n);

/* malloc and friends that end the process with a message instead of returning NULL: for small
 * objects, whose absence nothing could be done about. */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
char *xstrndup(struct bytes text);

#endif
