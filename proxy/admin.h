/* SPDX-License-Identifier: Apache-2.0
 *
 * The admin and the health listener (interface.md, "Admin HTTP").
 * Loop thread only. */
#ifndef SLUICE_PROXY_ADMIN_H
#define SLUICE_PROXY_ADMIN_H

#include <stddef.h>

#include "proxy/proxy.h"

enum { ADMIN_TEXT_BYTES = 1024 };

/* Opens both; reads the token's file. 0, or -1 with a sentence in err. The addresses come out as
 * they are open, in ADMIN_TEXT_BYTES each. */
int admin_open(struct proxy *p, char *admin, char *health, char *err, size_t err_bytes);
void admin_close(struct proxy *p);

#endif
