/* SPDX-License-Identifier: Apache-2.0
 *
 * `sluice --check=online`: resolves, connects and logs in, by the connector and not by our own
 * login, so that it is a second opinion. Blocks; main thread, no loop. */
#ifndef SLUICE_PROXY_CHECK_ONLINE_H
#define SLUICE_PROXY_CHECK_ONLINE_H

#include <stdio.h>

#include "conf/options.h"

/* A line per finding on `out`. 0: all good; 1: a backend does not answer, or refuses the login. */
int check_online(const struct options *options, FILE *out);

#endif
