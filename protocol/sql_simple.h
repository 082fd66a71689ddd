/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements that are simple enough to be read whole: what exactly a SET sets, which variables a
 * SELECT reads, which names a statement about temporary tables, locks, handlers or text PREPARE is
 * about. The scanner (sql_scan.h) says what a text may do; this says what it does, or that it
 * cannot tell (false). The text is whole and borrowed, and every `struct bytes` that comes out
 * points into it. Nothing with an executable comment, a second statement or SQL that is not
 * understood to its last token is simple, nor is a comment behind the last `;`: the servers take it
 * for one more statement. Any thread; no allocation. MySQL Reference
 * Manual 15.7.6, 15.2.10, 15.4, 14.14; MariaDB Knowledge Base "SET", "HANDLER", "GET_LOCK". */
#ifndef SLUICE_PROTOCOL_SQL_SIMPLE_H
#define SLUICE_PROTOCOL_SQL_SIMPLE_H

#include "protocol/wire.h"

enum {
    SQL_SIMPLE_MAX_BYTES = 16 * 1024, /* longer texts are not simple */
    SQL_ITEMS_MAX = 16,               /* of one SET, one SELECT, one list of names */
};

/* ---- SET ---- */

enum sql_set_target {
    SQL_SET_SESSION, /* a system variable of the session: x, SESSION x, LOCAL x, @@x, @@session.x,
                        @@local.x */
    SQL_SET_GLOBAL,  /* GLOBAL, PERSIST, PERSIST_ONLY in any spelling */
    SQL_SET_USER,    /* @name */
    SQL_SET_NAMES,   /* NAMES v [COLLATE w]: value, collate */
    SQL_SET_CHARSET, /* CHARACTER SET v, CHARSET v */
    SQL_SET_TRANSACTION, /* [SESSION|LOCAL] TRANSACTION characteristic [, characteristic]: once,
                            isolation, access. Only alone in its SET; GLOBAL TRANSACTION is
                            SQL_SET_GLOBAL */
};

enum sql_value {
    SQL_VALUE_LITERAL, /* a number (also negative, decimal, with exponent), a string without escapes
                          in it, a word such as ON, utf8mb4, NULL, TRUE, `READ-COMMITTED` in quotes
                        */
    SQL_VALUE_DEFAULT, /* DEFAULT */
    SQL_VALUE_OTHER,   /* an expression; skipped to its comma. Parentheses are balanced in it */
};

struct sql_assignment {
    uint8_t target;    /* enum sql_set_target */
    uint8_t kind;      /* enum sql_value */
    bool quoted;       /* the literal was a string */
    bool once;         /* TRANSACTION without SESSION: the next one only */
    bool untold;       /* @@name without a scope: MariaDB sets it, and no tracker tells [seen] */
    struct bytes name; /* of a variable: without quotes and scope, letters as they stand; may hold a
                          dot (structured variables). Empty for NAMES, CHARSET, TRANSACTION */
    struct bytes value;   /* of a literal, without its quotes; empty else */
    struct bytes collate; /* NAMES .. COLLATE w, without quotes; empty: none */
};

struct sql_set {
    size_t count;
    struct sql_assignment item[SQL_ITEMS_MAX];
};

/* mode: enum sql_mode of sql_scan.h (quotes, backslashes, MariaDB). False: not a SET that is
 * understood to its end. A scope written as a word holds for the names behind it too, until the
 * next such word: SET GLOBAL a = 1, b = 2 sets two global variables, SET @@global.a = 1, b = 2 and
 * SET GLOBAL a = 1, @@b = 2 one (measured on both servers). */
MUST_CHECK bool sql_set_read(struct bytes text, uint32_t mode, struct sql_set *out);

/* ---- SELECT of nothing but variables ---- */

struct sql_reads {
    size_t count;
    struct {
        struct bytes name; /* without @@, scope and quotes */
        bool global;       /* @@global. */
        bool scoped;       /* some scope was written */
    } item[SQL_ITEMS_MAX];
};

/* SELECT @@a, @@session.b AS x, @@global.c 'y' .. [FROM DUAL] [LIMIT n] [;] and nothing else. */
MUST_CHECK bool sql_reads_read(struct bytes text, uint32_t mode, struct sql_reads *out);

/* ---- SELECT of one fact of the connection or of its last statement ---- */

enum sql_asked {
    SQL_ASKED_ROW_COUNT,     /* ROW_COUNT() */
    SQL_ASKED_FOUND_ROWS,    /* FOUND_ROWS() */
    SQL_ASKED_WARNING_COUNT, /* @@[session.]warning_count, SHOW COUNT(*) WARNINGS */
    SQL_ASKED_ERROR_COUNT,   /* @@[session.]error_count, SHOW COUNT(*) ERRORS */
    SQL_ASKED_CONNECTION_ID, /* CONNECTION_ID(), @@pseudo_thread_id */
    SQL_ASKED_LOCK_OWNER,    /* IS_USED_LOCK('literal') */
    SQL_ASKED_WARNINGS, /* SHOW WARNINGS [LIMIT [offset,] count]; LIMIT count OFFSET offset where
                           the server takes it */
    SQL_ASKED_ERRORS,   /* SHOW ERRORS .., likewise */
    SQL_ASKED_LAST_ID,  /* LAST_INSERT_ID(), @@identity, @@last_insert_id */
};

