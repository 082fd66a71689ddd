/* SPDX-License-Identifier: Apache-2.0
 *
 * Going down without a lost request (design.md, MySQL rule 12): not ready at once; listeners open
 * and clients served until none has been active for drain_idle, or drain_timeout is nearly over;
 * then closed, the next command of each client outside a transaction answered with 1053; then the
 * end. Loop thread only. */
#ifndef SLUICE_PROXY_DRAIN_H
#define SLUICE_PROXY_DRAIN_H

struct proxy;

/* A second call changes nothing. */
void drain_begin(struct proxy *p);
/* On the proxy's tick. */
void drain_tick(struct proxy *p);

#endif
