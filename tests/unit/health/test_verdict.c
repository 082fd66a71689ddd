/* SPDX-License-Identifier: Apache-2.0
 * health/verdict, health/backoff, health/window: the pure rules, at their boundaries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "health/backoff.h"
#include "health/verdict.h"
#include "health/window.h"

enum { T0 = 1000000 };

static const struct liveness_rules rules = {
    .probe_after_ms = 30000,
    .refresh_every_ms = 60000,
    .max_age_ms = 1800000,
    .idle_timeout_ms = 300000,
};

/* A backend that logged in, was given back and answered at T0, now `quiet_ms` later. */
static struct liveness_facts quiet_for(uint64_t quiet_ms)
{
    return (struct liveness_facts){
        .now_ms = T0 + quiet_ms, .born_ms = T0, .idle_since_ms = T0, .last_proof_ms = T0};
}

static void expect(bool idle, const struct liveness_rules *r, struct liveness_facts facts,
                   enum verdict verdict, enum verdict_reason reason)
{
    enum verdict_reason why;
    enum verdict got = idle ? verdict_on_idle(r, &facts, &why) : verdict_on_lend(r, &facts, &why);
    assert_int_equal(got, verdict);
    assert_int_equal(why, reason);
}

static void lending_probes_from_probe_after_on(void **state)
{
    (void)state;
    expect(false, &rules, quiet_for(0), VERDICT_LEND, VERDICT_REASON_NONE);
    expect(false, &rules, quiet_for(29999), VERDICT_LEND, VERDICT_REASON_NONE);
    expect(false, &rules, quiet_for(30000), VERDICT_PROBE, VERDICT_REASON_PROBE_DUE);
}

