/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/statements.h"

#include <stdlib.h>
#include <string.h>

#include "pool/iobuf.h"

/* A client has a few open at a time, the newest used most: looked for from the end. */
static uint32_t place_of(const struct statements *set, uint32_t id)
{
    for (uint32_t i = set->count; i-- > 0;)
        if (set->ids[i] == id)
            return i;
    return set->count;
}

void statements_add(struct statements *set, uint32_t id)
{
    if (set->count == set->room) {
        uint32_t room = set->room ? set->room * 2 : 4;
        uint32_t *grown = xcalloc(room, sizeof *grown);
        if (set->count)
            memcpy(grown, set->ids, set->count * sizeof *grown);
        free(set->ids);
        set->ids = grown;
        set->room = room;
    }
    set->ids[set->count++] = id;
}

bool statements_remove(struct statements *set, uint32_t id)
{
    uint32_t i = place_of(set, id);
    if (i == set->count)
        return false;
    memmove(&set->ids[i], &set->ids[i + 1], (set->count - i - 1) * sizeof *set->ids);
    if (--set->count == 0)
        statements_clear(set);
    return true;
}

bool statements_has(const struct statements *set, uint32_t id)
{
    return place_of(set, id) < set->count;
}

void statements_clear(struct statements *set)
{
    free(set->ids);
    *set = (struct statements){0};
}