struct sql_ask {
    uint8_t what;           /* enum sql_asked */
    uint64_t offset, limit; /* of SHOW WARNINGS / ERRORS; limit UINT64_MAX: none written */
};

/* SELECT thing [[AS] alias] [FROM DUAL] [LIMIT n above 0] [;], or one of the SHOWs, and nothing
 * else. */
MUST_CHECK bool sql_ask_read(struct bytes text, uint32_t mode, struct sql_ask *out);

/* ---- names ---- */

enum sql_naming {
    SQL_NAMING_CREATE_TEMPORARY, /* CREATE [OR REPLACE] TEMPORARY TABLE [IF NOT EXISTS] name
                                    ..anything */
    SQL_NAMING_DROP_TABLE, /* DROP [TEMPORARY] TABLE|TABLES [IF EXISTS] name, .. [RESTRICT|CASCADE]
                              [WAIT n|NOWAIT] */
    SQL_NAMING_PREPARE,    /* PREPARE name FROM 'literal' | @var | expression */
    SQL_NAMING_EXECUTE,    /* EXECUTE name [USING ..] */
    SQL_NAMING_DEALLOCATE, /* DEALLOCATE|DROP PREPARE name */
    SQL_NAMING_HANDLER_OPEN,  /* HANDLER name OPEN [[AS] alias]: item[0] is what later HANDLERs call
                                 it, without a schema */
    SQL_NAMING_HANDLER_CLOSE, /* HANDLER name CLOSE */
    SQL_NAMING_HANDLER_READ,  /* HANDLER name READ .. */
    SQL_NAMING_SAVEPOINT,     /* SAVEPOINT name */
};

struct sql_names {
    uint8_t what;   /* enum sql_naming */
    bool if_exists; /* IF [NOT] EXISTS */
    bool temporary; /* DROP TEMPORARY */
    size_t count;
    struct {
        struct bytes schema; /* empty: none written */
        struct bytes
            name; /* without quotes; a name with a doubled quote in it makes the text not simple */
    } item[SQL_ITEMS_MAX];
    bool literal; /* PREPARE: what is prepared is a literal: body, without its quotes and without
                     escapes in it */
    struct bytes body;
};

MUST_CHECK bool sql_names_read(struct bytes text, uint32_t mode, struct sql_names *out);

/* ---- named locks ---- */

struct sql_locks {
    bool gets;         /* some GET_LOCK */
    bool releases;     /* some RELEASE_LOCK */
    bool releases_all; /* some RELEASE_ALL_LOCKS */
    bool all_literal;  /* every lock's name in GET_LOCK and RELEASE_LOCK is one plain string literal
                          of ASCII without quotes, backslashes and control characters, and no
                          function of the locking service or of version tokens is called */
    size_t count;      /* names in GET_LOCK; more than SQL_ITEMS_MAX clears all_literal */
    struct bytes name[SQL_ITEMS_MAX];
};

/* All calls of the lock functions anywhere in a text, whatever it is otherwise. False: the text
 * cannot be read. */
MUST_CHECK bool sql_locks_read(struct bytes text, uint32_t mode, struct sql_locks *out);

/* ---- places of CONNECTION_ID() ---- */

enum { SQL_PLACES_MAX = 64 };

enum sql_place {
    SQL_PLACE_CALL,     /* CONNECTION_ID(): word, space or comments, parentheses */
    SQL_PLACE_VARIABLE, /* a read of @@pseudo_thread_id */
    SQL_PLACE_ID,       /* a number, or digits in quotes, that is compared and above 2^31 */
    SQL_PLACE_NAME,     /* an item of a SELECT list without an alias that holds some of the above:
                           its text names the column */
};

/* In the order of their ends; a NAME ends behind those that it holds. */
struct sql_places {
    size_t count;
    struct {
        uint32_t at, len; /* in the text */
        uint8_t what;     /* enum sql_place */
    } item[SQL_PLACES_MAX];
    bool about_threads; /* the text names PROCESSLIST, THREADS, INNODB_TRX, METADATA_LOCKS and the
                           like, calls IS_USED_LOCK or PS_THREAD_ID, or is a KILL: its ids are the
                           server's own, and only what is compared with them is a place */
};

/* Calls of CONNECTION_ID() and what else of a text says ids of connections; those in the literal of
 * PREPARE x FROM '..' and EXECUTE IMMEDIATE '..' too. An executable comment is read as text, since
 * what the server passes over there does no harm. Calls that CREATE (but for CREATE TABLE ..
 * SELECT) and ALTER keep are no places. False: it cannot be read, holds more than SQL_PLACES_MAX,
 * or sets the variable. */
MUST_CHECK bool sql_connection_ids_read(struct bytes text, uint32_t mode, struct sql_places *out);

#endif
