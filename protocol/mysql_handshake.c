/* SPDX-License-Identifier: Apache-2.0
 *
 * See mysql_handshake.h. ("Connection Phase Packets" of the protocol documentation.) */
#include "protocol/mysql_handshake.h"

#include "protocol/mysql_caps.h"

enum {
    PROTOCOL_VERSION = 10,
    COM_CHANGE_USER = 0x11,
    HEADER_AUTH_SWITCH = 0xFE,
    SALT_PART1_BYTES = 8,
    SALT_PART2_BYTES = MYSQL_SALT_BYTES - SALT_PART1_BYTES, /* on the wire a NUL follows */
    GREETING_RESERVED_BYTES = 10,
    LOGIN_FILLER_BYTES =
        23, /* MariaDB reads its extended flags from the last four: zeros ask for none */
    SSL_REQUEST_BYTES = 32,
    AUTH_SHORT_MAX_BYTES = 255, /* what one byte of length can say */
};

/* For what may stand last: some senders leave out its NUL. */
static struct bytes nul_bytes_or_rest(struct wire_reader *r)
{
    if (wire_left(r) > 0 && memchr(r->at, 0, wire_left(r)))
        return wire_nul_bytes(r);
    return wire_rest(r);
}

enum wire_result mysql_greeting_read(struct bytes payload, struct mysql_greeting *out)
{
    struct wire_reader r = wire_reader(payload);
    struct mysql_greeting g = {0};
    uint8_t protocol = wire_u8(&r);
    g.version = wire_nul_bytes(&r);
    g.connection_id = wire_u32(&r);
    struct bytes part1 = wire_take(&r, SALT_PART1_BYTES);
    (void)wire_u8(&r);
    g.caps = wire_u16(&r);
    g.charset = wire_u8(&r);
    g.status = wire_u16(&r);
    g.caps |= (uint32_t)wire_u16(&r) << 16;
    size_t salt_bytes = wire_u8(&r);
    (void)wire_take(&r, GREETING_RESERVED_BYTES);
    struct bytes part2 = {0};
    if (g.caps & MYSQL_CAP_SECURE_CONNECTION) {
        bool longer = salt_bytes > MYSQL_SALT_BYTES + 1;
        part2 = wire_take(&r, longer ? salt_bytes - SALT_PART1_BYTES : SALT_PART2_BYTES + 1);
    }
    if (g.caps & MYSQL_CAP_PLUGIN_AUTH)
        g.plugin = nul_bytes_or_rest(&r);
    if (r.bad || protocol != PROTOCOL_VERSION)
        return WIRE_BAD;
    memcpy(g.salt, part1.at, SALT_PART1_BYTES);
    if (part2.len > 0)
        memcpy(g.salt + SALT_PART1_BYTES, part2.at, SALT_PART2_BYTES);
    *out = g;
    return WIRE_DONE;
}

void mysql_greeting_write(struct wire_writer *w, const struct mysql_greeting *g)
{
    wire_put_u8(w, PROTOCOL_VERSION);
    wire_put_nul_bytes(w, g->version);
    wire_put_u32(w, g->connection_id);
    wire_put(w, bytes_of(g->salt, SALT_PART1_BYTES));
    wire_put_u8(w, 0);
    wire_put_u16(w, (uint16_t)g->caps);
    wire_put_u8(w, g->charset);
    wire_put_u16(w, g->status);
    wire_put_u16(w, (uint16_t)(g->caps >> 16));
    wire_put_u8(w, g->caps & MYSQL_CAP_PLUGIN_AUTH ? MYSQL_SALT_BYTES + 1 : 0);
    wire_put_zeros(w, GREETING_RESERVED_BYTES);
    if (g->caps & MYSQL_CAP_SECURE_CONNECTION)
        wire_put_nul_bytes(w, bytes_of(g->salt + SALT_PART1_BYTES, SALT_PART2_BYTES));
    if (g->caps & MYSQL_CAP_PLUGIN_AUTH)
        wire_put_nul_bytes(w, g->plugin);
}

/* A login's `auth`: its encoding follows the flags. */
static struct bytes read_auth(struct wire_reader *r, uint32_t caps)
{
    if (caps & MYSQL_CAP_PLUGIN_AUTH_LENENC)
        return wire_lenenc_bytes(r);
    if (caps & MYSQL_CAP_SECURE_CONNECTION)
        return wire_take(r, wire_u8(r));
    return wire_nul_bytes(r);
}

/* In the form of one byte of length, or the older one with a NUL. */
static void write_short_auth(struct wire_writer *w, uint32_t caps, struct bytes auth)
{
    if (!(caps & MYSQL_CAP_SECURE_CONNECTION)) {
        wire_put_nul_bytes(w, auth);
        return;
    }
    if (auth.len > AUTH_SHORT_MAX_BYTES)
        w->full = true;
    wire_put_u8(w, (uint8_t)auth.len);
    wire_put(w, auth);
}

