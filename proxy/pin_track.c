/* SPDX-License-Identifier: Apache-2.0
 *
 * See pin_track.h. What servers do is told where a rule follows from it; all of it was tried on
 * MariaDB 10.11 and MySQL 9.7. Loop thread only. */
#include "proxy/pin_track.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/iobuf.h"
#include "protocol/sql_simple.h"
#include "protocol/sql_token.h"

enum {
    NAMES_MAX = 64, /* of all kinds; with more the pins last */
    KEY_MAX = 600,  /* two names of 64 characters, four bytes each, and a NUL */
    COUNTED =
        PIN_TEMPORARY_TABLE | PIN_TABLE_LOCK | PIN_NAMED_LOCK | PIN_HANDLER | PIN_TEXT_PREPARE,
};

/* Locks that have no names here; each ends in its own way. */
enum lock {
    LOCK_TABLES = 1 << 0,   /* also FLUSH TABLES t WITH READ LOCK / FOR EXPORT */
    LOCK_GLOBAL = 1 << 1,   /* FLUSH TABLES WITH READ LOCK */
    LOCK_INSTANCE = 1 << 2, /* LOCK INSTANCE FOR BACKUP */
    LOCK_BACKUP = 1 << 3,   /* BACKUP LOCK t */
    LOCK_STAGE = 1 << 4,    /* BACKUP STAGE .. */
};

/* Schema, NUL, name. */
struct key {
    size_t bytes;
    char text[KEY_MAX];
};

struct tracked {
    uint32_t pin;   /* the one it is behind */
    uint32_t flags; /* of a PREPAREd text: what its EXECUTE may do */
    uint32_t kinds;
    char *key; /* owned */
    size_t bytes;
};

struct pin_track {
    uint32_t sticky;   /* enum pin: something unknown is behind these */
    uint32_t locks;    /* enum lock */
    bool told_tables;  /* the transaction tracker has shown LOCK_TABLES */
    bool plugin_locks; /* RELEASE_ALL_LOCKS() leaves some of the sticky named locks */
    bool released_all; /* the last statement was RELEASE_ALL_LOCKS() alone */
    uint32_t count;
    struct tracked list[NAMES_MAX];
};

/* ---- names ---- */

/* Aliases of HANDLER and names of PREPARE are one in either case on both servers. Names of tables
 * are where the file system has it so, named locks on MySQL: taken for two they keep a pin too long
 * at worst. */
static bool folds(uint32_t pin)
{
    return (pin & (PIN_HANDLER | PIN_TEXT_PREPARE)) != 0;
}

/* Which names beyond ASCII are one depends on character sets and collations (to MySQL é and e are,
 * as names of statements), and space at the end may not count: such names have no key, and what is
 * behind them lasts. */
static bool append(struct key *k, struct bytes text, bool fold)
{
    if (text.len > KEY_MAX - k->bytes || (text.len && text.at[text.len - 1] == ' '))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];
        if (c > '~')
            return false;
        k->text[k->bytes++] = (char)(fold && c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return true;
}

static bool make_key(struct key *k, uint32_t pin, struct bytes schema, struct bytes name)
{
    k->bytes = 0;
    return append(k, schema, false) && append(k, bytes_of("", 1), false) &&
           append(k, name, folds(pin));
}

/* NAMES_MAX: it is not there. */
static uint32_t find(const struct pin_track *t, uint32_t pin, struct bytes schema,
                     struct bytes name)
{
    struct key k;
    if (!t || !make_key(&k, pin, schema, name))
        return NAMES_MAX;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->list[i].pin == pin && t->list[i].bytes == k.bytes &&
            memcmp(t->list[i].key, k.text, k.bytes) == 0)
            return i;
    return NAMES_MAX;
}

static struct pin_track *need(struct pin_track **t)
{
    if (!*t)
        *t = xcalloc(1, sizeof **t);
    return *t;
}

static void stick(struct pin_track **t, uint32_t pin)
{
    need(t)->sticky |= pin;
}

/* NULL: it cannot be counted, the pin lasts. */
static struct tracked *add(struct pin_track **t, uint32_t pin, struct bytes schema,
                           struct bytes name)
{
    struct key k;
    struct pin_track *track = need(t);
    uint32_t there = find(track, pin, schema, name);
    if (there != NAMES_MAX)
        return &track->list[there];
    if (!make_key(&k, pin, schema, name) || track->count == NAMES_MAX) {
        stick(t, pin);
        return NULL;
    }
    struct tracked *x = &track->list[track->count++];
    *x = (struct tracked){.pin = pin, .key = xmalloc(k.bytes), .bytes = k.bytes};
    memcpy(x->key, k.text, k.bytes);
    return x;
}

