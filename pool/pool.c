/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/pool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/log.h"
#include "health/verdict.h"
#include "pool/killer.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"

/* No schema has this name: what it stands for is entered anew before the next statement. */
#define SCHEMA_UNKNOWN "\x01unknown"

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

/* How well an idle backend fits; "owned": some session may yet ask for the state its last statement
 * left there. */
enum fit { FIT_NONE, FIT_RESTORE_OWNED, FIT_RESTORE, FIT_EXACT_OWNED, FIT_EXACT };

static enum fit fit_of(const struct backend *b, const struct lessee *l)
{
    bool owned = (b->last_owner && b->last_owner != l) || (b->id_owner && b->id_owner != l);
    if (b->doomed || b->retire || (l->state.schema == 0 && b->session.schema != 0))
        return FIT_NONE;
    bool same_id = l->last_id_where != LAST_ID_KNOWN || b->id_owner == l ||
                   (b->last_insert_id_known && b->last_insert_id == l->last_insert_id);
    if (!b->suspect && same_id && l->state.charset && session_state_equal(&b->session, &l->state))
        return owned ? FIT_EXACT_OWNED : FIT_EXACT;
    return owned ? FIT_RESTORE_OWNED : FIT_RESTORE;
}

/* The newest idle backend that fits best and may be lent as it is; starts probes of those that need
 * one. */
static struct backend *pick(struct pool *p, struct lessee *l)
{
    struct list *idle = &p->backends[BACKEND_IDLE];
    struct backend *best = NULL;
    enum fit best_fit = FIT_NONE;
    (void)charset_is_known(l);
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
        ask_query(&batch, ASK_LAST_ID, "SELECT LAST_INSERT_ID()");
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

static void ask_names(struct ask_batch *batch, struct names *names, name_id unit)
{
    struct bytes charset;
    struct bytes collation;
    charset_split(names_text(names, unit), &charset, &collation);
    if (collation.len)
        ask_query(batch, ASK_NAMES, "SET NAMES '%.*s' COLLATE '%.*s'", (int)charset.len,
                  (const char *)charset.at, (int)collation.len, (const char *)collation.at);
    else
        ask_query(batch, ASK_NAMES, "SET NAMES %.*s", (int)charset.len, (const char *)charset.at);
}

/* What the owner before needs to know of the backend, and what it must not hand on. */
static void ask_for_owner(struct ask_batch *batch, struct backend *b, const struct lessee *l)
{
    if (b->id_owner && b->id_owner != l)
        ask_query(batch, ASK_LAST_ID, "SELECT LAST_INSERT_ID()");
    if (l->wants_fresh || (b->suspect && b->last_owner != l)) {
        b->pool->target->stats.resets_suspect++;
        names_unref(b->pool->target->names, b->baseline_charset);
        b->baseline_charset = names_ref(b->pool->target->names, b->session.charset);
        ask_reset(batch, b);
    }
}

/* Writes what has to be asked so that `b` is in the state of its lessee. False when nothing has to.
 */
static bool ask_restore(struct backend *b)
{
    struct lessee *l = b->lessee;
    struct names *names = b->pool->target->names;
    struct ask_batch batch;
    ask_begin(&batch, b);

    ask_for_owner(&batch, b, l);
    if (!charset_is_known(l)) {
        ask_query(&batch, ASK_CHARSET,
                  "SELECT CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLLATIONS "
                  "WHERE ID=%u AND "
                  "CHARACTER_SET_NAME NOT IN ('ucs2','utf16','utf16le','utf32') UNION ALL "
                  "SELECT @@global.character_set_client, @@global.collation_connection",
                  l->charset_number);
    } else if (l->state.charset != b->session.charset) {
        names_unref(names, b->asked.charset);
        b->asked.charset = names_ref(names, l->state.charset);
        ask_names(&batch, names, l->state.charset);
    }
    if (l->state.schema && l->state.schema != b->session.schema) {
        names_unref(names, b->asked.schema);
        b->asked.schema = names_ref(names, l->state.schema);
        ask_command(&batch, ASK_INIT_DB, MYSQL_COM_INIT_DB, names_text(names, l->state.schema));
    }
    if (l->state.multi_statements != b->session.multi_statements) {
        uint8_t option[2] = {l->state.multi_statements ? 0 : 1, 0};
        b->asked.multi_statements = l->state.multi_statements;
        ask_command(&batch, ASK_OPTION, MYSQL_COM_SET_OPTION, bytes_of(option, sizeof option));
    }
    if (l->last_id_where == LAST_ID_KNOWN &&
        (!b->last_insert_id_known || b->last_insert_id != l->last_insert_id)) {
        b->asked_last_id = l->last_insert_id;
        b->last_insert_id_known = false;
        ask_query(&batch, ASK_SET_LAST_ID, "SET last_insert_id=%llu",
                  (unsigned long long)l->last_insert_id);
    }
    if (wire_written(&batch.w) == 0)
        return false;
    b->deadline_ms = now_of(b->pool) + (uint64_t)options_of(b->pool)->backend_timeout_ms;
    ask_send(&batch);
    return true;
}

/* The lessee's next statement runs on `b`: its state will be there, and no longer where the last
 * one ran. */
static void claim(struct backend *b, struct lessee *l)
{
    if (b->last_owner == l)
        return;
    if (b->last_owner)
        b->last_owner->last_backend = NULL;
    if (l->last_backend)
        l->last_backend->last_owner = NULL;
    l->last_backend = b;
    b->last_owner = l;
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
    if (ask_restore(b)) {
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

static struct lessee *first_waiter(struct pool *p)
{
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
    if (may_pin(p, l) && !must_wait_for_id(l) && !first_waiter(p)) {
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
    /* IGNORE_SPACE is a flag of the login that a reset loses on MariaDB. */
    if (b->pool->flags & MYSQL_CAP_IGNORE_SPACE) {
        backend_end(b, BACKEND_END_DIRTY, NULL);
        return;
    }
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
    p->baseline_hash = b->baseline_hash;
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

static void restored(struct backend *b)
{
    struct lessee *l = b->lessee;
    if (b->restore_error.code) {
        struct lend_error error = b->restore_error;
        pool_release(b);
        become_idle(b);
        l->ops->on_not_lent(l, &error);
        return;
    }
    if (ask_restore(b))
        return;
    b->deadline_ms = 0;
    claim(b, l);
    l->ops->on_lent(l);
}

void pool_on_answered(struct backend *b)
{
    switch (b->state) {
    case BACKEND_LENT:
        restored(b);
        return;
    case BACKEND_SETTLE:
    case BACKEND_RESET:
        note_baseline(b);
        become_idle(b);
        return;
    case BACKEND_PROBE:
        become_idle(b);
        return;
    case BACKEND_SIDE:
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
    static const enum backend_state free_states[] = {BACKEND_IDLE, BACKEND_PROBE, BACKEND_RESET,
                                                     BACKEND_SETTLE};
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n)) {
        struct pool *p = CONTAINER_OF(n, struct pool, node);
        for (size_t i = 0; i < sizeof free_states / sizeof free_states[0]; i++) {
            struct list *l = &p->backends[free_states[i]];
            for (struct list_node *m = list_first(l); m; m = list_after(l, m))
                if (backend_at(m)->session.schema)
                    session_state_set_schema(t->names, &backend_at(m)->session,
                                             bytes_text(SCHEMA_UNKNOWN));
        }
    }
}

void pool_retire(struct pool *p)
{
    pool_retire_older(p, NULL);
}

void pool_retire_all(struct target *t)
{
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n))
        pool_retire(CONTAINER_OF(n, struct pool, node));
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
