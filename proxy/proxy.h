/* SPDX-License-Identifier: Apache-2.0
 *
 * The process: what all sessions share. One of it; made in main, outlives everything else.
 * Loop thread only. */
#ifndef SLUICE_PROXY_PROXY_H
#define SLUICE_PROXY_PROXY_H

#include "conf/load.h"
#include "conf/log.h"
#include "conf/options.h"
#include "health/metrics.h"
#include "pool/pool.h"
#include "pool/target.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_error.h"
#include "proxy/close_reason.h"
#include "proxy/guess.h"
#include "proxy/pin.h"

struct http_server;
struct listener;
struct rsa_key;
struct tls_context;

/* Counted where it happens, shown by proxy/report.c. */
struct proxy_stats {
    uint64_t clients_total;
    uint64_t commands[256];
    uint64_t local_answers[256]; /* by command */
    uint64_t pins[PIN_REASONS_COUNT];
    uint64_t errors[MYSQL_ERROR_COUNT];
    uint64_t closes[CLOSE_REASONS_COUNT];
    uint64_t login_failures;
    uint64_t retries;
    uint64_t request_ends;
    uint64_t rolled_back_vanished, rolled_back_idle, rolled_back_request_end;
    struct histogram statement;
};

enum { PINS_LOGGED = 1024 };

enum drain_step {
    DRAIN_NONE,
    DRAIN_SERVING, /* not ready any more, but everybody is served */
    DRAIN_CLOSING, /* listeners closed; next commands are refused */
};

struct proxy {
    struct loop *loop;
    struct load_request load;       /* for a reload */
    struct options *options;        /* owned; swapped by a reload */
    struct target *target;          /* owned */
    struct rsa_key *rsa;            /* for clients on plain TCP; NULL until it is made */
    struct tls_context *listen_tls; /* NULL: not offered. Owned */
    struct guesses guesses;
    struct list sessions; /* struct session */
    uint32_t next_session_id;
    struct list listeners;
    struct http_server *http;
    uint32_t pinned[PIN_REASONS_COUNT];
    struct proxy_stats stats;
    uv_timer_t tick;
    uv_signal_t signals[6];
    uint64_t started_ms;
    uint64_t last_active_ms;           /* when a client last did something */
    uint64_t pins_logged[PINS_LOGGED]; /* digests of statements that pinned, seen in the log */
    struct log_limit close_limit[CLOSE_REASONS_COUNT];
    enum drain_step drain;
    uint64_t drain_since_ms;
    bool ready;         /* listeners are open */
    bool reload_failed; /* the last one */
    bool localhost_warned;
    bool stopping;
    char token[256]; /* of the admin listener; empty: none */
};

/* Counts an error of ours. */
static inline void proxy_count_error(struct proxy *p, enum mysql_error e)
{
    p->stats.errors[e]++;
}

/* The whole life of a running sluice; takes `options`. The process's exit code: 0, or 1 when it
 * could not start (then a sentence is on stderr). `load` is for reloads; what it borrows lives as
 * long as the process. */
int proxy_run(struct options *options, struct load_request load);
/* Ends the process once all is closed. */
void proxy_stop(struct proxy *p);
/* HUP, POST /reload. 0, or -1 with the problems as text. */
int proxy_reload(struct proxy *p, char *why, size_t room);

#endif
