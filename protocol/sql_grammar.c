/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tokens of a statement mean to a pool wherever they stand: the constructs that touch
 * state of the connection. Not a parser: it keeps a handful of facts about the place it is in,
 * enough to tell a function call from a list of columns and a user variable from an account.
 * Leading words go to sql_lead.c. Any thread. */
#include "protocol/sql_grammar.h"

#include "protocol/sql_lead.h"

enum watch {
    WATCH_ARGUMENT = 1, /* behind LAST_INSERT_ID( */
    WATCH_SYSTEM = 2,   /* behind @@ */
    WATCH_SCOPE = 4,    /* behind @@session and the like */
    WATCH_SCOPED = 8,   /* .. and its dot */
};

static uint32_t bit_of(uint32_t depth)
{
    return depth < 32 ? 1u << depth : 0;
}

static bool can_name(const struct sql_scan *s, struct sql_token t)
{
    return !s->gap && (t.type == T_WORD || t.type == T_NAME || t.type == T_STRING);
}

static void read_system(struct sql_scan *s, struct sql_token t)
{
    enum sql_word word = sql_word_find(sql_token_text(t));
    bool global = word == W_global || word == W_persist || word == W_persist_only;
    if (global || word == W_session || word == W_local) {
        s->global = global;
        s->watch = WATCH_SCOPE;
    } else {
        sql_lead_variable(s, word);
    }
}

/* The token behind one that asked to see it. True when it was part of a variable's name. */
static bool watched(struct sql_scan *s, struct sql_token t)
{
    uint8_t watch = s->watch;
    s->watch = 0;
    if (watch == WATCH_ARGUMENT) {
        bool none = t.type == T_MARK && t.mark == ')';
        s->flags |= none ? SQL_F_LAST_INSERT_ID : SQL_F_SETS_LAST_INSERT_ID;
        return false;
    }
    if (watch == WATCH_SCOPE) {
        if (t.type != T_MARK || t.mark != '.') {
            sql_lead_variable(s, W_none);
            return false;
        }
        s->watch = WATCH_SCOPED;
        s->capture = true;
        return true;
    }
    if (watch == WATCH_SYSTEM && !can_name(s, t)) {
        s->flags |= SQL_F_OPAQUE;
        return false;
    }
    if (watch == WATCH_SYSTEM)
        read_system(s, t);
    else
        sql_lead_variable(s, sql_word_find(sql_token_text(t)));
    return true;
}

/* -- calls and variables -- */

static void call_word(struct sql_scan *s, enum sql_word word)
{
    bool mariadb = (s->mode & SQL_MODE_MARIADB) != 0;
    uint32_t flags = 0;
    switch (sql_word_call(word)) {
    case SQL_CALL_UNKNOWN:
        flags = SQL_F_UNKNOWN_FUNCTION;
        break;
    case SQL_CALL_KEYWORD:
    case SQL_CALL_PLAIN:
        break;
    case SQL_CALL_MYSQL:
        flags = mariadb ? SQL_F_UNKNOWN_FUNCTION : 0;
        break;
    case SQL_CALL_MARIADB:
        flags = mariadb ? 0 : SQL_F_UNKNOWN_FUNCTION;
        break;
    case SQL_CALL_LOCK:
        flags = SQL_F_NAMED_LOCK;
        break;
    case SQL_CALL_LOCK_PLUGIN:
        flags = SQL_F_NAMED_LOCK | SQL_F_UNKNOWN_FUNCTION;
        break;
    case SQL_CALL_LAST_INSERT_ID:
        s->watch = WATCH_ARGUMENT;
        break;
    case SQL_CALL_LAST_STATE:
        flags = SQL_F_LAST_STATE;
        break;
    case SQL_CALL_CONNECTION_ID:
        flags = SQL_F_CONNECTION_ID;
        break;
    case SQL_CALL_SEQUENCE:
        flags = SQL_F_SEQUENCE | (mariadb ? 0 : SQL_F_UNKNOWN_FUNCTION);
        break;
    case SQL_CALL_SEQUENCE_LAST:
        flags = mariadb ? SQL_F_SEQUENCE | SQL_F_SEQUENCE_LAST : SQL_F_UNKNOWN_FUNCTION;
        break;
    }
    if (s->gap && sql_word_is_tight(word) && (s->mode & SQL_MODE_IGNORE_SPACE) == 0)
        flags = SQL_F_UNKNOWN_FUNCTION;
    s->flags |= flags;
}

