/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the pool share: a scripted server in the same loop, which greets, checks native
 * passwords, answers what the pool asks, and writes down every command; and clients of the pool. */
#ifndef SLUICE_TESTS_UNIT_POOL_SCRIPTED_H
#define SLUICE_TESTS_UNIT_POOL_SCRIPTED_H

#include "pool/pool.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/load.h"
#include "pool/janitor.h"
#include "pool/killer.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_handshake.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"

enum { TURNS_MAX = 10000, LINKS_MAX = 64, CLIENTS_MAX = 8, QUIET_TURNS = 60 };

static struct loop loop;
static uv_timer_t beat; /* wakes the loop now and then, so that a test that waits in vain fails */

/* ---- the server ---- */

struct link {
    uv_tcp_t tcp;
    uint32_t id;
    bool greeted;  /* the client's first answer is expected */
    bool admitted; /* logged in */
    bool open;
    char schema[64];
    uint8_t in[16384];
    size_t in_bytes;
    uint32_t prepared; /* statements ever */
    uint8_t out[4096]; /* what dribbles */
    size_t out_bytes;
};

static struct server {
    uv_tcp_t listener;
    uint16_t port;
    struct link link[LINKS_MAX];
    int links;      /* ever accepted */
    int open;       /* now */
    int most;       /* at a time */
    char log[8192]; /* of commands, '|' behind each */
    /* The script. */
    const char *version;
    const char *password;       /* of all users */
    bool accepts_anything;      /* any password */
    bool hold;                  /* reads, but answers nothing for now */
    bool hold_kill;             /* the same for KILL only */
    const char *refused_schema; /* 1049 */
    const char *refused_query;  /* 1064 for what begins so */
    uint16_t refuses_logins;    /* code, 0: does not */
    const char *wait_timeout;
    const char *sql_mode;
    const char *time_zone;
    const char *role;
    const char *last_insert_id;
    const char *number;       /* the answer to any other SELECT */
    uint16_t refused_prepare; /* code */
    bool junk;                /* answers what nobody understands */
    bool refuses_option;
    bool babbles;   /* sends more than was asked for */
    size_t dribble; /* bytes of an answer at a time; 0: all at once */
    int variables_asked;
} server;

static const uint8_t server_salt[] = "abcdefghijklmnopqrst";

static inline void note(const char *format, ...)
{
    size_t len = strlen(server.log);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(server.log + len, sizeof server.log - len, format, args);
    va_end(args);
}

static inline void link_write(struct link *k, const void *at, size_t len)
{
    uv_buf_t buf = uv_buf_init((char *)at, (unsigned)len);
    if (k->open)
        (void)uv_try_write((uv_stream_t *)&k->tcp, &buf, 1);
}

static inline void link_send(struct link *k, const void *at, size_t len)
{
    if (!server.dribble) {
        link_write(k, at, len);
        return;
    }
    assert_true(k->out_bytes + len <= sizeof k->out);
    memcpy(k->out + k->out_bytes, at, len);
    k->out_bytes += len;
}

static inline void on_link_closed(uv_handle_t *handle)
{
    (void)handle;
    server.open--;
}

static inline void link_close(struct link *k)
{
    if (k->open)
        uv_close((uv_handle_t *)&k->tcp, on_link_closed);
    k->open = false;
}

static inline void send_ok(struct link *k, uint8_t seq)
{
    uint8_t packet[64];
    struct mysql_ok ok = {.status = 2};
    link_send(k, packet, mysql_ok_packet(packet, sizeof packet, seq, &ok));
}

static inline void send_err(struct link *k, uint8_t seq, uint16_t code, const char *text)
{
    uint8_t packet[256];
    link_send(k, packet,
              mysql_err_packet(packet, sizeof packet, seq, code, "HY000", bytes_text(text)));
}

