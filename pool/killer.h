/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements whose client has gone: each is killed by KILL QUERY over a side connection of the same
 * user, and its backend stays owned until both the statement's end and the KILL's answer were seen,
 * since a late KILL would hit whatever runs there next (design.md, MySQL rule 11). One side
 * connection per pool at a time, out of `reserved`. Loop thread only. */
#ifndef SLUICE_POOL_KILLER_H
#define SLUICE_POOL_KILLER_H

#include <stdbool.h>

struct backend;
struct pool;

/* Asks for a KILL QUERY of what runs on `b`, LENT or ABANDONED; once, however often it is asked
 * for. */
void killer_kill(struct backend *b);
/* The KILL of `b` is out and not answered: it must not be given to anyone. */
bool killer_has_out(const struct backend *b);
/* One that is not out yet need not go. */
void killer_forget(struct backend *b);
/* Opens the side connection when something waits for it and there is room. */
void killer_pump(struct pool *p);
/* statement_over or kill_over of an ABANDONED backend has become true. May reset it. */
void killer_on_statement_over(struct backend *b);
/* All questions of a SIDE backend are answered. */
void killer_on_answered(struct backend *side);
/* A backend, victim or side connection, is about to close. */
void killer_on_end(struct backend *b);

#endif
