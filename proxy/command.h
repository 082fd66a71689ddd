/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command is and what follows from it: answered here, refused, or run on a backend, and
 * which pins it begins. The table of state in proxy/README.md is this file in words. Loop thread
 * only. */
#ifndef SLUICE_PROXY_COMMAND_H
#define SLUICE_PROXY_COMMAND_H

#include "proxy/session.h"

enum command_verdict {
    COMMAND_RUN,      /* plan is filled: lend and send */
    COMMAND_ANSWERED, /* done, its answer is sent */
    COMMAND_SCHEMA,   /* bring a backend, or the one that is held, into lessee.state; then OK */
    COMMAND_LOGIN,    /* COM_CHANGE_USER: the LOGIN state goes on */
    COMMAND_QUIT,
    COMMAND_ENDED, /* the session has been ended */
};

/* A whole command. `payload` is its head when it is spooled; a spooled text is read through
 * s->spool. */
enum command_verdict command_take(struct session *s, struct bytes payload);
/* Is it the id of a client that is here now? */
bool command_is_client(const struct session *s, uint64_t id);
/* Puts the client's id in place of CONNECTION_ID(), in plan.packet, or in the one value of the
 * reply. False: the text cannot be read so closely, or is about the server's own threads; then it
 * is the server's id, and stays the same as long as the backend is held. */
MUST_CHECK bool command_write_connection_id(struct session *s, uint8_t command, struct bytes text);
/* Does it compare ids of the server's with that of another client? */
bool command_compares_another(const struct session *s, struct bytes text);
/* plan.compares_ids: the command as it has to go out now, in plan.packet. */
void command_write_compared(struct session *s, struct bytes payload);
/* Quickly: may it ask for the connection's id, or hold a number that is a client's? */
bool command_may_hold_id(const struct prepared_facts *facts, struct bytes text);
/* KILL of a client of ours. */
enum command_verdict command_kill(struct session *s, uint64_t id, bool query_only);
/* The command in hand kills what only the server can tell, as KILL @id: if it says that it knows no
 * such id, and that is one of ours, outcome_kill does it. */
void command_kill_later(struct session *s, bool query_only);

#endif