/* One row of texts. */
static inline void send_row(struct link *k, const char *const *values, size_t columns)
{
    static const uint8_t end_of_rows[] = {0xFE, 0, 0, 2, 0, 0, 0};
    uint8_t out[4096];
    uint8_t seq = 1;
    struct wire_writer w = wire_writer(out, sizeof out);
    size_t begin = mysql_packet_begin(&w);
    wire_put_lenenc(&w, columns);
    (void)mysql_packet_end(&w, begin, seq++);
    for (size_t i = 0; i < columns; i++) {
        begin = mysql_packet_begin(&w);
        wire_put_lenenc_bytes(&w, bytes_text("def"));
        for (int part = 0; part < 5; part++)
            wire_put_lenenc_bytes(&w, bytes_text("c"));
        wire_put_u8(&w, 12);
        wire_put_u16(&w, 45);
        wire_put_zeros(&w, 10);
        (void)mysql_packet_end(&w, begin, seq++);
    }
    begin = mysql_packet_begin(&w);
    for (size_t i = 0; i < columns; i++)
        if (values[i])
            wire_put_lenenc_bytes(&w, bytes_text(values[i]));
        else
            wire_put_u8(&w, 0xFB);
    (void)mysql_packet_end(&w, begin, seq++);
    begin = mysql_packet_begin(&w);
    wire_put(&w, bytes_of(end_of_rows, sizeof end_of_rows));
    (void)mysql_packet_end(&w, begin, seq);
    assert_false(w.full);
    link_send(k, out, wire_written(&w));
}

/* Of the virtual variables this server has four. */
static inline void send_variables(struct link *k)
{
    static const char *const names[] = {"autocommit", "sql_mode", "time_zone", "wait_timeout"};
    static const uint8_t end_of_rows[] = {7, 0, 0, 0, 0xFE, 0, 0, 2, 0, 0, 0};
    uint8_t out[1024];
    uint8_t seq = 1;
    struct wire_writer w = wire_writer(out, sizeof out);
    wire_put(&w, bytes_of("\1\0\0\1\2", 5));
    for (int i = 0; i < 2; i++) {
        size_t begin = mysql_packet_begin(&w);
        wire_put_lenenc_bytes(&w, bytes_text("def"));
        (void)mysql_packet_end(&w, begin, ++seq);
    }
    for (int i = 0; i < 4; i++) {
        size_t begin = mysql_packet_begin(&w);
        wire_put_lenenc_bytes(&w, bytes_text(names[i]));
        wire_put_lenenc_bytes(&w, bytes_text("x"));
        (void)mysql_packet_end(&w, begin, ++seq);
    }
    size_t end_at = wire_written(&w);
    wire_put(&w, bytes_of(end_of_rows, sizeof end_of_rows));
    out[end_at + 3] = (uint8_t)(seq + 1);
    link_send(k, out, wire_written(&w));
}

static inline void answer_query(struct link *k, const char *text)
{
    const char *one[] = {server.number};
    const char *id[] = {server.last_insert_id};
    const char *charset[] = {"latin1", "latin1_german1_ci", "48"};
    const char *baseline[] = {"16777216",
                              "utf8mb4",
                              "utf8mb4_general_ci",
                              "utf8mb4",
                              "0f0f-uuid",
                              server.role,
                              k->schema[0] ? k->schema : NULL,
                              "1",
                              server.sql_mode,
                              server.time_zone,
                              server.wait_timeout};
    if (server.refused_query &&
        strncmp(text, server.refused_query, strlen(server.refused_query)) == 0)
        send_err(k, 1, 1064, "refused");
    else if (strncmp(text, "SHOW SESSION VARIABLES", 22) == 0)
        send_variables(k);
    else if (strncmp(text, "SELECT @@max_allowed_packet", 27) == 0)
        send_row(k, baseline, sizeof baseline / sizeof baseline[0]);
    else if (strncmp(text, "SELECT CHARACTER_SET_NAME", 25) == 0)
        send_row(k, charset, 3);
    else if (strcmp(text, "SELECT LAST_INSERT_ID() LIMIT 1") == 0)
        send_row(k, id, 1);
    else if (strncmp(text, "SELECT", 6) == 0)
        send_row(k, one, 1);
    else if (strncmp(text, "KILL", 4) != 0 || !server.hold_kill)
        send_ok(k, 1);
}

