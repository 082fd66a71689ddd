/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/pool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/log.h"
#include "health/verdict.h"
#include "pool/breaks.h"
#include "pool/killer.h"
#include "pool/restore.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"

enum {
    PREPARED_KEEP = 1024, /* texts that no client has open */
    PREPARED_KEEP_BYTES = 2 * 1024 * 1024,
};

static uint64_t now_of(const struct pool *p)
{
    return loop_now_ms(p->target->loop);
}

static struct backend *backend_at(struct list_node *n)
{
    return CONTAINER_OF(n, struct backend, node);
}

static const struct mysql_options *options_of(const struct pool *p)
{
    return &p->target->options->mysql;
}

int pool_max(const struct pool *p)
{
    return p->account && p->account->pool_max ? p->account->pool_max : options_of(p)->pool_max;
}

static struct pool *pool_new(struct target *t, struct account *a, uint32_t flags)
{
    struct pool *p = xcalloc(1, sizeof *p);
    p->target = t;
    p->account = a;
    p->flags = flags & POOL_KEY_FLAGS;
    for (int i = 0; i < BACKEND_STATES_COUNT; i++)
        list_init(&p->backends[i]);
    list_init(&p->waiters);
    list_init(&p->kills);
    list_node_init(&p->node);
    list_append(&t->pools, &p->node);
    p->prepared = prepared_cache_new(t->names, PREPARED_KEEP, PREPARED_KEEP_BYTES);
    p->effects = effects_new(t->names);
    return p;
}

struct pool *pool_new_scout(struct target *t)
{
    return pool_new(t, NULL, 0);
}

struct pool *pool_get(struct account *a, uint32_t flags)
{
    flags &= POOL_KEY_FLAGS;
    for (struct pool *p = a->pools; p; p = p->next_of_account)
        if (p->flags == flags)
            return p;
    struct pool *p = pool_new(a->target, a, flags);
    p->next_of_account = a->pools;
    a->pools = p;
    return p;
}

void pool_free(struct pool *p)
{
    assert(p->open == 0 && list_empty(&p->waiters));
    list_remove(&p->target->pools, &p->node);
    effects_free(p->effects);
    prepared_cache_free(p->prepared);
    settings_unref(names_settings(p->target->names), p->baseline);
    free(p);
}

/* ---- room ---- */

/* The connection idle for longest, of any pool but `but`, that its own pool can do without. */
static struct backend *idlest(struct target *t, const struct pool *but)
{
    struct backend *found = NULL;
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n)) {
        struct pool *p = CONTAINER_OF(n, struct pool, node);
        struct list_node *first = list_first(&p->backends[BACKEND_IDLE]);
        if (p == but || !first)
            continue;
        struct backend *b = backend_at(first);
        if (!found || b->since_ms < found->since_ms)
            found = b;
    }
    return found;
}

/* True when the total has room for one more. Otherwise starts to make some and says false: the
 * close is awaited, since a connection counts until the server has seen it go. */
static bool total_has_room(struct pool *p, size_t extra)
{
    struct target *t = p->target;
    const struct mysql_options *m = options_of(p);
    if (t->open_backends < (size_t)m->pool_total + extra)
        return true;
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n))
        if (!list_empty(&CONTAINER_OF(n, struct pool, node)->backends[BACKEND_CLOSING]))
            return false; /* room comes, without another one having to go */
    struct backend *b = idlest(t, p);
    if (b)
        backend_end(b, BACKEND_END_EVICTED, NULL);
    return false;
}

static bool may_connect(struct pool *p)
{
    return !p->target->closing && now_of(p) >= p->target->next_connect_ms;
}

static bool may_open(struct pool *p)
{
    return may_connect(p) && p->open < (size_t)pool_max(p) && total_has_room(p, 0);
}

bool pool_may_open_extra(struct pool *p)
{
    size_t reserved = (size_t)options_of(p)->reserved;
    if (!may_connect(p))
        return false;
    if (p->open >= (size_t)pool_max(p) + reserved) {
        struct list_node *n = list_first(&p->backends[BACKEND_IDLE]);
        if (n && list_empty(&p->backends[BACKEND_CLOSING]))
            backend_end(backend_at(n), BACKEND_END_EVICTED, NULL);
        return false;
    }
    return total_has_room(p, reserved);
}