static void drop(struct pin_track *t, uint32_t i)
{
    free(t->list[i].key);
    t->list[i] = t->list[--t->count];
}

static void take_out(struct pin_track *t, uint32_t pin, struct bytes schema, struct bytes name)
{
    uint32_t there = find(t, pin, schema, name);
    if (there != NAMES_MAX)
        drop(t, there);
}

static void take_out_all(struct pin_track *t, uint32_t pin)
{
    for (uint32_t i = t->count; i-- > 0;)
        if (t->list[i].pin == pin)
            drop(t, i);
}

/* enum pin: those that something is behind. */
static uint32_t held(const struct pin_track *t)
{
    if (!t)
        return 0;
    uint32_t pins = t->sticky | (t->locks ? PIN_TABLE_LOCK : 0);
    for (uint32_t i = 0; i < t->count; i++)
        pins |= t->list[i].pin;
    return pins;
}

void pin_track_free(struct pin_track *t)
{
    if (!t)
        return;
    while (t->count)
        drop(t, 0);
    free(t);
}

static void free_if_empty(struct pin_track **t)
{
    if (held(*t))
        return;
    pin_track_free(*t);
    *t = NULL;
}

/* ---- the statement ---- */

/* One statement of this kind and nothing else: whether it failed says whether it did something. */
static bool is_single(const struct pin_event *e, enum sql_kind kind)
{
    const uint32_t unsure = SQL_F_MULTI | SQL_F_EXECUTABLE_COMMENT | SQL_F_OPAQUE;
    return e->kinds == 1u << kind && !(e->flags & unsure);
}

static bool has_kind(const struct pin_event *e, enum sql_kind kind)
{
    return (e->kinds & 1u << kind) != 0;
}

static bool has_word(const struct pin_event *e, const char *word)
{
    struct sql_reader r = sql_reader(e->text, e->mode);
    for (; r.type != SQL_PIECE_END; sql_next(&r))
        if (r.type == SQL_PIECE_BAD || sql_is(&r, word))
            return true;
    return false;
}

/* ---- temporary tables ---- */

static void track_tables(struct pin_track **t, const struct pin_event *e, const struct sql_names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        struct bytes schema = n->item[i].schema.len ? n->item[i].schema : e->schema;
        if (n->what == SQL_NAMING_CREATE_TEMPORARY)
            (void)add(t, PIN_TEMPORARY_TABLE, schema, n->item[i].name);
        else
            take_out(*t, PIN_TEMPORARY_TABLE, schema, n->item[i].name);
    }
}

/* ALTER TABLE .. RENAME gives a temporary table another name, and RENAME TABLE does on MariaDB. A
 * DROP TABLE of the old name may then succeed, on a base table that it had hidden. */
static bool may_rename(const struct pin_event *e)
{
    return has_kind(e, SQL_DDL) &&
           (!is_single(e, SQL_DDL) || !e->text.len || has_word(e, "rename"));
}

/* With IF NOT EXISTS and a warning the table was there: counted once more is the same. DROP TABLE
 * drops the temporary one before it sees a base table. When it fails, MariaDB drops those of its
 * list that are there and MySQL none: they stay counted. DROP DATABASE and ROLLBACK leave temporary
 * tables alone. */
static void track_temporary(struct pin_track **t, const struct pin_event *e,
                            const struct sql_names *n)
{
    bool single = is_single(e, SQL_TEMPORARY) || is_single(e, SQL_DDL);
    bool named =
        n && single && (n->what == SQL_NAMING_CREATE_TEMPORARY || n->what == SQL_NAMING_DROP_TABLE);
    if (named && !e->failed)
        track_tables(t, e, n);
    if (named)
        return;
    if (has_kind(e, SQL_TEMPORARY) && !(e->failed && single))
        stick(t, PIN_TEMPORARY_TABLE);
    if ((held(*t) & PIN_TEMPORARY_TABLE) && may_rename(e))
        stick(t, PIN_TEMPORARY_TABLE);
}

/* ---- HANDLER ---- */

