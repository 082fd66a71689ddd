/* SPDX-License-Identifier: Apache-2.0
 *
 * The pieces of a text are written as they come, but for literals, of which a list is held back
 * until something else than one more literal comes. See sql_digest.h. */
#include "protocol/sql_digest.h"

#include "protocol/sql_token.h"

/* How far a list of literals, or of literals in parentheses, is. What is `held` is written when
 * the list ends there, and not at all when it goes on. */
enum list {
    LIST_NONE,
    LIST_OPEN,          /* ( */
    LIST_LITERAL,       /* ? */
    LIST_LITERAL_COMMA, /* ? and held: , */
    LIST_GROUP,         /* (?) */
    LIST_GROUP_COMMA,   /* (?) and held: , */
    LIST_GROUP_OPEN,    /* (?) and held: , ( */
    LIST_GROUP_LITERAL, /* (?) and held: , (? */
    LIST_GROUP_LITERAL_COMMA,
};

static const char *const held[] = {"", "", "", ",", "", ",", ", (", ", (?", ", (?,"};

enum kind { KIND_LITERAL, KIND_COMMA, KIND_OPEN, KIND_CLOSE, KIND_REST };

struct writer {
    struct sql_digest *out;
    enum list list;
    bool opened; /* LIST_LITERAL: right behind a parenthesis */
    bool cut;
    bool glue;    /* no space before the next piece */
    bool operand; /* the last piece ends an operand: a sign behind it is an operator */
    bool name;    /* the last piece is a name: a parenthesis behind it belongs to it */
    char mark;    /* the last piece, when it is a mark */
};

static void write_bytes(struct writer *w, const char *at, size_t len)
{
    struct sql_digest *d = w->out;
    for (size_t i = 0; i < len; i++)
        d->hash = (d->hash ^ (uint8_t)at[i]) * 1099511628211u; /* FNV-1a */
    for (size_t i = 0; !w->cut && i < len; i++) /* a name may hold what no log line should */
        d->text[d->len++] = (uint8_t)at[i] < ' ' || at[i] == 0x7F ? '?' : at[i];
}

/* One piece, with or without a space before it. */
static void put(struct writer *w, const char *at, size_t len, bool space)
{
    static const char more[] = " ...";
    struct sql_digest *d = w->out;
    bool spaced = space && !w->glue && d->len;
    if (!w->cut && d->len + spaced + len + strlen(more) > SQL_DIGEST_TEXT_MAX_BYTES) {
        size_t skip = d->len == 0;
        memcpy(d->text + d->len, more + skip, strlen(more) - skip);
        d->len += strlen(more) - skip;
        w->cut = true;
    }
    if (spaced)
        write_bytes(w, " ", 1);
    write_bytes(w, at, len);
    w->glue = false;
}

static void put_literal(struct writer *w)
{
    w->opened = w->list == LIST_OPEN;
    put(w, "?", 1, true);
    w->list = LIST_LITERAL;
}

static void flush(struct writer *w)
{
    const char *rest = held[w->list];
    if (!*rest)
        return;
    put(w, rest, strlen(rest), false);
    w->glue = w->list == LIST_GROUP_OPEN;
    w->list = w->glue ? LIST_OPEN : LIST_NONE;
}

/* The list with one more piece; false: it does not go on with that. */
static bool goes_on(struct writer *w, enum kind k)
{
    switch (w->list) {
    case LIST_NONE:
    case LIST_OPEN:
        return false;
    case LIST_LITERAL:
        if (k == KIND_COMMA)
            w->list = LIST_LITERAL_COMMA;
        if (k == KIND_CLOSE && w->opened) {
            put(w, ")", 1, false);
            w->list = LIST_GROUP;
            return true;
        }
        return k == KIND_COMMA || k == KIND_LITERAL; /* 'a' 'b' is one */
    case LIST_LITERAL_COMMA:
        if (k == KIND_LITERAL)
            w->list = LIST_LITERAL;
        return k == KIND_LITERAL;
    case LIST_GROUP:
        if (k == KIND_COMMA)
            w->list = LIST_GROUP_COMMA;
        return k == KIND_COMMA;
    case LIST_GROUP_COMMA:
        if (k == KIND_OPEN)
            w->list = LIST_GROUP_OPEN;
        return k == KIND_OPEN;
    case LIST_GROUP_OPEN:
    case LIST_GROUP_LITERAL_COMMA:
        if (k == KIND_LITERAL)
            w->list = LIST_GROUP_LITERAL;
        return k == KIND_LITERAL;
    case LIST_GROUP_LITERAL:
        if (k == KIND_COMMA)
            w->list = LIST_GROUP_LITERAL_COMMA;
        if (k == KIND_CLOSE)
            w->list = LIST_GROUP;
        return k != KIND_OPEN && k != KIND_REST;
    }
    return false;
}

static bool holds(const char *marks, char c)
{
    return c && strchr(marks, c);
}

