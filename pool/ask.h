/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own questions to a backend: commands that the proxy sends on its own account, pipelined in
 * one write, answered in order, each answer handled where the question is described. A client's
 * statement is written only when all answers are in, so that none of them can change what it does.
 * Loop thread only. */
#ifndef SLUICE_POOL_ASK_H
#define SLUICE_POOL_ASK_H

#include "protocol/mysql_response.h"

struct backend;

/* X(ID, word, fatal: an ERR means that the backend cannot be used) */
#define ASKS(X)                                                                                    \
    X(VARIABLES, "variables", true) /* which of the virtual variables this server has */           \
    X(SETTINGS, "settings", true)   /* SET of trackers and, behind a reset, the character set */   \
    X(BASELINE, "baseline", true)   /* what a fresh session has here */                            \
    X(REREAD, "reread", true)       /* the same, of the lessee's session */                        \
    X(RESET, "reset", true)         /* COM_RESET_CONNECTION */                                     \
    X(PROBE, "probe", true)         /* probe_query */                                              \
    X(LAST_ID, "last_id", true)     /* SELECT LAST_INSERT_ID(), for the owner before */            \
    X(CHARSET, "charset", true)     /* the names behind a collation number */                      \
    X(NAMES, "names", false)        /* character sets of the lessee */                             \
    X(SET, "set", false)            /* variables of the lessee */                                  \
    X(INIT_DB, "init_db", false)    /* schema of the lessee */                                     \
    X(OPTION, "option", true)       /* COM_SET_OPTION of the lessee */                             \
    X(SET_LAST_ID, "set_last_id", true) /* LAST_INSERT_ID() of the lessee */                       \
    X(BEGIN, "begin", true)             /* the lessee's BEGIN, which was answered here */          \
    X(PREPARE, "prepare", false)        /* of a text that the lessee wants to execute */           \
    X(NUMBER, "number", true)           /* something about the lessee's session, see pool_ask */   \
    X(KILL, "kill", false)              /* KILL QUERY on a side connection */

enum ask {
#define X(id, word, fatal) ASK_##id,
    ASKS(X)
#undef X
        ASKS_COUNT
};

/* Why a lessee got none. */
enum lend_failure {
    LEND_QUEUE_TIMEOUT, /* all are held */
    LEND_BACKEND_DOWN,
    LEND_REFUSED,       /* restoring the state failed: the server's own ERR */
    LEND_UNPREPARED,    /* the PREPARE in front of an EXECUTE failed: likewise */
    LEND_ID_LOST,       /* LAST_INSERT_ID() was wanted, and its backend went */
    LEND_LOGIN_REFUSED, /* the server refused the login: its own ERR */
};

struct lend_error {
    enum lend_failure failure;
    uint16_t code; /* of the server, with REFUSED and LOGIN_REFUSED */
    char sqlstate[6];
    char message[512];
};

enum { ASKS_MAX = 16 };

struct asks {
    uint8_t kind[ASKS_MAX]; /* enum ask, in the order sent */
    uint8_t count;
    uint8_t answered;
};

/* True while answers are outstanding. */
bool ask_pending(const struct backend *b);
/* The word for logs and metrics. */
const char *ask_word(enum ask kind);

enum { ASK_TEXT_MAX_BYTES = 8 * 1024 };

/* Builds up one pipelined write. */
struct ask_batch {
    struct backend *backend;
    uint8_t data[16 * 1024];
    struct wire_writer w;
};

void ask_begin(struct ask_batch *batch, struct backend *b);
/* A text statement; printf style, its result below ASK_TEXT_MAX_BYTES. */
void ask_query(struct ask_batch *batch, enum ask kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A command with a payload behind its byte. */
void ask_command(struct ask_batch *batch, enum ask kind, uint8_t command, struct bytes payload);
/* COM_STMT_PREPARE of a text of any length below 16 MiB; what is in the batch goes out before it.
 */
void ask_prepare(struct ask_batch *batch, struct bytes text);
/* COM_STMT_CLOSE of a statement of ours: has no answer. */
void ask_close_statement(struct ask_batch *batch, uint32_t id);
/* Writes it. When all is answered, or one failed, pool_on_answered is called; at once if the batch
 * is empty. On a write error the backend is doomed, and its end comes from the loop. */
void ask_send(struct ask_batch *batch);

/* Bytes of the answers; ends the backend on what it does not understand. What follows them goes to
 * the lessee when its statement was written behind the questions. May free `b`. */
void ask_on_read(struct backend *b, uint8_t *at, size_t len);

/* The batches that more than one place needs. */
void ask_settle(struct backend *b); /* behind a login: VARIABLES when they are not known yet, else
                                       SETTINGS, BASELINE; b->settled tells whether that was all */
void ask_reread(struct ask_batch *batch);
void ask_reset(struct ask_batch *batch,
               struct backend *b); /* RESET, SETTINGS, BASELINE: added to the batch */
void ask_probe(struct backend *b);

#endif
