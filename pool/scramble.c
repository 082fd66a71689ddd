/* SPDX-License-Identifier: Apache-2.0
 *
 * See scramble.h. Costs: a SHA256 of a salt and a hash is 0.1 us with a fetched EVP_MD and a
 * context that is kept (four times as much through SHA256(), which fetches by name each time). Any
 * thread. */
#include "pool/scramble.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RANDOM_POOL_BYTES = 4096,
    RSA_KEY_BITS = 2048,
    PEM_MAX_BYTES = 65536,
    RSA_BITS_MAX = 8 * SCRAMBLE_RSA_MAX_BYTES,
};

/* What a thread keeps: contexts that are always initialised, so that no digest of a secret stays in
 * them, and random bytes in hand. */
struct thread_state {
    EVP_MD_CTX *sha1;
    EVP_MD_CTX *sha256;
    size_t random_left; /* the last so many bytes of `random` were not given out yet */
    uint8_t random[RANDOM_POOL_BYTES];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key; /* for its destructor; `mine` is the fast way to the same */
static __thread struct thread_state *mine;
static EVP_MD *md_sha1;
static EVP_MD *md_sha256;

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "sluice: OpenSSL failed: %s\n", what);
        abort();
    }
}

static void thread_state_free(void *arg)
{
    struct thread_state *s = arg;
    EVP_MD_CTX_free(s->sha1);
    EVP_MD_CTX_free(s->sha256);
    OPENSSL_cleanse(s->random, sizeof s->random);
    free(s);
    mine = NULL;
}

/* Parent and child would give out the same bytes. */
static void on_fork_child(void)
{
    if (mine)
        mine->random_left = 0;
}

static void start(void)
{
    md_sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
    md_sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    must(md_sha1 && md_sha256, "no SHA1 or SHA256");
    must(pthread_key_create(&thread_key, thread_state_free) == 0, "no thread key");
    must(pthread_atfork(NULL, NULL, on_fork_child) == 0, "no fork handler");
}

static struct thread_state *thread_state_new(void)
{
    pthread_once(&once, start);
    struct thread_state *s = calloc(1, sizeof *s);
    must(s, "no memory");
    s->sha1 = EVP_MD_CTX_new();
    s->sha256 = EVP_MD_CTX_new();
    must(s->sha1 && EVP_DigestInit_ex2(s->sha1, md_sha1, NULL), "SHA1");
    must(s->sha256 && EVP_DigestInit_ex2(s->sha256, md_sha256, NULL), "SHA256");
    must(pthread_setspecific(thread_key, s) == 0, "no thread state");
    mine = s;
    return s;
}

static struct thread_state *thread_state(void)
{
    return mine ? mine : thread_state_new();
}

static void digest(EVP_MD_CTX *ctx, EVP_MD *md, struct bytes a, struct bytes b, uint8_t *out)
{
    bool ok = EVP_DigestUpdate(ctx, a.at, a.len) && EVP_DigestUpdate(ctx, b.at, b.len) &&
              EVP_DigestFinal_ex(ctx, out, NULL) && EVP_DigestInit_ex2(ctx, md, NULL);
    must(ok, "digest");
}

static void sha1(struct bytes a, struct bytes b, uint8_t out[SCRAMBLE_NATIVE_BYTES])
{
    digest(thread_state()->sha1, md_sha1, a, b, out);
}

static void sha256(struct bytes a, struct bytes b, uint8_t out[SCRAMBLE_SHA2_BYTES])
{
    digest(thread_state()->sha256, md_sha256, a, b, out);
}

static const struct bytes nothing = {.at = (const uint8_t *)"", .len = 0};

/* a ^= b */
static void xor_into(uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] ^= b[i];
}

bool scramble_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

void scramble_wipe(void *at, size_t n)
{
    OPENSSL_cleanse(at, n);
}

