/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the pools on a timer: deadlines, the liveness of idle backends, warm connections, waiters
 * whose time is up. It asks health/verdict what to do with each; here it is done. Loop thread only.
 */
#ifndef SLUICE_POOL_JANITOR_H
#define SLUICE_POOL_JANITOR_H

struct target;

enum { JANITOR_TICK_MS = 100 };

/* Every JANITOR_TICK_MS. */
void janitor_tick(struct target *t);

#endif
