/* SPDX-License-Identifier: Apache-2.0
 *
 * A table on its way to a client of the console: values are added one after the other, a full row
 * goes out when it is ended, unless LIKE leaves it out. Nothing is kept but a buffer's worth. Loop
 * thread only. */
#ifndef SLUICE_PROXY_CONSOLE_ROWS_H
#define SLUICE_PROXY_CONSOLE_ROWS_H

#include "protocol/mysql_resultset.h"
#include "protocol/wire.h"

struct session;
struct console_rows; /* opaque */

/* Begins the answer to the command in hand: sends the columns, which must live until
 * console_rows_end.
 *
 * like  pattern; a row stays when one of its texts matches. `at` NULL: all stay */
struct console_rows *console_rows_begin(struct session *s, uint8_t seq,
                                        const struct mysql_column *columns, size_t count,
                                        struct bytes like);
/* The next value of the row. Texts are copied, and cut to CONSOLE_TEXT_MAX_BYTES. */
enum { CONSOLE_TEXT_MAX_BYTES = 1024 };
void console_rows_bytes(struct console_rows *r, struct bytes text); /* `at` NULL: NULL */
void console_rows_text(struct console_rows *r, const char *text);   /* NULL: NULL */
void console_rows_format(struct console_rows *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void console_rows_number(struct console_rows *r, uint64_t n);
void console_rows_null(struct console_rows *r);
/* All values of it are there. */
void console_rows_next(struct console_rows *r);
/* Sends the rest and frees it. */
void console_rows_end(struct console_rows *r);

#endif
