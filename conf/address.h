/* SPDX-License-Identifier: Apache-2.0
 *
 * ADDR: where a listener opens. `host:port`, `[v6]:port`, `unix:PATH[?mode=0660&group=NAME]`.
 * Parsing only; no name is looked up. Keeps no state: any thread. */
#ifndef SLUICE_CONF_ADDRESS_H
#define SLUICE_CONF_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/problem.h"

enum {
    ADDRESS_PATH_MAX_BYTES = 107, /* sun_path less its NUL */
    ADDRESS_HOST_MAX_BYTES = 255,
    ADDRESS_MODE_DEFAULT = 0660,
    /* Room that address_format never needs more of. */
    ADDRESS_TEXT_MAX_BYTES = 512,
};

enum address_kind {
    ADDRESS_TCP,
    ADDRESS_UNIX,
};

/* Owns its strings; address_fini frees them. */
struct address {
    enum address_kind kind;
    char *host;    /* TCP: name or number, v6 without brackets */
    uint16_t port; /* TCP: 0 picks a free one */
    char *path;    /* UNIX */
    unsigned mode; /* UNIX: of the socket file */
    char *group;   /* UNIX: NULL leaves the group alone */
};

/* Reads one ADDR (no list, not "off"). `why` gets a sentence when it returns false; `out` is then
 * untouched. */
bool address_parse(const char *text, struct address *out, struct why *why);
void address_fini(struct address *address);

/* Writes the text that address_parse reads, whole or cut at `room`; gives `out` back. */
char *address_format(const struct address *address, char *out, size_t room);

/* True when the `len` bytes at `host` look like a name or a v4 address; with `v6`, like a v6 one.
 */
bool address_is_host(const char *host, size_t len, bool v6);

/* True when only processes of this host reach it: a unix socket, 127.0.0.0/8, ::1, localhost. */
bool address_is_local(const struct address *address);

#endif
