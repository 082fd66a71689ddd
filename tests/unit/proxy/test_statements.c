/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/statements.c: a client's ids, and COM_STMT_EXECUTE read and rewritten. */
#include "proxy/statements.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    COM_EXECUTE = 0x17,
    TYPE_TINY = 1,
    TYPE_SHORT = 2,
    TYPE_LONG = 3,
    TYPE_DOUBLE = 5,
    TYPE_NULL = 6,
    TYPE_LONGLONG = 8,
    TYPE_INT24 = 9,
    TYPE_YEAR = 13,
    TYPE_VAR_STRING = 253,
    IS_UNSIGNED = 0x8000,
    CURSOR_READ_ONLY = 1,
    ROOM = EXECUTE_HEAD_MAX_BYTES + 4096,
};

static struct names *names;
static struct prepared_cache *cache;
static struct statements set;

static int setup(void **state)
{
    (void)state;
    names = names_new();
    cache = prepared_cache_new(names, 4, 64 * 1024);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    statements_clear(&set, cache);
    prepared_cache_free(cache);
    names_free(names);
    return 0;
}

static struct prepared *prepare(uint16_t parameters)
{
    const struct session_state in = {0};
    const struct prepared_facts facts = {0};
    struct prepared *p = prepared_add(cache, &in, bytes_text("DO 1"), &facts, false);
    prepared_set_reply(cache, p, bytes_text("reply"), parameters, 0);
    return p;
}

static struct statement *add(uint16_t parameters)
{
    struct statement *st = statements_add(&set, prepare(parameters));
    assert_non_null(st);
    return st;
}

/* ---- the set ---- */

static void ids_ascend_from_one_and_are_not_used_again(void **state)
{
    (void)state;
    assert_int_equal(add(0)->id, 1);
    assert_int_equal(add(0)->id, 2);
    assert_int_equal(add(0)->id, 3);
    statements_remove(&set, cache, 3);
    assert_int_equal(set.last_id, 3);
    assert_int_equal(add(0)->id, 4);
    statements_remove(&set, cache, 1);
    statements_remove(&set, cache, 2);
    statements_remove(&set, cache, 4);
    assert_int_equal(set.count, 0);
    assert_null(set.list); /* a client without statements costs nothing */
    assert_int_equal(add(0)->id, 5);
}

static void clearing_begins_at_one_again(void **state)
{
    (void)state;
    struct prepared *p = prepare(1);
    (void)prepared_ref(cache, p);
    struct statement *st = statements_add(&set, p);
    st->types = calloc(1, 2);
    (void)add(0);
    statements_clear(&set, cache);
    assert_int_equal(p->refs, 1);
    prepared_unref(cache, p);
    assert_int_equal(set.count, 0);
    assert_int_equal(add(0)->id, 1);
}

static void a_removed_statement_gives_its_reference_back(void **state)
{
    (void)state;
    struct prepared *p = prepare(1);
    (void)prepared_ref(cache, p);
    struct statement *st = statements_add(&set, p);
    assert_ptr_equal(st->prepared, p);
    assert_int_equal(p->refs, 2); /* the caller's was taken over */
    st->types = calloc(1, 2);
    statements_remove(&set, cache, 99);
    assert_int_equal(p->refs, 2);
    statements_remove(&set, cache, 1);
    statements_remove(&set, cache, 1);
    assert_int_equal(p->refs, 1);
    prepared_unref(cache, p);
}

static void as_many_as_a_server_has_are_told_apart(void **state)
{
    (void)state;
    struct prepared *p = prepare(0);
    for (uint32_t i = 1; i <= STATEMENTS_MAX; i++)
        assert_int_equal(statements_add(&set, prepared_ref(cache, p))->id, i);
    assert_null(statements_add(&set, p));
    assert_int_equal(p->refs, STATEMENTS_MAX + 1); /* the one refused is still the caller's */
    for (uint32_t i = 1; i <= STATEMENTS_MAX; i++)
        assert_int_equal(statements_find(&set, i)->id, i);
    assert_null(statements_find(&set, 0));
    assert_null(statements_find(&set, STATEMENTS_MAX + 1));
    assert_null(statements_find(&set, UINT32_MAX));

    for (uint32_t i = 1; i <= STATEMENTS_MAX; i++)
        if (i % 100)
            statements_remove(&set, cache, i);
    for (uint32_t i = 1; i <= STATEMENTS_MAX; i++)
        assert_int_equal(statements_find(&set, i) != NULL, i % 100 == 0);
    assert_int_equal(set.count, STATEMENTS_MAX / 100);
    assert_true(set.room <= 4 * set.count); /* memory went with them */
    assert_int_equal(add(0)->id, STATEMENTS_MAX + 1);
    prepared_unref(cache, p);
}

