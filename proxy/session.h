/* SPDX-License-Identifier: Apache-2.0
 *
 * One client's connection, from accept to close, as a machine of steps. A step returns the next
 * state; returning its own state means: wait. session_run is the only loop over them; callbacks of
 * the loop, the pool and the authentication store a fact and call it. session_end is the only way
 * out.
 *
 *   GREETING ─▶ LOGIN ─▶ SCHEMA ─▶ READY ◀────────────────────────────────┐
 *                 ▲ COM_CHANGE_USER │ whole command                        │
 *                 └─────────────────┤                                      │
 *                    SPOOLING ◀─────┤ a large one comes in                 │
 *                    SKIPPING ◀─────┤ one above the server's limit ────────┤
 *                                   ▼                                      │
 *                    QUEUED ─▶ SENDING ─▶ RELAY ◀─▶ INFILE  ── reply over ─┘
 *
 * Loop thread only. A session owns itself: its memory goes when its socket is closed. */
#ifndef SLUICE_PROXY_SESSION_H
#define SLUICE_PROXY_SESSION_H

#include "pool/conn.h"
#include "pool/iobuf.h"
#include "pool/pool.h"
#include "protocol/mysql_error.h"
#include "protocol/sql_scan.h"
#include "proxy/close_reason.h"
#include "proxy/proxy.h"
#include "proxy/statements.h"

struct auth;
struct spool;

/* X(STATE, word) */
#define SESSION_STATES(X)                                                                          \
    X(GREETING, "greeting") /* the server's greeting is not known yet */                           \
    X(LOGIN, "login")                                                                              \
    X(SCHEMA, "schema") /* a backend is being brought into the schema that was asked for */        \
    X(READY, "idle")    /* waits for a command */                                                  \
    X(SPOOLING, "receiving")                                                                       \
    X(SKIPPING, "skipping")                                                                        \
    X(QUEUED, "waiting")  /* for a backend */                                                      \
    X(SENDING, "sending") /* a spooled command to the backend */                                   \
    X(RELAY, "active")    /* the reply streams */                                                  \
    X(INFILE, "infile")   /* the client's file streams */                                          \
    X(CLOSING, "closing")

enum session_state_id {
#define X(state, word) SESSION_##state,
    SESSION_STATES(X)
#undef X
        SESSION_STATES_COUNT
};

enum {
    SESSION_ID_BIT = 0x80000000u, /* what tells our connection ids from a server's */
    SESSION_WHOLE_MAX_BYTES =
        256 * 1024,                  /* commands up to this size wait in memory, others in a file */
    SESSION_LAST_STATEMENT_MS = 200, /* how long warnings hold a backend that others wait for */
    SESSION_AHEAD_MAX_BYTES = 64 * 1024, /* taken of a client that does not wait for its reply */
};

/* What is to be done with the command in hand; valid from its classification to the end of its
 * reply. */
struct plan {
    uint8_t command;
    uint8_t shape;  /* enum mysql_reply_shape */
    uint8_t kind;   /* enum sql_kind of a COM_QUERY */
    bool needs_own; /* must run where the last statement ran */
    bool may_retry; /* a plain read: running it twice does no harm */
    bool dml;       /* an error of it may hide changes of state */
    bool retried;
    uint8_t lend_tries;    /* backends that died while being brought into its state */
    uint32_t pins;         /* reasons that hold from when it is sent */
    uint32_t pins_before;  /* those that held before */
    uint32_t flags;        /* enum sql_flag */
    name_id charset_after; /* owned: what SET NAMES makes of the session, 0: nothing */
    uint32_t statement_id; /* of COM_STMT_*, for COM_STMT_CLOSE and the like */
};

struct session {
    struct conn conn;
    struct lessee lessee;
    struct proxy *proxy;
    struct list_node node; /* in proxy->sessions */
    struct target_waiter greeting_waiter;
    enum session_state_id state;
    uint32_t id;             /* client-visible: SESSION_ID_BIT | n */
    uint32_t caps;           /* agreed on */
    struct account *account; /* NULL until logged in; counted in its `sessions` */
    struct auth *auth;       /* while logging in or changing user; owned */
    struct spool *spool;     /* a large command; owned */

    struct iobuf in; /* what came and is not consumed */
    const uint8_t
        *view_at; /* during session_run: the bytes in hand, in `in` or in the loop's buffer */
    size_t view_len;
    size_t request_bytes; /* of the command in hand, at the front of the view; 0: spooled */

