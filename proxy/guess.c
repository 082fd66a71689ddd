/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/guess.h"

#include <stddef.h>

static void refill(struct guesses *g, uint32_t slot, uint64_t now_ms)
{
    uint64_t back = (now_ms - g->slot[slot].since_ms) / GUESS_REFILL_MS;
    if (!back)
        return;
    g->slot[slot].refused =
        back >= g->slot[slot].refused ? 0 : g->slot[slot].refused - (uint32_t)back;
    g->slot[slot].since_ms += back * GUESS_REFILL_MS;
}

bool guess_allowed(struct guesses *g, uint32_t address_hash, uint64_t now_ms)
{
    uint32_t slot = address_hash % GUESS_SLOTS;
    refill(g, slot, now_ms);
    return g->slot[slot].refused < GUESS_BURST;
}

void guess_refused(struct guesses *g, uint32_t address_hash, uint64_t now_ms)
{
    uint32_t slot = address_hash % GUESS_SLOTS;
    refill(g, slot, now_ms);
    if (!g->slot[slot].refused)
        g->slot[slot].since_ms = now_ms;
    g->slot[slot].refused++;
}

void guess_forgiven(struct guesses *g, uint32_t address_hash)
{
    uint32_t slot = address_hash % GUESS_SLOTS;
    if (g->slot[slot].refused)
        g->slot[slot].refused--;
}
