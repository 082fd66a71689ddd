/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/prepared.h"

#include <assert.h>
#include <stdlib.h>

/* Debian's xxhash is a library and a header that holds all of it: the header alone is used. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pool/breaks.h"
#include "pool/iobuf.h"

enum {
    BUCKETS_MIN = 256, /* a power of two, as all their counts are */
    SLOTS_MIN = 8,
};

struct prepared_cache {
    struct names *names; /* borrowed */
    size_t max_entries;
    size_t max_bytes;
    uint32_t generation;
    struct prepared **bucket; /* of the shared ones */
    size_t buckets;
    size_t shared;
    struct list used; /* somebody refers to them */
    struct list
        idle; /* nobody does; shared, with a reply of this generation; longest unused first */
    size_t idle_bytes;
};

static struct prepared *of_node(struct list_node *n)
{
    return CONTAINER_OF(n, struct prepared, node);
}

static size_t bytes_of_entry(const struct prepared *p)
{
    return sizeof *p + p->text_bytes + 1 + p->reply_bytes;
}

static bool is_answerable(const struct prepared_cache *c, const struct prepared *p)
{
    return p->shared && p->reply && p->generation == c->generation;
}

/* ---- the table ---- */

static struct prepared **bucket_of(const struct prepared_cache *c, uint64_t hash)
{
    return &c->bucket[hash & (c->buckets - 1)];
}

static void resize_table(struct prepared_cache *c, size_t buckets)
{
    struct prepared **old = c->bucket;
    size_t count = c->buckets;
    c->bucket = xcalloc(buckets, sizeof(struct prepared *));
    c->buckets = buckets;
    for (size_t i = 0; i < count; i++)
        for (struct prepared *p = old[i], *next; p; p = next) {
            struct prepared **head = bucket_of(c, p->hash);
            next = p->next;
            p->next = *head;
            *head = p;
        }
    free(old);
}

static void enter(struct prepared_cache *c, struct prepared *p)
{
    if (c->shared == c->buckets)
        resize_table(c, c->buckets * 2);
    struct prepared **head = bucket_of(c, p->hash);
    p->next = *head;
    *head = p;
    p->shared = true;
    c->shared++;
}

static void leave(struct prepared_cache *c, struct prepared *p)
{
    if (!p->shared)
        return;
    struct prepared **link = bucket_of(c, p->hash);
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    p->next = NULL;
    p->shared = false;
    /* Far below what makes it grow, so that one entry more or less never resizes it twice. */
    if (--c->shared < c->buckets / 8 && c->buckets > BUCKETS_MIN)
        resize_table(c, c->buckets / 2);
}

static struct prepared *look_up(const struct prepared_cache *c, const struct session_state *state,
                                struct bytes text, uint64_t hash)
{
    for (struct prepared *p = *bucket_of(c, hash); p; p = p->next)
        if (p->hash == hash &&
            (broken(RULE_PREPARE_KEYED_BY_STATE) || session_state_equal(&p->state, state)) &&
            bytes_equal(bytes_of(p->text, p->text_bytes), text))
            return p;
    return NULL;
}

/* ---- entries ---- */

/* On no list any more. */
static void free_entry(struct prepared_cache *c, struct prepared *p)
{
    leave(c, p);
    session_state_fini(c->names, &p->state);
    free(p->text);
    free(p->reply);
    free(p);
}

static void take_off_idle(struct prepared_cache *c, struct prepared *p)
{
    list_remove(&c->idle, &p->node);
    c->idle_bytes -= bytes_of_entry(p);
}

static void shrink_idle(struct prepared_cache *c, size_t entries, size_t bytes)
{
    while (c->idle.count > entries || c->idle_bytes > bytes) {
        struct prepared *p = of_node(list_first(&c->idle));
        take_off_idle(c, p);
        free_entry(c, p);
    }
}

struct prepared_cache *prepared_cache_new(struct names *names, size_t max_entries, size_t max_bytes)
{
    struct prepared_cache *c = xcalloc(1, sizeof *c);
    c->names = names;
    c->max_entries = max_entries;
    c->max_bytes = max_bytes;
    list_init(&c->used);
    list_init(&c->idle);
    resize_table(c, BUCKETS_MIN);
    return c;
}