static void ids_that_mean_something_are_never_given(void **state)
{
    (void)state;
    struct prepared *p = prepare(0);
    set.last_id = 0xFFFFFFFC;
    assert_int_equal(add(0)->id, 0xFFFFFFFD);
    assert_null(statements_add(&set, p));
    assert_int_equal(statements_find(&set, 0xFFFFFFFD)->id, 0xFFFFFFFD);
    prepared_unref(cache, p);
}

/* ---- COM_STMT_EXECUTE ---- */

/* Heap of the exact size, so that a read behind the end is seen. */
struct execute {
    uint8_t *at;
    size_t len;
};

/* types: one a parameter, NULL: flag 0. nulls: every n-th parameter is NULL; 0: none. */
static struct execute execute_of(uint16_t parameters, const uint16_t *types, unsigned nulls,
                                 struct bytes values)
{
    uint8_t *out = malloc(ROOM);
    struct wire_writer w = wire_writer(out, ROOM);
    wire_put_u8(&w, COM_EXECUTE);
    wire_put_u32(&w, 7);
    wire_put_u8(&w, CURSOR_READ_ONLY);
    wire_put_u32(&w, 1);
    for (unsigned at = 0; at < parameters; at += 8) {
        uint8_t byte = 0;
        for (unsigned i = at; nulls && i < at + 8 && i < parameters; i++)
            byte |= (uint8_t)((i % nulls == 0) << (i % 8));
        wire_put_u8(&w, byte);
    }
    if (parameters)
        wire_put_u8(&w, types != NULL);
    for (unsigned i = 0; types && i < parameters; i++)
        wire_put_u16(&w, types[i]);
    wire_put(&w, values);
    assert_false(w.full);
    return (struct execute){realloc(out, wire_written(&w)), wire_written(&w)};
}

static struct bytes payload_of(const struct execute *e)
{
    return bytes_of(e->at, e->len);
}

static struct execute_view view_of(const struct execute *e, uint16_t parameters)
{
    struct execute_view view;
    assert_true(execute_read(payload_of(e), parameters, &view));
    return view;
}

static const uint16_t two_types[] = {TYPE_LONG | IS_UNSIGNED, TYPE_VAR_STRING};
static const uint8_t two_types_bytes[] = {TYPE_LONG, 0x80, TYPE_VAR_STRING, 0};
static const uint8_t two_values[] = {42, 0, 0, 0, 3, 'a', 'b', 'c'};

static void the_head_is_read_where_the_protocol_puts_it(void **state)
{
    (void)state;
    struct execute e = execute_of(2, two_types, 0, bytes_of(two_values, sizeof two_values));
    struct execute_view view = view_of(&e, 2);
    assert_int_equal(view.cursor, CURSOR_READ_ONLY);
    assert_true(view.has_types);
    assert_int_equal(view.nulls.len, 1);
    assert_ptr_equal(view.nulls.at, e.at + 10);
    assert_int_equal(view.types_flag_at, 11);
    assert_int_equal(view.types.len, 4);
    assert_memory_equal(view.types.at, two_types_bytes, 4);
    assert_ptr_equal(view.types.at + view.types.len, e.at + e.len - sizeof two_values);
    free(e.at);
}

static void without_parameters_nothing_follows_the_fixed_part(void **state)
{
    (void)state;
    struct execute e = execute_of(0, NULL, 0, bytes_of(NULL, 0));
    assert_int_equal(e.len, EXECUTE_FIXED_BYTES);
    struct execute_view view = view_of(&e, 0);
    assert_int_equal(view.types_flag_at, 0);
    assert_false(view.has_types);
    assert_int_equal(view.cursor, CURSOR_READ_ONLY);
    assert_false(execute_read(payload_of(&e), 1, &view));
    free(e.at);
}

