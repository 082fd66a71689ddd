/* SPDX-License-Identifier: Apache-2.0
 *
 * What a text does: which pins it begins, whether it may be answered here, what has to be found out
 * once it has run. For COM_QUERY and for what COM_STMT_EXECUTE executes alike. The table of state
 * in proxy/README.md is this file in words. Loop thread only. */
#ifndef SLUICE_PROXY_QUERY_H
#define SLUICE_PROXY_QUERY_H

#include "proxy/session.h"

struct prepared_facts query_facts(const struct sql_scan *scan);
/* MySQL clears the warnings of the statement before when the next one begins: what holds the
 * backend for them alone ends. Part of query_plan; by itself for what is answered here. */
void query_begin(struct session *s, struct prepared_facts facts);
/* Fills the plan. text: empty when it is not at hand (spooled): then it is not looked at closely.
 */
void query_plan(struct session *s, struct prepared_facts facts, struct bytes text);
/* Answers it here, if that can be done; true: the answer is sent. prepared: it comes as
 * COM_STMT_EXECUTE without parameters. Else it may set the plan to learn. */
bool query_answer(struct session *s, struct bytes text, bool prepared);
/* It asks who holds a lock, and nothing else: the server's id of that becomes the client's. */
bool query_asks_owner(const struct session *s);
/* The client gets the reply with something changed in it. */
bool query_holds_reply(const struct session *s);
/* The plan keeps a copy of the text, if it matters once the statement has run. */
void query_keep_text(struct session *s, struct bytes text);

#endif