void prepared_cache_free(struct prepared_cache *c)
{
    if (!c)
        return;
    assert(list_empty(&c->used));
    prepared_cache_trim(c);
    free(c->bucket);
    free(c);
}

struct prepared *prepared_find(struct prepared_cache *c, const struct session_state *state,
                               struct bytes text)
{
    struct prepared *p = look_up(c, state, text, XXH3_64bits(text.at, text.len));
    return p && is_answerable(c, p) ? prepared_ref(c, p) : NULL;
}

struct prepared *prepared_add(struct prepared_cache *c, const struct session_state *state,
                              struct bytes text, const struct prepared_facts *facts, bool shared)
{
    struct prepared *p = xcalloc(1, sizeof *p);
    p->refs = 1;
    p->hash = XXH3_64bits(text.at, text.len);
    p->text = xstrndup(text);
    p->text_bytes = text.len;
    p->facts = *facts;
    session_state_copy(c->names, &p->state, state);
    list_append(&c->used, &p->node);
    if (shared) {
        struct prepared *before = look_up(c, state, text, p->hash);
        if (before)
            prepared_unshare(c, before);
        enter(c, p);
    }
    return p;
}

void prepared_set_reply(struct prepared_cache *c, struct prepared *p, struct bytes reply,
                        uint16_t parameters, uint16_t columns)
{
    assert(p->refs); /* the bytes of idle ones are counted */
    if (!p->reply || p->reply_bytes != reply.len) {
        free(p->reply);
        p->reply = xmalloc(reply.len);
        p->reply_bytes = reply.len;
    }
    memcpy(p->reply, reply.at, reply.len);
    p->parameters = parameters;
    p->columns = columns;
    p->generation = c->generation;
}

struct prepared *prepared_ref(struct prepared_cache *c, struct prepared *p)
{
    if (p->refs++ == 0) {
        take_off_idle(c, p);
        list_append(&c->used, &p->node);
    }
    return p;
}

void prepared_unref(struct prepared_cache *c, struct prepared *p)
{
    assert(p->refs);
    if (--p->refs)
        return;
    list_remove(&c->used, &p->node);
    if (!is_answerable(c, p)) {
        free_entry(c, p);
        return;
    }
    list_append(&c->idle, &p->node);
    c->idle_bytes += bytes_of_entry(p);
    shrink_idle(c, c->max_entries, c->max_bytes);
}

void prepared_unshare(struct prepared_cache *c, struct prepared *p)
{
    leave(c, p);
    if (p->refs == 0) {
        take_off_idle(c, p);
        free_entry(c, p);
    }
}

void prepared_forget_replies(struct prepared_cache *c)
{
    c->generation++;
    prepared_cache_trim(c); /* what they were kept for */
}

void prepared_cache_trim(struct prepared_cache *c)
{
    shrink_idle(c, 0, 0);
}

size_t prepared_count(const struct prepared_cache *c)
{
    return c->shared;
}

void prepared_cache_each(struct prepared_cache *c, void (*fn)(void *ctx, const struct prepared *p),
                         void *ctx)
{
    struct list *const all[] = {&c->used, &c->idle};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (struct list_node *n = list_first(all[i]); n; n = list_after(all[i], n))
            fn(ctx, of_node(n));
}

/* ---- on one backend ---- */

/* Some tens, compared by address and side by side in memory: cheaper to walk than to hash. */
struct prepared_slot {
    struct prepared *prepared; /* a reference */
    uint32_t id;
    uint8_t *seen; /* owned: of prepared_use; NULL: no types yet */
    uint32_t used; /* the clock's reading; it may wrap, so only its distance says something */
};

static bool serves(const struct prepared_slot *slot, const struct prepared_use *use)
{
    for (uint16_t i = 0; use && i < use->count; i++) {
        uint8_t with = use->with ? use->with[i] : 0;
        uint8_t mine = use->seen ? use->seen[i] : 0;
        uint8_t there = slot->seen ? slot->seen[i] : 0;
        if ((mine | with) != (there | with))
            return false;
    }
    return true;
}

static struct prepared_slot *slot_of(const struct prepared_slots *s, const struct prepared *p,
                                     const struct prepared_use *use)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->slot[i].prepared == p && serves(&s->slot[i], use))
            return &s->slot[i];
    return NULL;
}

