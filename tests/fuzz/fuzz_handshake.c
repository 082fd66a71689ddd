/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target for mysql_handshake. Input: one byte that picks the payload, four of capability flags
 * (for COM_CHANGE_USER), the payload. Properties: no read outside the bytes given (an exact copy on
 * the heap); what is written from what was read reads the same. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/mysql_caps.h"
#include "protocol/mysql_handshake.h"

enum { ROOM = 1 << 17 };

static uint8_t raw[ROOM];

static void try_greeting(struct bytes payload)
{
    struct mysql_greeting g, back;
    if (mysql_greeting_read(payload, &g) != WIRE_DONE)
        return;
    struct wire_writer w = wire_writer(raw, ROOM);
    mysql_greeting_write(&w, &g);
    assert(mysql_greeting_read(bytes_of(raw, wire_written(&w)), &back) == WIRE_DONE);
    assert(bytes_equal(back.version, g.version) && bytes_equal(back.plugin, g.plugin));
    assert(back.connection_id == g.connection_id && back.caps == g.caps);
    assert(back.charset == g.charset && back.status == g.status);
    assert(memcmp(back.salt, g.salt, MYSQL_SALT_BYTES) == 0);
}

static void try_login(struct bytes payload)
{
    struct mysql_login l, back;
    if (mysql_login_read(payload, &l) != WIRE_DONE)
        return;
    assert(l.user.len <= MYSQL_NAME_MAX_BYTES && l.schema.len <= MYSQL_NAME_MAX_BYTES);
    struct wire_writer w = wire_writer(raw, ROOM);
    mysql_login_write(&w, &l);
    assert(mysql_login_read(bytes_of(raw, wire_written(&w)), &back) == WIRE_DONE);
    assert(back.caps == l.caps && back.max_packet_bytes == l.max_packet_bytes);
    assert(back.charset == l.charset && back.ssl_request == l.ssl_request);
    assert(bytes_equal(back.user, l.user) && bytes_equal(back.auth, l.auth));
    assert(bytes_equal(back.schema, l.schema) && bytes_equal(back.plugin, l.plugin));
    assert(bytes_equal(back.attrs, l.attrs));
}

static void try_auth_switch(struct bytes payload)
{
    struct mysql_auth_switch s, back;
    if (mysql_auth_switch_read(payload, &s) != WIRE_DONE)
        return;
    assert(s.data.len <= MYSQL_SALT_MAX_BYTES);
    struct wire_writer w = wire_writer(raw, ROOM);
    mysql_auth_switch_write(&w, &s);
    assert(mysql_auth_switch_read(bytes_of(raw, wire_written(&w)), &back) == WIRE_DONE);
    assert(bytes_equal(back.plugin, s.plugin) && bytes_equal(back.data, s.data));
}

static void try_change_user(struct bytes payload, uint32_t caps)
{
    struct mysql_change_user c, back;
    if (mysql_change_user_read(payload, caps, &c) != WIRE_DONE)
        return;
    struct wire_writer w = wire_writer(raw, ROOM);
    mysql_change_user_write(&w, caps, &c);
    assert(mysql_change_user_read(bytes_of(raw, wire_written(&w)), caps, &back) == WIRE_DONE);
    assert(bytes_equal(back.user, c.user) && bytes_equal(back.auth, c.auth));
    assert(bytes_equal(back.schema, c.schema) && back.charset == c.charset);
    assert(bytes_equal(back.plugin, c.plugin) && bytes_equal(back.attrs, c.attrs));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { PREFIX_BYTES = 5 };
    if (size < PREFIX_BYTES || size > ROOM / 2)
        return 0;
    struct wire_reader r = wire_reader(bytes_of(data, PREFIX_BYTES));
    uint8_t pick = wire_u8(&r);
    uint32_t caps = wire_u32(&r);
    struct bytes payload = bytes_of(NULL, size - PREFIX_BYTES);
    uint8_t *copy = malloc(payload.len);
    assert(copy);
    memcpy(copy, data + PREFIX_BYTES, payload.len);
    payload.at = copy;
    switch (pick % 4) {
    case 0:
        try_greeting(payload);
        break;
    case 1:
        try_login(payload);
        break;
    case 2:
        try_auth_switch(payload);
        break;
    case 3:
        try_change_user(payload, caps);
        break;
    }
    free(copy);
    return 0;
}
