/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/guess.c: the brake on guessed passwords. */
#include "proxy/guess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct guesses g;

static int setup(void **state)
{
    (void)state;
    g = (struct guesses){0};
    return 0;
}

static void refuse(uint32_t address, unsigned times, uint64_t now_ms)
{
    for (unsigned i = 0; i < times; i++)
        guess_refused(&g, address, now_ms);
}

static void a_burst_is_let_through_and_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < GUESS_BURST; i++) {
        assert_true(guess_allowed(&g, 7, 5000));
        guess_refused(&g, 7, 5000);
    }
    assert_false(guess_allowed(&g, 7, 5000));
    assert_true(guess_allowed(&g, 8, 5000));
}

static void asking_costs_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_true(guess_allowed(&g, 7, 5000));
}

static void one_more_comes_after_each_interval(void **state)
{
    (void)state;
    refuse(7, GUESS_BURST, 5000);
    assert_false(guess_allowed(&g, 7, 5000 + GUESS_REFILL_MS - 1));
    assert_true(guess_allowed(&g, 7, 5000 + GUESS_REFILL_MS));
    guess_refused(&g, 7, 5000 + GUESS_REFILL_MS);
    assert_false(guess_allowed(&g, 7, 5000 + GUESS_REFILL_MS));
    assert_true(guess_allowed(&g, 7, 5000 + 2 * GUESS_REFILL_MS));
}

/* Parts of an interval are not lost when the table is looked at often. */
static void looking_often_does_not_slow_the_refill(void **state)
{
    (void)state;
    refuse(7, GUESS_BURST, 0);
    for (uint64_t now = 0; now < GUESS_REFILL_MS; now += 7)
        assert_false(guess_allowed(&g, 7, now));
    assert_true(guess_allowed(&g, 7, GUESS_REFILL_MS));
}

static void long_silence_forgives_all_but_saves_up_nothing(void **state)
{
    (void)state;
    refuse(7, GUESS_BURST * 2, 1000);
    assert_false(guess_allowed(&g, 7, 1000 + (uint64_t)GUESS_BURST * GUESS_REFILL_MS));
    uint64_t later = 1000 + (uint64_t)1000 * GUESS_BURST * GUESS_REFILL_MS;
    assert_true(guess_allowed(&g, 7, later));
    refuse(7, GUESS_BURST, later);
    assert_false(guess_allowed(&g, 7, later));
}

static void addresses_that_collide_share_a_count(void **state)
{
    (void)state;
    refuse(7, GUESS_BURST, 0);
    assert_false(guess_allowed(&g, 7 + GUESS_SLOTS, 0));
    assert_true(guess_allowed(&g, UINT32_MAX, 0)); /* the last slot */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_burst_is_let_through_and_no_more, setup),
        cmocka_unit_test_setup(asking_costs_nothing, setup),
        cmocka_unit_test_setup(one_more_comes_after_each_interval, setup),
        cmocka_unit_test_setup(looking_often_does_not_slow_the_refill, setup),
        cmocka_unit_test_setup(long_silence_forgives_all_but_saves_up_nothing, setup),
        cmocka_unit_test_setup(addresses_that_collide_share_a_count, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