static struct prepared_slot *longest_unused(const struct prepared_slots *s, uint32_t but_id)
{
    struct prepared_slot *oldest = NULL;
    uint32_t oldest_age = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct prepared_slot *slot = &s->slot[i];
        uint32_t age = s->clock - slot->used;
        if (slot->id != but_id && (!oldest || age > oldest_age)) {
            oldest = slot;
            oldest_age = age;
        }
    }
    return oldest;
}

static uint32_t remove_slot(struct prepared_slots *s, struct prepared_cache *c,
                            struct prepared_slot *slot)
{
    if (!slot)
        return 0;
    uint32_t id = slot->id;
    struct prepared *p = slot->prepared;
    free(slot->seen);
    *slot = s->slot[--s->count];
    if (s->count == 0)
        prepared_slots_clear(s, c);
    prepared_unref(c, p);
    return id;
}

static void grow_slots(struct prepared_slots *s)
{
    uint32_t room = s->room ? s->room * 2 : SLOTS_MIN;
    struct prepared_slot *grown = xcalloc(room, sizeof *grown);
    if (s->count)
        memcpy(grown, s->slot, s->count * sizeof *grown);
    free(s->slot);
    s->slot = grown;
    s->room = room;
}

uint32_t prepared_slots_find(struct prepared_slots *s, const struct prepared *p,
                             const struct prepared_use *use)
{
    struct prepared_slot *slot = slot_of(s, p, use);
    if (!slot)
        return 0;
    slot->used = ++s->clock;
    return slot->id;
}

bool prepared_slots_has(const struct prepared_slots *s, const struct prepared *p,
                        const struct prepared_use *use)
{
    return slot_of(s, p, use) != NULL;
}

struct prepared_use prepared_slots_choose(const struct prepared_slots *s, const struct prepared *p,
                                          const struct prepared_use *use)
{
    struct prepared_use chosen = *use;
    if (!prepared_slots_has(s, p, use))
        chosen.seen = NULL;
    return chosen;
}

static uint8_t *copy_seen(const struct prepared_use *use)
{
    if (!use || !use->seen || !use->count)
        return NULL;
    uint8_t *copy = xmalloc(use->count);
    memcpy(copy, use->seen, use->count);
    return copy;
}

uint32_t prepared_slots_put(struct prepared_slots *s, struct prepared_cache *c, struct prepared *p,
                            uint32_t id, const struct prepared_use *use, uint32_t limit)
{
    struct prepared_slot *there = slot_of(s, p, use);
    if (there) {
        uint32_t before = there->id;
        free(there->seen);
        there->seen = copy_seen(use);
        there->id = id;
        there->used = ++s->clock;
        return before == id ? 0 : before;
    }
    if (s->count == s->room)
        grow_slots(s);
    s->slot[s->count++] = (struct prepared_slot){
        .prepared = prepared_ref(c, p), .id = id, .seen = copy_seen(use), .used = ++s->clock};
    return s->count > limit ? remove_slot(s, c, longest_unused(s, id)) : 0;
}

void prepared_slots_note(struct prepared_slots *s, uint32_t id, const struct prepared_use *use)
{
    for (uint32_t i = 0; i < s->count && use->with && use->count; i++) {
        struct prepared_slot *slot = &s->slot[i];
        if (slot->id != id)
            continue;
        if (!slot->seen)
            slot->seen = xcalloc(1, use->count);
        for (uint16_t n = 0; n < use->count; n++)
            slot->seen[n] |= use->with[n];
        return;
    }
}

uint32_t prepared_slots_take(struct prepared_slots *s, struct prepared_cache *c,
                             const struct prepared *p, const struct prepared_use *use)
{
    return remove_slot(s, c, slot_of(s, p, use));
}

uint32_t prepared_slots_take_any(struct prepared_slots *s, struct prepared_cache *c)
{
    return remove_slot(s, c, longest_unused(s, 0));
}

void prepared_slots_clear(struct prepared_slots *s, struct prepared_cache *c)
{
    for (uint32_t i = 0; i < s->count; i++) {
        free(s->slot[i].seen);
        prepared_unref(c, s->slot[i].prepared);
    }
    free(s->slot);
    *s = (struct prepared_slots){0};
}
