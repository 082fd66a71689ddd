/* SPDX-License-Identifier: Apache-2.0
 *
 * See console_rows.h. */
#include "proxy/console_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "proxy/console_text.h"
#include "proxy/session.h"

enum {
    ROW_MAX_BYTES = 32 * 1024, /* the texts of one row */
    OUT_BYTES = 64 * 1024,     /* above the largest row: one fits into an empty buffer */
};

struct console_rows {
    struct session *session;
    const struct mysql_column *columns;
    size_t count;
    struct bytes like;
    uint8_t seq;
    struct bytes value[MYSQL_RESULTSET_COLUMNS_MAX];
    size_t filled; /* of value */
    size_t used;   /* of text */
    size_t waiting;
    char text[ROW_MAX_BYTES];
    uint8_t out[OUT_BYTES];
};

static void flush(struct console_rows *r)
{
    if (r->waiting)
        session_send(r->session, r->out, r->waiting);
    r->waiting = 0;
}

struct console_rows *console_rows_begin(struct session *s, uint8_t seq,
                                        const struct mysql_column *columns, size_t count,
                                        struct bytes like)
{
    struct console_rows *r = xmalloc(sizeof *r);
    r->session = s;
    r->columns = columns;
    r->count = count;
    r->like = like;
    r->seq = seq;
    r->filled = r->used = 0;
    r->waiting =
        mysql_resultset_head(r->out, sizeof r->out, &r->seq, columns, count, session_status(s));
    assert(r->waiting);
    return r;
}

static struct bytes keep(struct console_rows *r, struct bytes text)
{
    size_t room = sizeof r->text - r->used;
    size_t n = text.len < CONSOLE_TEXT_MAX_BYTES ? text.len : CONSOLE_TEXT_MAX_BYTES;
    n = n < room ? n : room;
    while (n < text.len && n && (text.at[n] & 0xC0) == 0x80) /* not in the middle of a character */
        n--;
    if (n)
        memcpy(r->text + r->used, text.at, n);
    struct bytes kept = bytes_of(r->text + r->used, n);
    r->used += n;
    return kept;
}

void console_rows_bytes(struct console_rows *r, struct bytes text)
{
    assert(r->filled < r->count);
    r->value[r->filled++] = text.at ? keep(r, text) : text;
}

void console_rows_text(struct console_rows *r, const char *text)
{
    console_rows_bytes(r, text ? bytes_text(text) : (struct bytes){0});
}

void console_rows_format(struct console_rows *r, const char *format, ...)
{
    char text[CONSOLE_TEXT_MAX_BYTES + 1];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    console_rows_text(r, text);
}

void console_rows_number(struct console_rows *r, uint64_t n)
{
    console_rows_format(r, "%" PRIu64, n);
}

void console_rows_null(struct console_rows *r)
{
    console_rows_bytes(r, (struct bytes){0});
}

static bool is_liked(const struct console_rows *r)
{
    if (!r->like.at)
        return true;
    for (size_t i = 0; i < r->count; i++)
        if (r->columns[i].kind == MYSQL_COLUMN_TEXT && r->value[i].at &&
            console_like(r->value[i], r->like))
            return true;
    return false;
}

void console_rows_next(struct console_rows *r)
{
    assert(r->filled == r->count);
    while (is_liked(r)) {
        size_t wrote = mysql_resultset_row(r->out + r->waiting, sizeof r->out - r->waiting, &r->seq,
                                           r->value, r->count);
        r->waiting += wrote;
        if (wrote)
            break;
        assert(r->waiting);
        flush(r);
    }
    r->filled = r->used = 0;
}

void console_rows_end(struct console_rows *r)
{
    size_t wrote = mysql_resultset_end(r->out + r->waiting, sizeof r->out - r->waiting, &r->seq,
                                       session_status(r->session));
    if (!wrote) {
        flush(r);
        wrote = mysql_resultset_end(r->out, sizeof r->out, &r->seq, session_status(r->session));
    }
    r->waiting += wrote;
    flush(r);
    free(r);
}
