/* SPDX-License-Identifier: Apache-2.0
 *
 * The backends of one key: server, user, and the capability flags that cannot be changed after a
 * login. Lends them, takes them back, queues who must wait, and opens and evicts within exact
 * limits (design.md, MySQL rules 1, 2, 9, 10). The invariants are numbered in pool/README.md. Loop
 * thread only. Owned by its account. */
#ifndef SLUICE_POOL_POOL_H
#define SLUICE_POOL_POOL_H

#include "pool/account.h"
#include "pool/backend.h"
#include "pool/effects.h"
#include "pool/settings.h"
#include "pool/target.h"

/* Capability flags that are part of a key. */
enum {
    POOL_KEY_FLAGS = 1u << 1 /* FOUND_ROWS */ | 1u << 7 /* LOCAL_FILES */,
};

/* What the pool tells who borrows. Called from the loop, never from inside a pool_* call of the
 * lessee's, but for on_backend_read. */
struct lessee_ops {
    /* A backend is yours, in your state; lessee->backend is set. */
    void (*on_lent)(struct lessee *l);
    void (*on_not_lent)(struct lessee *l, const struct lend_error *error);
    /* Bytes of the reply to what you sent; writable. */
    void (*on_backend_read)(struct lessee *l, uint8_t *at, size_t len);
    /* It is gone: lessee->backend is NULL already. `b` may be looked at during the call. */
    void (*on_backend_end)(struct lessee *l, struct backend *b, enum backend_end why);
    void (*on_backend_drained)(struct lessee *l);
    /* For the queue timeout's text and the like: "transaction", "GET_LOCK", ..; NULL when it holds
     * none. */
    const char *(*held_for)(const struct lessee *l);
};

enum last_id_where {
    LAST_ID_KNOWN,      /* last_insert_id is it */
    LAST_ID_IN_BACKEND, /* id_backend has it */
    LAST_ID_LOST,       /* nobody knows any more */
};

/* What a session is to the pool; embedded in it. */
struct lessee {
    const struct lessee_ops *ops;
    struct pool *pool;            /* NULL until it has logged in */
    struct backend *backend;      /* LENT to it */
    struct backend *last_backend; /* the one that still holds its last-statement state, NULL when
                                     taken by another */
    struct backend *id_backend; /* the one that has its LAST_INSERT_ID(), with LAST_ID_IN_BACKEND */
    struct session_state state; /* what it is in; owned */
    uint64_t last_insert_id;
    enum last_id_where last_id_where;
    uint8_t charset_number; /* collation number of its login, for a charset not yet known by name */
    bool ignores_space;  /* its fresh session has IGNORE_SPACE in sql_mode: a flag of its login */
    bool wants_last_id;  /* it is asked for: an unknown one is refused */
    bool keeps;          /* holds its backend between statements */
    bool wants_pin;      /* will keep it between statements: max_pinned is about such */
    bool wants_fresh;    /* reset it first, so that nothing of a statement before is left */
    bool may_follow;     /* its statement only reads: it may be written behind questions that cannot
                            change what it does */
    bool moved;          /* out: what its statement before left is not on the backend it has now */
    bool leaves_nothing; /* what it runs leaves ROW_COUNT() and FOUND_ROWS() as they are: a PREPARE
                          */
    bool id_may_follow; /* behind the one about LAST_INSERT_ID() it may be written though it writes:
                           it does not name it, and should that question fail it is reported lost */
    struct prepared_use use; /* .. with which types; borrowed likewise */
    const char *replay; /* a SET that was answered here with warnings: run anew, so that they are
                           there to be asked for; borrowed. Cleared when it is sent */
    uint64_t answer;    /* to pool_ask */
    const char *begin;  /* the BEGIN that was answered here and has to go before its statement;
                           static text; NULL: none. Cleared when it is sent */
    struct prepared
        *prepared;         /* what it wants to execute: borrowed while it waits; NULL: nothing */
    bool waiting;          /* in the queue */
    struct list_node node; /* in pool->waiters while waiting */
    uint64_t since_ms;     /* when it began to wait, or was lent a backend */
    uint32_t client_id;    /* as the client sees it */
};

struct pool {
    struct target *target;
    struct account *account; /* NULL: the scout */
    struct pool *next_of_account;
    struct list_node node; /* in target->pools */
    uint32_t flags;        /* POOL_KEY_FLAGS only */
    struct list backends[BACKEND_STATES_COUNT];
    size_t open;               /* in any state, CLOSING too */
    struct list waiters;       /* struct lessee, first come first served */
    uint32_t pinned;           /* of the lent ones, held between statements */
    uint32_t baseline_hash;    /* of the newest login or reset; 0: none yet */
    struct settings *baseline; /* likewise: what a fresh session's variables are; a reference */
    struct prepared_cache *prepared; /* owned */
    struct effects *effects;         /* owned */
    struct list kills;               /* struct backend.kill_node: statements to be killed */
    struct backend *killing;         /* its KILL is out on the side connection; NULL: none */
    uint64_t hits, misses;           /* lends without and with a question to the backend before */
    struct lend_error login_error;   /* the server's last refusal of a login; code 0: none */
    uint64_t login_error_ms;
};

