/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target for sql_scan. Input: one byte of mode, one that chooses the cuts, then the text.
 * Properties: cutting the text differently changes nothing (each piece is an exact copy on the
 * heap); neither does space around it, nor the case of its letters; the parts of the answer agree
 * with each other. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/sql_scan.h"

static void feed_copy(struct sql_scan *s, const uint8_t *at, size_t len)
{
    uint8_t *copy = malloc(len);
    assert(copy || len == 0);
    if (len > 0)
        memcpy(copy, at, len);
    sql_scan_feed(s, bytes_of(copy, len));
    free(copy);
}

/* Pieces of 1 .. `most` bytes, chosen by `seed`; 0: whole. */
static struct sql_scan scan_cut(struct bytes text, uint32_t mode, size_t most, uint32_t seed)
{
    struct sql_scan s;
    sql_scan_begin(&s, mode);
    for (size_t done = 0; done < text.len;) {
        seed = seed * 1664525u + 1013904223u;
        size_t len = most == 0 ? text.len : 1 + (seed >> 16) % most;
        if (len > text.len - done)
            len = text.len - done;
        feed_copy(&s, text.at + done, len);
        done += len;
    }
    sql_scan_end(&s);
    return s;
}

static void assert_same(const struct sql_scan *a, const struct sql_scan *b)
{
    assert(a->kind == b->kind && a->kinds == b->kinds && a->flags == b->flags);
    assert(a->kill_id == b->kill_id && a->kill_query == b->kill_query);
    assert(strcmp(a->names_charset, b->names_charset) == 0);
    assert(strcmp(a->names_collation, b->names_collation) == 0);
}

static void try_cuts(struct bytes text, uint32_t mode, uint8_t choice, const struct sql_scan *whole)
{
    struct sql_scan bytewise = scan_cut(text, mode, 1, 0);
    struct sql_scan pieces = scan_cut(text, mode, 2 + choice % 30, choice);
    assert_same(whole, &bytewise);
    assert_same(whole, &pieces);
}

static void try_space_around(struct bytes text, uint32_t mode, const struct sql_scan *whole)
{
    struct sql_scan s;
    sql_scan_begin(&s, mode);
    sql_scan_feed(&s, bytes_text(" \t\n"));
    sql_scan_feed(&s, text);
    sql_scan_feed(&s, bytes_text("\r\n "));
    sql_scan_end(&s);
    assert_same(whole, &s);
}

/* Only the M of an executable comment of MariaDB has a case. */
static void try_other_case(struct bytes text, uint32_t mode, const struct sql_scan *whole)
{
    if (text.len == 0 || memchr(text.at, 'M', text.len) || memchr(text.at, 'm', text.len))
        return;
    uint8_t *copy = malloc(text.len);
    assert(copy);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        copy[i] = letter ? c ^ 0x20 : c;
    }
    struct sql_scan s = scan_cut(bytes_of(copy, text.len), mode, 0, 0);
    free(copy);
    assert_same(whole, &s);
}

static void check_answer(const struct sql_scan *s)
{
    assert((s->kinds >> s->kind & 1) != 0);
    assert((s->kinds & 1u << SQL_EMPTY) == 0 || s->kinds == 1u << SQL_EMPTY);
    assert((s->flags & SQL_F_MULTI) == 0 || s->kind != SQL_EMPTY);
    if ((s->flags & SQL_F_SET_ONLY_NAMES) != 0)
        assert(s->flags == SQL_F_SET_ONLY_NAMES && s->kinds == 1u << SQL_SET &&
               s->names_charset[0]);
    if ((s->flags & SQL_F_USE_ONLY) != 0)
        assert((s->flags & ~SQL_F_TOO_LONG) == SQL_F_USE_ONLY && s->kinds == 1u << SQL_USE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 2)
        return 0;
    uint32_t mode = data[0] & 31;
    struct bytes text = bytes_of(data + 2, len - 2);
    struct sql_scan whole = scan_cut(text, mode, 0, 0);
    check_answer(&whole);
    try_cuts(text, mode, data[1], &whole);
    try_space_around(text, mode, &whole);
    try_other_case(text, mode, &whole);
    return 0;
}
