/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/console_text: the words of a command, and LIKE. */
#include "proxy/console_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* The words of `text`, a bar between two, each behind a letter for its kind. */
static const char *words(const char *text)
{
    static const char kind[] = {'E', 'w', 's', 'n', '!'};
    static char out[512];
    struct bytes left = bytes_text(text);
    size_t len = 0;
    out[0] = '\0';
    for (;;) {
        struct console_word w = console_text_next(&left);
        if (w.kind == CONSOLE_END)
            return out;
        if (len)
            out[len++] = '|';
        out[len++] = kind[w.kind];
        memcpy(out + len, w.text.at, w.text.len);
        len += w.text.len;
        out[len] = '\0';
    }
}

static void words_are_told_apart(void **state)
{
    (void)state;
    assert_string_equal(words(" show\tPOOLS ;\n"), "wshow|wPOOLS");
    assert_string_equal(words("LIKE 'a%b'"), "wLIKE|sa%b");
    assert_string_equal(words("LIKE \"a'b\""), "wLIKE|sa'b");
    assert_string_equal(words("LIKE 'a\\'b'"), "wLIKE|sa\\'b");
    assert_string_equal(words("USE `slu ice`"), "wUSE|nslu ice");
    assert_string_equal(words("SELECT @@a.b,DATABASE()"), "wSELECT|w@@a.b|!,|wDATABASE|!(|!)");
    assert_string_equal(words("PAUSE db-1.example:3306"), "wPAUSE|wdb-1.example:3306");
    assert_string_equal(words("PAUSE [::1]:3306"), "wPAUSE|w[::1]:3306");
    assert_string_equal(words(""), "");
}

static void comments_are_passed_over(void **state)
{
    (void)state;
    assert_string_equal(words("/* a */ SHOW/* b */POOLS -- c"), "wSHOW|wPOOLS");
    assert_string_equal(words("# a\nSHOW -- b\n POOLS # c"), "wSHOW|wPOOLS");
    assert_string_equal(words("SHOW /* open"), "wSHOW");
}

static void an_open_quote_is_the_end(void **state)
{
    (void)state;
    assert_string_equal(words("LIKE 'abc"), "wLIKE");
    assert_string_equal(words("LIKE 'abc\\"), "wLIKE");
    assert_string_equal(words("`"), "");
}

static void words_are_taken_in_any_case(void **state)
{
    (void)state;
    struct bytes left = bytes_text("Show pools");
    assert_false(console_text_take(&left, "sho"));
    assert_true(console_text_take(&left, "show"));
    assert_false(console_text_take(&left, "poolsx"));
    assert_true(console_text_take(&left, "pools"));
    assert_false(console_text_take(&left, "pools"));
    left = bytes_text("'show'");
    assert_false(console_text_take(&left, "show"));
}

static void numbers_are_decimal_or_hexadecimal(void **state)
{
    (void)state;
    static const char *const bad[] = {"",   "x",   "0x",  "1a",
                                      "-1", "'1'", "0xg", "1234567890123456789"};
    struct bytes left = bytes_text("2147483665 0x80000011 0");
    uint64_t n;
    assert_true(console_text_number(&left, &n));
    assert_int_equal(n, 0x80000011);
    assert_true(console_text_number(&left, &n));
    assert_int_equal(n, 0x80000011);
    assert_true(console_text_number(&left, &n));
    assert_int_equal(n, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        left = bytes_text(bad[i]);
        assert_false(console_text_number(&left, &n));
        assert_int_equal(left.len, strlen(bad[i]));
    }
}

static bool like(const char *text, const char *pattern)
{
    return console_like(bytes_text(text), bytes_text(pattern));
}

static void like_matches_as_servers_do(void **state)
{
    (void)state;
    assert_true(like("abc", "abc") && like("abc", "ABC") && like("", ""));
    assert_true(like("abc", "a%") && like("abc", "%c") && like("abc", "%b%") && like("abc", "%"));
    assert_true(like("", "%") && like("abc", "___") && like("abc", "a_c") && like("abc", "%_"));
    assert_true(like("a%c", "a\\%c") && like("a_c", "a\\_c") && like("a\\c", "a\\\\c"));
    assert_true(like("aXbXc", "a%x%c") && like("mississippi", "m%iss%ip%i"));
    assert_false(like("abc", "ab") || like("abc", "bc") || like("abc", "") || like("", "_"));
    assert_false(like("abc", "a\\%") || like("axc", "a\\_c") || like("abc", "%d") ||
                 like("abc", "____"));
    assert_false(like("mississippi", "m%iss%ipx%"));
}

/* A pattern of many % is what makes naive matchers take for ever. */
static void like_takes_no_longer_than_it_must(void **state)
{
    (void)state;
    static char text[1024];
    static char pattern[2049];
    memset(text, 'a', sizeof text - 1);
    for (size_t i = 0; i < 1023; i++)
        memcpy(pattern + 2 * i, "%a", 2);
    pattern[2046] = 'b';
    assert_false(like(text, pattern));
}

/* Memory of exactly that size, so that a sanitizer sees a read beyond. */
static void every_prefix_is_read_within_its_bounds(void **state)
{
    (void)state;
    static const char text[] = "/*a*/SELECT @@x.y AS `z`, 'q\\'r', \"s\" -- t\n# u\n[::1]:3 ();*/";
    for (size_t n = 0; n < sizeof text; n++)
        for (size_t from = 0; from < n; from++) {
            uint8_t *copy = malloc(n - from);
            memcpy(copy, text + from, n - from);
            struct bytes left = bytes_of(copy, n - from);
            while (console_text_next(&left).kind != CONSOLE_END)
                ;
            assert_int_equal(left.len, 0);
            (void)console_like(bytes_of(copy, (n - from) / 2),
                               bytes_of(copy + (n - from) / 2, (n - from) - (n - from) / 2));
            free(copy);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_told_apart),
        cmocka_unit_test(comments_are_passed_over),
        cmocka_unit_test(an_open_quote_is_the_end),
        cmocka_unit_test(words_are_taken_in_any_case),
        cmocka_unit_test(numbers_are_decimal_or_hexadecimal),
        cmocka_unit_test(like_matches_as_servers_do),
        cmocka_unit_test(like_takes_no_longer_than_it_must),
        cmocka_unit_test(every_prefix_is_read_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
