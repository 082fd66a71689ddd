/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/report.h"

#include <jansson.h>
#include <stdio.h>

#include "proxy/listener.h"
#include "proxy/session.h"

static struct list *pools_of(const struct proxy *p)
{
    return &p->target->pools;
}

/* Clients by state. */
static void count_clients(const struct proxy *p, size_t counts[SESSION_STATES_COUNT])
{
    struct list *l = (struct list *)&p->sessions;
    for (struct list_node *n = list_first(l); n; n = list_after(l, n))
        counts[CONTAINER_OF(n, struct session, node)->state]++;
}

static size_t clients_active(const size_t counts[SESSION_STATES_COUNT])
{
    return counts[SESSION_RELAY] + counts[SESSION_INFILE] + counts[SESSION_SENDING];
}

bool report_ready(const struct proxy *p, char *causes, size_t room)
{
    size_t len = 0;
    causes[0] = '\0';
    if (p->drain != DRAIN_NONE)
        len += (size_t)snprintf(causes + len, room - len, "draining\n");
    if (!p->ready)
        len += (size_t)snprintf(causes + len, room - len, "listeners are not open\n");
    if (p->options->process.ready_requires == READY_BACKEND && p->target && !p->target->up)
        len +=
            (size_t)snprintf(causes + len, room - len, "backend %s is down: %s\n", p->target->label,
                             p->target->last_error[0] ? p->target->last_error : "not asked yet");
    return len == 0;
}

/* ---- /metrics ---- */

struct pool_column {
    enum metric metric;
    size_t (*value)(const struct pool *p);
};

static size_t active_of(const struct pool *p)
{
    return p->backends[BACKEND_LENT].count;
}

static size_t waiting_of(const struct pool *p)
{
    return p->waiters.count;
}

static size_t idle_of(const struct pool *p)
{
    return p->backends[BACKEND_IDLE].count;
}

static size_t used_of(const struct pool *p)
{
    return p->backends[BACKEND_PROBE].count + p->backends[BACKEND_RESET].count +
           p->backends[BACKEND_ABANDONED].count + p->backends[BACKEND_SIDE].count;
}

static size_t login_of(const struct pool *p)
{
    return p->backends[BACKEND_CONNECT].count + p->backends[BACKEND_LOGIN].count +
           p->backends[BACKEND_SETTLE].count;
}

static size_t pinned_of(const struct pool *p)
{
    return p->pinned;
}

static size_t max_wait_ms(const struct pool *p)
{
    const struct list_node *first = p->waiters.head.next;
    if (list_empty(&p->waiters))
        return 0;
    return loop_now_ms(p->target->loop) - CONTAINER_OF(first, struct lessee, node)->since_ms;
}

static const struct pool_column pool_columns[] = {
    {METRIC_POOLS_CLIENT_ACTIVE, active_of}, {METRIC_POOLS_CLIENT_WAITING, waiting_of},
    {METRIC_POOLS_SERVER_ACTIVE, active_of}, {METRIC_POOLS_SERVER_IDLE, idle_of},
    {METRIC_POOLS_SERVER_USED, used_of},     {METRIC_POOLS_SERVER_LOGIN, login_of},
    {METRIC_POOLS_SERVER_PINNED, pinned_of},
};

/* One user's pools differ in their flags only, which dashboards do not know: they are added up. */
static void metrics_pools(const struct proxy *p, struct metrics_text *out)
{
    for (size_t c = 0; c < sizeof pool_columns / sizeof pool_columns[0]; c++) {
        metrics_family(out, pool_columns[c].metric);
        for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
            for (const struct account *a = p->target->accounts[i]; a; a = a->next) {
                size_t sum = 0;
                for (const struct pool *pool = a->pools; pool; pool = pool->next_of_account)
                    sum += pool_columns[c].value(pool);
                if (a->pools)
                    metrics_sample(out, pool_columns[c].metric, sum,
                                   METRICS_LABELS({"proto", "mysql"},
                                                  {"database", p->target->label},
                                                  {"user", a->name}));
            }
    }
    metrics_family(out, METRIC_POOLS_CLIENT_MAXWAIT);
    for (size_t i = 0; i < ACCOUNT_BUCKETS; i++)
        for (const struct account *a = p->target->accounts[i]; a; a = a->next) {
            size_t longest = 0;
            for (const struct pool *pool = a->pools; pool; pool = pool->next_of_account)
                if (max_wait_ms(pool) > longest)
                    longest = max_wait_ms(pool);
            if (a->pools)
                metrics_sample_ns(out, METRIC_POOLS_CLIENT_MAXWAIT, (uint64_t)longest * 1000000,
                                  METRICS_LABELS({"proto", "mysql"}, {"database", p->target->label},
                                                 {"user", a->name}));
        }
}

