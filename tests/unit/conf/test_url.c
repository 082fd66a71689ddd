/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/url.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/url.h"

static struct url parse(const char *text)
{
    struct url url;
    struct why why;
    if (!url_parse(text, &url, &why))
        fail_msg("%s: %s", text, why.text);
    return url;
}

static void assert_refused(const char *text, const char *words)
{
    struct url url;
    struct why why;
    if (url_parse(text, &url, &why))
        fail_msg("accepted: %s", text);
    if (strstr(why.text, words) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", text, why.text, words);
    assert_null(url.host);
}

static void all_parts_are_read(void **state)
{
    (void)state;
    struct url u = parse("mysql://app:secret@db.example.org:3307/shop?pool_max=4&tls=verify");
    assert_int_equal(u.scheme, URL_MYSQL);
    assert_string_equal(u.user, "app");
    assert_string_equal(u.password, "secret");
    assert_string_equal(u.host, "db.example.org");
    assert_int_equal(u.port, 3307);
    assert_string_equal(u.database, "shop");
    assert_int_equal(u.parameter_count, 2);
    assert_string_equal(u.parameters[0].key, "pool_max");
    assert_string_equal(u.parameters[0].value, "4");
    assert_string_equal(u.parameters[1].key, "tls");
    assert_string_equal(u.parameters[1].value, "verify");
    url_fini(&u);
}

static void only_the_host_is_needed(void **state)
{
    static const char *const cases[] = {"mysql://db", "mysql://db/", "MySQL://db", "mysql://db?"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url u = parse(cases[i]);
        assert_string_equal(u.host, "db");
        assert_int_equal(u.port, 3306);
        assert_null(u.user);
        assert_null(u.password);
        assert_null(u.database);
        assert_int_equal(u.parameter_count, 0);
        url_fini(&u);
    }
}

static void ipv6_hosts_stand_in_brackets(void **state)
{
    (void)state;
    struct url u = parse("mysql://u@[::1]:3308/d");
    assert_string_equal(u.host, "::1");
    assert_int_equal(u.port, 3308);
    url_fini(&u);
    u = parse("mysql://[2001:db8::7]");
    assert_string_equal(u.host, "2001:db8::7");
    url_fini(&u);
    assert_refused("mysql://::1/d", "may not stand there");
    assert_refused("mysql://[v1.x]/d", "the host");
}

static void every_special_character_fits_a_password(void **state)
{
    (void)state;
    for (unsigned c = 1; c < 256; c++) {
        char text[64];
        (void)snprintf(text, sizeof text, "mysql://u:a%%%02Xb@h", c);
        struct url u = parse(text);
        assert_int_equal(strlen(u.password), 3);
        assert_int_equal((unsigned char)u.password[1], c);
        url_fini(&u);
    }
    struct url u = parse("mysql://u:%40%3A%2F%3F%23%25%5B+$&'()*,;=!~@h");
    assert_string_equal(u.password, "@:/?#%[+$&'()*,;=!~");
    url_fini(&u);
    /* A second ':' belongs to the password. */
    u = parse("mysql://u:a:b@h");
    assert_string_equal(u.user, "u");
    assert_string_equal(u.password, "a:b");
    url_fini(&u);
}

static void what_is_escaped_reads_back(void **state)
{
    char all[256];
    char *text = NULL;
    size_t len = 0;
    (void)state;
    for (unsigned c = 1; c < 256; c++)
        all[c - 1] = (char)c;
    all[255] = '\0';
    FILE *out = open_memstream(&text, &len);
    fputs("mysql://u:", out);
    url_print_escaped(all, out);
    fputs("@h", out);
    (void)fclose(out);
    struct url u = parse(text);
    assert_string_equal(u.password, all);
    url_fini(&u);
    free(text);
}

static void empty_and_missing_passwords_differ(void **state)
{
    (void)state;
    struct url u = parse("mysql://u:@h");
    assert_string_equal(u.password, "");
    url_fini(&u);
    u = parse("mysql://u@h");
    assert_null(u.password);
    url_fini(&u);
}

static void unix_urls_have_a_path_and_db_parameter(void **state)
{
    (void)state;
    struct url u = parse("mysql+unix://u:p@/run/my%20sql/m.sock?db=shop&pool_max=3");
    assert_int_equal(u.scheme, URL_MYSQL_UNIX);
    assert_null(u.host);
    assert_string_equal(u.path, "/run/my sql/m.sock");
    assert_string_equal(u.database, "shop");
    assert_string_equal(u.user, "u");
    assert_int_equal(u.parameter_count, 1);
    url_fini(&u);
    u = parse("mysql+unix:///m.sock");
    assert_string_equal(u.path, "/m.sock");
    assert_null(u.user);
    url_fini(&u);
    assert_refused("mysql+unix://host/m.sock", "no host");
    assert_refused("mysql+unix:/m.sock", "//");
    assert_refused("mysql+unix://", "path");
    assert_refused("mysql+unix:///", "path");
}

static void redis_urls_belong_to_redis(void **state)
{
    (void)state;
    struct url u = parse("rediss://:pw@cache/2");
    assert_int_equal(u.scheme, URL_REDISS);
    assert_null(u.user);
    assert_string_equal(u.password, "pw");
    assert_int_equal(u.port, 6379);
    assert_string_equal(u.database, "2");
    assert_string_equal(url_section(u.scheme), "redis");
    url_fini(&u);
}

static void mistakes_are_named_by_place(void **state)
{
    (void)state;
    assert_refused("mysql://u:pa ss@h", "character 13");
    assert_refused("mysql://u:p\xc3\xa4ss@h", "character 12");
    assert_refused("mysql://u:p%zz@h", "character 13");
    assert_refused("mysql://u:p@ss@h", "character 15");
    assert_refused("mysql://u:12/ss@h", "character 16: an '@'");
    assert_refused("mysql://u:12?ss@h", "character 16: an '@'");
    assert_refused("mysql://u@h/a#b", "character 14: a '#'");
    assert_refused("mysql://u:%00@h", "character 11");
    assert_refused("http://h", "mysql://");
    assert_refused("h", "mysql://");
    assert_refused("", "mysql://");
    assert_refused("mysql:h", "//");
    assert_refused("mysql://", "host");
    assert_refused("mysql://u@:3306", "host");
    assert_refused("mysql://:p@h", "user's name");
    assert_refused("mysql://@h", "user's name");
    assert_refused("mysql://u@h!", "the host"); /* found by fuzz_config */
    assert_refused("mysql://u@%68", "the host");
    assert_refused("mysql://h:0", "1..65535");
    assert_refused("mysql://h:65536", "1..65535");
    assert_refused("mysql://h:123456789012345678901234567890", "1..65535");
    assert_refused("mysql://h:", "1..65535");
    assert_refused("mysql://h/a/b", "database");
    assert_refused("mysql://h/a?db=b", "twice");
    assert_refused("mysql://h/a?tls", "parameter 1");
    assert_refused("mysql://h/a?tls=off&x", "parameter 2");
}

static void no_message_holds_a_password(void **state)
{
    static const char *const cases[] = {"mysql://u:hunter2 @h",    "mysql://u:hunter2@h:99999",
                                        "mysql://u:hunter2@@h",    "mysql://u:hunter2/@h",
                                        "mysql://u:1?hunter2",     "mysql://:hunter2@h",
                                        "mysql://u:hunter2@h/a/b", "hunter2://h",
                                        "mysql://u:hunter2#@h"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url url;
        struct why why;
        assert_false(url_parse(cases[i], &url, &why));
        assert_null(strstr(why.text, "hunter2"));
    }
}

static void every_shorter_prefix_is_refused_or_whole(void **state)
{
    static const char text[] = "mysql://us%20er:p%40ss@[::1]:3306/d%62?pool_max=4&tls=verify";
    (void)state;
    for (size_t len = 0; len < sizeof text; len++) {
        char *cut = strndup(text, len); /* on the heap, so that ASan sees one byte too far */
        struct url url;
        struct why why;
        if (url_parse(cut, &url, &why))
            url_fini(&url);
        free(cut);
    }
}

static void one_over_each_limit_is_refused(void **state)
{
    static char text[URL_MAX_BYTES + 2];
    struct url u;
    struct why why;
    (void)state;
    assert_refused("mysql+unix:///run/", "ends with '/'");
    memset(text, 'p', URL_MAX_BYTES);
    memcpy(text, "mysql://u:", 10);
    memcpy(text + URL_MAX_BYTES - 2, "@h", 2);
    assert_true(url_parse(text, &u, &why));
    url_fini(&u);
    text[URL_MAX_BYTES] = 'h';
    assert_refused(text, "longer");

    strcpy(text, "mysql://h?");
    for (int i = 0; i < URL_PARAMETERS_MAX; i++)
        strcat(text, "a=1&");
    text[strlen(text) - 1] = '\0';
    assert_true(url_parse(text, &u, &why));
    assert_int_equal(u.parameter_count, URL_PARAMETERS_MAX);
    url_fini(&u);
    strcat(text, "&a=1");
    assert_refused(text, "more than");

    memset(text, 'h', 400);
    memcpy(text, "mysql://", 8);
    text[8 + 255] = '\0';
    assert_true(url_parse(text, &u, &why));
    url_fini(&u);
    strcat(text, "h");
    assert_refused(text, "host");

    memset(text, 'p', 400);
    memcpy(text, "mysql+unix:///", 14);
    text[13 + 107] = '\0';
    assert_true(url_parse(text, &u, &why));
    url_fini(&u);
    strcat(text, "p");
    assert_refused(text, "path");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_are_read),
        cmocka_unit_test(only_the_host_is_needed),
        cmocka_unit_test(ipv6_hosts_stand_in_brackets),
        cmocka_unit_test(every_special_character_fits_a_password),
        cmocka_unit_test(what_is_escaped_reads_back),
        cmocka_unit_test(empty_and_missing_passwords_differ),
        cmocka_unit_test(unix_urls_have_a_path_and_db_parameter),
        cmocka_unit_test(redis_urls_belong_to_redis),
        cmocka_unit_test(mistakes_are_named_by_place),
        cmocka_unit_test(no_message_holds_a_password),
        cmocka_unit_test(every_shorter_prefix_is_refused_or_whole),
        cmocka_unit_test(one_over_each_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
