/* SPDX-License-Identifier: Apache-2.0
 *
 * How long to wait before the next attempt: exponential with full jitter, so that many sidecars do
 * not call on a recovering server in step. Deterministic from the caller's random number. Any
 * thread; the struct is its owner's. */
#ifndef SLUICE_HEALTH_BACKOFF_H
#define SLUICE_HEALTH_BACKOFF_H

#include <stdint.h>

struct backoff_rules {
    uint64_t base_ms; /* ceiling of the first wait; 0 counts as 1 */
    uint64_t cap_ms;  /* no ceiling is above it; 0 counts as 1 */
};

/* 100 ms, 200, 400 ... 5 s. */
#define BACKOFF_RULES_DEFAULT ((struct backoff_rules){.base_ms = 100, .cap_ms = 5000})

struct backoff {
    unsigned failures; /* in a row; zeroed memory is a fresh one */
};

/* Counts one more failure and gives the wait before the next attempt: 1 .. min(cap_ms, base_ms *
 * 2^(failures - 1)) ms, evenly spread by `random` (all 64 bits of it). Never 0: a timer is always
 * in between. */
uint64_t backoff_next_ms(struct backoff *backoff, const struct backoff_rules *rules,
                         uint64_t random);

/* After a success. */
void backoff_reset(struct backoff *backoff);

#endif