static void metrics_clients(const struct proxy *p, struct metrics_text *out)
{
    size_t counts[SESSION_STATES_COUNT] = {0};
    count_clients(p, counts);
    metrics_family(out, METRIC_CLIENTS);
    for (int i = 0; i < SESSION_STATES_COUNT; i++)
        metrics_sample(out, METRIC_CLIENTS, counts[i],
                       METRICS_LABELS({"proto", "mysql"},
                                      {"state", session_state_word((enum session_state_id)i)}));
    metrics_family(out, METRIC_CLIENTS_TOTAL);
    metrics_sample(out, METRIC_CLIENTS_TOTAL, p->stats.clients_total,
                   METRICS_LABELS({"proto", "mysql"}));
    metrics_family(out, METRIC_CLOSES);
    for (int i = 0; i < CLOSE_REASONS_COUNT; i++)
        metrics_sample(out, METRIC_CLOSES, p->stats.closes[i],
                       METRICS_LABELS({"proto", "mysql"}, {"side", "client"},
                                      {"reason", close_reason_word((enum close_reason)i)}));
    metrics_family(out, METRIC_LOGIN_FAILURES);
    metrics_sample(out, METRIC_LOGIN_FAILURES, p->stats.login_failures,
                   METRICS_LABELS({"proto", "mysql"}));
}

static void metrics_backends(const struct proxy *p, struct metrics_text *out)
{
    const struct target *t = p->target;
    metrics_family(out, METRIC_BACKENDS);
    for (int s = 0; s < BACKEND_STATES_COUNT; s++) {
        size_t sum = 0;
        for (struct list_node *n = list_first(pools_of(p)); n; n = list_after(pools_of(p), n))
            sum += CONTAINER_OF(n, struct pool, node)->backends[s].count;
        metrics_sample(out, METRIC_BACKENDS, sum,
                       METRICS_LABELS({"proto", "mysql"}, {"backend", t->label},
                                      {"state", backend_state_word((enum backend_state)s)}));
    }
    metrics_family(out, METRIC_BACKEND_CONNECTS);
    metrics_sample(out, METRIC_BACKEND_CONNECTS, t->stats.connects,
                   METRICS_LABELS({"proto", "mysql"}, {"backend", t->label}));
    metrics_family(out, METRIC_RECONNECTS);
    for (int i = 0; i < BACKEND_ENDS_COUNT; i++)
        metrics_sample(
            out, METRIC_RECONNECTS, t->stats.reconnects[i],
            METRICS_LABELS({"proto", "mysql"}, {"cause", backend_end_word((enum backend_end)i)}));
    metrics_family(out, METRIC_PROBE_FAILURES);
    metrics_sample(out, METRIC_PROBE_FAILURES, t->stats.probe_failures,
                   METRICS_LABELS({"proto", "mysql"}));
}

