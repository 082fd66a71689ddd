/* SPDX-License-Identifier: Apache-2.0
 *
 * All tables of SHOW, by name and columns, and the rows of those that are about the whole: STATS,
 * CONFIG, ERRORS, LISTS, VERSION, DATABASES, USERS, MEM. See console_show.h. */
#include <stdlib.h>

#include "conf/print.h"
#include "proxy/console_show.h"
#include "proxy/session.h"

#define TEXT(column)                                                                               \
    {                                                                                              \
        column, MYSQL_COLUMN_TEXT                                                                  \
    }
#define NUMBER(column)                                                                             \
    {                                                                                              \
        column, MYSQL_COLUMN_NUMBER                                                                \
    }

static uint64_t count_of(const struct histogram *h)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof h->counts / sizeof h->counts[0]; i++)
        sum += h->counts[i];
    return sum;
}

static uint64_t sum_of(const uint64_t *counts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* ---- STATS ---- */

static void rows_of_stats(struct console_rows *r, struct proxy *p)
{
    const struct pool_stats *pool = &p->target->stats;
    const struct proxy_stats *s = &p->stats;
    console_rows_text(r, p->target->label);
    console_rows_number(r, pool->lends_exact + pool->lends_restored + pool->lends_fresh);
    console_rows_null(r); /* transactions are not counted */
    console_rows_number(r, count_of(&s->statement));
    console_rows_number(r, p->loop->bytes_from_clients);
    console_rows_number(r, p->loop->bytes_to_clients);
    console_rows_null(r);
    console_rows_number(r, s->statement.sum_ns / 1000);
    console_rows_number(r, pool->wait.sum_ns / 1000);
    console_rows_number(r, s->clients_total);
    console_rows_number(r, sum_of(s->local_answers, 256));
    console_rows_number(r, sum_of(s->pins, PIN_REASONS_COUNT));
    console_rows_number(r, pool->connects);
    console_rows_number(r, pool->resets_dirty + pool->resets_suspect + pool->resets_abandoned);
    console_rows_number(r, pool->probe_failures);
    console_rows_number(r, pool->kills);
    console_rows_number(r, s->retries);
    console_rows_number(r, s->login_failures);
    console_rows_number(r, s->request_ends);
    console_rows_number(r, (loop_now_ms(p->loop) - p->started_ms) / 1000);
    console_rows_next(r);
}

/* ---- CONFIG, ERRORS, VERSION ---- */

static void rows_of_config(struct console_rows *r, struct proxy *p)
{
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        char *value = option_text(p->options, row);
        console_rows_format(r, "%s.%s", row->section, row->key);
        console_rows_text(r, value);
        console_rows_text(r, row->default_text);
        console_rows_text(r, row->reload == RELOADABLE ? "yes" : "no");
        console_rows_text(r, option_source(p->options, row));
        console_rows_next(r);
        free(value);
    }
}

static void rows_of_errors(struct console_rows *r, struct proxy *p)
{
    for (int i = 0; i < MYSQL_ERROR_COUNT; i++) {
        const struct mysql_error_info *info = mysql_error_info((enum mysql_error)i);
        console_rows_text(r, info->word);
        console_rows_number(r, info->code);
        console_rows_text(r, info->sqlstate);
        console_rows_number(r, p->stats.errors[i]);
        console_rows_next(r);
    }
}

static void rows_of_version(struct console_rows *r, struct proxy *p)
{
    console_rows_text(r, "sluice " SLUICE_VERSION);
    console_rows_text(r, p->target->version);
    console_rows_next(r);
}

/* ---- LISTS, MEM ---- */

struct totals {
    size_t users, pools;
    size_t waiting, console, pinned, login; /* clients */
    size_t free, used, open;                /* servers */
    size_t statements;
};

static struct totals count_all(struct proxy *p)
{
    struct totals t = {0};
    struct list *pools = &p->target->pools;
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (const struct account *a = p->target->accounts[i]; a; a = a->next)
            t.users++;
    for (struct list_node *n = list_first(pools); n; n = list_after(pools, n)) {
        const struct pool *pool = CONTAINER_OF(n, struct pool, node);
        t.pools += pool->account != NULL;
        t.waiting += pool->waiters.count;
        t.free += pool->backends[BACKEND_IDLE].count;
        t.statements += prepared_count(pool->prepared);
    }
    t.open = p->target->open_backends;
    t.used = t.open - t.free;
    for (struct list_node *n = list_first(&p->sessions); n; n = list_after(&p->sessions, n)) {
        const struct session *s = CONTAINER_OF(n, struct session, node);
        t.login += s->state == SESSION_GREETING || s->state == SESSION_LOGIN;
        t.console += s->console;
        t.pinned += s->pins != 0;
    }
    return t;
}

static void put_list(struct console_rows *r, const char *name, size_t items)
{
    console_rows_text(r, name);
    console_rows_number(r, items);
    console_rows_next(r);
}

