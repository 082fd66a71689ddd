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
 *                    QUEUED ─▶ SENDING ─▶ RELAY ◀─▶ INFILE  ── reply over ─┤
 *                                                    ASKING  ── answered ──┘
 *
 * Loop thread only. A session owns itself: its memory goes when its socket is closed. */
#ifndef SLUICE_PROXY_SESSION_H
#define SLUICE_PROXY_SESSION_H

#include "pool/conn.h"
#include "pool/iobuf.h"
#include "pool/pool.h"
#include "protocol/mysql_error.h"
#include "protocol/sql_scan.h"
#include "protocol/sql_simple.h"
#include "proxy/close_reason.h"
#include "proxy/pin_note.h"
#include "proxy/pin_track.h"
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
    X(ASKING, "asking")   /* the reply is out; the server is asked about the session's state */    \
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
    SESSION_CAPTURE_MAX_BYTES = 16 * 1024 * 1024, /* of a reply that is kept or held */
    SESSION_AHEAD_MAX_BYTES = 64 * 1024, /* taken of a client that does not wait for its reply */
};

/* What becomes of a reply besides going to the client. */
enum capture {
    CAPTURE_NONE,
    CAPTURE_COPY, /* kept as it passes, to answer from later */
    CAPTURE_HOLD, /* held back, since the client gets it changed */
};

/* What is to be done with the command in hand; valid from its classification to the end of its
 * reply. */
struct plan {
    uint8_t command;
    uint8_t shape;               /* enum mysql_reply_shape */
    uint8_t capture;             /* enum capture */
    struct prepared_facts facts; /* of a COM_QUERY's text, or of the statement that is executed */
    bool needs_own;              /* must run where the last statement ran */
    bool may_retry;              /* a plain read: running it twice does no harm */
    bool follows;                /* it only reads: may be written behind BEGIN and the like */
    bool dml;                    /* an error of it may hide changes of state */
    bool literal;                /* a SET whose effect depends on the text and the state only */
    bool explained;              /* a change of state is known by the names of its variables */
    bool reread;                 /* what it does to the session has to be read back */
    bool learns;                 /* its effect is kept */
    bool warned;                 /* it ended with warnings */
    bool asks;                   /* `ask` is what it asks, and nothing else */
    bool substitutes;            /* the one value of its reply becomes `value` */
    bool kills;                  /* a KILL whose id the server knows: one of ours is killed here */
    bool kills_query;            /* .. KILL QUERY */
    uint64_t victim;             /* .. and which it is; 0: none of ours */
    bool compares_ids;  /* with ids of clients, which become the server's when it is sent */
    bool lists_threads; /* SHOW PROCESSLIST */
    bool personal;      /* PREPARE: its text holds the client's id, and is for nobody else */
    bool own;           /* EXECUTE, PREPARE: by a statement of its own (struct statement.own_id) */
    bool retried;
    uint8_t lend_tries;    /* backends that died while being brought into its state */
    uint32_t pins;         /* reasons that hold from when it is sent */
    uint32_t pins_before;  /* those that held before */
    uint32_t statement_id; /* the client's, of COM_STMT_*; the option of COM_SET_OPTION */
    struct sql_ask ask;
    int64_t value;
    struct prepared_use use;   /* with which types it is executed; borrowed of the statement */
    struct prepared *prepared; /* a reference: what is prepared or executed */
    uint8_t *packet; /* owned: what goes to the server in place of the client's; NULL: that */
    size_t packet_bytes;
    char *text; /* owned: of a statement whose text matters once it has run; NULL */
    size_t text_bytes;
    struct session_state before; /* owned: with `learns` and PREPARE, what it was run in */
};