static void lending_closes_in_the_last_fifth_of_wait_timeout(void **state)
{
    struct liveness_facts facts = quiet_for(7999);
    (void)state;
    facts.wait_timeout_ms = 10000;
    expect(false, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    facts.now_ms++;
    expect(false, &rules, facts, VERDICT_CLOSE, VERDICT_REASON_WAIT_TIMEOUT);
    facts.now_ms += 1000000;
    expect(false, &rules, facts, VERDICT_CLOSE, VERDICT_REASON_WAIT_TIMEOUT);
}

static void the_guard_is_rounded_up(void **state)
{
    struct liveness_facts facts = quiet_for(5);
    (void)state;
    facts.wait_timeout_ms = 7; /* 80 % are 5.6 */
    expect(false, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    facts.now_ms++;
    expect(false, &rules, facts, VERDICT_CLOSE, VERDICT_REASON_WAIT_TIMEOUT);
}

static void the_guard_comes_before_the_probe(void **state)
{
    struct liveness_facts facts = quiet_for(40000);
    (void)state;
    facts.wait_timeout_ms = 50000;
    expect(false, &rules, facts, VERDICT_CLOSE, VERDICT_REASON_WAIT_TIMEOUT);
}

static void a_refresh_restarts_wait_timeout_but_not_idle_timeout(void **state)
{
    struct liveness_facts facts = quiet_for(300000);
    (void)state;
    facts.wait_timeout_ms = 100000;
    facts.last_proof_ms = facts.now_ms - 10;
    expect(false, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    expect(true, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    facts.surplus = true;
    expect(true, &rules, facts, VERDICT_CLOSE, VERDICT_REASON_IDLE);
}

static void giving_back_without_a_statement_proves_nothing(void **state)
{
    struct liveness_facts facts = quiet_for(30000);
    (void)state;
    facts.idle_since_ms = facts.now_ms;
    expect(false, &rules, facts, VERDICT_PROBE, VERDICT_REASON_PROBE_DUE);
}

static void the_login_is_the_first_proof(void **state)
{
    struct liveness_facts facts = quiet_for(100);
    (void)state;
    facts.last_proof_ms = 0;
    expect(false, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
}

static void idle_ones_close_only_while_surplus(void **state)
{
    struct liveness_rules r = {.idle_timeout_ms = 300000};
    struct liveness_facts facts = quiet_for(299999);
    (void)state;
    facts.surplus = true;
    expect(true, &r, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    facts.now_ms++;
    expect(true, &r, facts, VERDICT_CLOSE, VERDICT_REASON_IDLE);
    facts.surplus = false;
    expect(true, &r, facts, VERDICT_LEND, VERDICT_REASON_NONE);
}

static void the_jittered_age_counts_when_there_is_one(void **state)
{
    struct liveness_rules r = {.max_age_ms = 1000};
    struct liveness_facts facts = quiet_for(999);
    (void)state;
    expect(true, &r, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    facts.max_age_jittered_ms = 950;
    expect(true, &r, facts, VERDICT_CLOSE, VERDICT_REASON_MAX_AGE);
    facts.max_age_jittered_ms = 0;
    facts.now_ms++;
    expect(true, &r, facts, VERDICT_CLOSE, VERDICT_REASON_MAX_AGE);
    expect(false, &r, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    r.max_age_ms = 0;
    facts.max_age_jittered_ms = 950;
    expect(true, &r, facts, VERDICT_LEND, VERDICT_REASON_NONE);
}

static void idle_ones_are_refreshed_before_the_guard(void **state)
{
    struct liveness_facts facts = quiet_for(3999);
    (void)state;
    facts.wait_timeout_ms = 10000;
    expect(true, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    facts.now_ms++;
    expect(true, &rules, facts, VERDICT_PROBE, VERDICT_REASON_WAIT_TIMEOUT_HALF);
    facts.now_ms = T0 + 8000;
    expect(true, &rules, facts, VERDICT_CLOSE, VERDICT_REASON_WAIT_TIMEOUT);
}

static void idle_ones_are_refreshed_every_so_often(void **state)
{
    (void)state;
    expect(true, &rules, quiet_for(59999), VERDICT_LEND, VERDICT_REASON_NONE);
    expect(true, &rules, quiet_for(60000), VERDICT_PROBE, VERDICT_REASON_REFRESH_DUE);
}

static void rules_of_zero_or_less_are_off(void **state)
{
    struct liveness_rules off = {.probe_after_ms = -1};
    struct liveness_facts facts = quiet_for(UINT64_MAX / 2);
    (void)state;
    facts.surplus = true;
    expect(false, &off, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    expect(true, &off, facts, VERDICT_LEND, VERDICT_REASON_NONE);
}

static void times_ahead_of_now_count_as_now(void **state)
{
    struct liveness_facts facts = quiet_for(0);
    (void)state;
    facts.now_ms = 5;
    facts.wait_timeout_ms = UINT64_MAX;
    facts.surplus = true;
    expect(false, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
    expect(true, &rules, facts, VERDICT_LEND, VERDICT_REASON_NONE);
}

static void jitter_stays_within_a_tenth(void **state)
{
    (void)state;
    assert_int_equal(verdict_jitter_max_age_ms(0, 7), 0);
    assert_int_equal(verdict_jitter_max_age_ms(-5, 7), 0);
    assert_int_equal(verdict_jitter_max_age_ms(1000, 0), 1000);
    assert_int_equal(verdict_jitter_max_age_ms(1000, 100), 900);
    assert_int_equal(verdict_jitter_max_age_ms(1000, 101), 1000);
    assert_int_equal(verdict_jitter_max_age_ms(3, UINT64_MAX), 3);
}

static void reasons_have_words(void **state)
{
    (void)state;
    assert_string_equal(verdict_reason_word(VERDICT_REASON_WAIT_TIMEOUT), "wait_timeout");
    assert_string_equal(verdict_reason_word(VERDICT_REASON_NONE), "none");
}

static void backoff_doubles_up_to_the_cap(void **state)
{
    static const uint64_t ceilings_ms[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    struct backoff_rules r = BACKOFF_RULES_DEFAULT;
    struct backoff high = {0}, low = {0};
    (void)state;
    for (size_t i = 0; i < sizeof ceilings_ms / sizeof *ceilings_ms; i++) {
        assert_int_equal(backoff_next_ms(&high, &r, UINT64_MAX), ceilings_ms[i]);
        assert_int_equal(backoff_next_ms(&low, &r, 0), 1);
    }
    assert_int_equal(backoff_next_ms(&high, &r, UINT64_MAX / 2), 2500);
    backoff_reset(&high);
    assert_int_equal(backoff_next_ms(&high, &r, UINT64_MAX), 100);
}

static void backoff_survives_odd_rules_and_long_outages(void **state)
{
    struct backoff b = {.failures = UINT32_MAX};
    struct backoff_rules huge = {.base_ms = 1, .cap_ms = UINT64_MAX};
    struct backoff_rules none = {0};
    struct backoff_rules upside_down = {.base_ms = 900, .cap_ms = 50};
    (void)state;
    assert_true(backoff_next_ms(&b, &huge, UINT64_MAX) > UINT64_MAX / 2);
    assert_int_equal(b.failures, UINT32_MAX);
    assert_int_equal(backoff_next_ms(&b, &none, UINT64_MAX), 1);
    assert_int_equal(backoff_next_ms(&b, &upside_down, UINT64_MAX), 50);
}

static void a_window_counts_the_good_of_the_last_n(void **state)
{
    struct window w = {0};
    (void)state;
    assert_false(window_healthy(&w, 1, 8));
    window_push(&w, true);
    window_push(&w, true);
    window_push(&w, false);
    assert_int_equal(window_good(&w, 8), 2);
    assert_int_equal(window_good(&w, 1), 0);
    assert_int_equal(window_good(&w, 2), 1);
    assert_int_equal(window_good(&w, 0), 0);
    assert_true(window_healthy(&w, 2, 3));
    assert_false(window_healthy(&w, 2, 2));
    assert_int_equal(window_bad_run(&w), 1);
}

static void a_window_forgets_after_64(void **state)
{
    struct window w = {0};
    (void)state;
    for (int i = 0; i < WINDOW_SIZE; i++)
        window_push(&w, true);
    assert_int_equal(window_good(&w, WINDOW_SIZE), 64);
    assert_int_equal(window_good(&w, 1000), 64);
    assert_int_equal(window_bad_run(&w), 0);
    for (int i = 0; i < WINDOW_SIZE; i++)
        window_push(&w, false);
    assert_int_equal(window_good(&w, WINDOW_SIZE), 0);
    assert_int_equal(window_bad_run(&w), 64);
}

static void a_window_may_start_healthy(void **state)
{
    struct window w = {0};
    (void)state;
    window_start(&w, 3);
    assert_true(window_healthy(&w, 3, 3));
    assert_false(window_healthy(&w, 4, 8));
    window_push(&w, false);
    assert_false(window_healthy(&w, 3, 3));
    assert_int_equal(window_bad_run(&w), 1);
    window_start(&w, 64);
    assert_int_equal(window_good(&w, 64), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lending_probes_from_probe_after_on),
        cmocka_unit_test(lending_closes_in_the_last_fifth_of_wait_timeout),
        cmocka_unit_test(the_guard_is_rounded_up),
        cmocka_unit_test(the_guard_comes_before_the_probe),
        cmocka_unit_test(a_refresh_restarts_wait_timeout_but_not_idle_timeout),
        cmocka_unit_test(giving_back_without_a_statement_proves_nothing),
        cmocka_unit_test(the_login_is_the_first_proof),
        cmocka_unit_test(idle_ones_close_only_while_surplus),
        cmocka_unit_test(the_jittered_age_counts_when_there_is_one),
        cmocka_unit_test(idle_ones_are_refreshed_before_the_guard),
        cmocka_unit_test(idle_ones_are_refreshed_every_so_often),
        cmocka_unit_test(rules_of_zero_or_less_are_off),
        cmocka_unit_test(times_ahead_of_now_count_as_now),
        cmocka_unit_test(jitter_stays_within_a_tenth),
        cmocka_unit_test(reasons_have_words),
        cmocka_unit_test(backoff_doubles_up_to_the_cap),
        cmocka_unit_test(backoff_survives_odd_rules_and_long_outages),
        cmocka_unit_test(a_window_counts_the_good_of_the_last_n),
        cmocka_unit_test(a_window_forgets_after_64),
        cmocka_unit_test(a_window_may_start_healthy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
