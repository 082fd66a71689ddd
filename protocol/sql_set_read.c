/* SPDX-License-Identifier: Apache-2.0
 *
 * SET: see sql_simple.h. */
#include "protocol/sql_simple.h"
#include "protocol/sql_token.h"

/* Ends the value: a comma, or the end of the text. */
static bool is_value_end(const struct sql_reader *r)
{
    return r->type == SQL_PIECE_END || sql_is_mark(r, ',') || sql_is_mark(r, ';');
}

static bool is_equals(const struct sql_reader *r)
{
    return r->type == SQL_PIECE_ASSIGN || sql_is_mark(r, '=');
}

/* Over an expression, to the comma outside of parentheses that ends it. */
static bool skip_expression(struct sql_reader *r)
{
    unsigned depth = 0;
    while (r->type != SQL_PIECE_BAD) {
        if (depth == 0 && is_value_end(r))
            return true;
        if (r->type == SQL_PIECE_END || sql_is_mark(r, ';'))
            return false;
        if (sql_is_mark(r, '('))
            depth++;
        if (sql_is_mark(r, ')') && depth-- == 0)
            return false;
        sql_next(r);
    }
    return false;
}

/* Words that call a function without parentheses: what they say changes. */
static bool is_calling_word(const struct sql_reader *r)
{
    static const char *const words[] = {
        "current_date", "current_role",   "current_time", "current_timestamp", "current_user",
        "localtime",    "localtimestamp", "rownum",       "session_user",      "sysdate",
        "system_user",  "user",           "utc_date",     "utc_time",          "utc_timestamp",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (sql_is(r, words[i]))
            return true;
    return false;
}

/* One literal that is the whole value; false: it is not, and nothing was taken. */
static bool take_literal(struct sql_reader *r, struct sql_assignment *a)
{
    struct sql_reader at = *r;
    bool negative = sql_skip_mark(&at, '-');
    bool sign = negative || sql_skip_mark(&at, '+');
    bool number = at.type == SQL_PIECE_NUMBER && (!sign || at.glued);
    bool text =
        !sign && !at.escaped &&
        (at.type == SQL_PIECE_STRING ||
         ((at.type == SQL_PIECE_NAME || at.type == SQL_PIECE_WORD) && !is_calling_word(&at)));
    struct sql_reader behind = at;
    sql_next(&behind);
    if (!(number || text) || !is_value_end(&behind))
        return false;
    const uint8_t *from = negative ? r->text.at : at.value.at;
    a->kind = sql_is(&at, "default") ? SQL_VALUE_DEFAULT : SQL_VALUE_LITERAL;
    a->quoted = at.type == SQL_PIECE_STRING;
    if (a->kind == SQL_VALUE_LITERAL)
        a->value = bytes_of(from, (size_t)(at.value.at + at.value.len - from));
    *r = behind;
    return true;
}

static bool take_value(struct sql_reader *r, struct sql_assignment *a)
{
    if (take_literal(r, a))
        return true;
    a->kind = SQL_VALUE_OTHER;
    return !is_value_end(r) && skip_expression(r);
}

/* A character set or a collation. */
static bool take_plain(struct sql_reader *r, struct bytes *out)
{
    bool plain =
        (r->type == SQL_PIECE_WORD || r->type == SQL_PIECE_NAME || r->type == SQL_PIECE_STRING) &&
        !r->escaped && r->value.len;
    *out = r->value;
    if (plain)
        sql_next(r);
    return plain;
}

static bool take_charset(struct sql_reader *r, struct sql_assignment *a, bool names)
{
    a->target = names ? SQL_SET_NAMES : SQL_SET_CHARSET;
    if (sql_skip(r, "default")) {
        a->kind = SQL_VALUE_DEFAULT;
    } else {
        a->kind = SQL_VALUE_LITERAL;
        a->quoted = r->type == SQL_PIECE_STRING;
        if (!take_plain(r, &a->value))
            return false;
    }
    if (names && sql_skip(r, "collate") && (sql_is(r, "default") || !take_plain(r, &a->collate)))
        return false;
    return is_value_end(r);
}

static bool skip_isolation(struct sql_reader *r)
{
    if (!sql_skip(r, "level"))
        return false;
    if (sql_skip(r, "read"))
        return sql_skip(r, "committed") || sql_skip(r, "uncommitted");
    if (sql_skip(r, "repeatable"))
        return sql_skip(r, "read");
    return sql_skip(r, "serializable");
}

/* Each of the two characteristics once, in either order, and nothing behind them. */
static bool take_transaction(struct sql_reader *r, struct sql_assignment *a)
{
    bool isolation = false;
    bool access = false;
    a->kind = SQL_VALUE_LITERAL;
    do {
        if (!isolation && sql_skip(r, "isolation")) {
            isolation = true;
            if (!skip_isolation(r))
                return false;
        } else if (!access && sql_skip(r, "read")) {
            access = true;
            if (!sql_skip(r, "only") && !sql_skip(r, "write"))
                return false;
        } else {
            return false;
        }
    } while (sql_skip_mark(r, ','));
    return r->type == SQL_PIECE_END || sql_is_mark(r, ';');
}

/* Words that begin something else than the name of a variable. */
static bool is_other(const struct sql_reader *r)
{
    static const char *const words[] = {"password", "role", "default", "resource", "statement"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (sql_is(r, words[i]))
            return true;
    return false;
}

/* A target without a scope that is no variable; 0: there is none in hand, 1: taken, -1: bad. */
static int take_special(struct sql_reader *r, struct sql_assignment *a)
{
    struct sql_reader at = *r;
    bool names = sql_skip(&at, "names");
    bool charset = !names && sql_skip(&at, "charset");
    if (!names && !charset && (sql_skip(&at, "character") || sql_skip(&at, "char")))
        charset = sql_skip(&at, "set");
    if (!names && !charset)
        return is_other(r) ? -1 : 0;
    *r = at;
    return take_charset(r, a, names) ? 1 : -1;
}

/* Behind an unscoped name the scope holds that was last written as a word: SET GLOBAL a = 1, b = 2
 * sets two global ones, but SET @@global.a = 1, b = 2 does not. */
static bool take_target(struct sql_reader *r, struct sql_assignment *a, bool scoped, bool global)
{
    a->target = global ? SQL_SET_GLOBAL : SQL_SET_SESSION;
    if (scoped)
        return sql_take_variable(r, &a->name);
    if (r->type == SQL_PIECE_SYSTEM) {
        struct sql_system system;
        bool taken = sql_take_system(r, &system);
        a->target = system.global ? SQL_SET_GLOBAL : SQL_SET_SESSION;
        a->untold = !system.scoped;
        a->name = system.name;
        return taken;
    }
    if (r->type != SQL_PIECE_VARIABLE)
        return sql_take_variable(r, &a->name);
    bool named = !r->escaped && r->value.len;
    a->target = SQL_SET_USER;
    a->name = r->value;
    sql_next(r);
    return named;
}

static bool take_assignment(struct sql_reader *r, struct sql_assignment *a, bool first,
                            bool *global)
{
    bool to_global;
    bool scoped = sql_take_scope(r, &to_global);
    if (scoped)
        *global = to_global;
    if (first && sql_skip(r, "transaction")) {
        a->target = *global ? SQL_SET_GLOBAL : SQL_SET_TRANSACTION;
        a->once = !scoped;
        return take_transaction(r, a);
    }
    if (!scoped) {
        int special = take_special(r, a);
        if (special)
            return special > 0;
    }
    if (!take_target(r, a, scoped, *global) || !is_equals(r))
        return false;
    sql_next(r);
    return take_value(r, a);
}

bool sql_set_read(struct bytes text, uint32_t mode, struct sql_set *out)
{
    bool global = false;
    out->count = 0;
    if (text.len > SQL_SIMPLE_MAX_BYTES)
        return false;
    struct sql_reader r = sql_reader(text, mode);
    if (!sql_skip(&r, "set"))
        return false;
    do {
        if (out->count == SQL_ITEMS_MAX)
            return false;
        struct sql_assignment *a = &out->item[out->count];
        memset(a, 0, sizeof *a);
        if (!take_assignment(&r, a, out->count == 0, &global))
            return false;
        out->count++;
    } while (sql_skip_mark(&r, ','));
    return sql_at_end(&r) && !r.hinted;
}
