/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/account.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/log.h"
#include "pool/pool.h"
#include "protocol/mysql_caps.h"

enum { ACCOUNT_FORGET_AFTER_MS = 600000 }; /* an account without secrets, sessions, pools in use */

/* One password being proven: first a login with it, then, before the first secret of an account is
 * learned, one with a random password, which must be refused. */
struct proof {
    struct list_node node; /* in account->proofs */
    struct account *account;
    struct pool *pool;
    char *password;
    size_t password_bytes;
    struct backend *backend; /* logging in for it; NULL: waits for room */
    bool checking;           /* the second login */
    struct list waiters;
};

static size_t bucket_of(struct bytes name)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < name.len; i++)
        h = (h ^ name.at[i]) * 16777619u;
    return h % ACCOUNT_BUCKETS;
}

static uint64_t now_of(const struct account *a)
{
    return loop_now_ms(a->target->loop);
}

struct account *account_find(struct target *t, struct bytes name)
{
    for (struct account *a = t->accounts[bucket_of(name)]; a; a = a->next)
        if (bytes_equal(bytes_text(a->name), name))
            return a;
    return NULL;
}

struct account *account_get(struct target *t, struct bytes name)
{
    struct account *a = account_find(t, name);
    if (a)
        return a;
    size_t bucket = bucket_of(name);
    a = xcalloc(1, sizeof *a);
    a->target = t;
    a->name = xstrndup(name);
    a->next = t->accounts[bucket];
    a->used_ms = loop_now_ms(t->loop);
    list_init(&a->proofs);
    t->accounts[bucket] = a;
    return a;
}

/* ---- secrets ---- */

static void secret_wipe(struct secret *s)
{
    if (s->password)
        scramble_wipe(s->password, s->password_bytes);
    free(s->password);
    scramble_wipe(s, sizeof *s);
}

static void drop_secret(struct account *a, size_t i)
{
    secret_wipe(&a->secrets[i]);
    a->secret_count--;
    memmove(&a->secrets[i], &a->secrets[i + 1], (a->secret_count - i) * sizeof a->secrets[0]);
    memset(&a->secrets[a->secret_count], 0, sizeof a->secrets[0]);
}

static bool secret_is_good(const struct account *a, const struct secret *s)
{
    return s->configured ||
           now_of(a) - s->proven_ms < (uint64_t)a->target->options->mysql.verifier_ttl_ms;
}

/* Puts a new secret in front; the one that was proven longest ago goes when there are too many. */
static struct secret *add_secret(struct account *a, struct bytes password)
{
    if (a->secret_count == ACCOUNT_SECRETS_MAX)
        drop_secret(a, ACCOUNT_SECRETS_MAX - 1);
    memmove(&a->secrets[1], &a->secrets[0], a->secret_count * sizeof a->secrets[0]);
    a->secret_count++;
    struct secret *s = &a->secrets[0];
    memset(s, 0, sizeof *s);
    if (password.at) {
        s->password = xstrndup(password);
        s->password_bytes = password.len;
        scramble_sha2_verifier(password, s->verifier);
        scramble_native_hash(password, s->native_hash);
    }
    return s;
}

static bool has_password(const struct secret *s, struct bytes password)
{
    return s->password && s->password_bytes == password.len &&
           scramble_equal(s->password, password.at, password.len);
}

static struct secret *find_password(struct account *a, struct bytes password)
{
    for (size_t i = 0; i < a->secret_count; i++)
        if (has_password(&a->secrets[i], password))
            return &a->secrets[i];
    return NULL;
}

struct secret *account_check_password(struct account *a, struct bytes password)
{
    struct secret *s = find_password(a, password);
    return s && secret_is_good(a, s) ? s : NULL;
}

struct secret *account_check_sha2(struct account *a, struct bytes reply, const uint8_t *salt)
{
    for (size_t i = 0; i < a->secret_count; i++) {
        struct secret *s = &a->secrets[i];
        if (s->password && s->password_bytes && secret_is_good(a, s) &&
            scramble_sha2_check(reply, salt, s->verifier))
            return s;
    }
    return NULL;
}

