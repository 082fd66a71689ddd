/* SPDX-License-Identifier: Apache-2.0
 *
 * A lexer over statement text that finds what a server's session trackers do not tell: which kind
 * of statement it is, and which constructs in it touch state that only this one connection holds.
 * It does not parse; where it cannot tell it says the safe thing (SQL_F_UNKNOWN_FUNCTION,
 * SQL_OTHER). Text may come in pieces of any size: cutting it differently changes nothing. Any
 * thread; one struct per statement, no allocation. */
#ifndef SLUICE_PROTOCOL_SQL_SCAN_H
#define SLUICE_PROTOCOL_SQL_SCAN_H

#include "protocol/wire.h"

/* How the server reads text; wrong flags mean a wrong answer, so give the session's own. */
enum sql_mode {
    SQL_MODE_NO_BACKSLASH_ESCAPES = 1 << 0,
    SQL_MODE_ANSI_QUOTES = 1 << 1, /* "x" is an identifier */
    /* A charset whose trail bytes may be ASCII (gbk, big5, sjis, cp932, gb18030): any byte above
     * 0x7F sets SQL_F_OPAQUE. */
    SQL_MODE_MULTIBYTE_UNSAFE = 1 << 2,
    /* MariaDB's executable comments (also M!) and built-in functions; else MySQL's. */
    SQL_MODE_MARIADB = 1 << 3,
    SQL_MODE_IGNORE_SPACE = 1 << 4,
};

/* The first statement of the text by its leading keywords. */
enum sql_kind {
    SQL_EMPTY,  /* nothing but space and comments */
    SQL_SELECT, /* also (SELECT, WITH .. SELECT, VALUES, TABLE t */
    SQL_DML,    /* INSERT REPLACE UPDATE DELETE LOAD, also WITH .. UPDATE/DELETE */
    SQL_DDL,    /* CREATE ALTER DROP RENAME TRUNCATE IMPORT of anything not temporary; GRANT REVOKE
                   ANALYZE OPTIMIZE CHECK REPAIR CHECKSUM COMMENT; they commit implicitly */
    SQL_SHOW,   /* SHOW DESCRIBE DESC EXPLAIN HELP, but not SHOW WARNINGS / ERRORS / COUNT(*) (see
                   flags) */
    SQL_BEGIN,  /* BEGIN [WORK], START TRANSACTION ...; not BEGIN NOT ATOMIC */
    SQL_COMMIT,
    SQL_ROLLBACK,  /* also ROLLBACK TO SAVEPOINT */
    SQL_SAVEPOINT, /* SAVEPOINT, RELEASE SAVEPOINT */
    SQL_USE,
    SQL_SET, /* any SET; see names_* and the flags */
    SQL_DO,
    SQL_CALL,
    SQL_KILL,        /* kill_id, kill_query filled when the id is a plain number */
    SQL_LOCK_TABLES, /* LOCK TABLE(S), LOCK INSTANCE, BACKUP LOCK / STAGE, FLUSH TABLES .. WITH READ
                        LOCK / FOR EXPORT */
    SQL_UNLOCK_TABLES, /* UNLOCK TABLES / INSTANCE, BACKUP UNLOCK */
    SQL_FLUSH,         /* any other FLUSH */
    SQL_HANDLER,
    SQL_PREPARE, /* text PREPARE, EXECUTE, DEALLOCATE / DROP PREPARE, EXECUTE IMMEDIATE */
    SQL_XA,
    SQL_TEMPORARY,   /* CREATE [OR REPLACE] TEMPORARY .., DROP TEMPORARY .. */
    SQL_DIAGNOSTICS, /* SHOW WARNINGS / ERRORS / COUNT(*) .., GET [CURRENT|STACKED] DIAGNOSTICS */
    SQL_OTHER,       /* anything not named: pins */
};

