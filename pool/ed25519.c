/* SPDX-License-Identifier: Apache-2.0
 *
 * See ed25519.h. The connector's plugin is called through its authentication interface with a
 * connection made of memory: "reading a packet" gives the salt, "writing one" keeps the signature.
 * <mysql/client_plugin.h> is not included: as packaged it needs a header that no package has
 * (ma_compress.h). The two things needed of it are declared below by means of <mysql.h> and
 * <mysql/plugin_auth.h>, which do compile. */
#include "pool/ed25519.h"

#include <errno.h>
#include <mysql.h>
#include <mysql/plugin_auth.h>
#include <stdio.h>

enum { CLIENT_AUTHENTICATION_PLUGIN = 2, CLIENT_AUTHENTICATION_INTERFACE_MAJOR = 1 };

/* The connector's struct st_mysql_client_plugin_AUTHENTICATION. */
struct authentication_plugin {
    MYSQL_CLIENT_PLUGIN_HEADER
    int (*authenticate_user)(MYSQL_PLUGIN_VIO *vio, MYSQL *mysql);
};

static const struct authentication_plugin *plugin; /* set by ed25519_load, then only read */

/* The connection that the plugin sees. First member: the plugin hands its address back. */
struct memory_vio {
    MYSQL_PLUGIN_VIO vio;
    uint8_t salt[ED25519_SALT_BYTES];
    uint8_t *reply;
    bool replied;
};

static int on_read_packet(MYSQL_PLUGIN_VIO *vio, unsigned char **packet)
{
    struct memory_vio *m = (struct memory_vio *)vio;
    *packet = m->salt;
    return sizeof m->salt;
}

static int on_write_packet(MYSQL_PLUGIN_VIO *vio, const unsigned char *packet, int len)
{
    struct memory_vio *m = (struct memory_vio *)vio;
    if (len != ED25519_REPLY_BYTES || m->replied)
        return 1;
    memcpy(m->reply, packet, ED25519_REPLY_BYTES);
    m->replied = true;
    return 0;
}

static void on_info(MYSQL_PLUGIN_VIO *vio, MYSQL_PLUGIN_VIO_INFO *info)
{
    (void)vio;
    *info = (MYSQL_PLUGIN_VIO_INFO){.protocol = MYSQL_VIO_MEMORY};
}

int ed25519_load(char *err, size_t err_bytes)
{
    MYSQL mysql;
    if (!mysql_init(&mysql)) {
        snprintf(err, err_bytes, "ed25519: no memory");
        return -ENOMEM;
    }
    struct st_mysql_client_plugin *found =
        mysql_client_find_plugin(&mysql, "client_ed25519", CLIENT_AUTHENTICATION_PLUGIN);
    int result = 0;
    if (!found) {
        snprintf(err, err_bytes, "ed25519: %s", mysql_error(&mysql));
        result = -ENOENT;
    } else if (found->interface_version >> 8 != CLIENT_AUTHENTICATION_INTERFACE_MAJOR) {
        snprintf(err, err_bytes, "ed25519: the plugin has interface version 0x%x",
                 found->interface_version);
        result = -ENOENT;
    } else {
        plugin = (const struct authentication_plugin *)found;
    }
    mysql_close(&mysql);
    return result;
}

int ed25519_reply(const char *password, const uint8_t *salt, size_t salt_len,
                  uint8_t reply[ED25519_REPLY_BYTES])
{
    if (!plugin)
        return -ENOENT;
    if (salt_len != ED25519_SALT_BYTES)
        return -EINVAL;
    struct memory_vio m = {
        .vio = {.read_packet = on_read_packet, .write_packet = on_write_packet, .info = on_info},
        .reply = reply,
    };
    memcpy(m.salt, salt, sizeof m.salt);
    MYSQL mysql;
    if (!mysql_init(&mysql))
        return -ENOMEM;
    mysql.passwd = (char *)password; /* the plugin's only way to it; it reads it */
    int result = plugin->authenticate_user(&m.vio, &mysql);
    mysql.passwd = NULL; /* or closing frees what is not its own */
    mysql_close(&mysql);
    return result == CR_OK && m.replied ? 0 : -EPROTO;
}
