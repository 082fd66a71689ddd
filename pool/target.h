/* SPDX-License-Identifier: Apache-2.0
 *
 * One server behind us: where it is, what it is (version, identity, baseline), how it does, and
 * everything that is connected to it: accounts, their pools, and the totals that limits are about.
 * Loop thread only. Made once at start; outlives all pools. */
#ifndef SLUICE_POOL_TARGET_H
#define SLUICE_POOL_TARGET_H

#include "conf/log.h"
#include "conf/options.h"
#include "health/backoff.h"
#include "health/metrics.h"
#include "pool/backend.h"
#include "pool/list.h"
#include "pool/loop.h"
#include "pool/settings.h"
#include "pool/state.h"

struct account;
struct lessee;
struct proxy_stats;
struct tls_context;

enum {
    TARGET_ADDRESSES_MAX = 16,
    TARGET_COLLATIONS_MAX = 4096,
    TARGET_RESOLVE_AGAIN_MS = 30000,
    ACCOUNT_BUCKETS = 256,
};

/* Told to whoever waits for the server's greeting. */
struct target_waiter {
    struct list_node node;
    void (*on_known)(struct target_waiter *w);
};

/* Counted where it happens, shown by proxy/report.c. */
struct pool_stats {
    uint64_t connects;
    uint64_t reconnects[BACKEND_ENDS_COUNT]; /* ends of backends that had been good, by cause */
    uint64_t lends_exact, lends_restored, lends_fresh;
    uint64_t resets_dirty, resets_suspect, resets_abandoned;
    uint64_t probe_failures, probes;
    uint64_t kills;
    uint64_t login_failures;
    struct histogram wait;
};

struct target {
    struct loop *loop;
    const struct options *options;      /* borrowed; a reload swaps it */
    const struct backend_option *where; /* borrowed from options */
    struct names *names;                /* owned */
    struct tls_context *tls;            /* towards the server; NULL: off. Owned */
    char label[300]; /* "db.example:3306" or the socket's path, for logs and metrics */

    /* Where: result of the last resolution. */
    struct sockaddr_storage address[TARGET_ADDRESSES_MAX];
    size_t address_count;
    size_t address_next; /* the one to try next: several A records are used in turn */
    uint64_t resolved_ms;
    uv_getaddrinfo_t resolve_req;
    bool resolving; /* backends in CONNECT without a request out wait for it */

    /* What: from greetings and logins. */
    bool known;    /* a greeting was seen */
    bool answered; /* a login succeeded at least once */
    bool mariadb;
    char version[80];
    uint8_t charset;
    char identity[160];    /* @@server_uuid, or @@hostname and port; empty until a login */
    uint16_t fresh_status; /* status flags of a fresh session */
    bool variables_known;  /* has_variable is filled */
    bool has_variable[VARIABLES_COUNT];
    uint64_t max_allowed_packet;
    name_id charset_of_id[TARGET_COLLATIONS_MAX]; /* learned: what a collation number means here */
    struct list greeting_waiters;                 /* struct target_waiter */

    /* How it does. */
    struct backoff backoff;
    uint64_t next_connect_ms; /* no new connection before */
    uint64_t last_heard_ms;   /* any byte from it */
    uint64_t last_error_ms;
    char last_error[256];
    bool paused; /* by the console: nothing is lent to anybody */
    bool up;     /* the last attempt to connect succeeded */
    bool greeting_in_flight;

    struct account *accounts[ACCOUNT_BUCKETS];
    struct pool *scout;   /* for greetings */
    struct list pools;    /* all, struct pool.node */
    size_t open_backends; /* over all pools, any state, CLOSING too */
    uint32_t next_backend_id;
    struct pool_stats stats;
    struct log_limit end_limit; /* brakes the log of closed backends */
    struct log_limit fail_limit;
    uv_timer_t pump_timer; /* serves who waits, at the end of this turn */
    bool closing;          /* shutting down: nothing is opened */
};

/* Reads TLS files. NULL on failure, with a sentence in err. `options` outlives the target or its
 * replacement. */
struct target *target_new(struct loop *loop, const struct options *options, char *err,
                          size_t err_bytes);
/* Ends all backends and frees accounts; the memory itself is freed by target_free once the loop has
 * run dry. */
void target_close(struct target *t);
void target_free(struct target *t);
/* A reload's new options; backends of another address or TLS mode retire. */
int target_reload(struct target *t, const struct options *options, char *err, size_t err_bytes);

/* Makes sure that a greeting arrives sooner or later; harmless when it is known. */
void target_look(struct target *t);
/* Asks for a greeting although it is known: does the server live? */
void target_check(struct target *t);
void target_wait_known(struct target *t, struct target_waiter *w);
void target_stop_waiting(struct target *t, struct target_waiter *w);

/* Has the whole server gone, and not one connection alone? True when others were idle and all of
 * them have ended too, noticed yet or not. */
bool target_is_lost(const struct target *t);

/* Connects `b` to the next address, resolving the name first when that is due. The end comes by
 * backend_on_connected or backend_end. */
void target_connect(struct target *t, struct backend *b);

/* Notes for the state of health. */
void target_heard(struct target *t);
void target_failed(struct target *t, const char *error);
void target_succeeded(struct target *t);
void target_on_greeting(struct target *t, const char *version, uint8_t charset);

/* A random number for jitter. */
uint64_t target_random(void);

#endif