void scramble_random(void *out, size_t n)
{
    struct thread_state *s = thread_state();
    if (n > sizeof s->random) {
        must(n <= INT32_MAX && RAND_bytes(out, (int)n) == 1, "no random bytes");
        return;
    }
    if (s->random_left < n) {
        must(RAND_bytes(s->random, sizeof s->random) == 1, "no random bytes");
        s->random_left = sizeof s->random;
    }
    uint8_t *from = s->random + sizeof s->random - s->random_left;
    memcpy(out, from, n);
    OPENSSL_cleanse(from, n);
    s->random_left -= n;
}

void scramble_salt(uint8_t salt[SCRAMBLE_SALT_BYTES])
{
    scramble_random(salt, SCRAMBLE_SALT_BYTES);
    for (size_t i = 0; i < SCRAMBLE_SALT_BYTES; i++) {
        while ((salt[i] &= 0x7F) == 0 || salt[i] == '$')
            scramble_random(&salt[i], 1);
    }
}

void scramble_native_stage1(struct bytes password, uint8_t stage1[SCRAMBLE_NATIVE_BYTES])
{
    sha1(password, nothing, stage1);
}

void scramble_native_hash(struct bytes password, uint8_t hash[SCRAMBLE_NATIVE_BYTES])
{
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    scramble_native_stage1(password, stage1);
    sha1(bytes_of(stage1, sizeof stage1), nothing, hash);
    OPENSSL_cleanse(stage1, sizeof stage1);
}

size_t scramble_native_reply(struct bytes password, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                             uint8_t reply[SCRAMBLE_NATIVE_BYTES])
{
    if (password.len == 0)
        return 0;
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    scramble_native_stage1(password, stage1);
    scramble_native_reply_stage1(stage1, salt, reply);
    OPENSSL_cleanse(stage1, sizeof stage1);
    return SCRAMBLE_NATIVE_BYTES;
}

void scramble_native_reply_stage1(const uint8_t stage1[SCRAMBLE_NATIVE_BYTES],
                                  const uint8_t salt[SCRAMBLE_SALT_BYTES],
                                  uint8_t reply[SCRAMBLE_NATIVE_BYTES])
{
    uint8_t hash[SCRAMBLE_NATIVE_BYTES];
    sha1(bytes_of(stage1, SCRAMBLE_NATIVE_BYTES), nothing, hash);
    sha1(bytes_of(salt, SCRAMBLE_SALT_BYTES), bytes_of(hash, sizeof hash), reply);
    xor_into(reply, stage1, SCRAMBLE_NATIVE_BYTES);
    OPENSSL_cleanse(hash, sizeof hash);
}

