/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/settings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/iobuf.h"
#include "protocol/mysql_caps.h"
#include "protocol/sql_scan.h"

enum { SETTINGS_BUCKETS = 256 };

struct settings_table {
    struct names *names;
    size_t count;
    struct settings *bucket[SETTINGS_BUCKETS];
};

static const char *const variable_names[] = {
#define VARIABLE(name, form, binds) #name,
#include "pool/variables.def"
#undef VARIABLE
};

static const uint8_t variable_forms[] = {
#define VARIABLE(name, form, binds) VARIABLE_##form,
#include "pool/variables.def"
#undef VARIABLE
};

static const bool variables_bind[] = {
#define VARIABLE(name, form, binds) binds,
#include "pool/variables.def"
#undef VARIABLE
};

bool variable_binds(enum variable v)
{
    return variables_bind[v];
}

const char *variable_name(enum variable v)
{
    return variable_names[v];
}

enum variable_form variable_form(enum variable v)
{
    return (enum variable_form)variable_forms[v];
}

static bool is_name(struct bytes name, const char *text)
{
    return strlen(text) == name.len && strncasecmp((const char *)name.at, text, name.len) == 0;
}

enum variable variable_find(struct bytes name)
{
    if (!name.len)
        return VARIABLES_COUNT;
    if (is_name(name, "tx_isolation"))
        return VARIABLE_transaction_isolation;
    if (is_name(name, "tx_read_only"))
        return VARIABLE_transaction_read_only;
    for (int v = 0; v < VARIABLES_COUNT; v++)
        if ((variable_names[v][0] | 0x20) == (name.at[0] | 0x20) &&
            is_name(name, variable_names[v]))
            return (enum variable)v;
    return VARIABLES_COUNT;
}

bool variable_value_is_safe(struct bytes value)
{
    enum { SAFE_MAX_BYTES = 1024 }; /* the longest are MariaDB's optimizer_switch, 850 */
    for (size_t i = 0; i < value.len; i++) {
        uint8_t c = value.at[i];
        if (c < ' ' || c > '~' || c == '\'' || c == '"' || c == '\\' || c == '`')
            return false;
    }
    return value.len <= SAFE_MAX_BYTES;
}

