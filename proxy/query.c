/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/query.h"

#include <stdlib.h>

#include "pool/breaks.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/sql_token.h"

struct kind_rule {
    uint32_t kinds; /* 1 << enum sql_kind */
    uint32_t pin;
};

static const struct kind_rule kind_rules[] = {
    {1u << SQL_BEGIN, PIN_TRANSACTION},
    {1u << SQL_LOCK_TABLES, PIN_TABLE_LOCK},
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
    {SQL_F_NAMED_LOCK, PIN_NAMED_LOCK},
    {SQL_F_UNKNOWN_FUNCTION | SQL_F_SEQUENCE | SQL_F_OPAQUE, PIN_UNKNOWN_FUNCTION},
    {SQL_F_CALC_FOUND_ROWS, PIN_LAST_STATEMENT},
    {SQL_F_SET_ROLE, PIN_ROLE},
    {SQL_F_RELEASE, PIN_SESSION_VARIABLE},
};

static bool only(uint32_t kinds, enum sql_kind kind)
{
    return kinds == 1u << kind;
}

struct prepared_facts query_facts(const struct sql_scan *scan)
{
    return (struct prepared_facts){
        .flags = scan->flags, .kinds = scan->kinds, .kind = (uint8_t)scan->kind};
}

/* ---- SET ---- */

/* The parts of the unit of character sets; and those that only their database moves. */
static bool is_charset_variable(struct bytes name)
{
    static const char *const names[] = {"character_set_client", "character_set_connection",
                                        "character_set_results", "collation_connection"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sql_text_is(name, names[i]))
            return true;
    return false;
}

static bool is_virtual(const struct session *s, struct bytes name)
{
    enum variable v = variable_find(name);
    return v != VARIABLES_COUNT ? s->proxy->target->has_variable[v] : is_charset_variable(name);
}

struct set_facts {
    bool readable;
    bool profiling;
    bool known;    /* all that it sets is virtual, or global, or a user variable */
    bool charset;  /* character sets are among it */
    bool literal;  /* its effect depends on nothing but the text and the session's state */
    bool settings; /* sets something virtual */
    bool untold;   /* in a way that this server's trackers do not tell of */
};

static struct set_facts set_facts_of(const struct session *s, struct bytes text)
{
    struct sql_set set;
    struct set_facts f = {0};
    if (!text.len || !sql_set_read(text, session_scan_mode(s), &set))
        return f;
    f.readable = f.known = f.literal = true;
    for (size_t i = 0; i < set.count; i++) {
        const struct sql_assignment *a = &set.item[i];
        f.literal = f.literal && a->kind == SQL_VALUE_LITERAL;
        switch ((enum sql_set_target)a->target) {
        case SQL_SET_SESSION:
            f.known = f.known && is_virtual(s, a->name);
            f.charset = f.charset || is_charset_variable(a->name);
            f.settings = true;
            f.untold = f.untold || (a->untold && s->proxy->target->mariadb);
            f.profiling = f.profiling || sql_text_is(a->name, "profiling");
            break;
        case SQL_SET_NAMES:
        case SQL_SET_CHARSET:
            f.charset = f.settings = true;
            break;
        case SQL_SET_TRANSACTION:
            f.literal = false; /* the same words do more, or fail, in a transaction */
            f.settings = true;
            break;
        case SQL_SET_GLOBAL:
        case SQL_SET_USER:
            f.literal = false;
            break;
        }
    }
    f.literal = f.literal && f.known;
    return f;
}

static void plan_set(struct session *s, const struct set_facts *f)
{
    struct plan *p = &s->plan;
    const uint32_t told_apart = SQL_F_SET_ROLE | SQL_F_SET_PASSWORD;
    p->literal = f->literal;
    if (only(p->facts.kinds, SQL_SET) && f->known) {
        p->explained = true;
        /* No tracker tells of a collation, and = DEFAULT reports the value before [seen]. */
        p->reread = f->charset || f->untold || (f->settings && !f->literal);
        return;
    }
    if ((p->facts.flags & told_apart) &&
        !(p->facts.flags & (SQL_F_SYSTEM_VARIABLE | SQL_F_EXECUTABLE_COMMENT)))
        return;
    /* MariaDB's SET STATEMENT ends with its statement, but for what cannot be told. */
    p->pins |= PIN_SESSION_VARIABLE;
    s->profiled = s->profiled || f->profiling;
    if (!f->profiling) /* which would record the question */
        p->reread = !f->readable || f->charset || f->untold || (f->settings && !f->literal);
}

