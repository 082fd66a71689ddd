/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/log.c. Lines are read back through a file in memory. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/log.h"

static int fd;

static int open_log(void **state)
{
    (void)state;
    unsetenv("JOURNAL_STREAM");
    fd = memfd_create("log", MFD_CLOEXEC);
    log_set_fd(fd);
    log_init(LOG_FORMAT_LOGFMT, LOG_INFO);
    return fd < 0;
}

static int close_log(void **state)
{
    (void)state;
    return close(fd);
}

/* All that was written since the last call. */
static const char *written(void)
{
    static char text[65536];
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    assert_true(len >= 0);
    text[len] = '\0';
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return text;
}

static void a_line_has_time_level_event_and_fields(void **state)
{
    char level[8];
    char rest[64];
    int ms;
    int year;
    (void)state;
    log_line(LOG_INFO, "ready", LOG_STR("mysql", "127.0.0.1:6033"), LOG_STR("redis", "off"),
             LOG_STR("admin", "127.0.0.1:6070"));
    const char *line = written();
    assert_int_equal(sscanf(line, "ts=%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%3dZ level=%7s %60[^\n]", &year,
                            &ms, level, rest),
                     4);
    assert_true(year >= 2024);
    assert_string_equal(level, "info");
    assert_non_null(
        strstr(line, " event=ready mysql=127.0.0.1:6033 redis=off admin=127.0.0.1:6070\n"));
}

static void fields_have_types(void **state)
{
    (void)state;
    log_line(LOG_WARN, "e", LOG_INT("i", INT64_MIN), LOG_UINT("u", UINT64_MAX), LOG_BOOL("t", true),
             LOG_BOOL("f", false), LOG_BYTES("b", "abcdef", 3), LOG_STR("n", NULL));
    assert_non_null(strstr(written(), " level=warn event=e i=-9223372036854775808 "
                                      "u=18446744073709551615 t=true f=false b=abc n=\"\"\n"));
}

static void odd_values_are_quoted_and_stay_one_line(void **state)
{
    (void)state;
    log_line(LOG_INFO, "e", LOG_STR("a", "x y"), LOG_STR("b", "q\"\\"),
             LOG_STR("c", "1\n2\x1b[31m"), LOG_STR("d", "k=v"), LOG_STR("e", "\xc3\xa4"),
             LOG_STR("f", "\xff\xc3"));
    assert_non_null(strstr(written(), " a=\"x y\" b=\"q\\\"\\\\\" c=\"1\\n2\\u001b[31m\" d=\"k=v\" "
                                      "e=\"\xc3\xa4\" f=\"\xef\xbf\xbd\xef\xbf\xbd\"\n"));
}

static void every_byte_makes_good_json(void **state)
{
    char all[256 * 3];
    (void)state;
    for (size_t i = 0; i < 256; i++) {
        all[i] = (char)i;
        all[256 + 2 * i] = (char)0xe0; /* and behind the start of a longer character */
        all[256 + 2 * i + 1] = (char)i;
    }
    log_init(LOG_FORMAT_JSON, LOG_INFO);
    log_line(LOG_INFO, "e", LOG_BYTES("all", all, sizeof all), LOG_INT("n", -1),
             LOG_BOOL("b", true));
    const char *line = written();
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    json_t *json = json_loads(line, JSON_ALLOW_NUL, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "event")), "e");
    assert_string_equal(json_string_value(json_object_get(json, "level")), "info");
    assert_int_equal(json_integer_value(json_object_get(json, "n")), -1);
    assert_true(json_is_true(json_object_get(json, "b")));
    assert_int_equal(json_string_length(json_object_get(json, "ts")), 24);
    json_decref(json);
}

static void only_well_formed_utf8_passes(void **state)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"\xc3\xa4", true},
                 {"\xe2\x82\xac", true},
                 {"\xf0\x9f\x90\x98", true},
                 {"\xf4\x8f\xbf\xbf", true},
                 {"\xc0\xaf", false},
                 {"\xe0\x80\xaf", false},
                 {"\xed\xa0\x80", false},
                 {"\xf0\x80\x80\xaf", false},
                 {"\xf4\x90\x80\x80", false},
                 {"\xf5\x80\x80\x80", false},
                 {"\xc2\x9b", false},
                 {"\xe2\x82", false},
                 {"\x80", false},
                 {"\xc3x", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        log_line(LOG_INFO, "e", LOG_STR("v", cases[i].text));
        assert_int_equal(strstr(written(), "\xef\xbf\xbd") == NULL, cases[i].good);
    }
}

