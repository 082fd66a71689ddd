/* SPDX-License-Identifier: Apache-2.0
 *
 * What passwords become on the wire: mysql_native_password, caching_sha2_password (fast and full
 * authentication), the RSA exchange of the latter, and random bytes ("Authentication Methods" of
 * the MySQL protocol documentation). Everything here computes and returns; nothing waits, and
 * scratch memory that held a secret is wiped. Any thread: the digest context and the random bytes
 * in hand are per thread. No answer tells an empty password from a wrong one: an empty reply is
 * never accepted by a check, callers decide on accounts without a password. */
#ifndef SLUICE_POOL_SCRAMBLE_H
#define SLUICE_POOL_SCRAMBLE_H

#include "protocol/wire.h"

enum {
    SCRAMBLE_SALT_BYTES = 20,
    SCRAMBLE_NATIVE_BYTES = 20,        /* a SHA1: reply, stage 1, stored hash */
    SCRAMBLE_SHA2_BYTES = 32,          /* a SHA256: reply, verifier */
    SCRAMBLE_PASSWORD_MAX_BYTES = 512, /* largest that any of this takes; RSA 2048 takes 213 */
    SCRAMBLE_RSA_MAX_BYTES =
        1024,                   /* ciphertext under a key of 8192 bits, the largest that is taken */
    RSA_KEY_CIPHER_BYTES = 256, /* ciphertext under our own key */
};

/* Cryptographically strong. Aborts when the operating system gives none: there is no safe way on.
 */
void scramble_random(void *out, size_t n);
/* Bytes 1..127 without '$', as servers send: old clients stop at NUL, and '$' separates fields in
 * stored hashes. */
void scramble_salt(uint8_t salt[SCRAMBLE_SALT_BYTES]);

/* mysql_native_password. `stage1` is SHA1(password): as good as the password at a server of this
 * plugin, so a secret. `hash` is SHA1(stage1), what servers store. */
void scramble_native_stage1(struct bytes password, uint8_t stage1[SCRAMBLE_NATIVE_BYTES]);
void scramble_native_hash(struct bytes password, uint8_t hash[SCRAMBLE_NATIVE_BYTES]);
/* Length of the reply: SCRAMBLE_NATIVE_BYTES, or 0 for an empty password. */
size_t scramble_native_reply(struct bytes password, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                             uint8_t reply[SCRAMBLE_NATIVE_BYTES]);
void scramble_native_reply_stage1(const uint8_t stage1[SCRAMBLE_NATIVE_BYTES],
                                  const uint8_t salt[SCRAMBLE_SALT_BYTES],
                                  uint8_t reply[SCRAMBLE_NATIVE_BYTES]);
/* True when `reply` proves the password behind `hash`; then `stage1` is filled, and logs in to
 * servers of this plugin. Otherwise stage1 is zeros. */
MUST_CHECK bool scramble_native_check(struct bytes reply, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                                      const uint8_t hash[SCRAMBLE_NATIVE_BYTES],
                                      uint8_t stage1[SCRAMBLE_NATIVE_BYTES]);
/* Reads "*" and 40 hexadecimal digits of either case, nothing around them. */
MUST_CHECK bool scramble_native_parse(struct bytes text, uint8_t hash[SCRAMBLE_NATIVE_BYTES]);

/* caching_sha2_password, the fast path. The verifier is SHA256(SHA256(password)): it checks a reply
 * but cannot make one. */
void scramble_sha2_verifier(struct bytes password, uint8_t verifier[SCRAMBLE_SHA2_BYTES]);
/* Length of the reply: SCRAMBLE_SHA2_BYTES, or 0 for an empty password. */
size_t scramble_sha2_reply(struct bytes password, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                           uint8_t reply[SCRAMBLE_SHA2_BYTES]);
MUST_CHECK bool scramble_sha2_check(struct bytes reply, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                                    const uint8_t verifier[SCRAMBLE_SHA2_BYTES]);

/* True when both are equal, in a time that depends on n alone. */
MUST_CHECK bool scramble_equal(const void *a, const void *b, size_t n);
/* Wipes memory that held a secret, in a way that the compiler keeps. */
void scramble_wipe(void *at, size_t n);

/* Writes the password and a NUL, each byte XORed with the salt over and over. Bytes written:
 * password.len + 1, or 0 when `room` is smaller than that. */
size_t scramble_xor_password(struct bytes password, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                             uint8_t *out, size_t room);

/* Full authentication at a server over plain TCP: the above under the server's public key, RSA OAEP
 * with SHA1.
 *
 * pem       the server's answer to our request for its key, borrowed; need not end with NUL
 * out       at least SCRAMBLE_RSA_MAX_BYTES of room
 * out_bytes what to send; filled only on 0
 *
 * 0; -EINVAL not a public RSA key, or one above 8192 bits; -EMSGSIZE the password is too long for
 * the key. About 0.4 ms with 2048 bits, most of it reading the PEM. */
MUST_CHECK int scramble_rsa_encrypt(struct bytes pem, struct bytes password,
                                    const uint8_t salt[SCRAMBLE_SALT_BYTES], uint8_t *out,
                                    size_t *out_bytes);

/* Our own key pair, 2048 bits, that clients encrypt their password with. Never changes once made,
 * has no references to count: the owner frees it after the last use. All functions below may run on
 * several threads at once with the same key, in uv_queue_work for one. */
struct rsa_key;

/* Makes a new one. Takes 50 ms to a second: a worker's job, or before the listeners open. NULL on
 * failure. */
struct rsa_key *rsa_key_new(void);
void rsa_key_free(struct rsa_key *key);
/* PEM as servers send it ("-----BEGIN PUBLIC KEY-----"), without a NUL; lives as long as the key.
 */
struct bytes rsa_key_public_pem(const struct rsa_key *key);
/* Takes back what a client made of its password.
 *
 * cipher         as received; anything but RSA_KEY_CIPHER_BYTES is a failure
 * salt           the one that this client was greeted with
 * password       room for RSA_KEY_CIPHER_BYTES; a secret, the caller wipes it; ends with a NUL that
 * is not counted; all zeros on failure password_bytes filled only on true
 *
 * False for any failure, whatever it was (length, padding, a NUL within or none at the end):
 * telling them apart, by word or by time, would give an oracle to whoever has recorded an exchange.
 * About 1 ms: a worker's job when busy. */
MUST_CHECK bool rsa_key_decrypt_password(const struct rsa_key *key, struct bytes cipher,
                                         const uint8_t salt[SCRAMBLE_SALT_BYTES],
                                         char password[RSA_KEY_CIPHER_BYTES],
                                         size_t *password_bytes);

#endif
