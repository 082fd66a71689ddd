/* SPDX-License-Identifier: Apache-2.0
 *
 * The prepared statements that a client has open on its backend: the ids, as the server gave them.
 * Loop thread only. */
#ifndef SLUICE_PROXY_STATEMENTS_H
#define SLUICE_PROXY_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory is an empty set. Owns its ids. */
struct statements {
    uint32_t *ids;
    uint32_t count;
    uint32_t room;
};

void statements_add(struct statements *set, uint32_t id);
/* False: it was not there. */
bool statements_remove(struct statements *set, uint32_t id);
bool statements_has(const struct statements *set, uint32_t id);
/* Forgets all and frees the memory. */
void statements_clear(struct statements *set);

#endif
