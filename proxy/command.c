/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/killer.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_response.h"
#include "protocol/sql_scan.h"
#include "proxy/auth.h"
#include "proxy/spool.h"
#include "proxy/statements.h"

enum {
    REQUEST_END_MARK = 0xFFFFFFFE, /* statement id of phpworker's mark: design.md, MySQL rule 13 */
    STATEMENT_LAST = 0xFFFFFFFF,
    CURSOR_FLAGS_AT = 5, /* of COM_STMT_EXECUTE's payload */
};

static struct backend *backend_of(const struct session *s)
{
    return s->lessee.backend;
}

static uint32_t statement_id_of(struct bytes payload)
{
    struct wire_reader r = wire_reader(payload);
    (void)wire_u8(&r);
    return wire_u32(&r);
}

/* ---- what a text does ---- */

struct kind_rule {
    uint32_t kinds; /* 1 << enum sql_kind */
    uint32_t pin;
};

static const struct kind_rule kind_rules[] = {
    {1u << SQL_BEGIN, PIN_TRANSACTION},
    {1u << SQL_LOCK_TABLES, PIN_TABLE_LOCK},
    {1u << SQL_UNLOCK_TABLES, 0},
    {1u << SQL_HANDLER, PIN_HANDLER},
    {1u << SQL_PREPARE, PIN_TEXT_PREPARE},
    {1u << SQL_XA, PIN_XA},
    {1u << SQL_TEMPORARY, PIN_TEMPORARY_TABLE},
    {1u << SQL_CALL, PIN_ROUTINE},
    {1u << SQL_OTHER, PIN_SESSION_VARIABLE},
};

static const struct {
    uint32_t flags;
    uint32_t pin;
} flag_rules[] = {
    {SQL_F_USER_VARIABLE, PIN_USER_VARIABLE},
    {SQL_F_NAMED_LOCK, PIN_NAMED_LOCK},
    {SQL_F_UNKNOWN_FUNCTION | SQL_F_SEQUENCE | SQL_F_OPAQUE, PIN_UNKNOWN_FUNCTION},
    {SQL_F_CALC_FOUND_ROWS, PIN_LAST_STATEMENT},
    {SQL_F_SET_ROLE, PIN_ROLE},
    {SQL_F_SET_TRANSACTION | SQL_F_CONNECTION_ID | SQL_F_RELEASE, PIN_SESSION_VARIABLE},
};

/* SET of anything but NAMES moves the session away from what is virtual, unless all it moves is
 * global. */
static uint32_t pins_of_set(const struct sql_scan *scan)
{
    const uint32_t told_apart = SQL_F_SET_ROLE | SQL_F_USER_VARIABLE;
    if (!(scan->kinds & 1u << SQL_SET) || (scan->flags & SQL_F_SET_ONLY_NAMES))
        return 0;
    if ((scan->flags & told_apart) &&
        !(scan->flags & (SQL_F_SYSTEM_VARIABLE | SQL_F_EXECUTABLE_COMMENT)))
        return 0;
    return PIN_SESSION_VARIABLE;
}

static uint32_t pins_of(const struct sql_scan *scan)
{
    uint32_t pins = pins_of_set(scan);
    for (size_t i = 0; i < sizeof kind_rules / sizeof kind_rules[0]; i++)
        if (scan->kinds & kind_rules[i].kinds)
            pins |= kind_rules[i].pin;
    for (size_t i = 0; i < sizeof flag_rules / sizeof flag_rules[0]; i++)
        if (scan->flags & flag_rules[i].flags)
            pins |= flag_rules[i].pin;
    return pins;
}

static bool is_plain_read(const struct sql_scan *scan)
{
    const uint32_t harmless = SQL_F_SYSTEM_VARIABLE;
    return scan->kinds == 1u << SQL_SELECT && (scan->flags & ~harmless) == 0;
}

