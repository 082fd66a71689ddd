/* SPDX-License-Identifier: Apache-2.0
 *
 * MariaDB's ed25519 authentication, client side: the signature of the server's 32 byte salt under a
 * key that is made of the password. MariaDB hashes the raw password where Ed25519 has a 32 byte
 * seed, which OpenSSL cannot do, so the connector's own plugin does it. The only file with
 * <mysql.h> besides the prober. No network, no waiting. */
#ifndef SLUICE_POOL_ED25519_H
#define SLUICE_POOL_ED25519_H

#include "protocol/wire.h"

enum {
    ED25519_SALT_BYTES = 32,
    ED25519_REPLY_BYTES = 64,
};

/* Opens the plugin (a shared object: reads the disk). Once, at start, before other threads use
 * this. 0, or negative with a sentence in `err`: the plugin is not installed; ed25519_reply will
 * give -ENOENT then. */
MUST_CHECK int ed25519_load(char *err, size_t err_bytes);

/* password  with NUL
 * salt      as the server sent it, all of it: a NUL at its end is part of it
 *
 * 0 with `reply` filled; -ENOENT without the plugin; -EINVAL when the salt has another length than
 * ED25519_SALT_BYTES; -EPROTO when the plugin fails. Any thread, after ed25519_load. About 0.1 ms.
 */
MUST_CHECK int ed25519_reply(const char *password, const uint8_t *salt, size_t salt_len,
                             uint8_t reply[ED25519_REPLY_BYTES]);

#endif
