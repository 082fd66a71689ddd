/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/command.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/breaks.h"
#include "pool/killer.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"
#include "protocol/sql_scan.h"
#include "proxy/auth.h"
#include "proxy/console.h"
#include "proxy/prepare.h"
#include "proxy/query.h"
#include "proxy/spool.h"

enum {
    REQUEST_END_MARK = 0xFFFFFFFE, /* statement id of phpworker's mark: design.md, MySQL rule 13 */
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

static bool scan_text(struct session *s, struct bytes payload, struct sql_scan *scan)
{
    sql_scan_begin(scan, session_scan_mode(s));
    if (s->spool) {
        if (!spool_scan(s->spool, scan))
            return false;
    } else {
        sql_scan_feed(scan, bytes_of(payload.at + 1, payload.len - 1));
    }
    sql_scan_end(scan);
    return true;
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

static struct session *client_of(const struct session *s, uint64_t id)
{
    return id >= SESSION_ID_BIT && id <= UINT32_MAX ? session_find(s->proxy, (uint32_t)id) : NULL;
}

bool command_is_client(const struct session *s, uint64_t id)
{
    return client_of(s, id) != NULL;
}

/* What the statement before left is over, and what this one has left is on no server. */
static void note_killed(struct session *s, bool failed)
{
    if (s->console)
        return;
    session_note_ok(s);
    s->last.gone = true;
    if (failed || !s->proxy->target->mariadb) /* MariaDB's KILL leaves the warnings [seen] */
        session_clear_warnings(s);
    if (!failed)
        return;
    s->last.row_count = -1;
    s->last.clean = false;
    s->last.warnings = 1;
}

enum command_verdict command_kill(struct session *s, uint64_t id, bool query_only)
{
    char text[96];
    struct session *victim = client_of(s, id);
    if (!victim) {
        (void)snprintf(text, sizeof text, "Unknown thread id: %" PRIu64, id);
        session_send_err(s, 1, 1094, "HY000", bytes_text(text));
        return COMMAND_ANSWERED;
    }
    if (victim->account != s->account && !s->console) {
        (void)snprintf(text, sizeof text, "You are not owner of thread %" PRIu64, id);
        note_killed(s, true);
        session_send_err(s, 1, 1095, "HY000", bytes_text(text));
        return COMMAND_ANSWERED;
    }
    if (victim == s) { /* as servers do: this very command is what is interrupted */
        note_killed(s, true);
        session_send_err(s, 1, 1317, "70100", bytes_text("Query execution was interrupted"));
        if (query_only)
            return COMMAND_ANSWERED;
        session_end(s, CLOSE_KILLED);
        return COMMAND_ENDED;
    }
    kill_session(victim, query_only);
    note_killed(s, false);
    session_send_ok(s, 1);
    return COMMAND_ANSWERED;
}

void command_kill_later(struct session *s, bool query_only)
{
    s->plan.kills = true;
    s->plan.kills_query = query_only;
    s->plan.capture = CAPTURE_HOLD;
}

/* ---- commands ---- */

static enum command_verdict refuse(struct session *s, enum mysql_error e, const char *text)
{
    session_send_error(s, 1, e, text);
    return COMMAND_ANSWERED;
}

static enum command_verdict answer_ok(struct session *s)
{
    session_note_ok(s);
    session_send_ok(s, 1);
    return COMMAND_ANSWERED;
}

/* The column's name, as the server would make it of the item's text. A longer one is cut there;
 * what cannot be written as an alias goes without. */
static void put_name(struct wire_writer *w, struct bytes item)
{
    enum { NAME_MAX_BYTES = 255 };
    if (item.len > NAME_MAX_BYTES) {
        uint8_t last = item.at[NAME_MAX_BYTES - 1];
        if (last <= ' ' || last > 0x7F || item.at[NAME_MAX_BYTES] > 0x7F)
            return;
        item.len = NAME_MAX_BYTES;
    }
    wire_put(w, bytes_text(" AS `"));
    for (size_t i = 0; i < item.len; i++) {
        wire_put_u8(w, item.at[i]);
        if (item.at[i] == '`')
            wire_put_u8(w, '`');
    }
    wire_put_u8(w, '`');
}

/* The client's id, in the type of what it stands for: so is all that is made of it [seen]. */
static void put_id(struct wire_writer *w, uint32_t id, enum sql_place what)
{
    char text[40];
    int n = what == SQL_PLACE_VARIABLE
                ? snprintf(text, sizeof text, "NULLIF(%" PRIu32 "|0,0)", id)
                : snprintf(text, sizeof text, "CAST(%" PRIu32 " AS UNSIGNED)", id);
    wire_put(w, bytes_of(text, (size_t)n));
}

/* It may be in quotes. */
static uint64_t id_of_literal(struct bytes literal)
{
    uint64_t id = 0;
    for (size_t i = 0; i < literal.len; i++)
        if (literal.at[i] >= '0' && literal.at[i] <= '9')
            id = id * 10 + (uint64_t)(literal.at[i] - '0');
    return id;
}

/* A client's id where ids of the server's are compared: that of the connection it holds now. Who
 * holds none is on no connection, and the id stays one that the server does not know. */
static void put_compared(struct wire_writer *w, const struct session *s, struct bytes literal)
{
    char text[16];
    const struct session *other = client_of(s, id_of_literal(literal));
    if (other == s) {
        wire_put(w, bytes_text("CONNECTION_ID()"));
    } else if (other && backend_of(other)) {
        int n = snprintf(text, sizeof text, "%" PRIu32, backend_of(other)->server_id);
        wire_put(w, bytes_of(text, (size_t)n));
    } else {
        wire_put(w, literal);
    }
}

static void put_places(struct wire_writer *w, const struct session *s, struct bytes text,
                       const struct sql_places *places)
{
    size_t done = 0;
    for (size_t i = 0; i < places->count; i++) {
        size_t at = places->item[i].at;
        size_t end = at + places->item[i].len;
        struct bytes place = bytes_of(text.at + at, end - at);
        enum sql_place what = (enum sql_place)places->item[i].what;
        wire_put(w, bytes_of(text.at + done, (what == SQL_PLACE_NAME ? end : at) - done));
        switch (what) {
        case SQL_PLACE_NAME:
            put_name(w, place);
            break;
        case SQL_PLACE_ID:
            put_compared(w, s, place);
            break;
        case SQL_PLACE_CALL:
        case SQL_PLACE_VARIABLE:
            if (at && isalnum(text.at[at - 1])) /* SELECT@@x */
                wire_put_u8(w, ' ');
            put_id(w, s->id, what);
            break;
        }
        done = end;
    }
    wire_put(w, bytes_of(text.at + done, text.len - done));
}

static void write_places(struct session *s, uint8_t command, struct bytes text,
                         const struct sql_places *places)
{
    enum { PLACE_MAX_BYTES = 2 * 256 + 8 }; /* of a name with nothing but backquotes */
    size_t room = MYSQL_HEADER_BYTES + 1 + text.len + places->count * PLACE_MAX_BYTES;
    uint8_t *packet = xmalloc(room);
    struct wire_writer w = wire_writer(packet, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_u8(&w, command);
    put_places(&w, s, text, places);
    s->plan.packet_bytes = mysql_packet_end(&w, begin, 0);
    s->plan.packet = packet;
}

bool command_write_connection_id(struct session *s, uint8_t command, struct bytes text)
{
    struct sql_places places;
    struct plan *p = &s->plan;
    if (broken(RULE_CONNECTION_ID_REPLACED))
        return false;
    if (p->asks && p->ask.what == SQL_ASKED_CONNECTION_ID) {
        p->substitutes = true;
        p->value = s->id;
        return true;
    }
    if (!text.len || !sql_connection_ids_read(text, session_scan_mode(s), &places) || !places.count)
        return false;
    p->compares_ids = places.about_threads;
    if (p->compares_ids)
        return false;
    write_places(s, command, text, &places);
    return true;
}

bool command_compares_another(const struct session *s, struct bytes text)
{
    struct sql_places places;
    bool another = false;
    if (!sql_connection_ids_read(text, session_scan_mode(s), &places))
        return false;
    for (size_t i = 0; i < places.count; i++) {
        struct bytes place = bytes_of(text.at + places.item[i].at, places.item[i].len);
        const struct session *other =
            places.item[i].what == SQL_PLACE_ID ? client_of(s, id_of_literal(place)) : NULL;
        another = another || (other && other != s);
    }
    return another;
}

void command_write_compared(struct session *s, struct bytes payload)
{
    struct sql_places places;
    struct bytes text = bytes_of(payload.at + 1, payload.len - 1);
    s->plan.compares_ids = false;
    if (sql_connection_ids_read(text, session_scan_mode(s), &places))
        write_places(s, payload.at[0], text, &places);
}

/* A number that may be a client's id. */
static bool has_id(struct bytes text)
{
    enum { ID_DIGITS = 10 };
    for (size_t i = ID_DIGITS - 1; i < text.len; i += ID_DIGITS) {
        size_t from = i;
        size_t to = i;
        while (to < text.len && isdigit(text.at[to]))
            to++;
        while (to > i && from && isdigit(text.at[from - 1]))
            from--;
        if (to - from == ID_DIGITS && text.at[from] >= '2' && text.at[from] <= '4')
            return true;
        i = to;
    }
    return false;
}

bool command_may_hold_id(const struct prepared_facts *facts, struct bytes text)
{
    /* A name in quotes is no function of the scan's. */
    const uint32_t asking = SQL_F_CONNECTION_ID | SQL_F_UNKNOWN_FUNCTION;
    return (facts->flags & asking) || (facts->kinds & 1u << SQL_PREPARE) || has_id(text);
}

static enum command_verdict take_query(struct session *s, struct bytes payload)
{
    struct sql_scan scan;
    struct bytes text = bytes_of(payload.at + 1, payload.len - 1);
    if (!scan_text(s, payload, &scan))
        return refuse(s, MYSQL_ERROR_MALFORMED, "the spool file cannot be read");
    if (s->spool)
        text.len = 0;
    if ((scan.kinds & 1u << SQL_KILL) && command_is_client(s, scan.kill_id)) {
        if (scan.flags & SQL_F_MULTI)
            return refuse(s, MYSQL_ERROR_REFUSED,
                          "KILL of a client of the pool among other statements; send it alone");
        query_begin(s, query_facts(&scan));
        return command_kill(s, scan.kill_id, scan.kill_query);
    }
    struct prepared_facts facts = query_facts(&scan);
    if (scan.kinds & 1u << SQL_PREPARE)
        pin_track_executed(s->track, text, session_scan_mode(s), &facts.flags, &facts.kinds);
    query_plan(s, facts, text);
    if (query_answer(s, text, false))
        return COMMAND_ANSWERED;
    bool asks_id = (scan.flags & SQL_F_CONNECTION_ID) != 0;
    if (command_may_hold_id(&facts, text) &&
        !command_write_connection_id(s, MYSQL_COM_QUERY, text) && asks_id)
        s->plan.pins |= PIN_SESSION_VARIABLE;
    query_keep_text(s, text);
    if (scan.kind == SQL_KILL && !(scan.flags & SQL_F_MULTI))
        command_kill_later(s, scan.kill_query);
    else if (s->plan.learns)
        s->plan.capture = CAPTURE_COPY;
    else if (query_holds_reply(s))
        s->plan.capture = CAPTURE_HOLD;
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
    if (account_schema_is_proven(s->account, schema)) {
        names_unref(s->proxy->target->names, s->lessee.state.schema);
        s->lessee.state.schema = schema;
        return answer_ok(s);
    }
    s->schema_before = s->lessee.state.schema;
    s->lessee.state.schema = schema;
    return COMMAND_SCHEMA;
}

/* Ends pins and, in an unknown state, resets. What is virtual stays. */
static void let_go(struct session *s)
{
    s->begun = false;
    if (!backend_of(s))
        return;
    if (s->pins & PIN_TRANSACTION)
        s->proxy->stats.rolled_back_request_end++;
    session_give_back_dirty(s);
}

/* A role outlives COM_RESET_CONNECTION on both servers: the backend that has it is reset and stays
 * with the client. False: there is none, or it has what a reset does not end. */
static bool reset_with_role(struct session *s)
{
    if (!(s->pins & PIN_ROLE) || (s->pins & PIN_XA) || s->profiled)
        return false;
    session_unpin(s);
    session_set_pins(s, PIN_ROLE);
    s->begun = false;
    s->lessee.wants_fresh = true;
    return true;
}

static enum command_verdict reset_connection(struct session *s)
{
    struct lessee *l = &s->lessee;
    struct names *names = s->proxy->target->names;
    bool stays = reset_with_role(s);
    if (!stays)
        let_go(s);
    pool_forget_statement(l);
    bool ran = s->ran_before;
    session_forget_last(s);
    s->ran_before = ran; /* FOUND_ROWS() outlives it */
    statements_clear(&s->statements, l->pool->prepared);
    if (!broken(RULE_RESET_CLEARS_VARIABLES))
        session_state_set_settings(names, &l->state, NULL);
    /* Where the character set goes back to differs: MariaDB to the login's, MySQL to the server's
     * own. */
    names_unref(names, l->state.charset);
    l->state.charset = 0;
    if (!s->proxy->target->mariadb)
        l->charset_number = 0;
    else
        l->ignores_space = false; /* MySQL keeps what the login's flag has set [seen] */
    return stays ? COMMAND_SCHEMA : answer_ok(s);
}

/* In the servers' words. */
static enum command_verdict unknown_command(struct session *s)
{
    session_send_err(s, 1, 1047, "08S01", bytes_text("Unknown command"));
    return COMMAND_ANSWERED;
}

static enum command_verdict set_option(struct session *s, struct bytes payload)
{
    uint8_t packet[16];
    if (payload.len < 3 || payload.at[1] > 1 || payload.at[2] != 0)
        return unknown_command(s);
    if (backend_of(s)) {
        s->plan.statement_id = payload.at[1];
        return COMMAND_RUN;
    }
    s->lessee.state.multi_statements = payload.at[1] == 0;
    pool_forget_last_state(&s->lessee);
    s->proxy->stats.local_answers[MYSQL_COM_SET_OPTION]++;
    session_send(s, packet,
                 mysql_eof_packet(packet, sizeof packet, 1, session_status(s),
                                  s->proxy->target->mariadb ? 0 : s->last.warnings));
    return COMMAND_ANSWERED;
}

static enum command_verdict close_statement(struct session *s, struct bytes payload)
{
    s->plan.statement_id = statement_id_of(payload);
    if (s->plan.statement_id == REQUEST_END_MARK) {
        s->proxy->stats.request_ends++;
        let_go(s);
        pool_forget_statement(&s->lessee);
        session_forget_last(s);
        return COMMAND_ANSWERED;
    }
    return prepare_close(s, s->plan.statement_id);
}

static enum command_verdict process_kill(struct session *s, struct bytes payload)
{
    uint32_t id = statement_id_of(payload);
    if (!command_is_client(s, id))
        return COMMAND_RUN;
    if (s->proxy->target->mariadb)
        return command_kill(s, id, false);
    command_kill_later(s, false); /* some versions of MySQL have no such command: let it say so */
    return COMMAND_RUN;
}

static enum command_verdict change_user(struct session *s, struct bytes payload)
{
    bool multi_statements = s->lessee.state.multi_statements;
    let_go(s);
    session_logout(s);
    /* COM_SET_OPTION holds over it. */
    s->caps = multi_statements ? s->caps | MYSQL_CAP_MULTI_STATEMENTS
                               : s->caps & ~(uint32_t)MYSQL_CAP_MULTI_STATEMENTS;
    if (s->proxy->target->mariadb) /* as over a reset */
        s->caps &= ~(uint32_t)MYSQL_CAP_IGNORE_SPACE;
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
    if (s->console && command != MYSQL_COM_QUIT && command != MYSQL_COM_CHANGE_USER)
        return console_take(s, payload);
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
        return answer_ok(s);
    case MYSQL_COM_QUERY:
        return take_query(s, payload);
    case MYSQL_COM_STMT_PREPARE:
        return prepare_take(s, payload);
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
        return prepare_execute(s, payload);
    case MYSQL_COM_STMT_SEND_LONG_DATA:
        return prepare_long_data(s, payload);
    case MYSQL_COM_STMT_FETCH:
        return prepare_fetch(s, payload);
    case MYSQL_COM_STMT_RESET:
        return prepare_reset(s, payload);
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
