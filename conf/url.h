/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend's URL, RFC 3986: mysql://[user[:password]@]host[:port][/db][?key=value&...],
 * mysql+unix://[user[:password]@]/path[?db=...], and redis:, rediss:, redis+unix: likewise.
 * Parsing only. An error names a place in the URL, never what stands there: it may be a password.
 * Keeps no state: any thread. */
#ifndef SLUICE_CONF_URL_H
#define SLUICE_CONF_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/problem.h"

enum url_scheme {
    URL_MYSQL,
    URL_MYSQL_UNIX,
    URL_REDIS,
    URL_REDISS,
    URL_REDIS_UNIX,
};

enum {
    URL_MAX_BYTES = 8192,
    URL_PARAMETERS_MAX = 64,
};

/* Both decoded and owned. */
struct url_parameter {
    char *key;
    char *value;
};

/* All strings are decoded and owned; url_fini wipes and frees. */
struct url {
    enum url_scheme scheme;
    char *user;     /* NULL: none */
    char *password; /* NULL: none; "" when the ':' stood alone */
    char *host;     /* NULL for the unix schemes; v6 without brackets */
    uint16_t port;  /* with a host: never 0 */
    char *path;     /* unix schemes: the socket */
    char *database; /* NULL: none */
    struct url_parameter *parameters;
    size_t parameter_count;
};

/* False, with `why`; `out` is then empty. */
bool url_parse(const char *text, struct url *out, struct why *why);
void url_fini(struct url *url);
/* "mysql" or "redis": the section that the scheme belongs to. */
const char *url_section(enum url_scheme scheme);
bool url_is_unix(enum url_scheme scheme);
/* Percent-encodes all but the unreserved characters. */
void url_print_escaped(const char *text, FILE *out);

#endif
