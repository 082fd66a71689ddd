/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to the server, from its socket to its close. The state is the list: each state names
 * the list of its pool that a backend lives on, and backend_move is the only one that moves it.
 *
 *   CONNECT ─▶ LOGIN ─▶ SETTLE ─▶ IDLE ◀──▶ LENT ──▶ RESET ─▶ IDLE
 *                  └──▶ SIDE        └─▶ PROBE ─▶ IDLE
 *                                        LENT ──▶ ABANDONED ─▶ RESET
 *   any ─▶ CLOSING
 *
 * On its own account a backend is asked questions (pool/ask.h): after the login, to restore a
 * client's state, to probe, to reset. Between questions every byte it sends belongs to its lessee.
 * Loop thread only. Owned by its pool; memory goes in the last close callback. */
#ifndef SLUICE_POOL_BACKEND_H
#define SLUICE_POOL_BACKEND_H

#include "pool/ask.h"
#include "pool/conn.h"
#include "pool/iobuf.h"
#include "pool/prepared.h"
#include "pool/state.h"
#include "protocol/mysql_reply.h"

struct backend;
struct lessee;
struct login;
struct pool;
struct proof;

#define BACKEND_TO(state) (1u << BACKEND_##state)
/* X(state, word for logs and metrics, states it may go to besides CLOSING) */
#define BACKEND_STATES(X)                                                                          \
    X(CONNECT, "connect", BACKEND_TO(LOGIN))                                                       \
    X(LOGIN, "login", BACKEND_TO(SETTLE) | BACKEND_TO(SIDE))                                       \
    X(SETTLE, "settle", BACKEND_TO(IDLE))                                                          \
    X(IDLE, "idle", BACKEND_TO(LENT) | BACKEND_TO(PROBE) | BACKEND_TO(LOGIN))                      \
    X(LENT, "lent", BACKEND_TO(IDLE) | BACKEND_TO(RESET) | BACKEND_TO(ABANDONED))                  \
    X(PROBE, "probe", BACKEND_TO(IDLE))                                                            \
    X(RESET, "reset", BACKEND_TO(IDLE))                                                            \
    X(ABANDONED, "abandoned", BACKEND_TO(RESET))                                                   \
    X(SIDE, "side", 0)                                                                             \
    X(CLOSING, "closing", 0)

enum backend_state {
#define X(state, word, to) BACKEND_##state,
    BACKEND_STATES(X)
#undef X
        BACKEND_STATES_COUNT
};

/* Why a backend ends. X(ID, word, level) */
#define BACKEND_ENDS(X)                                                                            \
    X(SERVER_CLOSED, "server_closed", LOG_INFO) /* end of file or reset while idle */              \
    X(LOST, "lost", LOG_WARN)                   /* the same while lent */                          \
    X(CONNECT_FAILED, "connect_failed", LOG_WARN)                                                  \
    X(CONNECT_TIMEOUT, "connect_timeout", LOG_WARN)                                                \
    X(LOGIN_REFUSED, "login_refused", LOG_WARN)                                                    \
    X(PROBE_FAILED, "probe_failed", LOG_WARN)                                                      \
    X(SILENT, "silent",                                                                            \
      LOG_WARN) /* backend_timeout, and the server did not answer elsewhere either */              \
    X(WAIT_TIMEOUT, "wait_timeout", LOG_INFO)                                                      \
    X(MAX_AGE, "max_age", LOG_INFO)                                                                \
    X(IDLE_TIMEOUT, "idle_timeout", LOG_INFO)                                                      \
    X(EVICTED, "evicted", LOG_INFO) /* made room for another key */                                \
    X(RETIRED, "retired",                                                                          \
      LOG_INFO)                 /* the server's baseline moved, or a reload changed the target */  \
    X(DIRTY, "dirty", LOG_INFO) /* cannot be brought back to a known state */                      \
    X(PROTOCOL, "protocol", LOG_ERROR) /* sent what we do not understand */                        \
    X(SURPLUS, "surplus",                                                                          \
      LOG_INFO) /* a login that was only to prove a password, or a side connection done */         \
    X(ABANDONED, "abandoned",                                                                      \
      LOG_INFO) /* the client went in mid statement and a KILL could not be brought to bear */     \
    X(SHUTDOWN, "shutdown", LOG_INFO)

enum backend_end {
#define X(id, word, level) BACKEND_END_##id,
    BACKEND_ENDS(X)
#undef X
        BACKEND_ENDS_COUNT
};

/* What a login is for. */
enum backend_purpose {
    BACKEND_FOR_POOL,     /* to be lent */
    BACKEND_FOR_GREETING, /* to see that the server answers, and its greeting */
    BACKEND_FOR_PROOF, /* to prove a password that a client gave; joins the pool when there is room
                        */
    BACKEND_FOR_CHECK, /* to see that the account refuses a random password */
    BACKEND_FOR_KILL,  /* side connection */
};

enum {
    BACKEND_REPLY_MAX_BYTES = 1024 * 1024,  /* of our own questions */
    BACKEND_REQUEST_KEEP_BYTES = 16 * 1024, /* statements up to this size can be sent again */
};