static size_t coming(const struct pool *p)
{
    size_t n = 0;
    static const enum backend_state soon[] = {BACKEND_CONNECT, BACKEND_LOGIN, BACKEND_SETTLE,
                                              BACKEND_PROBE, BACKEND_RESET};
    for (size_t i = 0; i < sizeof soon / sizeof soon[0]; i++)
        n += p->backends[soon[i]].count;
    return n;
}

/* ---- lending ---- */

/* What the last statement left there is not to be had any more: another statement ran. */
static void drop_last_state(struct backend *b)
{
    if (b->last_owner)
        b->last_owner->last_backend = NULL;
    b->last_owner = NULL;
}

/* Nobody's last statement is on it any more. */
void pool_disown(struct backend *b)
{
    drop_last_state(b);
    if (b->id_owner) {
        b->id_owner->id_backend = NULL;
        b->id_owner->last_id_where = LAST_ID_LOST;
    }
    b->id_owner = NULL;
}

void pool_forget_last_state(struct lessee *l)
{
    if (l->last_backend)
        drop_last_state(l->last_backend);
}

static enum verdict judge(struct backend *b)
{
    const struct mysql_options *m = options_of(b->pool);
    struct liveness_rules rules = {.probe_after_ms = m->probe_after_ms};
    struct liveness_facts facts = {.now_ms = now_of(b->pool),
                                   .born_ms = b->born_ms,
                                   .idle_since_ms = b->since_ms,
                                   .last_proof_ms = b->last_proof_ms,
                                   .wait_timeout_ms = b->wait_timeout_ms};
    enum verdict_reason why;
    return verdict_on_lend(&rules, &facts, &why);
}

static bool charset_is_known(struct lessee *l)
{
    struct target *t = l->pool->target;
    if (!l->state.charset && t->charset_of_id[l->charset_number])
        l->state.charset = names_ref(t->names, t->charset_of_id[l->charset_number]);
    return l->state.charset != 0;
}

bool pool_state_is_known(struct lessee *l)
{
    struct pool *p = l->pool;
    if (!l->state.settings && p->baseline)
        l->state.settings =
            l->ignores_space
                ? settings_ignoring_space(names_settings(p->target->names), p->baseline)
                : settings_ref(p->baseline);
    return charset_is_known(l) && l->state.settings;
}

bool pool_note_variable(struct lessee *l, struct bytes name, struct bytes value)
{
    struct backend *b = l->backend;
    struct target *t = l->pool->target;
    struct settings_table *table = names_settings(t->names);
    enum variable v = variable_find(name);
    if (v == VARIABLES_COUNT || !b->session.settings)
        return false;
    if (broken(RULE_SQL_MODE_TRACKED) && v == VARIABLE_sql_mode)
        return true;
    struct settings *moved = settings_with(table, b->session.settings, v, value);
    session_state_set_settings(t->names, &b->session, moved);
    session_state_set_settings(t->names, &l->state, moved);
    settings_unref(table, moved);
    backend_note_settings(b);
    return variable_value_is_safe(value);
}

/* How well an idle backend fits; "owned": some session may yet ask for the state its last statement
 * left there. */
enum fit {
    FIT_NONE,
    FIT_RESTORE_OWNED,
    FIT_RESTORE,
    FIT_EXACT_OWNED,
    FIT_EXACT_FOLLOWED, /* .. but for LAST_INSERT_ID(), which may be set in the same write */
    FIT_EXACT,
};

static enum fit fit_of(const struct backend *b, const struct lessee *l)
{
    bool owned = (b->last_owner && b->last_owner != l) || (b->id_owner && b->id_owner != l);
    if (b->doomed || b->retire || (l->state.schema == 0 && b->session.schema != 0))
        return FIT_NONE;
    bool prepared = restore_is_prepared(b, l);
    bool same_id = l->last_id_where != LAST_ID_KNOWN || b->id_owner == l ||
                   (b->last_insert_id_known && b->last_insert_id == l->last_insert_id);
    if (!b->suspect && (same_id || l->may_follow || l->id_may_follow) && prepared &&
        l->state.charset && session_state_equal(&b->session, &l->state))
        return owned ? FIT_EXACT_OWNED : same_id ? FIT_EXACT : FIT_EXACT_FOLLOWED;
    return owned ? FIT_RESTORE_OWNED : FIT_RESTORE;
}

