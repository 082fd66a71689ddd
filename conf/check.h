/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that need more than one option, or the file system. */
#ifndef SLUICE_CONF_CHECK_H
#define SLUICE_CONF_CHECK_H

#include <stdbool.h>

#include "conf/options.h"
#include "conf/problem.h"

/* Fills in what follows from other options: max_pinned from its percentage, pool_total and min_idle
 * where they are defaults that do not go with pool_max, each backend's tls. */
void options_resolve(struct options *options);
/* All that can be known without looking outside. */
void options_check(const struct options *options, bool needs_backend, struct problems *problems);
/* That the files of certificates, keys and tokens can be read. For --check and before a start. */
void options_check_files(const struct options *options, struct problems *problems);

#endif
