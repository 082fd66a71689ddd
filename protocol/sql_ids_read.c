/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a text asks for its connection's id, or compares ids: see sql_simple.h. A column without an
 * alias is named after its text, so that the items of SELECT lists are told from each other. In
 * doubt an item has an alias: it would get a second one. */
#include "protocol/sql_scan.h"
#include "protocol/sql_simple.h"
#include "protocol/sql_token.h"

static bool is_one_of(const struct sql_reader *r, const char *const *words)
{
    for (; *words; words++)
        if (sql_is_called(r, *words))
            return true;
    return false;
}

static bool is_about_threads(const struct sql_reader *r)
{
    static const char *const words[] = {
        "processlist",
        "processlist_id",
        "threads",
        "session_connect_attrs",
        "innodb_trx",
        "session_account_connect_attrs",
        "innodb_locks",
        "innodb_lock_waits",
        "data_locks",
        "schema_table_lock_waits",
        "metadata_locks",
        "metadata_lock_info",
        "x$processlist",
        "x$session",
        "x$innodb_lock_waits",
        "x$schema_table_lock_waits",
        "ps_thread_id",
        "is_used_lock",
        NULL,
    };
    return is_one_of(r, words);
}

/* A call in hand, or @@pseudo_thread_id: leaves its last piece in hand; false: neither. */
static bool take_connection_id(struct sql_reader *r, enum sql_place *what)
{
    struct sql_reader look = *r;
    if (sql_is_called(&look, "connection_id")) {
        sql_next(&look);
        if (!sql_skip_mark(&look, '(') || !sql_is_mark(&look, ')'))
            return false;
        *r = look;
        *what = SQL_PLACE_CALL;
        return true;
    }
    struct sql_system system;
    if (look.type != SQL_PIECE_SYSTEM || !sql_take_system(&look, &system) || system.global ||
        !sql_text_is(system.name, "pseudo_thread_id"))
        return false;
    const uint8_t *end = system.name.at + system.name.len;
    while (r->next < end)
        sql_next(r);
    *what = SQL_PLACE_VARIABLE;
    return true;
}

/* ---- SELECT lists ---- */

/* What the piece before left of the item. */
enum last {
    LAST_OPERATOR, /* an operand is to come */
    LAST_PREFIX,   /* a word that makes a literal of a string behind it, as DATE */
    LAST_LETTER,   /* .. right behind it, as X'41' */
    LAST_STRING,   /* a string, which one more goes on */
    LAST_OPERAND,  /* a name behind it is an alias */
};

/* One depth of parentheses. */
struct level {
    bool list;      /* in a SELECT list */
    bool modifiers; /* .. right behind SELECT */
    bool begun;     /* an item has begun */
    bool aliased;   /* .. and has an alias */
    bool touched;   /* .. and holds a place, at whatever depth */
    bool holds;     /* something at this depth, or deeper, is a place */
    bool behind_in; /* it was opened by IN */
    uint8_t last;   /* enum last */
    uint8_t cases;  /* CASE without its END */
    uint32_t edges; /* of executable comments, where the item began */
    uint32_t edges_end;
    const uint8_t *from, *to; /* the item */
};

enum { LEVELS_MAX = 32 };

/* Where in its text the search is. */
struct search {
    struct bytes text;
    struct sql_places *out;
    struct level level[LEVELS_MAX];
    size_t depth;
    bool failed;
    bool behind_dot, behind_in, compares; /* what the piece before was */
    bool begins;                          /* a statement begins with the piece in hand */
    bool sets;                            /* it is a SET */
    bool keeps;                           /* what is called here is called later */
    bool until_select;                    /* .. but for what a SELECT calls */
};

static struct level *top(struct search *s)
{
    return &s->level[s->depth];
}

static void add_place(struct search *s, enum sql_place what, const uint8_t *from, const uint8_t *to)
{
    struct sql_places *out = s->out;
    if (out->count == SQL_PLACES_MAX) {
        s->failed = true;
        return;
    }
    out->item[out->count].at = (uint32_t)(from - s->text.at);
    out->item[out->count].len = (uint32_t)(to - from);
    out->item[out->count++].what = (uint8_t)what;
}