/* DROP TABLE closes a handler too, and its CLOSE fails then: the pin lasts. */
static void track_handler(struct pin_track **t, const struct pin_event *e,
                          const struct sql_names *n)
{
    const struct bytes none = {0}; /* an alias has no schema */
    if (!has_kind(e, SQL_HANDLER))
        return;
    bool single = is_single(e, SQL_HANDLER);
    if (!n || !single) {
        if (!(e->failed && single))
            stick(t, PIN_HANDLER);
        return;
    }
    if (!e->failed && n->what == SQL_NAMING_HANDLER_OPEN)
        (void)add(t, PIN_HANDLER, none, n->item[0].name);
    if (!e->failed && n->what == SQL_NAMING_HANDLER_CLOSE)
        take_out(*t, PIN_HANDLER, none, n->item[0].name);
}

/* ---- text PREPARE ---- */

static void read_body(struct bytes body, uint32_t mode, uint32_t *flags, uint32_t *kinds)
{
    struct sql_scan scan;
    sql_scan_begin(&scan, mode);
    sql_scan_feed(&scan, body);
    sql_scan_end(&scan);
    *flags |= scan.flags;
    *kinds |= scan.kinds;
}

static void read_unknown(uint32_t *flags, uint32_t *kinds)
{
    *flags |= SQL_F_UNKNOWN_FUNCTION;
    *kinds |= 1u << SQL_OTHER;
}

/* Leaves the reader behind it. It leaves no statement on the server, and PREPARE, EXECUTE and
 * DEALLOCATE can themselves not be prepared (1295). */
static bool is_immediate(struct sql_reader *r)
{
    return sql_skip(r, "execute") && sql_skip(r, "immediate");
}

/* A PREPARE that failed has removed the statement of its name when the server got as far as the
 * text, and left it when its own syntax or expression was wrong: it stays counted. */
static void track_prepare(struct pin_track **t, const struct pin_event *e,
                          const struct sql_names *n)
{
    const struct bytes none = {0};
    if (!has_kind(e, SQL_PREPARE))
        return;
    if (!n) {
        struct sql_reader r = sql_reader(e->text, e->mode);
        bool immediate = !(e->flags & SQL_F_MULTI) && is_immediate(&r);
        if (!immediate && !(e->failed && is_single(e, SQL_PREPARE)))
            stick(t, PIN_TEXT_PREPARE);
        return;
    }
    if (!e->failed && n->what == SQL_NAMING_DEALLOCATE)
        take_out(*t, PIN_TEXT_PREPARE, none, n->item[0].name);
    if (e->failed || n->what != SQL_NAMING_PREPARE)
        return;
    struct tracked *x = add(t, PIN_TEXT_PREPARE, none, n->item[0].name);
    if (!x)
        return;
    x->flags = x->kinds = 0;
    if (n->literal)
        read_body(n->body, e->mode, &x->flags, &x->kinds);
    else
        read_unknown(&x->flags, &x->kinds);
}

static bool execute_immediate(struct bytes text, uint32_t mode, uint32_t *flags, uint32_t *kinds)
{
    struct sql_reader r = sql_reader(text, mode);
    if (!is_immediate(&r) || r.type != SQL_PIECE_STRING || r.escaped)
        return false;
    struct bytes body = r.value;
    sql_next(&r);
    if (!sql_is(&r, "using") && !sql_at_end(&r))
        return false;
    while (r.type != SQL_PIECE_END && r.type != SQL_PIECE_BAD && !sql_is_mark(&r, ';'))
        sql_next(&r);
    if (!sql_at_end(&r))
        return false;
    read_body(body, mode, flags, kinds);
    return true;
}

void pin_track_executed(const struct pin_track *t, struct bytes text, uint32_t mode,
                        uint32_t *flags, uint32_t *kinds)
{
    const struct bytes none = {0};
    struct sql_names n;
    bool readable = sql_names_read(text, mode, &n);
    if (readable && n.what != SQL_NAMING_EXECUTE)
        return;
    if (!readable && execute_immediate(text, mode, flags, kinds))
        return;
    /* A PREPARE that could not be read may have replaced any. */
    if (readable && t && !(t->sticky & PIN_TEXT_PREPARE)) {
        uint32_t there = find(t, PIN_TEXT_PREPARE, none, n.item[0].name);
        if (there != NAMES_MAX) {
            *flags |= t->list[there].flags;
            *kinds |= t->list[there].kinds;
            return;
        }
    }
    read_unknown(flags, kinds);
}

/* ---- table locks ---- */

struct lock_change {
    uint32_t takes, ends; /* enum lock */
};

static bool skip_tables(struct sql_reader *r)
{
    return sql_skip(r, "tables") || sql_skip(r, "table");
}