static void open_parenthesis(struct sql_scan *s)
{
    if (s->calls) {
        if (s->edge)
            s->flags |= SQL_F_UNKNOWN_FUNCTION; /* which word it belongs to depends on the server */
        if (s->prev == T_NAME && !s->listed)
            s->flags |= SQL_F_UNKNOWN_FUNCTION;
        if (s->prev == T_WORD && !s->listed)
            call_word(s, s->prev_word);
    }
    if (s->lead == LEAD_CALL) {
        s->calls = true;
        s->lead = LEAD_DONE;
    }
    s->depth++;
}

static void close_parenthesis(struct sql_scan *s)
{
    if (s->depth > 0)
        s->depth--;
    if (s->depth < 31)
        s->with_mask &= (2u << s->depth) - 1;
}

/* @name; but not the host of 'user'@'host' where accounts may stand. */
static void on_variable(struct sql_scan *s)
{
    bool behind_name = s->prev == T_WORD || s->prev == T_NAME || s->prev == T_STRING;
    if (s->variables && !(s->accounts && behind_name && !s->gap))
        s->flags |= SQL_F_USER_VARIABLE;
}

/* := sets a user variable, but for SET system_variable := value. */
static void on_assign(struct sql_scan *s)
{
    bool to_system = s->lead == LEAD_SET && s->step == SET_NAME;
    if (s->variables && !to_system)
        s->flags |= SQL_F_USER_VARIABLE | SQL_F_ASSIGNS;
}

/* Words that turn the lists of INSERT, CREATE TABLE and LOAD into expressions. */
static void wake_calls(struct sql_scan *s, enum sql_word word)
{
    bool behind_set = s->prev_word == W_character || s->prev_word == W_char;
    bool now = false;
    switch ((enum wake)s->wake) {
    case WAKE_NONE:
        break;
    case WAKE_INSERT:
        now = word == W_select || word == W_values || word == W_table || word == W_value ||
              word == W_set || word == W_with || word == W_returning || word == W_on;
        break;
    case WAKE_CREATE:
        now = word == W_select || (word == W_values && s->prev_word == W_as) ||
              (word == W_row && s->prev_word == W_values);
        break;
    case WAKE_LOAD:
        now = word == W_set && !behind_set;
        break;
    }
    if (now) {
        s->calls = true;
        s->variables = true;
        s->wake = WAKE_NONE;
    }
}

static void begin_cte(struct sql_scan *s)
{
    s->with_mask |= bit_of(s->depth);
    s->cte_name = true;
}

/* In WITH name (columns) AS (..), name ..: after the body comes a comma and a name, or the list is
 * over. */
static void follow_cte(struct sql_scan *s, struct sql_token t, enum sql_word word)
{
    bool here = (s->with_mask & bit_of(s->depth)) != 0;
    bool named = s->cte_name;
    if (word == W_recursive && named)
        return;
    s->cte_name = false;
    if (here && t.type == T_MARK && t.mark == ',')
        s->cte_name = true;
    else if (named && (t.type == T_WORD || t.type == T_NAME))
        s->listed = !s->edge;
    else if (here && t.type == T_WORD && word != W_as)
        s->with_mask &= ~bit_of(s->depth);
}

const bool sql_grammar_acts[SQL_WORD_COUNT] = {
    [W_with] = true,
    [W_into] = true,
    [W_update] = true,
    [W_share] = true,
    [W_sql_calc_found_rows] = true,
    [W_value] = true,
};

