/* SPDX-License-Identifier: Apache-2.0
 *
 * sluice's command line. See cli.h. */
#include "conf/cli.h"

#include <getopt.h>
#include <string.h>

#include "conf/units.h"

#ifndef SLUICE_VERSION
#define SLUICE_VERSION "0"
#endif
#ifndef SLUICE_COMMIT
#define SLUICE_COMMIT "unknown"
#endif

/* Values of getopt's `val` above all characters. Those from FLAG_OPTION on are option_flags. */
enum {
    FLAG_CHECK = 256,
    FLAG_PRINT_CONFIG,
    FLAG_VERSION,
    FLAG_HELP,
    FLAG_MAX,
    FLAG_OPTION,
};

static const struct {
    const char *name; /* with its dashes, as messages have it */
    enum option_id id;
} option_flags[] = {
    {"--mysql-listen", OPTION_mysql_listen}, {"--mysql-backend", OPTION_mysql_backend},
    {"--redis-listen", OPTION_redis_listen}, {"--redis-backend", OPTION_redis_backend},
    {"--admin-listen", OPTION_admin_listen}, {"--health-listen", OPTION_admin_health_listen},
};

enum { OPTION_FLAG_COUNT = sizeof option_flags / sizeof option_flags[0] };

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check", optional_argument, NULL, FLAG_CHECK},
    {"print-config", no_argument, NULL, FLAG_PRINT_CONFIG},
    {"version", no_argument, NULL, FLAG_VERSION},
    {"help", no_argument, NULL, FLAG_HELP},
    {"max", required_argument, NULL, FLAG_MAX},
    {"mysql-listen", required_argument, NULL, FLAG_OPTION},
    {"mysql-backend", required_argument, NULL, FLAG_OPTION + 1},
    {"redis-listen", required_argument, NULL, FLAG_OPTION + 2},
    {"redis-backend", required_argument, NULL, FLAG_OPTION + 3},
    {"admin-listen", required_argument, NULL, FLAG_OPTION + 4},
    {"health-listen", required_argument, NULL, FLAG_OPTION + 5},
    {NULL, 0, NULL, 0},
};

static const struct {
    const char *name;
    enum cli_action action;
} subcommands[] = {
    {"wait", CLI_WAIT},
    {"drain", CLI_DRAIN},
    {"health", CLI_HEALTH},
    {"top", CLI_TOP},
};

enum { SUBCOMMAND_COUNT = sizeof subcommands / sizeof subcommands[0] };

static bool take_action(struct cli *cli, enum cli_action action, struct why *why)
{
    if (cli->action != CLI_RUN && cli->action != action)
        return why_set(why, "more than one thing to do, see --help");
    cli->action = action;
    return true;
}

static bool take_check(struct cli *cli, const char *how, struct why *why)
{
    if (how == NULL)
        return take_action(cli, CLI_CHECK, why);
    if (strcmp(how, "online") == 0)
        return take_action(cli, CLI_CHECK_ONLINE, why);
    return why_set(why, "--check=%.64s: only --check and --check=online are known", how);
}

static bool take_max(struct cli *cli, const char *text, struct why *why)
{
    struct why reason;
    if (units_parse_duration(text, &cli->wait_max_ms, &reason))
        return true;
    return why_set(why, "--max: %.400s", reason.text);
}

static bool take_option(struct cli *cli, size_t index, const char *text, struct why *why)
{
    if (cli->flag_count == CLI_FLAGS_MAX)
        return why_set(why, "too many flags");
    cli->flags[cli->flag_count++] = (struct load_flag){
        .id = option_flags[index].id, .name = option_flags[index].name, .text = text};
    return true;
}

static bool take_flag(struct cli *cli, int flag, const char *argument, struct why *why)
{
    if (flag >= FLAG_OPTION)
        return take_option(cli, (size_t)(flag - FLAG_OPTION), argument, why);
    switch (flag) {
    case 'c':
        cli->file = argument;
        return true;
    case FLAG_CHECK:
        return take_check(cli, argument, why);
    case FLAG_PRINT_CONFIG:
        return take_action(cli, CLI_PRINT_CONFIG, why);
    case FLAG_VERSION:
        return take_action(cli, CLI_VERSION, why);
    case 'h':
    case FLAG_HELP:
        cli->action = CLI_HELP;
        return true;
    case FLAG_MAX:
        return take_max(cli, argument, why);
    default: /* '?' and ':' of getopt; the caller names the word */
        return false;
    }
}

static bool take_subcommand(struct cli *cli, const char *word, struct why *why)
{
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        if (strcmp(word, subcommands[i].name) == 0)
            return take_action(cli, subcommands[i].action, why);
    return why_set(why, "%.64s: not a command; wait, drain, health and top are", word);
}

/* getopt says only that something was wrong with the word before optind. Never echoes what stands
 * behind a '=': it may be a URL. */
static bool explain(char **argv, int flag, struct why *why)
{
    const char *word = argv[optind - 1];
    int len = (int)strcspn(word, "=");
    return why_set(why, "%.*s: %s, see --help", len > 64 ? 64 : len, word,
                   flag == ':' ? "needs a value"
                               : "unknown, unclear or with a value it does not take");
}

