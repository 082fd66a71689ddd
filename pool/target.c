/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/target.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "pool/account.h"
#include "pool/pool.h"
#include "pool/scramble.h"
#include "pool/tls.h"

uint64_t target_random(void)
{
    uint64_t r;
    scramble_random(&r, sizeof r);
    return r;
}

static struct tls_context *make_tls(const struct options *options, char *err, size_t err_bytes)
{
    const struct mysql_options *m = &options->mysql;
    struct tls_client_options tls = {
        .ca_file = m->tls_ca,
        .cert_file = m->tls_cert,
        .key_file = m->tls_key,
        .min = m->tls_min == TLS_VERSION_1_3 ? TLS_MIN_1_3 : TLS_MIN_1_2,
    };
    switch (m->backend[0].tls) {
    case TLS_OFF:
        return NULL;
    case TLS_PREFER:
        tls.mode = TLS_MODE_PREFER;
        break;
    case TLS_REQUIRE:
        tls.mode = TLS_MODE_REQUIRE;
        break;
    case TLS_VERIFY_CA:
        tls.mode = TLS_MODE_VERIFY_CA;
        break;
    case TLS_VERIFY:
        tls.mode = TLS_MODE_VERIFY;
        break;
    }
    return tls_context_new_client(&tls, err, err_bytes);
}

static void set_label(struct target *t)
{
    const struct backend_option *w = t->where;
    if (w->path)
        (void)snprintf(t->label, sizeof t->label, "%s", w->path);
    else
        (void)snprintf(t->label, sizeof t->label, strchr(w->host, ':') ? "[%s]:%u" : "%s:%u",
                       w->host, w->port);
}

struct target *target_new(struct loop *loop, const struct options *options, char *err,
                          size_t err_bytes)
{
    struct target *t = xcalloc(1, sizeof *t);
    t->loop = loop;
    t->options = options;
    t->where = &options->mysql.backend[0];
    t->tls = make_tls(options, err, err_bytes);
    if (!t->tls && t->where->tls != TLS_OFF) {
        free(t);
        return NULL;
    }
    t->names = names_new();
    set_label(t);
    list_init(&t->greeting_waiters);
    list_init(&t->pools);
    (void)uv_timer_init(&loop->uv, &t->pump_timer);
    t->max_allowed_packet = UINT64_C(16) * 1024 * 1024;
    t->scout = pool_new_scout(t);
    account_configure(t);
    return t;
}

static bool same_place(const struct backend_option *a, const struct backend_option *b)
{
    if (a->port != b->port || a->tls != b->tls || !a->path != !b->path)
        return false;
    return strcmp(a->path ? a->path : a->host, b->path ? b->path : b->host) == 0;
}

int target_reload(struct target *t, const struct options *options, char *err, size_t err_bytes)
{
    struct tls_context *tls = make_tls(options, err, err_bytes);
    const struct backend_option *where = &options->mysql.backend[0];
    if (!tls && where->tls != TLS_OFF)
        return -1;
    tls_context_free(t->tls);
    t->tls = tls;
    bool moved = !same_place(t->where, where);
    t->options = options;
    t->where = where;
    account_configure(t);
    if (moved) {
        set_label(t);
        t->address_count = 0;
        t->resolved_ms = 0;
        pool_retire_all(t);
    }
    pool_pump_all(t);
    return 0;
}

void target_close(struct target *t)
{
    t->closing = true;
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n)) {
        struct pool *p = CONTAINER_OF(n, struct pool, node);
        for (int state = 0; state < BACKEND_CLOSING; state++)
            for (struct list_node *b = list_first(&p->backends[state]); b;
                 b = list_first(&p->backends[state]))
                backend_end(CONTAINER_OF(b, struct backend, node), BACKEND_END_SHUTDOWN, NULL);
    }
    if (t->resolving)
        (void)uv_cancel((uv_req_t *)&t->resolve_req);
    if (!uv_is_closing((uv_handle_t *)&t->pump_timer))
        uv_close((uv_handle_t *)&t->pump_timer, NULL);
}

