/* SPDX-License-Identifier: Apache-2.0
 *
 * A user of the server, and what we know of its secret: from the configuration, from the backend's
 * URL, or learned from a client and proven by a login (design.md, MySQL rule 8). A learned secret
 * dies when a login made with it is refused, and `verifier_ttl` after its last proof. Never logged;
 * wiped when dropped. Loop thread only. Owned by its target. */
#ifndef SLUICE_POOL_ACCOUNT_H
#define SLUICE_POOL_ACCOUNT_H

#include "pool/list.h"
#include "pool/scramble.h"
#include "protocol/wire.h"

struct backend;
struct pool;
struct target;
struct user_option;

enum { ACCOUNT_SECRETS_MAX = 3 }; /* for rotation */

struct secret {
    char *password; /* owned, wiped; NULL: only the hash, or the stage 1 that a client's reply gave,
                       is known */
    size_t password_bytes;
    uint8_t verifier[SCRAMBLE_SHA2_BYTES]; /* of caching_sha2; with a password */
    uint8_t native_hash[SCRAMBLE_NATIVE_BYTES];
    uint8_t native_stage1[SCRAMBLE_NATIVE_BYTES];
    bool has_stage1;
    bool configured;    /* does not age */
    uint64_t proven_ms; /* last login that succeeded with it; learned ones always have one */
    bool proving;       /* a COM_CHANGE_USER that proves it again is out */
};

enum account_openness {
    ACCOUNT_UNCHECKED,
    ACCOUNT_STRICT, /* a random password was refused: a login proves the password */
    ACCOUNT_OPEN,   /* anything is accepted: a login proves nothing */
};

struct account {
    struct target *target;
    struct account *next; /* in its bucket */
    char *name;
    struct secret secrets[ACCOUNT_SECRETS_MAX]; /* [0] is used first */
    size_t secret_count;
    bool configured;
    bool paused; /* by the console: nothing is lent to its clients */
    enum account_openness openness;
    int pool_max;       /* 0: the section's */
    struct pool *pools; /* by flags, linked by struct pool.next_of_account */
    struct list proofs; /* struct proof, running or waiting for room */
    uint32_t sessions;  /* clients logged in as it */
    uint64_t used_ms;
    uint32_t *schemas; /* name_id, with a reference each; owned */
    size_t schema_count;
};

/* NULL when it is not known. */
struct account *account_find(struct target *t, struct bytes name);
/* Finds or makes it. */
struct account *account_get(struct target *t, struct bytes name);
/* One that is in no table and has no pools, for a user of the console: its password is checked like
 * any other's. `u` is borrowed for the call. */
struct account *account_new_alone(struct target *t, const struct user_option *u);
void account_free_alone(struct account *a); /* NULL is fine; wipes */
/* Takes users and the URL's credentials from the options; those that are gone lose what was
 * configured. */
void account_configure(struct target *t);
/* Drops secrets and accounts that have aged; proves used ones again before they do. On the
 * janitor's tick. */
void account_tick(struct target *t);
/* Ends all proofs and frees everything, pools included (which hold no backend any more). */
void account_free_all(struct target *t);

/* The secret that fits a client's fast reply, NULL when none does: then ask for the password
 * itself. Also gives NULL for aged ones. */
struct secret *account_check_sha2(struct account *a, struct bytes reply, const uint8_t *salt);
/* The same for mysql_native_password; learns stage 1. */
struct secret *account_check_native(struct account *a, struct bytes reply, const uint8_t *salt);
/* The secret with this very password, NULL when none is. */
struct secret *account_check_password(struct account *a, struct bytes password);
/* The best secret to log in with, NULL when there is none. */
struct secret *account_secret(struct account *a);
/* A login with `password` succeeded at `now`: learns it or renews it. */
void account_learn(struct account *a, struct bytes password);
/* A login made with this secret got 1045. */
void account_forget(struct account *a, struct bytes password);

/* Schemas that this user has been seen to enter: a login that names one is not asked of the server
 * again. A statement about databases that passes clears them all. */
bool account_schema_is_proven(const struct account *a, uint32_t schema);
void account_schema_proven(struct account *a, uint32_t schema);
void account_schema_unproven(struct account *a, uint32_t schema);
void account_schemas_forget_all(struct target *t);

/* ER_ACCESS_DENIED_ERROR, or ER_ACCESS_DENIED_NO_PASSWORD_ERROR of plugins that take no password.
 */
bool account_is_denial(uint16_t code);

/* How the proof of a client's password came out. */
enum proof_verdict {
    PROOF_GOOD,
    PROOF_REFUSED, /* the server's own ERR: code, sqlstate, message */
    PROOF_OPEN,    /* the account accepts anything */
    PROOF_FAILED,  /* the server could not be asked: message says why */
};

struct proof_result {
    enum proof_verdict verdict;
    uint16_t code;
    const char *sqlstate;
    struct bytes message;
};

/* Someone who waits for a proof. Borrowed until on_proven or account_stop_proof. */
struct proof_waiter {
    struct list_node node;
    struct proof *proof;
    void (*on_proven)(struct proof_waiter *w, const struct proof_result *result);
};

/* Proves by logging in at the server. The same password of the same account is proven once for all
 * who wait. on_proven comes later, never from within. */
/* True when this began a new one: a guess that the server will see. */
bool account_prove(struct account *a, uint32_t flags, struct bytes password,
                   struct proof_waiter *w);
void account_stop_proof(struct proof_waiter *w);

/* For backends of these purposes: what to log in with, and what came out. */
struct proof;
struct bytes proof_password(const struct proof *p);
void proof_on_login(struct pool *pool, struct backend *b);
void proof_on_refused(struct pool *pool, struct backend *b, uint16_t code, const char *sqlstate,
                      struct bytes message);
/* The login ended without an answer of the server's. */
void proof_on_lost(struct backend *b, const char *why);
/* Starts what waits for room. */
void account_pump(struct account *a);

#endif
