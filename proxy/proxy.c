/* SPDX-License-Identifier: Apache-2.0
 *
 * Start, signals, time, reload and end of the process. */
#include "proxy/proxy.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conf/check.h"
#include "pool/ed25519.h"
#include "pool/janitor.h"
#include "pool/scramble.h"
#include "pool/tls.h"
#include "proxy/admin.h"
#include "proxy/auth.h"
#include "proxy/drain.h"
#include "proxy/listener.h"
#include "proxy/report.h"
#include "proxy/session.h"
#include "proxy/systemd.h"

enum {
    LOCALHOST_WARN_AFTER_MS = 60000,
    FILES_RESERVED = 500, /* for backends, listeners, admin clients */
};

/* ---- the key for clients on plain TCP, made while the listeners are open already ---- */

struct key_work {
    uv_work_t req;
    struct proxy *proxy;
    struct rsa_key *key;
};

static void make_key(uv_work_t *req)
{
    CONTAINER_OF(req, struct key_work, req)->key = rsa_key_new();
}

static void key_made(uv_work_t *req, int status)
{
    struct key_work *work = CONTAINER_OF(req, struct key_work, req);
    (void)status;
    work->proxy->rsa = work->key;
    if (!work->key)
        log_line(LOG_ERROR, "rsa_key_failed",
                 LOG_STR("effect", "clients on plain TCP cannot log in for the first time"));
    if (!work->proxy->stopping)
        auth_key_ready(work->proxy);
    free(work);
}

static void begin_key(struct proxy *p)
{
    struct key_work *work = xcalloc(1, sizeof *work);
    work->proxy = p;
    if (uv_queue_work(&p->loop->uv, &work->req, make_key, key_made) != 0)
        abort(); /* only for a missing callback */
}

/* ---- time ---- */

static void warn_localhost(struct proxy *p)
{
    bool listens_tcp =
        p->options->mysql.listen_count && p->options->mysql.listen[0].kind == ADDRESS_TCP;
    if (p->localhost_warned || p->stats.clients_total || !listens_tcp ||
        loop_now_ms(p->loop) - p->started_ms < LOCALHOST_WARN_AFTER_MS)
        return;
    p->localhost_warned = true;
    log_line(LOG_WARN, "no_client_yet",
             LOG_STR("hint", "in PHP the host \"localhost\" means the unix socket and never comes "
                             "here: write 127.0.0.1, or "
                             "listen on the socket too (--mysql-listen "
                             "127.0.0.1:6033,unix:/run/mysqld/mysqld.sock)"));
}

static void on_tick(uv_timer_t *timer)
{
    struct proxy *p = timer->data;
    if (p->target)
        janitor_tick(p->target);
    session_tick_all(p);
    drain_tick(p);
    warn_localhost(p);
}

/* ---- signals ---- */

static void close_signals(struct proxy *p)
{
    for (size_t i = 0; i < sizeof p->signals / sizeof p->signals[0]; i++)
        if (!uv_is_closing((uv_handle_t *)&p->signals[i]))
            uv_close((uv_handle_t *)&p->signals[i], NULL);
}

void proxy_stop(struct proxy *p)
{
    if (p->stopping)
        return;
    p->stopping = true;
    log_line(LOG_INFO, "stop", LOG_UINT("clients", p->sessions.count));
    listener_close_all(p);
    for (struct list_node *n = list_first(&p->sessions), *after; n; n = after) {
        after = list_after(&p->sessions, n);
        session_end(CONTAINER_OF(n, struct session, node),
                    p->drain != DRAIN_NONE ? CLOSE_DRAIN : CLOSE_SHUTDOWN);
    }
    if (p->target)
        target_close(p->target);
    admin_close(p);
    uv_close((uv_handle_t *)&p->tick, NULL);
    close_signals(p);
}

