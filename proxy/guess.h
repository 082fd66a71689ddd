/* SPDX-License-Identifier: Apache-2.0
 *
 * Brakes the guessing of passwords: so many refused logins per client address and time, so that the
 * server never counts the sidecar as an attacker. A fixed table; addresses that collide share a
 * count. Loop thread only. */
#ifndef SLUICE_PROXY_GUESS_H
#define SLUICE_PROXY_GUESS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GUESS_SLOTS = 512,
    GUESS_BURST = 40,       /* refusals, or first logins under way, that may come at once */
    GUESS_REFILL_MS = 1000, /* one more after so long */
};

struct guesses {
    struct {
        uint32_t refused;
        uint64_t since_ms;
    } slot[GUESS_SLOTS];
};

/* May this address try one more password now? */
bool guess_allowed(struct guesses *g, uint32_t address_hash, uint64_t now_ms);
/* One was refused. */
void guess_refused(struct guesses *g, uint32_t address_hash, uint64_t now_ms);

/* It was right, or nobody said that it was not. */
void guess_forgiven(struct guesses *g, uint32_t address_hash);

#endif
