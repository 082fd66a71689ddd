/* SPDX-License-Identifier: Apache-2.0
 *
 * Scrambles against vectors that were computed with Python's hashlib from the protocol's formulas.
 */
#include "pool/scramble.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t salt[SCRAMBLE_SALT_BYTES] = "ABCDEFGHIJKLMNOPQRST";
static const char native_stored[] = "*90BE3C2682EBF3427EDA20315D6EAB9E31FD1023"; /* of apppass */
static struct rsa_key *key; /* one for all: making it is slow */

static void unhex(const char *hex, uint8_t *out)
{
    for (size_t i = 0; hex[2 * i]; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
}

static void assert_hex(const uint8_t *got, size_t n, const char *hex)
{
    uint8_t expected[64];
    assert_int_equal(strlen(hex), 2 * n);
    unhex(hex, expected);
    assert_memory_equal(got, expected, n);
}

static struct bytes long_password(void)
{
    static char text[201];
    memset(text, 'x', 200);
    return bytes_text(text);
}

static void native_replies_are_those_of_the_formula(void **state)
{
    (void)state;
    struct bytes password = bytes_text("apppass");
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    uint8_t out[SCRAMBLE_NATIVE_BYTES];
    scramble_native_stage1(password, stage1);
    assert_hex(stage1, sizeof stage1, "9c1f0f771f8a32f2476c6ed3171d75cbd84d286f");
    scramble_native_hash(password, out);
    assert_hex(out, sizeof out, "90be3c2682ebf3427eda20315d6eab9e31fd1023");
    assert_int_equal(scramble_native_reply(password, salt, out), SCRAMBLE_NATIVE_BYTES);
    assert_hex(out, sizeof out, "d8dec9eda390da8cd7127074b88adf80be54020e");
    memset(out, 0, sizeof out);
    scramble_native_reply_stage1(stage1, salt, out);
    assert_hex(out, sizeof out, "d8dec9eda390da8cd7127074b88adf80be54020e");
    assert_int_equal(scramble_native_reply(long_password(), salt, out), SCRAMBLE_NATIVE_BYTES);
    assert_hex(out, sizeof out, "5b643e60bebf778201f7aabb82964b6c7f0eae09");
}

static void an_empty_password_has_an_empty_reply(void **state)
{
    (void)state;
    uint8_t out[SCRAMBLE_SHA2_BYTES];
    assert_int_equal(scramble_native_reply(bytes_text(""), salt, out), 0);
    assert_int_equal(scramble_native_reply((struct bytes){0}, salt, out), 0);
    assert_int_equal(scramble_sha2_reply(bytes_text(""), salt, out), 0);
}

static void a_native_reply_is_accepted_and_gives_what_logs_in_elsewhere(void **state)
{
    (void)state;
    uint8_t hash[SCRAMBLE_NATIVE_BYTES];
    uint8_t reply[SCRAMBLE_NATIVE_BYTES];
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    assert_true(scramble_native_parse(bytes_text(native_stored), hash));
    scramble_native_reply(bytes_text("apppass"), salt, reply);
    assert_true(scramble_native_check(bytes_of(reply, sizeof reply), salt, hash, stage1));
    assert_hex(stage1, sizeof stage1, "9c1f0f771f8a32f2476c6ed3171d75cbd84d286f");
}

static void a_wrong_native_reply_gives_nothing(void **state)
{
    (void)state;
    static const uint8_t zeros[SCRAMBLE_NATIVE_BYTES];
    uint8_t hash[SCRAMBLE_NATIVE_BYTES];
    uint8_t reply[SCRAMBLE_NATIVE_BYTES + 1] = {0};
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    scramble_native_hash(bytes_text("apppass"), hash);
    scramble_native_reply(bytes_text("apppass"), salt, reply);
    for (size_t len = 0; len <= sizeof reply; len++) {
        if (len != SCRAMBLE_NATIVE_BYTES)
            assert_false(scramble_native_check(bytes_of(reply, len), salt, hash, stage1));
    }
    for (size_t i = 0; i < SCRAMBLE_NATIVE_BYTES; i++) {
        reply[i] ^= 0x10;
        memset(stage1, 0xFF, sizeof stage1);
        assert_false(
            scramble_native_check(bytes_of(reply, SCRAMBLE_NATIVE_BYTES), salt, hash, stage1));
        assert_memory_equal(stage1, zeros, sizeof zeros);
        reply[i] ^= 0x10;
    }
}

static void only_a_star_and_forty_digits_are_a_stored_hash(void **state)
{
    (void)state;
    uint8_t hash[SCRAMBLE_NATIVE_BYTES];
    assert_true(
        scramble_native_parse(bytes_text("*90be3c2682ebf3427eda20315d6eab9e31fd1023"), hash));
    assert_hex(hash, sizeof hash, "90be3c2682ebf3427eda20315d6eab9e31fd1023");
    for (size_t len = 0; len < sizeof native_stored - 1; len++)
        assert_false(scramble_native_parse(bytes_of(native_stored, len), hash));
    assert_false(scramble_native_parse(bytes_of(native_stored, sizeof native_stored), hash));
    char broken[sizeof native_stored];
    for (size_t i = 0; i < sizeof native_stored - 1; i++) {
        memcpy(broken, native_stored, sizeof broken);
        broken[i] = i % 2 ? 'G' : '/';
        assert_false(scramble_native_parse(bytes_text(broken), hash));
    }
}

static void sha2_replies_are_those_of_the_formula(void **state)
{
    (void)state;
    uint8_t out[SCRAMBLE_SHA2_BYTES];
    scramble_sha2_verifier(bytes_text("apppass"), out);
    assert_hex(out, sizeof out, "64d59bdef4c83eb72e37c91eea01dfaa9e82d0176e681e9c0dfeca19acf7557f");
    assert_int_equal(scramble_sha2_reply(bytes_text("apppass"), salt, out), SCRAMBLE_SHA2_BYTES);
    assert_hex(out, sizeof out, "cc729ea0541a5a70ccb05ba2c3f7dc643e0c163bbcf31808626f3901d0f6b147");
    assert_int_equal(scramble_sha2_reply(long_password(), salt, out), SCRAMBLE_SHA2_BYTES);
    assert_hex(out, sizeof out, "a5815e68ae5dc2b0273a1ad5ee192b60c0179cb52d96f14d5e4ffa59f55e7109");
}

static void a_sha2_reply_is_accepted_and_any_changed_one_is_not(void **state)
{
    (void)state;
    uint8_t verifier[SCRAMBLE_SHA2_BYTES];
    uint8_t reply[SCRAMBLE_SHA2_BYTES + 1] = {0};
    scramble_sha2_verifier(bytes_text("apppass"), verifier);
    scramble_sha2_reply(bytes_text("apppass"), salt, reply);
    for (size_t len = 0; len <= sizeof reply; len++)
        assert_int_equal(scramble_sha2_check(bytes_of(reply, len), salt, verifier),
                         len == SCRAMBLE_SHA2_BYTES);
    for (size_t i = 0; i < SCRAMBLE_SHA2_BYTES; i++) {
        reply[i] ^= 1;
        assert_false(scramble_sha2_check(bytes_of(reply, SCRAMBLE_SHA2_BYTES), salt, verifier));
        reply[i] ^= 1;
    }
    uint8_t other[SCRAMBLE_SALT_BYTES] = "ABCDEFGHIJKLMNOPQRSU";
    assert_false(scramble_sha2_check(bytes_of(reply, SCRAMBLE_SHA2_BYTES), other, verifier));
}

static void a_salt_has_no_nul_no_dollar_and_no_high_bit(void **state)
{
    (void)state;
    bool seen[256] = {false};
    for (int round = 0; round < 2000; round++) {
        uint8_t made[SCRAMBLE_SALT_BYTES];
        scramble_salt(made);
        for (size_t i = 0; i < sizeof made; i++)
            seen[made[i]] = true;
    }
    for (int i = 0; i < 256; i++)
        assert_int_equal(seen[i], i > 0 && i < 128 && i != '$');
}

static void random_bytes_of_any_length_do_not_repeat(void **state)
{
    (void)state;
    static uint8_t a[10000];
    static uint8_t b[10000];
    static const size_t lengths[] = {16, 1000, 4096, 4097, 10000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        scramble_random(a, lengths[i]);
        scramble_random(b, lengths[i]);
        assert_memory_not_equal(a, b, 16);
        assert_memory_not_equal(a, b, lengths[i]);
        assert_memory_not_equal(a + lengths[i] - 16, b + lengths[i] - 16, 16);
    }
}

static void a_fork_does_not_share_random_bytes(void **state)
{
    (void)state;
    uint8_t ours[32];
    uint8_t theirs[32];
    int pipe_fds[2];
    scramble_random(ours, 1); /* there are bytes in hand */
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        scramble_random(theirs, sizeof theirs);
        _exit(write(pipe_fds[1], theirs, sizeof theirs) == sizeof theirs ? 0 : 1);
    }
    scramble_random(ours, sizeof ours);
    assert_int_equal(read(pipe_fds[0], theirs, sizeof theirs), sizeof theirs);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    assert_memory_not_equal(ours, theirs, sizeof ours);
}

