/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/sql_token.h"

#include <strings.h>

#include "protocol/sql_scan.h"

static bool is_word_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c >= 0x80;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool at(const struct sql_reader *r, size_t i, char c)
{
    return (size_t)(r->end - r->next) > i && r->next[i] == (uint8_t)c;
}

static void bad(struct sql_reader *r)
{
    r->type = SQL_PIECE_BAD;
    r->next = r->end;
}

static void skip_line(struct sql_reader *r)
{
    const uint8_t *eol = memchr(r->next, '\n', (size_t)(r->end - r->next));
    r->next = eol ? eol + 1 : r->end;
}

/* A dash comment needs space or a control character behind its dashes, or the end. */
static bool is_dash_comment(const struct sql_reader *r)
{
    return at(r, 0, '-') && at(r, 1, '-') &&
           (r->end - r->next == 2 || r->next[2] <= ' ' || r->next[2] == 0x7F);
}

/* Into an executable comment, over the version in its head. */
static void enter_comment(struct sql_reader *r)
{
    enum { VERSION_MIN_DIGITS = 5, VERSION_MAX_DIGITS = 6 };
    size_t digits = 0;
    r->next += r->next[2] == '!' ? 3 : 4;
    while (digits < VERSION_MAX_DIGITS && r->next + digits < r->end && is_digit(r->next[digits]))
        digits++;
    r->next += digits >= VERSION_MIN_DIGITS ? digits : 0;
    r->inside = true;
    r->edges++;
}

/* Over space and plain comments; false when what stands there is not plain. An optimizer hint may
 * change what the rest means (SET_VAR), but not where it begins. */
static bool skip_gap(struct sql_reader *r)
{
    while (r->next < r->end) {
        if (is_space(*r->next)) {
            r->next++;
        } else if (*r->next == '#' || is_dash_comment(r)) {
            skip_line(r);
        } else if (at(r, 0, '/') && at(r, 1, '*')) {
            bool runs =
                at(r, 2, '!') || (at(r, 2, 'M') && at(r, 3, '!') && (r->mode & SQL_MODE_MARIADB));
            if (runs && r->enters && !r->inside) {
                enter_comment(r);
                continue;
            }
            const uint8_t *end =
                runs ? NULL : memmem(r->next + 2, (size_t)(r->end - r->next) - 2, "*/", 2);
            if (!end)
                return false;
            r->hinted = r->hinted || at(r, 2, '+');
            r->next = end + 2;
        } else if (r->inside && at(r, 0, '*') && at(r, 1, '/')) {
            r->next += 2;
            r->inside = false;
            r->edges++;
        } else {
            return true;
        }
        r->glued = false;
    }
    return true;
}

/* From the opening quote to behind the closing one. */
static void take_quoted(struct sql_reader *r, enum sql_piece_type type)
{
    uint8_t quote = *r->next;
    bool backslashes = type == SQL_PIECE_STRING && !(r->mode & SQL_MODE_NO_BACKSLASH_ESCAPES);
    const uint8_t *from = ++r->next;
    r->type = (uint8_t)type;
    for (; r->next < r->end; r->next++) {
        if (*r->next == '\\' && backslashes) {
            r->escaped = true;
            if (r->next + 1 < r->end)
                r->next++;
        } else if (*r->next == quote) {
#ifdef SLUICE_PLANT_BUG
            bool doubled = r->next[1] == quote; /* to see that the fuzz targets find it */
#else
            bool doubled = at(r, 1, (char)quote);
#endif
            if (!doubled) {
                r->value = bytes_of(from, (size_t)(r->next - from));
                r->next++;
                return;
            }
            r->escaped = true;
            r->next++;
        }
    }
    bad(r);
}

static void take_digits(struct sql_reader *r)
{
    while (r->next < r->end && is_digit(*r->next))
        r->next++;
}

/* `e5`, `E-5`: over it, when it is there. */
static void take_exponent(struct sql_reader *r)
{
    if (!at(r, 0, 'e') && !at(r, 0, 'E'))
        return;
    size_t sign = at(r, 1, '-') || at(r, 1, '+') ? 1 : 0;
    if ((size_t)(r->end - r->next) > 1 + sign && is_digit(r->next[1 + sign])) {
        r->next += 1 + sign;
        take_digits(r);
    }
}

