/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kind of statement it is, by its leading words, and what SET, KILL and USE name (MySQL
 * Reference Manual 15, MariaDB Knowledge Base "SQL Statements"). What it does not know is
 * SQL_OTHER. Any thread. */
#include "protocol/sql_lead.h"

/* Steps of USE and KILL. */
enum { ID_BEFORE, ID_BEHIND };

/* Steps of EXPLAIN. */
enum { EXPLAIN_ONLY, EXPLAIN_RUNS };

void sql_lead_begin(struct sql_scan *s)
{
    s->now = SQL_EMPTY;
    s->lead = LEAD_START;
    s->step = 0;
    s->wake = WAKE_NONE;
    s->calls = true;
    s->variables = true;
    s->accounts = false;
    s->half_hidden = false;
    s->target = false;
    s->global = false;
    s->cte_name = false;
    s->nest = 0;
    s->depth = 0;
    s->with_mask = 0;
    s->prev = T_NONE;
    s->prev_mark = 0;
    s->prev_word = W_none;
}

void sql_lead_end(struct sql_scan *s)
{
    if (s->lead == LEAD_SET && s->whole == WHOLE_NAMES && s->step != SET_COLLATE &&
        s->step != SET_NAMED)
        s->whole = WHOLE_NONE;
    if (s->lead == LEAD_USE && s->step != ID_BEHIND)
        s->whole = WHOLE_NONE;
    if (s->nest > 0)
        s->flags |= SQL_F_OPAQUE;
    if (s->now != SQL_EMPTY) {
        s->kinds |= 1u << s->now;
        if (s->kind == SQL_EMPTY)
            s->kind = s->now;
        s->has_first = true;
    }
    sql_lead_begin(s);
}

static void decide(struct sql_scan *s, enum sql_kind kind, enum lead lead)
{
    s->now = (uint8_t)kind;
    s->lead = (uint8_t)lead;
}

static void tell_diagnostics(struct sql_scan *s)
{
    s->flags |= SQL_F_LAST_STATE;
    decide(s, SQL_DIAGNOSTICS, LEAD_DONE);
}

/* Statements whose names and lists are not calls, and whose @ belongs to accounts. */
static void decide_ddl(struct sql_scan *s, enum lead lead)
{
    s->calls = false;
    s->variables = false;
    decide(s, SQL_DDL, lead);
}

static void decide_create(struct sql_scan *s)
{
    decide_ddl(s, LEAD_CREATE);
    s->wake = WAKE_CREATE;
}

static void decide_insert(struct sql_scan *s)
{
    s->calls = false;
    s->wake = WAKE_INSERT;
    decide(s, SQL_DML, LEAD_DONE);
}

static void begin_with(struct sql_scan *s)
{
    s->lead_depth = s->depth;
    decide(s, SQL_SELECT, LEAD_WITH);
}

static void begin_call(struct sql_scan *s)
{
    s->calls = false;
    decide(s, SQL_CALL, LEAD_CALL);
}

static void begin_whole(struct sql_scan *s, enum sql_kind kind, enum lead lead, enum whole whole)
{
    if (!s->has_first)
        s->whole = (uint8_t)whole;
    s->capture = true;
    decide(s, kind, lead);
}

/* Leading words that say it all, and where the others lead. */
struct leading {
    uint16_t word;
    uint8_t kind; /* enum sql_kind */
    uint8_t lead; /* enum lead */
};

