/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/pin.c: the words of the reasons. */
#include "proxy/pin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void each_reason_has_a_bit_and_a_word_of_its_own(void **state)
{
    uint32_t seen = 0;
    (void)state;
#define X(id, word, held)                                                                          \
    assert_int_equal(PIN_##id, 1u << PIN_REASON_##id);                                             \
    assert_string_equal(pin_word(PIN_REASON_##id), word);                                          \
    assert_string_equal(pin_held_text(PIN_##id), held);                                            \
    assert_int_equal(seen &PIN_##id, 0);                                                           \
    seen |= PIN_##id;
    PINS(X)
#undef X
    assert_int_equal(seen, (1u << PIN_REASONS_COUNT) - 1);
    for (int a = 0; a < PIN_REASONS_COUNT; a++)
        for (int b = a + 1; b < PIN_REASONS_COUNT; b++)
            assert_string_not_equal(pin_word((enum pin_reason)a), pin_word((enum pin_reason)b));
}

/* Label values of a metric. */
static void words_are_lower_case_and_underscores(void **state)
{
    (void)state;
    for (int r = 0; r < PIN_REASONS_COUNT; r++) {
        const char *word = pin_word((enum pin_reason)r);
        assert_int_equal(strspn(word, "abcdefghijklmnopqrstuvwxyz_"), strlen(word));
    }
}

static void the_first_reason_of_a_set_is_the_one_told(void **state)
{
    (void)state;
    assert_string_equal(pin_held_text(PIN_NAMED_LOCK | PIN_TRANSACTION), "in transaction");
    assert_string_equal(pin_held_text(PIN_NAMED_LOCK | PIN_PREPARED_STATEMENT), "GET_LOCK");
}

static void without_a_reason_a_statement_runs(void **state)
{
    (void)state;
    assert_string_equal(pin_held_text(0), "running a statement");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_has_a_bit_and_a_word_of_its_own),
        cmocka_unit_test(words_are_lower_case_and_underscores),
        cmocka_unit_test(the_first_reason_of_a_set_is_the_one_told),
        cmocka_unit_test(without_a_reason_a_statement_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