/* The newest idle backend that fits best and may be lent as it is; starts probes of those that need
 * one. */
static struct backend *pick(struct pool *p, struct lessee *l)
{
    struct list *idle = &p->backends[BACKEND_IDLE];
    struct backend *best = NULL;
    enum fit best_fit = FIT_NONE;
    (void)pool_state_is_known(l);
    for (struct list_node *n = list_last(idle), *before; n; n = before) {
        struct backend *b = backend_at(n);
        before = list_before(idle, n);
        enum fit fit = fit_of(b, l);
        if (fit <= best_fit)
            continue;
        switch (judge(b)) {
        case VERDICT_CLOSE:
            backend_end(b, BACKEND_END_WAIT_TIMEOUT, NULL);
            continue;
        case VERDICT_PROBE:
            continue;
        case VERDICT_LEND:
            break;
        }
        best = b;
        best_fit = fit;
        if (fit == FIT_EXACT)
            break;
    }
    return best;
}

void pool_start_probe(struct backend *b)
{
    b->pool->target->stats.probes++;
    drop_last_state(b);
    backend_move(b, BACKEND_PROBE);
    b->deadline_ms = b->since_ms + (uint64_t)options_of(b->pool)->probe_timeout_ms;
    if (b->id_owner) {
        struct ask_batch batch;
        ask_begin(&batch, b);
        ask_query(&batch, ASK_LAST_ID, "SELECT LAST_INSERT_ID() LIMIT 1");
        ask_send(&batch);
    }
    ask_probe(b);
}

/* Nothing may be lent as it is: asks the newest one that only wants a probe. */
static bool probe_one(struct pool *p, const struct lessee *l)
{
    struct list *idle = &p->backends[BACKEND_IDLE];
    for (struct list_node *n = list_last(idle); n; n = list_before(idle, n)) {
        struct backend *b = backend_at(n);
        if (fit_of(b, l) != FIT_NONE && judge(b) == VERDICT_PROBE) {
            pool_start_probe(b);
            return true;
        }
    }
    return false;
}

/* The lessee's next statement runs on `b`: its state will be there, and no longer where the last
 * one ran. */
static void claim(struct backend *b, struct lessee *l)
{
    l->moved = b->last_owner != l;
    if (!l->moved)
        return;
    if (b->last_owner)
        b->last_owner->last_backend = NULL;
    b->last_owner = NULL;
    if (l->leaves_nothing)
        return;
    if (l->last_backend)
        l->last_backend->last_owner = NULL;
    l->last_backend = b;
    b->last_owner = l;
}

void pool_claim(struct lessee *l)
{
    l->leaves_nothing = false;
    claim(l->backend, l);
}

/* Gives `b` to `l`. True when it can be written to at once. */
static bool assign(struct pool *p, struct backend *b, struct lessee *l)
{
    uint64_t now = now_of(p);
    histogram_observe_ns(&p->target->stats.wait, l->waiting ? (now - l->since_ms) * 1000000u : 0);
    bool was_fresh = !b->served;
    backend_move(b, BACKEND_LENT);
    b->lessee = l;
    b->served = true;
    b->restore_error.code = 0;
    l->backend = b;
    l->since_ms = now;
    if (restore_ask(b) == RESTORE_WAIT) {
        p->misses++;
        p->target->stats.lends_restored++;
        return false;
    }
    claim(b, l);
    if (was_fresh) {
        p->misses++;
        p->target->stats.lends_fresh++;
    } else {
        p->hits++;
        p->target->stats.lends_exact++;
    }
    return true;
}

/* The one that its LAST_INSERT_ID() lives in, if at all possible; else the one it had last, if it
 * fits as it is. */
static struct backend *own_backend(struct lessee *l)
{
    struct backend *b = l->id_backend ? l->id_backend : l->last_backend;
    if (!b || b->state != BACKEND_IDLE)
        return NULL;
    enum fit fit = fit_of(b, l);
    enum verdict verdict = judge(b);
    if (l->id_backend)
        return fit != FIT_NONE &&
                       (verdict == VERDICT_LEND || (l->wants_last_id && verdict == VERDICT_PROBE))
                   ? b
                   : NULL;
    return fit >= FIT_EXACT_OWNED && verdict == VERDICT_LEND ? b : NULL;
}

