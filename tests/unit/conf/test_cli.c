/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/cli.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/cli.h"

#define ARGS(...) ((char *[]){(char *)"sluice", ##__VA_ARGS__, NULL})

static bool parse(char **argv, struct cli *cli, struct why *why)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    return cli_parse(argc, argv, cli, why);
}

static struct cli good(char **argv)
{
    struct cli cli;
    struct why why;
    if (!parse(argv, &cli, &why))
        fail_msg("%s", why.text);
    return cli;
}

static void refused(char **argv, const char *words)
{
    struct cli cli;
    struct why why;
    assert_false(parse(argv, &cli, &why));
    if (strstr(why.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why.text, words);
}

static void each_action_has_its_word(void **state)
{
    (void)state;
    assert_int_equal(good(ARGS()).action, CLI_RUN);
    assert_int_equal(good(ARGS("--check")).action, CLI_CHECK);
    assert_int_equal(good(ARGS("--check=online")).action, CLI_CHECK_ONLINE);
    assert_int_equal(good(ARGS("--print-config")).action, CLI_PRINT_CONFIG);
    assert_int_equal(good(ARGS("--version")).action, CLI_VERSION);
    assert_int_equal(good(ARGS("--help")).action, CLI_HELP);
    assert_int_equal(good(ARGS("-h")).action, CLI_HELP);
    assert_int_equal(good(ARGS("wait")).action, CLI_WAIT);
    assert_int_equal(good(ARGS("drain")).action, CLI_DRAIN);
    assert_int_equal(good(ARGS("health")).action, CLI_HEALTH);
    assert_int_equal(good(ARGS("top", "--help")).action, CLI_HELP);
}

static void the_file_is_short_or_long(void **state)
{
    (void)state;
    assert_null(good(ARGS()).file);
    assert_string_equal(good(ARGS("-c", "f", "--check")).file, "f");
    assert_string_equal(good(ARGS("--config=f")).file, "f");
    assert_string_equal(good(ARGS("health", "--config", "f")).file, "f");
}

static void wait_has_a_limit(void **state)
{
    (void)state;
    assert_int_equal(good(ARGS("wait")).wait_max_ms, CLI_WAIT_MAX_MS);
    assert_int_equal(good(ARGS("wait", "--max", "5s")).wait_max_ms, 5000);
    assert_int_equal(good(ARGS("--max=250ms", "wait")).wait_max_ms, 250);
    refused(ARGS("wait", "--max", "5"), "--max: \"5\" has no unit");
    refused(ARGS("--max", "5s"), "--max belongs to wait");
}

static void flags_become_options(void **state)
{
    (void)state;
    static const enum option_id ids[] = {OPTION_mysql_listen, OPTION_mysql_backend,
                                         OPTION_redis_listen, OPTION_redis_backend,
                                         OPTION_admin_listen, OPTION_admin_health_listen};
    struct cli cli = good(ARGS("--mysql-listen", "a", "--mysql-backend=b", "--redis-listen", "c",
                               "--redis-backend", "d", "--admin-listen", "e", "--health-listen=f"));
    assert_int_equal(cli.flag_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(cli.flags[i].id, ids[i]);
        assert_int_equal(cli.flags[i].text[0], (char)('a' + i));
    }
    assert_string_equal(cli.flags[5].name, "--health-listen");
    struct load_request request = cli_load_request(&cli, NULL);
    assert_int_equal(request.flag_count, 6);
    assert_true(request.needs_backend);
    cli = good(ARGS("health"));
    assert_false(cli_load_request(&cli, NULL).needs_backend);
}

static void mistakes_are_told_without_their_values(void **state)
{
    (void)state;
    refused(ARGS("--mysql-bakend=mysql://u:hunter2@h"), "--mysql-bakend: unknown");
    refused(ARGS("-x"), "unknown");
    refused(ARGS("--config"), "--config: needs a value");
    refused(ARGS("--check=later"), "--check=online");
    refused(ARGS("--version=3"), "--version");
    refused(ARGS("start"), "start: not a command");
    refused(ARGS("wait", "drain"), "more than one thing");
    refused(ARGS("--check", "--print-config"), "more than one thing");
    struct cli cli;
    struct why why;
    assert_false(parse(ARGS("--mysql-bakend=mysql://u:hunter2@h"), &cli, &why));
    assert_null(strstr(why.text, "hunter2"));
    char *many[CLI_FLAGS_MAX + 3] = {(char *)"sluice"};
    for (size_t i = 0; i < CLI_FLAGS_MAX + 1; i++)
        many[i + 1] = (char *)"--mysql-listen=off";
    refused(many, "too many");
}

static void help_names_every_option_and_flag(void **state)
{
    char *text = NULL;
    size_t len = 0;
    (void)state;
    FILE *out = open_memstream(&text, &len);
    cli_help(out);
    cli_version(out);
    (void)fclose(out);
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        char line[80];
        (void)snprintf(line, sizeof line, "\n  %-28s ", option_table[i].key);
        assert_non_null(strstr(text, line));
        assert_non_null(strstr(text, option_table[i].help));
    }
    static const char *const words[] = {
        "--config",        "--check=online",  "--print-config", "--version",       "--help",
        "--mysql-listen",  "--mysql-backend", "--redis-listen", "--redis-backend", "--admin-listen",
        "--health-listen", "wait [--max",     "drain",          "health",          "top"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_non_null(strstr(text, words[i]));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_action_has_its_word),
        cmocka_unit_test(the_file_is_short_or_long),
        cmocka_unit_test(wait_has_a_limit),
        cmocka_unit_test(flags_become_options),
        cmocka_unit_test(mistakes_are_told_without_their_values),
        cmocka_unit_test(help_names_every_option_and_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