/* UNLOCK TABLES ends FLUSH TABLES WITH READ LOCK too; it does not end what LOCK INSTANCE and BACKUP
 * hold. Nothing else does but their own words; BACKUP UNLOCK does not end a stage. */
static struct lock_change read_locks(struct bytes text, uint32_t mode)
{
    struct sql_reader r = sql_reader(text, mode);
    struct lock_change c = {0};
    if (sql_skip(&r, "lock")) {
        c.takes = skip_tables(&r) ? LOCK_TABLES : sql_is(&r, "instance") ? LOCK_INSTANCE : 0;
    } else if (sql_skip(&r, "unlock")) {
        c.ends = skip_tables(&r)          ? LOCK_TABLES | LOCK_GLOBAL
                 : sql_is(&r, "instance") ? LOCK_INSTANCE
                                          : 0;
    } else if (sql_skip(&r, "flush")) {
        if (!sql_skip(&r, "local"))
            (void)sql_skip(&r, "no_write_to_binlog");
        if (skip_tables(&r))
            c.takes = sql_is(&r, "with") ? LOCK_GLOBAL : LOCK_TABLES;
    } else if (sql_skip(&r, "backup")) {
        if (sql_skip(&r, "stage"))
            *(sql_is(&r, "end") ? &c.ends : &c.takes) = LOCK_STAGE;
        else
            *(sql_is(&r, "unlock") ? &c.ends : &c.takes) = LOCK_BACKUP;
    }
    return c;
}

static void change_locks(struct pin_track **t, const struct pin_event *e)
{
    bool single = is_single(e, SQL_LOCK_TABLES) || is_single(e, SQL_UNLOCK_TABLES);
    if (e->failed && single)
        return; /* it may have ended an earlier LOCK TABLES: that stays */
    struct lock_change c = {0};
    if (single && e->text.len)
        c = read_locks(e->text, e->mode);
    if (c.takes)
        need(t)->locks |= c.takes;
    else if (c.ends && *t)
        (*t)->locks &= ~c.ends;
    else if (!c.ends && has_kind(e, SQL_LOCK_TABLES))
        stick(t, PIN_TABLE_LOCK);
}

/* BEGIN and START TRANSACTION end LOCK TABLES, but not FLUSH TABLES WITH READ LOCK. So do a LOCK
 * TABLES that fails and a DROP TABLE of all that is locked, which only the tracker tells, and only
 * on MariaDB: on MySQL it goes blank with any DDL while the tables stay locked. */
static void track_table_lock(struct pin_track **t, const struct pin_event *e)
{
    if (has_kind(e, SQL_LOCK_TABLES) || has_kind(e, SQL_UNLOCK_TABLES))
        change_locks(t, e);
    struct pin_track *track = *t;
    if (!track)
        return;
    if (is_single(e, SQL_BEGIN) && !e->failed)
        track->locks &= ~(uint32_t)LOCK_TABLES;
    if (track->told_tables && !e->tables_locked && (e->mode & SQL_MODE_MARIADB))
        track->locks &= ~(uint32_t)LOCK_TABLES;
    track->told_tables = (track->locks & LOCK_TABLES) && e->tables_locked;
}

/* ---- named locks ---- */

/* Longer names are refused, and asking for them is too. */
static bool can_be_locked(struct bytes name, uint32_t mode)
{
    return name.len <= (mode & SQL_MODE_MARIADB ? 192 : 64);
}

/* SELECT|DO RELEASE_ALL_LOCKS() and nothing else. */
static bool releases_all(const struct pin_event *e)
{
    struct bytes alias;
    struct sql_reader r = sql_reader(e->text, e->mode);
    if (e->failed || !(sql_skip(&r, "select") || sql_skip(&r, "do")) ||
        !sql_skip(&r, "release_all_locks") || !sql_skip_mark(&r, '(') || !sql_skip_mark(&r, ')'))
        return false;
    if (sql_skip(&r, "as") && !sql_take_name(&r, &alias))
        return false;
    return sql_at_end(&r);
}

/* Those of a statement that failed may be held as well. What EXECUTE runs is not in its text. The
 * names are remembered until the server says that none is held: how often each was taken, and by
 * which branch of an expression, no text tells. True: some may have been taken or released. */