/* pgbouncer's lists, but for those of DNS, then ours. */
static void rows_of_lists(struct console_rows *r, struct proxy *p)
{
    struct totals t = count_all(p);
    put_list(r, "databases", 1);
    put_list(r, "users", t.users);
    put_list(r, "pools", t.pools);
    put_list(r, "free_clients", 0);
    put_list(r, "used_clients", p->sessions.count);
    put_list(r, "login_clients", t.login);
    put_list(r, "free_servers", t.free);
    put_list(r, "used_servers", t.used);
    put_list(r, "waiting_clients", t.waiting);
    put_list(r, "console_clients", t.console);
    put_list(r, "pinned_clients", t.pinned);
    put_list(r, "statements", t.statements);
    put_list(r, "names", names_count(p->target->names));
    put_list(r, "settings", settings_count(names_settings(p->target->names)));
}

static void put_memory(struct console_rows *r, const char *name, size_t size, size_t used)
{
    console_rows_text(r, name);
    console_rows_number(r, size);
    console_rows_number(r, used);
    console_rows_number(r, 0); /* nothing is kept for later */
    console_rows_number(r, size * used);
    console_rows_next(r);
}

/* Of the objects themselves; what hangs off them is not counted. */
static void rows_of_mem(struct console_rows *r, struct proxy *p)
{
    struct totals t = count_all(p);
    put_memory(r, "client", sizeof(struct session), p->sessions.count);
    put_memory(r, "server", sizeof(struct backend), t.open);
    put_memory(r, "user", sizeof(struct account), t.users);
    put_memory(r, "pool", sizeof(struct pool), t.pools);
    put_memory(r, "statement", sizeof(struct prepared), t.statements);
    put_memory(r, "loop", sizeof(struct loop), 1);
}

/* ---- DATABASES, USERS ---- */

static void rows_of_databases(struct console_rows *r, struct proxy *p)
{
    const struct target *t = p->target;
    const struct backend_option *where = t->where;
    const struct mysql_options *m = &t->options->mysql;
    console_rows_text(r, t->label);
    console_rows_text(r, where->path ? where->path : where->host);
    console_rows_number(r, where->port);
    console_rows_text(r, where->schema ? where->schema : "");
    console_rows_text(r, where->clients_trust ? where->user : NULL);
    console_rows_number(r, (uint64_t)m->pool_max);
    console_rows_number(r, (uint64_t)m->min_idle);
    console_rows_number(r, (uint64_t)m->reserved);
    console_rows_number(r, (uint64_t)m->max_age_ms / 1000);
    console_rows_text(r, "transaction");
    console_rows_number(r, (uint64_t)m->pool_total);
    console_rows_number(r, t->open_backends);
    console_rows_number(r, t->paused);
    console_rows_number(r, 0); /* disabled */
    console_rows_number(r, t->up);
    console_rows_text(r, t->version);
    console_rows_text(r, t->last_error);
    console_rows_next(r);
}

static void put_user(struct console_rows *r, const struct account *a)
{
    size_t open = 0;
    size_t max = a->pool_max ? (size_t)a->pool_max : (size_t)a->target->options->mysql.pool_max;
    for (const struct pool *pool = a->pools; pool; pool = pool->next_of_account)
        open += pool->open;
    console_rows_text(r, a->name);
    console_rows_number(r, max);
    console_rows_number(r, open);
    console_rows_number(r, a->sessions);
    console_rows_text(r, a->configured ? "configured" : a->secret_count ? "learned" : "unproven");
    console_rows_number(r, a->paused);
    console_rows_next(r);
}

static void rows_of_users(struct console_rows *r, struct proxy *p)
{
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (const struct account *a = p->target->accounts[i]; a; a = a->next)
            put_user(r, a);
}

/* ---- all of them ---- */

static const struct mysql_column pools_columns[] = {TEXT("database"),
                                                    TEXT("user"),
                                                    NUMBER("cl_active"),
                                                    NUMBER("cl_waiting"),
                                                    NUMBER("cl_active_cancel_req"),
                                                    NUMBER("cl_waiting_cancel_req"),
                                                    NUMBER("sv_active"),
                                                    NUMBER("sv_active_cancel"),
                                                    NUMBER("sv_being_canceled"),
                                                    NUMBER("sv_idle"),
                                                    NUMBER("sv_used"),
                                                    NUMBER("sv_tested"),
                                                    NUMBER("sv_login"),
                                                    NUMBER("maxwait"),
                                                    NUMBER("maxwait_us"),
                                                    TEXT("pool_mode"),
                                                    TEXT("backend"),
                                                    TEXT("flags"),
                                                    NUMBER("max"),
                                                    NUMBER("pinned"),
                                                    NUMBER("hits"),
                                                    NUMBER("misses"),
                                                    NUMBER("paused")};

#define COLUMNS_OF_PGBOUNCER                                                                       \
    TEXT("type"), TEXT("user"), TEXT("database"), TEXT("state"), TEXT("addr"), NUMBER("port"),     \
        TEXT("local_addr"), NUMBER("local_port"), TEXT("connect_time"), TEXT("request_time"),      \
        NUMBER("wait"), NUMBER("wait_us"), NUMBER("close_needed"), TEXT("ptr"), TEXT("link"),      \
        NUMBER("remote_pid"), TEXT("tls"), TEXT("application_name"),                               \
        NUMBER("prepared_statements"), NUMBER("id")

