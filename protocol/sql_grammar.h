/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the lexer (sql_scan.c) and what it is for (sql_grammar.c, sql_lead.c): tokens. Only the
 * scanner's own files include it. */
#ifndef SLUICE_PROTOCOL_SQL_GRAMMAR_H
#define SLUICE_PROTOCOL_SQL_GRAMMAR_H

#include "protocol/sql_scan.h"
#include "protocol/sql_word.h"

enum sql_token_type {
    T_NONE,
    T_WORD, /* unquoted name or keyword; the grammar makes a T_NAME of one behind a dot */
    T_NAME, /* quoted name */
    T_STRING,
    T_NUMBER,   /* digits only; anything longer that begins with a digit is a T_WORD */
    T_POINT,    /* the point of a decimal number; made by the grammar */
    T_VARIABLE, /* @name, whole; for the grammar also the name behind @@ */
    T_SYSTEM,   /* @@ */
    T_ASSIGN,   /* := */
    T_MARK,     /* any other single character */
};

/* Small enough to travel in two registers. */
struct sql_token {
    const uint8_t *at; /* text of a T_WORD or T_NUMBER; of a T_NAME or T_STRING only when `capture`
                          was set. Empty when it cannot mean anything: longer than
                          SQL_WORD_MAX_BYTES, or a literal with escapes in it */
    uint32_t len;
    uint16_t word; /* of a T_WORD: enum sql_word */
    uint8_t type;  /* enum sql_token_type */
    uint8_t mark;  /* of a T_MARK */
};

static inline struct bytes sql_token_text(struct sql_token t)
{
    return bytes_of(t.at, t.len);
}

void sql_grammar_begin(struct sql_scan *s);
void sql_grammar_token(struct sql_scan *s, struct sql_token t);
void sql_grammar_end(struct sql_scan *s);

/* Where no operand is wanted `name (` is no call: behind another operand, and behind AS. But what
 * stands in an executable comment may not be there. */
static inline bool sql_grammar_is_listed(const struct sql_scan *s)
{
    const uint32_t operands = 1u << T_NAME | 1u << T_STRING | 1u << T_NUMBER | 1u << T_VARIABLE;
    if (s->edge)
        return false;
    return (operands >> s->prev & 1) != 0 || s->prev_mark == ')' || s->prev_word == W_as;
}

static inline void sql_grammar_remember(struct sql_scan *s, enum sql_token_type type, uint8_t mark,
                                        enum sql_word word)
{
    s->prev = (uint8_t)type;
    s->prev_mark = mark;
    s->prev_word = (uint16_t)word;
    s->gap = false;
    s->edge = false;
}

/* Words that mean something wherever they stand. */
extern const bool sql_grammar_acts[SQL_WORD_COUNT];

/* The short way past a token that means nothing by itself: a literal, a name, a word that does not
 * act, a mark that is no parenthesis, point or semicolon. False: it must go to sql_grammar_token.
 */
static inline bool sql_grammar_passes(struct sql_scan *s, enum sql_token_type type, uint8_t mark,
                                      enum sql_word word)
{
    if (s->busy != 0)
        return false;
    s->capture = false;
    s->listed = sql_grammar_is_listed(s);
    sql_grammar_remember(s, type, mark, word);
    return true;
}

/* The same of a T_WORD, which is a T_NAME behind a dot. */
static inline bool sql_grammar_passes_word(struct sql_scan *s, enum sql_word word)
{
    if (sql_grammar_acts[word] || s->prev == T_POINT)
        return false;
    if (s->prev_mark != '.')
        return sql_grammar_passes(s, T_WORD, 0, word);
    return word == W_none && sql_grammar_passes(s, T_NAME, 0, W_none);
}

#endif