void target_free(struct target *t)
{
    assert(t->open_backends == 0);
    account_free_all(t);
    pool_free(t->scout);
    for (size_t i = 0; i < TARGET_COLLATIONS_MAX; i++)
        names_unref(t->names, t->charset_of_id[i]);
    names_free(t->names);
    tls_context_free(t->tls);
    free(t);
}

/* ---- the greeting ---- */

void target_look(struct target *t)
{
    if (!t->known)
        target_check(t);
}

void target_check(struct target *t)
{
    if (t->closing || t->greeting_in_flight || loop_now_ms(t->loop) < t->next_connect_ms)
        return;
    t->greeting_in_flight = true;
    (void)backend_open(t->scout, BACKEND_FOR_GREETING, NULL);
}

void target_wait_known(struct target *t, struct target_waiter *w)
{
    list_append(&t->greeting_waiters, &w->node);
    target_look(t);
}

void target_stop_waiting(struct target *t, struct target_waiter *w)
{
    if (!list_node_alone(&w->node))
        list_remove(&t->greeting_waiters, &w->node);
}

void target_on_greeting(struct target *t, const char *version, uint8_t charset)
{
    (void)snprintf(t->version, sizeof t->version, "%s", version);
    t->charset = charset;
    t->mariadb = strstr(version, "MariaDB") != NULL;
    if (!t->known) {
        t->known = true;
        t->fresh_status = 2; /* autocommit, until a login tells */
        log_line(LOG_INFO, "backend_found", LOG_STR("backend", t->label),
                 LOG_STR("version", version));
    }
    for (struct list_node *n; (n = list_first(&t->greeting_waiters));) {
        struct target_waiter *w = CONTAINER_OF(n, struct target_waiter, node);
        list_remove(&t->greeting_waiters, n);
        w->on_known(w);
    }
}

/* ---- health ---- */

void target_heard(struct target *t)
{
    t->last_heard_ms = loop_now_ms(t->loop);
}

void target_failed(struct target *t, const char *error)
{
    uint64_t now = loop_now_ms(t->loop);
    struct backoff_rules rules = BACKOFF_RULES_DEFAULT;
    (void)snprintf(t->last_error, sizeof t->last_error, "%s", error);
    t->last_error_ms = now;
    uint64_t wait = backoff_next_ms(&t->backoff, &rules, target_random());
    /* With several addresses the next one is tried at once, until all have been. */
    if (t->address_count > 1 && t->backoff.failures < t->address_count)
        wait = 1;
    t->next_connect_ms = now + wait;
    t->resolved_ms = 0;
    log_line_limited(&t->fail_limit, LOG_WARN, t->up ? "backend_down" : "backend_still_down",
                     LOG_STR("backend", t->label), LOG_STR("error", error),
                     LOG_UINT("retry_in_ms", wait));
    t->up = false;
}

void target_succeeded(struct target *t)
{
    if (!t->up && t->backoff.failures)
        log_line(LOG_INFO, "backend_up", LOG_STR("backend", t->label),
                 LOG_STR("version", t->version));
    t->up = true;
    backoff_reset(&t->backoff);
    t->next_connect_ms = 0;
    target_heard(t);
}

static bool has_ended(const struct backend *b)
{
    uv_os_fd_t fd;
    char byte;
    if (uv_fileno(&b->conn.uv.handle, &fd) != 0)
        return true;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || errno != EAGAIN; /* an idle server has nothing to say but goodbye */
}