static uint32_t scan_mode(const struct session *s)
{
    const struct target *t = s->proxy->target;
    uint32_t mode = t->sql_mode_flags;
    const struct backend *b = backend_of(s);
    /* A pinned session may have moved its sql_mode; the server tells of one bit in its status. */
    if (b && (b->status & MYSQL_STATUS_NO_BACKSLASH_ESCAPES))
        mode |= SQL_MODE_NO_BACKSLASH_ESCAPES;
    name_id charset = s->lessee.state.charset ? s->lessee.state.charset
                                              : t->charset_of_id[s->lessee.charset_number];
    if (!charset || charset_has_ascii_tails(names_text(t->names, charset)))
        mode |= SQL_MODE_MULTIBYTE_UNSAFE;
    return mode;
}

static bool scan_text(struct session *s, struct bytes payload, struct sql_scan *scan)
{
    sql_scan_begin(scan, scan_mode(s));
    if (s->spool) {
        if (!spool_scan(s->spool, scan))
            return false;
    } else {
        sql_scan_feed(scan, bytes_of(payload.at + 1, payload.len - 1));
    }
    sql_scan_end(scan);
    return true;
}

static void plan_text(struct session *s, const struct sql_scan *scan)
{
    struct plan *p = &s->plan;
    const uint32_t dml = 1u << SQL_DML | 1u << SQL_OTHER | 1u << SQL_CALL;
    p->kind = (uint8_t)scan->kind;
    p->flags = scan->flags;
    p->pins = pins_of(scan);
    p->dml = (scan->kinds & dml) != 0;
    p->needs_own = (scan->flags & SQL_F_LAST_STATE) || (scan->kinds & 1u << SQL_DIAGNOSTICS);
    p->may_retry = is_plain_read(scan);
    if ((scan->flags & SQL_F_SET_ONLY_NAMES) && strcmp(scan->names_charset, "default") != 0) {
        struct session_state unit = {0};
        session_state_set_charset(s->proxy->target->names, &unit, bytes_text(scan->names_charset),
                                  bytes_text(scan->names_collation));
        p->charset_after = unit.charset;
    } else if (scan->flags & SQL_F_SET_ONLY_NAMES) {
        p->pins |= PIN_SESSION_VARIABLE;
    }
    /* Text that reads differently in the mode that this session may have set itself: believe
     * nothing. */
    if (s->pins & PIN_SESSION_VARIABLE)
        p->pins |= PIN_SESSION_VARIABLE;
}

/* ---- KILL ---- */

static void kill_session(struct session *victim, bool query_only)
{
    struct backend *b = victim->lessee.backend;
    if (!query_only) {
        session_end(victim, CLOSE_KILLED);
        return;
    }
    if (b && victim->statement_sent)
        killer_kill(b);
}

static enum command_verdict answer_kill(struct session *s, uint64_t id, bool query_only)
{
    char text[96];
    struct session *victim = session_find(s->proxy, (uint32_t)id);
    if (!victim || id > UINT32_MAX) {
        (void)snprintf(text, sizeof text, "Unknown thread id: %" PRIu64, id);
        session_send_err(s, 1, 1094, "HY000", bytes_text(text));
        return COMMAND_ANSWERED;
    }
    if (victim->account != s->account) {
        (void)snprintf(text, sizeof text, "You are not owner of thread %" PRIu64, id);
        session_send_err(s, 1, 1095, "HY000", bytes_text(text));
        return COMMAND_ANSWERED;
    }
    if (victim == s) { /* as servers do: this very command is what is interrupted */
        session_send_err(s, 1, 1317, "70100", bytes_text("Query execution was interrupted"));
        if (query_only)
            return COMMAND_ANSWERED;
        session_end(s, CLOSE_KILLED);
        return COMMAND_ENDED;
    }
    kill_session(victim, query_only);
    session_send_ok(s, 1);
    return COMMAND_ANSWERED;
}

static bool is_ours(uint64_t id)
{
    return id >= SESSION_ID_BIT && id <= UINT32_MAX;
}

/* ---- commands ---- */

static enum command_verdict refuse(struct session *s, enum mysql_error e, const char *text)
{
    session_send_error(s, 1, e, text);
    return COMMAND_ANSWERED;
}

static enum command_verdict answer_locally(struct session *s)
{
    s->proxy->stats.local_answers[s->plan.command]++;
    session_send_ok(s, 1);
    return COMMAND_ANSWERED;
}