static const struct leading leading[] = {
    {W_select, SQL_SELECT, LEAD_DONE},
    {W_update, SQL_DML, LEAD_DONE},
    {W_delete, SQL_DML, LEAD_DONE},
    {W_values, SQL_SELECT, LEAD_DONE},
    {W_table, SQL_SELECT, LEAD_DONE},
    {W_show, SQL_SHOW, LEAD_SHOW},
    {W_explain, SQL_SHOW, LEAD_EXPLAIN},
    {W_describe, SQL_SHOW, LEAD_EXPLAIN},
    {W_desc, SQL_SHOW, LEAD_EXPLAIN},
    {W_help, SQL_SHOW, LEAD_DONE},
    {W_begin, SQL_BEGIN, LEAD_BEGIN},
    {W_start, SQL_OTHER, LEAD_START_WORD},
    {W_commit, SQL_COMMIT, LEAD_ENDING},
    {W_rollback, SQL_ROLLBACK, LEAD_ENDING},
    {W_savepoint, SQL_SAVEPOINT, LEAD_DONE},
    {W_release, SQL_OTHER, LEAD_RELEASE},
    {W_do, SQL_DO, LEAD_DONE},
    {W_kill, SQL_KILL, LEAD_KILL},
    {W_lock, SQL_LOCK_TABLES, LEAD_DONE},
    {W_unlock, SQL_UNLOCK_TABLES, LEAD_DONE},
    {W_backup, SQL_OTHER, LEAD_BACKUP},
    {W_flush, SQL_FLUSH, LEAD_FLUSH},
    {W_handler, SQL_HANDLER, LEAD_DONE},
    {W_prepare, SQL_PREPARE, LEAD_DONE},
    {W_execute, SQL_PREPARE, LEAD_DONE},
    {W_deallocate, SQL_PREPARE, LEAD_DONE},
    {W_xa, SQL_XA, LEAD_DONE},
    {W_get, SQL_OTHER, LEAD_GET},
    {W_load, SQL_OTHER, LEAD_LOAD},
};

static bool is_ddl_verb(enum sql_word word)
{
    static const uint16_t verbs[] = {W_rename, W_truncate, W_grant,    W_revoke,  W_optimize,
                                     W_check,  W_repair,   W_checksum, W_comment, W_import};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (word == verbs[i])
            return true;
    return false;
}

static void lead_table(struct sql_scan *s, enum sql_word word)
{
    for (size_t i = 0; i < sizeof leading / sizeof leading[0]; i++)
        if (leading[i].word == word) {
            decide(s, leading[i].kind, leading[i].lead);
            return;
        }
    if (is_ddl_verb(word))
        decide_ddl(s, LEAD_DONE);
    else
        decide(s, SQL_OTHER, LEAD_DONE);
}

static void lead_start(struct sql_scan *s, struct sql_token t, enum sql_word word)
{
    if (s->prev == T_NONE) {
        s->half_hidden = s->in_comment;
        if (s->has_first)
            s->flags |= SQL_F_MULTI;
    }
    if (t.type == T_MARK && t.mark == '(')
        s->now = SQL_OTHER; /* if no word tells better */
    else if (word == W_insert || word == W_replace)
        decide_insert(s);
    else if (word == W_with)
        begin_with(s);
    else if (word == W_set)
        begin_whole(s, SQL_SET, LEAD_SET, WHOLE_NONE);
    else if (word == W_use)
        begin_whole(s, SQL_USE, LEAD_USE, WHOLE_USE);
    else if (word == W_call)
        begin_call(s);
    else if (word == W_create)
        decide_create(s);
    else if (word == W_alter)
        decide_ddl(s, LEAD_CREATE);
    else if (word == W_drop)
        decide_ddl(s, LEAD_DROP);
    else if (word == W_analyze)
        decide_ddl(s, LEAD_ANALYZE);
    else
        lead_table(s, word);
}

static bool is_dml(enum sql_word word)
{
    return word == W_insert || word == W_replace || word == W_update || word == W_delete;
}

static bool is_query(enum sql_word word)
{
    return word == W_select || word == W_values || word == W_table;
}

/* The first verb at the depth of WITH is the statement's. */
static void lead_with(struct sql_scan *s, enum sql_word word)
{
    if (s->depth != s->lead_depth || s->prev_word == W_for)
        return;
    if (is_query(word))
        decide(s, SQL_SELECT, LEAD_DONE);
    else if (is_dml(word))
        decide(s, SQL_DML, LEAD_DONE);
}

static bool is_stored_program(enum sql_word word)
{
    return word == W_view || word == W_procedure || word == W_function || word == W_trigger ||
           word == W_event || word == W_package;
}

static bool is_other_object(enum sql_word word)
{
    return word == W_table || word == W_index || word == W_user || word == W_role ||
           word == W_server || word == W_tablespace || word == W_sequence || word == W_resource ||
           word == W_instance;
}

static void lead_create(struct sql_scan *s, enum sql_word word)
{
    if (word == W_temporary) {
        s->now = SQL_TEMPORARY;
    } else if (word == W_database || word == W_schema) {
        s->flags |= SQL_F_DATABASE_DDL;
        s->lead = LEAD_DONE;
    } else if (is_stored_program(word) && s->prev_mark != '=') {
        s->lead = LEAD_BODY;
    } else if (is_other_object(word)) {
        s->lead = LEAD_DONE;
    }
}

