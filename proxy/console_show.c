/* SPDX-License-Identifier: Apache-2.0
 *
 * SHOW POOLS, CLIENTS, SERVERS, PINS, STATEMENTS. See console_show.h. */
#include "proxy/console_show.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "pool/settings.h"
#include "pool/tls.h"
#include "protocol/mysql_caps.h"
#include "protocol/sql_digest.h"
#include "protocol/sql_scan.h"
#include "proxy/pin.h"
#include "proxy/session.h"

static size_t in_state(const struct pool *pool, enum backend_state state)
{
    return pool->backends[state].count;
}

/* Everything is said to be in one database, the server, as in the metrics: pools are not by schema.
 */
static void put_database(struct console_rows *r, const struct target *t)
{
    console_rows_text(r, t->label);
}

/* As wall clock time, in pgbouncer's form. `at_ms` is the loop's. */
static void put_time(struct console_rows *r, const struct loop *loop, uint64_t at_ms)
{
    char text[40];
    struct tm tm;
    time_t then = time(NULL) - (time_t)((loop_now_ms(loop) - at_ms) / 1000);
    (void)gmtime_r(&then, &tm);
    (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm);
    console_rows_text(r, text);
}

/* Seconds and the microseconds over them. */
static void put_wait(struct console_rows *r, uint64_t ms)
{
    console_rows_number(r, ms / 1000);
    console_rows_number(r, ms % 1000 * 1000);
}

/* ---- POOLS ---- */

/* Found-rows and the like are part of a pool's key: several pools of one user differ in these. */
static void put_flags(struct console_rows *r, uint32_t flags)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%s%s", flags & MYSQL_CAP_FOUND_ROWS ? "found_rows " : "",
                       flags & MYSQL_CAP_LOCAL_FILES ? "local_files " : "");
    console_rows_bytes(r, bytes_of(text, len > 0 ? (size_t)len - 1 : 0));
}

static const char *mode_of(const struct mysql_options *m, const char *user)
{
    for (size_t i = 0; i < m->session_mode_users_count; i++)
        if (strcmp(m->session_mode_users[i], user) == 0)
            return "session";
    return "transaction";
}

static uint64_t longest_wait_ms(struct pool *pool)
{
    struct list_node *first = list_first(&pool->waiters);
    return first ? loop_now_ms(pool->target->loop) -
                       CONTAINER_OF(first, struct lessee, node)->since_ms
                 : 0;
}

/* What the metrics call "used" is told apart here: a KILL's connection (cancel), a statement being
 * killed, and those that are asked something of our own (tested). */
static void put_pool(struct console_rows *r, struct pool *pool)
{
    const struct target *t = pool->target;
    put_database(r, t);
    console_rows_text(r, pool->account->name);
    console_rows_number(r, in_state(pool, BACKEND_LENT));
    console_rows_number(r, pool->waiters.count);
    console_rows_number(r, in_state(pool, BACKEND_SIDE));
    console_rows_number(r, pool->kills.count);
    console_rows_number(r, in_state(pool, BACKEND_LENT));
    console_rows_number(r, in_state(pool, BACKEND_SIDE));
    console_rows_number(r, in_state(pool, BACKEND_ABANDONED));
    console_rows_number(r, in_state(pool, BACKEND_IDLE));
    console_rows_number(r, 0); /* an idle one that needs a test is found by its being lent */
    console_rows_number(r, in_state(pool, BACKEND_PROBE) + in_state(pool, BACKEND_RESET));
    console_rows_number(r, in_state(pool, BACKEND_CONNECT) + in_state(pool, BACKEND_LOGIN) +
                               in_state(pool, BACKEND_SETTLE));
    put_wait(r, longest_wait_ms(pool));
    console_rows_text(r, mode_of(&t->options->mysql, pool->account->name));
    console_rows_text(r, t->label);
    put_flags(r, pool->flags);
    console_rows_number(r, (uint64_t)pool_max(pool));
    console_rows_number(r, pool->pinned);
    console_rows_number(r, pool->hits);
    console_rows_number(r, pool->misses);
    console_rows_number(r, pool_is_paused(pool));
    console_rows_next(r);
}

void console_rows_of_pools(struct console_rows *r, struct proxy *p)
{
    for (struct list_node *n = list_first(&p->target->pools); n;
         n = list_after(&p->target->pools, n)) {
        struct pool *pool = CONTAINER_OF(n, struct pool, node);
        if (pool->account)
            put_pool(r, pool);
    }
}

/* ---- what clients and servers have in common ---- */

static void put_address(struct console_rows *r, const struct sockaddr_storage *ss, bool known)
{
    char host[64] = "";
    if (known && ss->ss_family == AF_INET6)
        (void)uv_ip6_name((const struct sockaddr_in6 *)ss, host, sizeof host);
    else if (known)
        (void)uv_ip4_name((const struct sockaddr_in *)ss, host, sizeof host);
    console_rows_text(r, host);
    /* The port is at the same place in both. */
    console_rows_number(r, known ? ntohs(((const struct sockaddr_in *)ss)->sin_port) : 0);
}