/* Short words for what the pool always asks alike. */
static inline void note_query(const char *text)
{
    if (strncmp(text, "SHOW SESSION VARIABLES", 22) == 0) {
        server.variables_asked++; /* once, by the first connection of all */
        return;
    }
    if (strncmp(text, "SET session_track", 17) == 0)
        note("TRACKERS|");
    else if (strncmp(text, "SELECT @@max_allowed_packet", 27) == 0)
        note("BASELINE|");
    else if (strncmp(text, "SELECT CHARACTER_SET_NAME", 25) == 0)
        note("CHARSET|");
    else if (strstr(text, ", session_track"))
        note("%.*s + TRACKERS|", (int)(strstr(text, ", session_track") - text), text);
    else
        note("%s|", text);
}

/* Of a statement without parameters and columns. */
static inline void answer_prepare(struct link *k, const char *text)
{
    uint8_t packet[32];
    struct wire_writer w = wire_writer(packet, sizeof packet);
    note("PREPARE %.40s|", text);
    if (server.refused_prepare) {
        send_err(k, 1, server.refused_prepare, "refused");
        return;
    }
    size_t begin = mysql_packet_begin(&w);
    wire_put_u8(&w, 0);
    wire_put_u32(&w, ++k->prepared);
    wire_put_zeros(&w, 7);
    link_send(k, packet, mysql_packet_end(&w, begin, 1));
}

static inline void ask_native(struct link *k, uint8_t seq)
{
    uint8_t out[128];
    struct mysql_auth_switch s = {.plugin = bytes_text("mysql_native_password"),
                                  .data = bytes_of(server_salt, 20)};
    struct wire_writer w = wire_writer(out, sizeof out);
    size_t begin = mysql_packet_begin(&w);
    mysql_auth_switch_write(&w, &s);
    link_send(k, out, mysql_packet_end(&w, begin, seq));
    k->admitted = false;
}

static inline void answer_command(struct link *k, struct bytes payload)
{
    char text[8192];
    (void)snprintf(text, sizeof text, "%.*s", (int)payload.len - 1, (const char *)payload.at + 1);
    if (server.babbles)
        link_send(k, "\7\0\0\1\0\0\0\2\0\0\0", 11);
    if (server.junk) {
        link_send(k, "\x03\0\0\1\xFB\xFB\xFB", 7);
        return;
    }
    switch (payload.at[0]) {
    case MYSQL_COM_QUIT:
        note("QUIT|");
        link_close(k);
        return;
    case MYSQL_COM_INIT_DB:
        note("USE %s|", text);
        if (server.refused_schema && strcmp(text, server.refused_schema) == 0)
            send_err(k, 1, 1049, "Unknown database");
        else {
            (void)snprintf(k->schema, sizeof k->schema, "%s", text);
            send_ok(k, 1);
        }
        return;
    case MYSQL_COM_SET_OPTION: {
        uint8_t packet[16];
        note("OPTION %d|", payload.at[1]);
        if (server.refuses_option)
            send_err(k, 1, 1047, "Unknown command");
        else
            link_send(k, packet, mysql_eof_packet(packet, sizeof packet, 1, 2, 0));
        return;
    }
    case MYSQL_COM_RESET_CONNECTION:
        note("RESET|");
        send_ok(k, 1);
        return;
    case MYSQL_COM_STMT_PREPARE:
        answer_prepare(k, text);
        return;
    case MYSQL_COM_STMT_CLOSE:
        note("CLOSE %d|", payload.at[1]);
        return;
    case MYSQL_COM_CHANGE_USER:
        note("CHANGE_USER %s|", text);
        k->schema[0] = '\0';
        ask_native(k, 1);
        return;
    default:
        note_query(text);
        if (strcmp(text, "SELECT SLEEP") != 0) /* answered by the test */
            answer_query(k, text);
        return;
    }
}

