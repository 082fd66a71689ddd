/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/mysql_resultset: the bytes of a small result, and room that is too small. */
#include "protocol/mysql_resultset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"

static const struct mysql_column two[] = {{"name", MYSQL_COLUMN_TEXT}, {"n", MYSQL_COLUMN_NUMBER}};

/* By the documentation's "Text Resultset", field by field. */
#define HEAD                                                                                       \
    "\x01\x00\x00\x01\x02"                                                                         \
    "\x1a\x00\x00\x02\x03"                                                                         \
    "def\x00\x00\x00\x04name\x00\x0c\x2d\x00\x00\x10\x00\x00\xfd\x00\x00\x00\x00\x00"              \
    "\x17\x00\x00\x03\x03"                                                                         \
    "def\x00\x00\x00\x01n\x00\x0c\x3f\x00\x14\x00\x00\x00\x08\xa0\x80\x00\x00\x00"                 \
    "\x05\x00\x00\x04\xfe\x00\x00\x02\x00"
enum { HEAD_BYTES = sizeof HEAD - 1 };

static void the_head_is_count_definitions_and_eof(void **state)
{
    (void)state;
    uint8_t out[256];
    uint8_t seq = 1;
    assert_int_equal(mysql_resultset_head(out, sizeof out, &seq, two, 2, 2), HEAD_BYTES);
    assert_memory_equal(out, HEAD, HEAD_BYTES);
    assert_int_equal(seq, 5);
}

static void a_row_has_texts_and_null(void **state)
{
    (void)state;
    uint8_t out[64];
    uint8_t seq = 9;
    struct bytes values[] = {bytes_text("ab"), {0}, bytes_of("", 0)};
    static const char wanted[] = "\x05\x00\x00\x09\x02"
                                 "ab\xfb\x00";
    assert_int_equal(mysql_resultset_row(out, sizeof out, &seq, values, 3), sizeof wanted - 1);
    assert_memory_equal(out, wanted, sizeof wanted - 1);
    assert_int_equal(seq, 10);
    assert_int_equal(mysql_resultset_end(out, sizeof out, &seq, 0x22), 9);
    assert_memory_equal(out, "\x05\x00\x00\x0a\xfe\x00\x00\x22\x00", 9);
    assert_int_equal(seq, 11);
}

/* Memory of exactly that size, so that a sanitizer sees a byte beyond. */
static void too_small_a_room_writes_no_result_and_keeps_the_sequence_id(void **state)
{
    (void)state;
    struct bytes values[] = {bytes_text("abc"), {0}};
    for (size_t room = 0; room <= HEAD_BYTES; room++) {
        uint8_t *out = malloc(room ? room : 1);
        uint8_t seq = 1;
        size_t whole = room == HEAD_BYTES ? HEAD_BYTES : 0;
        assert_int_equal(mysql_resultset_head(out, room, &seq, two, 2, 2), whole);
        assert_int_equal(seq, whole ? 5 : 1);
        if (room < 9) {
            assert_int_equal(mysql_resultset_row(out, room, &seq, values, 2), 0);
            assert_int_equal(mysql_resultset_end(out, room, &seq, 2), 0);
            assert_int_equal(seq, 1);
        }
        free(out);
    }
}

static void sequence_ids_wrap(void **state)
{
    (void)state;
    uint8_t out[256];
    uint8_t seq = 254;
    struct bytes value = bytes_text("x");
    assert_int_not_equal(mysql_resultset_head(out, sizeof out, &seq, two, 2, 2), 0);
    assert_int_equal(seq, 2);
    seq = 255;
    assert_int_equal(mysql_resultset_row(out, sizeof out, &seq, &value, 1), 6);
    assert_int_equal(out[3], 255);
    assert_int_equal(seq, 0);
}

static void a_long_value_has_a_long_length(void **state)
{
    (void)state;
    static uint8_t out[70100];
    static char text[70000];
    uint8_t seq = 0;
    struct bytes value = bytes_of(text, sizeof text);
    memset(text, 'a', sizeof text);
    assert_int_equal(mysql_resultset_row(out, sizeof out, &seq, &value, 1), 4 + 4 + sizeof text);
    assert_memory_equal(out, "\x74\x11\x01\x00\xfd\x70\x11\x01", 8);
}

static void the_most_columns_fit_into_the_promised_room(void **state)
{
    (void)state;
    static uint8_t out[MYSQL_RESULTSET_HEAD_MAX_BYTES];
    static char name[81];
    struct mysql_column many[MYSQL_RESULTSET_COLUMNS_MAX];
    uint8_t seq = 1;
    memset(name, 'c', sizeof name - 1);
    for (size_t i = 0; i < MYSQL_RESULTSET_COLUMNS_MAX; i++)
        many[i] = (struct mysql_column){name, MYSQL_COLUMN_TEXT};
    assert_int_not_equal(
        mysql_resultset_head(out, sizeof out, &seq, many, MYSQL_RESULTSET_COLUMNS_MAX, 2), 0);
    assert_int_equal(seq, 1 + 1 + MYSQL_RESULTSET_COLUMNS_MAX + 1);
}

/* Our own reader of small results wants no EOF behind the columns: cut it out. */
static void what_is_written_can_be_read(void **state)
{
    (void)state;
    uint8_t out[512];
    uint8_t seq = 1;
    struct bytes row[] = {bytes_text("abc"), bytes_text("42")};
    struct bytes read[2];
    struct mysql_result result;
    size_t used;
    size_t len = mysql_resultset_head(out, sizeof out, &seq, two, 2, 2) - 9;
    len += mysql_resultset_row(out + len, sizeof out - len, &seq, row, 2);
    struct mysql_ok ok = {.status = 2};
    size_t last = mysql_ok_packet(out + len, sizeof out - len, seq, &ok);
    out[len + MYSQL_HEADER_BYTES] = 0xFE;
    len += last;
    assert_int_equal(mysql_result_read(bytes_of(out, len), &result, &used), WIRE_DONE);
    size_t at = result.rows_at;
    assert_true(mysql_result_row(bytes_of(out, len), &result, &at, read));
    assert_true(bytes_equal(read[0], row[0]) && bytes_equal(read[1], row[1]));
    assert_false(mysql_result_row(bytes_of(out, len), &result, &at, read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_count_definitions_and_eof),
        cmocka_unit_test(a_row_has_texts_and_null),
        cmocka_unit_test(too_small_a_room_writes_no_result_and_keeps_the_sequence_id),
        cmocka_unit_test(sequence_ids_wrap),
        cmocka_unit_test(a_long_value_has_a_long_length),
        cmocka_unit_test(the_most_columns_fit_into_the_promised_room),
        cmocka_unit_test(what_is_written_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
