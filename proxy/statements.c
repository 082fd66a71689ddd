/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/statements.h"

#include <stdlib.h>

#include "pool/breaks.h"
#include "pool/iobuf.h"
#include "protocol/mysql_command.h"

enum {
    ID_AT = 1, /* in the payload, behind the command byte */
    ID_BYTES = 4,
    ID_LAST = 0xFFFFFFFD, /* the two above mean something (proxy/command.c) */
    ROOM_MIN = 4,
    TYPE_BYTES = 2, /* of one parameter: type and flags */
};

/* ---- the set ---- */

/* The place of the first one whose id is not below. */
static uint32_t place_of(const struct statements *set, uint32_t id)
{
    uint32_t low = 0;
    uint32_t high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->list[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void move_to_room(struct statements *set, uint32_t room)
{
    struct statement *moved = xcalloc(room, sizeof *moved);
    if (set->count)
        memcpy(moved, set->list, set->count * sizeof *moved);
    free(set->list);
    set->list = moved;
    set->room = room;
}

struct statement *statements_add(struct statements *set, struct prepared *p)
{
    if (set->count == STATEMENTS_MAX || set->last_id == ID_LAST)
        return NULL;
    if (set->count == set->room)
        move_to_room(set, set->room ? set->room * 2 : ROOM_MIN);
    struct statement *st = &set->list[set->count++];
    *st = (struct statement){.id = ++set->last_id, .prepared = p};
    return st;
}

struct statement *statements_find(struct statements *set, uint32_t id)
{
    uint32_t i = place_of(set, id);
    return i < set->count && set->list[i].id == id ? &set->list[i] : NULL;
}

static void end_statement(struct statement *st, struct prepared_cache *c)
{
    prepared_unref(c, st->prepared);
    free(st->types);
    free(st->seen);
    free(st->with);
}

void statements_remove(struct statements *set, struct prepared_cache *c, uint32_t id)
{
    struct statement *st = statements_find(set, id);
    if (!st)
        return;
    end_statement(st, c);
    set->count--;
    memmove(st, st + 1, (size_t)(&set->list[set->count] - st) * sizeof *st);
    if (set->count == 0) {
        free(set->list);
        set->list = NULL;
        set->room = 0;
    } else if (set->count < set->room / 4 && set->room > ROOM_MIN) {
        move_to_room(set, set->room / 2);
    }
}

void statements_clear(struct statements *set, struct prepared_cache *c)
{
    for (uint32_t i = 0; i < set->count; i++)
        end_statement(&set->list[i], c);
    free(set->list);
    *set = (struct statements){0};
}

/* ---- COM_STMT_EXECUTE ---- */

/* As Protocol::MYSQL_TYPE_* number them; only what execute_number reads. */
enum parameter_type {
    TYPE_DECIMAL = 0,
    TYPE_TINY = 1,
    TYPE_SHORT = 2,
    TYPE_LONG = 3,
    TYPE_LONGLONG = 8,
    TYPE_INT24 = 9,
    TYPE_YEAR = 13,
    TYPE_VARCHAR = 15,
    TYPE_NEWDECIMAL = 246,
    TYPE_TINY_BLOB = 249,
    TYPE_STRING = 254, /* the blobs and VAR_STRING are in between */
    UNSIGNED_FLAG = 0x80,
};

/* The kinds of type that MySQL tells apart when it prepares anew; NULL is none. */
static uint8_t kind_of(uint8_t type, uint8_t flags)
{
    enum {
        TEXT = 1,
        BLOB = 2,
        WHOLE = 4,
        UNSIGNED = 8,
        REAL = 16,
        DECIMAL = 32,
        TIME = 64,
        OTHER = 128
    };
    switch (type) {
    case 6: /* NULL */
        return 0;
    case 15:  /* VARCHAR */
    case 253: /* VAR_STRING */
    case 254: /* STRING */
        return TEXT;
    case 249: /* TINY_BLOB .. BLOB */
    case 250:
    case 251:
    case 252:
        return BLOB;
    case 1: /* TINY, SHORT, LONG, LONGLONG, INT24, YEAR */
    case 2:
    case 3:
    case 8:
    case 9:
    case 13:
        return flags & 0x80 ? UNSIGNED : WHOLE;
    case 4: /* FLOAT, DOUBLE */
    case 5:
        return REAL;
    case 0: /* DECIMAL, NEWDECIMAL */
    case 246:
        return DECIMAL;
    case 7: /* TIMESTAMP, DATE, TIME, DATETIME */
    case 10:
    case 11:
    case 12:
        return TIME;
    default: /* whatever a client may send */
        return OTHER;
    }
}

struct prepared_use statement_use(struct statement *st)
{
    uint16_t count = st->prepared->parameters;
    if (!count)
        return (struct prepared_use){0};
    if (!st->with)
        st->with = xcalloc(1, count);
    for (uint16_t i = 0; i < count; i++)
        st->with[i] =
            st->types ? kind_of(st->types[(size_t)i * 2], st->types[(size_t)i * 2 + 1]) : 0;
    return (struct prepared_use){.seen = st->seen, .with = st->with, .count = count};
}

void statement_used(struct statement *st)
{
    uint16_t count = st->prepared->parameters;
    if (!st->with || !count)
        return;
    if (!st->seen)
        st->seen = xcalloc(1, count);
    for (uint16_t i = 0; i < count; i++)
        st->seen[i] |= st->with[i];
}

bool execute_read(struct bytes payload, uint16_t parameters, struct execute_view *out)
{
    struct wire_reader r = wire_reader(payload);
    *out = (struct execute_view){0};
    bool is_execute = wire_u8(&r) == MYSQL_COM_STMT_EXECUTE;
    (void)wire_u32(&r); /* id */
    out->cursor = wire_u8(&r);
    (void)wire_u32(&r); /* iterations */
    if (parameters) {
        out->nulls = wire_take(&r, ((size_t)parameters + 7) / 8);
        out->types_flag_at = (size_t)(r.at - payload.at);
        out->has_types = wire_u8(&r) != 0;
        if (out->has_types)
            out->types = wire_take(&r, (size_t)parameters * TYPE_BYTES);
    }
    return is_execute && !r.bad;
}

void statement_note_types(struct statement *st, const struct execute_view *view,
                          uint16_t parameters)
{
    if (!view->has_types)
        return;
    size_t bytes = (size_t)parameters * TYPE_BYTES;
    if (!st->types)
        st->types = xmalloc(bytes);
    memcpy(st->types, view->types.at, bytes);
}

static bool number_of_digits(struct bytes text, uint64_t *out)
{
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t digit = (uint8_t)(text.at[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, digit, &n))
            return false;
    }
    *out = n;
    return text.len != 0;
}

/* `bytes` of it at the front of r, little-endian. */
static uint64_t integer_of(struct wire_reader *r, size_t bytes, bool is_unsigned)
{
    uint64_t n = 0;
    struct bytes raw = wire_take(r, bytes);
    for (size_t i = 0; i < raw.len; i++)
        n |= (uint64_t)raw.at[i] << (8 * i);
    uint64_t sign = raw.len && !is_unsigned ? 1ull << (8 * raw.len - 1) : 0;
    return (n ^ sign) - sign; /* extends the sign */
}

static size_t integer_bytes(uint8_t type)
{
    static const struct {
        uint8_t type, bytes;
    } integers[] = {{TYPE_TINY, 1}, {TYPE_SHORT, 2}, {TYPE_YEAR, 2},
                    {TYPE_LONG, 4}, {TYPE_INT24, 4}, {TYPE_LONGLONG, 8}};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        if (integers[i].type == type)
            return integers[i].bytes;
    return 0;
}

static bool is_text(uint8_t type)
{
    return type == TYPE_DECIMAL || type == TYPE_VARCHAR || type == TYPE_NEWDECIMAL ||
           (type >= TYPE_TINY_BLOB && type <= TYPE_STRING);
}

bool execute_number(const struct statement *st, const struct execute_view *view,
                    struct bytes payload, uint64_t *out)
{
    const uint8_t *types = view->has_types ? view->types.at : st->types;
    if (!view->types_flag_at || !types || (view->nulls.at[0] & 1) || st->long_data)
        return false;
    size_t values_at = view->types_flag_at + 1 + view->types.len;
    struct wire_reader r = wire_reader(bytes_of(payload.at + values_at, payload.len - values_at));
    size_t bytes = integer_bytes(types[0]);
    if (bytes) {
        *out = integer_of(&r, bytes, (types[1] & UNSIGNED_FLAG) != 0);
        return !r.bad;
    }
    if (!is_text(types[0]))
        return false;
    struct bytes text = wire_lenenc_bytes(&r);
    return !r.bad && number_of_digits(text, out);
}

static void add_slice(struct execute_slices *out, struct bytes slice)
{
    if (slice.len)
        out->slice[out->count++] = slice;
}

bool execute_rewrite(const struct statement *st, uint32_t backend_id, struct bytes payload,
                     struct execute_slices *out)
{
    struct execute_view view;
    uint16_t parameters = st->prepared->parameters;
    if (!execute_read(payload, parameters, &view))
        return false;
    bool insert = !broken(RULE_TYPES_RESENT) && parameters && !view.has_types;
    size_t types_bytes = insert ? (size_t)parameters * TYPE_BYTES : 0;
    size_t bytes = payload.len + types_bytes;
    if ((insert && !st->types) || bytes >= MYSQL_PAYLOAD_MAX_BYTES)
        return false;
    mysql_header_write(out->head, (uint32_t)bytes, 0);
    memcpy(out->head + MYSQL_HEADER_BYTES, payload.at, EXECUTE_FIXED_BYTES);
    wire_set_u32(out->head + MYSQL_HEADER_BYTES + ID_AT, backend_id);
    out->count = 0;
    add_slice(out, bytes_of(out->head, sizeof out->head));
    size_t at = EXECUTE_FIXED_BYTES;
    if (insert) {
        static const uint8_t bound = 1;
        add_slice(out, view.nulls);
        add_slice(out, bytes_of(&bound, 1));
        add_slice(out, bytes_of(st->types, types_bytes));
        at = view.types_flag_at + 1;
    }
    add_slice(out, bytes_of(payload.at + at, payload.len - at));
    return true;
}

bool execute_rewrite_spool(const struct statement *st, uint32_t backend_id,
                           const struct execute_view *view, struct spool *spool)
{
    bool insert = view->types_flag_at && !view->has_types;
    if (insert && !st->types)
        return false;
    uint8_t id[ID_BYTES];
    wire_set_u32(id, backend_id);
    spool_replace(spool, ID_AT, ID_BYTES, bytes_of(id, sizeof id));
    if (insert) {
        size_t types_bytes = (size_t)st->prepared->parameters * TYPE_BYTES;
        uint8_t *bound = xmalloc(1 + types_bytes);
        bound[0] = 1;
        memcpy(bound + 1, st->types, types_bytes);
        spool_replace(spool, view->types_flag_at, 1, bytes_of(bound, 1 + types_bytes));
        free(bound);
    }
    return true;
}