static enum command_verdict take_query(struct session *s, struct bytes payload)
{
    struct sql_scan scan;
    if (!scan_text(s, payload, &scan))
        return refuse(s, MYSQL_ERROR_MALFORMED, "the spool file cannot be read");
    if (scan.kind == SQL_KILL && !(scan.flags & SQL_F_MULTI) && is_ours(scan.kill_id))
        return answer_kill(s, scan.kill_id, scan.kill_query);
    plan_text(s, &scan);
    return COMMAND_RUN;
}

/* The text decides when it is executed, but what pins is best known now; and a statement holds its
 * backend anyway. */
static enum command_verdict take_prepare(struct session *s, struct bytes payload)
{
    struct sql_scan scan;
    if (!scan_text(s, payload, &scan))
        return refuse(s, MYSQL_ERROR_MALFORMED, "the spool file cannot be read");
    plan_text(s, &scan);
    names_unref(s->proxy->target->names, s->plan.charset_after);
    if (scan.flags & SQL_F_SET_ONLY_NAMES)
        s->plan.pins |= PIN_SESSION_VARIABLE;
    s->plan.charset_after = 0;
    s->plan.may_retry = false;
    if (scan.flags & SQL_F_SETS_LAST_INSERT_ID)
        s->plan.pins |= PIN_UNKNOWN_FUNCTION;
    return COMMAND_RUN;
}

static enum command_verdict take_init_db(struct session *s, struct bytes payload)
{
    if (backend_of(s))
        return COMMAND_RUN; /* pinned: the server does it, and its tracker tells us */
    if (payload.len < 2 || payload.len - 1 > 256)
        return COMMAND_RUN; /* for the server's own error */
    name_id schema =
        names_ref_text(s->proxy->target->names, bytes_of(payload.at + 1, payload.len - 1));
    s->schema_before = s->lessee.state.schema;
    s->lessee.state.schema = schema;
    return COMMAND_SCHEMA;
}

/* Ends pins and, in an unknown state, resets. What is virtual stays. */
static void let_go(struct session *s)
{
    if (!backend_of(s))
        return;
    if (s->pins & PIN_TRANSACTION)
        s->proxy->stats.rolled_back_request_end++;
    bool beyond = session_is_beyond_reset(s);
    session_set_pins(s, 0);
    statements_clear(&s->statements);
    if (beyond)
        pool_drop(&s->lessee, BACKEND_END_DIRTY, "a reset would not do");
    else
        pool_give_back_dirty(&s->lessee);
}

static enum command_verdict reset_connection(struct session *s)
{
    struct lessee *l = &s->lessee;
    struct names *names = s->proxy->target->names;
    let_go(s);
    pool_forget_statement(l);
    s->ran_before = false;
    /* Where the character set goes back to differs: MariaDB to the login's, MySQL to the server's
     * own. */
    names_unref(names, l->state.charset);
    l->state.charset = 0;
    if (!s->proxy->target->mariadb)
        l->charset_number = 0;
    return answer_locally(s);
}

static enum command_verdict set_option(struct session *s, struct bytes payload)
{
    uint8_t packet[16];
    if (payload.len < 3 || payload.at[1] > 1 || payload.at[2] != 0)
        return refuse(s, MYSQL_ERROR_UNKNOWN_COMMAND, "unknown option");
    if (backend_of(s)) {
        s->plan.statement_id = payload.at[1];
        return COMMAND_RUN;
    }
    s->lessee.state.multi_statements = payload.at[1] == 0;
    pool_forget_last_state(&s->lessee);
    s->proxy->stats.local_answers[MYSQL_COM_SET_OPTION]++;
    session_send(s, packet,
                 mysql_eof_packet(packet, sizeof packet, 1, s->proxy->target->fresh_status, 0));
    return COMMAND_ANSWERED;
}