enum wire_result mysql_login_read(struct bytes payload, struct mysql_login *out)
{
    struct wire_reader r = wire_reader(payload);
    struct mysql_login l = {0};
    l.caps = wire_u32(&r);
    l.max_packet_bytes = wire_u32(&r);
    l.charset = wire_u8(&r);
    (void)wire_take(&r, LOGIN_FILLER_BYTES);
    l.ssl_request = (l.caps & MYSQL_CAP_SSL) && payload.len == SSL_REQUEST_BYTES;
    if (!l.ssl_request) {
        l.user = wire_nul_bytes(&r);
        l.auth = read_auth(&r, l.caps);
        if (l.caps & MYSQL_CAP_CONNECT_WITH_DB)
            l.schema = wire_nul_bytes(&r);
        if (l.caps & MYSQL_CAP_PLUGIN_AUTH)
            l.plugin = nul_bytes_or_rest(&r);
        if ((l.caps & MYSQL_CAP_CONNECT_ATTRS) && wire_left(&r) > 0)
            l.attrs = wire_lenenc_bytes(&r);
    }
    if (r.bad || !(l.caps & MYSQL_CAP_PROTOCOL_41) || l.user.len > MYSQL_NAME_MAX_BYTES ||
        l.schema.len > MYSQL_NAME_MAX_BYTES || l.plugin.len > MYSQL_NAME_MAX_BYTES)
        return WIRE_BAD;
    *out = l;
    return WIRE_DONE;
}

void mysql_login_write(struct wire_writer *w, const struct mysql_login *l)
{
    wire_put_u32(w, l->caps);
    wire_put_u32(w, l->max_packet_bytes);
    wire_put_u8(w, l->charset);
    wire_put_zeros(w, LOGIN_FILLER_BYTES);
    if (l->ssl_request)
        return;
    wire_put_nul_bytes(w, l->user);
    if (l->caps & MYSQL_CAP_PLUGIN_AUTH_LENENC)
        wire_put_lenenc_bytes(w, l->auth);
    else
        write_short_auth(w, l->caps, l->auth);
    if (l->caps & MYSQL_CAP_CONNECT_WITH_DB)
        wire_put_nul_bytes(w, l->schema);
    if (l->caps & MYSQL_CAP_PLUGIN_AUTH)
        wire_put_nul_bytes(w, l->plugin);
    if (l->caps & MYSQL_CAP_CONNECT_ATTRS)
        wire_put_lenenc_bytes(w, l->attrs);
}

enum wire_result mysql_auth_switch_read(struct bytes payload, struct mysql_auth_switch *out)
{
    struct wire_reader r = wire_reader(payload);
    uint8_t header = wire_u8(&r);
    struct mysql_auth_switch s = {.plugin = wire_nul_bytes(&r)};
    s.data = wire_rest(&r);
    if (r.bad || header != HEADER_AUTH_SWITCH)
        return WIRE_BAD;
#ifdef SLUICE_PLANT_BUG
    if (s.data.at[s.data.len] == 0) /* to see that the fuzz target finds it */
        return WIRE_BAD;
#endif
    if (s.data.len == MYSQL_SALT_BYTES + 1 && s.data.at[MYSQL_SALT_BYTES] == 0)
        s.data.len = MYSQL_SALT_BYTES;
    if (s.data.len > MYSQL_SALT_MAX_BYTES || s.plugin.len > MYSQL_NAME_MAX_BYTES)
        return WIRE_BAD;
    *out = s;
    return WIRE_DONE;
}

void mysql_auth_switch_write(struct wire_writer *w, const struct mysql_auth_switch *s)
{
    wire_put_u8(w, HEADER_AUTH_SWITCH);
    wire_put_nul_bytes(w, s->plugin);
    wire_put(w, s->data);
    if (s->data.len == MYSQL_SALT_BYTES)
        wire_put_u8(w, 0);
}

enum wire_result mysql_change_user_read(struct bytes payload, uint32_t caps,
                                        struct mysql_change_user *out)
{
    struct wire_reader r = wire_reader(payload);
    struct mysql_change_user c = {0};
    uint8_t command = wire_u8(&r);
    c.user = wire_nul_bytes(&r);
    /* Never length-encoded here, whatever PLUGIN_AUTH_LENENC says. */
    c.auth = read_auth(&r, caps & ~(uint32_t)MYSQL_CAP_PLUGIN_AUTH_LENENC);
    c.schema = wire_nul_bytes(&r);
    if (wire_left(&r) > 0)
        c.charset = wire_u16(&r);
    if (caps & MYSQL_CAP_PLUGIN_AUTH)
        c.plugin = nul_bytes_or_rest(&r);
    if ((caps & MYSQL_CAP_CONNECT_ATTRS) && wire_left(&r) > 0)
        c.attrs = wire_lenenc_bytes(&r);
    if (r.bad || command != COM_CHANGE_USER || c.user.len > MYSQL_NAME_MAX_BYTES ||
        c.schema.len > MYSQL_NAME_MAX_BYTES || c.plugin.len > MYSQL_NAME_MAX_BYTES)
        return WIRE_BAD;
    *out = c;
    return WIRE_DONE;
}

void mysql_change_user_write(struct wire_writer *w, uint32_t caps,
                             const struct mysql_change_user *c)
{
    wire_put_u8(w, COM_CHANGE_USER);
    wire_put_nul_bytes(w, c->user);
    write_short_auth(w, caps, c->auth);
    wire_put_nul_bytes(w, c->schema);
    if (c->charset == 0 && c->plugin.len == 0 && c->attrs.len == 0)
        return; /* the short form, which leaves the server its default charset */
    wire_put_u16(w, c->charset);
    if (caps & MYSQL_CAP_PLUGIN_AUTH)
        wire_put_nul_bytes(w, c->plugin);
    if (caps & MYSQL_CAP_CONNECT_ATTRS)
        wire_put_lenenc_bytes(w, c->attrs);
}
