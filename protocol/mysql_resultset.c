/* SPDX-License-Identifier: Apache-2.0
 *
 * "Text Resultset", "Column Definition" of the protocol documentation. Any thread. */
#include "protocol/mysql_resultset.h"

#include <assert.h>

#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"

enum {
    HEADER_NULL = 0xFB,
    DEFINITION_FIXED_BYTES = 12, /* all behind the names */
    TYPE_BIGINT = 8,
    TYPE_VAR_STRING = 253,
    CHARSET_BINARY = 63,
    CHARSET_UTF8MB4 = 45, /* utf8mb4_general_ci, the same number on both servers */
    FLAG_UNSIGNED = 32,
    FLAG_BINARY = 128,
    FLAG_NUMBER = 32768,
    TEXT_WIDTH_BYTES = 4 * 1024, /* what is said to be the longest */
    NUMBER_WIDTH_BYTES = 20,
};

static size_t put_count(uint8_t *out, size_t room, uint8_t seq, size_t count)
{
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_lenenc(&w, count);
    return mysql_packet_end(&w, begin, seq);
}

static size_t put_definition(uint8_t *out, size_t room, uint8_t seq,
                             const struct mysql_column *column)
{
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    bool number = column->kind == MYSQL_COLUMN_NUMBER;
    wire_put_lenenc_bytes(&w, bytes_text("def"));
    wire_put_zeros(&w, 3); /* schema, table and the table's own name: it comes from none */
    wire_put_lenenc_bytes(&w, bytes_text(column->name));
    wire_put_zeros(&w, 1);
    wire_put_lenenc(&w, DEFINITION_FIXED_BYTES);
    wire_put_u16(&w, number ? CHARSET_BINARY : CHARSET_UTF8MB4);
    wire_put_u32(&w, number ? NUMBER_WIDTH_BYTES : TEXT_WIDTH_BYTES);
    wire_put_u8(&w, number ? TYPE_BIGINT : TYPE_VAR_STRING);
    wire_put_u16(&w, number ? FLAG_UNSIGNED | FLAG_BINARY | FLAG_NUMBER : 0);
    wire_put_u8(&w, 0); /* decimals */
    wire_put_zeros(&w, 2);
    return mysql_packet_end(&w, begin, seq);
}

size_t mysql_resultset_head(uint8_t *out, size_t room, uint8_t *seq,
                            const struct mysql_column *columns, size_t count, uint16_t status)
{
    assert(count > 0 && count <= MYSQL_RESULTSET_COLUMNS_MAX);
    uint8_t next = *seq;
    size_t wrote = put_count(out, room, next++, count);
    size_t len = wrote;
    for (size_t i = 0; i < count && wrote; i++) {
        wrote = put_definition(out + len, room - len, next++, &columns[i]);
        len += wrote;
    }
    if (wrote) {
        wrote = mysql_eof_packet(out + len, room - len, next++, status, 0);
        len += wrote;
    }
    if (!wrote)
        return 0;
    *seq = next;
    return len;
}

size_t mysql_resultset_row(uint8_t *out, size_t room, uint8_t *seq, const struct bytes *values,
                           size_t count)
{
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    for (size_t i = 0; i < count; i++)
        if (values[i].at)
            wire_put_lenenc_bytes(&w, values[i]);
        else
            wire_put_u8(&w, HEADER_NULL);
    size_t wrote = mysql_packet_end(&w, begin, *seq);
    if (wrote)
        (*seq)++;
    return wrote;
}

size_t mysql_resultset_end(uint8_t *out, size_t room, uint8_t *seq, uint16_t status)
{
    size_t wrote = mysql_eof_packet(out, room, *seq, status, 0);
    if (wrote)
        (*seq)++;
    return wrote;
}