/* 1, 1.5, .5, 1., 1e5, 1.e5; false: a word that begins with digits, as 0x41 and 2nd. */
static bool take_number(struct sql_reader *r)
{
    take_digits(r);
    if (at(r, 0, '.')) {
        r->next++;
        take_digits(r);
        take_exponent(r);
        return true;
    }
    const uint8_t *whole = r->next;
    take_exponent(r);
    return r->next > whole || r->next == r->end || !is_word_byte(*r->next);
}

static void take_word(struct sql_reader *r)
{
    bool begins_number = is_digit(*r->next) || *r->next == '.';
    r->type = SQL_PIECE_NUMBER;
    if (begins_number && take_number(r))
        return;
    r->type = SQL_PIECE_WORD;
    while (r->next < r->end && is_word_byte(*r->next))
        r->next++;
}

/* A quoted name of a variable is cut as a string or a name is, whichever its quotes make it. */
static void take_variable(struct sql_reader *r)
{
    r->next++;
    if (at(r, 0, '@')) {
        r->next++;
        r->type = SQL_PIECE_SYSTEM;
        return;
    }
    bool ansi = (r->mode & SQL_MODE_ANSI_QUOTES) != 0;
    if (at(r, 0, '\'') || at(r, 0, '"') || at(r, 0, '`')) {
        bool name = *r->next == '`' || (*r->next == '"' && ansi);
        take_quoted(r, name ? SQL_PIECE_NAME : SQL_PIECE_STRING);
        if (r->type != SQL_PIECE_BAD)
            r->type = SQL_PIECE_VARIABLE;
        return;
    }
    const uint8_t *from = r->next;
    while (r->next < r->end && (is_word_byte(*r->next) || *r->next == '.'))
        r->next++;
    r->type = SQL_PIECE_VARIABLE;
    r->value = bytes_of(from, (size_t)(r->next - from));
}

static void take_piece(struct sql_reader *r, bool behind_name)
{
    uint8_t c = *r->next;
    bool ansi = (r->mode & SQL_MODE_ANSI_QUOTES) != 0;
    bool fraction = c == '.' && !behind_name && r->end - r->next > 1 && is_digit(r->next[1]);
    if (c == 0) {
        bad(r);
    } else if (c == '`' || (c == '"' && ansi)) {
        take_quoted(r, SQL_PIECE_NAME);
    } else if (c == '\'' || c == '"') {
        take_quoted(r, SQL_PIECE_STRING);
    } else if (c == '@') {
        take_variable(r);
    } else if (is_word_byte(c) || fraction) {
        take_word(r);
    } else if (c == ':' && at(r, 1, '=')) {
        r->next += 2;
        r->type = SQL_PIECE_ASSIGN;
    } else {
        r->next++;
        r->type = SQL_PIECE_MARK;
        r->mark = c;
    }
}

void sql_next(struct sql_reader *r)
{
    bool behind_name = r->type == SQL_PIECE_WORD || r->type == SQL_PIECE_NAME;
    r->mark = 0;
    r->glued = true;
    r->escaped = false;
    if (r->type == SQL_PIECE_BAD)
        return;
    r->text = r->value = bytes_of(r->end, 0);
    if (!skip_gap(r) || (r->next == r->end && (r->cut || r->inside))) {
        bad(r);
        return;
    }
    r->type = SQL_PIECE_END;
    if (r->next == r->end)
        return;
    const uint8_t *from = r->next;
    take_piece(r, behind_name && r->glued);
    bool quoted = r->type == SQL_PIECE_NAME || r->type == SQL_PIECE_STRING;
    if (r->inside && quoted)
        bad(r);
    r->text = r->type == SQL_PIECE_BAD ? r->text : bytes_of(from, (size_t)(r->next - from));
    if (r->type == SQL_PIECE_WORD || r->type == SQL_PIECE_NUMBER)
        r->value = r->text;
}

