/* SPDX-License-Identifier: Apache-2.0
 *
 * See window.h. Any thread. */
#include "health/window.h"

static uint64_t low_bits(unsigned n)
{
    return n >= WINDOW_SIZE ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

void window_push(struct window *window, bool good)
{
    window->bits = window->bits << 1 | (good ? 1 : 0);
    if (window->pushed < WINDOW_SIZE)
        window->pushed++;
}

unsigned window_good(const struct window *window, unsigned of)
{
    return (unsigned)__builtin_popcountll(window->bits & low_bits(of));
}

bool window_healthy(const struct window *window, unsigned need, unsigned of)
{
    return window_good(window, of) >= need;
}

void window_start(struct window *window, unsigned good)
{
    window->bits = low_bits(good);
    window->pushed = good < WINDOW_SIZE ? good : WINDOW_SIZE;
}

unsigned window_bad_run(const struct window *window)
{
    unsigned zeros = window->bits == 0 ? WINDOW_SIZE : (unsigned)__builtin_ctzll(window->bits);
    return zeros < window->pushed ? zeros : window->pushed;
}