/* No schema has this name: what it stands for is entered anew before the next statement. */
#define SCHEMA_UNKNOWN "\x01unknown"

struct backend {
    struct conn conn;
    enum backend_state state;
    enum backend_purpose purpose;
    struct list_node node;      /* on pool->backends[state] */
    struct list_node kill_node; /* on pool->kills while a KILL of its statement is wanted */
    struct pool *pool;          /* outlives it */
    uint32_t id;                /* ours, for logs */
    uint32_t server_id;         /* connection id at the server; 0 until the greeting */

    struct lessee *lessee; /* LENT: who has it; else NULL */
    struct lessee
        *last_owner; /* whose last-statement state it still holds, NULL: nobody's that lives */
    struct lessee *id_owner; /* whose LAST_INSERT_ID() lives here alone */

    struct session_state session; /* what it is in */
    struct session_state asked;   /* what the questions that are out will make of it */
    name_id baseline_charset;    /* what it has after a login or a reset, restored together with the
                                    reset */
    struct prepared_slots slots; /* what it has prepared; owned */
    uint64_t last_insert_id;     /* LAST_INSERT_ID() of it, when known */
    uint16_t asked_number;       /* the collation number that was asked for */
    uint64_t asked_last_id;      /* what the SET that is out makes of it */
    bool last_insert_id_known : 1;
    bool suspect : 1; /* an error may have left trackers unsaid: reset before anyone else gets it */
    bool settled : 1; /* its baseline was read */
    bool followed : 1; /* the lessee's statement was written behind the questions that are out */
    bool
        refused : 1; /* its lessee, which keeps it, hears of restore_error when its state is back */
    bool schema_moved : 1; /* its schema may not be as it was entered: unknown from when it is idle
                            */
    bool retire : 1;       /* close when it would become idle */
    bool doomed : 1;       /* the server has closed it or will; never lend */
    bool login_ok : 1;     /* the server's OK was seen */
    bool tls_on : 1;
    bool by_stage1 : 1;      /* logged in without a password: there is none to learn */
    bool served : 1;         /* has been lent before */
    bool connecting : 1;     /* the connect request is out: see connect_req */
    bool statement_over : 1; /* ABANDONED: the end of the statement was seen */
    bool kill_over : 1;      /* ABANDONED: the side connection is done with it */
    uint16_t status;         /* last status flags */

    uint64_t born_ms;
    uint64_t since_ms;      /* in this state */
    uint64_t last_proof_ms; /* last byte from the server */
    uint64_t max_age_ms;    /* with jitter */
    uint64_t wait_timeout_ms;
    uint64_t deadline_ms; /* of this state; 0: none */

    struct login *login; /* while logging in; owned */
    char *password;      /* that it logs in with; owned, wiped */
    size_t password_bytes;
    uint8_t native_stage1[20]; /* in its place, see struct secret */
    struct proof *proof;       /* FOR_PROOF, FOR_CHECK: who asked */
    struct asks asks;          /* questions out */
    struct lend_error
        restore_error;    /* the first refusal of NAMES or INIT_DB among them; code 0: none */
    struct iobuf in;      /* bytes of an incomplete answer to our own questions */
    struct iobuf request; /* copy of the lessee's statement while it may be sent again */
    uv_connect_t connect_req;
    uint64_t asked_ms;  /* LENT: when the statement was written whose reply is not over; 0: none */
    uint32_t role_hash; /* of CURRENT_ROLE() after the login; 0: not asked yet */
    uint32_t identity_hash;   /* of the server it is connected to */
    uint32_t baseline_hash;   /* of the baseline it was born or reset to */
    struct mysql_reply reply; /* LENT and ABANDONED: to the lessee's statement */
};

/* Makes a backend of `pool` and starts to connect. Its end is told by pool_on_end, never by a
 * return value. proof  with BACKEND_FOR_PROOF and _CHECK; borrowed, and it outlives the backend or
 * clears the field. */
struct backend *backend_open(struct pool *pool, enum backend_purpose purpose, struct proof *proof);
/* From the target: the connect request is over. */
void backend_on_connected(struct backend *b, int error);
/* The only place that changes the state. Aborts on an illegal move, naming both states. */
void backend_move(struct backend *b, enum backend_state to);
/* The only place that ends one. `detail` for the log, may be NULL. The memory goes later; do not
 * touch it any more. */
void backend_end(struct backend *b, enum backend_end why, const char *detail);
/* COM_CHANGE_USER with the account's current secret on an idle backend: proves it again without a
 * connection. */
void backend_prove_again(struct backend *b);

/* Its settings moved: what of them is about itself. */
void backend_note_settings(struct backend *b);
/* The text that its lessee wants to execute is prepared there. */
void backend_note_prepared(struct backend *b, uint32_t statement_id);
/* COM_STMT_CLOSE; there is no answer. */
void backend_close_statement(struct backend *b, uint32_t statement_id);

const char *backend_state_word(enum backend_state s);
const char *backend_end_word(enum backend_end e);

#endif
