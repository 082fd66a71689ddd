/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reply tells: the session's state, its pins, its last statement. Loop thread only. */
#ifndef SLUICE_PROXY_OUTCOME_H
#define SLUICE_PROXY_OUTCOME_H

#include "proxy/session.h"

/* A tracker in the reply. */
void outcome_on_track(void *session, const struct mysql_track *track);
/* The reply to plan.command is over (it lies in the backend). */
void outcome_take(struct session *s);
/* Something about the session has to be asked of the server: asks it and says true; on_lent comes
 * with the answer. Again and again, until false. */
bool outcome_ask(struct session *s);
/* The answer to what outcome_ask asked is there. */
void outcome_answered(struct session *s);
/* All is known: what was learned is kept. The backend is still there. */
void outcome_finish(struct session *s);
/* A held reply is over: as the client gets it. */
void outcome_deliver(struct session *s);
/* Behind outcome_take: a KILL whose id the server did not know is one of ours: answers it. False:
 * the session has killed itself. */
MUST_CHECK bool outcome_kill(struct session *s);

#endif