size_t variable_write(char *out, size_t room, enum variable v, struct bytes value, bool mariadb)
{
    const char *name = variable_names[v];
    const char *quote = variable_forms[v] == VARIABLE_WORD ? "'" : "";
    if (mariadb && v == VARIABLE_transaction_isolation)
        name = "tx_isolation";
    if (mariadb && v == VARIABLE_transaction_read_only)
        name = "tx_read_only";
    int n = snprintf(out, room, "@@session.%s=%s%.*s%s", name, quote, (int)value.len,
                     (const char *)value.at, quote);
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

struct settings_table *settings_table_new(struct names *names)
{
    struct settings_table *t = xcalloc(1, sizeof *t);
    t->names = names;
    return t;
}

static void discard(struct settings_table *t, struct settings *s)
{
    for (int v = 0; v < VARIABLES_COUNT; v++)
        names_unref(t->names, s->value[v]);
    free(s);
}

void settings_table_free(struct settings_table *t)
{
    if (!t)
        return;
    for (int i = 0; i < SETTINGS_BUCKETS; i++)
        for (struct settings *s = t->bucket[i], *next; s; s = next) {
            next = s->next;
            discard(t, s);
        }
    free(t);
}

size_t settings_count(const struct settings_table *t)
{
    return t->count;
}

static uint32_t hash_of(const name_id value[VARIABLES_COUNT])
{
    uint32_t h = 2166136261u;
    for (int v = 0; v < VARIABLES_COUNT; v++)
        h = (h ^ value[v]) * 16777619u;
    return h;
}

/* One whole word of a comma list. */
static bool list_has(struct bytes list, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at < list.len;) {
        const uint8_t *comma = memchr(list.at + at, ',', list.len - at);
        size_t end = comma ? (size_t)(comma - list.at) : list.len;
        if (end - at == len && strncasecmp((const char *)list.at + at, word, len) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

static void read_modes(struct settings_table *t, struct settings *s)
{
    struct bytes mode = names_text(t->names, s->value[VARIABLE_sql_mode]);
    struct bytes autocommit = names_text(t->names, s->value[VARIABLE_autocommit]);
    if (list_has(mode, "NO_BACKSLASH_ESCAPES")) {
        s->scan_mode |= SQL_MODE_NO_BACKSLASH_ESCAPES;
        s->status |= MYSQL_STATUS_NO_BACKSLASH_ESCAPES;
    }
    if (list_has(mode, "ANSI_QUOTES"))
        s->scan_mode |= SQL_MODE_ANSI_QUOTES;
    if (list_has(mode, "IGNORE_SPACE"))
        s->scan_mode |= SQL_MODE_IGNORE_SPACE;
    if (bytes_equal(autocommit, bytes_text("ON")) || bytes_equal(autocommit, bytes_text("1")))
        s->status |= MYSQL_STATUS_AUTOCOMMIT;
}

/* With a reference for the caller; NULL: there is none. */
static struct settings *find(struct settings_table *t, const name_id value[VARIABLES_COUNT],
                             uint32_t hash)
{
    for (struct settings *s = t->bucket[hash % SETTINGS_BUCKETS]; s; s = s->next)
        if (s->hash == hash && memcmp(s->value, value, sizeof s->value) == 0)
            return settings_ref(s);
    return NULL;
}

struct settings *settings_make(struct settings_table *t, const name_id value[VARIABLES_COUNT])
{
    uint32_t hash = hash_of(value);
    struct settings *s = find(t, value, hash);
    if (s)
        return s;
    s = xcalloc(1, sizeof *s);
    s->refs = 1;
    s->hash = hash;
    for (int v = 0; v < VARIABLES_COUNT; v++)
        s->value[v] = names_ref(t->names, value[v]);
    read_modes(t, s);
    s->next = t->bucket[hash % SETTINGS_BUCKETS];
    t->bucket[hash % SETTINGS_BUCKETS] = s;
    t->count++;

    name_id bound[VARIABLES_COUNT];
    bool same = true;
    for (int v = 0; v < VARIABLES_COUNT; v++) {
        bound[v] = variables_bind[v] ? value[v] : 0;
        same = same && bound[v] == value[v];
    }
    s->bound = same ? s : settings_make(t, bound);
    return s;
}

struct settings *settings_with(struct settings_table *t, const struct settings *base,
                               enum variable v, struct bytes value)
{
    name_id changed[VARIABLES_COUNT];
    memcpy(changed, base->value, sizeof changed);
    name_id id = names_ref_text(t->names, value);
    changed[v] = id;
    struct settings *s = settings_make(t, changed);
    names_unref(t->names, id);
    return s;
}

struct settings *settings_ignoring_space(struct settings_table *t, struct settings *base)
{
    /* The modes that both servers write in front of it. */
    static const char *const before[] = {"REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES"};
    struct bytes mode = names_text(t->names, base->value[VARIABLE_sql_mode]);
    if (list_has(mode, "IGNORE_SPACE"))
        return settings_ref(base);
    size_t at = 0;
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        if (list_has(mode, before[i]))
            at += strlen(before[i]) + (at + strlen(before[i]) < mode.len); /* and its comma */
    const char *glue[2] = {at == mode.len && at ? "," : "", at < mode.len ? "," : ""};
    size_t room = mode.len + sizeof ",IGNORE_SPACE,";
    char *text = xmalloc(room);
    int len = snprintf(text, room, "%.*s%sIGNORE_SPACE%s%.*s", (int)at, (const char *)mode.at,
                       glue[0], glue[1], (int)(mode.len - at), (const char *)mode.at + at);
    struct settings *s = settings_with(t, base, VARIABLE_sql_mode, bytes_of(text, (size_t)len));
    free(text);
    return s;
}

struct settings *settings_ref(struct settings *s)
{
    if (s)
        s->refs++;
    return s;
}

void settings_unref(struct settings_table *t, struct settings *s)
{
    if (!s)
        return;
    assert(s->refs);
    if (--s->refs)
        return;
    struct settings **link = &t->bucket[s->hash % SETTINGS_BUCKETS];
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    t->count--;
    if (s->bound != s)
        settings_unref(t, s->bound);
    discard(t, s);
}
