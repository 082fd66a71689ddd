/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/address.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conf/address.h"

static struct address parse(const char *text)
{
    struct address address;
    struct why why;
    if (!address_parse(text, &address, &why))
        fail_msg("%s: %s", text, why.text);
    return address;
}

static void tcp_addresses_are_host_and_port(void **state)
{
    (void)state;
    struct address a = parse("127.0.0.1:6033");
    assert_int_equal(a.kind, ADDRESS_TCP);
    assert_string_equal(a.host, "127.0.0.1");
    assert_int_equal(a.port, 6033);
    address_fini(&a);
    a = parse("[::1]:0");
    assert_string_equal(a.host, "::1");
    assert_int_equal(a.port, 0);
    address_fini(&a);
    a = parse("db-1.example.org:65535");
    assert_string_equal(a.host, "db-1.example.org");
    assert_int_equal(a.port, 65535);
    address_fini(&a);
}

static void unix_addresses_have_a_path_mode_and_group(void **state)
{
    (void)state;
    struct address a = parse("unix:/run/s.sock");
    assert_int_equal(a.kind, ADDRESS_UNIX);
    assert_string_equal(a.path, "/run/s.sock");
    assert_int_equal(a.mode, ADDRESS_MODE_DEFAULT);
    assert_null(a.group);
    address_fini(&a);
    a = parse("unix:/run/s.sock?group=www-data&mode=0666");
    assert_int_equal(a.mode, 0666);
    assert_string_equal(a.group, "www-data");
    address_fini(&a);
}

static void what_is_written_reads_back(void **state)
{
    static const char *const cases[] = {"127.0.0.1:1",     "[fe80::1]:3306",
                                        "unix:/a",         "unix:/a?mode=0777",
                                        "unix:/a?group=g", "unix:/a?mode=0000&group=g"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[ADDRESS_TEXT_MAX_BYTES];
        struct address a = parse(cases[i]);
        assert_string_equal(address_format(&a, text, sizeof text), cases[i]);
        address_fini(&a);
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "6033",
        "host",
        ":6033",
        "host:",
        "host:65536",
        "host:-1",
        "host:1x",
        "::1:6033",
        "[::1]",
        "[]:1",
        "[::g]:1",
        "[::1]6033",
        "[:1",
        "ho st:1",
        "host/x:1",
        "unix:",
        "unix:?mode=0660",
        "unix:/a?mode=",
        "unix:/a?mode=0888",
        "unix:/a?mode=1777",
        "unix:/a?group=",
        "unix:/a?owner=x",
        "unix:/a?group=a&group=b",
        "unix:/a?",
        "[:",
        "unix:/a?mode=00660",
        "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb]:1"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct address a = {.port = 7};
        struct why why;
        if (address_parse(cases[i], &a, &why))
            fail_msg("accepted: %s", cases[i]);
        assert_int_equal(a.port, 7);
    }
}

static void every_shorter_prefix_is_refused_or_whole(void **state)
{
    static const char text[] = "unix:/run/s.sock?mode=0660&group=www";
    (void)state;
    for (size_t len = 0; len < sizeof text; len++) {
        char cut[sizeof text] = {0};
        struct address a;
        struct why why;
        memcpy(cut, text, len);
        if (address_parse(cut, &a, &why))
            address_fini(&a);
    }
}

static void one_byte_over_the_limit_is_refused(void **state)
{
    char text[600] = "unix:";
    struct address a;
    struct why why;
    (void)state;
    memset(text + 5, 'p', ADDRESS_PATH_MAX_BYTES);
    assert_true(address_parse(text, &a, &why));
    address_fini(&a);
    text[5 + ADDRESS_PATH_MAX_BYTES] = 'p';
    assert_false(address_parse(text, &a, &why));

    memset(text, 'h', sizeof text);
    strcpy(text + ADDRESS_HOST_MAX_BYTES, ":1");
    assert_true(address_parse(text, &a, &why));
    address_fini(&a);
    text[ADDRESS_HOST_MAX_BYTES] = 'h';
    strcpy(text + ADDRESS_HOST_MAX_BYTES + 1, ":1");
    assert_false(address_parse(text, &a, &why));
}

static void local_means_out_of_reach_from_outside(void **state)
{
    static const struct {
        const char *text;
        bool local;
    } cases[] = {{"127.0.0.1:1", true}, {"127.9.9.9:1", true}, {"localhost:1", true},
                 {"[::1]:1", true},     {"unix:/a", true},     {"0.0.0.0:1", false},
                 {"[::]:1", false},     {"10.0.0.1:1", false}, {"127.0.0.1.example.org:1", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct address a = parse(cases[i].text);
        assert_int_equal(address_is_local(&a), cases[i].local);
        address_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcp_addresses_are_host_and_port),
        cmocka_unit_test(unix_addresses_have_a_path_mode_and_group),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(every_shorter_prefix_is_refused_or_whole),
        cmocka_unit_test(one_byte_over_the_limit_is_refused),
        cmocka_unit_test(local_means_out_of_reach_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