bool cli_parse(int argc, char **argv, struct cli *cli, struct why *why)
{
    *cli = (struct cli){.action = CLI_RUN, .wait_max_ms = -1};
    optind = 0; /* glibc: start afresh */
    for (;;) {
        /* '+': stops at a word, which is the subcommand; options may follow it. */
        int flag = getopt_long(argc, argv, "+:c:h", long_options, NULL);
        if (flag == -1 && optind >= argc)
            break;
        if (flag == -1) {
            if (!take_subcommand(cli, argv[optind++], why))
                return false;
            continue;
        }
        if (flag == '?' || flag == ':')
            return explain(argv, flag, why);
        if (!take_flag(cli, flag, optarg, why))
            return false;
    }
    if (cli->wait_max_ms >= 0 && cli->action != CLI_WAIT && cli->action != CLI_HELP)
        return why_set(why, "--max belongs to wait");
    if (cli->wait_max_ms < 0)
        cli->wait_max_ms = CLI_WAIT_MAX_MS;
    return true;
}

struct load_request cli_load_request(const struct cli *cli, char **environ_)
{
    return (struct load_request){
        .file = cli->file,
        .default_file = LOAD_DEFAULT_FILE,
        .environ = environ_,
        .flags = cli->flags,
        .flag_count = cli->flag_count,
        .needs_backend = cli->action < CLI_PRINT_CONFIG,
    };
}

/* ---- help ---- */

static void help_values(FILE *out, const struct option_row *row)
{
    char low[UNITS_TEXT_MAX_BYTES];
    char high[UNITS_TEXT_MAX_BYTES];
    switch (row->type) {
    case OPTION_BOOL:
        fputs("true|false", out);
        return;
    case OPTION_COUNT:
        fprintf(out, "%lld..%lld", (long long)row->min, (long long)row->max);
        return;
    case OPTION_SHARE:
        fprintf(out, "1%%..100%% or %lld..%lld", (long long)row->min, (long long)row->max);
        return;
    case OPTION_DURATION:
    case OPTION_DURATION_OFF:
        fprintf(out, "%s..%s%s", units_format_duration(row->min, low),
                units_format_duration(row->max, high),
                row->type == OPTION_DURATION_OFF ? " or off" : "");
        return;
    case OPTION_SIZE:
        fprintf(out, "%s..%s", units_format_size(row->min, low), units_format_size(row->max, high));
        return;
    case OPTION_STRING:
    case OPTION_ENUM:
    case OPTION_ADDRESS_LIST:
    case OPTION_BACKEND_LIST:
    case OPTION_USER_LIST:
    case OPTION_STRING_LIST:
        fputs(row->unit, out);
        return;
    }
}

static void help_options(FILE *out)
{
    const char *section = "";
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        if (strcmp(section, row->section) != 0)
            fprintf(out, "\n%s\n", row->section);
        section = row->section;
        fprintf(out, "  %-28s ", row->key);
        help_values(out, row);
        if (*row->default_text != '\0')
            fprintf(out, " [%s]", row->default_text);
        fprintf(out, "%s\n        %s\n", row->reload == RESTART ? " (restart)" : "", row->help);
    }
}

void cli_help(FILE *out)
{
    fputs(
        "usage: sluice [-c FILE] [--check[=online]] [--print-config] [--version] [--help]\n"
        "              [--mysql-listen ADDR] [--mysql-backend URL] [--redis-listen ADDR]\n"
        "              [--redis-backend URL] [--admin-listen ADDR] [--health-listen ADDR]\n"
        "       sluice wait [--max DURATION] | drain | health | top\n"
        "\n"
        "A backend is all it needs: sluice --mysql-backend mysql://db.example.org\n"
        "\n"
        "  -c, --config FILE   the configuration, unless " LOAD_DEFAULT_FILE "\n"
        "  --check             parse and check it, without any connection; 0 or 2\n"
        "  --check=online      also resolve, connect and log in; 0, 1 or 2\n"
        "  --print-config      the values in force, each with its source; secrets masked\n"
        "  wait                until a running sluice is ready (--max, 60s unless given)\n"
        "  drain               let a running sluice finish its work and end\n"
        "  health              0 when a running sluice is ready, else 1\n"
        "  top                 watch a running sluice\n"
        "\n"
        "ADDR  host:port, [v6]:port, unix:PATH[?mode=0660&group=NAME], off; a comma between two\n"
        "URL   mysql://[user[:password]@]host[:port][/db][?key=value&...]\n"
        "      mysql+unix://[user[:password]@]/path[?db=NAME&key=value&...]\n"
        "\n"
        "Every key below is also SLUICE_SECTION_KEY in the environment (SLUICE_MYSQL_POOL_MAX=8),\n"
        "with a twin SLUICE_SECTION_KEY_FILE that names a file with the value. A backend also\n"
        "comes in parts: SLUICE_MYSQL_HOST, _PORT, _USER, _PASSWORD, _DATABASE.\n"
        "Flags come before the environment, the environment before the file.\n",
        out);
    help_options(out);
}

void cli_version(FILE *out)
{
    fprintf(out, "sluice %s (%s)\n", SLUICE_VERSION, SLUICE_COMMIT);
}