/* An alias behind half of a comment that does not run would name what is not there. */
static void end_item(struct search *s)
{
    struct level *l = top(s);
    if (l->list && l->begun && l->touched && !l->aliased && l->edges == l->edges_end)
        add_place(s, SQL_PLACE_NAME, l->from, l->to);
    l->begun = l->aliased = l->touched = false;
    l->last = LAST_OPERATOR;
    l->cases = 0;
}

static bool is_modifier(const struct sql_reader *r)
{
    static const char *const words[] = {"all",
                                        "distinct",
                                        "distinctrow",
                                        "high_priority",
                                        "sql_no_cache",
                                        "straight_join",
                                        "sql_cache",
                                        "sql_small_result",
                                        "sql_big_result",
                                        "sql_calc_found_rows",
                                        "sql_buffer_result",
                                        NULL};
    return is_one_of(r, words);
}

/* Reserved words that end a SELECT list. */
static bool ends_list(const struct sql_reader *r)
{
    static const char *const words[] = {"from",  "limit", "where", "group",     "having",
                                        "order", "union", "for",   "procedure", "into",
                                        "lock",  "on",    NULL};
    if (is_one_of(r, words))
        return true;
    if (sql_is(r, "except") || sql_is(r, "intersect")) {
        struct sql_reader behind = *r;
        sql_next(&behind);
        return sql_is(&behind, "select") || sql_is(&behind, "all") || sql_is(&behind, "distinct") ||
               sql_is_mark(&behind, '(');
    }
    return (r->mode & SQL_MODE_MARIADB) && sql_is(r, "returning");
}

/* Reserved words behind which an operand has to come. */
static bool is_operator(const struct sql_reader *r)
{
    static const char *const words[] = {
        "is",  "not", "in",  "like",    "rlike",  "regexp",   "and",    "or", "between",
        "xor", "div", "mod", "collate", "binary", "interval", "exists", NULL};
    return is_one_of(r, words);
}

static enum last operand_of(const struct sql_reader *r, bool behind_dot)
{
    static const char *const words[] = {"date", "time", "timestamp", NULL};
    if (!behind_dot && is_one_of(r, words))
        return LAST_PREFIX;
    bool letter = sql_is(r, "n") || sql_is(r, "x") || sql_is(r, "b");
    return !behind_dot && letter ? LAST_LETTER : LAST_OPERAND;
}

static void word_in_case(struct level *l, const struct sql_reader *r)
{
    bool end = sql_is(r, "end");
    l->cases = (uint8_t)(l->cases + (sql_is(r, "case") ? 1 : 0) - (end ? 1 : 0));
    l->last = end ? LAST_OPERAND : LAST_OPERATOR;
}

static void word_in_item(struct level *l, const struct sql_reader *r, bool behind_dot)
{
    if (l->cases) {
        word_in_case(l, r);
    } else if (is_operator(r)) {
        l->last = LAST_OPERATOR;
    } else if (l->last != LAST_OPERATOR) {
        l->aliased = true;
    } else if (sql_is(r, "case")) {
        l->cases = 1;
    } else {
        l->last = (uint8_t)operand_of(r, behind_dot);
    }
}

static void string_in_item(struct level *l, bool glued)
{
    if (!l->cases && (l->last == LAST_OPERAND || (l->last == LAST_LETTER && !glued)))
        l->aliased = true;
    l->last = LAST_STRING;
}

