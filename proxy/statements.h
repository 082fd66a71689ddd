/* SPDX-License-Identifier: Apache-2.0
 *
 * The prepared statements of one client: its ids, each with the text it stands for
 * (pool/prepared.h), the types its parameters were last bound with, and what of it lives on the
 * backend that the client holds. And the reading and rewriting of COM_STMT_EXECUTE ("MySQL
 * Client/Server Protocol", COM_STMT_EXECUTE). Loop thread only. */
#ifndef SLUICE_PROXY_STATEMENTS_H
#define SLUICE_PROXY_STATEMENTS_H

#include "pool/prepared.h"
#include "protocol/mysql_packet.h"
#include "proxy/spool.h"

enum {
    STATEMENTS_MAX = 16382, /* of one client: as many as a server has for all of them by default */
};

struct statement {
    uint32_t id;               /* the client's: ascending from 1, never used again */
    struct prepared *prepared; /* a reference */
    uint8_t *types;            /* owned: 2 bytes a parameter, as last sent; NULL: never */
    uint8_t *seen;             /* owned: kinds of type used so far, a byte a parameter; NULL: none.
                                  Only where the server remembers them (struct prepared_use) */
    uint8_t *with;             /* owned: of the EXECUTE in hand, likewise */
    uint32_t own_id; /* prepared for it alone on the backend that its client holds (a cursor, long
                        data, a temporary table in reach); 0: none. Closed there when the pin
                        ends */
    bool cursor;     /* open on own_id */
    bool long_data;  /* some was sent to own_id, and no EXECUTE since */
};

/* Zeroed memory is an empty set. Owns its statements. */
struct statements {
    struct statement *list; /* by id, ascending */
    uint32_t count;
    uint32_t room;
    uint32_t last_id; /* the last one given; 0xFFFFFFFF in a command stands for it on MariaDB */
};

/* Takes over the caller's reference of p. NULL: STATEMENTS_MAX are there already, or all ids are
 * used up (the reference stays the caller's). Valid until the next add or remove. */
struct statement *statements_add(struct statements *set, struct prepared *p);
struct statement *statements_find(struct statements *set, uint32_t id); /* by binary search */
/* Fine when it is not there. */
void statements_remove(struct statements *set, struct prepared_cache *c, uint32_t id);
/* Forgets all and frees the memory; ids begin at 1 again. */
void statements_clear(struct statements *set, struct prepared_cache *c);

/* ---- COM_STMT_EXECUTE ---- */

enum {
    EXECUTE_FIXED_BYTES = 10, /* command, id, flags, iterations: then the bitmap */
    /* All in front of the values, at most: bitmap, flag, types of 65535 parameters. */
    EXECUTE_HEAD_MAX_BYTES = EXECUTE_FIXED_BYTES + 65536 / 8 + 1 + 2 * 65535,
};

struct execute_view {
    uint8_t cursor;       /* the flags byte */
    bool has_types;       /* new-params-bound: types follow */
    struct bytes types;   /* 2 bytes a parameter; with has_types */
    struct bytes nulls;   /* the bitmap */
    size_t types_flag_at; /* where the flag stands in the payload; values begin behind it, or behind
                             the types. 0: no parameters */
};

/* payload  the command with its command byte; at least its head must be there
 *          (EXECUTE_HEAD_MAX_BYTES always do). False: malformed. */
MUST_CHECK bool execute_read(struct bytes payload, uint16_t parameters, struct execute_view *out);
/* What the types of the EXECUTE in hand are to the server's memory; borrowed, until the next one.
 * Only for a server that remembers. */
struct prepared_use statement_use(struct statement *st);
/* It has been executed so. */
void statement_used(struct statement *st);
/* Remembers the types of this EXECUTE, if it has some. The number of parameters of a statement
 * never changes. */
void statement_note_types(struct statement *st, const struct execute_view *view,
                          uint16_t parameters);
/* The first parameter as an unsigned number, for KILL ?: false when it is NULL, long data, or no
 * integer or string of digits; below zero it is what a server casts it to. payload: whole. */
MUST_CHECK bool execute_number(const struct statement *st, const struct execute_view *view,
                               struct bytes payload, uint64_t *out);

/* One packet as it has to go out: the backend's id in place, sequence id 0, and the remembered
 * types inserted where the client sent none. */
struct execute_slices {
    size_t count;
    struct bytes slice[5]; /* to write, in order; they point into head, st->types and the payload:
                              not to be copied */
    uint8_t head[MYSQL_HEADER_BYTES + EXECUTE_FIXED_BYTES];
};
/* False: malformed, or no types are known and there are parameters (MariaDB says 1210 to that,
 * MySQL 1835), or with the types it is more than one packet (a spool's, then). */
MUST_CHECK bool execute_rewrite(const struct statement *st, uint32_t backend_id,
                                struct bytes payload, struct execute_slices *out);
/* The same of one that is spooled; may be done again for another backend. view: of its head. False:
 * no types are known and there are parameters. An empty view stands for a COM_STMT_SEND_LONG_DATA:
 * the id alone. */
MUST_CHECK bool execute_rewrite_spool(const struct statement *st, uint32_t backend_id,
                                      const struct execute_view *view, struct spool *spool);

#endif
