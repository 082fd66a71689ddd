/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing a backend into the state of who has it: only what differs is asked, in one write
 * (design.md, MySQL rules 2 to 5; the table in pool/README.md). Loop thread only. */
#ifndef SLUICE_POOL_RESTORE_H
#define SLUICE_POOL_RESTORE_H

#include "pool/pool.h"

enum restore {
    RESTORE_NOTHING, /* it is in it */
    RESTORE_WAIT,    /* pool_on_answered comes; call again then, there may be more to ask */
    RESTORE_FOLLOW,  /* asked, and the lessee's statement may be written behind it at once */
};

/* Writes what has to be asked so that `b` is in the state of its lessee. A write error dooms it; an
 * answer that refuses is in b->restore_error. */
enum restore restore_ask(struct backend *b);
/* Adds what differs between `b` and `to`: character sets, variables, schema, multi-statements. */
void restore_difference(struct ask_batch *batch, struct backend *b, const struct session_state *to);
/* What `l` wants to execute, if anything, is prepared there, and has served nobody but for the
 * types that it has used itself. */
bool restore_is_prepared(const struct backend *b, const struct lessee *l);

#endif