static void lead_drop(struct sql_scan *s, enum sql_word word)
{
    if (word == W_temporary)
        s->now = SQL_TEMPORARY;
    else if (word == W_prepare)
        decide(s, SQL_PREPARE, LEAD_DONE);
    else if (word == W_database || word == W_schema)
        s->flags |= SQL_F_DATABASE_DDL;
    if (is_other_object(word) || is_stored_program(word) || word == W_database || word == W_schema)
        s->lead = LEAD_DONE;
}

/* What EXPLAIN tells about; with ANALYZE it runs. */
static void lead_explain(struct sql_scan *s, enum sql_word word)
{
    if (word == W_analyze) {
        s->step = EXPLAIN_RUNS;
    } else if (is_dml(word) || word == W_with) {
        if (s->step == EXPLAIN_RUNS)
            s->kinds |= 1u << SQL_DML;
        s->lead = LEAD_DONE;
    } else if (word == W_connection && s->prev_word == W_for) {
        s->flags |= SQL_F_CONNECTION_ID;
        s->lead = LEAD_DONE;
    } else if (is_query(word)) {
        s->lead = LEAD_DONE;
    }
}

/* ANALYZE TABLE is maintenance; MariaDB's ANALYZE of a statement is an EXPLAIN that runs it. */
static void lead_analyze(struct sql_scan *s, enum sql_word word)
{
    if (word == W_no_write_to_binlog || word == W_local)
        return;
    if (word == W_format || is_dml(word) || word == W_with || word == W_select) {
        s->calls = true;
        s->variables = true;
        decide(s, SQL_SHOW, LEAD_EXPLAIN);
        s->step = EXPLAIN_RUNS;
        lead_explain(s, word);
    } else {
        s->lead = LEAD_DONE;
    }
}

static void lead_show(struct sql_scan *s, enum sql_word word)
{
    s->accounts = true;
    if (word == W_warnings || word == W_errors || word == W_count)
        tell_diagnostics(s);
    else if (word == W_variables)
        s->flags |= SQL_F_SYSTEM_VARIABLE;
    else if (word == W_explain || word == W_analyze)
        s->flags |= SQL_F_CONNECTION_ID;
    if (word != W_global && word != W_session && word != W_local && word != W_full)
        s->lead = LEAD_DONE;
}

static void lead_get(struct sql_scan *s, enum sql_word word)
{
    if (word == W_diagnostics)
        tell_diagnostics(s);
    else if (word != W_current && word != W_stacked)
        s->lead = LEAD_DONE;
}

static void lead_load(struct sql_scan *s, enum sql_word word)
{
    if (s->prev_word == W_load) {
        if (word != W_data && word != W_xml) {
            s->lead = LEAD_DONE;
            return;
        }
        s->now = SQL_DML;
        s->calls = false;
        s->wake = WAKE_LOAD;
    } else if (word == W_local) {
        s->flags |= SQL_F_LOCAL_INFILE;
    } else if (word == W_infile) {
        s->lead = LEAD_DONE;
    }
}

static void lead_ending(struct sql_scan *s, enum sql_word word)
{
    if (word == W_to)
        s->lead = LEAD_DONE;
    else if (word == W_chain && s->prev_word != W_no)
        s->flags |= SQL_F_CHAIN;
    else if (word == W_release && s->prev_word != W_no)
        s->flags |= SQL_F_RELEASE;
}

static void lead_flush(struct sql_scan *s, enum sql_word word)
{
    if (word == W_with || word == W_checkpoint || (word == W_export && s->prev_word == W_for))
        s->now = SQL_LOCK_TABLES;
}

static void lead_kill(struct sql_scan *s, struct sql_token t, enum sql_word word)
{
    if (s->step == ID_BEHIND) {
        s->kill_id = 0;
        return;
    }
    if (word == W_query)
        s->kill_query = true;
    if (word == W_hard || word == W_soft || word == W_connection || word == W_query)
        return;
    s->step = ID_BEHIND;
    s->accounts = true; /* KILL USER */
    if (t.type != T_NUMBER)
        return;
    uint64_t id = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (__builtin_mul_overflow(id, 10, &id) ||
            __builtin_add_overflow(id, (uint64_t)(t.at[i] - '0'), &id))
            return;
    }
    s->kill_id = id;
}

