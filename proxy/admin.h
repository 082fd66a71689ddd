/* SPDX-License-Identifier: Apache-2.0
 *
 * The admin and the health listener (interface.md, "Admin HTTP").
 * Loop thread only. */
#ifndef SLUICE_PROXY_ADMIN_H
#define SLUICE_PROXY_ADMIN_H

#include <stddef.h>

#include "proxy/proxy.h"

/* Opens both; reads the token's file. 0, or -1 with a sentence in err. `admin` gets the address as
 * it is open. */
int admin_open(struct proxy *p, char *admin, size_t admin_bytes, char *err, size_t err_bytes);
void admin_close(struct proxy *p);

#endif