static void metrics_work(const struct proxy *p, struct metrics_text *out)
{
    metrics_family(out, METRIC_STATEMENTS);
    for (unsigned c = 0; c < 256; c++)
        if (p->stats.commands[c] && mysql_command_info((uint8_t)c)->name)
            metrics_sample(
                out, METRIC_STATEMENTS, p->stats.commands[c],
                METRICS_LABELS({"proto", "mysql"}, {"kind", mysql_command_info((uint8_t)c)->name}));
    metrics_family(out, METRIC_LOCAL_ANSWERS);
    for (unsigned c = 0; c < 256; c++)
        if (p->stats.local_answers[c])
            metrics_sample(
                out, METRIC_LOCAL_ANSWERS, p->stats.local_answers[c],
                METRICS_LABELS({"proto", "mysql"}, {"kind", mysql_command_info((uint8_t)c)->name}));
    metrics_family(out, METRIC_STATEMENT_SECONDS);
    metrics_histogram(out, METRIC_STATEMENT_SECONDS, &p->stats.statement,
                      METRICS_LABELS({"proto", "mysql"}));
    metrics_family(out, METRIC_BYTES);
    metrics_sample(out, METRIC_BYTES, p->loop->bytes_from_clients,
                   METRICS_LABELS({"proto", "mysql"}, {"direction", "from_client"}));
    metrics_sample(out, METRIC_BYTES, p->loop->bytes_to_clients,
                   METRICS_LABELS({"proto", "mysql"}, {"direction", "to_client"}));
    metrics_family(out, METRIC_ERRORS);
    for (int i = 0; i < MYSQL_ERROR_COUNT; i++)
        metrics_sample(out, METRIC_ERRORS, p->stats.errors[i],
                       METRICS_LABELS({"proto", "mysql"},
                                      {"code", mysql_error_info((enum mysql_error)i)->word}));
    metrics_family(out, METRIC_RETRIES);
    metrics_sample(out, METRIC_RETRIES, p->stats.retries, METRICS_LABELS({"proto", "mysql"}));
    metrics_family(out, METRIC_STATEMENT_CACHE_ENTRIES);
    metrics_sample(out, METRIC_STATEMENT_CACHE_ENTRIES, 0, METRICS_LABELS({"proto", "mysql"}));
    metrics_family(out, METRIC_REQUEST_ENDS);
    metrics_sample(out, METRIC_REQUEST_ENDS, p->stats.request_ends,
                   METRICS_LABELS({"proto", "mysql"}));
}

static void metrics_lending(const struct proxy *p, struct metrics_text *out)
{
    const struct pool_stats *s = &p->target->stats;
    metrics_family(out, METRIC_POOL_LENDS);
    metrics_sample(out, METRIC_POOL_LENDS, s->lends_exact,
                   METRICS_LABELS({"proto", "mysql"}, {"match", "exact"}));
    metrics_sample(out, METRIC_POOL_LENDS, s->lends_restored,
                   METRICS_LABELS({"proto", "mysql"}, {"match", "restored"}));
    metrics_sample(out, METRIC_POOL_LENDS, s->lends_fresh,
                   METRICS_LABELS({"proto", "mysql"}, {"match", "fresh"}));
    metrics_family(out, METRIC_POOL_WAIT);
    metrics_histogram(out, METRIC_POOL_WAIT, &s->wait, METRICS_LABELS({"proto", "mysql"}));
    metrics_family(out, METRIC_PINNED);
    for (int i = 0; i < PIN_REASONS_COUNT; i++)
        metrics_sample(
            out, METRIC_PINNED, p->pinned[i],
            METRICS_LABELS({"proto", "mysql"}, {"reason", pin_word((enum pin_reason)i)}));
    metrics_family(out, METRIC_PINS);
    for (int i = 0; i < PIN_REASONS_COUNT; i++)
        metrics_sample(
            out, METRIC_PINS, p->stats.pins[i],
            METRICS_LABELS({"proto", "mysql"}, {"reason", pin_word((enum pin_reason)i)}));
    metrics_family(out, METRIC_RESETS);
    metrics_sample(out, METRIC_RESETS, s->resets_dirty,
                   METRICS_LABELS({"proto", "mysql"}, {"cause", "dirty"}));
    metrics_sample(out, METRIC_RESETS, s->resets_suspect,
                   METRICS_LABELS({"proto", "mysql"}, {"cause", "error"}));
    metrics_sample(out, METRIC_RESETS, s->resets_abandoned,
                   METRICS_LABELS({"proto", "mysql"}, {"cause", "abandoned"}));
    metrics_family(out, METRIC_ROLLED_BACK);
    metrics_sample(out, METRIC_ROLLED_BACK, p->stats.rolled_back_vanished,
                   METRICS_LABELS({"cause", "client_gone"}));
    metrics_sample(out, METRIC_ROLLED_BACK, p->stats.rolled_back_idle,
                   METRICS_LABELS({"cause", "idle_in_transaction"}));
    metrics_sample(out, METRIC_ROLLED_BACK, p->stats.rolled_back_request_end,
                   METRICS_LABELS({"cause", "request_end"}));
}