/* A piece of an item, at the item's own depth. */
static void piece_in_item(struct search *s, const struct sql_reader *r)
{
    struct level *l = top(s);
    if (!l->begun) {
        l->begun = true;
        l->from = r->text.at;
        l->edges = r->edges;
    }
    l->to = r->text.at + r->text.len;
    l->edges_end = r->edges;
    switch ((enum sql_piece_type)r->type) {
    case SQL_PIECE_WORD:
        word_in_item(l, r, s->behind_dot);
        break;
    case SQL_PIECE_NAME:
        l->aliased = l->aliased || (l->last != LAST_OPERATOR && !l->cases);
        l->last = LAST_OPERAND;
        break;
    case SQL_PIECE_STRING:
        string_in_item(l, r->glued);
        break;
    case SQL_PIECE_NUMBER:
    case SQL_PIECE_VARIABLE:
        l->last = LAST_OPERAND;
        break;
    case SQL_PIECE_MARK:
        l->last = sql_is_mark(r, ')') || sql_is_mark(r, '?') || sql_is_mark(r, '}') ? LAST_OPERAND
                                                                                    : LAST_OPERATOR;
        break;
    case SQL_PIECE_SYSTEM:
    case SQL_PIECE_ASSIGN:
        l->last = LAST_OPERATOR;
        break;
    case SQL_PIECE_END:
    case SQL_PIECE_BAD:
        break;
    }
}

static void open_level(struct search *s)
{
    if (s->depth + 1 == LEVELS_MAX) {
        s->failed = true;
        return;
    }
    s->level[++s->depth] = (struct level){.behind_in = s->behind_in};
}

static void close_level(struct search *s)
{
    bool holds = top(s)->holds;
    if (!s->depth)
        return;
    s->depth--;
    top(s)->touched = top(s)->touched || holds;
    top(s)->holds = top(s)->holds || holds;
}

static void begin_list(struct search *s)
{
    struct level *l = top(s);
    end_item(s);
    l->list = l->modifiers = true;
    s->keeps = s->keeps && !s->until_select;
}

/* Goes over the piece in hand. */
static void note_in_list(struct search *s, const struct sql_reader *r)
{
    struct level *l = top(s);
    bool word = r->type == SQL_PIECE_WORD;
    bool modifier = l->modifiers && word && is_modifier(r);
    bool returning = word && !s->depth && (r->mode & SQL_MODE_MARIADB) && sql_is(r, "returning");
    l->modifiers = modifier;
    if (word && (sql_is(r, "select") || returning)) {
        begin_list(s);
    } else if (l->list && word && ends_list(r)) {
        end_item(s);
        l->list = false;
    } else if (sql_is_mark(r, ',')) {
        end_item(s);
    } else if (!modifier) {
        piece_in_item(s, r);
    }
}

static void note_piece(struct search *s, const struct sql_reader *r)
{
    if (sql_is_mark(r, ')') || sql_is_mark(r, ';') || r->type == SQL_PIECE_END)
        end_item(s);
    if (sql_is_mark(r, ')'))
        close_level(s);
    s->begins = sql_is_mark(r, ';');
    if (s->begins)
        *top(s) = (struct level){.list = false};
    else if (r->type != SQL_PIECE_END)
        note_in_list(s, r);
    if (sql_is_mark(r, '('))
        open_level(s);
    s->behind_dot = sql_is_mark(r, '.');
    s->behind_in = sql_is(r, "in");
    s->compares = sql_is_mark(r, '=') || sql_is_mark(r, '<') || sql_is_mark(r, '>');
}

/* ---- places ---- */

/* CREATE and ALTER keep what they call; CREATE TABLE .. SELECT does what its SELECT says now. */
static void note_keeper(struct search *s, const struct sql_reader *r)
{
    if (!sql_is(r, "create") && !sql_is(r, "alter"))
        return;
    struct sql_reader behind = *r;
    bool creates = sql_skip(&behind, "create") && !s->keeps;
    if (sql_skip(&behind, "or"))
        (void)sql_skip(&behind, "replace");
    (void)sql_skip(&behind, "temporary");
    s->until_select = creates && sql_is(&behind, "table");
    s->keeps = true;
}

/* A literal that may be a client's id. */
static bool is_id(const struct sql_reader *r)
{
    uint64_t id = 0;
    bool number = r->type == SQL_PIECE_NUMBER || (r->type == SQL_PIECE_STRING && !r->escaped);
    if (!number || r->value.len != 10)
        return false;
    for (size_t i = 0; i < r->value.len; i++) {
        if (r->value.at[i] < '0' || r->value.at[i] > '9')
            return false;
        id = id * 10 + (uint64_t)(r->value.at[i] - '0');
    }
    return id >> 31 == 1;
}