static void the_xored_password_ends_with_its_nul_and_fits_or_is_not_written(void **state)
{
    (void)state;
    uint8_t out[8];
    assert_int_equal(scramble_xor_password(bytes_text("apppass"), salt, out, sizeof out), 8);
    assert_hex(out, 8, "2032333424353448");
    assert_int_equal(scramble_xor_password(bytes_text("apppass"), salt, out, 7), 0);
    assert_int_equal(scramble_xor_password(bytes_text(""), salt, out, sizeof out), 1);
    assert_hex(out, 1, "41");
    assert_int_equal(scramble_xor_password(bytes_text(""), salt, out, 0), 0);
}

static void a_password_comes_back_from_rsa(void **state)
{
    (void)state;
    char text[214];
    for (size_t len = 0; len <= 213; len += len < 3 || len > 210 ? 1 : 30) {
        memset(text, 'p', len);
        uint8_t cipher[SCRAMBLE_RSA_MAX_BYTES];
        size_t cipher_bytes = 0;
        char back[RSA_KEY_CIPHER_BYTES];
        size_t back_bytes = 999;
        assert_int_equal(scramble_rsa_encrypt(rsa_key_public_pem(key), bytes_of(text, len), salt,
                                              cipher, &cipher_bytes),
                         0);
        assert_int_equal(cipher_bytes, RSA_KEY_CIPHER_BYTES);
        assert_true(
            rsa_key_decrypt_password(key, bytes_of(cipher, cipher_bytes), salt, back, &back_bytes));
        assert_int_equal(back_bytes, len);
        assert_memory_equal(back, text, len);
        assert_int_equal(back[len], 0);
    }
}