/* The prefix is a heap block of its own: one byte too far is a report of the sanitizer. */
static void every_prefix_is_read_within_its_bounds(void **state)
{
    static const uint16_t parameters[] = {0, 1, 2, 8, 9, 300};
    static uint16_t types[300];
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        types[i] = TYPE_TINY;
    for (unsigned k = 0; k < 2 * sizeof parameters / sizeof parameters[0]; k++) {
        uint16_t n = parameters[k / 2];
        struct execute e = execute_of(n, k % 2 ? types : NULL, 0, bytes_text("values"));
        size_t head = EXECUTE_FIXED_BYTES + (n + 7u) / 8 + (n ? 1 : 0) + (k % 2 ? 2u * n : 0);
        for (size_t len = 0; len <= e.len; len++) {
            struct execute_view view;
            uint8_t *prefix = malloc(len);
            memcpy(prefix, e.at, len);
            assert_int_equal(execute_read(bytes_of(prefix, len), n, &view), len >= head);
            free(prefix);
        }
        free(e.at);
    }
}

static void another_command_is_not_read(void **state)
{
    struct execute_view view;
    (void)state;
    struct execute e = execute_of(0, NULL, 0, bytes_of(NULL, 0));
    e.at[0] = 0x18;
    assert_false(execute_read(payload_of(&e), 0, &view));
    assert_false(execute_read(bytes_of(NULL, 0), 0, &view));
    free(e.at);
}

static void the_largest_head_is_of_the_size_named(void **state)
{
    (void)state;
    uint16_t *types = calloc(65535, sizeof *types);
    struct execute e = execute_of(65535, types, 0, bytes_of(NULL, 0));
    assert_int_equal(e.len, EXECUTE_HEAD_MAX_BYTES);
    assert_int_equal(view_of(&e, 65535).types.len, 2 * 65535);
    free(e.at);
    free(types);
}

/* ---- rewriting ---- */

static void note(struct statement *st, const uint16_t *types)
{
    uint16_t n = st->prepared->parameters;
    struct execute e = execute_of(n, types, 0, bytes_of(NULL, 0));
    struct execute_view view = view_of(&e, n);
    statement_note_types(st, &view, n);
    free(e.at);
}

static struct execute joined(const struct execute_slices *slices)
{
    struct execute all = {malloc(2 * ROOM), 0};
    for (size_t i = 0; i < slices->count; i++) {
        memcpy(all.at + all.len, slices->slice[i].at, slices->slice[i].len);
        all.len += slices->slice[i].len;
    }
    return all;
}

/* The one packet that comes out has the id 0x01020304 and is `wanted` else. */
static void assert_rewritten(const struct statement *st, const struct execute *e,
                             const struct execute *wanted)
{
    struct execute_slices slices;
    uint8_t seq;
    size_t used;
    struct bytes payload;
    assert_true(execute_rewrite(st, 0x01020304, payload_of(e), &slices));
    struct execute out = joined(&slices);
    assert_int_equal(mysql_packet_read(bytes_of(out.at, out.len), MYSQL_PAYLOAD_MAX_BYTES, &seq,
                                       &payload, &used),
                     WIRE_DONE);
    assert_int_equal(used, out.len);
    assert_int_equal(seq, 0);
    assert_int_equal(payload.len, wanted->len);
    assert_memory_equal(payload.at + 1, "\x04\x03\x02\x01", 4);
    assert_memory_equal(payload.at, wanted->at, 1);
    assert_memory_equal(payload.at + 5, wanted->at + 5, wanted->len - 5);
    free(out.at);
}

static void types_that_came_are_passed_and_only_the_id_changes(void **state)
{
    (void)state;
    struct statement *st = add(2);
    struct execute e = execute_of(2, two_types, 0, bytes_of(two_values, sizeof two_values));
    assert_rewritten(st, &e, &e);
    free(e.at);
}

/* MySQL reads it so, MariaDB refuses all but 0 and 1: the server's to say. */
static void any_flag_but_zero_means_types_and_is_passed(void **state)
{
    (void)state;
    struct statement *st = add(2);
    struct execute e = execute_of(2, two_types, 0, bytes_of(two_values, sizeof two_values));
    e.at[11] = 2;
    assert_true(view_of(&e, 2).has_types);
    assert_rewritten(st, &e, &e);
    free(e.at);
}

static void a_statement_without_parameters_needs_no_types(void **state)
{
    (void)state;
    struct statement *st = add(0);
    struct execute e = execute_of(0, NULL, 0, bytes_of(NULL, 0));
    assert_rewritten(st, &e, &e);
    free(e.at);
}