enum sql_flag {
    SQL_F_USER_VARIABLE = 1 << 0,   /* @name or := anywhere (not @@name) */
    SQL_F_SYSTEM_VARIABLE = 1 << 1, /* @@name read or set, other than those of LAST_STATE */
    SQL_F_NAMED_LOCK = 1 << 2, /* GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, SERVICE_*_LOCKS ... */
    SQL_F_UNKNOWN_FUNCTION =
        1 << 3, /* a call of something that is not a built-in: it may do anything */
    SQL_F_LAST_INSERT_ID =
        1 << 4, /* LAST_INSERT_ID( without argument, @@identity, @@last_insert_id */
    SQL_F_SETS_LAST_INSERT_ID = 1 << 5, /* LAST_INSERT_ID(expr) */
    SQL_F_LAST_STATE =
        1 << 6, /* ROW_COUNT(), FOUND_ROWS(), @@warning_count, @@error_count, diagnostics */
    SQL_F_CALC_FOUND_ROWS = 1 << 7, /* SQL_CALC_FOUND_ROWS */
    SQL_F_CONNECTION_ID = 1 << 8,   /* CONNECTION_ID(), @@pseudo_thread_id */
    SQL_F_MULTI =
        1 << 9, /* a further statement behind a `;` (whatever it is: its flags are or-ed in) */
    SQL_F_SET_GLOBAL =
        1 << 10, /* SET GLOBAL / @@global. / PERSIST .. =: other sessions' baseline moves */
    SQL_F_SET_ROLE = 1 << 11,        /* SET ROLE, SET DEFAULT ROLE */
    SQL_F_SET_TRANSACTION = 1 << 12, /* SET [SESSION] TRANSACTION */
    SQL_F_SET_PASSWORD = 1 << 13,
    SQL_F_DATABASE_DDL = 1 << 14,        /* DROP / ALTER / CREATE DATABASE or SCHEMA */
    SQL_F_CONSISTENT_SNAPSHOT = 1 << 15, /* START TRANSACTION WITH .. */
    SQL_F_RELEASE = 1 << 16, /* COMMIT / ROLLBACK .. RELEASE: the server closes the connection */
    SQL_F_CHAIN = 1 << 17,   /* COMMIT / ROLLBACK AND CHAIN */
    /* Some comment whose content the server may run; it was scanned as text. Flags and kinds cover
     * both readings of it, but nothing with it should be answered locally. */
    SQL_F_EXECUTABLE_COMMENT = 1 << 18,
    SQL_F_OPAQUE = 1 << 19, /* could not be read with confidence: treat as capable of anything */
    SQL_F_INTO = 1 << 20,   /* SELECT .. INTO (variable, outfile, dumpfile) */
    SQL_F_FOR_UPDATE = 1 << 21,   /* FOR UPDATE / FOR SHARE / LOCK IN SHARE MODE */
    SQL_F_SEQUENCE = 1 << 22,     /* NEXTVAL, LASTVAL, SETVAL, NEXT VALUE FOR, PREVIOUS VALUE FOR */
    SQL_F_LOCAL_INFILE = 1 << 23, /* LOAD DATA|XML .. LOCAL */
    SQL_F_SET_ONLY_NAMES =
        1 << 24, /* the whole text is SET NAMES x [COLLATE y] (or SET CHARACTER SET: not set) with
                    plain words or quoted literals; names_* are filled */
    SQL_F_USE_ONLY = 1 << 25,      /* the whole text is USE name */
    SQL_F_TOO_LONG = 1 << 26,      /* an unquoted name above SQL_NAME_MAX_BYTES; scanned on */
    SQL_F_ASSIGNS = 1 << 27,       /* := to a user variable */
    SQL_F_TRACKERS = 1 << 29,      /* @@session_track_*, read or set */
    SQL_F_SEQUENCE_LAST = 1 << 28, /* with SQL_F_SEQUENCE: LASTVAL, PREVIOUS VALUE FOR, x.CURRVAL */
};

enum {
    SQL_WORD_MAX_BYTES = 64,  /* what is kept of a word */
    SQL_NAME_MAX_BYTES = 256, /* 64 characters of a name */
};

struct sql_scan {
    /* Of the first statement that is not empty. */
    enum sql_kind kind;
    uint32_t flags; /* enum sql_flag, of all statements */
    /* Set of 1 << enum sql_kind over all statements of the text, so that a caller sees every kind
     * that may run and not only the first: those behind a `;`, the one inside SET STATEMENT .. FOR,
     * the DML that EXPLAIN ANALYZE or MariaDB's ANALYZE runs, and SQL_OTHER where an executable
     * comment hides which kind it is. Empty text: 1 << SQL_EMPTY. */
    uint32_t kinds;
    uint64_t kill_id; /* 0: not a plain number */
    bool kill_query;
    /* With SQL_F_SET_ONLY_NAMES, in lower case: "default" stands for SET NAMES DEFAULT, and an
     * empty collation for none. */
    char names_charset[SQL_WORD_MAX_BYTES + 1];
    char names_collation[SQL_WORD_MAX_BYTES + 1];

    /* Private, from here to the end: the lexer's part. */
    uint32_t mode;
    uint8_t lex;         /* enum lex: what the next byte continues */
    uint8_t quote;       /* the quote that ends the literal being read */
    uint8_t stops;       /* set of byte classes that stop the quick walk through it */
    bool quiet;          /* the literal is the name of a user variable, told already */
    bool in_comment;     /* inside an executable comment */
    uint32_t word_bytes; /* length of what is being read; only so much of it is kept: */
    char word[SQL_WORD_MAX_BYTES];

    /* The grammar's part. What a token may meet besides itself; all zero in most of a statement: */
    union {
        struct {
            uint8_t lead;       /* enum lead: how far the leading words are read */
            uint8_t watch;      /* enum watch: the next token is special */
            uint8_t wake;       /* enum wake: when calls begin to count */
            bool half_hidden;   /* the statement began inside an executable comment */
            uint32_t with_mask; /* bit d: a list of common table expressions is open at depth d */
        };
        uint64_t busy; /* all of them at once */
    };
    /* Of the last token. */
    uint8_t prev; /* enum sql_token_type */
    uint8_t prev_mark;
    uint16_t prev_word;
    bool gap;     /* space or a comment since then */
    bool edge;    /* an executable comment began or ended since then */
    bool capture; /* the content of the next literal is wanted */
    bool listed;  /* it stands where `name (` is no call */
    /* Of the statement. */
    uint8_t now;         /* enum sql_kind as far as known */
    uint8_t step;        /* within its lead */
    bool calls;          /* `name (` is a function call here */
    bool variables;      /* @name is a variable here, not part of an account */
    bool accounts;       /* account names may stand here */
    bool target;         /* the system variable being read is being set */
    bool global;         /* .. and it is a global one */
    bool cte_name;       /* the next name is that of a common table expression */
    uint32_t nest;       /* BEGIN and CASE not yet ended, in a stored program */
    uint32_t depth;      /* open parentheses */
    uint32_t lead_depth; /* where WITH stood */
    /* Of the text. */
    bool has_first; /* a statement was there and ended */
    uint8_t whole;  /* enum whole: the whole text may be that */
};

void sql_scan_begin(struct sql_scan *s, uint32_t mode);
void sql_scan_feed(struct sql_scan *s, struct bytes text);
/* After it kind and flags are final. */
void sql_scan_end(struct sql_scan *s);

/* A built-in, of MySQL and MariaDB both, that neither reads nor writes state of the connection.
 * `name` in any case. */
bool sql_function_is_plain(struct bytes name);

#endif