/* addr, port, local_addr, local_port. A unix socket has none: "unix", as in pgbouncer. */
static void put_addresses(struct console_rows *r, const struct conn *c)
{
    struct sockaddr_storage ss;
    int len = sizeof ss;
    if (c->is_unix) {
        for (int i = 0; i < 2; i++) {
            console_rows_text(r, "unix");
            console_rows_number(r, 0);
        }
        return;
    }
    bool known = uv_tcp_getpeername(&c->uv.tcp, (struct sockaddr *)&ss, &len) == 0;
    put_address(r, &ss, known);
    len = sizeof ss;
    known = uv_tcp_getsockname(&c->uv.tcp, (struct sockaddr *)&ss, &len) == 0;
    put_address(r, &ss, known);
}

static void put_tls(struct console_rows *r, const struct conn *c)
{
    console_rows_text(r, c->tls ? tls_version_text(c->tls) : "");
}

static void put_name(struct console_rows *r, const struct target *t, name_id id)
{
    struct bytes name = names_text(t->names, id);
    console_rows_bytes(r, bytes_of(name.len ? (const void *)name.at : "", name.len));
}

/* ---- CLIENTS ---- */

/* 0: not known. */
static uint64_t peer_pid(const struct session *s)
{
    struct ucred who;
    socklen_t len = sizeof who;
    uv_os_fd_t fd;
    if (!s->conn.is_unix || uv_fileno(&s->conn.uv.handle, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 || who.pid <= 0)
        return 0;
    return (uint64_t)who.pid;
}

/* "transaction user_variable" */
static void put_pins(struct console_rows *r, uint32_t pins)
{
    char text[512] = "";
    size_t len = 0;
    for (unsigned i = 0; i < PIN_REASONS_COUNT && len < sizeof text; i++)
        if (pins & 1u << i)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len ? " " : "",
                                    pin_word((enum pin_reason)i));
    console_rows_text(r, text);
}

static const char *user_of(const struct session *s)
{
    return s->account ? s->account->name : s->console ? "(console)" : "";
}

static void put_client_of_pgbouncer(struct console_rows *r, struct session *s)
{
    const struct loop *loop = s->proxy->loop;
    const struct backend *b = s->lessee.backend;
    console_rows_text(r, "C");
    console_rows_text(r, user_of(s));
    put_database(r, s->proxy->target);
    console_rows_text(r, session_state_word(s->state));
    put_addresses(r, &s->conn);
    put_time(r, loop, s->connected_ms);
    put_time(r, loop, s->active_ms);
    put_wait(r, s->lessee.waiting ? loop_now_ms(loop) - s->lessee.since_ms : 0);
    console_rows_number(r, 0); /* close_needed */
    console_rows_format(r, "c%u", s->id & ~(uint32_t)SESSION_ID_BIT);
    if (b)
        console_rows_format(r, "b%u", b->id);
    else
        console_rows_text(r, "");
    console_rows_number(r, peer_pid(s));
    put_tls(r, &s->conn);
    console_rows_text(r, ""); /* application_name */
    console_rows_number(r, s->statements.count);
    console_rows_number(r, s->id);
}

static void put_client(struct console_rows *r, struct session *s)
{
    char peer[80];
    const struct backend *b = s->lessee.backend;
    uint64_t pid = peer_pid(s);
    put_client_of_pgbouncer(r, s);
    conn_peer_name(&s->conn, peer, sizeof peer);
    console_rows_text(r, peer);
    pid ? console_rows_number(r, pid) : console_rows_null(r);
    if (s->console)
        console_rows_text(r, "sluice");
    else
        put_name(r, s->proxy->target, s->lessee.state.schema);
    put_pins(r, s->pins);
    b ? console_rows_number(r, b->id) : console_rows_null(r);
    console_rows_number(r, s->queries);
    console_rows_next(r);
}

void console_rows_of_clients(struct console_rows *r, struct proxy *p)
{
    for (struct list_node *n = list_first(&p->sessions); n; n = list_after(&p->sessions, n)) {
        struct session *s = CONTAINER_OF(n, struct session, node);
        if (s->state != SESSION_CLOSING)
            put_client(r, s);
    }
}

/* ---- SERVERS ---- */