/* What a server would say about the statement before, as far as packets tell. */
struct last_state {
    int64_t row_count;   /* ROW_COUNT() */
    uint64_t found_rows; /* FOUND_ROWS() */
    bool row_count_known, found_rows_known;
    bool clean;            /* no warnings, no errors */
    bool gone;             /* a question of ours has run on the backend since */
    bool rows_gone;        /* it ran on another backend than the one that FOUND_ROWS() is about */
    bool diagnostics_gone; /* .. than the one that the warnings it left standing are on */
    uint16_t warnings;     /* how many, errors included */
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
    struct pin_notes *notes;      /* since when, and why; owned */
    struct pin_track *track;      /* the names behind the pins; owned */
    struct statements statements; /* owned */
    uint32_t owns;                /* how many of them have an own_id */
    struct last_state last;
    char *replay; /* owned: the SET that was answered here with warnings, until something clears
                     them */
    struct iobuf captured; /* of the reply in hand */
    uint64_t command_ns;   /* uv_hrtime when the command was whole */
    uint64_t connected_ms;
    uint64_t active_ms;   /* when the client last did something */
    uint64_t queries;     /* commands taken */
    uint64_t deadline_ms; /* of GREETING and LOGIN; 0: none */

    /* Facts from callbacks, taken by the steps. */
    bool begun : 1;         /* a BEGIN was answered here and has not gone to a server yet */
    bool once_pending : 1;  /* SET TRANSACTION waits for its transaction */
    bool tables_locked : 1; /* as the transaction tracker says */
    bool reread_due : 1;    /* its state has to be read back once its warnings are not wanted */
    bool profiled : 1;      /* SET profiling: what it recorded outlives a reset */
    bool rows_held : 1;     /* FOUND_ROWS() is what its backend is held for */
    bool ask_locks : 1;     /* whether a named lock is held has to be asked */
    bool asking_locks : 1;  /* .. and is being asked */
    bool asking_rows : 1;   /* FOUND_ROWS() is being asked, before the backend goes to others */
    bool console : 1;       /* it speaks to us, not to a server: proxy/console.h */
    bool lent : 1;          /* the backend has come */
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
/* Who holds the connection that has this id at the server that s is connected to; NULL: no client
 * of ours. */
struct session *session_find_server_id(const struct session *s, uint64_t id);
const char *session_state_word(enum session_state_id state);

/* For the other files of the session. */
extern const struct lessee_ops session_lessee_ops; /* session_pool.c */
void session_set_pins(struct session *s, uint32_t pins);
/* Sends bytes to the client; an error ends nothing here, it shows as on_end. */
void session_send(struct session *s, const void *at, size_t len);
void session_send_ok(struct session *s, uint8_t seq);
/* The command in hand is answered here with an OK: ROW_COUNT() becomes what it says. */
void session_note_ok(struct session *s);
/* The status flags of the session as a server would show them now, without a backend. */
uint16_t session_status(const struct session *s);
/* How the session's text is read: enum sql_mode. */
uint32_t session_scan_mode(const struct session *s);
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
/* No pin holds any more, and what they were about is forgotten: its backend is about to be reset or
 * closed, or has gone. */
void session_unpin(struct session *s);
/* It warned, and its backend goes to others: run again, it warns alike. Not so where MySQL executes
 * it as a prepared one: it counts the warning among the errors [seen]. */
void session_keep_replay(struct session *s, struct bytes text, bool prepared);
/* Something ran here that would have cleared the server's diagnostics. */
void session_clear_warnings(struct session *s);
/* Its last statement is as on a fresh connection. */
void session_forget_last(struct session *s);
/* Its statements' own ids: closed on the backend that it is about to give back clean; `gone`: that
 * backend has forgotten them already, or is not there. */
void session_drop_own(struct session *s, bool gone);
/* A failed COM_INIT_DB leaves the schema as it was. */
void session_schema_back(struct session *s);
/* No pin holds any more; its backend is reset, or closed where a reset would not do. */
void session_give_back_dirty(struct session *s);
/* The backend is gone. May end the session. */
void session_lost(struct session *s);

#endif
