/* SPDX-License-Identifier: Apache-2.0
 *
 * The words that the statement scanner knows: keywords and built-in functions, and what it means
 * when one of them is followed by a parenthesis. One hash table over both lists. Any thread. */
#ifndef SLUICE_PROTOCOL_SQL_WORD_H
#define SLUICE_PROTOCOL_SQL_WORD_H

#include "protocol/wire.h"

enum sql_word {
    W_none, /* none of them */
#define FUNCTION(name, call, glue) W_##name,
#include "protocol/sql_functions.def"
#undef FUNCTION
#define WORD(name, call) W_##name,
#include "protocol/sql_words.def"
#undef WORD
    SQL_WORD_COUNT,
};

/* What `word (` does. */
enum sql_call {
    SQL_CALL_UNKNOWN,     /* calls somebody's own function */
    SQL_CALL_KEYWORD,     /* calls nothing */
    SQL_CALL_PLAIN,       /* reads and writes no state of the connection */
    SQL_CALL_MYSQL,       /* plain on MySQL, somebody's own on MariaDB */
    SQL_CALL_MARIADB,     /* the other way round */
    SQL_CALL_LOCK,        /* takes, gives or looks at a named lock */
    SQL_CALL_LOCK_PLUGIN, /* the same, but not built in: the name may be somebody's own */
    SQL_CALL_LAST_INSERT_ID,
    SQL_CALL_LAST_STATE,    /* tells of the statement before */
    SQL_CALL_CONNECTION_ID, /* takes or gives a number of this connection */
    SQL_CALL_SEQUENCE,      /* MariaDB's; somebody's own on MySQL */
    SQL_CALL_SEQUENCE_LAST, /* likewise; tells of a call before */
};

/* For each pair of first letters, the set of lengths that a word with them may have. Filled before
 * main(). */
extern uint32_t sql_word_lengths[32][32];

/* A quick look that spares most names the search: false for what cannot be a word. */
static inline bool sql_word_may_be(struct bytes text)
{
    if (text.len < 2 || text.len > 31)
        return text.len == 1; /* x( and y( */
    return (sql_word_lengths[text.at[0] & 31][text.at[1] & 31] >> text.len & 1) != 0;
}

/* W_none for what is in neither list; letters of either case. */
enum sql_word sql_word_find(struct bytes text);
enum sql_call sql_word_call(enum sql_word word);
/* A space before the parenthesis makes the server look for a stored function instead. */
bool sql_word_is_tight(enum sql_word word);

#endif