static void reload_by_signal(struct proxy *p)
{
    char why[4096];
    systemd_notify("RELOADING=1");
    if (proxy_reload(p, why, sizeof why) != 0)
        log_line(LOG_ERROR, "reload_failed",
                 LOG_STR("effect", "the old configuration stays in force"), LOG_STR("why", why));
    systemd_notify("READY=1");
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct proxy *p = handle->data;
    switch (signum) {
    case SIGTERM:
    case SIGQUIT:
        drain_begin(p);
        break;
    case SIGINT:
        proxy_stop(p);
        break;
    case SIGHUP:
        reload_by_signal(p);
        break;
    case SIGUSR1:
        report_log(p);
        break;
    case SIGUSR2:
        log_line(
            LOG_WARN, "hot_restart",
            LOG_STR("effect", "none: this version cannot hand its listeners over; use a drain"));
        break;
    default:
        break;
    }
}

static void begin_signals(struct proxy *p)
{
    static const int wanted[] = {SIGTERM, SIGQUIT, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        (void)uv_signal_init(&p->loop->uv, &p->signals[i]);
        p->signals[i].data = p;
        (void)uv_signal_start(&p->signals[i], on_signal, wanted[i]);
    }
}

/* ---- reload ---- */

static void note_restart_needed(const struct option_row *row, void *context)
{
    (void)context;
    if (row->reload == RESTART)
        log_line(LOG_WARN, "reload_needs_restart", LOG_STR("option", row->key),
                 LOG_STR("section", row->section));
}

static struct tls_context *make_listen_tls(const struct options *o, char *err, size_t err_bytes)
{
    const struct mysql_options *m = &o->mysql;
    struct tls_server_options tls = {.cert_file = m->listen_tls_cert,
                                     .key_file = m->listen_tls_key,
                                     .min =
                                         m->tls_min == TLS_VERSION_1_3 ? TLS_MIN_1_3 : TLS_MIN_1_2};
    if (tls.cert_file && !*tls.cert_file)
        tls.cert_file = tls.key_file = NULL;
    return tls_context_new_server(&tls, err, err_bytes);
}

static void say_problems(struct problems *problems, char *why, size_t room)
{
    size_t len = 0;
    why[0] = '\0';
    for (size_t i = 0; i < problems->count && len < room; i++)
        len += (size_t)snprintf(why + len, room - len, "%s\n", problems->lines[i]);
    problems_fini(problems);
}

int proxy_reload(struct proxy *p, char *why, size_t room)
{
    struct problems problems = {0};
    struct options *fresh = options_load(&p->load, &problems);
    struct tls_context *tls = NULL;
    p->reload_failed = true;
    if (fresh)
        options_check_files(fresh, &problems);
    if (!fresh || problems_any(&problems)) {
        options_free(fresh);
        say_problems(&problems, why, room);
        return -1;
    }
    if (fresh->mysql.listen_tls != LISTEN_TLS_OFF && !(tls = make_listen_tls(fresh, why, room))) {
        options_free(fresh);
        return -1;
    }
    if (p->target && target_reload(p->target, fresh, why, room) != 0) {
        tls_context_free(tls);
        options_free(fresh);
        return -1;
    }
    options_diff(p->options, fresh, note_restart_needed, NULL);
    tls_context_free(p->listen_tls);
    p->listen_tls = tls;
    options_free(p->options);
    p->options = fresh;
    log_init(fresh->process.log_format, fresh->process.log_level);
    p->reload_failed = false;
    log_line(LOG_INFO, "reloaded", LOG_STR("file", fresh->source_file ? fresh->source_file : ""));
    return 0;
}

/* ---- start ---- */

static void raise_file_limit(struct proxy *p)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    long fit = (long)limit.rlim_cur - FILES_RESERVED;
    if (fit < p->options->mysql.client_max)
        log_line(LOG_WARN, "few_files", LOG_INT("clients_that_fit", fit),
                 LOG_INT("client_max", p->options->mysql.client_max),
                 LOG_STR("remedy", "raise the hard limit on open files (LimitNOFILE, ulimit -Hn)"));
}

static int write_pid_file(const struct options *o, char *err, size_t err_bytes)
{
    const char *path = o->process.pid_file;
    if (!path || !*path)
        return 0;
    FILE *f = fopen(path, "we");
    bool good = f && fprintf(f, "%ld\n", (long)getpid()) > 0;
    if (f && fclose(f) != 0)
        good = false;
    if (!good)
        (void)snprintf(err, err_bytes, "pid_file %s: %s", path, strerror(errno));
    return good ? 0 : -1;
}