bool target_is_lost(const struct target *t)
{
    size_t asked = 0;
    struct list *pools = (struct list *)&t->pools;
    for (struct list_node *n = list_first(pools); n; n = list_after(pools, n)) {
        struct list *idle = &CONTAINER_OF(n, struct pool, node)->backends[BACKEND_IDLE];
        struct list *closing = &CONTAINER_OF(n, struct pool, node)->backends[BACKEND_CLOSING];
        for (struct list_node *m = list_first(idle); m; m = list_after(idle, m), asked++)
            if (!has_ended(CONTAINER_OF(m, struct backend, node)))
                return false;
        asked += closing->count > 1; /* beside the one that the question is about */
    }
    return asked > 0;
}

/* ---- connecting ---- */

static void on_connect(uv_connect_t *req, int status)
{
    struct backend *b = CONTAINER_OF(req, struct backend, connect_req);
    b->connecting = false;
    backend_on_connected(b, status);
}

static void connect_now(struct target *t, struct backend *b)
{
    if (t->where->path) {
        b->connecting = true;
        uv_pipe_connect(&b->connect_req, &b->conn.uv.pipe, t->where->path, on_connect);
        return;
    }
    assert(t->address_count > 0);
    const struct sockaddr *to =
        (const struct sockaddr *)&t->address[t->address_next++ % t->address_count];
    int error = uv_tcp_connect(&b->connect_req, &b->conn.uv.tcp, to, on_connect);
    b->connecting = !error;
    if (error) {
        target_failed(t, uv_strerror(error));
        b->doomed = true; /* ended by the tick: nobody who opens one expects its end at once */
    }
}

/* All backends that were waiting for the name. */
static void connect_waiting(struct target *t, const char *error)
{
    for (struct list_node *n = list_first(&t->pools); n; n = list_after(&t->pools, n)) {
        struct list *l = &CONTAINER_OF(n, struct pool, node)->backends[BACKEND_CONNECT];
        for (struct list_node *m = list_first(l), *after; m; m = after) {
            struct backend *b = CONTAINER_OF(m, struct backend, node);
            after = list_after(l, m);
            if (b->connecting || b->doomed)
                continue;
            if (error)
                backend_end(b, BACKEND_END_CONNECT_FAILED, error);
            else
                connect_now(t, b);
        }
    }
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct target *t = CONTAINER_OF(req, struct target, resolve_req);
    t->resolving = false;
    if (t->closing) {
        uv_freeaddrinfo(found);
        return;
    }
    if (status) {
        char text[200];
        (void)snprintf(text, sizeof text, "the name %s cannot be resolved: %s", t->where->host,
                       uv_strerror(status));
        target_failed(t, text);
        if (!t->address_count) {
            connect_waiting(t, text);
            return;
        }
    } else {
        t->address_count = 0;
        for (struct addrinfo *a = found; a && t->address_count < TARGET_ADDRESSES_MAX;
             a = a->ai_next)
            memcpy(&t->address[t->address_count++], a->ai_addr, a->ai_addrlen);
        uv_freeaddrinfo(found);
        t->resolved_ms = loop_now_ms(t->loop);
    }
    connect_waiting(t, NULL);
}

static bool is_literal(struct target *t)
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    if (uv_ip4_addr(t->where->host, t->where->port, &in4) == 0)
        memcpy(&t->address[0], &in4, sizeof in4);
    else if (uv_ip6_addr(t->where->host, t->where->port, &in6) == 0)
        memcpy(&t->address[0], &in6, sizeof in6);
    else
        return false;
    t->address_count = 1;
    return true;
}

void target_connect(struct target *t, struct backend *b)
{
    uint64_t now = loop_now_ms(t->loop);
    bool fresh =
        t->address_count && t->resolved_ms && now - t->resolved_ms < TARGET_RESOLVE_AGAIN_MS;
    if (t->where->path || fresh || is_literal(t)) {
        connect_now(t, b);
        return;
    }
    if (t->resolving)
        return;
    char port[8];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    (void)snprintf(port, sizeof port, "%u", t->where->port);
    int error =
        uv_getaddrinfo(&t->loop->uv, &t->resolve_req, on_resolved, t->where->host, port, &hints);
    t->resolving = !error;
    if (error)
        b->doomed = true;
}
