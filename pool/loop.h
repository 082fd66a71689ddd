/* SPDX-License-Identifier: Apache-2.0
 *
 * What one event loop owns: the libuv loop and the buffers that all its connections read into,
 * since at any moment only one of them is being read. Everything else of a loop hangs off objects
 * that name their loop. Loop thread only. */
#ifndef SLUICE_POOL_LOOP_H
#define SLUICE_POOL_LOOP_H

#include <stdint.h>
#include <uv.h>

enum {
    LOOP_READ_BYTES = 128 * 1024,
    LOOP_PLAIN_BYTES = 16 * 1024 + 512, /* one TLS record's worth */
};

struct loop {
    uv_loop_t uv;
    uint64_t bytes_from_clients;
    uint64_t bytes_to_clients;
    uint8_t read_buffer[LOOP_READ_BYTES];   /* lent to libuv for one read */
    uint8_t plain_buffer[LOOP_PLAIN_BYTES]; /* what TLS makes of it */
};

/* Milliseconds of the loop's clock, which stands still during one turn. */
static inline uint64_t loop_now_ms(const struct loop *loop)
{
    return uv_now(&loop->uv);
}

#endif