static enum command_verdict close_statement(struct session *s, struct bytes payload)
{
    s->plan.statement_id = statement_id_of(payload);
    if (s->plan.statement_id == REQUEST_END_MARK) {
        s->proxy->stats.request_ends++;
        let_go(s);
        pool_forget_statement(&s->lessee);
        s->ran_before = false;
        return COMMAND_ANSWERED;
    }
    /* One that is not open here means nothing; servers are silent about it too. */
    return statements_has(&s->statements, s->plan.statement_id) ? COMMAND_RUN : COMMAND_ANSWERED;
}

static enum command_verdict process_kill(struct session *s, struct bytes payload)
{
    uint32_t id = statement_id_of(payload);
    return is_ours(id) ? answer_kill(s, id, false) : COMMAND_RUN;
}

/* Ids are those of the pinned backend; one that this client has not prepared may be anybody's. */
static enum command_verdict use_statement(struct session *s, struct bytes payload)
{
    s->plan.statement_id = statement_id_of(payload);
    if (backend_of(s) && s->plan.statement_id == STATEMENT_LAST && s->statements.count)
        return COMMAND_RUN; /* MariaDB: the last one prepared here */
    if (!backend_of(s) || !statements_has(&s->statements, s->plan.statement_id))
        return refuse(
            s, MYSQL_ERROR_UNKNOWN_STATEMENT,
            "unknown prepared statement: it was closed, or never prepared on this connection");
    return COMMAND_RUN;
}

static enum command_verdict execute(struct session *s, struct bytes payload)
{
    s->plan.dml = true;
    s->plan.flags |= s->prepared_flags;
    if (payload.len > CURSOR_FLAGS_AT && payload.at[CURSOR_FLAGS_AT] != 0)
        s->plan.pins |= PIN_CURSOR;
    return use_statement(s, payload);
}

static enum command_verdict send_long_data(struct session *s, struct bytes payload)
{
    s->plan.statement_id = statement_id_of(payload);
    if (!statements_has(&s->statements, s->plan.statement_id))
        return COMMAND_ANSWERED; /* servers are silent about it */
    s->plan.pins |= PIN_LONG_DATA;
    return COMMAND_RUN;
}

static enum command_verdict change_user(struct session *s, struct bytes payload)
{
    let_go(s);
    session_logout(s);
    s->deadline_ms =
        loop_now_ms(s->proxy->loop) + (uint64_t)s->proxy->options->mysql.login_timeout_ms;
    switch (auth_begin_change(s, payload)) {
    case AUTH_WAIT:
    case AUTH_ACCEPTED:
        return COMMAND_LOGIN;
    case AUTH_REFUSED:
        session_end(s, CLOSE_LOGIN_REFUSED);
        return COMMAND_ENDED;
    case AUTH_BAD:
        break;
    }
    session_end(s, CLOSE_CLIENT_PROTOCOL);
    return COMMAND_ENDED;
}