static void a_password_beyond_the_key_is_refused(void **state)
{
    (void)state;
    uint8_t cipher[SCRAMBLE_RSA_MAX_BYTES];
    size_t n = 0;
    char text[600];
    memset(text, 'p', sizeof text);
    struct bytes pem = rsa_key_public_pem(key);
    assert_int_equal(scramble_rsa_encrypt(pem, bytes_of(text, 214), salt, cipher, &n), -EMSGSIZE);
    assert_int_equal(scramble_rsa_encrypt(pem, bytes_of(text, 600), salt, cipher, &n), -EMSGSIZE);
}

static void what_is_no_rsa_key_is_refused(void **state)
{
    (void)state;
    uint8_t cipher[SCRAMBLE_RSA_MAX_BYTES];
    size_t n = 0;
    struct bytes password = bytes_text("x");
    struct bytes pem = rsa_key_public_pem(key);
    for (size_t len = 0; len + 30 < pem.len; len += 7)
        assert_int_equal(scramble_rsa_encrypt(bytes_of(pem.at, len), password, salt, cipher, &n),
                         -EINVAL);
    assert_int_equal(scramble_rsa_encrypt(bytes_text("hello"), password, salt, cipher, &n),
                     -EINVAL);
    EVP_PKEY *ec = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    assert_true(PEM_write_bio_PUBKEY(bio, ec));
    long len = BIO_get_mem_data(bio, &text);
    assert_int_equal(scramble_rsa_encrypt(bytes_of(text, (size_t)len), password, salt, cipher, &n),
                     -EINVAL);
    BIO_free(bio);
    EVP_PKEY_free(ec);
}

static void assert_decrypt_fails(struct bytes cipher, const uint8_t *with_salt)
{
    static const char zeros[RSA_KEY_CIPHER_BYTES];
    char back[RSA_KEY_CIPHER_BYTES];
    size_t n;
    memset(back, 'z', sizeof back);
    assert_false(rsa_key_decrypt_password(key, cipher, with_salt, back, &n));
    assert_memory_equal(back, zeros, sizeof back);
}