static const struct mysql_column clients_columns[] = {
    COLUMNS_OF_PGBOUNCER, TEXT("peer"),         NUMBER("pid"),    TEXT("db"),
    TEXT("pins"),         NUMBER("backend_id"), NUMBER("queries")};

static const struct mysql_column servers_columns[] = {
    COLUMNS_OF_PGBOUNCER, TEXT("backend"),  TEXT("flags"),      TEXT("db"),
    TEXT("charset"),      NUMBER("client"), NUMBER("since_ms"), NUMBER("age_ms")};

static const struct mysql_column pins_columns[] = {NUMBER("client"),         TEXT("user"),
                                                   TEXT("reason"),           NUMBER("since_ms"),
                                                   TEXT("statement_digest"), NUMBER("backend_id")};

static const struct mysql_column statements_columns[] = {
    TEXT("user"),         TEXT("db"),         TEXT("digest_text"), TEXT("digest"),
    NUMBER("clients"),    NUMBER("backends"), NUMBER("hits"),      NUMBER("count_star"),
    NUMBER("parameters"), NUMBER("columns"),  NUMBER("shared")};

static const struct mysql_column stats_columns[] = {
    TEXT("database"),           NUMBER("total_server_assignment_count"),
    NUMBER("total_xact_count"), NUMBER("total_query_count"),
    NUMBER("total_received"),   NUMBER("total_sent"),
    NUMBER("total_xact_time"),  NUMBER("total_query_time"),
    NUMBER("total_wait_time"),  NUMBER("clients"),
    NUMBER("local_answers"),    NUMBER("pins"),
    NUMBER("connects"),         NUMBER("resets"),
    NUMBER("probe_failures"),   NUMBER("kills"),
    NUMBER("retries"),          NUMBER("login_failures"),
    NUMBER("request_ends"),     NUMBER("uptime_s")};

static const struct mysql_column config_columns[] = {TEXT("key"), TEXT("value"), TEXT("default"),
                                                     TEXT("changeable"), TEXT("source")};
static const struct mysql_column errors_columns[] = {TEXT("error"), NUMBER("errno"),
                                                     TEXT("sqlstate"), NUMBER("count_star")};
static const struct mysql_column lists_columns[] = {TEXT("list"), NUMBER("items")};
static const struct mysql_column version_columns[] = {TEXT("version"), TEXT("backend_version")};
static const struct mysql_column databases_columns[] = {TEXT("name"),
                                                        TEXT("host"),
                                                        NUMBER("port"),
                                                        TEXT("database"),
                                                        TEXT("force_user"),
                                                        NUMBER("pool_size"),
                                                        NUMBER("min_pool_size"),
                                                        NUMBER("reserve_pool_size"),
                                                        NUMBER("server_lifetime"),
                                                        TEXT("pool_mode"),
                                                        NUMBER("max_connections"),
                                                        NUMBER("current_connections"),
                                                        NUMBER("paused"),
                                                        NUMBER("disabled"),
                                                        NUMBER("up"),
                                                        TEXT("backend_version"),
                                                        TEXT("last_error")};
static const struct mysql_column users_columns[] = {
    TEXT("name"),      NUMBER("pool_size"), NUMBER("current_connections"),
    NUMBER("clients"), TEXT("secret"),      NUMBER("paused")};
static const struct mysql_column mem_columns[] = {TEXT("name"), NUMBER("size"), NUMBER("used"),
                                                  NUMBER("free"), NUMBER("memtotal")};
static const struct mysql_column help_columns[] = {TEXT("command"), TEXT("does")};

#define TABLE(name, rows, help)                                                                    \
    {                                                                                              \
#name, help, name##_columns, sizeof name##_columns / sizeof name##_columns[0], rows        \
    }

const struct console_table console_tables[] = {
    TABLE(pools, console_rows_of_pools, "the connections of each user, and who waits"),
    TABLE(clients, console_rows_of_clients, "who is connected to sluice"),
    TABLE(servers, console_rows_of_servers, "what sluice is connected to"),
    TABLE(stats, rows_of_stats, "totals since the start; times in microseconds"),
    TABLE(pins, console_rows_of_pins, "clients that keep a connection, why, since when"),
    TABLE(statements, console_rows_of_statements, "prepared statements that clients share"),
    TABLE(config, rows_of_config, "every key, its value, its default, where it came from"),
    TABLE(errors, rows_of_errors, "errors that sluice itself has sent"),
    TABLE(lists, rows_of_lists, "how many there are of what"),
    TABLE(version, rows_of_version, "of sluice and of the server"),
    TABLE(databases, rows_of_databases, "the servers behind"),
    TABLE(users, rows_of_users, "who has logged in"),
    TABLE(mem, rows_of_mem, "memory of the objects that there are many of, in bytes"),
    TABLE(help, console_rows_of_help, "this"),
    {NULL, NULL, NULL, 0, NULL},
};