static inline void answer_login(struct link *k, uint8_t seq, struct bytes payload)
{
    uint8_t hash[SCRAMBLE_NATIVE_BYTES];
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    struct bytes reply = payload; /* of an AuthSwitchRequest */
    if (k->greeted) {
        struct mysql_login l;
        assert_int_equal(mysql_login_read(payload, &l), WIRE_DONE);
        reply = l.auth;
        k->greeted = false;
    }
    scramble_native_hash(bytes_text(server.password), hash);
    if (server.refuses_logins)
        send_err(k, (uint8_t)(seq + 1), server.refuses_logins, "refused");
    else if (!server.accepts_anything && !scramble_native_check(reply, server_salt, hash, stage1))
        send_err(k, (uint8_t)(seq + 1), 1045, "Access denied");
    else {
        k->admitted = true;
        send_ok(k, (uint8_t)(seq + 1));
        return;
    }
    link_close(k);
}

static inline void link_run(struct link *k)
{
    while (k->open && !server.hold) {
        uint8_t seq;
        struct bytes payload;
        size_t used;
        uint8_t copy[sizeof k->in];
        if (mysql_packet_read(bytes_of(k->in, k->in_bytes), sizeof k->in, &seq, &payload, &used) !=
            WIRE_DONE)
            return;
        memcpy(copy, payload.at, payload.len);
        payload.at = copy;
        k->in_bytes -= used;
        memmove(k->in, k->in + used, k->in_bytes);
        if (k->admitted)
            answer_command(k, payload);
        else
            answer_login(k, seq, payload);
    }
}

static inline void on_link_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct link *k = CONTAINER_OF(handle, struct link, tcp);
    (void)suggested;
    *buf = uv_buf_init((char *)k->in + k->in_bytes, (unsigned)(sizeof k->in - k->in_bytes));
}

static inline void on_link_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct link *k = CONTAINER_OF(stream, struct link, tcp);
    (void)buf;
    if (n < 0) {
        link_close(k);
        return;
    }
    k->in_bytes += (size_t)n;
    link_run(k);
}

static inline void on_link(uv_stream_t *listener, int status)
{
    uint8_t out[256];
    assert_int_equal(status, 0);
    assert_true(server.links < LINKS_MAX);
    struct link *k = &server.link[server.links++];
    *k = (struct link){.id = 100 + (uint32_t)server.links, .greeted = true, .open = true};
    assert_int_equal(uv_tcp_init(&loop.uv, &k->tcp), 0);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&k->tcp), 0);
    (void)uv_tcp_nodelay(&k->tcp, 1); /* answers go one by one */
    if (++server.open > server.most)
        server.most = server.open;
    struct mysql_greeting g = {.version = bytes_text(server.version),
                               .connection_id = k->id,
                               .caps = ~(uint32_t)MYSQL_CAP_SSL,
                               .charset = 45,
                               .status = 2,
                               .plugin = bytes_text("mysql_native_password")};
    memcpy(g.salt, server_salt, sizeof g.salt);
    struct wire_writer w = wire_writer(out, sizeof out);
    size_t begin = mysql_packet_begin(&w);
    mysql_greeting_write(&w, &g);
    link_send(k, out, mysql_packet_end(&w, begin, 0));
    (void)uv_read_start((uv_stream_t *)&k->tcp, on_link_alloc, on_link_read);
}

static inline void server_open(void)
{
    struct sockaddr_in in;
    int len = sizeof in;
    memset(&server, 0, sizeof server);
    server.version = "8.4.0";
    server.password = "s3cret";
    server.wait_timeout = "28800";
    server.sql_mode = "STRICT_TRANS_TABLES";
    server.time_zone = "SYSTEM";
    server.role = "NONE";
    server.last_insert_id = "0";
    server.number = "1";
    assert_int_equal(uv_tcp_init(&loop.uv, &server.listener), 0);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &in), 0);
    assert_int_equal(uv_tcp_bind(&server.listener, (struct sockaddr *)&in, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&server.listener, 64, on_link), 0);
    assert_int_equal(uv_tcp_getsockname(&server.listener, (struct sockaddr *)&in, &len), 0);
    server.port = ntohs(in.sin_port);
}