static void lead_use(struct sql_scan *s, struct sql_token t)
{
    if (s->step == ID_BEHIND || (t.type != T_WORD && t.type != T_NAME))
        s->whole = WHOLE_NONE;
    s->step = ID_BEHIND;
}

static void expect_item(struct sql_scan *s)
{
    s->step = SET_ITEM;
    s->target = false;
    s->global = false;
    s->capture = true;
}

/* A character set or collation as it stands; false for what is not one plain word. */
static bool copy_name(char out[SQL_WORD_MAX_BYTES + 1], struct sql_token t)
{
    if (t.type != T_WORD && t.type != T_NAME && t.type != T_STRING)
        return false;
    if (t.len == 0 || t.len > SQL_WORD_MAX_BYTES)
        return false;
    for (size_t i = 0; i < t.len; i++) {
        uint8_t c = t.at[i];
        if (c >= 'A' && c <= 'Z')
            c |= 0x20;
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
        out[i] = (char)c;
    }
    out[t.len] = '\0';
    return true;
}

static void set_names(struct sql_scan *s, struct sql_token t, enum sql_word word)
{
    bool plain = false;
    if (s->step == SET_CHARSET) {
        plain = copy_name(s->names_charset, t);
        s->step = SET_COLLATE;
    } else if (s->step == SET_COLLATE && word == W_collate) {
        plain = true;
        s->step = SET_COLLATION;
        s->capture = true;
    } else if (s->step == SET_COLLATION) {
        plain = copy_name(s->names_collation, t);
        s->step = SET_NAMED;
    }
    if (!plain)
        s->whole = WHOLE_NONE;
}

/* A keyword or the name of what is set. */
static void set_word(struct sql_scan *s, enum sql_word word)
{
    bool first = s->step == SET_FIRST;
    s->step = SET_VALUE;
    if (word == W_global || word == W_persist || word == W_persist_only) {
        s->flags |= SQL_F_SET_GLOBAL;
        expect_item(s);
    } else if (word == W_session || word == W_local) {
        expect_item(s);
    } else if (word == W_names) {
        if (first && !s->has_first)
            s->whole = WHOLE_NAMES;
        s->flags |= SQL_F_SYSTEM_VARIABLE; /* taken back when it is the whole text */
        s->step = SET_CHARSET;
        s->capture = true;
    } else if (word == W_transaction) {
        s->flags |= SQL_F_SET_TRANSACTION;
    } else if (word == W_role || word == W_default) {
        s->flags |= SQL_F_SET_ROLE;
        s->accounts = true;
    } else if (word == W_password) {
        s->flags |= SQL_F_SET_PASSWORD;
        s->accounts = true;
    } else if (word == W_statement) {
        s->flags |= SQL_F_SYSTEM_VARIABLE;
        s->step = SET_STATEMENT;
    } else if (word == W_resource) {
        s->kinds |=
            1u << SQL_OTHER; /* a resource group: no tracker tells of it, no reset ends it */
    } else {
        s->target = true;
        s->step = SET_NAME;
        sql_lead_variable(s, word);
    }
}

static void set_item(struct sql_scan *s, struct sql_token t, enum sql_word word)
{
    if (t.type == T_WORD) {
        set_word(s, word);
    } else if (t.type == T_SYSTEM) {
        s->target = true;
        s->step = SET_NAME;
    } else if (t.type == T_NAME) {
        s->target = true;
        s->step = SET_NAME;
        sql_lead_variable(s, sql_word_find(sql_token_text(t)));
    } else {
        s->step = SET_NAME;
    }
}

/* MariaDB's SET STATEMENT: what follows FOR is a statement of its own, with flags of its own. */
static void begin_inner(struct sql_scan *s)
{
    s->kinds |= 1u << SQL_SET;
    if (s->kind == SQL_EMPTY)
        s->kind = SQL_SET;
    sql_lead_begin(s);
}

