/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/effects.h"

#include <stdlib.h>

#include "pool/iobuf.h"

enum { EFFECTS_BUCKETS = 1024 };

struct effects {
    struct names *names;
    struct effect *newest, *oldest;
    size_t count;
    struct effect *bucket[EFFECTS_BUCKETS];
};

struct effects *effects_new(struct names *names)
{
    struct effects *e = xcalloc(1, sizeof *e);
    e->names = names;
    return e;
}

static void unlink_use(struct effects *e, struct effect *x)
{
    *(x->newer ? &x->newer->older : &e->newest) = x->older;
    *(x->older ? &x->older->newer : &e->oldest) = x->newer;
    x->newer = x->older = NULL;
}

static void link_newest(struct effects *e, struct effect *x)
{
    x->older = e->newest;
    if (e->newest)
        e->newest->newer = x;
    e->newest = x;
    if (!e->oldest)
        e->oldest = x;
}

static void forget(struct effects *e, struct effect *x)
{
    struct effect **link = &e->bucket[x->hash % EFFECTS_BUCKETS];
    while (*link != x)
        link = &(*link)->next;
    *link = x->next;
    unlink_use(e, x);
    e->count--;
    session_state_fini(e->names, &x->before);
    session_state_fini(e->names, &x->after);
    free(x->text);
    free(x->reply);
    free(x);
}

void effects_forget_all(struct effects *e)
{
    while (e->oldest)
        forget(e, e->oldest);
}

void effects_free(struct effects *e)
{
    effects_forget_all(e);
    free(e);
}

size_t effects_count(const struct effects *e)
{
    return e->count;
}

static uint64_t hash_of(const struct session_state *before, struct bytes text)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a; texts are short */
    for (size_t i = 0; i < text.len; i++)
        h = (h ^ text.at[i]) * 1099511628211u;
    h = (h ^ before->schema) * 1099511628211u;
    h = (h ^ before->charset) * 1099511628211u;
    h = (h ^ (uintptr_t)before->settings) * 1099511628211u;
    return h ^ h >> 29;
}

const struct effect *effects_find(struct effects *e, const struct session_state *before,
                                  struct bytes text, bool prepared)
{
    uint64_t hash = hash_of(before, text);
    for (struct effect *x = e->bucket[hash % EFFECTS_BUCKETS]; x; x = x->next)
        if (x->hash == hash && x->prepared == prepared && session_state_equal(&x->before, before) &&
            bytes_equal(bytes_of(x->text, x->text_bytes), text)) {
            unlink_use(e, x);
            link_newest(e, x);
            return x;
        }
    return NULL;
}

void effects_add(struct effects *e, const struct session_state *before, struct bytes text,
                 bool prepared, const struct session_state *after, bool warned, struct bytes reply)
{
    if (text.len > EFFECT_TEXT_MAX_BYTES || reply.len > EFFECT_REPLY_MAX_BYTES || !reply.len ||
        effects_find(e, before, text, prepared))
        return;
    if (e->count == EFFECTS_MAX)
        forget(e, e->oldest);
    struct effect *x = xcalloc(1, sizeof *x);
    x->hash = hash_of(before, text);
    x->prepared = prepared;
    session_state_copy(e->names, &x->before, before);
    session_state_copy(e->names, &x->after, after);
    x->warned = warned;
    x->text = xstrndup(text);
    x->text_bytes = text.len;
    x->reply = xmalloc(reply.len);
    memcpy(x->reply, reply.at, reply.len);
    x->reply_bytes = reply.len;
    x->next = e->bucket[x->hash % EFFECTS_BUCKETS];
    e->bucket[x->hash % EFFECTS_BUCKETS] = x;
    link_newest(e, x);
    e->count++;
}