bool pool_lend_own(struct lessee *l)
{
    struct backend *b = l->last_backend;
    if (!b || b->state != BACKEND_IDLE || b->doomed || b->retire || judge(b) == VERDICT_CLOSE)
        return false;
    return assign(l->pool, b, l);
}

/* Those who pin leave some for the others. */
static bool may_pin(const struct pool *p, const struct lessee *l)
{
    return !l->wants_pin || p->pinned < (uint32_t)options_of(p)->max_pinned;
}

/* The value that it asks for is on a backend that is busy being asked for it. */
static bool must_wait_for_id(const struct lessee *l)
{
    return l->wants_last_id && l->id_backend && l->id_backend->state != BACKEND_IDLE;
}

bool pool_is_paused(const struct pool *p)
{
    return p->target->paused || (p->account && p->account->paused);
}

void pool_pause(struct account *a, bool paused)
{
    a->paused = paused;
    if (!paused)
        pool_pump_later(a->target->scout);
}

void pool_pause_all(struct target *t, bool paused)
{
    t->paused = paused;
    if (paused)
        return;
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (struct account *a = t->accounts[i]; a; a = a->next)
            a->paused = false;
    pool_pump_later(t->scout);
}

static struct lessee *first_waiter(struct pool *p)
{
    if (pool_is_paused(p))
        return NULL;
    for (struct list_node *n = list_first(&p->waiters); n; n = list_after(&p->waiters, n)) {
        struct lessee *l = CONTAINER_OF(n, struct lessee, node);
        if (may_pin(p, l) && !must_wait_for_id(l))
            return l;
    }
    return NULL;
}

bool pool_lend(struct lessee *l)
{
    struct pool *p = l->pool;
    assert(!l->waiting && !l->backend);
    if (!pool_is_paused(p) && may_pin(p, l) && !must_wait_for_id(l) && !first_waiter(p)) {
        struct backend *b = own_backend(l);
        if (!b)
            b = pick(p, l);
        if (b)
            return assign(p, b, l);
    }
    l->waiting = true;
    l->since_ms = now_of(p);
    list_append(&p->waiters, &l->node);
    pool_pump_later(p);
    return false;
}

void pool_stop_waiting(struct lessee *l)
{
    if (!l->waiting)
        return;
    l->waiting = false;
    list_remove(&l->pool->waiters, &l->node);
}

static void refuse(struct lessee *l, const struct lend_error *error)
{
    pool_stop_waiting(l);
    l->ops->on_not_lent(l, error);
}

struct list_node *pool_first_unowned(struct pool *p)
{
    struct list *idle = &p->backends[BACKEND_IDLE];
    for (struct list_node *n = list_first(idle); n; n = list_after(idle, n))
        if (!backend_at(n)->id_owner)
            return n;
    return NULL;
}

/* A backend with no schema for a client without one: the only way back is to log in again. What
 * another client has left there is fetched first. */
static bool start_over_for(struct pool *p, const struct lessee *l)
{
    struct list_node *n = pool_first_unowned(p);
    if (l->state.schema || !account_secret(p->account))
        return false;
    if (n) {
        backend_prove_again(backend_at(n));
        return true;
    }
    n = list_first(&p->backends[BACKEND_IDLE]);
    if (n)
        pool_start_probe(backend_at(n));
    return n != NULL;
}

void pool_pump(struct pool *p)
{
    if (p->account)
        account_pump(p->account);
    killer_pump(p);
    struct lessee *l;
    while ((l = first_waiter(p))) {
        if (l->wants_last_id && l->last_id_where == LAST_ID_LOST) {
            struct lend_error lost = {.failure = LEND_ID_LOST};
            refuse(l, &lost);
            continue;
        }
        struct backend *b = own_backend(l);
        if (!b)
            b = pick(p, l);
        if (!b)
            break;
        bool ready = assign(p, b, l);
        pool_stop_waiting(l);
        if (ready)
            l->ops->on_lent(l);
    }
    while (l && p->waiters.count > coming(p)) {
        if (probe_one(p, l))
            continue;
        if (may_open(p) && account_secret(p->account)) {
            (void)backend_open(p, BACKEND_FOR_POOL, NULL);
            continue;
        }
        if (!start_over_for(p, l))
            break;
    }
}