static inline void server_release(void)
{
    server.hold = false;
    for (int i = 0; i < server.links; i++)
        link_run(&server.link[i]);
}

/* ---- clients ---- */

static struct options *options;
static struct target *target;
static struct prepared *texts[8]; /* references, until the test ends */
static int texts_count;

struct client {
    struct lessee lessee;
    int lent, not_lent, ended, drained;
    int turn; /* when it was lent a backend, of all */
    size_t read_bytes;
    struct lend_error error;
    enum backend_end why;
};

static struct client client[CLIENTS_MAX];
static int lends;

static inline struct client *client_of(struct lessee *l)
{
    return CONTAINER_OF(l, struct client, lessee);
}

static inline void on_lent(struct lessee *l)
{
    assert_non_null(l->backend);
    assert_true(l->backend->followed || !ask_pending(l->backend)); /* invariant 9 */
    client_of(l)->lent++;
    client_of(l)->turn = ++lends;
}

static inline void on_not_lent(struct lessee *l, const struct lend_error *error)
{
    assert_true(l->keeps || !l->backend);
    client_of(l)->not_lent++;
    client_of(l)->error = *error;
}

static inline void on_backend_read(struct lessee *l, uint8_t *at, size_t len)
{
    (void)at;
    client_of(l)->read_bytes += len;
}

static inline void on_backend_end(struct lessee *l, struct backend *b, enum backend_end why)
{
    assert_null(l->backend);
    assert_non_null(b);
    client_of(l)->ended++;
    client_of(l)->why = why;
}

static inline void on_backend_drained(struct lessee *l)
{
    client_of(l)->drained++;
}

static inline const char *held_for(const struct lessee *l)
{
    return l->wants_pin ? "transaction" : "a statement";
}

static const struct lessee_ops ops = {.on_lent = on_lent,
                                      .on_not_lent = on_not_lent,
                                      .on_backend_read = on_backend_read,
                                      .on_backend_end = on_backend_end,
                                      .on_backend_drained = on_backend_drained,
                                      .held_for = held_for};

/* ---- the loop ---- */

#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        for (int turns_ = 0; !(condition); turns_++) {                                             \
            if (turns_ == TURNS_MAX)                                                               \
                fail_msg("never came true: %s; the server saw %s", #condition, server.log);        \
            (void)uv_run(&loop.uv, UV_RUN_ONCE);                                                   \
        }                                                                                          \
    } while (0)

/* Enough turns for whatever would wrongly happen. */
static inline void quiet(void)
{
    for (int i = 0; i < QUIET_TURNS; i++)
        (void)uv_run(&loop.uv, UV_RUN_NOWAIT);
}

static inline void assert_log(const char *expected)
{
    assert_string_equal(server.log, expected);
    server.log[0] = '\0';
}

static inline void forget_log(void)
{
    server.log[0] = '\0';
}

static inline struct options *load(const char *mysql)
{
    char text[1024];
    char path[64];
    struct problems problems = {0};
    int fd = memfd_create("test", MFD_CLOEXEC);
    int len = snprintf(text, sizeof text,
                       "mysql = { backend = \"mysql://app:s3cret@127.0.0.1:%u\"; tls = \"off\"; "
                       "min_idle = 0; %s };\n",
                       server.port, mysql);
    assert_int_equal(write(fd, text, (size_t)len), len);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct load_request request = {.file = path};
    struct options *loaded = options_load(&request, &problems);
    problems_print(&problems, stderr);
    assert_non_null(loaded);
    (void)close(fd);
    return loaded;
}

static inline struct pool *pool_of(const char *user)
{
    return pool_get(account_get(target, bytes_text(user)), MYSQL_CAP_LOCAL_FILES);
}

