/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known to happen: a text that was run in some session state, whose reply depends on
 * nothing else, and the state that it left. The next time it is answered from here (design.md,
 * MySQL rule 3: SET of literals, SELECT of session variables). Forgotten when the server's baseline
 * moves. Loop thread only. */
#ifndef SLUICE_POOL_EFFECTS_H
#define SLUICE_POOL_EFFECTS_H

#include "pool/state.h"

enum {
    EFFECTS_MAX = 512, /* least recently used go first */
    EFFECT_TEXT_MAX_BYTES = 2048,
    EFFECT_REPLY_MAX_BYTES = 4096,
};

struct effect {
    struct effect *next; /* in its bucket */
    struct effect *newer, *older;
    uint64_t hash;
    bool prepared; /* came as COM_STMT_EXECUTE */
    struct session_state before, after;
    bool warned; /* the reply tells of warnings */
    char *text;  /* owned */
    size_t text_bytes;
    uint8_t *reply; /* owned: classic packets from sequence id 1 */
    size_t reply_bytes;
};

struct effects; /* opaque */

struct effects *effects_new(struct names *names); /* borrowed, outlives it */
void effects_free(struct effects *e);
/* NULL: not known. Borrowed until the next call. */
const struct effect *effects_find(struct effects *e, const struct session_state *before,
                                  struct bytes text, bool prepared);
/* Takes copies. Texts and replies above the limits are not kept. */
void effects_add(struct effects *e, const struct session_state *before, struct bytes text,
                 bool prepared, const struct session_state *after, bool warned, struct bytes reply);
void effects_forget_all(struct effects *e);
size_t effects_count(const struct effects *e);

#endif