void pool_pump_all(struct target *t)
{
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n))
        pool_pump(CONTAINER_OF(n, struct pool, node));
}

static void on_pump(uv_timer_t *timer)
{
    pool_pump_all(CONTAINER_OF(timer, struct target, pump_timer));
}

void pool_pump_later(struct pool *p)
{
    struct target *t = p->target;
    if (!t->closing && !uv_is_active((uv_handle_t *)&t->pump_timer))
        (void)uv_timer_start(&t->pump_timer, on_pump, 0, 0);
}

/* ---- coming back ---- */

void pool_release(struct backend *b)
{
    b->lessee->backend = NULL;
    b->lessee = NULL;
    iobuf_clear(&b->request);
}

void pool_drop(struct lessee *l, enum backend_end why, const char *detail)
{
    struct backend *b = l->backend;
    pool_release(b);
    backend_end(b, why, detail);
}

/* Those that are, or will be, lent: no side connections, no checks, none on its way out. */
static size_t lendable(const struct pool *p)
{
    return p->backends[BACKEND_SETTLE].count + p->backends[BACKEND_IDLE].count +
           p->backends[BACKEND_LENT].count + p->backends[BACKEND_PROBE].count +
           p->backends[BACKEND_RESET].count + p->backends[BACKEND_ABANDONED].count;
}

/* Closes what must not live on, else makes it available. */
static void forget_moved_schema(struct backend *b)
{
    if (b->schema_moved && b->session.schema)
        session_state_set_schema(b->pool->target->names, &b->session, bytes_text(SCHEMA_UNKNOWN));
    b->schema_moved = false;
}

static void become_idle(struct backend *b)
{
    struct pool *p = b->pool;
    if (b->retire || b->doomed || lendable(p) > (size_t)pool_max(p) || p->target->closing) {
        enum backend_end why = b->retire   ? BACKEND_END_RETIRED
                               : b->doomed ? BACKEND_END_SERVER_CLOSED
                                           : BACKEND_END_SURPLUS;
        backend_end(b, why, NULL);
        return;
    }
    forget_moved_schema(b);
    backend_move(b, BACKEND_IDLE);
    if (!list_empty(&p->waiters) || (p->account && !list_empty(&p->account->proofs)))
        pool_pump_later(p);
    else if (p->target->open_backends >= (size_t)options_of(p)->pool_total)
        pool_pump_later(p); /* a waiter of another key may evict it */
}

void pool_give_back(struct lessee *l)
{
    struct backend *b = l->backend;
    b->asked_ms = 0;
    if (killer_has_out(b)) {
        pool_abandon_over(l);
        return;
    }
    killer_forget(b);
    pool_release(b);
    become_idle(b);
}

void pool_start_reset(struct backend *b)
{
    struct ask_batch batch;
    struct names *names = b->pool->target->names;
    pool_disown(b);
    names_unref(names, b->baseline_charset);
    b->baseline_charset = names_ref(names, b->session.charset);
    b->deadline_ms = b->since_ms + (uint64_t)options_of(b->pool)->backend_timeout_ms;
    ask_begin(&batch, b);
    ask_reset(&batch, b);
    ask_send(&batch);
}

void pool_give_back_dirty(struct lessee *l)
{
    struct backend *b = l->backend;
    b->asked_ms = 0;
    if (killer_has_out(b)) {
        pool_abandon_over(l);
        return;
    }
    killer_forget(b);
    pool_release(b);
    b->pool->target->stats.resets_dirty++;
    backend_move(b, BACKEND_RESET);
    pool_start_reset(b);
}

void pool_forget(struct lessee *l)
{
    assert(!l->backend);
    pool_stop_waiting(l);
    pool_forget_statement(l);
}

void pool_forget_statement(struct lessee *l)
{
    if (l->last_backend)
        l->last_backend->last_owner = NULL;
    l->last_backend = NULL;
    if (l->id_backend)
        l->id_backend->id_owner = NULL;
    l->id_backend = NULL;
    l->last_id_where = LAST_ID_KNOWN;
    l->last_insert_id = 0;
}