struct secret *account_check_native(struct account *a, struct bytes reply, const uint8_t *salt)
{
    for (size_t i = 0; i < a->secret_count; i++) {
        struct secret *s = &a->secrets[i];
        uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
        if ((s->password && !s->password_bytes) || !secret_is_good(a, s))
            continue;
        if (!scramble_native_check(reply, salt, s->native_hash, stage1))
            continue;
        memcpy(s->native_stage1, stage1, sizeof stage1);
        s->has_stage1 = true;
        scramble_wipe(stage1, sizeof stage1);
        return s;
    }
    return NULL;
}

struct secret *account_secret(struct account *a)
{
    for (size_t i = 0; a && i < a->secret_count; i++)
        if (a->secrets[i].password || a->secrets[i].has_stage1)
            return &a->secrets[i];
    return NULL;
}

void account_learn(struct account *a, struct bytes password)
{
    struct secret *s = find_password(a, password);
    if (!s)
        s = add_secret(a, password);
    s->proven_ms = now_of(a);
    s->proving = false;
}

void account_forget(struct account *a, struct bytes password)
{
    for (size_t i = a->secret_count; i-- > 0;) {
        if (a->secrets[i].configured || !has_password(&a->secrets[i], password))
            continue;
        log_line(LOG_INFO, "secret_forgotten", LOG_STR("user", a->name),
                 LOG_STR("reason", "the server refuses it"));
        drop_secret(a, i);
    }
}

static void add_configured(struct account *a, struct bytes password, const uint8_t *hash)
{
    struct secret *s = password.at ? find_password(a, password) : NULL;
    if (!s)
        s = add_secret(a, password);
    s->configured = true;
    if (hash)
        memcpy(s->native_hash, hash, sizeof s->native_hash);
}

/* The URL's user has warm connections from the start, for clients with the flag that PHP sends. */
static struct account *configured_with_pool(struct target *t)
{
    struct account *a = account_get(t, bytes_text(t->where->user));
    (void)pool_get(a, MYSQL_CAP_LOCAL_FILES);
    return a;
}

void account_configure(struct target *t)
{
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (struct account *a = t->accounts[i]; a; a = a->next) {
            for (size_t k = a->secret_count; k-- > 0;)
                if (a->secrets[k].configured)
                    drop_secret(a, k);
            a->configured = false;
            a->pool_max = 0;
        }
    const struct mysql_options *m = &t->options->mysql;
    if (t->where->user && t->where->password)
        add_configured(configured_with_pool(t), bytes_text(t->where->password), NULL);
    for (size_t i = 0; i < m->user_count; i++) {
        const struct user_option *u = &m->users[i];
        struct account *a = account_get(t, bytes_text(u->name));
        a->configured = true;
        a->pool_max = u->pool_max;
        add_configured(a, u->password ? bytes_text(u->password) : (struct bytes){0},
                       u->has_hash ? u->hash : NULL);
    }
}

/* ---- schemas ---- */

enum { ACCOUNT_SCHEMAS_MAX = 1024 };

bool account_schema_is_proven(const struct account *a, uint32_t schema)
{
    for (size_t i = 0; i < a->schema_count; i++)
        if (a->schemas[i] == schema)
            return true;
    return false;
}

static void forget_schemas(struct account *a)
{
    for (size_t i = 0; i < a->schema_count; i++)
        names_unref(a->target->names, a->schemas[i]);
    free(a->schemas);
    a->schemas = NULL;
    a->schema_count = 0;
}

void account_schema_proven(struct account *a, uint32_t schema)
{
    if (!schema || account_schema_is_proven(a, schema))
        return;
    if (a->schema_count == ACCOUNT_SCHEMAS_MAX)
        forget_schemas(a);
    if ((a->schema_count & (a->schema_count - 1)) == 0) { /* full at each power of two */
        size_t room = a->schema_count ? a->schema_count * 2 : 1;
        uint32_t *grown = xcalloc(room, sizeof *grown);
        if (a->schema_count)
            memcpy(grown, a->schemas, a->schema_count * sizeof *grown);
        free(a->schemas);
        a->schemas = grown;
    }
    a->schemas[a->schema_count++] = names_ref(a->target->names, schema);
}

void account_schema_unproven(struct account *a, uint32_t schema)
{
    for (size_t i = 0; i < a->schema_count; i++)
        if (a->schemas[i] == schema) {
            names_unref(a->target->names, schema);
            a->schemas[i] = a->schemas[a->schema_count - 1];
            if (--a->schema_count == 0)
                forget_schemas(a);
            return;
        }
}

