/* SPDX-License-Identifier: Apache-2.0
 *
 * The lexer of protocol/sql_scan.h: bytes to tokens, as the servers' own lexers cut them (MySQL
 * Reference Manual 9.1 to 9.7, "Literal Values" to "Comments"). `lex` says what the next byte
 * continues; every state can be left at any byte and taken up with the next piece. What tokens mean
 * is in sql_grammar.c. */
#include "protocol/sql_scan.h"

#include "protocol/sql_grammar.h"

enum lex {
    LEX_GROUND,
    LEX_WORD,
    LEX_QUOTED,
    LEX_ESCAPE,    /* behind a backslash */
    LEX_QUOTE_END, /* behind a quote that ends the literal unless it is doubled */
    LEX_VARIABLE,  /* in @name */
    LEX_AT,        /* behind @ */
    LEX_COLON,     /* behind : */
    LEX_DASH,      /* behind - */
    LEX_DASH_DASH, /* behind --, which is a comment when space follows */
    LEX_LINE_COMMENT,
    LEX_SLASH,        /* behind / */
    LEX_STAR,         /* behind * inside an executable comment */
    LEX_COMMENT_OPEN, /* behind the opening of a comment */
    LEX_COMMENT_M,    /* .. and an M */
    LEX_VERSION,      /* in the number of an executable comment */
    LEX_COMMENT,
    LEX_COMMENT_STAR,
};

enum byte_class {
    B_MARK, /* stands for itself; the default */
    B_SPACE,
    B_WORD,
    B_QUOTE,
    B_LOOK, /* the next byte decides */
    B_HASH,
    B_NUL,
};

static const uint8_t class_of[256] = {
    [0] = B_NUL,
    ['\t'] = B_SPACE,
    ['\n'] = B_SPACE,
    ['\v'] = B_SPACE,
    ['\f'] = B_SPACE,
    ['\r'] = B_SPACE,
    [' '] = B_SPACE,
    ['0' ... '9'] = B_WORD,
    ['A' ... 'Z'] = B_WORD,
    ['a' ... 'z'] = B_WORD,
    ['_'] = B_WORD,
    ['$'] = B_WORD,
    [0x80 ... 0xFF] = B_WORD,
    ['\''] = B_QUOTE,
    ['"'] = B_QUOTE,
    ['`'] = B_QUOTE,
    ['-'] = B_LOOK,
    ['/'] = B_LOOK,
    [':'] = B_LOOK,
    ['@'] = B_LOOK,
    ['#'] = B_HASH,
};

/* Which bytes end the quick walk through a literal. */
enum { STOP_SINGLE = 1, STOP_DOUBLE = 2, STOP_BACK = 4, STOP_BACKSLASH = 8, STOP_SLASH = 16 };

static const uint8_t stop_of[256] = {
    ['\''] = STOP_SINGLE,    ['"'] = STOP_DOUBLE, ['`'] = STOP_BACK,
    ['\\'] = STOP_BACKSLASH, ['/'] = STOP_SLASH,
};

