/* SPDX-License-Identifier: Apache-2.0
 *
 * `sluice wait | health | drain`: calls to a running one over its admin (or, for what that serves,
 * health) listener. Blocks; main thread, no loop. */
#ifndef SLUICE_PROXY_CALL_H
#define SLUICE_PROXY_CALL_H

#include "conf/cli.h"
#include "conf/options.h"

/* The process's exit code: 0 done, 1 not (with a sentence on stderr). */
int call_running(const struct cli *cli, const struct options *options);

#endif
