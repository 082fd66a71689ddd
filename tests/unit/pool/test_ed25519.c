/* SPDX-License-Identifier: Apache-2.0
 *
 * The ed25519 reply. The public keys are those that MariaDB 10.11 made of the passwords (IDENTIFIED
 * VIA ed25519 USING PASSWORD(...), then authentication_string of mysql.user, base64 undone). */
#include "pool/ed25519.h"

#include <errno.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
    const char *password;
    uint8_t public_key[32];
} accounts[] = {
    {"Geheim! 42", {0xe6, 0x4a, 0x98, 0x9e, 0xae, 0x1e, 0xc1, 0xd1, 0x4a, 0x47, 0xa1,
                    0xa2, 0x5a, 0xc3, 0x55, 0xeb, 0x0d, 0xbf, 0x47, 0xa5, 0x3c, 0xcb,
                    0xa9, 0x32, 0x6e, 0xf3, 0x5c, 0x64, 0x16, 0x13, 0x96, 0x88}},
    {"0123456789012345678901234567890123456789abc", /* longer than a seed of Ed25519 */
     {0xec, 0xdb, 0x57, 0xa1, 0x23, 0x51, 0x11, 0x87, 0xc8, 0x08, 0xcd,
      0x75, 0xc6, 0x8c, 0xb6, 0x5f, 0x1a, 0xc3, 0xb9, 0x97, 0xcb, 0x37,
      0x5d, 0xe0, 0xf1, 0xfa, 0x80, 0x3f, 0x7b, 0x48, 0x6a, 0x0e}},
};

static bool signature_fits(const uint8_t key[32], const uint8_t *salt, const uint8_t *reply)
{
    EVP_PKEY *public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_non_null(public);
    assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, public), 1);
    int ok = EVP_DigestVerify(ctx, reply, ED25519_REPLY_BYTES, salt, ED25519_SALT_BYTES);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(public);
    return ok == 1;
}

static void without_the_plugin_there_is_no_reply_and_no_crash(void **state)
{
    (void)state;
    uint8_t salt[ED25519_SALT_BYTES] = {0};
    uint8_t reply[ED25519_REPLY_BYTES];
    assert_int_equal(ed25519_reply("x", salt, sizeof salt, reply), -ENOENT);
}

static void a_missing_plugin_is_named(void **state)
{
    (void)state;
    char err[256] = "";
    setenv("MARIADB_PLUGIN_DIR", "/nonexistent", 1);
    assert_true(ed25519_load(err, sizeof err) < 0);
    assert_non_null(strstr(err, "ed25519"));
    unsetenv("MARIADB_PLUGIN_DIR");
}

static void load_or_skip(void)
{
    char err[256] = "";
    if (ed25519_load(err, sizeof err) != 0) {
        print_message("%s\n", err);
        skip();
    }
}

static void the_reply_verifies_under_the_servers_public_key(void **state)
{
    (void)state;
    load_or_skip();
    for (size_t i = 0; i < sizeof accounts / sizeof accounts[0]; i++) {
        uint8_t salt[ED25519_SALT_BYTES];
        uint8_t reply[ED25519_REPLY_BYTES] = {0};
        for (size_t j = 0; j < sizeof salt; j++)
            salt[j] = (uint8_t)(7 * j + i);
        salt[sizeof salt - 1] = 0; /* part of the salt like any other byte */
        assert_int_equal(ed25519_reply(accounts[i].password, salt, sizeof salt, reply), 0);
        assert_true(signature_fits(accounts[i].public_key, salt, reply));
        salt[31] = 1;
        assert_false(signature_fits(accounts[i].public_key, salt, reply));
        assert_int_equal(ed25519_reply("another", salt, sizeof salt, reply), 0);
        assert_false(signature_fits(accounts[i].public_key, salt, reply));
    }
}

static void a_salt_of_another_length_is_refused(void **state)
{
    (void)state;
    load_or_skip();
    uint8_t salt[ED25519_SALT_BYTES + 1] = {0};
    uint8_t reply[ED25519_REPLY_BYTES];
    assert_int_equal(ed25519_reply("x", salt, ED25519_SALT_BYTES - 1, reply), -EINVAL);
    assert_int_equal(ed25519_reply("x", salt, ED25519_SALT_BYTES + 1, reply), -EINVAL);
    assert_int_equal(ed25519_reply("x", salt, 0, reply), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_plugin_there_is_no_reply_and_no_crash),
        cmocka_unit_test(a_missing_plugin_is_named),
        cmocka_unit_test(the_reply_verifies_under_the_servers_public_key),
        cmocka_unit_test(a_salt_of_another_length_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