/* After the listeners are open, since their ports and directories may need more rights. */
static int drop_privileges(const struct options *o, char *err, size_t err_bytes)
{
    const char *user = o->process.user;
    if (!user || !*user)
        return 0;
    errno = 0;
    struct passwd *pw = getpwnam(user);
    if (!pw) {
        (void)snprintf(err, err_bytes, "process.user: there is no user %s", user);
        return -1;
    }
    if (geteuid() == pw->pw_uid)
        return 0;
    if (initgroups(user, pw->pw_gid) != 0 || setgid(pw->pw_gid) != 0 || setuid(pw->pw_uid) != 0) {
        (void)snprintf(err, err_bytes, "process.user: cannot become %s: %s", user, strerror(errno));
        return -1;
    }
    return 0;
}

static int open_all(struct proxy *p, char *admin, char *health, char *err, size_t err_bytes)
{
    char why[256];
    if (ed25519_load(why, sizeof why) != 0)
        log_line(LOG_DEBUG, "no_ed25519", LOG_STR("why", why));
    if (p->options->mysql.listen_tls != LISTEN_TLS_OFF) {
        p->listen_tls = make_listen_tls(p->options, err, err_bytes);
        if (!p->listen_tls)
            return -1;
    }
    if (p->options->mysql.backend_count) {
        p->target = target_new(p->loop, p->options, err, err_bytes);
        if (!p->target || listener_open_all(p, err, err_bytes) != 0)
            return -1;
    }
    if (admin_open(p, admin, health, err, err_bytes) != 0 ||
        write_pid_file(p->options, err, err_bytes) != 0)
        return -1;
    return drop_privileges(p->options, err, err_bytes);
}

static void say_ready(struct proxy *p, const char *admin, const char *health)
{
    char mysql[1024];
    listener_describe(p, mysql, sizeof mysql);
    p->ready = true;
    log_line(LOG_INFO, "ready", LOG_STR("mysql", mysql), LOG_STR("redis", "off"),
             LOG_STR("admin", admin), LOG_STR("health", health));
    systemd_notify("READY=1");
}

static void free_all(struct proxy *p)
{
    if (p->target)
        target_free(p->target);
    rsa_key_free(p->rsa);
    tls_context_free(p->listen_tls);
    if (p->options->process.pid_file && *p->options->process.pid_file)
        (void)unlink(p->options->process.pid_file);
    options_free(p->options);
    int left = uv_loop_close(&p->loop->uv);
    if (left)
        log_line(LOG_ERROR, "loop_not_empty", LOG_STR("error", uv_strerror(left)));
    free(p->loop);
    free(p);
}

int proxy_run(struct options *options, struct load_request load)
{
    char err[1024] = "";
    char admin[ADMIN_TEXT_BYTES] = "off";
    char health[ADMIN_TEXT_BYTES] = "off";
    struct proxy *p = xcalloc(1, sizeof *p);
    p->loop = xcalloc(1, sizeof *p->loop);
    p->options = options;
    p->load = load;
    list_init(&p->sessions);
    list_init(&p->listeners);
    log_init(options->process.log_format, options->process.log_level);
    (void)signal(SIGPIPE, SIG_IGN); /* libuv writes with write(2) */
    if (uv_loop_init(&p->loop->uv) != 0)
        return 1;
    p->started_ms = p->last_active_ms = loop_now_ms(p->loop);
    raise_file_limit(p);
    (void)uv_timer_init(&p->loop->uv, &p->tick);
    p->tick.data = p;
    begin_signals(p);
    int code = 0;
    if (open_all(p, admin, health, err, sizeof err) != 0) {
        (void)fprintf(stderr, "sluice: %s\n", err);
        code = 1;
        proxy_stop(p);
    } else {
        begin_key(p);
        if (p->target)
            target_look(p->target);
        (void)uv_timer_start(&p->tick, on_tick, JANITOR_TICK_MS, JANITOR_TICK_MS);
        say_ready(p, admin, health);
    }
    (void)uv_run(&p->loop->uv, UV_RUN_DEFAULT);
    log_line(LOG_INFO, "exit", LOG_INT("code", code));
    free_all(p);
    return code;
}
