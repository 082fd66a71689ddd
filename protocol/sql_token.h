/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of a text that is whole in memory, pulled one by one: what the readers of
 * protocol/sql_simple.h and protocol/sql_digest.h are made of. Cut as the servers cut them (MySQL
 * Reference Manual 11.1 to 11.7). An executable comment is where it stops being plain: the readers
 * give up there. Any thread. */
#ifndef SLUICE_PROTOCOL_SQL_TOKEN_H
#define SLUICE_PROTOCOL_SQL_TOKEN_H

#include "protocol/wire.h"

enum sql_piece_type {
    SQL_PIECE_END,
    SQL_PIECE_WORD, /* unquoted name or keyword */
    SQL_PIECE_NAME, /* quoted name */
    SQL_PIECE_STRING,
    SQL_PIECE_NUMBER,   /* digits, with point and exponent; without a sign */
    SQL_PIECE_VARIABLE, /* @name; value is the name */
    SQL_PIECE_SYSTEM,   /* @@ */
    SQL_PIECE_ASSIGN,   /* := */
    SQL_PIECE_MARK,     /* any other single byte */
    SQL_PIECE_BAD,      /* cannot be read: an open quote or comment, an executable comment, a
                        NUL, a byte above 0x7F in a charset that is not safe; and to the end */
};

struct sql_reader {
    const uint8_t *next, *end;
    uint32_t mode;  /* enum sql_mode */
    bool cut;       /* end is not that of the text, but its first byte above 0x7F, where the charset
                       is not safe: there stands a BAD */
    bool hinted;    /* an optimizer hint was passed over, as a comment */
    bool enters;    /* executable comments are read as text: sql_reader_inside */
    bool inside;    /* .. and the piece in hand stands in one */
    uint32_t edges; /* .. how many of their ends were passed before it */
    /* The piece in hand: */
    uint8_t type;      /* enum sql_piece_type */
    uint8_t mark;      /* of a MARK */
    bool glued;        /* nothing stands between it and the one before */
    bool escaped;      /* a quoted one holds escapes or doubled quotes: value is not what it says */
    struct bytes text; /* as it stands */
    struct bytes value; /* without quotes */
};

/* Takes the first piece in hand. */
struct sql_reader sql_reader(struct bytes text, uint32_t mode);
/* The same, but goes on into executable comments, as if the server ran them all. It may not, and a
 * quote in one may be none: that is BAD. */
struct sql_reader sql_reader_inside(struct bytes text, uint32_t mode);
void sql_next(struct sql_reader *r);

/* Is the piece in hand this unquoted word (given in lower case)? */
bool sql_is(const struct sql_reader *r, const char *word);
bool sql_is_mark(const struct sql_reader *r, char mark);
/* The same, and goes on behind it when it is. */
bool sql_skip(struct sql_reader *r, const char *word);
bool sql_skip_mark(struct sql_reader *r, char mark);
/* The same for a quoted name too. */
bool sql_is_called(const struct sql_reader *r, const char *word);
/* At the end, but for `;` and space. */
bool sql_at_end(struct sql_reader *r);
/* A name, quoted or not; into *out, and behind it. */
bool sql_take_name(struct sql_reader *r, struct bytes *out);
/* An unsigned whole number. */
bool sql_take_number(struct sql_reader *r, uint64_t *out);
/* The name of a system variable: a word or a quoted name, or two words with a dot between and no
 * space. */
bool sql_take_variable(struct sql_reader *r, struct bytes *out);
/* The scope of a system variable, into *global, and behind it; false: none is in hand. */
bool sql_take_scope(struct sql_reader *r, bool *global);

struct sql_system {
    struct bytes name;
    bool scoped; /* a scope was written */
    bool global; /* .. and it is GLOBAL, PERSIST or PERSIST_ONLY */
};

/* @@x, @@scope.x: from the @@ in hand to behind the name. */
bool sql_take_system(struct sql_reader *r, struct sql_system *out);
/* Text in any case against a word in lower case. */
bool sql_text_is(struct bytes text, const char *word);

#endif
