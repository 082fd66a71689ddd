/* SPDX-License-Identifier: Apache-2.0
 *
 * sluice: what is asked for on the command line, and who does it. */
#include <stdio.h>
#include <unistd.h>

#include "conf/check.h"
#include "conf/cli.h"
#include "conf/print.h"
#include "pool/breaks.h"
#include "proxy/call.h"
#include "proxy/check_online.h"
#include "proxy/proxy.h"

enum {
    EXIT_OK = 0,
    EXIT_CONFIG = 2,
};

static int act(const struct cli *cli, struct options *options, struct load_request load)
{
    switch (cli->action) {
    case CLI_RUN:
        return proxy_run(options, load);
    case CLI_CHECK:
        (void)printf("configuration is valid\n");
        break;
    case CLI_CHECK_ONLINE: {
        int code = check_online(options, stdout);
        options_free(options);
        return code;
    }
    case CLI_PRINT_CONFIG:
        options_print(options, stdout);
        break;
    case CLI_WAIT:
    case CLI_DRAIN:
    case CLI_HEALTH:
    case CLI_TOP: {
        int code = call_running(cli, options);
        options_free(options);
        return code;
    }
    case CLI_VERSION:
    case CLI_HELP:
        break;
    }
    options_free(options);
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    struct cli cli;
    struct why why;
    struct problems problems = {0};
    if (!cli_parse(argc, argv, &cli, &why)) {
        (void)fprintf(stderr, "sluice: %s\n", why.text);
        return EXIT_CONFIG;
    }
    if (!breaks_begin()) {
        (void)fprintf(stderr, "sluice: SLUICE_BREAK_RULE: no such rule\n");
        return EXIT_CONFIG;
    }
    if (cli.action == CLI_HELP) {
        cli_help(stdout);
        return EXIT_OK;
    }
    if (cli.action == CLI_VERSION) {
        cli_version(stdout);
        breaks_list(stdout);
        return EXIT_OK;
    }
    struct load_request load = cli_load_request(&cli, environ);
    struct options *options = options_load(&load, &problems);
    bool runs = cli.action == CLI_RUN || cli.action == CLI_CHECK || cli.action == CLI_CHECK_ONLINE;
    if (options && runs)
        options_check_files(options, &problems);
    if (!options || problems_any(&problems)) {
        problems_print(&problems, stderr);
        problems_fini(&problems);
        options_free(options);
        return EXIT_CONFIG;
    }
    return act(&cli, options, load);
}