/* ---- the plan ---- */

/* Reading a user variable that nobody set says NULL on every connection. */
static bool sets_user_variable(const struct prepared_facts *f)
{
    const uint32_t reading = 1u << SQL_SELECT | 1u << SQL_DO;
    if (!(f->flags & SQL_F_USER_VARIABLE))
        return false;
    return (f->kinds & ~reading) != 0 ||
           (f->flags & (SQL_F_ASSIGNS | SQL_F_INTO | SQL_F_EXECUTABLE_COMMENT)) != 0;
}

/* Pins whose rule is broken. */
static uint32_t unkept(void)
{
    return (broken(RULE_USER_VARIABLE_PINS) ? PIN_USER_VARIABLE : 0u) |
           (broken(RULE_TEMPORARY_TABLE_PINS) ? PIN_TEMPORARY_TABLE : 0u) |
           (broken(RULE_NAMED_LOCK_PINS) ? PIN_NAMED_LOCK : 0u) |
           (broken(RULE_TABLE_LOCK_PINS) ? PIN_TABLE_LOCK : 0u) |
           (broken(RULE_XA_PINS) ? PIN_XA : 0u);
}

static uint32_t pins_of(const struct prepared_facts *f)
{
    uint32_t pins = sets_user_variable(f) ? PIN_USER_VARIABLE : 0;
    for (size_t i = 0; i < sizeof kind_rules / sizeof kind_rules[0]; i++)
        if (f->kinds & kind_rules[i].kinds)
            pins |= kind_rules[i].pin;
    for (size_t i = 0; i < sizeof flag_rules / sizeof flag_rules[0]; i++)
        if (f->flags & flag_rules[i].flags)
            pins |= flag_rules[i].pin;
    return pins & ~unkept();
}

static bool is_plain_read(const struct prepared_facts *f)
{
    const uint32_t harmless = SQL_F_SYSTEM_VARIABLE;
    return only(f->kinds, SQL_SELECT) && (f->flags & ~harmless) == 0;
}

static bool only_reads(const struct prepared_facts *f)
{
    const uint32_t reads = 1u << SQL_SELECT | 1u << SQL_SHOW;
    const uint32_t harmless = SQL_F_SYSTEM_VARIABLE | SQL_F_LAST_INSERT_ID | SQL_F_FOR_UPDATE |
                              SQL_F_CALC_FOUND_ROWS | SQL_F_USER_VARIABLE | SQL_F_CONNECTION_ID;
    return (f->kinds & ~reads) == 0 && (f->flags & ~harmless) == 0;
}

/* Only the backend where the client's last statement ran knows the answer. */
static bool asks_of_last(const struct prepared_facts *f)
{
    if (broken(RULE_LAST_STATE_OWN) && f->kind == SQL_SELECT)
        return false;
    if (broken(RULE_WARNINGS_OWN) && f->kind == SQL_DIAGNOSTICS)
        return false;
    return (f->flags & SQL_F_LAST_STATE) || (f->kinds & 1u << SQL_DIAGNOSTICS);
}

void query_begin(struct session *s, struct prepared_facts facts)
{
    if (s->pins != PIN_LAST_STATEMENT || s->rows_held || s->reread_due ||
        s->proxy->target->mariadb || (facts.flags & SQL_F_LAST_STATE) ||
        (facts.kinds & 1u << SQL_DIAGNOSTICS))
        return;
    session_set_pins(s, 0);
    session_settle(s);
}

static bool lists_threads(const struct session *s, struct bytes text)
{
    struct sql_reader r = sql_reader(text, session_scan_mode(s));
    if (!sql_skip(&r, "show"))
        return false;
    (void)sql_skip(&r, "full");
    return sql_skip(&r, "processlist") && sql_at_end(&r);
}