void pool_last_id_in_backend(struct lessee *l)
{
    struct backend *b = l->backend;
    if (l->id_backend && l->id_backend != b)
        l->id_backend->id_owner = NULL;
    assert(!b->id_owner || b->id_owner == l);
    l->id_backend = b;
    b->id_owner = l;
    l->last_id_where = LAST_ID_IN_BACKEND;
    b->last_insert_id_known = false;
}

/* ---- from backends ---- */

static void note_baseline(struct backend *b)
{
    struct pool *p = b->pool;
    if (p->baseline_hash && p->baseline_hash != b->baseline_hash) {
        log_line(LOG_INFO, "baseline_moved", LOG_STR("backend", p->target->label),
                 LOG_STR("user", p->account->name));
        for (struct list_node *n = list_first(&p->target->pools); n;
             n = list_after(&p->target->pools, n))
            pool_retire_older(CONTAINER_OF(n, struct pool, node), b);
    }
    if (p->baseline_hash != b->baseline_hash) {
        effects_forget_all(p->effects);
        prepared_forget_replies(p->prepared);
    }
    p->baseline_hash = b->baseline_hash;
    settings_unref(names_settings(p->target->names), p->baseline);
    p->baseline = settings_ref(b->session.settings);
}

void pool_on_login(struct backend *b)
{
    struct pool *p = b->pool;
    b->session.multi_statements = true;
    /* A proof learns by itself, once the account is known to refuse other passwords. */
    bool proves = b->purpose == BACKEND_FOR_POOL;
    if (proves && !b->by_stage1)
        account_learn(p->account, bytes_of(b->password, b->password_bytes));
    if (b->purpose == BACKEND_FOR_CHECK) {
        proof_on_login(p, b);
        backend_end(b, BACKEND_END_SURPLUS, NULL);
        return;
    }
    uint64_t deadline = b->deadline_ms;
    if (b->purpose == BACKEND_FOR_KILL) {
        backend_move(b, BACKEND_SIDE);
    } else {
        b->purpose = BACKEND_FOR_POOL;
        backend_move(b, BACKEND_SETTLE);
    }
    b->deadline_ms = deadline;
    ask_settle(b);
    if (b->proof)
        proof_on_login(p, b);
}

void pool_on_login_refused(struct backend *b, uint16_t code, const char *sqlstate,
                           struct bytes message)
{
    struct pool *p = b->pool;
    struct target *t = p->target;
    if (b->proof || b->purpose == BACKEND_FOR_CHECK) {
        proof_on_refused(p, b, code, sqlstate, message);
        return;
    }
    t->stats.login_failures++;
    if (!p->account) {
        char text[600];
        (void)snprintf(text, sizeof text, "%u %.*s", code, (int)message.len,
                       (const char *)message.at);
        target_failed(t, text);
        return;
    }
    if (account_is_denial(code) && !b->by_stage1)
        account_forget(p->account, bytes_of(b->password, b->password_bytes));
    p->login_error.failure = LEND_LOGIN_REFUSED;
    p->login_error.code = code;
    (void)snprintf(p->login_error.sqlstate, sizeof p->login_error.sqlstate, "%s", sqlstate);
    (void)snprintf(p->login_error.message, sizeof p->login_error.message, "%.*s", (int)message.len,
                   (const char *)message.at);
    p->login_error_ms = now_of(p);
    /* Too many connections: others of ours will come free, and what is not ours may go too. */
    bool full = code == 1040 || code == 1203 || code == 1226;
    if (full || account_secret(p->account)) {
        struct backoff_rules rules = BACKOFF_RULES_DEFAULT;
        t->next_connect_ms = now_of(p) + backoff_next_ms(&t->backoff, &rules, target_random());
    }
    if (!full)
        pool_fail_waiters(p, &p->login_error);
}

void pool_fail_first_waiter(struct pool *p, const struct lend_error *error)
{
    refuse(CONTAINER_OF(list_first(&p->waiters), struct lessee, node), error);
}

void pool_fail_waiters(struct pool *p, const struct lend_error *error)
{
    struct lend_error copy = *error;
    for (size_t n = p->waiters.count; n > 0 && !list_empty(&p->waiters); n--)
        refuse(CONTAINER_OF(list_first(&p->waiters), struct lessee, node), &copy);
}

