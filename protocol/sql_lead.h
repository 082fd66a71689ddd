/* SPDX-License-Identifier: Apache-2.0
 *
 * The leading words of a statement, as the grammar (sql_grammar.c) hands them on: kind, SET, KILL,
 * USE. Only the scanner's own files include it. */
#ifndef SLUICE_PROTOCOL_SQL_LEAD_H
#define SLUICE_PROTOCOL_SQL_LEAD_H

#include "protocol/sql_grammar.h"

enum lead {
    LEAD_DONE,  /* the statement's kind is final; 0 for the sake of `busy` */
    LEAD_START, /* no word of it seen */
    LEAD_BODY,  /* the rest is stored, not run */
    LEAD_WITH,
    LEAD_CREATE, /* CREATE, ALTER */
    LEAD_DROP,
    LEAD_ANALYZE,
    LEAD_EXPLAIN,
    LEAD_SHOW,
    LEAD_GET,
    LEAD_LOAD,
    LEAD_BEGIN,
    LEAD_START_WORD, /* the word START */
    LEAD_TRANSACTION,
    LEAD_ENDING, /* COMMIT, ROLLBACK */
    LEAD_RELEASE,
    LEAD_BACKUP,
    LEAD_FLUSH,
    LEAD_CALL,
    LEAD_KILL,
    LEAD_USE,
    LEAD_SET,
};

/* What makes `name (` a call, in statements that begin with other lists. */
enum wake { WAKE_NONE, WAKE_INSERT, WAKE_CREATE, WAKE_LOAD };

enum whole { WHOLE_NONE, WHOLE_NAMES, WHOLE_USE };

/* Steps of SET. */
enum {
    SET_FIRST, /* before the first item; 0, where every lead begins */
    SET_ITEM,
    SET_NAME, /* behind a name, before = */
    SET_VALUE,
    SET_STATEMENT, /* SET STATEMENT: before FOR */
    SET_CHARSET,   /* SET NAMES: before the character set */
    SET_COLLATE,   /* behind it */
    SET_COLLATION,
    SET_NAMED, /* behind all of SET NAMES */
};

void sql_lead_begin(struct sql_scan *s);
/* The statement ended: its kind is final. Begins the next one. */
void sql_lead_end(struct sql_scan *s);
/* A token while s->lead is not LEAD_DONE. `word` is W_none for all but a T_WORD. */
void sql_lead_token(struct sql_scan *s, struct sql_token t, enum sql_word word);
/* The name of a system variable, read, or set when s->target says so. */
void sql_lead_variable(struct sql_scan *s, enum sql_word word);

#endif