void query_plan(struct session *s, struct prepared_facts facts, struct bytes text)
{
    struct plan *p = &s->plan;
    query_begin(s, facts);
    const uint32_t dml = 1u << SQL_DML | 1u << SQL_OTHER | 1u << SQL_CALL | 1u << SQL_SET;
    p->facts = facts;
    p->pins = pins_of(&facts);
    p->dml = (facts.kinds & dml) != 0;
    p->needs_own = asks_of_last(&facts);
    p->may_retry = is_plain_read(&facts);
    p->follows = only_reads(&facts);
    if (facts.kinds & 1u << SQL_SET) {
        struct set_facts f = set_facts_of(s, text);
        plan_set(s, &f);
    }
    if (facts.flags & (SQL_F_UNKNOWN_FUNCTION | SQL_F_OPAQUE))
        p->reread = true;
    p->lists_threads = only(facts.kinds, SQL_SHOW) && lists_threads(s, text);
    if (facts.kinds & (1u << SQL_CALL | 1u << SQL_PREPARE | 1u << SQL_OTHER))
        p->reread = true;
    if ((p->needs_own || (facts.flags & (SQL_F_CONNECTION_ID | SQL_F_NAMED_LOCK))) && text.len)
        p->asks = sql_ask_read(text, session_scan_mode(s), &p->ask);
}

bool query_holds_reply(const struct session *s)
{
    return s->plan.substitutes || s->plan.lists_threads || query_asks_owner(s);
}

bool query_asks_owner(const struct session *s)
{
    return s->plan.asks && s->plan.ask.what == SQL_ASKED_LOCK_OWNER;
}

void query_keep_text(struct session *s, struct bytes text)
{
    struct plan *p = &s->plan;
    const uint32_t named = 1u << SQL_TEMPORARY | 1u << SQL_DDL | 1u << SQL_LOCK_TABLES |
                           1u << SQL_UNLOCK_TABLES | 1u << SQL_HANDLER | 1u << SQL_PREPARE |
                           1u << SQL_XA;
    bool counts = (p->facts.kinds & named) || (p->facts.flags & SQL_F_NAMED_LOCK);
    if (p->text || !text.len || text.len > SQL_SIMPLE_MAX_BYTES ||
        !(p->learns || p->pins || (counts && (s->pins || s->track))))
        return;
    p->text = xstrndup(text);
    p->text_bytes = text.len;
}

/* ---- answers ---- */

static void note_local_ok(struct session *s)
{
    session_note_ok(s);
    if (!s->proxy->target->mariadb) /* MySQL's SET and the like clear the warnings before */
        session_clear_warnings(s);
}

static bool answer_ok(struct session *s)
{
    note_local_ok(s);
    session_send_ok(s, 1);
    return true;
}

static uint16_t warnings_of(struct bytes reply)
{
    struct mysql_ok ok;
    struct bytes payload = bytes_of(reply.at + MYSQL_HEADER_BYTES, reply.len - MYSQL_HEADER_BYTES);
    return mysql_ok_read(payload, &ok) == WIRE_DONE ? ok.warnings : 0;
}

/* From what happened before. */
static bool answer_known(struct session *s, struct bytes text, bool prepared)
{
    struct lessee *l = &s->lessee;
    if (s->begun || !pool_state_is_known(l))
        return false;
    const struct effect *e = effects_find(l->pool->effects, &l->state, text, prepared);
    if (!e) {
        s->plan.learns = true;
        session_state_copy(s->proxy->target->names, &s->plan.before, &l->state);
        return false;
    }
    session_send(s, e->reply, e->reply_bytes);
    bool rows = e->reply[MYSQL_HEADER_BYTES] != 0;
    session_state_copy(s->proxy->target->names, &l->state, &e->after);
    note_local_ok(s);
    if (e->warned) {
        session_keep_replay(s, text, prepared);
        s->last.clean = false;
        s->last.warnings = warnings_of(bytes_of(e->reply, e->reply_bytes));
    }
    if (rows) {
        s->last.row_count = -1;
        s->last.found_rows = 1;
        s->last.found_rows_known = true;
    }
    s->ran_before = true;
    return true;
}

struct words {
    const char *first, *second; /* second: NULL: none */
};

/* The text is one of these, and nothing else; what either server may run as an executable comment
 * is more. */