static void remembered_types_are_inserted(void **state)
{
    (void)state;
    struct statement *st = add(2);
    const struct bytes values = bytes_of(two_values + 4, 4);
    struct execute bare = execute_of(2, NULL, 2, values); /* the first is NULL */
    struct execute full = execute_of(2, two_types, 2, values);
    note(st, two_types);
    assert_rewritten(st, &bare, &full);
    note(st, NULL); /* forgets nothing */
    assert_rewritten(st, &bare, &full);
    free(bare.at);
    free(full.at);
}

static void the_types_last_sent_are_those_remembered(void **state)
{
    static const uint16_t others[] = {TYPE_NULL, TYPE_DOUBLE};
    (void)state;
    struct statement *st = add(2);
    struct execute bare = execute_of(2, NULL, 0, bytes_text("12345678"));
    struct execute full = execute_of(2, others, 0, bytes_text("12345678"));
    note(st, two_types);
    note(st, others);
    assert_rewritten(st, &bare, &full);
    free(bare.at);
    free(full.at);
}

static void more_parameters_than_a_byte_counts_keep_their_bitmap(void **state)
{
    static const uint16_t counts[] = {7, 8, 9, 255, 256, 257, 1000, 65535};
    (void)state;
    uint16_t *types = calloc(65535, sizeof *types);
    for (unsigned i = 0; i < 65535; i++)
        types[i] = (uint16_t)(i % 2 ? TYPE_TINY | IS_UNSIGNED : TYPE_VAR_STRING);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        struct statement *st = add(counts[k]);
        struct execute bare = execute_of(counts[k], NULL, 3, bytes_text("values"));
        struct execute full = execute_of(counts[k], types, 3, bytes_text("values"));
        note(st, types);
        assert_rewritten(st, &bare, &full);
        free(bare.at);
        free(full.at);
    }
    free(types);
}

static void without_known_types_or_a_whole_head_nothing_is_rewritten(void **state)
{
    struct execute_slices slices;
    (void)state;
    struct statement *st = add(2);
    struct execute bare = execute_of(2, NULL, 0, bytes_of(NULL, 0));
    assert_false(execute_rewrite(st, 1, payload_of(&bare), &slices));
    note(st, two_types);
    assert_true(execute_rewrite(st, 1, payload_of(&bare), &slices));
    assert_false(execute_rewrite(st, 1, bytes_of(bare.at, bare.len - 1), &slices));
    free(bare.at);
}

/* With its types it must stay below the payload that goes on in a second packet. */
static void what_does_not_fit_one_packet_is_not_rewritten(void **state)
{
    enum { TYPES_BYTES = 4, LARGEST = MYSQL_PAYLOAD_MAX_BYTES - 1 };
    struct execute_slices slices;
    (void)state;
    struct statement *st = add(2);
    note(st, two_types);
    uint8_t *payload = calloc(1, LARGEST + 1);
    payload[0] = COM_EXECUTE;
    assert_true(execute_rewrite(st, 1, bytes_of(payload, LARGEST - TYPES_BYTES), &slices));
    assert_int_equal(mysql_header_length(slices.head), LARGEST);
    assert_false(execute_rewrite(st, 1, bytes_of(payload, LARGEST - TYPES_BYTES + 1), &slices));
    payload[11] = 1; /* types of the client's */
    assert_true(execute_rewrite(st, 1, bytes_of(payload, LARGEST), &slices));
    assert_int_equal(mysql_header_length(slices.head), LARGEST);
    assert_false(execute_rewrite(st, 1, bytes_of(payload, LARGEST + 1), &slices));
    free(payload);
}

/* ---- one that is spooled ---- */

static struct spool *spool_of(struct bytes payload)
{
    size_t used;
    uint8_t header[MYSQL_HEADER_BYTES];
    struct spool *s = spool_new();
    assert_non_null(s);
    mysql_header_write(header, (uint32_t)payload.len, 0);
    assert_int_equal(spool_take(s, bytes_of(header, sizeof header), &used), WIRE_MORE);
    assert_int_equal(spool_take(s, payload, &used), WIRE_DONE);
    return s;
}

static void assert_spool_gives(struct spool *s, uint32_t id, const struct execute *wanted)
{
    struct bytes block = spool_next(s);
    assert_int_equal(block.len, MYSQL_HEADER_BYTES + wanted->len);
    assert_int_equal(mysql_header_length(block.at), wanted->len);
    assert_int_equal(block.at[3], 0);
    struct wire_reader r = wire_reader(bytes_of(block.at + MYSQL_HEADER_BYTES, wanted->len));
    assert_int_equal(wire_u8(&r), wanted->at[0]);
    assert_int_equal(wire_u32(&r), id);
    assert_memory_equal(r.at, wanted->at + 5, wanted->len - 5);
    assert_int_equal(spool_next(s).len, 0);
}

