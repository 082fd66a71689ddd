/* SPDX-License-Identifier: Apache-2.0
 * health/probe_mysql: replies as MariaDB and MySQL send them under DEPRECATE_EOF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "health/probe_mysql.h"

/* SELECT 1: column count, one column, one row, the OK that ends the rows. */
static const char select_1[] = "\x01\x00\x00\x01\x01"
                               "\x17\x00\x00\x02\x03"
                               "def\x00\x00\x00\x01"
                               "1\x00\x0c\x3f\x00\x01\x00\x00\x00\x03\x81\x00\x00\x00\x00"
                               "\x02\x00\x00\x03\x01"
                               "1"
                               "\x07\x00\x00\x04\xfe\x00\x00\x02\x00\x00\x00";
enum { SELECT_1_LEN = sizeof select_1 - 1, STATUS_AT = SELECT_1_LEN - 4 };

static const char err[] = "\x18\x00\x00\x01\xff\x1d\x04#08S01server is going";

static const char ok[] = "\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00";

/* In memory of exactly that size, so that ASan sees a byte too far. */
static enum probe_verdict judge(const char *reply, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, reply, len);
    enum probe_verdict verdict = probe_mysql_judge(bytes_of(copy, len));
    free(copy);
    return verdict;
}

static void a_whole_result_is_alive(void **state)
{
    (void)state;
    assert_int_equal(judge(select_1, SELECT_1_LEN), PROBE_ALIVE);
    assert_int_equal(judge(ok, sizeof ok - 1), PROBE_ALIVE);
}

static void every_shorter_prefix_asks_for_more(void **state)
{
    (void)state;
    for (size_t len = 0; len < SELECT_1_LEN; len++)
        assert_int_equal(judge(select_1, len), PROBE_MORE);
    for (size_t len = 0; len < sizeof err - 1; len++)
        assert_int_equal(judge(err, len), PROBE_MORE);
}

static void an_error_is_a_failure(void **state)
{
    (void)state;
    assert_int_equal(judge(err, sizeof err - 1), PROBE_FAILED);
}

static void bytes_behind_the_reply_are_broken(void **state)
{
    char more[SELECT_1_LEN + 1];
    (void)state;
    memcpy(more, select_1, SELECT_1_LEN);
    more[SELECT_1_LEN] = 0;
    assert_int_equal(judge(more, sizeof more), PROBE_BROKEN);
    /* sizeof err counts its NUL: one byte over. */
    assert_int_equal(judge(err, sizeof err), PROBE_BROKEN);
}

static void a_second_result_is_broken(void **state)
{
    char more[SELECT_1_LEN];
    (void)state;
    memcpy(more, select_1, SELECT_1_LEN);
    more[STATUS_AT] |= 0x08;
    assert_int_equal(judge(more, sizeof more), PROBE_BROKEN);
}

static void garbage_is_broken(void **state)
{
    (void)state;
    assert_int_equal(judge("\x01\x00\x00\x01\xfb", 5), PROBE_BROKEN); /* asks for a file */
    assert_int_equal(judge("\x00\x00\x00\x01", 4), PROBE_BROKEN);
}

static void a_reply_over_the_limit_is_broken(void **state)
{
    /* One packet that is announced longer than the limit, and shown up to it. */
    char *reply = calloc(1, PROBE_REPLY_MAX_BYTES + 1);
    (void)state;
    memcpy(reply, "\xff\xff\x00\x01\xff\x1d\x04#08S01", 13);
    assert_int_equal(judge(reply, PROBE_REPLY_MAX_BYTES), PROBE_MORE);
    assert_int_equal(judge(reply, PROBE_REPLY_MAX_BYTES + 1), PROBE_BROKEN);
    free(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_result_is_alive),
        cmocka_unit_test(every_shorter_prefix_asks_for_more),
        cmocka_unit_test(an_error_is_a_failure),
        cmocka_unit_test(bytes_behind_the_reply_are_broken),
        cmocka_unit_test(a_second_result_is_broken),
        cmocka_unit_test(garbage_is_broken),
        cmocka_unit_test(a_reply_over_the_limit_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