static bool is_one_of(const struct session *s, struct bytes text, const struct words *forms,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sql_reader r = sql_reader(text, session_scan_mode(s) | SQL_MODE_MARIADB);
        if (sql_skip(&r, forms[i].first) && (!forms[i].second || sql_skip(&r, forms[i].second)) &&
            sql_at_end(&r))
            return true;
    }
    return false;
}

static bool is_value(const struct session *s, enum variable v, const char *value)
{
    return bytes_equal(names_text(s->proxy->target->names, s->lessee.state.settings->value[v]),
                       bytes_text(value));
}

/* Nothing is open, and a transaction would be an ordinary one. */
static bool may_defer(struct session *s)
{
    return pool_state_is_known(&s->lessee) && is_value(s, VARIABLE_autocommit, "ON") &&
           is_value(s, VARIABLE_transaction_read_only, "OFF");
}

/* MariaDB's sql_mode in which BEGIN begins a block. */
static bool is_oracle(const struct session *s)
{
    struct bytes mode =
        names_text(s->proxy->target->names, s->lessee.state.settings->value[VARIABLE_sql_mode]);
    return s->proxy->target->mariadb && mode.len && memmem(mode.at, mode.len, "ORACLE", 6);
}

static bool answer_begin(struct session *s, struct bytes text)
{
    static const struct words start = {"start", "transaction"};
    static const struct words begins[] = {{"begin", NULL}, {"begin", "work"}};
    if (!may_defer(s) ||
        !(is_one_of(s, text, &start, 1) || (!is_oracle(s) && is_one_of(s, text, begins, 2))))
        return false;
    s->begun = true; /* a second one commits the first, which is empty */
    s->ran_before = true;
    return answer_ok(s);
}

static bool answer_end(struct session *s, struct bytes text)
{
    static const struct words ends[] = {
        {"commit", NULL}, {"commit", "work"}, {"rollback", NULL}, {"rollback", "work"}};
    if (!may_defer(s) || !is_value(s, VARIABLE_completion_type, "NO_CHAIN") ||
        !is_one_of(s, text, ends, sizeof ends / sizeof ends[0]))
        return false;
    s->begun = false;
    s->ran_before = true;
    return answer_ok(s);
}

static bool reads_only_virtual(const struct session *s, struct bytes text)
{
    static const char *const constant[] = {"version", "version_comment", "version_compile_os",
                                           "version_compile_machine", "lower_case_table_names"};
    struct sql_reads reads;
    if (!sql_reads_read(text, session_scan_mode(s), &reads))
        return false;
    for (size_t i = 0; i < reads.count; i++) {
        struct bytes name = reads.item[i].name;
        bool fixed = false;
        for (size_t c = 0; c < sizeof constant / sizeof constant[0]; c++)
            fixed = fixed || sql_text_is(name, constant[c]);
        if (!fixed && (reads.item[i].global || !is_virtual(s, name)))
            return false;
    }
    return true;
}

/* MariaDB executes in the schema of the PREPARE and goes back to the session's own behind it, so
 * that a USE that was prepared in another one has no effect [seen]. */
static bool is_prepared_here(const struct session *s)
{
    const struct prepared *p = s->plan.prepared;
    return !p || p->state.schema == s->lessee.state.schema;
}

bool query_answer(struct session *s, struct bytes text, bool prepared)
{
    const struct prepared_facts *f = &s->plan.facts;
    if (s->lessee.backend || !text.len || text.len > EFFECT_TEXT_MAX_BYTES)
        return false;
    if (only(f->kinds, SQL_BEGIN))
        return f->flags == 0 && !prepared && answer_begin(s, text);
    if (only(f->kinds, SQL_COMMIT) || only(f->kinds, SQL_ROLLBACK))
        return f->flags == 0 && !prepared && answer_end(s, text);
    if (only(f->kinds, SQL_SET))
        return s->plan.literal && answer_known(s, text, prepared);
    if (only(f->kinds, SQL_USE))
        return (f->flags & SQL_F_USE_ONLY) && is_prepared_here(s) &&
               answer_known(s, text, prepared);
    if (only(f->kinds, SQL_SELECT) && f->flags == SQL_F_SYSTEM_VARIABLE)
        return reads_only_virtual(s, text) && answer_known(s, text, prepared);
    return false;
}
