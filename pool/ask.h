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
    X(SETTINGS, "settings",                                                                        \
      true) /* SET of the trackers, and of the character set behind a reset */                     \
    X(BASELINE, "baseline", true)       /* what a fresh session has here */                        \
    X(RESET, "reset", true)             /* COM_RESET_CONNECTION */                                 \
    X(PROBE, "probe", true)             /* probe_query */                                          \
    X(LAST_ID, "last_id", true)         /* SELECT LAST_INSERT_ID(), for the owner before */        \
    X(CHARSET, "charset", true)         /* the names behind a collation number */                  \
    X(NAMES, "names", false)            /* SET NAMES of the lessee */                              \
    X(INIT_DB, "init_db", false)        /* schema of the lessee */                                 \
    X(OPTION, "option", true)           /* COM_SET_OPTION of the lessee */                         \
    X(SET_LAST_ID, "set_last_id", true) /* LAST_INSERT_ID() of the lessee */                       \
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
    LEND_ID_LOST,       /* LAST_INSERT_ID() was wanted, and its backend went */
    LEND_LOGIN_REFUSED, /* the server refused the login: its own ERR */
};

struct lend_error {
    enum lend_failure failure;
    uint16_t code; /* of the server, with REFUSED and LOGIN_REFUSED */
    char sqlstate[6];
    char message[512];
};

enum { ASKS_MAX = 12 };

struct asks {
    uint8_t kind[ASKS_MAX]; /* enum ask, in the order sent */
    uint8_t count;
    uint8_t answered;
};

/* True while answers are outstanding. */
bool ask_pending(const struct backend *b);
/* The word for logs and metrics. */
const char *ask_word(enum ask kind);

/* Builds up one pipelined write. */
struct ask_batch {
    struct backend *backend;
    uint8_t data[4096];
    struct wire_writer w;
};

void ask_begin(struct ask_batch *batch, struct backend *b);
/* A text statement; printf style, its result below 4 KiB less what is already in the batch. */
void ask_query(struct ask_batch *batch, enum ask kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A command with a payload behind its byte. */
void ask_command(struct ask_batch *batch, enum ask kind, uint8_t command, struct bytes payload);
/* Writes it. When all is answered, or one failed, pool_on_answered is called; at once if the batch
 * is empty. On a write error the backend is doomed, and its end comes from the loop. */
void ask_send(struct ask_batch *batch);

/* Bytes of the answers; ends the backend on what it does not understand. May free `b`. */
void ask_on_read(struct backend *b, const uint8_t *at, size_t len);

/* The batches that more than one place needs. */
void ask_settle(struct backend *b); /* SETTINGS, BASELINE: behind a login */
void ask_reset(struct ask_batch *batch,
               struct backend *b); /* RESET, SETTINGS, BASELINE: added to the batch */
void ask_probe(struct backend *b);

#endif