struct pool *pool_get(struct account *a, uint32_t flags);
/* For the target: a pool without an account. */
struct pool *pool_new_scout(struct target *t);
void pool_free(struct pool *p);
int pool_max(const struct pool *p);

/* Asks for a backend in the lessee's state. True: lessee->backend is set, write at once. False:
 * on_lent or on_not_lent will come. `own` insists on last_backend: then false means that it is not
 * to be had, and nothing will come. */
MUST_CHECK bool pool_lend(struct lessee *l);
MUST_CHECK bool pool_lend_own(struct lessee *l);
/* Reads back what the session of lessee->backend is in: on_lent comes when that is known. */
void pool_reread(struct lessee *l);
/* Asks a SELECT of one number of its backend, and on_lent comes with `answer` set. */
void pool_ask(struct lessee *l, const char *question);
/* For a lessee that has its backend already: what it now wants of it (a text prepared) is seen to.
 * As pool_lend. */
MUST_CHECK bool pool_bring(struct lessee *l);
/* The server says that a variable of the lessee's session is now that; false when that is none of
 * the virtual ones, or cannot be restored. */
MUST_CHECK bool pool_note_variable(struct lessee *l, struct bytes name, struct bytes value);
/* What it is in is known, as far as it can be without asking: fills in a fresh session's settings.
 */
bool pool_state_is_known(struct lessee *l);
/* PAUSE and RESUME of the console: while paused nothing is lent, and whoever asks queues; what is
 * lent stays so until it is given back. */
void pool_pause(struct account *a, bool paused);
/* All there are and will be; false ends each single one too. */
void pool_pause_all(struct target *t, bool paused);
bool pool_is_paused(const struct pool *p);
/* No backend is wanted any more. */
void pool_stop_waiting(struct lessee *l);
/* Gives lessee->backend back, clean: no reply outstanding, outside a transaction, in the state that
 * is recorded. */
void pool_give_back(struct lessee *l);
/* The same when its state is unknown: it is reset, or closed. */
void pool_give_back_dirty(struct lessee *l);
/* The lessee goes while a statement runs: it is killed, its reply read to the end, the backend
 * reset. */
void pool_abandon(struct lessee *l);
/* Its statement is over, but a KILL for it is still out: waits for that, then resets. */
void pool_abandon_over(struct lessee *l);
/* Ends lessee->backend; the lessee does not hear of it any more. */
void pool_drop(struct lessee *l, enum backend_end why, const char *detail);
/* The lessee goes: nothing of the pool points at it afterwards. It holds no backend. */
void pool_forget(struct lessee *l);
/* Its last statement and LAST_INSERT_ID() are as on a fresh connection. */
void pool_forget_statement(struct lessee *l);
/* Something ran, here or there, that leaves nothing of its last statement. */
void pool_forget_last_state(struct lessee *l);
/* What its backend would say of the last statement is its own after all. */
void pool_claim(struct lessee *l);
/* LAST_INSERT_ID() may have changed on the backend that it has now. */
void pool_last_id_in_backend(struct lessee *l);

/* From backends. */
void pool_on_login(struct backend *b);    /* logged in and settled */
void pool_on_answered(struct backend *b); /* all questions answered */
void pool_on_end(struct backend *b,
                 enum backend_end why); /* about to close; still on its old list */
void pool_on_closed(struct backend *b); /* memory is about to go */
void pool_on_login_refused(struct backend *b, uint16_t code, const char *sqlstate,
                           struct bytes message);

/* Serves who waits, opens what is needed and may be opened. Call it after anything that could help
 * a waiter. */
void pool_pump(struct pool *p);
/* All pools of the target in turn: after room was made in the total. */
void pool_pump_all(struct target *t);
/* The same at the end of this turn of the loop: safe anywhere. */
void pool_pump_later(struct pool *p);
/* For killer.c: takes the backend from its lessee; starts the reset of one that was moved to RESET;
 * cuts its ties to sessions. */
void pool_release(struct backend *b);
void pool_start_reset(struct backend *b);
void pool_disown(struct backend *b);
/* For the janitor: the first waiters give up; the idle one is asked. */
void pool_fail_waiters(struct pool *p, const struct lend_error *error);
void pool_fail_first_waiter(struct pool *p, const struct lend_error *error);
void pool_start_probe(struct backend *b);
/* The idle one whose session nobody will ask anything of; NULL: none. */
struct list_node *pool_first_unowned(struct pool *p);
void pool_retire_older(struct pool *p, const struct backend *newest);
/* Idle ones close now, lent ones when they come back. */
void pool_retire_all(struct target *t);
void pool_retire(struct pool *p);
/* A schema was made, dropped or changed: which one an idle backend is in, if any, is not known. */
void pool_schemas_moved(struct target *t);
/* Tables, views or routines may have changed: what is known of texts is asked for anew. */
void pool_tables_moved(struct target *t);
/* Room for one more connection that is not to be lent: within the limits, `reserved` included; an
 * idle one goes if need be. */
bool pool_may_open_extra(struct pool *p);
/* Who holds the pool, for the queue timeout's text. */
void pool_describe_holders(struct pool *p, char *out, size_t room);

#endif
