/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that statements are about, and the named locks in a text: see sql_simple.h. */
#include "protocol/sql_simple.h"
#include "protocol/sql_token.h"

static bool take_table(struct sql_reader *r, struct sql_names *out)
{
    if (out->count == SQL_ITEMS_MAX)
        return false;
    struct bytes first;
    struct bytes second;
    if (!sql_take_name(r, &first))
        return false;
    if (sql_skip_mark(r, '.')) {
        if (!sql_take_name(r, &second))
            return false;
        out->item[out->count].schema = first;
        out->item[out->count++].name = second;
        return true;
    }
    out->item[out->count].schema = bytes_of(first.at, 0);
    out->item[out->count++].name = first;
    return true;
}

static bool take_one(struct sql_reader *r, struct sql_names *out)
{
    struct bytes name;
    if (!sql_take_name(r, &name))
        return false;
    out->item[0].schema = bytes_of(name.at, 0);
    out->item[0].name = name;
    out->count = 1;
    return true;
}

/* To the end of a text whose rest does not matter; `;` may end it. */
static bool skip_rest(struct sql_reader *r)
{
    while (r->type != SQL_PIECE_END && r->type != SQL_PIECE_BAD) {
        if (sql_is_mark(r, ';'))
            return sql_at_end(r);
        sql_next(r);
    }
    return r->type == SQL_PIECE_END;
}

static bool read_create(struct sql_reader *r, struct sql_names *out)
{
    out->what = SQL_NAMING_CREATE_TEMPORARY;
    if (sql_skip(r, "or") && !sql_skip(r, "replace"))
        return false;
    if (!sql_skip(r, "temporary") || !sql_skip(r, "table"))
        return false;
    if (sql_skip(r, "if")) {
        if (!sql_skip(r, "not") || !sql_skip(r, "exists"))
            return false;
        out->if_exists = true;
    }
    return take_table(r, out) && skip_rest(r);
}

static bool read_drop(struct sql_reader *r, struct sql_names *out)
{
    uint64_t seconds;
    if (sql_skip(r, "prepare")) {
        out->what = SQL_NAMING_DEALLOCATE;
        return take_one(r, out) && sql_at_end(r);
    }
    out->what = SQL_NAMING_DROP_TABLE;
    out->temporary = sql_skip(r, "temporary");
    if (!sql_skip(r, "table") && !sql_skip(r, "tables"))
        return false;
    if (sql_skip(r, "if")) {
        if (!sql_skip(r, "exists"))
            return false;
        out->if_exists = true;
    }
    do {
        if (!take_table(r, out))
            return false;
    } while (sql_skip_mark(r, ','));
    if (sql_skip(r, "wait") && !sql_take_number(r, &seconds))
        return false;
    (void)sql_skip(r, "nowait");
    if (!sql_skip(r, "restrict"))
        (void)sql_skip(r, "cascade");
    return sql_at_end(r);
}

static bool read_prepare(struct sql_reader *r, struct sql_names *out)
{
    out->what = SQL_NAMING_PREPARE;
    if (!take_one(r, out) || !sql_skip(r, "from"))
        return false;
    if (r->type == SQL_PIECE_STRING && !r->escaped) {
        out->body = r->value;
        struct sql_reader behind = *r;
        sql_next(&behind);
        out->literal = sql_at_end(&behind);
    }
    return skip_rest(r);
}

static bool read_handler(struct sql_reader *r, struct sql_names *out)
{
    if (!take_table(r, out))
        return false;
    if (sql_skip(r, "close")) {
        out->what = SQL_NAMING_HANDLER_CLOSE;
        return sql_at_end(r);
    }
    if (sql_skip(r, "read")) {
        out->what = SQL_NAMING_HANDLER_READ;
        return skip_rest(r);
    }
    if (!sql_skip(r, "open"))
        return false;
    out->what = SQL_NAMING_HANDLER_OPEN;
    bool as = sql_skip(r, "as");
    if (as || r->type == SQL_PIECE_WORD || r->type == SQL_PIECE_NAME)
        return take_one(r, out) && sql_at_end(r);
    out->item[0].schema = bytes_of(out->item[0].name.at, 0); /* it is called without one */
    return sql_at_end(r);
}

static bool read_named(struct sql_reader *r, struct sql_names *out)
{
    if (sql_skip(r, "create"))
        return read_create(r, out);
    if (sql_skip(r, "drop"))
        return read_drop(r, out);
    if (sql_skip(r, "prepare"))
        return read_prepare(r, out);
    if (sql_skip(r, "handler"))
        return read_handler(r, out);
    if (sql_skip(r, "deallocate")) {
        out->what = SQL_NAMING_DEALLOCATE;
        return sql_skip(r, "prepare") && take_one(r, out) && sql_at_end(r);
    }
    if (sql_skip(r, "savepoint")) {
        out->what = SQL_NAMING_SAVEPOINT;
        return take_one(r, out) && sql_at_end(r);
    }
    if (!sql_skip(r, "execute") || sql_is(r, "immediate"))
        return false;
    out->what = SQL_NAMING_EXECUTE;
    return take_one(r, out) && skip_rest(r);
}

bool sql_names_read(struct bytes text, uint32_t mode, struct sql_names *out)
{
    if (text.len > SQL_SIMPLE_MAX_BYTES)
        return false;
    struct sql_reader r = sql_reader(text, mode);
    memset(out, 0, sizeof *out);
    return read_named(&r, out);
}

/* ---- locks ---- */

static bool is_plain_lock_name(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.at[i];
        if (c < ' ' || c > '~' || c == '\'' || c == '"' || c == '\\' || c == '`')
            return false;
    }
    return name.len > 0;
}

/* The first argument of a call, when it is one plain literal. */
static bool lock_literal(struct sql_reader r, char end, struct bytes *name)
{
    if (r.type != SQL_PIECE_STRING || r.escaped)
        return false;
    *name = r.value;
    sql_next(&r);
    return sql_is_mark(&r, end) && is_plain_lock_name(*name);
}

/* Locks of other functions, which no list of names covers. */
static bool takes_other_locks(const struct sql_reader *r)
{
    static const char *const words[] = {
        "service_get_read_locks",     "service_get_write_locks",       "service_release_locks",
        "version_tokens_lock_shared", "version_tokens_lock_exclusive", "version_tokens_unlock",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (sql_is_called(r, words[i]))
            return true;
    return false;
}

static void note_lock(struct sql_reader r, bool gets, struct sql_locks *out)
{
    struct bytes name;
    if (!lock_literal(r, gets ? ',' : ')', &name) || (gets && out->count == SQL_ITEMS_MAX))
        out->all_literal = false;
    else if (gets)
        out->name[out->count++] = name;
}

bool sql_locks_read(struct bytes text, uint32_t mode, struct sql_locks *out)
{
    memset(out, 0, sizeof *out);
    if (text.len > SQL_SIMPLE_MAX_BYTES)
        return false;
    struct sql_reader r = sql_reader(text, mode);
    out->all_literal = true;
    while (r.type != SQL_PIECE_END && r.type != SQL_PIECE_BAD) {
        bool gets = sql_is_called(&r, "get_lock");
        bool releases = sql_is_called(&r, "release_lock");
        bool all = sql_is_called(&r, "release_all_locks");
        if (takes_other_locks(&r))
            out->all_literal = false;
        sql_next(&r);
        if (!(gets || releases || all) || !sql_skip_mark(&r, '('))
            continue;
        if (!all)
            note_lock(r, gets, out);
        out->gets |= gets;
        out->releases |= releases;
        out->releases_all |= all;
    }
    return r.type == SQL_PIECE_END;
}
