/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/iobuf.c: order, the limit, and when memory goes. */
#include "pool/iobuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_holds(const struct iobuf *b, const char *text)
{
    assert_int_equal(iobuf_len(b), strlen(text));
    assert_true(bytes_equal(iobuf_bytes(b), bytes_text(text)));
}

static void an_empty_one_has_no_bytes_and_no_memory(void **state)
{
    struct iobuf b;
    (void)state;
    iobuf_init(&b, 10);
    assert_int_equal(iobuf_len(&b), 0);
    assert_int_equal(iobuf_bytes(&b).len, 0);
    assert_null(b.data);
    assert_true(iobuf_append(&b, bytes_of(NULL, 0)));
    assert_null(b.data);
    iobuf_consume(&b, 0);
    iobuf_wipe(&b);
    iobuf_fini(&b);
}

static void bytes_come_out_in_order(void **state)
{
    struct iobuf b;
    (void)state;
    iobuf_init(&b, 100);
    assert_true(iobuf_append(&b, bytes_text("one ")));
    assert_true(iobuf_append(&b, bytes_text("two ")));
    iobuf_consume(&b, 4);
    assert_true(iobuf_append(&b, bytes_text("three")));
    assert_holds(&b, "two three");
    iobuf_fini(&b);
}

static void memory_goes_when_the_last_byte_is_consumed(void **state)
{
    struct iobuf b;
    (void)state;
    iobuf_init(&b, 100);
    assert_true(iobuf_append(&b, bytes_text("abc")));
    iobuf_consume(&b, 2);
    assert_non_null(b.data);
    iobuf_consume(&b, 1);
    assert_null(b.data);
    assert_int_equal(b.limit_bytes, 100);
    assert_true(iobuf_append(&b, bytes_text("again")));
    assert_holds(&b, "again");
    iobuf_fini(&b);
}

static void the_limit_is_exact(void **state)
{
    struct iobuf b;
    static const uint8_t zeros[1000];
    (void)state;
    iobuf_init(&b, 1000);
    assert_true(iobuf_append(&b, bytes_of(zeros, 999)));
    assert_false(iobuf_append(&b, bytes_of(zeros, 2)));
    assert_int_equal(iobuf_len(&b), 999); /* nothing was added */
    assert_true(iobuf_append(&b, bytes_of(zeros, 1)));
    assert_false(iobuf_append(&b, bytes_of(zeros, 1)));
    assert_null(iobuf_reserve(&b, 1));
    iobuf_consume(&b, 10); /* the limit is about what lies in it, not about what went through */
    assert_true(iobuf_append(&b, bytes_of(zeros, 10)));
    assert_false(iobuf_append(&b, bytes_of(zeros, 1)));
    iobuf_fini(&b);
    assert_false(iobuf_append(&b, bytes_of(zeros, 1001)));
    assert_null(iobuf_reserve(&b, SIZE_MAX));
    iobuf_fini(&b);
}

static void reserved_room_counts_only_as_far_as_it_grew(void **state)
{
    struct iobuf b;
    (void)state;
    iobuf_init(&b, 5000);
    uint8_t *at = iobuf_reserve(&b, 4000);
    assert_non_null(at);
    memcpy(at, "filled", 6);
    iobuf_grew(&b, 6);
    assert_holds(&b, "filled");
    iobuf_fini(&b);
}

static void room_in_front_is_used_before_more_is_asked_for(void **state)
{
    struct iobuf b;
    static const uint8_t zeros[256];
    (void)state;
    iobuf_init(&b, 5000);
    assert_true(iobuf_append(&b, bytes_of(zeros, 256)));
    uint32_t room = b.room;
    iobuf_consume(&b, 253);
    assert_true(iobuf_append(&b, bytes_text("moved")));
    assert_int_equal(b.room, room);
    assert_int_equal(b.start, 0);
    assert_true(bytes_equal(iobuf_bytes(&b), bytes_of("\0\0\0moved", 8)));
    /* Moved and still too small: grows as well. */
    iobuf_consume(&b, 1);
    assert_non_null(iobuf_reserve(&b, 300));
    assert_true(b.room > room);
    assert_true(bytes_equal(iobuf_bytes(&b), bytes_of("\0\0moved", 7)));
    iobuf_fini(&b);
}

static void clear_keeps_the_memory_and_wipe_does_not(void **state)
{
    struct iobuf b;
    (void)state;
    iobuf_init(&b, 100);
    assert_true(iobuf_append(&b, bytes_text("secret")));
    iobuf_clear(&b);
    assert_int_equal(iobuf_len(&b), 0);
    assert_non_null(b.data);
    assert_true(iobuf_append(&b, bytes_text("x")));
    assert_holds(&b, "x");
    iobuf_wipe(&b);
    assert_null(b.data);
    assert_int_equal(b.limit_bytes, 100);
}

static void copies_are_terminated(void **state)
{
    (void)state;
    char *copy = xstrndup(bytes_of("abcdef", 3));
    assert_string_equal(copy, "abc");
    free(copy);
    copy = xstrndup(bytes_of(NULL, 0));
    assert_string_equal(copy, "");
    free(copy);
    uint8_t *zeros = xcalloc(3, 5);
    for (int i = 0; i < 15; i++)
        assert_int_equal(zeros[i], 0);
    free(zeros);
    free(xmalloc(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_has_no_bytes_and_no_memory),
        cmocka_unit_test(bytes_come_out_in_order),
        cmocka_unit_test(memory_goes_when_the_last_byte_is_consumed),
        cmocka_unit_test(the_limit_is_exact),
        cmocka_unit_test(reserved_room_counts_only_as_far_as_it_grew),
        cmocka_unit_test(room_in_front_is_used_before_more_is_asked_for),
        cmocka_unit_test(clear_keeps_the_memory_and_wipe_does_not),
        cmocka_unit_test(copies_are_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