/* Too many statements are prepared on the server: ours here go, and it is tried once more. */
static bool make_room_for_prepare(struct backend *b)
{
    uint32_t id;
    bool any = false;
    if (b->restore_error.code != 1461)
        return false;
    while ((id = prepared_slots_take_any(&b->slots, b->pool->prepared))) {
        backend_close_statement(b, id);
        any = true;
    }
    if (any)
        b->restore_error.code = 0;
    return any;
}

/* What it holds there stays, and so has the state that it is in to: a PREPARE may have been on its
 * way through another one. True: that is being asked back, and it is to be told then. */
static bool bring_back(struct backend *b)
{
    struct ask_batch batch;
    if (b->refused || session_state_equal(&b->session, &b->lessee->state))
        return false;
    b->refused = true;
    ask_begin(&batch, b);
    restore_difference(&batch, b, &b->lessee->state);
    ask_send(&batch);
    return true;
}

static void refuse_keeper(struct backend *b)
{
    struct lessee *l = b->lessee;
    struct lend_error error = b->restore_error;
    if (bring_back(b))
        return;
    b->refused = false;
    if (session_state_equal(&b->session, &l->state))
        l->ops->on_not_lent(l, &error);
    else
        backend_end(b, BACKEND_END_DIRTY, "the state of who holds it cannot be brought back");
}

static void not_restored(struct backend *b)
{
    struct lessee *l = b->lessee;
    struct lend_error error = b->restore_error;
    bool unknown = !b->session.settings || (b->status & MYSQL_STATUS_IN_TRANS);
    if (l->keeps) {
        refuse_keeper(b);
        return;
    }
    pool_release(b);
    if (unknown) {
        backend_move(b, BACKEND_RESET);
        pool_start_reset(b);
    } else {
        become_idle(b);
    }
    l->ops->on_not_lent(l, &error);
}

static void restored(struct backend *b)
{
    struct lessee *l = b->lessee;
    if (b->restore_error.code && (b->refused || !make_room_for_prepare(b))) {
        not_restored(b);
        return;
    }
    if (restore_ask(b) == RESTORE_WAIT)
        return;
    if (!b->followed)
        b->deadline_ms = 0;
    claim(b, l);
    l->ops->on_lent(l);
}

static void ask_one(struct lessee *l, void (*add)(struct ask_batch *batch, const char *text),
                    const char *text)
{
    struct backend *b = l->backend;
    struct ask_batch batch;
    b->restore_error.code = 0;
    b->deadline_ms = now_of(b->pool) + (uint64_t)options_of(b->pool)->backend_timeout_ms;
    l->leaves_nothing = true; /* the last statement there will be this question */
    drop_last_state(b);
    ask_begin(&batch, b);
    add(&batch, text);
    ask_send(&batch);
}

static void add_reread(struct ask_batch *batch, const char *text)
{
    (void)text;
    ask_reread(batch);
}

static void add_number(struct ask_batch *batch, const char *text)
{
    ask_query(batch, ASK_NUMBER, "%s", text);
}

void pool_reread(struct lessee *l)
{
    ask_one(l, add_reread, NULL);
}

void pool_ask(struct lessee *l, const char *question)
{
    ask_one(l, add_number, question);
}

bool pool_bring(struct lessee *l)
{
    l->backend->restore_error.code = 0;
    if ((l->prepared || l->wants_fresh || l->replay) && restore_ask(l->backend) == RESTORE_WAIT)
        return false;
    claim(l->backend, l);
    return true;
}

void pool_on_answered(struct backend *b)
{
    switch (b->state) {
    case BACKEND_LENT:
        restored(b);
        return;
    case BACKEND_SETTLE:
    case BACKEND_RESET:
        if (!b->settled) {
            ask_settle(b);
            return;
        }
        note_baseline(b);
        become_idle(b);
        return;
    case BACKEND_PROBE:
        become_idle(b);
        return;
    case BACKEND_SIDE:
        if (!b->settled)
            ask_settle(b);
        else
            killer_on_answered(b);
        return;
    case BACKEND_CONNECT:
    case BACKEND_LOGIN:
    case BACKEND_IDLE:
    case BACKEND_ABANDONED:
    case BACKEND_CLOSING:
    case BACKEND_STATES_COUNT:
        return;
    }
}