static void put_server_of_pgbouncer(struct console_rows *r, struct backend *b)
{
    const struct target *t = b->pool->target;
    const struct account *a = b->pool->account;
    console_rows_text(r, "S");
    console_rows_text(r, a ? a->name : "");
    put_database(r, t);
    console_rows_text(r, backend_state_word(b->state));
    put_addresses(r, &b->conn);
    put_time(r, t->loop, b->born_ms);
    put_time(r, t->loop, b->asked_ms ? b->asked_ms : b->since_ms);
    put_wait(r, 0);
    console_rows_number(r, b->retire || b->doomed);
    console_rows_format(r, "b%u", b->id);
    if (b->lessee)
        console_rows_format(r, "c%u", b->lessee->client_id & ~(uint32_t)SESSION_ID_BIT);
    else
        console_rows_text(r, "");
    console_rows_number(r, b->server_id);
    put_tls(r, &b->conn);
    console_rows_text(r, "sluice");
    console_rows_number(r, b->slots.count);
    console_rows_number(r, b->id);
}

static void put_server(struct console_rows *r, struct backend *b)
{
    const struct target *t = b->pool->target;
    uint64_t now = loop_now_ms(t->loop);
    put_server_of_pgbouncer(r, b);
    console_rows_text(r, t->label);
    put_flags(r, b->pool->flags);
    put_name(r, t, b->session.schema);
    put_name(r, t, b->session.charset);
    b->lessee ? console_rows_number(r, b->lessee->client_id) : console_rows_null(r);
    console_rows_number(r, now - b->since_ms);
    console_rows_number(r, now - b->born_ms);
    console_rows_next(r);
}

void console_rows_of_servers(struct console_rows *r, struct proxy *p)
{
    for (struct list_node *n = list_first(&p->target->pools); n;
         n = list_after(&p->target->pools, n)) {
        struct pool *pool = CONTAINER_OF(n, struct pool, node);
        for (int state = 0; state < BACKEND_CLOSING; state++) {
            struct list *l = &pool->backends[state];
            for (struct list_node *m = list_first(l); m; m = list_after(l, m))
                put_server(r, CONTAINER_OF(m, struct backend, node));
        }
    }
}

/* ---- PINS ---- */

void console_rows_of_pins(struct console_rows *r, struct proxy *p)
{
    for (struct list_node *n = list_first(&p->sessions); n; n = list_after(&p->sessions, n)) {
        struct session *s = CONTAINER_OF(n, struct session, node);
        for (unsigned i = 0; i < PIN_REASONS_COUNT; i++) {
            enum pin_reason reason = (enum pin_reason)i;
            if (!(s->pins & 1u << i))
                continue;
            console_rows_number(r, s->id);
            console_rows_text(r, user_of(s));
            console_rows_text(r, pin_word(reason));
            console_rows_number(r, loop_now_ms(p->loop) - pin_since_ms(s, reason));
            console_rows_text(r, pin_digest_text(s, reason));
            s->lessee.backend ? console_rows_number(r, s->lessee.backend->id)
                              : console_rows_null(r);
            console_rows_next(r);
        }
    }
}

/* ---- STATEMENTS ---- */

struct statement_walk {
    struct console_rows *rows;
    struct pool *pool;
};

static size_t prepared_on(struct pool *pool, const struct prepared *p)
{
    size_t found = 0;
    for (int state = 0; state < BACKEND_CLOSING; state++) {
        struct list *l = &pool->backends[state];
        for (struct list_node *n = list_first(l); n; n = list_after(l, n))
            found += prepared_slots_has(&CONTAINER_OF(n, struct backend, node)->slots, p, NULL);
    }
    return found;
}

static void put_statement(void *ctx, const struct prepared *p)
{
    const struct statement_walk *walk = ctx;
    struct console_rows *r = walk->rows;
    const struct target *t = walk->pool->target;
    size_t backends = prepared_on(walk->pool, p);
    uint32_t mode = t->mariadb ? SQL_MODE_MARIADB : 0;
    struct sql_digest digest;
    if (p->state.settings)
        mode |= p->state.settings->scan_mode;
    sql_digest_make(bytes_of(p->text, p->text_bytes), mode, &digest);
    console_rows_text(r, walk->pool->account->name);
    put_name(r, t, p->state.schema);
    console_rows_bytes(r, bytes_of(digest.text, digest.len));
    console_rows_format(r, "%016llx", (unsigned long long)digest.hash);
    console_rows_number(r, p->refs > backends ? p->refs - backends : 0);
    console_rows_number(r, backends);
    console_rows_number(r, p->hits);
    console_rows_number(r, p->executes);
    console_rows_number(r, p->parameters);
    console_rows_number(r, p->columns);
    console_rows_number(r, p->shared);
    console_rows_next(r);
}

void console_rows_of_statements(struct console_rows *r, struct proxy *p)
{
    for (struct list_node *n = list_first(&p->target->pools); n;
         n = list_after(&p->target->pools, n)) {
        struct pool *pool = CONTAINER_OF(n, struct pool, node);
        struct statement_walk walk = {.rows = r, .pool = pool};
        if (pool->account)
            prepared_cache_each(pool->prepared, put_statement, &walk);
    }
}