static struct sql_reader reader_of(struct bytes text, uint32_t mode, bool enters)
{
    struct sql_reader r = {
        .next = text.at, .end = text.at + text.len, .mode = mode, .enters = enters};
    for (size_t i = 0; (mode & SQL_MODE_MULTIBYTE_UNSAFE) && !r.cut && i < text.len; i++)
        if (text.at[i] > 0x7F) {
            r.cut = true;
            r.end = text.at + i;
        }
    sql_next(&r);
    return r;
}

struct sql_reader sql_reader(struct bytes text, uint32_t mode)
{
    return reader_of(text, mode, false);
}

struct sql_reader sql_reader_inside(struct bytes text, uint32_t mode)
{
    return reader_of(text, mode, true);
}

bool sql_text_is(struct bytes text, const char *word)
{
    return strlen(word) == text.len &&
           (text.len == 0 || strncasecmp((const char *)text.at, word, text.len) == 0);
}

bool sql_is(const struct sql_reader *r, const char *word)
{
    return r->type == SQL_PIECE_WORD && sql_text_is(r->text, word);
}

bool sql_is_mark(const struct sql_reader *r, char mark)
{
    return r->type == SQL_PIECE_MARK && r->mark == (uint8_t)mark;
}

bool sql_skip(struct sql_reader *r, const char *word)
{
    bool is = sql_is(r, word);
    if (is)
        sql_next(r);
    return is;
}

bool sql_is_called(const struct sql_reader *r, const char *word)
{
    return (r->type == SQL_PIECE_WORD || r->type == SQL_PIECE_NAME) && sql_text_is(r->value, word);
}

bool sql_skip_mark(struct sql_reader *r, char mark)
{
    bool is = sql_is_mark(r, mark);
    if (is)
        sql_next(r);
    return is;
}

/* The servers drop `;` and space from the end of a text. Behind any other `;` they see one more
 * statement, with a result of its own, and be it a comment. */
bool sql_at_end(struct sql_reader *r)
{
    if (sql_is_mark(r, ';')) {
        while (r->next < r->end && (*r->next == ';' || is_space(*r->next)))
            r->next++;
        if (r->next < r->end)
            return false;
        sql_next(r);
    }
    return r->type == SQL_PIECE_END;
}

bool sql_take_name(struct sql_reader *r, struct bytes *out)
{
    if ((r->type != SQL_PIECE_WORD && r->type != SQL_PIECE_NAME) || r->escaped || !r->value.len)
        return false;
    *out = r->value;
    sql_next(r);
    return true;
}

bool sql_take_number(struct sql_reader *r, uint64_t *out)
{
    uint64_t n = 0;
    if (r->type != SQL_PIECE_NUMBER)
        return false;
    for (size_t i = 0; i < r->text.len; i++)
        if (!is_digit(r->text.at[i]) || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(r->text.at[i] - '0'), &n))
            return false;
    *out = n;
    sql_next(r);
    return true;
}

bool sql_take_variable(struct sql_reader *r, struct bytes *out)
{
    bool word = r->type == SQL_PIECE_WORD;
    if (!sql_take_name(r, out))
        return false;
    if (!sql_is_mark(r, '.'))
        return true;
    bool glued = r->glued;
    sql_next(r);
    struct bytes rest = r->text;
    bool whole = word && glued && r->glued && r->type == SQL_PIECE_WORD;
    *out = bytes_of(out->at, whole ? (size_t)(rest.at + rest.len - out->at) : 0);
    sql_next(r);
    return whole;
}

bool sql_take_scope(struct sql_reader *r, bool *global)
{
    *global = sql_is(r, "global") || sql_is(r, "persist") || sql_is(r, "persist_only");
    if (!*global && !sql_is(r, "session") && !sql_is(r, "local"))
        return false;
    sql_next(r);
    return true;
}

bool sql_take_system(struct sql_reader *r, struct sql_system *out)
{
    *out = (struct sql_system){.scoped = false};
    sql_next(r);
    if (!r->glued)
        return false;
    struct sql_reader behind = *r;
    bool global;
    if (sql_take_scope(&behind, &global) && sql_skip_mark(&behind, '.')) {
        out->scoped = true;
        out->global = global;
        *r = behind;
    }
    return sql_take_variable(r, &out->name);
}
