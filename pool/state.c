/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/iobuf.h"
#include "pool/settings.h"

/* Open addressing would save little: a process knows tens of names, a thousand at the most, and
 * looks one up per login, not per statement. Chains by hash keep removal simple. */
enum { NAMES_BUCKETS = 1024, NAMES_TEXT_MAX = 4096 };

struct name {
    uint32_t refs;
    uint32_t next; /* in its bucket, or in the free list */
    uint32_t bucket;
    uint32_t len;
    char *text; /* NULL: free */
};

struct names {
    struct name *slot; /* slot[0] is "none" */
    uint32_t count;    /* slots ever used, slot 0 included */
    uint32_t room;
    uint32_t free; /* head of the free list */
    uint32_t live;
    uint32_t bucket[NAMES_BUCKETS];
    struct settings_table *settings;
};

static uint32_t hash_text(struct bytes text)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < text.len; i++)
        h = (h ^ text.at[i]) * 16777619u;
    return h % NAMES_BUCKETS;
}

struct names *names_new(void)
{
    struct names *n = xcalloc(1, sizeof *n);
    n->room = 16;
    n->slot = xcalloc(n->room, sizeof *n->slot);
    n->count = 1;
    n->settings = settings_table_new(n);
    return n;
}

struct settings_table *names_settings(struct names *n)
{
    return n->settings;
}

void names_free(struct names *n)
{
    if (!n)
        return;
    settings_table_free(n->settings);
    for (uint32_t i = 1; i < n->count; i++)
        free(n->slot[i].text);
    free(n->slot);
    free(n);
}

static uint32_t take_slot(struct names *n)
{
    if (n->free) {
        uint32_t id = n->free;
        n->free = n->slot[id].next;
        return id;
    }
    if (n->count == n->room) {
        struct name *grown = xcalloc((size_t)n->room * 2, sizeof *grown);
        memcpy(grown, n->slot, n->room * sizeof *grown);
        free(n->slot);
        n->slot = grown;
        n->room *= 2;
    }
    return n->count++;
}

name_id names_ref_text(struct names *n, struct bytes text)
{
    if (!text.len)
        return 0;
    if (text.len > NAMES_TEXT_MAX)
        text.len = NAMES_TEXT_MAX;
    uint32_t bucket = hash_text(text);
    for (uint32_t id = n->bucket[bucket]; id; id = n->slot[id].next)
        if (bytes_equal(bytes_of(n->slot[id].text, n->slot[id].len), text)) {
            n->slot[id].refs++;
            return id;
        }
    uint32_t id = take_slot(n);
    n->slot[id] = (struct name){.refs = 1,
                                .next = n->bucket[bucket],
                                .bucket = bucket,
                                .len = (uint32_t)text.len,
                                .text = xstrndup(text)};
    n->bucket[bucket] = id;
    n->live++;
    return id;
}

name_id names_ref(struct names *n, name_id id)
{
    if (id) {
        assert(id < n->count && n->slot[id].refs);
        n->slot[id].refs++;
    }
    return id;
}

void names_unref(struct names *n, name_id id)
{
    if (!id)
        return;
    assert(id < n->count && n->slot[id].refs);
    struct name *gone = &n->slot[id];
    if (--gone->refs)
        return;
    uint32_t *link = &n->bucket[gone->bucket];
    while (*link != id)
        link = &n->slot[*link].next;
    *link = gone->next;
    free(gone->text);
    *gone = (struct name){.next = n->free};
    n->free = id;
    n->live--;
}

struct bytes names_text(const struct names *n, name_id id)
{
    if (!id)
        return bytes_of("", 0);
    assert(id < n->count && n->slot[id].refs);
    return bytes_of(n->slot[id].text, n->slot[id].len);
}

size_t names_count(const struct names *n)
{
    return n->live;
}

void session_state_copy(struct names *n, struct session_state *to, const struct session_state *from)
{
    struct session_state copy = *from;
    (void)names_ref(n, copy.schema);
    (void)names_ref(n, copy.charset);
    (void)settings_ref(copy.settings);
    session_state_fini(n, to);
    *to = copy;
}

void session_state_fini(struct names *n, struct session_state *s)
{
    names_unref(n, s->schema);
    names_unref(n, s->charset);
    settings_unref(n->settings, s->settings);
    *s = (struct session_state){0};
}

void session_state_set_schema(struct names *n, struct session_state *s, struct bytes schema)
{
    name_id old = s->schema;
    s->schema = names_ref_text(n, schema);
    names_unref(n, old);
}

void session_state_set_charset(struct names *n, struct session_state *s, struct bytes client,
                               struct bytes collation, struct bytes results, uint16_t number)
{
    enum { PART_MAX = 64 };
    char unit[3 * PART_MAX + 16];
    const struct bytes part[3] = {client, collation, results};
    size_t len = 0;
    for (int i = 0; i < 3; i++) {
        size_t bytes = part[i].len < PART_MAX ? part[i].len : PART_MAX;
        if (bytes)
            memcpy(unit + len, part[i].at, bytes);
        len += bytes;
        if (i < 2)
            unit[len++] = ' ';
    }
    len += (size_t)snprintf(unit + len, sizeof unit - len, " %u", number);
    name_id old = s->charset;
    s->charset = names_ref_text(n, bytes_of(unit, len));
    names_unref(n, old);
}

void session_state_set_settings(struct names *n, struct session_state *s, struct settings *settings)
{
    struct settings *old = s->settings;
    s->settings = settings_ref(settings);
    settings_unref(n->settings, old);
}

static struct bytes take_part(struct bytes *rest)
{
    const uint8_t *space = rest->len ? memchr(rest->at, ' ', rest->len) : NULL;
    struct bytes part = *rest;
    if (space)
        part.len = (size_t)(space - rest->at);
    size_t used = part.len + (space ? 1 : 0);
    *rest = bytes_of(rest->at + used, rest->len - used);
    return part;
}

struct charset_unit charset_split(struct bytes unit)
{
    struct charset_unit u;
    u.client = take_part(&unit);
    u.collation = take_part(&unit);
    u.results = take_part(&unit);
    u.number = 0;
    for (size_t i = 0; i < unit.len; i++)
        u.number = (uint16_t)(u.number * 10 + (unit.at[i] - '0'));
    return u;
}

bool charset_unit_is_plain(const struct charset_unit *u)
{
    bool of_charset = bytes_equal(u->client, u->collation) ||
                      (u->collation.len > u->client.len &&
                       memcmp(u->collation.at, u->client.at, u->client.len) == 0 &&
                       u->collation.at[u->client.len] == '_');
    return of_charset && bytes_equal(u->client, u->results);
}

bool charset_has_ascii_tails(struct bytes unit)
{
    static const char *const unsafe[] = {"gbk", "big5", "sjis", "cp932", "gb18030", "gb2312"};
    struct bytes charset = charset_split(unit).client;
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        if (bytes_equal(charset, bytes_text(unsafe[i])))
            return true;
    return false;
}