static bool is_word(uint8_t c)
{
    return class_of[c] == B_WORD;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static void emit_known(struct sql_scan *s, enum sql_token_type type, struct bytes text,
                       enum sql_word word)
{
    struct sql_token t = {
        .at = text.at, .len = (uint32_t)text.len, .word = (uint16_t)word, .type = (uint8_t)type};
    sql_grammar_token(s, t);
}

static void emit(struct sql_scan *s, enum sql_token_type type, struct bytes text)
{
    emit_known(s, type, text, W_none);
}

static void emit_mark(struct sql_scan *s, uint8_t mark)
{
    bool plain = mark != '(' && mark != ')' && mark != '.' && mark != ';';
    if (!plain || !sql_grammar_passes(s, T_MARK, mark, W_none))
        sql_grammar_token(s, (struct sql_token){.type = T_MARK, .mark = mark});
}

/* Of a long one only the beginning is looked at, as only that is kept across pieces. */
static void emit_number(struct sql_scan *s, struct bytes text)
{
    size_t known = text.len < SQL_WORD_MAX_BYTES ? text.len : SQL_WORD_MAX_BYTES;
    size_t digits = 1;
    while (digits < known && is_digit(text.at[digits]))
        digits++;
    if (text.len > SQL_WORD_MAX_BYTES)
        text.len = 0;
    if (digits < known)
        emit(s, T_WORD, text);
    else if (!sql_grammar_passes(s, T_NUMBER, 0, W_none))
        emit(s, T_NUMBER, text);
}

static void emit_word(struct sql_scan *s, struct bytes text)
{
    if (is_digit(text.at[0])) {
        emit_number(s, text);
        return;
    }
    if (text.len > SQL_WORD_MAX_BYTES) {
        if (text.len > SQL_NAME_MAX_BYTES)
            s->flags |= SQL_F_TOO_LONG;
        text.len = 0;
    }
    enum sql_word word = sql_word_may_be(text) ? sql_word_find(text) : W_none;
    if (!sql_grammar_passes_word(s, word))
        emit_known(s, T_WORD, text, word);
}

/* Keeps as much as fits of a word or literal that goes on in the next piece. */
static void keep(struct sql_scan *s, const uint8_t *at, size_t len)
{
    if (s->word_bytes < SQL_WORD_MAX_BYTES) {
        size_t room = SQL_WORD_MAX_BYTES - s->word_bytes;
        memcpy(s->word + s->word_bytes, at, len < room ? len : room);
    }
    s->word_bytes = len > UINT32_MAX - s->word_bytes ? UINT32_MAX : s->word_bytes + (uint32_t)len;
}

static const uint8_t *begin_word(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *at = p;
    do
        p++;
    while (p < end && is_word(*p));
    if (p < end) {
        emit_word(s, bytes_of(at, (size_t)(p - at)));
        return p;
    }
    s->word_bytes = 0;
#ifdef SLUICE_PLANT_BUG
    keep(s, at, (size_t)(p - at) - 1); /* for the fuzz target's own test: it must notice */
#else
    keep(s, at, (size_t)(p - at));
#endif
    s->lex = LEX_WORD;
    return p;
}

static void end_word(struct sql_scan *s)
{
    s->lex = LEX_GROUND;
    emit_word(s, bytes_of(s->word, s->word_bytes));
}

static const uint8_t *more_word(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *at = p;
    while (p < end && is_word(*p))
        p++;
    keep(s, at, (size_t)(p - at));
    if (p < end)
        end_word(s);
    return p;
}

static bool quotes_name(const struct sql_scan *s)
{
    return s->quote == '`' || (s->quote == '"' && (s->mode & SQL_MODE_ANSI_QUOTES) != 0);
}

static void open_quote(struct sql_scan *s, uint8_t quote)
{
    s->quote = quote;
    s->stops = stop_of[quote];
    if ((s->mode & SQL_MODE_NO_BACKSLASH_ESCAPES) == 0 && !quotes_name(s))
        s->stops |= STOP_BACKSLASH;
    /* If the server skips the comment it does not see this literal, only the first end of a
     * comment. */
    if (s->in_comment)
        s->stops |= STOP_SLASH;
    s->word_bytes = 0;
    s->lex = LEX_QUOTED;
}

static const uint8_t *in_quoted(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *at = p;
    while (p < end && (stop_of[*p] & s->stops) == 0)
        p++;
    if (s->capture)
        keep(s, at, (size_t)(p - at));
    if (p == end)
        return p;
    if (*p == '\\') {
        s->word_bytes = UINT32_MAX;
        s->lex = LEX_ESCAPE;
    } else if (*p == '/') {
        s->flags |= SQL_F_OPAQUE;
    } else {
        s->lex = LEX_QUOTE_END;
    }
    return p + 1;
}

static void end_quoted(struct sql_scan *s)
{
    s->lex = LEX_GROUND;
    if (s->quiet) {
        s->quiet = false;
        return;
    }
    size_t len = s->capture && s->word_bytes <= SQL_WORD_MAX_BYTES ? s->word_bytes : 0;
    enum sql_token_type type = quotes_name(s) ? T_NAME : T_STRING;
    if (!sql_grammar_passes(s, type, 0, W_none))
        emit(s, type, bytes_of(s->word, len));
}

static const uint8_t *behind_quote(struct sql_scan *s, const uint8_t *p)
{
    if (*p != s->quote) {
        end_quoted(s);
        return p;
    }
    s->word_bytes = UINT32_MAX;
    s->lex = LEX_QUOTED;
    return p + 1;
}

static const uint8_t *behind_at(struct sql_scan *s, const uint8_t *p)
{
    s->lex = LEX_GROUND;
    if (*p == '@') {
        emit(s, T_SYSTEM, bytes_of(NULL, 0));
        return p + 1;
    }
    emit(s, T_VARIABLE, bytes_of(NULL, 0));
    if (is_word(*p) || *p == '.') {
        s->lex = LEX_VARIABLE;
    } else if (class_of[*p] == B_QUOTE) {
        s->quiet = true;
        open_quote(s, *p++);
    }
    return p;
}

static const uint8_t *in_variable(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    while (p < end && (is_word(*p) || *p == '.'))
        p++;
    if (p < end)
        s->lex = LEX_GROUND;
    return p;
}

static void line_comment(struct sql_scan *s)
{
    s->gap = true;
    s->lex = LEX_LINE_COMMENT;
    /* It may hold what ends the executable one, if that is skipped. */
    if (s->in_comment)
        s->flags |= SQL_F_OPAQUE;
}

static const uint8_t *behind_dash_dash(struct sql_scan *s, const uint8_t *p)
{
    if (*p <= ' ' || *p == 0x7F) {
        line_comment(s);
        return p;
    }
    s->lex = LEX_GROUND;
    emit_mark(s, '-');
    emit_mark(s, '-');
    return p;
}

/* A NUL ends it too, and what the server makes of the rest is hard to tell. */
static const uint8_t *in_line_comment(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *eol = memchr(p, '\n', (size_t)(end - p));
    if (memchr(p, 0, (size_t)((eol != NULL ? eol : end) - p)) != NULL)
        s->flags |= SQL_F_OPAQUE;
    if (eol == NULL)
        return end;
    s->lex = LEX_GROUND;
    return eol + 1;
}

static void open_executable(struct sql_scan *s)
{
    s->flags |= SQL_F_EXECUTABLE_COMMENT;
    s->in_comment = true;
    s->edge = true;
    s->lex = LEX_VERSION;
}

static const uint8_t *behind_comment_open(struct sql_scan *s, const uint8_t *p)
{
    s->gap = true;
    if (s->in_comment)
        s->flags |= SQL_F_OPAQUE;
    if (*p == '!' && !s->in_comment) {
        open_executable(s);
        return p + 1;
    }
    if (*p == 'M' && (s->mode & SQL_MODE_MARIADB) != 0) {
        s->lex = LEX_COMMENT_M;
        return p + 1;
    }
    s->lex = LEX_COMMENT;
    return p;
}

static const uint8_t *behind_comment_m(struct sql_scan *s, const uint8_t *p)
{
    if (*p == '!' && !s->in_comment) {
        open_executable(s);
        return p + 1;
    }
    s->lex = LEX_COMMENT;
    return p;
}

static const uint8_t *in_version(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    while (p < end && is_digit(*p))
        p++;
    if (p < end)
        s->lex = LEX_GROUND;
    return p;
}

static const uint8_t *in_comment(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *star = memchr(p, '*', (size_t)(end - p));
    if (star == NULL)
        return end;
    s->lex = LEX_COMMENT_STAR;
    return star + 1;
}

static const uint8_t *behind_comment_star(struct sql_scan *s, const uint8_t *p)
{
    if (*p != '*')
        s->lex = *p == '/' ? LEX_GROUND : LEX_COMMENT;
    return p + 1;
}

static const uint8_t *behind_star(struct sql_scan *s, const uint8_t *p)
{
    s->lex = LEX_GROUND;
    if (*p != '/') {
        emit_mark(s, '*');
        return p;
    }
    s->in_comment = false;
    s->gap = true;
    s->edge = true;
    return p + 1;
}

/* A byte that is `want` makes something of the one before it; else that one stood for itself. */
static const uint8_t *behind(struct sql_scan *s, const uint8_t *p, uint8_t first, uint8_t want,
                             enum lex then)
{
    if (*p == want) {
        s->lex = (uint8_t)then;
        return p + 1;
    }
    s->lex = LEX_GROUND;
    emit_mark(s, first);
    return p;
}

static const uint8_t *behind_colon(struct sql_scan *s, const uint8_t *p)
{
    s->lex = LEX_GROUND;
    if (*p == '=') {
        emit(s, T_ASSIGN, bytes_of(NULL, 0));
        return p + 1;
    }
    emit_mark(s, ':');
    return p;
}

static enum lex look(uint8_t c)
{
    if (c == '-')
        return LEX_DASH;
    if (c == '/')
        return LEX_SLASH;
    return c == ':' ? LEX_COLON : LEX_AT;
}

static const uint8_t *in_ground(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    while (p < end && s->lex == LEX_GROUND) {
        switch ((enum byte_class)class_of[*p]) {
        case B_MARK:
            if (*p == '*' && s->in_comment)
                s->lex = LEX_STAR;
            else
                emit_mark(s, *p);
            p++;
            break;
        case B_SPACE:
            s->gap = true;
            p++;
            break;
        case B_WORD:
            p = begin_word(s, p, end);
            break;
        case B_QUOTE:
            open_quote(s, *p++);
            break;
        case B_LOOK:
            s->lex = (uint8_t)look(*p++);
            break;
        case B_HASH:
            line_comment(s);
            p++;
            break;
        case B_NUL:
            s->flags |= SQL_F_OPAQUE;
            s->gap = true;
            p++;
            break;
        }
    }
    return p;
}

static const uint8_t *advance(struct sql_scan *s, const uint8_t *p, const uint8_t *end)
{
    switch ((enum lex)s->lex) {
    case LEX_GROUND:
        return in_ground(s, p, end);
    case LEX_WORD:
        return more_word(s, p, end);
    case LEX_QUOTED:
        return in_quoted(s, p, end);
    case LEX_ESCAPE:
        /* What is escaped may still be the half of an end of a comment. */
        if (*p == '/' && s->in_comment)
            s->flags |= SQL_F_OPAQUE;
        s->lex = LEX_QUOTED;
        return p + 1;
    case LEX_QUOTE_END:
        return behind_quote(s, p);
    case LEX_VARIABLE:
        return in_variable(s, p, end);
    case LEX_AT:
        return behind_at(s, p);
    case LEX_COLON:
        return behind_colon(s, p);
    case LEX_DASH:
        return behind(s, p, '-', '-', LEX_DASH_DASH);
    case LEX_DASH_DASH:
        return behind_dash_dash(s, p);
    case LEX_LINE_COMMENT:
        return in_line_comment(s, p, end);
    case LEX_SLASH:
        return behind(s, p, '/', '*', LEX_COMMENT_OPEN);
    case LEX_STAR:
        return behind_star(s, p);
    case LEX_COMMENT_OPEN:
        return behind_comment_open(s, p);
    case LEX_COMMENT_M:
        return behind_comment_m(s, p);
    case LEX_VERSION:
        return in_version(s, p, end);
    case LEX_COMMENT:
        return in_comment(s, p, end);
    case LEX_COMMENT_STAR:
        return behind_comment_star(s, p);
    }
    return end;
}

void sql_scan_begin(struct sql_scan *s, uint32_t mode)
{
    memset(s, 0, sizeof *s);
    s->mode = mode;
    sql_grammar_begin(s);
}

void sql_scan_feed(struct sql_scan *s, struct bytes text)
{
    const uint8_t *p = text.at;
    const uint8_t *end = text.at + text.len;
    if ((s->mode & SQL_MODE_MULTIBYTE_UNSAFE) != 0)
        for (const uint8_t *q = p; q < end && (s->flags & SQL_F_OPAQUE) == 0; q++)
            if (*q > 0x7F)
                s->flags |= SQL_F_OPAQUE;
    while (p < end)
        p = advance(s, p, end);
}

void sql_scan_end(struct sql_scan *s)
{
    switch ((enum lex)s->lex) {
    case LEX_WORD:
        end_word(s);
        break;
    case LEX_QUOTE_END:
        end_quoted(s);
        break;
    case LEX_AT:
        emit(s, T_VARIABLE, bytes_of(NULL, 0));
        break;
    case LEX_COLON:
    case LEX_DASH:
    case LEX_SLASH:
    case LEX_STAR:
        emit_mark(s, '-'); /* whichever: no mark of these means more than another */
        break;
    case LEX_QUOTED:
    case LEX_ESCAPE:
    case LEX_COMMENT_OPEN:
    case LEX_COMMENT_M:
    case LEX_VERSION:
    case LEX_COMMENT:
    case LEX_COMMENT_STAR:
        s->flags |= SQL_F_OPAQUE;
        break;
    case LEX_GROUND:
    case LEX_VARIABLE:
    case LEX_DASH_DASH:
    case LEX_LINE_COMMENT:
        break;
    }
    if (s->in_comment)
        s->flags |= SQL_F_OPAQUE;
    sql_grammar_end(s);
}