static void every_broken_ciphertext_fails_alike(void **state)
{
    (void)state;
    uint8_t cipher[SCRAMBLE_RSA_MAX_BYTES] = {0};
    size_t n = 0;
    assert_int_equal(
        scramble_rsa_encrypt(rsa_key_public_pem(key), bytes_text("apppass"), salt, cipher, &n), 0);
    for (size_t len = 0; len < n; len += 51)
        assert_decrypt_fails(bytes_of(cipher, len), salt);
    assert_decrypt_fails(bytes_of(cipher, n - 1), salt);
    assert_decrypt_fails(bytes_of(cipher, n + 1), salt);
    cipher[100] ^= 1;
    assert_decrypt_fails(bytes_of(cipher, n), salt);
    cipher[100] ^= 1;
    uint8_t other[SCRAMBLE_SALT_BYTES] = "BBCDEFGIIJKLMNOPQRST"; /* another where the NUL is */
    assert_decrypt_fails(bytes_of(cipher, n), other);
    memset(cipher, 0xFF, n); /* above the modulus */
    assert_decrypt_fails(bytes_of(cipher, n), salt);
    static const char inner_nul[] = "app\0ss";
    assert_int_equal(
        scramble_rsa_encrypt(rsa_key_public_pem(key), bytes_of(inner_nul, 6), salt, cipher, &n), 0);
    assert_decrypt_fails(bytes_of(cipher, n), salt);
}

static void the_public_key_is_what_clients_read(void **state)
{
    (void)state;
    struct bytes pem = rsa_key_public_pem(key);
    static const char head[] = "-----BEGIN PUBLIC KEY-----\n";
    assert_memory_equal(pem.at, head, sizeof head - 1);
    assert_int_equal(pem.at[pem.len - 1], '\n');
    assert_true(pem.len < 500);
}

static void *decrypt_many(void *arg)
{
    struct bytes *cipher = arg;
    for (int i = 0; i < 50; i++) {
        char back[RSA_KEY_CIPHER_BYTES];
        size_t n = 0;
        uint8_t made[SCRAMBLE_SALT_BYTES];
        scramble_salt(made);
        if (!rsa_key_decrypt_password(key, *cipher, salt, back, &n) || n != 7)
            return "failed";
    }
    return NULL;
}

static void threads_share_one_key(void **state)
{
    (void)state;
    uint8_t cipher[SCRAMBLE_RSA_MAX_BYTES];
    size_t n = 0;
    pthread_t threads[4];
    assert_int_equal(
        scramble_rsa_encrypt(rsa_key_public_pem(key), bytes_text("apppass"), salt, cipher, &n), 0);
    struct bytes message = bytes_of(cipher, n);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decrypt_many, &message), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

static int make_key(void **state)
{
    (void)state;
    key = rsa_key_new();
    return key ? 0 : -1;
}

static int free_key(void **state)
{
    (void)state;
    rsa_key_free(key);
    rsa_key_free(NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_replies_are_those_of_the_formula),
        cmocka_unit_test(an_empty_password_has_an_empty_reply),
        cmocka_unit_test(a_native_reply_is_accepted_and_gives_what_logs_in_elsewhere),
        cmocka_unit_test(a_wrong_native_reply_gives_nothing),
        cmocka_unit_test(only_a_star_and_forty_digits_are_a_stored_hash),
        cmocka_unit_test(sha2_replies_are_those_of_the_formula),
        cmocka_unit_test(a_sha2_reply_is_accepted_and_any_changed_one_is_not),
        cmocka_unit_test(a_salt_has_no_nul_no_dollar_and_no_high_bit),
        cmocka_unit_test(random_bytes_of_any_length_do_not_repeat),
        cmocka_unit_test(a_fork_does_not_share_random_bytes),
        cmocka_unit_test(the_xored_password_ends_with_its_nul_and_fits_or_is_not_written),
        cmocka_unit_test(a_password_comes_back_from_rsa),
        cmocka_unit_test(a_password_beyond_the_key_is_refused),
        cmocka_unit_test(what_is_no_rsa_key_is_refused),
        cmocka_unit_test(every_broken_ciphertext_fails_alike),
        cmocka_unit_test(the_public_key_is_what_clients_read),
        cmocka_unit_test(threads_share_one_key),
    };
    return cmocka_run_group_tests(tests, make_key, free_key);
}
