/* SPDX-License-Identifier: Apache-2.0
 *
 * The sockets that clients connect to, TCP and unix.
 * Loop thread only. Owned by the proxy; memory goes in the close callback. */
#ifndef SLUICE_PROXY_LISTENER_H
#define SLUICE_PROXY_LISTENER_H

#include <stddef.h>

#include "proxy/proxy.h"

/* Opens all of them. 0, or -1 with a sentence in err (which names the address and the remedy). */
int listener_open_all(struct proxy *p, char *err, size_t err_bytes);
/* No new clients from here on; socket files are removed. */
void listener_close_all(struct proxy *p);
/* "127.0.0.1:6033,unix:/run/x.sock": what is really open, ports filled in. */
void listener_describe(const struct proxy *p, char *out, size_t room);

/* For the admin listener too: looks up a host for a listener (blocking, at start only). 0 or UV_E*.
 */
struct sockaddr_storage;
int listener_resolve(const struct address *a, struct sockaddr_storage *out);

#endif