static void a_field_that_does_not_fit_is_left_out_and_said(void **state)
{
    static char big[20000];
    (void)state;
    memset(big, '"', sizeof big - 1);
    log_line(LOG_INFO, "e", LOG_INT("a", 1), LOG_STR("big", big), LOG_INT("c", 2));
    const char *line = written();
    assert_non_null(strstr(line, " event=e a=1 truncated=true\n"));
    log_init(LOG_FORMAT_JSON, LOG_INFO);
    log_line(LOG_INFO, "e", LOG_INT("a", 1), LOG_STR("big", big));
    json_t *json = json_loads(written(), 0, NULL);
    assert_true(json_is_true(json_object_get(json, "truncated")));
    json_decref(json);
    /* Each length around the limit gives one whole line. */
    for (size_t len = 8000; len < 8200; len++) {
        log_line(LOG_INFO, "e", LOG_BYTES("b", big, len / 2), LOG_INT("c", 2));
        json = json_loads(written(), 0, NULL);
        assert_non_null(json);
        json_decref(json);
    }
}

static int evaluated;

static int64_t evaluate(void)
{
    return ++evaluated;
}

static void a_level_that_is_off_costs_nothing(void **state)
{
    (void)state;
    evaluated = 0;
    log_line(LOG_DEBUG, "e", LOG_INT("n", evaluate()));
    log_write(LOG_DEBUG, "e", "%d", 1);
    assert_string_equal(written(), "");
    assert_int_equal(evaluated, 0);
    log_init(LOG_FORMAT_LOGFMT, LOG_DEBUG);
    log_line(LOG_DEBUG, "e", LOG_INT("n", evaluate()));
    assert_non_null(strstr(written(), "level=debug event=e n=1\n"));
    log_init(LOG_FORMAT_LOGFMT, LOG_ERROR);
    log_line(LOG_WARN, "e");
    assert_string_equal(written(), "");
    log_line(LOG_ERROR, "e");
    assert_non_null(strstr(written(), "level=error event=e\n"));
}

static void a_message_may_be_printed(void **state)
{
    (void)state;
    log_write(LOG_ERROR, "config", "%s is %d", "it", 3);
    assert_non_null(strstr(written(), "level=error event=config msg=\"it is 3\"\n"));
}

static void repeats_are_suppressed_and_counted(void **state)
{
    struct log_limit limit = {0};
    (void)state;
    for (int i = 0; i < LOG_LIMIT_LINES + 7; i++)
        log_line_limited(&limit, LOG_INFO, "down", LOG_INT("i", i));
    const char *lines = written();
    assert_non_null(strstr(lines, "event=down i=4\n"));
    assert_null(strstr(lines, "i=5"));
    limit.window_since_ms -= LOG_LIMIT_WINDOW_MS; /* the window is over */
    log_line_limited(&limit, LOG_INFO, "down", LOG_INT("i", 99));
    lines = written();
    const char *told = strstr(lines, "event=suppressed of=down suppressed=7\n");
    assert_non_null(told);
    assert_non_null(strstr(told, "event=down i=99\n"));
    log_limit_flush(&limit, LOG_INFO, "down");
    assert_string_equal(written(), "");
    for (int i = 0; i < LOG_LIMIT_LINES; i++)
        log_line_limited(&limit, LOG_INFO, "down");
    (void)written();
    log_limit_flush(&limit, LOG_INFO, "down");
    assert_non_null(strstr(written(), "suppressed=1\n"));
}

static void the_journal_gets_a_priority_and_no_time(void **state)
{
    struct stat st;
    char stream[64];
    (void)state;
    assert_int_equal(fstat(fd, &st), 0);
    (void)snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_init(LOG_FORMAT_LOGFMT, LOG_INFO);
    log_line(LOG_WARN, "e", LOG_INT("n", 1));
    assert_string_equal(written(), "<4>level=warn event=e n=1\n");
    /* Inherited, but our stderr went elsewhere. */
    setenv("JOURNAL_STREAM", "1:2", 1);
    log_init(LOG_FORMAT_LOGFMT, LOG_INFO);
    log_line(LOG_WARN, "e");
    assert_memory_equal(written(), "ts=", 3);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, open_log, close_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(a_line_has_time_level_event_and_fields),
        LOG_TEST(fields_have_types),
        LOG_TEST(odd_values_are_quoted_and_stay_one_line),
        LOG_TEST(every_byte_makes_good_json),
        LOG_TEST(only_well_formed_utf8_passes),
        LOG_TEST(a_field_that_does_not_fit_is_left_out_and_said),
        LOG_TEST(a_level_that_is_off_costs_nothing),
        LOG_TEST(a_message_may_be_printed),
        LOG_TEST(repeats_are_suppressed_and_counted),
        LOG_TEST(the_journal_gets_a_priority_and_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