void account_schemas_forget_all(struct target *t)
{
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (struct account *a = t->accounts[i]; a; a = a->next)
            forget_schemas(a);
}

/* ---- proofs ---- */

struct bytes proof_password(const struct proof *p)
{
    return bytes_of(p->password, p->password_bytes);
}

static void end_proof(struct proof *p, const struct proof_result *result)
{
    list_remove(&p->account->proofs, &p->node);
    if (p->backend)
        p->backend->proof = NULL;
    while (!list_empty(&p->waiters)) {
        struct proof_waiter *w = CONTAINER_OF(list_first(&p->waiters), struct proof_waiter, node);
        list_remove(&p->waiters, &w->node);
        w->proof = NULL;
        w->on_proven(w, result);
    }
    scramble_wipe(p->password, p->password_bytes);
    free(p->password);
    free(p);
}

/* A secret that is still in hand, only not proven lately, is proven on a connection that is there
 * anyway. */
static bool prove_on_idle(struct proof *p)
{
    struct account *a = p->account;
    struct list_node *n = pool_first_unowned(p->pool);
    if (p->checking || !n || !a->secret_count ||
        find_password(a, proof_password(p)) != &a->secrets[0])
        return false;
    p->backend = CONTAINER_OF(n, struct backend, node);
    p->backend->proof = p;
    a->secrets[0].proving = true;
    backend_prove_again(p->backend);
    return true;
}

static void run_proof(struct proof *p)
{
    if (p->backend || prove_on_idle(p) || !pool_may_open_extra(p->pool))
        return;
    p->backend = backend_open(p->pool, p->checking ? BACKEND_FOR_CHECK : BACKEND_FOR_PROOF, p);
}

bool account_prove(struct account *a, uint32_t flags, struct bytes password, struct proof_waiter *w)
{
    struct proof *p = NULL;
    for (struct list_node *n = list_first(&a->proofs); n; n = list_after(&a->proofs, n)) {
        struct proof *other = CONTAINER_OF(n, struct proof, node);
        if (bytes_equal(proof_password(other), password))
            p = other;
    }
    if (!p) {
        p = xcalloc(1, sizeof *p);
        p->account = a;
        p->pool = pool_get(a, flags);
        p->password = xstrndup(password);
        p->password_bytes = password.len;
        list_init(&p->waiters);
        list_append(&a->proofs, &p->node);
    }
    bool is_new = list_empty(&p->waiters);
    w->proof = p;
    list_append(&p->waiters, &w->node);
    run_proof(p);
    return is_new;
}

void account_stop_proof(struct proof_waiter *w)
{
    if (!w->proof)
        return;
    list_remove(&w->proof->waiters, &w->node);
    w->proof = NULL; /* the proof itself goes on: what it learns may serve the next one */
}

static void proof_is_good(struct proof *p)
{
    struct proof_result good = {.verdict = PROOF_GOOD};
    account_learn(p->account, proof_password(p));
    end_proof(p, &good);
}

static void account_is_open(struct proof *p)
{
    struct account *a = p->account;
    struct proof_result open = {.verdict = PROOF_OPEN};
    a->openness = ACCOUNT_OPEN;
    log_line(
        LOG_ERROR, "account_accepts_anything", LOG_STR("user", a->name),
        LOG_STR("remedy", "name this user and its password under `users` in the configuration"));
    for (struct pool *pool = a->pools; pool; pool = pool->next_of_account)
        pool_retire(pool);
    end_proof(p, &open);
}

void proof_on_login(struct pool *pool, struct backend *b)
{
    struct proof *p = b->proof;
    (void)pool;
    if (!p)
        return;
    b->proof = NULL;
    p->backend = NULL;
    if (p->checking) {
        account_is_open(p);
        return;
    }
    if (p->account->openness == ACCOUNT_STRICT) {
        proof_is_good(p);
        return;
    }
    p->checking = true;
    run_proof(p);
}

bool account_is_denial(uint16_t code)
{
    return code == 1045 || code == 1698;
}

