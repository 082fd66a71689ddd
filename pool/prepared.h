/* SPDX-License-Identifier: Apache-2.0
 *
 * Prepared statements as texts, not as ids (design.md, MySQL rule 5): one `struct prepared` for
 * each text under one fingerprint, shared by all clients of a pool and known to each backend by an
 * id of its own. A client's ids are proxy/statements.h. Loop thread only. */
#ifndef SLUICE_POOL_PREPARED_H
#define SLUICE_POOL_PREPARED_H

#include "pool/list.h"
#include "pool/state.h"

/* What the scanner (protocol/sql_scan.h) said of the text, kept. */
struct prepared_facts {
    uint32_t flags; /* enum sql_flag */
    uint32_t kinds; /* 1 << enum sql_kind */
    uint8_t kind;
};

struct prepared {
    uint32_t refs;         /* of clients' statements and backends' slots */
    bool shared;           /* in the cache: may be found by others */
    uint32_t generation;   /* of the cache when the reply came; an older one is asked for anew */
    struct prepared *next; /* in its bucket */
    struct list_node node; /* of the cache: in use, or, by last use, nobody refers to it */
    uint64_t hash;
    struct session_state state; /* that it was prepared in; owned. settings: the bound ones */
    char *text;                 /* owned */
    size_t text_bytes;
    struct prepared_facts facts;
    uint16_t parameters, columns;
    uint8_t *reply; /* owned: what a client is told, classic packets from sequence id 1; its
                       statement id is patched when it is sent. NULL: not known yet */
    size_t reply_bytes;
    uint64_t columns_hash;   /* of the definitions in the last EXECUTE's reply; 0: none seen */
    uint64_t executes, hits; /* counted by the callers; hits: PREPAREs answered from here */
};

struct prepared_cache;

/* names: borrowed, outlives it. max_entries, max_bytes: of those that nobody refers to; the least
 * recently used go first. */
struct prepared_cache *prepared_cache_new(struct names *names, size_t max_entries,
                                          size_t max_bytes);
/* Nobody refers to an entry any more. */
void prepared_cache_free(struct prepared_cache *c);
/* The entry for this text in this state whose reply may be given to a client, a reference of the
 * caller's; NULL: none. Compares text byte by byte. Its settings are the bound ones here and in
 * prepared_add: the caller sees to it. */
struct prepared *prepared_find(struct prepared_cache *c, const struct session_state *state,
                               struct bytes text);
/* A new entry without a reply, a reference of the caller's. shared: replaces one that is there for
 * the same key (that one lives on for those who refer to it, unshared). */
struct prepared *prepared_add(struct prepared_cache *c, const struct session_state *state,
                              struct bytes text, const struct prepared_facts *facts, bool shared);
/* The server's answer, translated for a classic client: takes a copy. */
void prepared_set_reply(struct prepared_cache *c, struct prepared *p, struct bytes reply,
                        uint16_t parameters, uint16_t columns);
struct prepared *prepared_ref(struct prepared_cache *c, struct prepared *p);
/* The last one frees it, unless others may still find it and be told its reply. */
void prepared_unref(struct prepared_cache *c, struct prepared *p);
/* It must not be given to others any more (its metadata moved). May free its argument when the
 * caller has no reference. */
void prepared_unshare(struct prepared_cache *c, struct prepared *p);
/* Tables may have changed: every reply is asked for anew at the next PREPARE. */
void prepared_forget_replies(struct prepared_cache *c);
/* Drops all that nobody refers to. */
void prepared_cache_trim(struct prepared_cache *c);
size_t prepared_count(const struct prepared_cache *c); /* shared ones */
/* For SHOW STATEMENTS: every entry that is shared or referred to. */
void prepared_cache_each(struct prepared_cache *c, void (*fn)(void *ctx, const struct prepared *p),
                         void *ctx);

/* ---- on one backend ---- */

/* MySQL prepares a statement anew for the types that it is executed with, and never goes back: with
 * an integer once, a string becomes a number ever after [seen, 9.7]. A client must not meet what
 * another one's types did, so a statement serves it only when its execution leaves behind the same
 * set of types as it would on a statement of the client's own; or, where none such is to be had, as
 * on a fresh one. */
struct prepared_use {
    const uint8_t
        *seen; /* for each parameter, which kinds of type this client has used; NULL: none */
    const uint8_t *with; /* .. and which it uses now; NULL: none */
    uint16_t count;      /* parameters; 0: types leave nothing behind here */
};

/* Which entries a backend has prepared, by last use. Zeroed memory is empty. Holds references. One
 * entry may be there several times, with other types behind it. `use` NULL: whichever. */
struct prepared_slots {
    struct prepared_slot *slot; /* owned */
    uint32_t count, room;
    uint32_t clock;
};

/* Its id there and marks it used; 0: not prepared there (servers count from 1). */
uint32_t prepared_slots_find(struct prepared_slots *s, const struct prepared *p,
                             const struct prepared_use *use);
/* The same question without marking it used. */
bool prepared_slots_has(const struct prepared_slots *s, const struct prepared *p,
                        const struct prepared_use *use);
/* `use` where it is prepared there for that, else the same on a statement that is as a fresh one:
 * borrows what `use` does. */
struct prepared_use prepared_slots_choose(const struct prepared_slots *s, const struct prepared *p,
                                          const struct prepared_use *use);
/* Enters it. When there are more than `limit` then, takes the least recently used other one out and
 * gives its id, for a COM_STMT_CLOSE; else 0. When it was there under another id, that one is given
 * and nothing else goes. */
uint32_t prepared_slots_put(struct prepared_slots *s, struct prepared_cache *c, struct prepared *p,
                            uint32_t id, const struct prepared_use *use, uint32_t limit);
/* It has been executed with use->with. */
void prepared_slots_note(struct prepared_slots *s, uint32_t id, const struct prepared_use *use);
/* Takes it out: its id, 0 when it was not there. */
uint32_t prepared_slots_take(struct prepared_slots *s, struct prepared_cache *c,
                             const struct prepared *p, const struct prepared_use *use);
/* Takes one out, the least recently used: its id, 0: empty. */
uint32_t prepared_slots_take_any(struct prepared_slots *s, struct prepared_cache *c);
/* A reset has closed them all on the server: forgets them, and frees the memory. */
void prepared_slots_clear(struct prepared_slots *s, struct prepared_cache *c);

#endif