enum command_verdict command_take(struct session *s, struct bytes payload)
{
    uint8_t command = payload.at[0];
    const struct mysql_command_info *info = mysql_command_info(command);
    session_plan_clear(s);
    s->plan.command = command;
    s->plan.shape = (uint8_t)info->shape;
    s->proxy->stats.commands[command]++;
    if (!info->served) {
        if (!info->name)
            return refuse(s, MYSQL_ERROR_UNKNOWN_COMMAND, "unknown command");
        char text[128];
        (void)snprintf(text, sizeof text,
                       "%s is not served by a connection pool; connect to the server directly",
                       info->name);
        return refuse(s, MYSQL_ERROR_REFUSED, text);
    }
    switch ((enum mysql_command)command) {
    case MYSQL_COM_QUIT:
        return COMMAND_QUIT;
    case MYSQL_COM_PING:
        if (backend_of(s))
            return COMMAND_RUN;
        pool_forget_last_state(&s->lessee); /* it sets ROW_COUNT() */
        return answer_locally(s);
    case MYSQL_COM_QUERY:
        return take_query(s, payload);
    case MYSQL_COM_STMT_PREPARE:
        return take_prepare(s, payload);
    case MYSQL_COM_INIT_DB:
        return take_init_db(s, payload);
    case MYSQL_COM_RESET_CONNECTION:
        return reset_connection(s);
    case MYSQL_COM_CHANGE_USER:
        return change_user(s, payload);
    case MYSQL_COM_SET_OPTION:
        return set_option(s, payload);
    case MYSQL_COM_PROCESS_KILL:
        return process_kill(s, payload);
    case MYSQL_COM_STMT_CLOSE:
        return close_statement(s, payload);
    case MYSQL_COM_STMT_EXECUTE:
        return execute(s, payload);
    case MYSQL_COM_STMT_SEND_LONG_DATA:
        return send_long_data(s, payload);
    case MYSQL_COM_STMT_FETCH:
    case MYSQL_COM_STMT_RESET:
        return use_statement(s, payload);
    case MYSQL_COM_SLEEP:
    case MYSQL_COM_FIELD_LIST:
    case MYSQL_COM_CREATE_DB:
    case MYSQL_COM_DROP_DB:
    case MYSQL_COM_REFRESH:
    case MYSQL_COM_SHUTDOWN:
    case MYSQL_COM_STATISTICS:
    case MYSQL_COM_PROCESS_INFO:
    case MYSQL_COM_CONNECT:
    case MYSQL_COM_DEBUG:
    case MYSQL_COM_TIME:
    case MYSQL_COM_DELAYED_INSERT:
    case MYSQL_COM_BINLOG_DUMP:
    case MYSQL_COM_TABLE_DUMP:
    case MYSQL_COM_CONNECT_OUT:
    case MYSQL_COM_REGISTER_REPLICA:
    case MYSQL_COM_DAEMON:
    case MYSQL_COM_BINLOG_DUMP_GTID:
        break;
    }
    return COMMAND_RUN;
}

/* ---- what a reply tells ---- */

void command_on_track(void *session, const struct mysql_track *track)
{
    struct session *s = session;
    struct names *names = s->proxy->target->names;
    if (track->type != MYSQL_TRACK_SCHEMA || !backend_of(s))
        return;
    session_state_set_schema(names, &backend_of(s)->session, track->value);
    session_state_set_schema(names, &s->lessee.state, track->value);
}

static uint32_t pins_after_statement_commands(struct session *s, uint32_t pins, bool failed)
{
    const struct backend *b = backend_of(s);
    switch (s->plan.command) {
    case MYSQL_COM_STMT_PREPARE:
        if (!failed)
            statements_add(&s->statements, b->reply.statement_id);
        s->prepared_flags |= s->plan.flags & (SQL_F_SET_GLOBAL | SQL_F_DATABASE_DDL);
        break;
    case MYSQL_COM_STMT_CLOSE:
        (void)statements_remove(&s->statements, s->plan.statement_id);
        if (!s->statements.count)
            pins &= ~(uint32_t)(PIN_CURSOR | PIN_LONG_DATA);
        break;
    case MYSQL_COM_STMT_EXECUTE:
        pins &= ~(uint32_t)PIN_LONG_DATA;
        if (!(b->status & MYSQL_STATUS_CURSOR_EXISTS))
            pins &= ~(uint32_t)PIN_CURSOR;
        break;
    case MYSQL_COM_STMT_FETCH:
        if (b->status & MYSQL_STATUS_LAST_ROW_SENT)
            pins &= ~(uint32_t)PIN_CURSOR;
        break;
    default: /* all others leave statements alone */
        break;
    }
    pins &= ~(uint32_t)PIN_PREPARED_STATEMENT;
    return s->statements.count ? pins | PIN_PREPARED_STATEMENT : pins;
}

/* A change of state that no rule foresaw. */
static uint32_t unforeseen(const struct session *s, const struct mysql_reply *r)
{
    const uint32_t explained = PIN_USER_VARIABLE | PIN_TEMPORARY_TABLE | PIN_TEXT_PREPARE |
                               PIN_ROLE | PIN_ROUTINE | PIN_UNKNOWN_FUNCTION | PIN_SESSION_VARIABLE;
    if (!r->state_changed || s->plan.charset_after || (s->pins & explained))
        return 0;
    if (s->plan.kind == SQL_USE || s->plan.command == MYSQL_COM_INIT_DB ||
        s->plan.command == MYSQL_COM_SET_OPTION)
        return 0;
    if (s->plan.command == MYSQL_COM_QUERY && s->plan.kind == SQL_DDL &&
        (s->plan.flags & SQL_F_DATABASE_DDL))
        return 0; /* DROP DATABASE of the current one: the schema tracker has told */
    return PIN_SESSION_VARIABLE;
}

