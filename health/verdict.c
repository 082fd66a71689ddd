/* SPDX-License-Identifier: Apache-2.0
 *
 * See verdict.h: the boundaries stand there, each function here is one row of its picture. Any
 * thread. */
#include "health/verdict.h"

static uint64_t span_ms(uint64_t from_ms, uint64_t now_ms)
{
    return from_ms < now_ms ? now_ms - from_ms : 0;
}

static uint64_t quiet_ms(const struct liveness_facts *f)
{
    uint64_t since_ms = f->last_proof_ms > f->born_ms ? f->last_proof_ms : f->born_ms;
    return span_ms(since_ms, f->now_ms);
}

static bool reached(int64_t rule_ms, uint64_t span)
{
    return rule_ms > 0 && span >= (uint64_t)rule_ms;
}

/* Where the last 20 % begin, rounded up: wait - floor(wait / 5) is ceil(wait * 4 / 5), and cannot
 * overflow. */
static uint64_t guard_ms(const struct liveness_facts *f)
{
    return f->wait_timeout_ms - f->wait_timeout_ms / 5;
}

static bool in_guard(const struct liveness_facts *f)
{
    return f->wait_timeout_ms > 0 && quiet_ms(f) >= guard_ms(f);
}

static bool half_way_to_guard(const struct liveness_facts *f)
{
    uint64_t guard = guard_ms(f);
    return f->wait_timeout_ms > 0 && quiet_ms(f) >= guard - guard / 2;
}

static bool too_old(const struct liveness_rules *r, const struct liveness_facts *f)
{
    uint64_t age_ms = span_ms(f->born_ms, f->now_ms);
    if (r->max_age_ms > 0 && f->max_age_jittered_ms > 0)
        return age_ms >= f->max_age_jittered_ms;
    return reached(r->max_age_ms, age_ms);
}

enum verdict verdict_on_lend(const struct liveness_rules *rules, const struct liveness_facts *facts,
                             enum verdict_reason *why)
{
    if (in_guard(facts)) {
        *why = VERDICT_REASON_WAIT_TIMEOUT;
        return VERDICT_CLOSE;
    }
    if (reached(rules->probe_after_ms, quiet_ms(facts))) {
        *why = VERDICT_REASON_PROBE_DUE;
        return VERDICT_PROBE;
    }
    *why = VERDICT_REASON_NONE;
    return VERDICT_LEND;
}

enum verdict verdict_on_idle(const struct liveness_rules *rules, const struct liveness_facts *facts,
                             enum verdict_reason *why)
{
    uint64_t idle_ms = span_ms(facts->idle_since_ms, facts->now_ms);

    *why = VERDICT_REASON_NONE;
    if (in_guard(facts))
        *why = VERDICT_REASON_WAIT_TIMEOUT;
    else if (too_old(rules, facts))
        *why = VERDICT_REASON_MAX_AGE;
    else if (facts->surplus && reached(rules->idle_timeout_ms, idle_ms))
        *why = VERDICT_REASON_IDLE;
    if (*why != VERDICT_REASON_NONE)
        return VERDICT_CLOSE;

    if (reached(rules->refresh_every_ms, quiet_ms(facts)))
        *why = VERDICT_REASON_REFRESH_DUE;
    else if (half_way_to_guard(facts))
        *why = VERDICT_REASON_WAIT_TIMEOUT_HALF;
    return *why == VERDICT_REASON_NONE ? VERDICT_LEND : VERDICT_PROBE;
}

uint64_t verdict_jitter_max_age_ms(int64_t max_age_ms, uint64_t random)
{
    if (max_age_ms <= 0)
        return 0;
    uint64_t spread_ms = (uint64_t)max_age_ms / 10;
    return (uint64_t)max_age_ms - random % (spread_ms + 1);
}

const char *verdict_reason_word(enum verdict_reason reason)
{
    static const char *const words[] = {
#define X(id, word) [VERDICT_REASON_##id] = word,
        VERDICT_REASONS(X)
#undef X
    };
    return words[reason];
}
