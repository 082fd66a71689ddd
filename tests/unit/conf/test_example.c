/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/sluice.cfg: loads as it stands, and with every comment sign before a key gone; both ways it
 * says the defaults, and it shows every option. Run from the repository's root. */
#include "tests/unit/conf/loading.h"

static const char example[] = "conf/sluice.cfg";

static char *read_example(void)
{
    FILE *in = fopen(example, "re");
    char *text = memory_new(1 << 20);
    if (in == NULL)
        return text;
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    (void)fclose(in);
    return text;
}

/* "    #key = value;" loses its sign; "    # words" keeps it. */
static int uncomment(char *text)
{
    int keys = 0;
    for (char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *sign = line + strspn(line, " ");
        if (*sign != '#' || sign[1] < 'a' || sign[1] > 'z')
            continue;
        *sign = ' ';
        keys++;
    }
    return keys;
}

static void must_be_same(const struct option_row *row, void *context)
{
    (void)context;
    fail_msg("%s shows another default of %s.%s", example, row->section, row->key);
}

static void assert_says_the_defaults(const char *text)
{
    struct options *defaults = load_good("", NULL);
    struct options *shown = load_good(text, NULL);
    options_diff(defaults, shown, must_be_same, NULL);
    options_free(defaults);
    options_free(shown);
}

static void the_example_says_the_defaults(void **state)
{
    (void)state;
    char *text = read_example();
    if (*text == '\0') {
        free(text);
        skip();
        return; /* skip() jumps away, which compilers are not told */
    }
    assert_says_the_defaults(text);
    assert_int_equal(uncomment(text), OPTION_TOTAL);
    assert_says_the_defaults(text);
    struct options *shown = load_good(text, NULL);
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        assert_int_equal(shown->origins[i].layer, LAYER_FILE);
    options_free(shown);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_says_the_defaults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