static bool track_named_lock(struct pin_track **t, const struct pin_event *e)
{
    struct sql_locks locks;
    if (*t)
        (*t)->released_all = false;
    if (e->flags & SQL_F_UNKNOWN_FUNCTION)
        need(t)->plugin_locks = true;
    if ((e->flags & SQL_F_UNKNOWN_FUNCTION) || has_kind(e, SQL_PREPARE) || !e->text.len ||
        !sql_locks_read(e->text, e->mode, &locks) || (locks.gets && !locks.all_literal)) {
        stick(t, PIN_NAMED_LOCK);
        return true;
    }
    /* Of RELEASE_LOCK alone the name does not matter. */
    for (size_t i = 0; i < locks.count; i++)
        if (can_be_locked(locks.name[i], e->mode))
            (void)add(t, PIN_NAMED_LOCK, bytes_of(NULL, 0), locks.name[i]);
    if (*t)
        (*t)->released_all = locks.releases_all && releases_all(e) && !(*t)->plugin_locks;
    return locks.gets || locks.releases || locks.releases_all;
}

static bool can_ask(const struct pin_track *t)
{
    return (held(t) & PIN_NAMED_LOCK) && (t->released_all || !(t->sticky & PIN_NAMED_LOCK));
}

__attribute__((format(printf, 4, 5))) static bool append_text(char *out, size_t room, size_t *len,
                                                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + *len, room - *len, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room - *len)
        return false;
    *len += (size_t)n;
    return true;
}

/* Names that are not known cannot be asked for; but behind RELEASE_ALL_LOCKS() one more of them
 * says how many were left. It may be some: with sql_select_limit=0 MySQL does not run the function,
 * even in DO. LIMIT stands above that variable. */
bool pin_track_lock_question(const struct pin_track *t, char *out, size_t room)
{
    size_t len = 0;
    if (!can_ask(t))
        return false;
    if (t->sticky & PIN_NAMED_LOCK)
        return append_text(out, room, &len, "SELECT RELEASE_ALL_LOCKS() LIMIT 1");
    for (uint32_t i = 0; i < t->count; i++) {
        const struct tracked *x = &t->list[i];
        if (x->pin != PIN_NAMED_LOCK)
            continue;
        if (!append_text(out, room, &len, "%s(IS_USED_LOCK('%.*s') <=> CONNECTION_ID())",
                         len ? " OR " : "SELECT ", (int)x->bytes - 1, x->key + 1))
            return false;
    }
    return append_text(out, room, &len, " LIMIT 1");
}

void pin_track_locks_gone(struct pin_track **t)
{
    if (!*t)
        return;
    take_out_all(*t, PIN_NAMED_LOCK);
    (*t)->sticky &= ~(uint32_t)PIN_NAMED_LOCK;
    free_if_empty(t);
}

/* ---- XA ---- */

/* Enum pin that is over. A transaction is its connection's until COMMIT or ROLLBACK; on MySQL until
 * PREPARE, from where any connection may end it (xa_detach_on_prepare, the default; without it the
 * status goes on saying that a transaction is open). MariaDB refuses to let another one end it. */
static uint32_t xa_over(const struct pin_event *e)
{
    uint32_t begun = PIN_XA & ~e->pins_before; /* by this statement */
    if (!is_single(e, SQL_XA) || !e->text.len)
        return 0;
    if (e->failed)
        return begun;
    struct sql_reader r = sql_reader(e->text, e->mode);
    (void)sql_skip(&r, "xa");
    if (sql_is(&r, "recover"))
        return begun;
    bool ends = sql_is(&r, "commit") || sql_is(&r, "rollback") || sql_is(&r, "prepare");
    return ends && !e->in_transaction ? PIN_XA : 0;
}

/* ---- all of them ---- */

struct pin_effect pin_track_statement(struct pin_track **t, const struct pin_event *e,
                                      uint32_t pins)
{
    const uint32_t naming =
        1u << SQL_TEMPORARY | 1u << SQL_DDL | 1u << SQL_HANDLER | 1u << SQL_PREPARE;
    struct sql_names names;
    struct pin_effect out = {0};
    bool readable = (e->kinds & naming) && e->text.len && sql_names_read(e->text, e->mode, &names);
    const struct sql_names *n = readable ? &names : NULL;
    track_temporary(t, e, n);
    track_handler(t, e, n);
    track_prepare(t, e, n);
    track_table_lock(t, e);
    if (e->flags & SQL_F_NAMED_LOCK)
        out.ask_locks = track_named_lock(t, e) && can_ask(*t);
    out.begin = held(*t) & ~pins;
    out.end = (COUNTED & pins & ~held(*t)) | xa_over(e);
    free_if_empty(t);
    return out;
}