bool scramble_native_check(struct bytes reply, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                           const uint8_t hash[SCRAMBLE_NATIVE_BYTES],
                           uint8_t stage1[SCRAMBLE_NATIVE_BYTES])
{
    memset(stage1, 0, SCRAMBLE_NATIVE_BYTES);
    if (reply.len != SCRAMBLE_NATIVE_BYTES)
        return false;
    uint8_t again[SCRAMBLE_NATIVE_BYTES];
    sha1(bytes_of(salt, SCRAMBLE_SALT_BYTES), bytes_of(hash, SCRAMBLE_NATIVE_BYTES), stage1);
    xor_into(stage1, reply.at, SCRAMBLE_NATIVE_BYTES);
    sha1(bytes_of(stage1, SCRAMBLE_NATIVE_BYTES), nothing, again);
    bool right = scramble_equal(again, hash, sizeof again);
    if (!right)
        OPENSSL_cleanse(stage1, SCRAMBLE_NATIVE_BYTES);
    return right;
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool scramble_native_parse(struct bytes text, uint8_t hash[SCRAMBLE_NATIVE_BYTES])
{
    if (text.len != 1 + 2 * SCRAMBLE_NATIVE_BYTES || text.at[0] != '*')
        return false;
    uint8_t read[SCRAMBLE_NATIVE_BYTES] = {0};
    for (size_t i = 0; i < sizeof read; i++) {
        int high = hex_value(text.at[1 + 2 * i]);
        int low = hex_value(text.at[2 + 2 * i]);
        if (high < 0 || low < 0)
            return false;
        read[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(hash, read, sizeof read);
    return true;
}

/* first = SHA256(password), verifier = SHA256(first) */
static void sha2_stages(struct bytes password, uint8_t first[SCRAMBLE_SHA2_BYTES],
                        uint8_t verifier[SCRAMBLE_SHA2_BYTES])
{
    sha256(password, nothing, first);
    sha256(bytes_of(first, SCRAMBLE_SHA2_BYTES), nothing, verifier);
}

void scramble_sha2_verifier(struct bytes password, uint8_t verifier[SCRAMBLE_SHA2_BYTES])
{
    uint8_t first[SCRAMBLE_SHA2_BYTES];
    sha2_stages(password, first, verifier);
    OPENSSL_cleanse(first, sizeof first);
}

size_t scramble_sha2_reply(struct bytes password, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                           uint8_t reply[SCRAMBLE_SHA2_BYTES])
{
    if (password.len == 0)
        return 0;
    uint8_t first[SCRAMBLE_SHA2_BYTES];
    uint8_t verifier[SCRAMBLE_SHA2_BYTES];
    sha2_stages(password, first, verifier);
    sha256(bytes_of(verifier, sizeof verifier), bytes_of(salt, SCRAMBLE_SALT_BYTES), reply);
    xor_into(reply, first, sizeof first);
    OPENSSL_cleanse(first, sizeof first);
    OPENSSL_cleanse(verifier, sizeof verifier);
    return SCRAMBLE_SHA2_BYTES;
}

bool scramble_sha2_check(struct bytes reply, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                         const uint8_t verifier[SCRAMBLE_SHA2_BYTES])
{
    if (reply.len != SCRAMBLE_SHA2_BYTES)
        return false;
    uint8_t first[SCRAMBLE_SHA2_BYTES];
    uint8_t again[SCRAMBLE_SHA2_BYTES];
    sha256(bytes_of(verifier, SCRAMBLE_SHA2_BYTES), bytes_of(salt, SCRAMBLE_SALT_BYTES), first);
    xor_into(first, reply.at, sizeof first);
    sha256(bytes_of(first, sizeof first), nothing, again);
    OPENSSL_cleanse(first, sizeof first);
    return scramble_equal(again, verifier, sizeof again);
}

size_t scramble_xor_password(struct bytes password, const uint8_t salt[SCRAMBLE_SALT_BYTES],
                             uint8_t *out, size_t room)
{
    if (room <= password.len)
        return 0;
    for (size_t i = 0; i <= password.len; i++) {
        uint8_t clear = i < password.len ? password.at[i] : 0;
        out[i] = clear ^ salt[i % SCRAMBLE_SALT_BYTES];
    }
    return password.len + 1;
}

static EVP_PKEY *public_key_read(struct bytes pem)
{
    if (pem.len == 0 || pem.len > PEM_MAX_BYTES)
        return NULL;
    BIO *bio = BIO_new_mem_buf(pem.at, (int)pem.len);
    EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    if (key && (!EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_get_bits(key) > RSA_BITS_MAX)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

int scramble_rsa_encrypt(struct bytes pem, struct bytes password,
                         const uint8_t salt[SCRAMBLE_SALT_BYTES], uint8_t *out, size_t *out_bytes)
{
    int result = -EINVAL;
    uint8_t clear[SCRAMBLE_PASSWORD_MAX_BYTES + 1];
    size_t clear_bytes = 0;
    size_t used_bytes = SCRAMBLE_RSA_MAX_BYTES;
    EVP_PKEY_CTX *ctx = NULL;
    EVP_PKEY *key = public_key_read(pem);
    if (!key)
        goto out;
    ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    /* SHA1 is the default digest of OAEP, and the one that the protocol has. */
    if (!ctx || EVP_PKEY_encrypt_init(ctx) <= 0 ||
        EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING) <= 0)
        goto out;
    result = -EMSGSIZE;
    clear_bytes = scramble_xor_password(password, salt, clear, sizeof clear);
    if (clear_bytes == 0 || EVP_PKEY_encrypt(ctx, out, &used_bytes, clear, clear_bytes) <= 0)
        goto out;
    *out_bytes = used_bytes;
    result = 0;
out:
    OPENSSL_cleanse(clear, clear_bytes);
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return result;
}

struct rsa_key {
    EVP_PKEY *pair; /* read only once made: OpenSSL allows it on several threads */
    char *pem;
    size_t pem_bytes;
};

static bool public_pem_write(struct rsa_key *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    bool ok = bio && PEM_write_bio_PUBKEY(bio, key->pair);
    if (ok) {
        key->pem_bytes = (size_t)BIO_get_mem_data(bio, &text);
        key->pem = malloc(key->pem_bytes);
        ok = key->pem != NULL;
        if (ok)
            memcpy(key->pem, text, key->pem_bytes);
    }
    BIO_free(bio);
    return ok;
}

struct rsa_key *rsa_key_new(void)
{
    struct rsa_key *key = calloc(1, sizeof *key);
    if (!key)
        return NULL;
    key->pair = EVP_RSA_gen(RSA_KEY_BITS);
    if (!key->pair || !public_pem_write(key)) {
        ERR_clear_error();
        rsa_key_free(key);
        return NULL;
    }
    return key;
}

void rsa_key_free(struct rsa_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pair);
    free(key->pem);
    free(key);
}

struct bytes rsa_key_public_pem(const struct rsa_key *key)
{
    return bytes_of(key->pem, key->pem_bytes);
}

/* Length of the clear text, 0 on failure. `clear` has RSA_KEY_CIPHER_BYTES of room. */
static size_t oaep_decrypt(const struct rsa_key *key, struct bytes cipher, uint8_t *clear)
{
    size_t clear_bytes = RSA_KEY_CIPHER_BYTES;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key->pair, NULL);
    bool ok = ctx && EVP_PKEY_decrypt_init(ctx) > 0 &&
              EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING) > 0 &&
              EVP_PKEY_decrypt(ctx, clear, &clear_bytes, cipher.at, cipher.len) > 0;
    EVP_PKEY_CTX_free(ctx);
    ERR_clear_error();
    return ok ? clear_bytes : 0;
}

bool rsa_key_decrypt_password(const struct rsa_key *key, struct bytes cipher,
                              const uint8_t salt[SCRAMBLE_SALT_BYTES],
                              char password[RSA_KEY_CIPHER_BYTES], size_t *password_bytes)
{
    memset(password, 0, RSA_KEY_CIPHER_BYTES);
    if (cipher.len != RSA_KEY_CIPHER_BYTES)
        return false; /* tells nothing: the sender knows the length */
    uint8_t clear[RSA_KEY_CIPHER_BYTES] = {0};
    size_t clear_bytes = oaep_decrypt(key, cipher, clear);
    /* The whole buffer is worked through whatever came of the decryption; no branch before the end.
     */
    unsigned early_nuls = 0;
    unsigned last = 1; /* what stands at the end: must be NUL */
    for (size_t i = 0; i < sizeof clear; i++) {
        clear[i] ^= salt[i % SCRAMBLE_SALT_BYTES];
        early_nuls += (i + 1 < clear_bytes) & (clear[i] == 0);
        last = i + 1 == clear_bytes ? clear[i] : last;
    }
    bool ok = (clear_bytes != 0) & (early_nuls == 0) & (last == 0);
    if (ok) {
        memcpy(password, clear, clear_bytes);
        *password_bytes = clear_bytes - 1;
    }
    OPENSSL_cleanse(clear, sizeof clear);
    return ok;
}
