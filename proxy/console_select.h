/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients ask of any server without being told to, answered so that they feel at home at the
 * console: SELECT @@version_comment and the like, SHOW VARIABLES, SHOW WARNINGS. Loop thread only.
 */
#ifndef SLUICE_PROXY_CONSOLE_SELECT_H
#define SLUICE_PROXY_CONSOLE_SELECT_H

#include "protocol/wire.h"

struct session;

/* text  what stands behind SELECT. False, with nothing sent, when it asks for anything else than
 *       variables, constants, and functions that need no table. */
bool console_select(struct session *s, uint8_t seq, struct bytes text);
/* text  what stands behind SHOW. False when it is none of those that are empty here. */
bool console_show_empty(struct session *s, uint8_t seq, struct bytes text);

#endif
