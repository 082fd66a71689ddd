/* SPDX-License-Identifier: Apache-2.0
 *
 * See backoff.h. Any thread. */
#include "health/backoff.h"

uint64_t backoff_next_ms(struct backoff *backoff, const struct backoff_rules *rules,
                         uint64_t random)
{
    uint64_t cap_ms = rules->cap_ms > 0 ? rules->cap_ms : 1;
    uint64_t ceiling_ms = rules->base_ms > 0 ? rules->base_ms : 1;
    for (unsigned i = 0; i < backoff->failures && ceiling_ms < cap_ms; i++)
        ceiling_ms = ceiling_ms <= cap_ms / 2 ? ceiling_ms * 2 : cap_ms;
    if (ceiling_ms > cap_ms)
        ceiling_ms = cap_ms;
    if (backoff->failures < UINT32_MAX)
        backoff->failures++;
    /* The high half of the product: even over 0..ceiling-1, without the bias of a remainder. */
    return 1 + (uint64_t)(((unsigned __int128)random * ceiling_ms) >> 64);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}