static inline void join(struct client *c, const char *user, const char *schema, const char *charset)
{
    struct lessee *l = &c->lessee;
    if (l->pool) { /* it was another one before */
        pool_forget(l);
        session_state_fini(target->names, &l->state);
    }
    *c = (struct client){.lessee = {.ops = &ops, .last_id_where = LAST_ID_KNOWN}};
    list_node_init(&l->node);
    l->pool = pool_of(user);
    l->client_id = 0x80000001u + (uint32_t)(c - client);
    l->state.multi_statements = true;
    session_state_set_schema(target->names, &l->state, bytes_text(schema));
    if (charset) {
        uint16_t number = strcmp(charset, "utf8mb4_general_ci") == 0 ? 45 : 46;
        session_state_set_charset(target->names, &l->state, bytes_text("utf8mb4"),
                                  bytes_text(charset), bytes_text("utf8mb4"), number);
        if (!target->charset_of_id[number])
            target->charset_of_id[number] = names_ref(target->names, l->state.charset);
    } else
        l->charset_number = 48;
}

/* Most clients here are alike. */
static inline void join_all(const char *schema)
{
    for (int i = 0; i < CLIENTS_MAX; i++)
        join(&client[i], "app", schema, "utf8mb4_general_ci");
}

static inline void open_pool(const char *mysql)
{
    char err[256];
    options = load(mysql);
    target = target_new(&loop, options, err, sizeof err);
    assert_non_null(target);
    lends = 0;
    join_all("shop");
}

static inline void on_beat(uv_timer_t *timer)
{
    (void)timer;
    for (int i = 0; i < server.links; i++) {
        struct link *k = &server.link[i];
        size_t n = k->out_bytes < server.dribble ? k->out_bytes : server.dribble;
        link_write(k, k->out, n);
        k->out_bytes -= n;
        memmove(k->out, k->out + n, k->out_bytes);
    }
}

static inline int setup(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    memset(client, 0, sizeof client);
    texts_count = 0;
    int error = uv_loop_init(&loop.uv);
    (void)uv_timer_init(&loop.uv, &beat);
    (void)uv_timer_start(&beat, on_beat, 1, 1);
    server_open();
    return error;
}

static inline int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < CLIENTS_MAX; i++) {
        struct lessee *l = &client[i].lessee;
        if (l->backend)
            pool_drop(l, BACKEND_END_SHUTDOWN, NULL);
        pool_forget(l);
        session_state_fini(target->names, &l->state);
    }
    while (texts_count)
        prepared_unref(pool_of("app")->prepared, texts[--texts_count]);
    target_close(target);
    UNTIL(target->open_backends == 0);
    for (int i = 0; i < server.links; i++)
        link_close(&server.link[i]);
    uv_close((uv_handle_t *)&server.listener, NULL);
    uv_close((uv_handle_t *)&beat, NULL);
    (void)uv_run(&loop.uv, UV_RUN_DEFAULT);
    target_free(target);
    options_free(options);
    return uv_loop_close(&loop.uv);
}

/* Asks for a backend and waits for it. */
static inline struct backend *lend(struct client *c)
{
    int before = c->lent;
    if (!pool_lend(&c->lessee))
        UNTIL(c->lent > before || c->not_lent);
    assert_non_null(c->lessee.backend);
    return c->lessee.backend;
}

static inline size_t count_of(enum backend_state s)
{
    return pool_of("app")->backends[s].count;
}

/* As if `b` had been silent for so long. */
static inline void make_quiet(struct backend *b, uint64_t ms)
{
    b->born_ms -= ms;
    b->last_proof_ms -= ms;
    b->since_ms -= ms;
}

static inline struct link *link_of(const struct backend *b)
{
    for (int i = 0; i < server.links; i++)
        if (server.link[i].id == b->server_id)
            return &server.link[i];
    fail_msg("no such link");
    return NULL;
}

#endif