static void lead_set(struct sql_scan *s, struct sql_token t, enum sql_word word)
{
    if (s->step == SET_FIRST || s->step == SET_ITEM) {
        set_item(s, t, word);
    } else if (t.type == T_MARK && t.mark == ',' && s->depth == 0) {
        s->whole = WHOLE_NONE;
        if (s->step != SET_STATEMENT)
            expect_item(s);
    } else if (s->step == SET_NAME && (t.type == T_ASSIGN || t.mark == '=')) {
        s->step = SET_VALUE;
    } else if (s->step == SET_STATEMENT && word == W_for && s->depth == 0) {
        begin_inner(s);
    } else if (s->step >= SET_CHARSET) {
        set_names(s, t, word);
    }
}

/* BEGIN WORK; anything else begins a compound statement. */
static void lead_begin(struct sql_scan *s, enum sql_word word)
{
    if (word != W_work)
        decide(s, SQL_OTHER, LEAD_DONE);
}

static void lead_word_then(struct sql_scan *s, bool is, enum sql_kind kind, enum lead lead)
{
    decide(s, is ? kind : SQL_OTHER, is ? lead : LEAD_DONE);
}

static void lead_backup(struct sql_scan *s, enum sql_word word)
{
    if (word == W_unlock)
        decide(s, SQL_UNLOCK_TABLES, LEAD_DONE);
    else
        decide(s, SQL_LOCK_TABLES, LEAD_DONE);
}

void sql_lead_token(struct sql_scan *s, struct sql_token t, enum sql_word word)
{
    switch ((enum lead)s->lead) {
    case LEAD_START:
        lead_start(s, t, word);
        break;
    case LEAD_DONE:
    case LEAD_BODY:
    case LEAD_CALL: /* its parenthesis ends it */
        break;
    case LEAD_WITH:
        lead_with(s, word);
        break;
    case LEAD_CREATE:
        lead_create(s, word);
        break;
    case LEAD_DROP:
        lead_drop(s, word);
        break;
    case LEAD_ANALYZE:
        lead_analyze(s, word);
        break;
    case LEAD_EXPLAIN:
        lead_explain(s, word);
        break;
    case LEAD_SHOW:
        lead_show(s, word);
        break;
    case LEAD_GET:
        lead_get(s, word);
        break;
    case LEAD_LOAD:
        lead_load(s, word);
        break;
    case LEAD_BEGIN:
        lead_begin(s, word);
        break;
    case LEAD_START_WORD:
        lead_word_then(s, word == W_transaction, SQL_BEGIN, LEAD_TRANSACTION);
        break;
    case LEAD_TRANSACTION:
        if (word == W_with)
            s->flags |= SQL_F_CONSISTENT_SNAPSHOT;
        break;
    case LEAD_ENDING:
        lead_ending(s, word);
        break;
    case LEAD_RELEASE:
        lead_word_then(s, word == W_savepoint, SQL_SAVEPOINT, LEAD_DONE);
        break;
    case LEAD_BACKUP:
        lead_backup(s, word);
        break;
    case LEAD_FLUSH:
        lead_flush(s, word);
        break;
    case LEAD_KILL:
        lead_kill(s, t, word);
        break;
    case LEAD_USE:
        lead_use(s, t);
        break;
    case LEAD_SET:
        lead_set(s, t, word);
        break;
    }
}

static bool is_tracker(enum sql_word word)
{
    return word == W_session_track_schema || word == W_session_track_system_variables ||
           word == W_session_track_state_change || word == W_session_track_transaction_info ||
           word == W_session_track_gtids;
}

void sql_lead_variable(struct sql_scan *s, enum sql_word word)
{
    bool set = s->target;
    s->target = false;
    if (set && s->global)
        s->flags |= SQL_F_SET_GLOBAL;
    s->global = false;
    if (word == W_identity || word == W_last_insert_id)
        s->flags |= set ? SQL_F_SETS_LAST_INSERT_ID | SQL_F_SYSTEM_VARIABLE : SQL_F_LAST_INSERT_ID;
    else if (word == W_warning_count || word == W_error_count)
        s->flags |= SQL_F_LAST_STATE;
    else if (word == W_pseudo_thread_id)
        s->flags |= SQL_F_CONNECTION_ID | (set ? SQL_F_SYSTEM_VARIABLE : 0);
    else
        s->flags |= SQL_F_SYSTEM_VARIABLE | (is_tracker(word) ? SQL_F_TRACKERS : 0);
}
