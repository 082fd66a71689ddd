/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/janitor.h"

#include <stdio.h>

#include "conf/log.h"
#include "health/verdict.h"
#include "pool/pool.h"

static struct backend *backend_at(struct list_node *n)
{
    return CONTAINER_OF(n, struct backend, node);
}

static void on_deadline(struct backend *b)
{
    struct target *t = b->pool->target;
    switch (b->state) {
    case BACKEND_CONNECT:
    case BACKEND_LOGIN:
    case BACKEND_SETTLE:
        target_failed(t, b->state == BACKEND_CONNECT
                             ? "connecting took longer than connect_timeout"
                             : "the login took longer than connect_timeout");
        backend_end(b, BACKEND_END_CONNECT_TIMEOUT, t->last_error);
        return;
    case BACKEND_PROBE:
        backend_end(b, BACKEND_END_PROBE_FAILED, "no answer within probe_timeout");
        return;
    case BACKEND_SIDE:
        backend_end(b, BACKEND_END_SURPLUS, "no answer within probe_timeout");
        return;
    case BACKEND_ABANDONED:
        backend_end(b, BACKEND_END_ABANDONED, "the statement did not end");
        return;
    case BACKEND_RESET:
    case BACKEND_LENT:
        backend_end(b, BACKEND_END_SILENT, "no answer within backend_timeout");
        return;
    case BACKEND_IDLE:
    case BACKEND_CLOSING:
    case BACKEND_STATES_COUNT:
        return;
    }
}

/* A statement may run for as long as it likes, provided that its server lives: one that has said
 * nothing at all for backend_timeout is asked for its greeting, and only when that does not come is
 * the statement given up. */
static bool is_silent(struct backend *b, uint64_t now)
{
    struct target *t = b->pool->target;
    uint64_t limit = (uint64_t)t->options->mysql.backend_timeout_ms;
    uint64_t since = b->asked_ms > b->last_proof_ms ? b->asked_ms : b->last_proof_ms;
    if (!b->asked_ms || now - since < limit || now - t->last_heard_ms < limit)
        return false;
    if (t->last_error_ms > since + limit)
        return true;
    target_check(t);
    return false;
}

static void tick_idle(struct backend *b, uint64_t now, size_t idle)
{
    const struct mysql_options *m = &b->pool->target->options->mysql;
    struct liveness_rules rules = {.probe_after_ms = m->probe_after_ms,
                                   .refresh_every_ms = m->refresh_every_ms,
                                   .max_age_ms = m->max_age_ms,
                                   .idle_timeout_ms = m->idle_timeout_ms};
    struct liveness_facts facts = {.now_ms = now,
                                   .born_ms = b->born_ms,
                                   .idle_since_ms = b->since_ms,
                                   .last_proof_ms = b->last_proof_ms,
                                   .wait_timeout_ms = b->wait_timeout_ms,
                                   .max_age_jittered_ms = b->max_age_ms,
                                   .surplus = idle > (size_t)m->min_idle};
    enum verdict_reason why;
    switch (verdict_on_idle(&rules, &facts, &why)) {
    case VERDICT_CLOSE:
        if (b->id_owner) { /* that first: it may be asked for yet */
            pool_start_probe(b);
            return;
        }
        backend_end(b,
                    why == VERDICT_REASON_MAX_AGE ? BACKEND_END_MAX_AGE
                    : why == VERDICT_REASON_IDLE  ? BACKEND_END_IDLE_TIMEOUT
                                                  : BACKEND_END_WAIT_TIMEOUT,
                    NULL);
        return;
    case VERDICT_PROBE:
        pool_start_probe(b);
        return;
    case VERDICT_LEND:
        break;
    }
}

static void tick_backends(struct pool *p, uint64_t now)
{
    size_t idle = p->backends[BACKEND_IDLE].count;
    for (int s = 0; s < BACKEND_CLOSING; s++)
        for (struct list_node *n = list_first(&p->backends[s]), *after; n; n = after) {
            struct backend *b = backend_at(n);
            after = list_after(&p->backends[s], n);
            if (b->doomed && s != BACKEND_LENT)
                backend_end(b,
                            s == BACKEND_CONNECT ? BACKEND_END_CONNECT_FAILED
                                                 : BACKEND_END_SERVER_CLOSED,
                            p->target->last_error);
            else if (b->deadline_ms && now >= b->deadline_ms)
                on_deadline(b);
            else if (s == BACKEND_LENT && is_silent(b, now))
                backend_end(b, BACKEND_END_SILENT, p->target->last_error);
            else if (s == BACKEND_IDLE)
                tick_idle(b, now, idle);
        }
}

static void tick_waiters(struct pool *p, uint64_t now)
{
    struct target *t = p->target;
    struct lend_error error = {.failure = LEND_QUEUE_TIMEOUT};
    while (!list_empty(&p->waiters)) {
        struct lessee *first = CONTAINER_OF(list_first(&p->waiters), struct lessee, node);
        if (now - first->since_ms < (uint64_t)t->options->mysql.queue_timeout_ms)
            return;
        if (!t->up && t->last_error_ms) {
            error.failure = LEND_BACKEND_DOWN;
            (void)snprintf(error.message, sizeof error.message, "%.400s", t->last_error);
        } else {
            pool_describe_holders(p, error.message, sizeof error.message);
        }
        pool_fail_first_waiter(p, &error);
    }
}

/* Warm connections for an account in use. */
static void tick_warm(struct pool *p, uint64_t now)
{
    struct target *t = p->target;
    struct account *a = p->account;
    const struct mysql_options *m = &t->options->mysql;
    bool in_use =
        a->sessions || a->secrets[0].configured || now - a->used_ms < (uint64_t)m->idle_timeout_ms;
    size_t warm = p->backends[BACKEND_IDLE].count + p->backends[BACKEND_CONNECT].count +
                  p->backends[BACKEND_LOGIN].count + p->backends[BACKEND_SETTLE].count +
                  p->backends[BACKEND_PROBE].count + p->backends[BACKEND_RESET].count;
    if (!in_use || !account_secret(a) || t->closing || now < t->next_connect_ms)
        return;
    while (warm < (size_t)m->min_idle && p->open < (size_t)pool_max(p) &&
           t->open_backends < (size_t)m->pool_total) {
        (void)backend_open(p, BACKEND_FOR_POOL, NULL);
        warm++;
    }
}

void janitor_tick(struct target *t)
{
    uint64_t now = loop_now_ms(t->loop);
    if (t->closing)
        return;
    target_look(t);
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n)) {
        struct pool *p = CONTAINER_OF(n, struct pool, node);
        tick_backends(p, now);
        if (!p->account)
            continue;
        tick_waiters(p, now);
        tick_warm(p, now);
        if (p->waiters.count || !list_empty(&p->kills) || !list_empty(&p->account->proofs))
            pool_pump(p);
    }
    account_tick(t);
}
