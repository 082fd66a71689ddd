/* SPDX-License-Identifier: Apache-2.0
 *
 * Judges the reply to the probe, a COM_QUERY (`probe_query`, by default SELECT 1), on a connection
 * that negotiated CLIENT_DEPRECATE_EOF. Pure; any thread. */
#ifndef SLUICE_HEALTH_PROBE_MYSQL_H
#define SLUICE_HEALTH_PROBE_MYSQL_H

#include "protocol/wire.h"

/* A probe answers in a few rows; a longer reply is refused instead of stored. */
enum { PROBE_REPLY_MAX_BYTES = 16 * 1024 };

enum probe_verdict {
    PROBE_MORE,   /* right so far: read on, until probe_timeout */
    PROBE_ALIVE,  /* a whole OK or a whole result, and nothing behind it */
    PROBE_FAILED, /* a whole ERR: the server answers, but not well (shutdown, killed, no such
                     function) */
    PROBE_BROKEN, /* not a reply, bytes behind it, a second result, or too long: close */
};

/* reply  all bytes since the probe was sent, packet headers included; borrowed
 * Keeps no state: show it the whole reply again when more has come. */
enum probe_verdict probe_mysql_judge(struct bytes reply);

#endif
