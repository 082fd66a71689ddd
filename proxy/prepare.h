/* SPDX-License-Identifier: Apache-2.0
 *
 * Prepared statements of a client (design.md, MySQL rule 5): a PREPARE that is known is answered
 * here, an EXECUTE goes to whichever backend serves, which is made to prepare the text first if it
 * has not. A cursor, long data, and a client that may see temporary tables get a statement of their
 * own on the backend that they hold. Loop thread only. */
#ifndef SLUICE_PROXY_PREPARE_H
#define SLUICE_PROXY_PREPARE_H

#include "proxy/command.h"

enum command_verdict prepare_take(struct session *s, struct bytes payload); /* COM_STMT_PREPARE */
enum command_verdict prepare_execute(struct session *s, struct bytes payload);
enum command_verdict prepare_long_data(struct session *s, struct bytes payload);
enum command_verdict prepare_fetch(struct session *s, struct bytes payload);
enum command_verdict prepare_reset(struct session *s, struct bytes payload);
enum command_verdict prepare_close(struct session *s, uint32_t id);

/* The backend is there: writes the command with the ids that it knows. 0, or -1 when the connection
 * has failed. payload: the command as it came, spooled or whole. */
int prepare_send(struct session *s, struct bytes payload);
/* The reply to a PREPARE that was not known: to the client, with an id of its own. */
void prepare_deliver(struct session *s, struct bytes reply);
/* What a reply means for statements, as pins. */
uint32_t prepare_outcome(struct session *s, uint32_t pins, bool failed);

#endif
