/* SPDX-License-Identifier: Apache-2.0
 *
 * Small text results that we send ourselves ("Text Resultset" of the protocol documentation):
 * column definitions, rows, the EOFs around them, with ascending sequence ids, as a server sends
 * them to a client without DEPRECATE_EOF. Whole packets into the caller's buffer, so that he sends
 * as he goes and no result is held whole. Keeps no state but the sequence id: any thread. */
#ifndef SLUICE_PROTOCOL_MYSQL_RESULTSET_H
#define SLUICE_PROTOCOL_MYSQL_RESULTSET_H

#include "protocol/wire.h"

enum {
    MYSQL_RESULTSET_COLUMNS_MAX = 64,
    MYSQL_RESULTSET_HEAD_MAX_BYTES = 8192, /* room for the head of any result below that many
                                              columns with names of up to 80 bytes */
};

enum mysql_column_kind {
    MYSQL_COLUMN_TEXT,   /* VAR_STRING in utf8mb4 */
    MYSQL_COLUMN_NUMBER, /* BIGINT UNSIGNED, so that clients align it, and PHP makes an int of it */
};

struct mysql_column {
    const char *name;
    enum mysql_column_kind kind;
};

/* The number of columns (1..MYSQL_RESULTSET_COLUMNS_MAX), their definitions, and the EOF behind
 * them.
 *
 * seq  of the first packet; advanced over all that were written, unchanged when they do not fit
 *
 * Bytes written, 0 when `room` is too small. */
size_t mysql_resultset_head(uint8_t *out, size_t room, uint8_t *seq,
                            const struct mysql_column *columns, size_t count, uint16_t status);
/* One row; a value whose `at` is NULL is NULL. As above. */
size_t mysql_resultset_row(uint8_t *out, size_t room, uint8_t *seq, const struct bytes *values,
                           size_t count);
/* The EOF behind the last row. As above. */
size_t mysql_resultset_end(uint8_t *out, size_t room, uint8_t *seq, uint16_t status);

#endif