static void a_spooled_one_is_rewritten_for_one_backend_after_the_other(void **state)
{
    (void)state;
    struct statement *st = add(2);
    const struct bytes values = bytes_of(two_values, sizeof two_values);
    struct execute bare = execute_of(2, NULL, 0, values);
    struct execute full = execute_of(2, two_types, 0, values);
    struct execute_view view = view_of(&bare, 2);
    struct spool *s = spool_of(payload_of(&bare));
    assert_false(execute_rewrite_spool(st, 0x01020304, &view, s));
    note(st, two_types);
    assert_true(execute_rewrite_spool(st, 0x01020304, &view, s));
    assert_spool_gives(s, 0x01020304, &full);
    assert_true(execute_rewrite_spool(st, 99, &view, s));
    assert_spool_gives(s, 99, &full);
    spool_free(s);

    s = spool_of(payload_of(&full));
    view = view_of(&full, 2);
    assert_true(execute_rewrite_spool(st, 5, &view, s));
    assert_spool_gives(s, 5, &full);
    spool_free(s);
    free(bare.at);
    free(full.at);
}

static void spooled_long_data_gets_another_id(void **state)
{
    static uint8_t payload[] = "\x18\x01\0\0\0\x01\0data";
    (void)state;
    struct statement *st = add(2);
    const struct execute data = {payload, sizeof payload - 1};
    struct spool *s = spool_of(payload_of(&data));
    assert_true(execute_rewrite_spool(st, 77, &(struct execute_view){0}, s));
    assert_spool_gives(s, 77, &data);
    spool_free(s);
}

/* ---- a number for KILL ---- */

/* Of a first parameter of this type with these bytes, the only one; every prefix of them is too
 * short. */
static bool number(uint16_t type, const void *value, size_t len, uint64_t *out)
{
    struct statement *st = add(1);
    struct execute e = execute_of(1, &type, 0, bytes_of(value, len));
    struct execute_view view = view_of(&e, 1);
    bool read = execute_number(st, &view, payload_of(&e), out);
    for (size_t cut = 1; cut <= len; cut++) {
        uint64_t none;
        struct execute shorter = execute_of(1, &type, 0, bytes_of(value, len - cut));
        view = view_of(&shorter, 1);
        assert_false(execute_number(st, &view, payload_of(&shorter), &none));
        free(shorter.at);
    }
    free(e.at);
    return read;
}

static void assert_number(uint16_t type, const void *value, size_t len, uint64_t wanted)
{
    uint64_t n = ~wanted;
    assert_true(number(type, value, len, &n));
    assert_int_equal(n, wanted);
}

static void integers_of_every_width_are_numbers(void **state)
{
    static const uint8_t bytes[] = {0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8};
    (void)state;
    assert_number(TYPE_TINY | IS_UNSIGNED, bytes, 1, 0xF1);
    assert_number(TYPE_SHORT | IS_UNSIGNED, bytes, 2, 0xF2F1);
    assert_number(TYPE_YEAR | IS_UNSIGNED, bytes, 2, 0xF2F1);
    assert_number(TYPE_LONG | IS_UNSIGNED, bytes, 4, 0xF4F3F2F1);
    assert_number(TYPE_INT24 | IS_UNSIGNED, bytes, 4, 0xF4F3F2F1);
    assert_number(TYPE_LONGLONG | IS_UNSIGNED, bytes, 8, 0xF8F7F6F5F4F3F2F1);
    assert_number(TYPE_TINY, "\x7F", 1, 127);
    assert_number(TYPE_SHORT, "\x01\x7F", 2, 0x7F01);
    assert_number(TYPE_LONG, "\x01\x02\x03\x04", 4, 0x04030201);
    assert_number(TYPE_LONGLONG, "\x01\x02\x03\x04\0\0\0\0", 8, 0x04030201);
}

static void numbers_below_zero_are_what_a_server_casts_them_to(void **state)
{
    (void)state;
    assert_number(TYPE_TINY, "\xFF", 1, UINT64_MAX);
    assert_number(TYPE_SHORT, "\xFE\xFF", 2, UINT64_MAX - 1);
    assert_number(TYPE_LONG, "\0\0\0\x80", 4, 0xFFFFFFFF80000000);
    assert_number(TYPE_LONGLONG, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, UINT64_MAX);
}