    struct plan plan;
    uint32_t pins;                /* enum pin */
    struct statements statements; /* prepared on the pinned backend; owned */
    uint32_t prepared_flags; /* SQL_F_SET_GLOBAL, _DATABASE_DDL: of statements prepared since the
                                login */
    uint64_t command_ns;     /* uv_hrtime when the command was whole */
    uint64_t active_ms;      /* when the client last did something */
    uint64_t deadline_ms;    /* of GREETING and LOGIN; 0: none */

    /* Facts from callbacks, taken by the steps. */
    bool lent : 1; /* the backend has come */
    bool reply_over : 1;
    bool infile_wanted : 1;
    bool running : 1;         /* inside session_run: callbacks only store their fact */
    bool client_paused : 1;   /* it sends faster than it is served */
    bool backend_paused : 1;  /* its replies come faster than it takes them */
    bool statement_sent : 1;  /* some byte of the command is on its way to the backend */
    bool reply_begun : 1;     /* some byte of the reply is on its way to the client */
    bool client_gone : 1;     /* a write to it failed */
    bool infile_blocked : 1;  /* the backend takes no more of the file for now */
    bool cut_off : 1;         /* the backend went in the middle of a packet of its reply */
    bool ran_before : 1;      /* some statement has run since the login or reset */
    bool lost_while_idle : 1; /* its pinned backend went between two commands: the next one hears of
                                 it */
    bool lost_in_transaction : 1; /* .. in a transaction */
    bool in_transaction_lost : 1; /* its transaction was rolled back while it was idle: the next
                                     command hears of it */
    bool local_peer : 1;          /* loopback or unix socket */
    bool tls_required : 1;
    uint8_t lost_seq;              /* sequence id for the ERR of a lost backend */
    struct lend_error *lend_error; /* owned: the pool has said no */
    name_id schema_before;         /* owned: COM_INIT_DB puts it back when it fails */
    uint64_t skip_left;  /* SKIPPING, INFILE: payload bytes of the packet in hand still to come */
    bool skip_continues; /* SKIPPING: another packet of the same command follows */
    uint8_t skip_seq;    /* likewise: sequence id of the next packet, or of our answer */
};

/* From the listener: takes the waiting connection. */
void session_accept(struct proxy *p, uv_stream_t *listener, bool is_unix, bool tls_required);
/* Runs the steps until one waits. The session may be gone afterwards. */
void session_run(struct session *s);
/* A fact has come for it from outside: runs it unless it is running. May end it. */
void session_poke(struct session *s);
/* The only end. What the backend was doing decides what becomes of it (closing table in
 * proxy/README.md). */
void session_end(struct session *s, enum close_reason why);
/* Every JANITOR_TICK_MS over all sessions. */
void session_tick_all(struct proxy *p);
struct session *session_find(struct proxy *p, uint32_t id);
const char *session_state_word(enum session_state_id state);

/* For the other files of the session. */
extern const struct lessee_ops session_lessee_ops; /* session_pool.c */
void session_set_pins(struct session *s, uint32_t pins);
/* Sends bytes to the client; an error ends nothing here, it shows as on_end. */
void session_send(struct session *s, const void *at, size_t len);
void session_send_ok(struct session *s, uint8_t seq);
void session_send_error(struct session *s, uint8_t seq, enum mysql_error e, const char *text);
/* A server's own ERR. */
void session_send_err(struct session *s, uint8_t seq, uint16_t code, const char *sqlstate,
                      struct bytes message);
/* Drops n bytes off the front of what is in hand. */
void session_consume(struct session *s, size_t n);
/* Lends or queues; true when the backend is there already. */
bool session_lend(struct session *s);
void session_plan_clear(struct session *s);
/* After a reply: gives the backend back unless it is pinned. */
void session_settle(struct session *s);
/* Leaves the account, the pool and the backend, as at the end of a session; the socket lives on. */
void session_logout(struct session *s);
/* A failed COM_INIT_DB leaves the schema as it was. */
void session_schema_back(struct session *s);
/* A reset keeps a role, and on MariaDB it destroys a prepared XA transaction: close instead. */
bool session_is_beyond_reset(const struct session *s);
/* The backend is gone. May end the session. */
void session_lost(struct session *s);

#endif
