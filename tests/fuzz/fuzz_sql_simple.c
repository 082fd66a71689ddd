/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target for the readers of sql_simple.h. Input: one byte of mode, then the text. Properties:
 * what comes out lies in the text (an exact copy on the heap); `;` and comments around change
 * nothing; a second statement is never simple. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/sql_scan.h"
#include "protocol/sql_simple.h"

/* What all the readers said of one text. */
struct answers {
    struct bytes text;
    bool is_set, is_reads, is_ask, is_names, is_locks, is_places;
    struct sql_set set;
    struct sql_reads reads;
    struct sql_ask ask;
    struct sql_names names;
    struct sql_locks locks;
    struct sql_places places;
};

/* The text between two others, in memory of its own, which the caller frees. */
static struct bytes joined(const char *before, struct bytes text, const char *behind)
{
    size_t len = strlen(before) + text.len + strlen(behind);
    uint8_t *copy = malloc(len);
    assert(copy || len == 0);
    if (len > 0) {
        memcpy(copy, before, strlen(before));
        if (text.len > 0)
            memcpy(copy + strlen(before), text.at, text.len);
        memcpy(copy + strlen(before) + text.len, behind, strlen(behind));
    }
    return bytes_of(copy, len);
}

static void assert_inside(struct bytes b, struct bytes text)
{
    assert(b.len == 0 || (b.at >= text.at && b.at + b.len <= text.at + text.len));
}

static void assert_all_inside(const struct answers *a)
{
    for (size_t i = 0; a->is_set && i < a->set.count; i++) {
        assert_inside(a->set.item[i].name, a->text);
        assert_inside(a->set.item[i].value, a->text);
        assert_inside(a->set.item[i].collate, a->text);
    }
    for (size_t i = 0; a->is_reads && i < a->reads.count; i++)
        assert_inside(a->reads.item[i].name, a->text);
    for (size_t i = 0; a->is_names && i < a->names.count; i++) {
        assert_inside(a->names.item[i].schema, a->text);
        assert_inside(a->names.item[i].name, a->text);
        assert(a->names.item[i].name.len > 0);
    }
    if (a->is_names)
        assert_inside(a->names.body, a->text);
    for (size_t i = 0; a->is_locks && i < a->locks.count; i++)
        assert_inside(a->locks.name[i], a->text);
    size_t done = 0; /* a name ends where or behind where its places do; the others stand apart */
    for (size_t i = 0; a->is_places && i < a->places.count; i++) {
        size_t end = (size_t)a->places.item[i].at + a->places.item[i].len;
        bool name = a->places.item[i].what == SQL_PLACE_NAME;
        assert(a->places.item[i].len > 0 && end <= a->text.len);
        assert((name ? end : a->places.item[i].at) >= done);
        done = end;
    }
}

static void read_all(struct bytes text, uint32_t mode, struct answers *a)
{
    a->text = text;
    a->is_set = sql_set_read(text, mode, &a->set);
    a->is_reads = sql_reads_read(text, mode, &a->reads);
    a->is_ask = sql_ask_read(text, mode, &a->ask);
    a->is_names = sql_names_read(text, mode, &a->names);
    a->is_locks = sql_locks_read(text, mode, &a->locks);
    a->is_places = sql_connection_ids_read(text, mode, &a->places);
    assert(a->is_set + a->is_reads + a->is_names <= 1);
    assert_all_inside(a);
}

static void assert_same_set(const struct sql_set *a, const struct sql_set *b)
{
    assert(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct sql_assignment *x = &a->item[i];
        const struct sql_assignment *y = &b->item[i];
        assert(x->target == y->target && x->kind == y->kind && x->quoted == y->quoted);
        assert(x->once == y->once && bytes_equal(x->name, y->name));
        assert(bytes_equal(x->value, y->value) && bytes_equal(x->collate, y->collate));
    }
}

/* The text may end in a comment to the end of its line, hence the line ends. */
static void try_around(const struct answers *a, uint32_t mode)
{
    static struct answers b;
    struct bytes text = joined("/* ' */ # \"\n", a->text, "\n ;; ");
    if (text.len <= SQL_SIMPLE_MAX_BYTES) {
        read_all(text, mode, &b);
        assert(a->is_set == b.is_set && a->is_reads == b.is_reads && a->is_ask == b.is_ask);
        assert(a->is_names == b.is_names && a->is_locks == b.is_locks);
        assert(a->is_places == b.is_places);
        if (a->is_set)
            assert_same_set(&a->set, &b.set);
    }
    free((void *)text.at);
}

static void try_second_statement(const struct answers *a, uint32_t mode)
{
    static struct answers b;
    struct bytes text = joined("", a->text, "\n; x");
    read_all(text, mode, &b);
    assert(!b.is_set && !b.is_reads && !b.is_ask && !b.is_names);
    free((void *)text.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct answers a;
    if (len < 1)
        return 0;
    uint32_t mode = data[0] & 31;
    struct bytes text = joined("", bytes_of(data + 1, len - 1), "");
    read_all(text, mode, &a);
    try_around(&a, mode);
    try_second_statement(&a, mode);
    free((void *)text.at);
    return 0;
}
