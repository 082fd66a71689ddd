/* SPDX-License-Identifier: Apache-2.0
 *
 * The session state that is virtual: recorded per client, restored on whichever backend is lent.
 * Names are interned, so that two states are equal when their numbers are, and a client costs a few
 * bytes. Loop thread only. */
#ifndef SLUICE_POOL_STATE_H
#define SLUICE_POOL_STATE_H

#include "protocol/wire.h"

/* Number of an interned name; 0 is "none". */
typedef uint32_t name_id;

struct names;    /* opaque: the table */
struct settings; /* pool/settings.h */
struct settings_table;

struct names *names_new(void);
void names_free(struct names *n);
/* The number of `text`, which is added when it is new. Takes a reference. */
name_id names_ref_text(struct names *n, struct bytes text);
/* One more reference of a number. 0 is fine. Gives its argument. */
name_id names_ref(struct names *n, name_id id);
/* The last one forgets the name. 0 is fine. */
void names_unref(struct names *n, name_id id);
/* Borrowed, until the last unref. Empty for 0. */
struct bytes names_text(const struct names *n, name_id id);
size_t names_count(const struct names *n);
/* The table of settings that goes with these names; lives as long. */
struct settings_table *names_settings(struct names *n);

/* What a client's session, or a backend, is in. Owns its references. */
struct session_state {
    name_id schema;
    name_id charset; /* "utf8mb4 utf8mb4_general_ci utf8mb4 45": character_set_client,
                        collation_connection, character_set_results ("NULL" for none), and the
                        number of the collation that goes with the last, which no variable shows;
                        always restored together; 0: not known */
    bool multi_statements;
    struct settings *settings; /* NULL: not known */
};

static inline bool session_state_equal(const struct session_state *a, const struct session_state *b)
{
    return a->schema == b->schema && a->charset == b->charset && a->settings == b->settings &&
           a->multi_statements == b->multi_statements;
}

void session_state_copy(struct names *n, struct session_state *to,
                        const struct session_state *from);
void session_state_fini(struct names *n, struct session_state *s);
void session_state_set_schema(struct names *n, struct session_state *s, struct bytes schema);
void session_state_set_charset(struct names *n, struct session_state *s, struct bytes client,
                               struct bytes collation, struct bytes results, uint16_t number);
/* A reference of its own is taken. */
void session_state_set_settings(struct names *n, struct session_state *s,
                                struct settings *settings);

/* The parts of a charset name; borrowed from it. */
struct charset_unit {
    struct bytes client;
    struct bytes collation;
    struct bytes results;
    uint16_t number;
};
struct charset_unit charset_split(struct bytes unit);
/* Client and results are in one, and the collation is one of it. */
bool charset_unit_is_plain(const struct charset_unit *u);
/* A character set whose second bytes may look like ASCII (gbk, big5, ..): text in it cannot be read
 * byte by byte. */
bool charset_has_ascii_tails(struct bytes unit);

#endif