void pool_on_end(struct backend *b, enum backend_end why)
{
    struct pool *p = b->pool;
    if (b->purpose == BACKEND_FOR_GREETING)
        p->target->greeting_in_flight = false;
    if (b->state == BACKEND_PROBE)
        p->target->stats.probe_failures++;
    if (b->proof)
        proof_on_lost(b, p->target->last_error[0] ? p->target->last_error : backend_end_word(why));
    killer_on_end(b);
    pool_disown(b);
    if (b->lessee)
        b->lessee->backend = NULL; /* told by backend_end, with what it had sent still there */
    b->lessee = NULL;
}

void pool_on_closed(struct backend *b)
{
    struct pool *p = b->pool;
    list_remove(&p->backends[b->state], &b->node);
    p->open--;
    p->target->open_backends--;
    pool_pump_later(p);
}

/* ---- retiring ---- */

void pool_retire_older(struct pool *p, const struct backend *newest)
{
    for (int s = 0; s < BACKEND_CLOSING; s++)
        for (struct list_node *n = list_first(&p->backends[s]), *after; n; n = after) {
            struct backend *b = backend_at(n);
            after = list_after(&p->backends[s], n);
            if (b == newest || b->purpose != BACKEND_FOR_POOL)
                continue;
            if (s == BACKEND_IDLE)
                backend_end(b, BACKEND_END_RETIRED, NULL);
            else
                b->retire = true;
        }
}

void pool_schemas_moved(struct target *t)
{
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n)) {
        struct pool *p = CONTAINER_OF(n, struct pool, node);
        effects_forget_all(p->effects); /* a USE that was known */
        for (size_t state = 0; state < BACKEND_STATES_COUNT; state++) {
            struct list *l = &p->backends[state];
            for (struct list_node *m = list_first(l); m; m = list_after(l, m)) {
                backend_at(m)->schema_moved = true;
                if (state == BACKEND_IDLE)
                    forget_moved_schema(backend_at(m));
            }
        }
    }
}

void pool_tables_moved(struct target *t)
{
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n))
        prepared_forget_replies(CONTAINER_OF(n, struct pool, node)->prepared);
}

void pool_retire(struct pool *p)
{
    pool_retire_older(p, NULL);
}

/* What a fresh session is in is not known any more. */
static void forget_baseline(struct pool *p)
{
    settings_unref(names_settings(p->target->names), p->baseline);
    p->baseline = NULL;
    p->baseline_hash = 0;
    effects_forget_all(p->effects);
    prepared_forget_replies(p->prepared);
}

void pool_retire_all(struct target *t)
{
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n)) {
        pool_retire(CONTAINER_OF(n, struct pool, node));
        forget_baseline(CONTAINER_OF(n, struct pool, node));
    }
}

void pool_describe_holders(struct pool *p, char *out, size_t room)
{
    struct {
        const char *what;
        unsigned count;
    } kinds[8] = {{0}};
    uint64_t now = now_of(p);
    uint64_t longest = 0;
    uint32_t longest_client = 0;
    if (pool_is_paused(p)) {
        (void)snprintf(out, room, "paused by an administrator (RESUME on the admin console)");
        return;
    }
    for (struct list_node *n = list_first(&p->backends[BACKEND_LENT]); n;
         n = list_after(&p->backends[BACKEND_LENT], n)) {
        struct lessee *l = backend_at(n)->lessee;
        const char *what = l->ops->held_for(l);
        for (size_t i = 0; i < 8; i++)
            if (!kinds[i].what || strcmp(kinds[i].what, what) == 0) {
                kinds[i].what = what;
                kinds[i].count++;
                break;
            }
        if (now - l->since_ms >= longest) {
            longest = now - l->since_ms;
            longest_client = l->client_id;
        }
    }
    int len = snprintf(out, room, "%zu of %d held, %u of at most %d pinned",
                       p->backends[BACKEND_LENT].count, pool_max(p), p->pinned,
                       options_of(p)->max_pinned);
    for (size_t i = 0; i < 8 && kinds[i].what && len > 0 && (size_t)len < room; i++)
        len += snprintf(out + len, room - (size_t)len, "%s %u %s", i ? "," : ":", kinds[i].count,
                        kinds[i].what);
    if (longest_client && len > 0 && (size_t)len < room)
        (void)snprintf(out + len, room - (size_t)len, "; longest client 0x%08x, %llu s",
                       longest_client, (unsigned long long)longest / 1000);
}