static bool is_compared(struct search *s, const struct sql_reader *r)
{
    struct sql_reader behind = *r;
    sql_next(&behind);
    return s->compares || top(s)->behind_in || sql_is_mark(&behind, '=') ||
           sql_is_mark(&behind, '<') || sql_is_mark(&behind, '>');
}

/* The piece in hand begins a place, and is left behind it. */
static bool take_place(struct search *s, struct sql_reader *r)
{
    const uint8_t *from = r->text.at;
    enum sql_place what = SQL_PLACE_ID;
    struct sql_reader first = *r;
    if (s->out->about_threads) {
        if (!is_id(r) || !is_compared(s, r))
            return false;
    } else if (s->behind_dot || s->keeps || !take_connection_id(r, &what)) {
        return false;
    }
    const uint8_t *to = r->text.at + r->text.len;
    s->failed = s->failed || r->edges != first.edges; /* no more than half of it may run */
    first.type = SQL_PIECE_NUMBER;                    /* as one operand */
    first.text = bytes_of(from, (size_t)(to - from));
    note_piece(s, &first);
    top(s)->touched = top(s)->holds = true;
    top(s)->to = to;
    top(s)->edges_end = r->edges;
    add_place(s, what, from, to);
    sql_next(r);
    if (s->sets && (sql_is_mark(r, '=') || r->type == SQL_PIECE_ASSIGN) &&
        what == SQL_PLACE_VARIABLE)
        s->failed = true;
    return true;
}

/* In a first walk what it is about, since that decides what a place is. */
static bool read_threads(struct bytes text, uint32_t mode, struct sql_places *out)
{
    struct sql_reader r = sql_reader_inside(text, mode);
    out->about_threads = sql_is(&r, "kill");
    for (; r.type != SQL_PIECE_END && r.type != SQL_PIECE_BAD; sql_next(&r))
        out->about_threads = out->about_threads || is_about_threads(&r);
    return r.type == SQL_PIECE_END;
}

static bool read_places(struct bytes text, uint32_t mode, struct sql_places *out)
{
    struct sql_reader r = sql_reader_inside(text, mode);
    struct search s = {.text = text, .out = out, .begins = true};
    while (!s.failed && r.type != SQL_PIECE_END && r.type != SQL_PIECE_BAD) {
        s.sets = s.begins ? sql_is(&r, "set") : s.sets;
        note_keeper(&s, &r);
        if (take_place(&s, &r))
            continue;
        note_piece(&s, &r);
        sql_next(&r);
    }
    note_piece(&s, &r);
    return !s.failed && r.type == SQL_PIECE_END;
}

/* What a text PREPARE or EXECUTE IMMEDIATE prepares, if that is a literal without escapes. */
static struct bytes prepared_text(struct bytes text, uint32_t mode)
{
    struct sql_names names;
    struct sql_reader r = sql_reader(text, mode);
    if (sql_skip(&r, "execute")) {
        bool literal = sql_skip(&r, "immediate") && r.type == SQL_PIECE_STRING && !r.escaped;
        struct bytes body = r.value;
        if (literal)
            sql_next(&r);
        return literal && (sql_is(&r, "using") || sql_at_end(&r)) ? body : text;
    }
    bool literal = sql_is(&r, "prepare") && sql_names_read(text, mode, &names) && names.literal;
    return literal ? names.body : text;
}

bool sql_connection_ids_read(struct bytes text, uint32_t mode, struct sql_places *out)
{
    struct bytes body = prepared_text(text, mode);
    memset(out, 0, sizeof *out);
    if (!read_threads(body, mode, out) || !read_places(body, mode, out))
        return false;
    for (size_t i = 0; i < out->count; i++)
        out->item[i].at += (uint32_t)(body.at - text.at);
    return true;
}
