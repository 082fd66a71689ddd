/* SPDX-License-Identifier: Apache-2.0
 *
 * The last 64 probe results of one server, newest in bit 0, as Varnish keeps them: healthy is "good
 * of last N". Zeroed memory is an empty window; what was never pushed counts as bad. Any thread;
 * the struct is its owner's. */
#ifndef SLUICE_HEALTH_WINDOW_H
#define SLUICE_HEALTH_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_SIZE = 64 };

struct window {
    uint64_t bits;   /* 1 = good; bit 0 the newest */
    unsigned pushed; /* how many bits are results, up to WINDOW_SIZE */
};

void window_push(struct window *window, bool good);

/* Good ones among the last `of`; 0..of. `of` above WINDOW_SIZE counts as WINDOW_SIZE. */
unsigned window_good(const struct window *window, unsigned of);

/* At least `need` good among the last `of`. */
bool window_healthy(const struct window *window, unsigned need, unsigned of);

/* Starts over as if the last `good` probes had succeeded: a server need not earn its first use. */
void window_start(struct window *window, unsigned good);

/* Bad results in a row up to now, 0..pushed. */
unsigned window_bad_run(const struct window *window);

#endif