static void put_mark(struct writer *w, char mark, bool glued)
{
    bool longer = glued && holds("<>=!|&-", w->mark) && holds("<>=|&", mark); /* >=, ->>, || */
    bool close = holds(",).;", mark) || longer || (mark == '(' && w->name);
    put(w, &mark, 1, !close);
    w->glue = mark == '(' || mark == '.';
    w->list = mark == '(' ? LIST_OPEN : LIST_NONE;
}

static void take_mark(struct writer *w, char mark, bool glued)
{
    enum kind k = mark == ','   ? KIND_COMMA
                  : mark == '(' ? KIND_OPEN
                  : mark == ')' ? KIND_CLOSE
                                : KIND_REST;
    if (!goes_on(w, k)) {
        flush(w);
        put_mark(w, mark, glued);
    }
    w->mark = mark;
    w->operand = mark == ')';
    w->name = false;
}

static void take_literal(struct writer *w)
{
    if (!goes_on(w, KIND_LITERAL)) {
        flush(w);
        put_literal(w);
    }
    w->mark = 0;
    w->operand = true;
    w->name = false;
}

/* Words behind which an operand begins: a sign there is that of a number, and a parenthesis no
 * function's. */
static bool is_before_operand(const struct sql_reader *r)
{
    static const char *const words[] = {
        "select",  "where", "and",   "or",     "not",     "xor",      "in",       "like",
        "between", "then",  "from",  "else",   "when",    "case",     "by",       "return",
        "values",  "value", "limit", "offset", "on",      "having",   "set",      "div",
        "mod",     "is",    "as",    "all",    "default", "distinct", "interval",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (sql_is(r, words[i]))
            return true;
    return false;
}

static void take_rest(struct writer *w, const struct sql_reader *r)
{
    bool text_name = r->type == SQL_PIECE_VARIABLE && r->text.len > 1 &&
                     (r->text.at[1] == '\'' || r->text.at[1] == '"'); /* 'user'@'host' */
    flush(w);
    if (text_name)
        put(w, "@?", 2, true);
    else
        put(w, (const char *)r->text.at, r->text.len, true);
    w->list = LIST_NONE;
    w->glue = r->type == SQL_PIECE_SYSTEM;
    w->mark = 0;
    w->operand = r->type != SQL_PIECE_ASSIGN && !is_before_operand(r);
    w->name = w->operand && (r->type == SQL_PIECE_WORD || r->type == SQL_PIECE_NAME);
}

static bool is_number(const struct sql_reader *r)
{
    return r->type == SQL_PIECE_NUMBER ||
           (r->type == SQL_PIECE_WORD && r->text.at[0] >= '0' && r->text.at[0] <= '9');
}

/* 0x41 and x'41', N'a', a NULL among values; 2nd too, which looks like one. */
static bool is_literal_word(const struct writer *w, const struct sql_reader *r)
{
    if (sql_is(r, "null"))
        return holds("(,=", w->mark);
    if (!sql_is(r, "x") && !sql_is(r, "b") && !sql_is(r, "n"))
        return is_number(r);
    return r->next < r->end && *r->next == '\'';
}

static bool is_sign(const struct writer *w, const struct sql_reader *r)
{
    struct sql_reader behind = *r;
    if ((r->mark != '-' && r->mark != '+') || w->operand)
        return false;
    sql_next(&behind);
    return is_number(&behind);
}

static bool is_last(struct sql_reader r)
{
    return r.mark == ';' && sql_at_end(&r);
}

/* Takes the piece in hand; false: it is the last. */
static bool take_piece(struct writer *w, const struct sql_reader *r)
{
    switch ((enum sql_piece_type)r->type) {
    case SQL_PIECE_STRING:
    case SQL_PIECE_NUMBER:
        take_literal(w);
        return true;
    case SQL_PIECE_WORD:
        if (is_literal_word(w, r))
            take_literal(w);
        else
            take_rest(w, r);
        return true;
    case SQL_PIECE_NAME:
    case SQL_PIECE_VARIABLE:
    case SQL_PIECE_SYSTEM:
    case SQL_PIECE_ASSIGN:
        take_rest(w, r);
        return true;
    case SQL_PIECE_MARK:
        if (is_last(*r))
            return false;
        if (r->mark == '?')
            take_literal(w);
        else if (!is_sign(w, r))
            take_mark(w, (char)r->mark, r->glued);
        return true;
    case SQL_PIECE_BAD: /* whatever it is may hold literals */
        take_literal(w);
        return false;
    case SQL_PIECE_END:
        return false;
    }
    return false;
}

void sql_digest_make(struct bytes text, uint32_t mode, struct sql_digest *out)
{
    struct writer w = {.out = out};
    out->hash = 14695981039346656037u;
    out->len = 0;
    struct sql_reader r = sql_reader(text, mode);
    while (take_piece(&w, &r))
        sql_next(&r);
    flush(&w);
    out->text[out->len] = '\0';
}