void report_metrics(const struct proxy *p, struct metrics_text *out)
{
    if (p->target) {
        metrics_pools(p, out);
        metrics_clients(p, out);
        metrics_backends(p, out);
        metrics_work(p, out);
        metrics_lending(p, out);
        metrics_family(out, METRIC_UP);
        metrics_sample(out, METRIC_UP, p->target->up, METRICS_LABELS({"proto", "mysql"}));
    }
    metrics_family(out, METRIC_BUILD_INFO);
    metrics_sample(out, METRIC_BUILD_INFO, 1,
                   METRICS_LABELS({"version", SLUICE_VERSION}, {"commit", SLUICE_COMMIT}));
    metrics_family(out, METRIC_CONFIG_RELOAD_SUCCESS);
    metrics_sample(out, METRIC_CONFIG_RELOAD_SUCCESS, !p->reload_failed, NULL);
    metrics_process(out);
}

/* ---- /status ---- */

static json_t *status_pool(const struct pool *pool)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I}", "backend",
                     pool->target->label, "user", pool->account->name, "max", pool_max(pool),
                     "idle", (int)idle_of(pool), "lent", (int)active_of(pool), "pinned",
                     (int)pinned_of(pool), "login", (int)login_of(pool), "waiting",
                     (int)waiting_of(pool), "hits", (json_int_t)pool->hits, "misses",
                     (json_int_t)pool->misses, "flags", (json_int_t)pool->flags);
}

static json_t *status_mysql(const struct proxy *p)
{
    char listen[1024];
    size_t counts[SESSION_STATES_COUNT] = {0};
    json_t *pools = json_array();
    json_t *pins = json_object();
    uint64_t statements = 0;
    for (struct list_node *n = list_first(pools_of(p)); n; n = list_after(pools_of(p), n)) {
        const struct pool *pool = CONTAINER_OF(n, struct pool, node);
        if (pool->account)
            (void)json_array_append_new(pools, status_pool(pool));
    }
    for (int i = 0; i < PIN_REASONS_COUNT; i++)
        if (p->pinned[i])
            (void)json_object_set_new(pins, pin_word((enum pin_reason)i),
                                      json_integer(p->pinned[i]));
    for (unsigned c = 0; c < 256; c++)
        statements += p->stats.commands[c];
    count_clients(p, counts);
    listener_describe(p, listen, sizeof listen);
    return json_pack("{s:s, s:I, s:I, s:I, s:b, s:s, s:s, s:I, s:o, s:o, s:I}", "listen", listen,
                     "clients", (json_int_t)p->sessions.count, "clients_active",
                     (json_int_t)clients_active(counts), "waiting",
                     (json_int_t)counts[SESSION_QUEUED], "up", p->target->up, "version",
                     p->target->version, "last_error", p->target->last_error, "backends",
                     (json_int_t)p->target->open_backends, "pools", pools, "pins", pins,
                     "statements", (json_int_t)statements);
}

char *report_status(const struct proxy *p)
{
    char causes[512];
    json_t *errors = json_object();
    for (int i = 0; i < MYSQL_ERROR_COUNT; i++)
        if (p->stats.errors[i])
            (void)json_object_set_new(errors, mysql_error_info((enum mysql_error)i)->word,
                                      json_integer((json_int_t)p->stats.errors[i]));
    json_t *root = json_pack(
        "{s:s, s:I, s:b, s:o, s:o, s:o}", "version", SLUICE_VERSION, "uptime_s",
        (json_int_t)((loop_now_ms(p->loop) - p->started_ms) / 1000), "ready",
        report_ready(p, causes, sizeof causes), "mysql",
        p->target ? status_mysql(p) : json_object(), "redis", json_object(), "errors", errors);
    if (!root)
        return NULL;
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

void report_log(const struct proxy *p)
{
    char *text = report_status(p);
    log_line(LOG_INFO, "state", LOG_STR("status", text ? text : ""));
    free(text);
}