/* Those of sql_grammar_acts. */
static void on_keyword(struct sql_scan *s, enum sql_word word)
{
    uint32_t flags = 0;
    if (word == W_with)
        begin_cte(s);
    else if (word == W_into && s->now == SQL_SELECT)
        flags = SQL_F_INTO;
    else if (word == W_update && s->prev_word == W_for)
        flags = SQL_F_FOR_UPDATE;
    else if (word == W_share && (s->prev_word == W_for || s->prev_word == W_in))
        flags = SQL_F_FOR_UPDATE;
    else if (word == W_sql_calc_found_rows)
        flags = SQL_F_CALC_FOUND_ROWS;
    else if (word == W_value && s->prev_word == W_next)
        flags = SQL_F_SEQUENCE;
    else if (word == W_value && s->prev_word == W_previous)
        flags = SQL_F_SEQUENCE | SQL_F_SEQUENCE_LAST;
    s->flags |= flags;
}

static size_t skip_digits(struct bytes text, size_t i)
{
    while (i < text.len && text.at[i] >= '0' && text.at[i] <= '9')
        i++;
    return i;
}

static bool is_known(struct bytes text, size_t from)
{
    return sql_word_find(bytes_of(text.at + from, text.len - from)) != W_none;
}

/* A word glued to a number: 1.5FROM, 1e5INTO. The servers cut it where the number ends, and so find
 * a keyword in it. (Glued to a whole number without exponent it is a name: 1FROM.) */
static void check_number(struct sql_scan *s, struct bytes text)
{
    bool fraction = s->prev == T_POINT && !s->gap;
    size_t i = skip_digits(text, 0);
    if (!fraction && i == 0)
        return;
    if (fraction && is_known(text, i))
        s->flags |= SQL_F_OPAQUE;
    if (i < text.len && (text.at[i] | 0x20) == 'e' && is_known(text, skip_digits(text, i + 1)))
        s->flags |= SQL_F_OPAQUE;
}

/* -- stored programs -- */

/* Counts BEGIN and CASE against END, so that a `;` inside is not taken for the end of the
 * statement. A wrong count (a column named begin) leaves it open and the text opaque, or ends it
 * early and the rest counts: both are safe. */
static void on_body(struct sql_scan *s, enum sql_word word)
{
    bool behind_end = s->prev_word == W_end;
    if (word == W_begin || (word == W_case && !behind_end))
        s->nest++;
    else if (word == W_end && s->nest > 0)
        s->nest--;
    else if (behind_end && (word == W_if || word == W_loop || word == W_while || word == W_repeat ||
                            word == W_for))
        s->nest++;
}

/* -- the token -- */

static void on_mark(struct sql_scan *s, uint8_t mark)
{
    if (mark == '(')
        open_parenthesis(s);
    else if (mark == ')')
        close_parenthesis(s);
}

/* What a token is here: a word behind a dot is a name, and a dot behind a number a decimal point.
 */
static enum sql_token_type type_of(const struct sql_scan *s, struct sql_token t)
{
    if (t.type == T_WORD && s->prev_mark == '.')
        return T_NAME;
    if (t.type == T_MARK && t.mark == '.' && s->prev == T_NUMBER && !s->gap)
        return T_POINT;
    return t.type;
}

static void on_word(struct sql_scan *s, struct bytes text, enum sql_word word)
{
    if (sql_grammar_acts[word])
        on_keyword(s, word);
    if (s->prev == T_POINT || (word == W_none && text.len > 0 && text.at[0] <= '9'))
        check_number(s, text);
}

/* A name behind a dot: Oracle's spelling of a sequence's next value. */
static void on_name(struct sql_scan *s, struct sql_token t)
{
    if (t.type != T_WORD || (s->mode & SQL_MODE_MARIADB) == 0)
        return;
    if (t.word == W_nextval)
        s->flags |= SQL_F_SEQUENCE;
    if (t.word == W_currval)
        s->flags |= SQL_F_SEQUENCE | SQL_F_SEQUENCE_LAST;
}

