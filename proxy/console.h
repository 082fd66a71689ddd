/* SPDX-License-Identifier: Apache-2.0
 *
 * The admin console: SQL of our own for any MySQL client that names the database "sluice" and may
 * (interface.md, "Admin SQL"). A user of admin.users comes in by his password; when there is none
 * configured, whoever comes over a unix socket as our own uid or as root. Nobody else: to them
 * "sluice" is a schema like any other. A session of the console has `console` set and neither an
 * account nor a pool. Loop thread only. */
#ifndef SLUICE_PROXY_CONSOLE_H
#define SLUICE_PROXY_CONSOLE_H

#include "proxy/command.h"

struct user_option;

#define CONSOLE_DATABASE "sluice"

enum console_entry {
    CONSOLE_NOT_MEANT, /* an ordinary client */
    CONSOLE_FREE,      /* let in as it is */
    CONSOLE_PASSWORD,  /* once the password of console_user is proven */
};

enum console_entry console_entry_of(const struct session *s, struct bytes user,
                                    struct bytes schema);
/* The user of admin.users with this name; NULL: none. Of the options in force: not to be kept. */
const struct user_option *console_user(const struct proxy *p, struct bytes name);
/* A whole command of a session of the console, COM_QUIT and COM_CHANGE_USER apart; its head when it
 * was too large to be held. Sends the whole answer. */
enum command_verdict console_take(struct session *s, struct bytes payload);

#endif
