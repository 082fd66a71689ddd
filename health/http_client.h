/* SPDX-License-Identifier: Apache-2.0
 *
 * One blocking HTTP call, for the commands `sluice wait | health | drain | top`. Not for a loop
 * thread. */
#ifndef SLUICE_HEALTH_HTTP_CLIENT_H
#define SLUICE_HEALTH_HTTP_CLIENT_H

#include <stddef.h>

#include "protocol/wire.h"

struct sockaddr;

struct http_call {
    const struct sockaddr *addr; /* IPv4 or IPv6; NULL: unix_path */
    const char *unix_path;
    const char *method; /* "GET" or "POST" (never HEAD) */
    const char *path;   /* with the query, begins with '/' */
    const char *token;  /* NULL: none */
    int timeout_ms;     /* for all of it together */
};

/* status  of the answer
 * body    NUL-terminated; what is above room - 1 bytes is dropped
 * 0, or negative errno: -ECONNREFUSED, -ENOENT (no such socket), -ETIMEDOUT, -EPROTO (not HTTP),
 * -ECONNRESET, -EINVAL (a path or token that does not fit on one line). */
MUST_CHECK int http_call(const struct http_call *call, int *status, char *body, size_t room);

#endif
