/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/iobuf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IOBUF_FIRST_BYTES = 256 };

void *xmalloc(size_t n)
{
    void *p = malloc(n);
    if (!p) {
        (void)fprintf(stderr, "sluice: out of memory (%zu bytes)\n", n);
        abort();
    }
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p) {
        (void)fprintf(stderr, "sluice: out of memory (%zu bytes)\n", n * size);
        abort();
    }
    return p;
}

char *xstrndup(struct bytes text)
{
    char *copy = xmalloc(text.len + 1);
    if (text.len)
        memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return copy;
}

void iobuf_init(struct iobuf *b, uint32_t limit_bytes)
{
    *b = (struct iobuf){.limit_bytes = limit_bytes};
}

void iobuf_fini(struct iobuf *b)
{
    free(b->data);
    iobuf_init(b, b->limit_bytes);
}

void iobuf_wipe(struct iobuf *b)
{
    if (b->data)
        explicit_bzero(b->data, b->room);
    iobuf_fini(b);
}

uint8_t *iobuf_reserve(struct iobuf *b, size_t n)
{
    size_t len = iobuf_len(b);
    if (n > b->limit_bytes || len > b->limit_bytes - n)
        return NULL;
    if (b->room - b->end >= n)
        return b->data + b->end;
    if (b->start) {
        memmove(b->data, b->data + b->start, len);
        b->start = 0;
        b->end = (uint32_t)len;
        if (b->room - b->end >= n)
            return b->data + b->end;
    }
    size_t room = b->room ? b->room : IOBUF_FIRST_BYTES;
    while (room < len + n)
        room *= 2;
    uint8_t *grown = realloc(b->data, room);
    if (!grown)
        return NULL;
    b->data = grown;
    b->room = (uint32_t)room;
    return b->data + b->end;
}

void iobuf_grew(struct iobuf *b, size_t n)
{
    assert(n <= b->room - b->end);
    b->end += (uint32_t)n;
}

bool iobuf_append(struct iobuf *b, struct bytes add)
{
    if (!add.len)
        return true;
    uint8_t *at = iobuf_reserve(b, add.len);
    if (!at)
        return false;
    memcpy(at, add.at, add.len);
    b->end += (uint32_t)add.len;
    return true;
}

void iobuf_consume(struct iobuf *b, size_t n)
{
    assert(n <= iobuf_len(b));
    b->start += (uint32_t)n;
    if (b->start == b->end)
        iobuf_fini(b);
}
