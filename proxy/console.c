/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may use the console, and its commands. See console.h. */
#include "proxy/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"
#include "proxy/console_select.h"
#include "proxy/console_show.h"
#include "proxy/console_text.h"
#include "proxy/drain.h"
#include "proxy/spool.h"

/* MySQL's numbers, for errors that no other client of ours ever sees. */
enum {
    ER_BAD_DATABASE = 1049,
    ER_PARSE = 1064,
    ER_NO_SUCH_THREAD = 1094,
    ER_UNKNOWN = 1105,
    ER_NOT_FOR_PREPARE = 1295, /* PDO then does without a server's PREPARE */
};

/* The command in hand. */
struct call {
    struct session *session;
    struct bytes left; /* of its text, behind the verb */
    uint8_t seq;       /* of the answer */
};

/* ---- who ---- */

const struct user_option *console_user(const struct proxy *p, struct bytes name)
{
    const struct admin_options *o = &p->options->admin;
    for (size_t i = 0; i < o->user_count; i++)
        if (bytes_equal(bytes_text(o->users[i].name), name))
            return &o->users[i];
    return NULL;
}

static bool peer_is_us(const struct conn *c)
{
    struct ucred who;
    socklen_t len = sizeof who;
    uv_os_fd_t fd;
    return c->is_unix && uv_fileno(&c->uv.handle, &fd) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

enum console_entry console_entry_of(const struct session *s, struct bytes user, struct bytes schema)
{
    if (!bytes_equal(schema, bytes_text(CONSOLE_DATABASE)))
        return CONSOLE_NOT_MEANT;
    if (s->proxy->options->admin.user_count)
        return console_user(s->proxy, user) ? CONSOLE_PASSWORD : CONSOLE_NOT_MEANT;
    return peer_is_us(&s->conn) ? CONSOLE_FREE : CONSOLE_NOT_MEANT;
}

/* ---- answers ---- */

static enum command_verdict ok(const struct call *c)
{
    session_send_ok(c->session, c->seq);
    return COMMAND_ANSWERED;
}

static enum command_verdict fail(const struct call *c, uint16_t code, const char *sqlstate,
                                 const char *text)
{
    char whole[1024];
    (void)snprintf(whole, sizeof whole, "sluice: %s", text);
    session_send_err(c->session, c->seq, code, sqlstate, bytes_text(whole));
    return COMMAND_ANSWERED;
}

static enum command_verdict not_understood(const struct call *c, struct bytes text)
{
    char why[256];
    int n = (int)(text.len < 80 ? text.len : 80);
    (void)snprintf(why, sizeof why,
                   "not a command of the admin console: %.*s; SHOW HELP lists them", n,
                   (const char *)text.at);
    return fail(c, ER_PARSE, "42000", why);
}

static bool is_over(const struct call *c)
{
    return console_text_peek(c->left).kind == CONSOLE_END;
}

/* Who did what: such a change must be found in the log. */
static void log_command(const struct call *c, const char *verb, const char *what)
{
    char peer[80];
    conn_peer_name(&c->session->conn, peer, sizeof peer);
    log_line(LOG_INFO, "console", LOG_UINT("client", c->session->id & ~(uint32_t)SESSION_ID_BIT),
             LOG_STR("peer", peer), LOG_STR("command", verb), LOG_STR("argument", what));
}

/* ---- SHOW ---- */

static enum command_verdict run_show(struct call *c, struct bytes whole)
{
    struct bytes text = c->left;
    struct console_word name = console_text_next(&c->left);
    struct bytes like = {0};
    const struct console_table *t = console_tables;
    while (t->name && !console_word_is(&name, t->name))
        t++;
    if (!t->name)
        return console_show_empty(c->session, c->seq, text) ? COMMAND_ANSWERED
                                                            : not_understood(c, whole);
    if (console_text_take(&c->left, "like")) {
        struct console_word pattern = console_text_next(&c->left);
        if (pattern.kind != CONSOLE_STRING)
            return fail(c, ER_PARSE, "42000",
                        "LIKE takes a pattern in quotes: SHOW POOLS LIKE 'a%'");
        like = pattern.text;
    }
    if (!is_over(c))
        return not_understood(c, whole);
    struct console_rows *r = console_rows_begin(c->session, c->seq, t->columns, t->count, like);
    t->rows(r, c->session->proxy);
    console_rows_end(r);
    return COMMAND_ANSWERED;
}

/* ---- PAUSE, RESUME ---- */

/* Sets the flag of one user's pools, or, without a name or with the server's, of all. */
static enum command_verdict set_paused(struct call *c, struct bytes whole, bool paused)
{
    struct target *t = c->session->proxy->target;
    struct console_word name = console_text_next(&c->left);
    bool all = name.kind == CONSOLE_END || bytes_equal(name.text, bytes_text(t->label));
    struct account *a = all ? NULL : account_find(t, name.text);
    char what[128];
    if (!is_over(c))
        return not_understood(c, whole);
    if (!all && !a)
        return fail(
            c, ER_BAD_DATABASE, "42000",
            "there is no such pool; PAUSE and RESUME take a user or a backend of SHOW POOLS");
    if (a && !paused && t->paused)
        return fail(c, ER_UNKNOWN, "HY000", "all pools are paused; RESUME without a name");
    if (a)
        pool_pause(a, paused);
    else
        pool_pause_all(t, paused);
    (void)snprintf(what, sizeof what, "%.*s", (int)name.text.len, (const char *)name.text.at);
    log_command(c, paused ? "pause" : "resume", what);
    return ok(c);
}

static enum command_verdict run_pause(struct call *c, struct bytes whole)
{
    return set_paused(c, whole, true);
}

static enum command_verdict run_resume(struct call *c, struct bytes whole)
{
    return set_paused(c, whole, false);
}

/* ---- RELOAD, DRAIN, KILL ---- */

static enum command_verdict run_reload(struct call *c, struct bytes whole)
{
    char why[4096];
    char text[512];
    if (!is_over(c))
        return not_understood(c, whole);
    log_command(c, "reload", "");
    if (proxy_reload(c->session->proxy, why, sizeof why) == 0)
        return ok(c);
    size_t len = strlen(why);
    while (len && why[len - 1] == '\n')
        why[--len] = '\0';
    (void)snprintf(text, sizeof text, "the configuration in force stays: %s", why);
    return fail(c, ER_UNKNOWN, "HY000", text);
}

static enum command_verdict run_drain(struct call *c, struct bytes whole)
{
    if (!is_over(c))
        return not_understood(c, whole);
    log_command(c, "drain", "");
    drain_begin(c->session->proxy);
    return ok(c);
}

/* pgbouncer's words for it. */
static enum command_verdict run_shutdown(struct call *c, struct bytes whole)
{
    if (!console_text_take(&c->left, "wait_for_clients"))
        return fail(c, ER_PARSE, "42000",
                    "SHUTDOWN WAIT_FOR_CLIENTS, or DRAIN; to end at once, send the process SIGINT");
    return run_drain(c, whole);
}

/* By the id that SHOW CLIENTS gives, which is the client's own CONNECTION_ID(), or by the short one
 * of the log. */
static enum command_verdict kill_client(struct call *c, uint64_t id, bool query_only)
{
    char text[96];
    uint64_t full = id < SESSION_ID_BIT ? id | SESSION_ID_BIT : id;
    if (full > UINT32_MAX || !session_find(c->session->proxy, (uint32_t)full)) {
        (void)snprintf(text, sizeof text, "Unknown thread id: %" PRIu64, id);
        session_send_err(c->session, c->seq, ER_NO_SUCH_THREAD, "HY000", bytes_text(text));
        return COMMAND_ANSWERED;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64, full & ~(uint64_t)SESSION_ID_BIT);
    log_command(c, query_only ? "kill query" : "kill", text);
    return command_kill(c->session, full, query_only);
}

static enum command_verdict run_kill(struct call *c, struct bytes whole)
{
    uint64_t id;
    bool query_only = console_text_take(&c->left, "query");
    if (!query_only)
        (void)console_text_take(&c->left, "connection");
    if (!console_text_number(&c->left, &id) || !is_over(c))
        return not_understood(c, whole);
    return kill_client(c, id, query_only);
}

/* ---- what clients say by themselves ---- */

static enum command_verdict run_select(struct call *c, struct bytes whole)
{
    return console_select(c->session, c->seq, c->left) ? COMMAND_ANSWERED
                                                       : not_understood(c, whole);
}

/* SET, COMMIT and the like: there is nothing here that they could change. */
static enum command_verdict run_nothing(struct call *c, struct bytes whole)
{
    (void)whole;
    return ok(c);
}

static enum command_verdict use_schema(const struct call *c, struct bytes name)
{
    if (bytes_equal(name, bytes_text(CONSOLE_DATABASE)))
        return ok(c);
    return fail(c, ER_BAD_DATABASE, "42000",
                "the admin console has one database, sluice; connect anew for another");
}

static enum command_verdict run_use(struct call *c, struct bytes whole)
{
    (void)whole;
    return use_schema(c, console_text_next(&c->left).text);
}

/* ---- all of them ---- */

static const struct verb {
    const char *word;
    enum command_verdict (*run)(struct call *c, struct bytes whole);
    const char *form; /* for SHOW HELP; NULL: not an operator's */
    const char *help;
} verbs[] = {
    {"show", run_show, NULL, NULL},
    {"reload", run_reload, "RELOAD", "reads the configuration again; a bad one changes nothing"},
    {"pause", run_pause, "PAUSE [user|backend]",
     "lends no connection: statements queue, for queue_timeout at most; transactions go on"},
    {"resume", run_resume, "RESUME [user|backend]", "ends a PAUSE; without a name, every one"},
    {"kill", run_kill, "KILL [QUERY] id",
     "disconnects a client (SHOW CLIENTS), or ends its statement"},
    {"drain", run_drain, "DRAIN", "goes down once clients are done, within drain_timeout"},
    {"shutdown", run_shutdown, "SHUTDOWN WAIT_FOR_CLIENTS", "the same"},
    {"select", run_select, NULL, NULL},
    {"set", run_nothing, NULL, NULL},
    {"begin", run_nothing, NULL, NULL},
    {"start", run_nothing, NULL, NULL},
    {"commit", run_nothing, NULL, NULL},
    {"rollback", run_nothing, NULL, NULL},
    {"use", run_use, NULL, NULL},
};

void console_rows_of_help(struct console_rows *r, struct proxy *p)
{
    (void)p;
    for (const struct console_table *t = console_tables; t->name; t++) {
        char upper[32];
        size_t n = 0;
        for (; t->name[n] && n + 1 < sizeof upper; n++)
            upper[n] = (char)(t->name[n] - 'a' + 'A');
        upper[n] = '\0';
        console_rows_format(r, "SHOW %s [LIKE 'pattern']", upper);
        console_rows_text(r, t->help);
        console_rows_next(r);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (!verbs[i].form)
            continue;
        console_rows_text(r, verbs[i].form);
        console_rows_text(r, verbs[i].help);
        console_rows_next(r);
    }
}

static enum command_verdict query(struct call *c, struct bytes text)
{
    c->left = text;
    struct console_word verb = console_text_next(&c->left);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (console_word_is(&verb, verbs[i].word))
            return verbs[i].run(c, text);
    return not_understood(c, text);
}

/* ---- commands of the protocol ---- */

/* `mysql` asks for it on \s. */
static enum command_verdict statistics(const struct call *c)
{
    const struct proxy *p = c->session->proxy;
    uint8_t packet[256];
    char text[200];
    struct wire_writer w = wire_writer(packet, sizeof packet);
    size_t begin = mysql_packet_begin(&w);
    (void)snprintf(text, sizeof text, "Uptime: %" PRIu64 "  Clients: %zu  Servers: %zu",
                   (loop_now_ms(p->loop) - p->started_ms) / 1000, p->sessions.count,
                   p->target->open_backends);
    wire_put(&w, bytes_text(text));
    session_send(c->session, packet, mysql_packet_end(&w, begin, c->seq));
    return COMMAND_ANSWERED;
}

static enum command_verdict eof(const struct call *c)
{
    uint8_t packet[16];
    session_send(c->session, packet,
                 mysql_eof_packet(packet, sizeof packet, c->seq, session_status(c->session), 0));
    return COMMAND_ANSWERED;
}

static uint8_t answer_seq(const struct session *s)
{
    uint64_t left;
    bool continues;
    uint8_t seq = 1;
    if (s->spool)
        spool_rest(s->spool, &left, &continues, &seq);
    return seq;
}

enum command_verdict console_take(struct session *s, struct bytes payload)
{
    struct call c = {.session = s, .seq = answer_seq(s)};
    struct bytes rest = bytes_of(payload.at + 1, payload.len - 1);
    struct wire_reader r = wire_reader(rest);
    switch (payload.at[0]) {
    case MYSQL_COM_QUERY:
        return query(&c, rest);
    case MYSQL_COM_INIT_DB:
        return use_schema(&c, rest);
    case MYSQL_COM_PING:
    case MYSQL_COM_RESET_CONNECTION:
        return ok(&c);
    case MYSQL_COM_SET_OPTION:
        return eof(&c);
    case MYSQL_COM_STATISTICS:
        return statistics(&c);
    case MYSQL_COM_PROCESS_KILL:
        return kill_client(&c, wire_u32(&r), false);
    case MYSQL_COM_STMT_PREPARE:
        return fail(&c, ER_NOT_FOR_PREPARE, "HY000",
                    "the admin console takes no prepared statements; send it as text");
    case MYSQL_COM_STMT_CLOSE:
    case MYSQL_COM_STMT_SEND_LONG_DATA:
        return COMMAND_ANSWERED; /* there is no answer to these */
    default:                     /* a byte of the client's */
        break;
    }
    session_send_error(s, c.seq, MYSQL_ERROR_UNKNOWN_COMMAND,
                       "the admin console does not take this command of the protocol");
    return COMMAND_ANSWERED;
}