static void note_globals(struct session *s)
{
    if (s->plan.flags & SQL_F_DATABASE_DDL) {
        account_schemas_forget_all(s->proxy->target);
        pool_schemas_moved(s->proxy->target);
    }
    bool may_be_global = s->plan.kind == SQL_SET && (s->plan.flags & SQL_F_EXECUTABLE_COMMENT);
    if ((s->plan.flags & SQL_F_SET_GLOBAL) || may_be_global)
        pool_retire_all(
            s->proxy->target); /* what a reset gives has moved, and no tracker says so */
}

static void note_last_id(struct session *s, const struct mysql_reply *r)
{
    bool returned_rows =
        s->plan.dml && r->had_rows; /* INSERT .. RETURNING ends by an OK without an id */
    if (r->insert_id || returned_rows || (s->plan.flags & SQL_F_SETS_LAST_INSERT_ID) ||
        (s->plan.pins &
         (PIN_ROUTINE | PIN_UNKNOWN_FUNCTION | PIN_TEXT_PREPARE | PIN_SESSION_VARIABLE)))
        pool_last_id_in_backend(&s->lessee);
}

void command_done(struct session *s)
{
    struct backend *b = backend_of(s);
    struct mysql_reply *r = &b->reply;
    bool failed = r->error_code != 0;
    uint32_t pins = s->plan.pins_before & ~(uint32_t)PIN_TRANSACTION;

    if (s->plan.shape != MYSQL_REPLY_NONE) {
        /* An ERR has no status: what an OK before it in the same reply said still holds. */
        b->status = r->status & (uint16_t)~MYSQL_STATUS_MORE_RESULTS;
        pins |= unforeseen(s, r);
        note_last_id(s, r);
    }
    if (s->plan.command != MYSQL_COM_STMT_PREPARE || !failed)
        pins |= s->plan.pins & ~(uint32_t)PIN_TRANSACTION;
    if (!failed && s->plan.charset_after) {
        struct names *names = s->proxy->target->names;
        names_unref(names, b->session.charset);
        b->session.charset = names_ref(names, s->plan.charset_after);
        names_unref(names, s->lessee.state.charset);
        s->lessee.state.charset = names_ref(names, s->plan.charset_after);
    }
    if (!failed && s->plan.command == MYSQL_COM_SET_OPTION)
        s->lessee.state.multi_statements = b->session.multi_statements = s->plan.statement_id == 0;
    pins = pins_after_statement_commands(s, pins, failed);
    pins &= ~(uint32_t)(s->plan.needs_own ? 0 : PIN_LAST_STATEMENT) |
            (s->plan.pins & ~(uint32_t)PIN_TRANSACTION);
    if (s->plan.shape == MYSQL_REPLY_QUERY && r->warnings && !failed)
        pins |= PIN_LAST_STATEMENT;
    /* An ERR says nothing of the transaction: what was known goes on, and MariaDB may keep trackers
     * to itself. */
    bool other_autocommit = (b->status ^ s->proxy->target->fresh_status) & MYSQL_STATUS_AUTOCOMMIT;
    if ((b->status & MYSQL_STATUS_IN_TRANS) || (failed && (s->plan.pins_before & PIN_TRANSACTION)))
        pins |= PIN_TRANSACTION;
    if (other_autocommit)
        pins |= PIN_SESSION_VARIABLE;
    /* A statement that failed before it ran (syntax, access, unknown names: class 42) left nothing,
     * unless a trigger did. */
    if (failed && (s->plan.dml || memcmp(r->error_sqlstate, "42", 2) != 0))
        b->suspect = true;
    if (!failed)
        note_globals(s);
    session_set_pins(s, pins);
    mysql_reply_fini(r);
}
