/* SPDX-License-Identifier: Apache-2.0
 *
 * sluice's command line: what is asked for, and nothing done about it. Main thread. */
#ifndef SLUICE_CONF_CLI_H
#define SLUICE_CONF_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/load.h"
#include "conf/problem.h"

enum cli_action {
    CLI_RUN,
    CLI_CHECK,
    CLI_CHECK_ONLINE,
    CLI_PRINT_CONFIG,
    CLI_VERSION,
    CLI_HELP,
    /* clients of a running one */
    CLI_WAIT,
    CLI_DRAIN,
    CLI_HEALTH,
    CLI_TOP,
};

enum {
    CLI_FLAGS_MAX = 16,
    CLI_WAIT_MAX_MS = 60000, /* unless --max says otherwise */
};

/* Borrows its strings from argv. */
struct cli {
    enum cli_action action;
    const char *file; /* -c */
    struct load_flag flags[CLI_FLAGS_MAX];
    size_t flag_count;
    int64_t wait_max_ms;
};

/* False with `why` (exit code 2). */
bool cli_parse(int argc, char **argv, struct cli *cli, struct why *why);
/* What to load for it. Borrows of `cli`, which has to outlive every reload. */
struct load_request cli_load_request(const struct cli *cli, char **environ);

void cli_help(FILE *out);
void cli_version(FILE *out);

#endif