static void digits_are_numbers(void **state)
{
    static const uint16_t texts[] = {0, 15, 246, 249, 250, 251, 252, 253, 254};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_number(texts[i],
                      "\x03"
                      "123",
                      4, 123);
    assert_number(TYPE_VAR_STRING,
                  "\x14"
                  "18446744073709551615",
                  21, UINT64_MAX);
}

static void other_texts_are_not_numbers(void **state)
{
    static const char *const texts[] = {
        "\x14"
        "18446744073709551616",
        "\x15"
        "184467440737095516150",
        "\x02"
        "1a",
        "\x02-1",
        "\x02 1",
        "\x01",
        "\x03"
        "1.5",
    };
    (void)state;
    uint64_t n;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(number(TYPE_VAR_STRING, texts[i], strlen(texts[i]), &n));
    assert_false(number(TYPE_VAR_STRING, "\0", 1, &n));
    assert_false(number(TYPE_VAR_STRING, "\xFB", 1, &n)); /* no length */
    assert_false(number(TYPE_DOUBLE, "12345678", 8, &n));
    assert_false(number(TYPE_NULL, "", 0, &n));
    assert_false(number(TYPE_NULL, "\x01", 1, &n));
}

static void null_and_long_data_are_not_numbers(void **state)
{
    const uint16_t type = TYPE_TINY;
    uint64_t n;
    (void)state;
    struct statement *st = add(1);
    struct execute e = execute_of(1, &type, 1, bytes_text("1"));
    struct execute_view view = view_of(&e, 1);
    assert_false(execute_number(st, &view, payload_of(&e), &n));
    free(e.at);
    e = execute_of(1, &type, 0, bytes_text("1"));
    view = view_of(&e, 1);
    assert_true(execute_number(st, &view, payload_of(&e), &n));
    assert_int_equal(n, '1');
    st->long_data = true;
    assert_false(execute_number(st, &view, payload_of(&e), &n));
    free(e.at);
}

static void a_number_without_types_is_read_by_those_remembered(void **state)
{
    const uint16_t type = TYPE_SHORT;
    uint64_t n;
    (void)state;
    struct statement *st = add(1);
    struct execute e = execute_of(1, NULL, 0, bytes_of("\x01\x02", 2));
    struct execute_view view = view_of(&e, 1);
    assert_false(execute_number(st, &view, payload_of(&e), &n));
    note(st, &type);
    assert_true(execute_number(st, &view, payload_of(&e), &n));
    assert_int_equal(n, 0x0201);
    free(e.at);

    st = add(0);
    e = execute_of(0, NULL, 0, bytes_of(NULL, 0));
    view = view_of(&e, 0);
    assert_false(execute_number(st, &view, payload_of(&e), &n));
    free(e.at);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ids_ascend_from_one_and_are_not_used_again),
        TEST(clearing_begins_at_one_again),
        TEST(a_removed_statement_gives_its_reference_back),
        TEST(as_many_as_a_server_has_are_told_apart),
        TEST(ids_that_mean_something_are_never_given),
        TEST(the_head_is_read_where_the_protocol_puts_it),
        TEST(without_parameters_nothing_follows_the_fixed_part),
        TEST(every_prefix_is_read_within_its_bounds),
        TEST(another_command_is_not_read),
        TEST(the_largest_head_is_of_the_size_named),
        TEST(types_that_came_are_passed_and_only_the_id_changes),
        TEST(any_flag_but_zero_means_types_and_is_passed),
        TEST(a_statement_without_parameters_needs_no_types),
        TEST(remembered_types_are_inserted),
        TEST(the_types_last_sent_are_those_remembered),
        TEST(more_parameters_than_a_byte_counts_keep_their_bitmap),
        TEST(without_known_types_or_a_whole_head_nothing_is_rewritten),
        TEST(what_does_not_fit_one_packet_is_not_rewritten),
        TEST(a_spooled_one_is_rewritten_for_one_backend_after_the_other),
        TEST(spooled_long_data_gets_another_id),
        TEST(integers_of_every_width_are_numbers),
        TEST(numbers_below_zero_are_what_a_server_casts_them_to),
        TEST(digits_are_numbers),
        TEST(other_texts_are_not_numbers),
        TEST(null_and_long_data_are_not_numbers),
        TEST(a_number_without_types_is_read_by_those_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