/* What a token means whatever the statement is. */
static inline void on_any(struct sql_scan *s, struct sql_token t, enum sql_token_type type,
                          enum sql_word word)
{
    switch (type) {
    case T_WORD:
        on_word(s, sql_token_text(t), word);
        break;
    case T_NAME:
        on_name(s, t);
        break;
    case T_VARIABLE:
        on_variable(s);
        break;
    case T_SYSTEM:
        s->watch = WATCH_SYSTEM;
        s->capture = true;
        break;
    case T_MARK:
        on_mark(s, t.mark);
        break;
    case T_NONE:
    case T_ASSIGN:
    case T_STRING:
    case T_NUMBER:
    case T_POINT:
        break;
    }
}

/* The same where the leading words are not read yet, or a list waits for its end. */
static void on_token(struct sql_scan *s, struct sql_token t, enum sql_token_type type,
                     enum sql_word word)
{
    if (s->lead != LEAD_DONE)
        sql_lead_token(s, t, word);
    if (s->with_mask != 0)
        follow_cte(s, t, word);
    if (s->wake != WAKE_NONE && type == T_WORD)
        wake_calls(s, word);
    on_any(s, t, type, word);
}

static void on_semicolon(struct sql_scan *s)
{
    if (s->in_comment)
        s->flags |= SQL_F_OPAQUE; /* one statement on this server, two on that */
    sql_lead_end(s);
}

static void on_busy(struct sql_scan *s, struct sql_token t, enum sql_token_type type,
                    enum sql_word word)
{
    if (s->watch != 0 && watched(s, t)) {
        sql_grammar_remember(s, T_VARIABLE, 0, W_none);
        return;
    }
    if (t.mark == ';' && s->nest == 0) {
        on_semicolon(s);
        sql_grammar_remember(s, T_NONE, 0, W_none);
        return;
    }
    if (s->lead == LEAD_BODY)
        on_body(s, word);
    else
        on_token(s, t, type, word);
    if (s->half_hidden && !s->in_comment) {
        s->kinds |= 1u << SQL_OTHER; /* where the comment is skipped another word leads */
        s->half_hidden = false;
    }
    sql_grammar_remember(s, type, type == T_MARK ? t.mark : 0, word);
}

void sql_grammar_begin(struct sql_scan *s)
{
    sql_lead_begin(s);
}

void sql_grammar_token(struct sql_scan *s, struct sql_token t)
{
    enum sql_token_type type = type_of(s, t);
    enum sql_word word = type == T_WORD ? t.word : W_none;
    s->capture = false;
    if (type == T_WORD || type == T_NAME)
        s->listed = sql_grammar_is_listed(s);
    if (type == T_ASSIGN)
        on_assign(s);
    if (s->busy != 0 || t.mark == ';') {
        on_busy(s, t, type, word);
        return;
    }
    on_any(s, t, type, word);
    sql_grammar_remember(s, type, type == T_MARK ? t.mark : 0, word);
}

static void end_text(struct sql_scan *s)
{
    bool only = (s->flags & (SQL_F_MULTI | SQL_F_EXECUTABLE_COMMENT | SQL_F_OPAQUE)) == 0;
    if (only && s->whole == WHOLE_NAMES)
        s->flags = (s->flags & ~(uint32_t)SQL_F_SYSTEM_VARIABLE) | SQL_F_SET_ONLY_NAMES;
    if (only && s->whole == WHOLE_USE)
        s->flags |= SQL_F_USE_ONLY;
    if (s->kinds == 0)
        s->kinds = 1u << SQL_EMPTY;
}

void sql_grammar_end(struct sql_scan *s)
{
    if (s->watch != 0)
        watched(s, (struct sql_token){.type = T_MARK, .mark = ';'});
    sql_lead_end(s);
    end_text(s);
}
