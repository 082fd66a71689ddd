/* SPDX-License-Identifier: Apache-2.0
 *
 * Little-endian integers, length-encoded integers and strings ("Protocol Data Types", protocol
 * basics). Any thread. */
#include "protocol/wire.h"

enum {
    LENENC_NULL = 0xFB, /* only in rows, where it stands for NULL */
    LENENC_U16 = 0xFC,
    LENENC_U24 = 0xFD,
    LENENC_U64 = 0xFE,
};

struct wire_reader wire_reader(struct bytes in)
{
    /* Never NULL, so that an empty value differs from none and no arithmetic is done on NULL. */
    static const uint8_t nothing[1];
    const uint8_t *at = in.at ? in.at : nothing;
    return (struct wire_reader){.at = at, .end = at + in.len};
}

struct bytes wire_take(struct wire_reader *r, size_t len)
{
    size_t left = wire_left(r);
#ifdef SLUICE_PLANT_BUG
    left++; /* to see that the fuzz targets find it */
#endif
    if (r->bad || len > left) {
        r->bad = true;
        r->at = r->end;
        return bytes_of(r->at, 0);
    }
    struct bytes taken = bytes_of(r->at, len);
    r->at += len;
    return taken;
}

static uint64_t little_endian(struct wire_reader *r, size_t len)
{
    struct bytes b = wire_take(r, len);
    uint64_t v = 0;
    for (size_t i = 0; i < b.len; i++)
        v |= (uint64_t)b.at[i] << (8 * i);
    return v;
}

uint8_t wire_u8(struct wire_reader *r)
{
    return (uint8_t)little_endian(r, 1);
}

uint16_t wire_u16(struct wire_reader *r)
{
    return (uint16_t)little_endian(r, 2);
}

uint32_t wire_u24(struct wire_reader *r)
{
    return (uint32_t)little_endian(r, 3);
}

uint32_t wire_u32(struct wire_reader *r)
{
    return (uint32_t)little_endian(r, 4);
}

uint64_t wire_u64(struct wire_reader *r)
{
    return little_endian(r, 8);
}

uint64_t wire_lenenc(struct wire_reader *r)
{
    uint8_t first = wire_u8(r);
    if (first < LENENC_NULL)
        return first;
    if (first == LENENC_U16)
        return wire_u16(r);
    if (first == LENENC_U24)
        return wire_u24(r);
    if (first == LENENC_U64)
        return wire_u64(r);
    r->bad = true;
    r->at = r->end; /* once bad nothing is left, whatever was wrong */
    return 0;
}

struct bytes wire_lenenc_bytes(struct wire_reader *r)
{
    uint64_t len = wire_lenenc(r);
    if (len > wire_left(r))
        r->bad = true;
    return wire_take(r, (size_t)len);
}

struct bytes wire_nul_bytes(struct wire_reader *r)
{
    const uint8_t *nul = wire_left(r) ? memchr(r->at, 0, wire_left(r)) : NULL;
    if (!nul)
        r->bad = true;
    struct bytes taken = wire_take(r, nul ? (size_t)(nul - r->at) : 0);
    wire_take(r, 1);
    return taken;
}

struct bytes wire_rest(struct wire_reader *r)
{
    return wire_take(r, wire_left(r));
}

struct wire_writer wire_writer(void *out, size_t room)
{
    uint8_t *start = out;
    return (struct wire_writer){.start = start, .at = start, .end = start + room};
}

void wire_put(struct wire_writer *w, struct bytes b)
{
    if (w->full || b.len > (size_t)(w->end - w->at)) {
        w->full = true;
        return;
    }
    if (b.len > 0)
        memcpy(w->at, b.at, b.len);
    w->at += b.len;
}

static void put_little_endian(struct wire_writer *w, uint64_t v, size_t len)
{
    uint8_t raw[8];
    for (size_t i = 0; i < len; i++)
        raw[i] = (uint8_t)(v >> (8 * i));
    wire_put(w, bytes_of(raw, len));
}

void wire_put_u8(struct wire_writer *w, uint8_t v)
{
    put_little_endian(w, v, 1);
}

void wire_put_u16(struct wire_writer *w, uint16_t v)
{
    put_little_endian(w, v, 2);
}

void wire_put_u24(struct wire_writer *w, uint32_t v)
{
    put_little_endian(w, v, 3);
}

void wire_put_u32(struct wire_writer *w, uint32_t v)
{
    put_little_endian(w, v, 4);
}

void wire_put_u64(struct wire_writer *w, uint64_t v)
{
    put_little_endian(w, v, 8);
}

void wire_put_lenenc(struct wire_writer *w, uint64_t v)
{
    uint8_t raw[9] = {(uint8_t)v};
    size_t len = 1;
    if (v >= LENENC_NULL) {
        raw[0] = v <= 0xFFFF ? LENENC_U16 : v <= 0xFFFFFF ? LENENC_U24 : LENENC_U64;
        len = v <= 0xFFFF ? 3 : v <= 0xFFFFFF ? 4 : 9;
        for (size_t i = 1; i < len; i++)
            raw[i] = (uint8_t)(v >> (8 * (i - 1)));
    }
    wire_put(w, bytes_of(raw, len)); /* in one piece: either all of it fits or none is written */
}

void wire_put_lenenc_bytes(struct wire_writer *w, struct bytes b)
{
    wire_put_lenenc(w, b.len);
    wire_put(w, b);
}

void wire_put_nul_bytes(struct wire_writer *w, struct bytes b)
{
    wire_put(w, b);
    wire_put_u8(w, 0);
}

void wire_put_zeros(struct wire_writer *w, size_t n)
{
    if (w->full || n > (size_t)(w->end - w->at)) {
        w->full = true;
        return;
    }
    memset(w->at, 0, n);
    w->at += n;
}

size_t wire_written(const struct wire_writer *w)
{
    return w->full ? 0 : (size_t)(w->at - w->start);
}
