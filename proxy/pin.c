/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/pin.h"

const char *pin_word(enum pin_reason r)
{
    static const char *const word[] = {
#define X(id, w, held) w,
        PINS(X)
#undef X
    };
    return word[r];
}

const char *pin_held_text(uint32_t pins)
{
    static const char *const text[] = {
#define X(id, w, held) held,
        PINS(X)
#undef X
    };
    for (unsigned r = 0; r < PIN_REASONS_COUNT; r++)
        if (pins & 1u << r)
            return text[r];
    return "running a statement";
}
