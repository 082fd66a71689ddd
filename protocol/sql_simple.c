/* SPDX-License-Identifier: Apache-2.0
 *
 * SELECT of variables and of single facts, SHOW WARNINGS and the like: see sql_simple.h. */
#include "protocol/sql_simple.h"

#include "protocol/sql_scan.h"
#include "protocol/sql_token.h"

/* [AS] alias, if one is there. No operator is a word that can end a text, so that any one word is
 * an alias, or an error of the server's. */
static bool skip_alias(struct sql_reader *r)
{
    bool as = sql_skip(r, "as");
    bool word = r->type == SQL_PIECE_WORD && !sql_is(r, "from") && !sql_is(r, "limit");
    if (word || r->type == SQL_PIECE_NAME || r->type == SQL_PIECE_STRING) {
        sql_next(r);
        return true;
    }
    return !as;
}

static bool skip_tail(struct sql_reader *r)
{
    uint64_t limit;
    if (sql_skip(r, "from") && !sql_skip(r, "dual"))
        return false;
    if (sql_skip(r, "limit") && (!sql_take_number(r, &limit) || limit == 0))
        return false;
    return sql_at_end(r) && !r->hinted;
}

bool sql_reads_read(struct bytes text, uint32_t mode, struct sql_reads *out)
{
    out->count = 0;
    if (text.len > SQL_SIMPLE_MAX_BYTES)
        return false;
    struct sql_reader r = sql_reader(text, mode);
    if (!sql_skip(&r, "select"))
        return false;
    do {
        struct sql_system system;
        if (out->count == SQL_ITEMS_MAX || r.type != SQL_PIECE_SYSTEM)
            return false;
        if (!sql_take_system(&r, &system) || !skip_alias(&r))
            return false;
        out->item[out->count].name = system.name;
        out->item[out->count].global = system.global;
        out->item[out->count++].scoped = system.scoped;
    } while (sql_skip_mark(&r, ','));
    return skip_tail(&r);
}

/* ---- one fact ---- */

static bool take_call(struct sql_reader *r, const char *name)
{
    struct sql_reader behind = *r;
    if (!sql_skip(&behind, name) || !sql_skip_mark(&behind, '('))
        return false;
    *r = behind;
    return true;
}

static bool take_function(struct sql_reader *r, struct sql_ask *out)
{
    static const struct {
        const char *name;
        uint8_t what;
    } functions[] = {
        {"row_count", SQL_ASKED_ROW_COUNT},         {"found_rows", SQL_ASKED_FOUND_ROWS},
        {"connection_id", SQL_ASKED_CONNECTION_ID}, {"last_insert_id", SQL_ASKED_LAST_ID},
        {"is_used_lock", SQL_ASKED_LOCK_OWNER},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (!take_call(r, functions[i].name))
            continue;
        out->what = functions[i].what;
        if (out->what == SQL_ASKED_LOCK_OWNER) {
            if (r->type != SQL_PIECE_STRING || r->escaped)
                return false;
            sql_next(r);
        }
        return sql_skip_mark(r, ')');
    }
    return false;
}

static bool take_system(struct sql_reader *r, struct sql_ask *out)
{
    static const struct {
        const char *name;
        uint8_t what;
    } variables[] = {
        {"warning_count", SQL_ASKED_WARNING_COUNT},    {"error_count", SQL_ASKED_ERROR_COUNT},
        {"pseudo_thread_id", SQL_ASKED_CONNECTION_ID}, {"identity", SQL_ASKED_LAST_ID},
        {"last_insert_id", SQL_ASKED_LAST_ID},
    };
    struct sql_system system;
    if (!sql_take_system(r, &system) || system.global)
        return false;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (sql_text_is(system.name, variables[i].name)) {
            out->what = variables[i].what;
            return true;
        }
    return false;
}

static bool take_limit(struct sql_reader *r, struct sql_ask *out)
{
    if (!sql_skip(r, "limit"))
        return true;
    if (!sql_take_number(r, &out->limit))
        return false;
    if (sql_skip_mark(r, ',')) {
        out->offset = out->limit;
        return sql_take_number(r, &out->limit);
    }
    return !sql_skip(r, "offset") || sql_take_number(r, &out->offset);
}

/* COUNT is a function's name only where its parenthesis follows at once, as the session wants it.
 */
static bool read_count(struct sql_reader *r)
{
    bool glued = r->glued || (r->mode & SQL_MODE_IGNORE_SPACE);
    return glued && sql_skip_mark(r, '(') && sql_skip_mark(r, '*') && sql_skip_mark(r, ')');
}

static bool read_show(struct sql_reader *r, struct sql_ask *out)
{
    bool count = sql_skip(r, "count");
    if (count && !read_count(r))
        return false;
    bool errors = sql_is(r, "errors");
    if (!errors && !sql_is(r, "warnings"))
        return false;
    sql_next(r);
    if (count)
        out->what = errors ? SQL_ASKED_ERROR_COUNT : SQL_ASKED_WARNING_COUNT;
    else
        out->what = errors ? SQL_ASKED_ERRORS : SQL_ASKED_WARNINGS;
    return (count || take_limit(r, out)) && sql_at_end(r) && !r->hinted;
}

bool sql_ask_read(struct bytes text, uint32_t mode, struct sql_ask *out)
{
    *out = (struct sql_ask){.limit = UINT64_MAX};
    if (text.len > SQL_SIMPLE_MAX_BYTES)
        return false;
    struct sql_reader r = sql_reader(text, mode);
    if (sql_skip(&r, "show"))
        return read_show(&r, out);
    if (!sql_skip(&r, "select"))
        return false;
    bool taken = r.type == SQL_PIECE_SYSTEM ? take_system(&r, out) : take_function(&r, out);
    return taken && skip_alias(&r) && skip_tail(&r);
}