void proof_on_refused(struct pool *pool, struct backend *b, uint16_t code, const char *sqlstate,
                      struct bytes message)
{
    struct proof *p = b->proof;
    (void)pool;
    if (!p)
        return;
    b->proof = NULL;
    p->backend = NULL;
    if (p->checking && account_is_denial(code)) {
        p->account->openness = ACCOUNT_STRICT;
        proof_is_good(p);
        return;
    }
    if (account_is_denial(code))
        account_forget(p->account, proof_password(p));
    struct proof_result refused = {
        .verdict = PROOF_REFUSED, .code = code, .sqlstate = sqlstate, .message = message};
    end_proof(p, &refused);
}

void proof_on_lost(struct backend *b, const char *why)
{
    struct proof *p = b->proof;
    if (!p)
        return;
    b->proof = NULL;
    p->backend = NULL;
    struct proof_result failed = {.verdict = PROOF_FAILED, .message = bytes_text(why)};
    end_proof(p, &failed);
}

void account_pump(struct account *a)
{
    for (struct list_node *n = list_first(&a->proofs), *after; n; n = after) {
        after = list_after(&a->proofs, n);
        run_proof(CONTAINER_OF(n, struct proof, node));
    }
}

/* ---- time ---- */

/* A secret in use is proven again before it ages, on a connection that is there anyway. */
static void prove_again(struct account *a, struct secret *s)
{
    uint64_t ttl = (uint64_t)a->target->options->mysql.verifier_ttl_ms;
    uint64_t now = now_of(a);
    bool used = a->sessions || now - a->used_ms < ttl;
    if (s != &a->secrets[0] || s->configured || !used || now - s->proven_ms < ttl / 2)
        return;
    if (s->proving && now - s->proven_ms < ttl)
        return;
    for (struct pool *p = a->pools; p; p = p->next_of_account) {
        struct list_node *n = pool_first_unowned(p);
        if (!n)
            continue;
        s->proving = true;
        backend_prove_again(CONTAINER_OF(n, struct backend, node));
        return;
    }
}

/* An aged secret admits nobody, but goes on to log backends in while the account is in use. */
static bool secret_is_useless(const struct account *a, const struct secret *s)
{
    return !secret_is_good(a, s) && !s->proving && !a->sessions &&
           now_of(a) - a->used_ms >= (uint64_t)a->target->options->mysql.idle_timeout_ms;
}

static bool account_is_of_use(const struct account *a)
{
    if (a->sessions || a->configured || a->secret_count || a->paused ||
        !list_empty(&((struct account *)a)->proofs))
        return true;
    for (const struct pool *p = a->pools; p; p = p->next_of_account)
        if (p->open || p->waiters.count)
            return true;
    return now_of(a) - a->used_ms < ACCOUNT_FORGET_AFTER_MS;
}

static void account_free(struct account *a)
{
    struct proof_result gone = {.verdict = PROOF_FAILED, .message = bytes_text("shutting down")};
    for (struct list_node *n = list_first(&a->proofs), *after; n; n = after) {
        after = list_after(&a->proofs, n);
        end_proof(CONTAINER_OF(n, struct proof, node), &gone);
    }
    while (a->secret_count)
        drop_secret(a, a->secret_count - 1);
    for (struct pool *p = a->pools, *next; p; p = next) {
        next = p->next_of_account;
        pool_free(p);
    }
    forget_schemas(a);
    free(a->name);
    free(a);
}

void account_tick(struct target *t)
{
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (struct account **link = &t->accounts[i]; *link;) {
            struct account *a = *link;
            for (size_t k = a->secret_count; k-- > 0;) {
                if (secret_is_useless(a, &a->secrets[k]))
                    drop_secret(a, k);
                else
                    prove_again(a, &a->secrets[k]);
            }
            if (account_is_of_use(a)) {
                link = &a->next;
                continue;
            }
            *link = a->next;
            account_free(a);
        }
}

struct account *account_new_alone(struct target *t, const struct user_option *u)
{
    struct account *a = xcalloc(1, sizeof *a);
    a->target = t;
    a->name = xstrndup(bytes_text(u->name));
    a->configured = true;
    list_init(&a->proofs);
    add_configured(a, u->password ? bytes_text(u->password) : (struct bytes){0},
                   u->has_hash ? u->hash : NULL);
    return a;
}

void account_free_alone(struct account *a)
{
    if (a)
        account_free(a);
}

void account_free_all(struct target *t)
{
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (struct account *a = t->accounts[i], *next; a; a = next) {
            next = a->next;
            account_free(a);
        }
}
