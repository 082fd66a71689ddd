/* SPDX-License-Identifier: Apache-2.0
 *
 * The TLS engine: pairs of connections in memory, their cipher bytes carried across whole or in
 * pieces. */
#include "pool/tls.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct tls_context *server_context;  /* a generated certificate */
static struct tls_context *another_context; /* another one, of another maker */
static char server_pem[64];                 /* files with the certificates of the two */
static char another_pem[64];

struct pair {
    struct tls *client;
    struct tls *server;
    size_t piece_bytes; /* how much is carried at once */
};

static struct tls_context *client_context(enum tls_mode mode, const char *ca_file, enum tls_min min)
{
    char err[256] = "";
    struct tls_client_options o = {.mode = mode, .ca_file = ca_file, .min = min};
    struct tls_context *ctx = tls_context_new_client(&o, err, sizeof err);
    assert_string_equal(err, "");
    assert_non_null(ctx);
    return ctx;
}

static struct tls_context *generated_context(enum tls_min min)
{
    char err[256] = "";
    struct tls_server_options o = {.min = min};
    struct tls_context *ctx = tls_context_new_server(&o, err, sizeof err);
    assert_string_equal(err, "");
    assert_non_null(ctx);
    return ctx;
}

/* The contexts may go at once: connections hold on to theirs. */
static struct pair pair_new(struct tls_context *client, struct tls_context *server,
                            const char *name)
{
    struct pair p = {tls_new_client(client, name), tls_new_server(server), 1 << 20};
    assert_non_null(p.client);
    assert_non_null(p.server);
    return p;
}

static void pair_free(struct pair *p)
{
    tls_free(p->client);
    tls_free(p->server);
}

/* Carries what `from` has to say; true if there was anything. */
static bool carry(struct pair *p, struct tls *from, struct tls *to)
{
    const uint8_t *at;
    size_t len;
    tls_output(from, &at, &len);
    if (len == 0)
        return false;
    if (len > p->piece_bytes)
        len = p->piece_bytes;
    assert_true(tls_input(to, at, len));
    tls_output_done(from, len);
    return true;
}

/* Both ends step after each piece, until nobody has anything to say. */
static void handshake(struct pair *p, enum tls_result *client, enum tls_result *server)
{
    bool moved = true;
    while (moved) {
        *client = tls_handshake(p->client);
        *server = tls_handshake(p->server);
        moved = carry(p, p->client, p->server);
        moved |= carry(p, p->server, p->client);
    }
}

static void assert_established(struct pair *p)
{
    enum tls_result client;
    enum tls_result server;
    handshake(p, &client, &server);
    assert_string_equal(tls_error_text(p->client), "");
    assert_string_equal(tls_error_text(p->server), "");
    assert_int_equal(client, TLS_DONE);
    assert_int_equal(server, TLS_DONE);
    assert_true(tls_is_established(p->client));
    assert_true(tls_is_established(p->server));
}

static struct pair pair_established(void)
{
    struct tls_context *ctx = client_context(TLS_MODE_REQUIRE, NULL, TLS_MIN_1_2);
    struct pair p = pair_new(ctx, server_context, NULL);
    tls_context_free(ctx);
    assert_established(&p);
    return p;
}

/* Writes at one end, reads at the other. */
static void assert_says(struct pair *p, struct tls *from, struct tls *to, const char *text)
{
    char got[256];
    size_t n = 0;
    size_t all = 0;
    assert_int_equal(tls_write(from, text, strlen(text)), TLS_DONE);
    while (carry(p, from, to)) {
        enum tls_result r = tls_read(to, got + all, sizeof got - all, &n);
        assert_true(r == TLS_DONE || r == TLS_WANT);
        all += n;
    }
    assert_int_equal(all, strlen(text));
    assert_memory_equal(got, text, all);
    assert_int_equal(tls_read(to, got, sizeof got, &n), TLS_WANT);
    assert_int_equal(n, 0);
}

static void a_generated_certificate_serves_a_client_that_does_not_look(void **state)
{
    (void)state;
    struct pair p = pair_established();
    assert_string_equal(tls_version_text(p.client), "TLSv1.3");
    assert_says(&p, p.client, p.server, "select 1");
    assert_says(&p, p.server, p.client, "one");
    assert_int_equal(tls_handshake(p.client), TLS_DONE);
    pair_free(&p);
}

static void bytes_one_at_a_time_make_the_same_conversation(void **state)
{
    (void)state;
    struct tls_context *ctx = client_context(TLS_MODE_VERIFY, server_pem, TLS_MIN_1_2);
    struct pair p = pair_new(ctx, server_context, "localhost");
    p.piece_bytes = 1;
    assert_established(&p);
    assert_says(&p, p.client, p.server, "a question, byte by byte");
    assert_says(&p, p.server, p.client, "an answer, byte by byte");
    pair_free(&p);
    tls_context_free(ctx);
}

static void verify_accepts_each_name_of_the_generated_certificate(void **state)
{
    (void)state;
    static const char *const names[] = {"localhost", "127.0.0.1", "::1"};
    struct tls_context *ctx = client_context(TLS_MODE_VERIFY, server_pem, TLS_MIN_1_3);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct pair p = pair_new(ctx, server_context, names[i]);
        assert_established(&p);
        pair_free(&p);
    }
    tls_context_free(ctx);
}

/* The client refuses with these words, and the server hears of it. */
static void assert_refused(enum tls_mode mode, const char *ca_file, const char *name,
                           const char *words)
{
    struct tls_context *ctx = client_context(mode, ca_file, TLS_MIN_1_2);
    struct pair p = pair_new(ctx, server_context, name);
    enum tls_result client;
    enum tls_result server;
    handshake(&p, &client, &server);
    assert_int_equal(client, TLS_FAILED);
    assert_false(tls_is_established(p.client));
    if (!strstr(tls_error_text(p.client), words))
        fail_msg("\"%s\" lacks \"%s\"", tls_error_text(p.client), words);
    assert_int_equal(tls_handshake(p.client), TLS_FAILED);
    size_t n;
    char out[16];
    assert_int_equal(tls_read(p.client, out, sizeof out, &n), TLS_FAILED);
    assert_int_equal(tls_write(p.client, "x", 1), TLS_FAILED);
    pair_free(&p);
    tls_context_free(ctx);
}

static void a_certificate_of_another_ca_is_refused(void **state)
{
    (void)state;
    assert_refused(TLS_MODE_VERIFY_CA, another_pem, "localhost", "certificate refused: self");
    assert_refused(TLS_MODE_VERIFY, another_pem, "localhost", "certificate refused: self");
    assert_refused(TLS_MODE_VERIFY, NULL, "localhost", "certificate refused: self");
}

static void another_name_is_refused_in_verify_mode_alone(void **state)
{
    (void)state;
    assert_refused(TLS_MODE_VERIFY, server_pem, "db.example.org", "hostname mismatch");
    assert_refused(TLS_MODE_VERIFY, server_pem, "127.0.0.2", "IP address mismatch");
    assert_refused(TLS_MODE_VERIFY, server_pem, NULL, "no host name");
    assert_refused(TLS_MODE_VERIFY, server_pem, "", "no host name");
    static const char *const names[] = {"db.example.org", "127.0.0.2", NULL};
    struct tls_context *ctx = client_context(TLS_MODE_VERIFY_CA, server_pem, TLS_MIN_1_2);
    for (size_t i = 0; i < 3; i++) {
        struct pair p = pair_new(ctx, server_context, names[i]);
        assert_established(&p);
        pair_free(&p);
    }
    tls_context_free(ctx);
}

static void the_server_hears_why_it_was_refused(void **state)
{
    (void)state;
    struct tls_context *ctx = client_context(TLS_MODE_VERIFY_CA, another_pem, TLS_MIN_1_2);
    struct pair p = pair_new(ctx, server_context, "localhost");
    enum tls_result client;
    enum tls_result server;
    handshake(&p, &client, &server);
    size_t n;
    char out[16];
    if (server == TLS_DONE) /* with 1.3 it was done before the client had seen the certificate */
        server = tls_read(p.server, out, sizeof out, &n);
    assert_int_equal(server, TLS_FAILED);
    assert_non_null(strstr(tls_error_text(p.server), "alert"));
    pair_free(&p);
    tls_context_free(ctx);
}

static void what_is_not_tls_fails_with_a_sentence(void **state)
{
    (void)state;
    struct tls *t = tls_new_server(server_context);
    assert_true(tls_input(t, "GET / HTTP/1.0\r\n\r\n", 18));
    assert_int_equal(tls_handshake(t), TLS_FAILED);
    assert_string_not_equal(tls_error_text(t), "");
    assert_int_equal(tls_handshake(t), TLS_FAILED);
    tls_free(t);
}

static void a_changed_record_is_a_failure(void **state)
{
    (void)state;
    struct pair p = pair_established();
    assert_int_equal(tls_write(p.client, "select 1", 8), TLS_DONE);
    const uint8_t *at;
    size_t len;
    uint8_t copy[256];
    tls_output(p.client, &at, &len);
    assert_in_range(len, 1, sizeof copy);
    memcpy(copy, at, len);
    copy[len - 1] ^= 1;
    assert_true(tls_input(p.server, copy, len));
    char out[64];
    size_t n = 99;
    assert_int_equal(tls_read(p.server, out, sizeof out, &n), TLS_FAILED);
    assert_int_equal(n, 0);
    pair_free(&p);
}

static void reading_and_writing_wait_for_the_handshake(void **state)
{
    (void)state;
    struct tls *t = tls_new_server(server_context);
    char out[8];
    size_t n;
    assert_int_equal(tls_read(t, out, sizeof out, &n), TLS_FAILED);
    tls_free(t);
    t = tls_new_server(server_context);
    assert_int_equal(tls_write(t, "x", 1), TLS_FAILED);
    tls_free(t);
}

static void no_older_version_than_the_minimum_is_spoken(void **state)
{
    (void)state;
    SSL_CTX *old = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(old, TLS1_2_VERSION);
    for (int min = TLS_MIN_1_2; min <= TLS_MIN_1_3; min++) {
        struct tls_context *ctx = generated_context((enum tls_min)min);
        struct tls *t = tls_new_server(ctx);
        SSL *ssl = SSL_new(old);
        SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_connect_state(ssl);
        assert_int_equal(SSL_do_handshake(ssl), -1);
        char *hello;
        long len = BIO_get_mem_data(SSL_get_wbio(ssl), &hello);
        assert_true(tls_input(t, hello, (size_t)len));
        assert_int_equal(tls_handshake(t), min == TLS_MIN_1_2 ? TLS_WANT : TLS_FAILED);
        SSL_free(ssl);
        tls_free(t);
        tls_context_free(ctx);
    }
    SSL_CTX_free(old);
}

/* Bytes that tell their place. */
static uint8_t pattern(size_t i)
{
    return (uint8_t)(i * 2654435761u >> 13);
}

static void ten_megabytes_come_through_whole(void **state)
{
    (void)state;
    enum { ALL_BYTES = 10 << 20 };
    uint8_t *sent = malloc(ALL_BYTES);
    uint8_t *got = malloc(ALL_BYTES);
    for (size_t i = 0; i < ALL_BYTES; i++)
        sent[i] = pattern(i);
    struct pair p = pair_established();
    p.piece_bytes = 50021;
    /* Writes of growing size, from a byte to a megabyte. */
    size_t written = 0;
    for (size_t len = 1; written < ALL_BYTES; len += len / 3 + 1) {
        if (len > ALL_BYTES - written)
            len = ALL_BYTES - written;
        assert_int_equal(tls_write(p.client, sent + written, len), TLS_DONE);
        written += len;
    }
    size_t read = 0;
    while (carry(&p, p.client, p.server)) {
        size_t n;
        while (tls_read(p.server, got + read, ALL_BYTES - read, &n) == TLS_DONE)
            read += n;
    }
    assert_int_equal(read, ALL_BYTES);
    assert_memory_equal(got, sent, ALL_BYTES);
    pair_free(&p);
    free(sent);
    free(got);
}

static void lent_output_stays_where_it_is_while_more_is_written(void **state)
{
    (void)state;
    struct pair p = pair_established();
    static const uint8_t block[50000];
    assert_int_equal(tls_write(p.client, "first", 5), TLS_DONE);
    const uint8_t *lent;
    size_t lent_bytes;
    uint8_t copy[256];
    tls_output(p.client, &lent, &lent_bytes);
    assert_in_range(lent_bytes, 1, sizeof copy);
    memcpy(copy, lent, lent_bytes);
    for (int i = 0; i < 20; i++)
        assert_int_equal(tls_write(p.client, block, sizeof block), TLS_DONE);
    const uint8_t *again;
    size_t again_bytes;
    tls_output(p.client, &again, &again_bytes);
    assert_ptr_equal(again, lent);
    assert_true(again_bytes >= lent_bytes);
    assert_memory_equal(lent, copy, lent_bytes);
    pair_free(&p);
}

static void a_goodbye_ends_reading_after_the_last_byte(void **state)
{
    (void)state;
    struct pair p = pair_established();
    assert_int_equal(tls_write(p.client, "last", 4), TLS_DONE);
    tls_shutdown(p.client);
    tls_shutdown(p.client);
    assert_int_equal(tls_write(p.client, "x", 1), TLS_FAILED);
    while (carry(&p, p.client, p.server))
        ;
    char out[16];
    size_t n;
    assert_int_equal(tls_read(p.server, out, sizeof out, &n), TLS_DONE);
    assert_int_equal(n, 4);
    assert_int_equal(tls_read(p.server, out, sizeof out, &n), TLS_EOF);
    assert_int_equal(n, 0);
    assert_int_equal(tls_read(p.server, out, sizeof out, &n), TLS_EOF);
    pair_free(&p);
}

static void the_other_way_stays_open_after_a_goodbye(void **state)
{
    (void)state;
    struct pair p = pair_established();
    tls_shutdown(p.client);
    while (carry(&p, p.client, p.server))
        ;
    char out[16];
    size_t n;
    assert_int_equal(tls_read(p.server, out, sizeof out, &n), TLS_EOF);
    assert_says(&p, p.server, p.client, "still here");
    pair_free(&p);
}

static void a_goodbye_before_the_handshake_is_nothing(void **state)
{
    (void)state;
    struct tls *t = tls_new_server(server_context);
    tls_shutdown(t);
    const uint8_t *at;
    size_t len;
    tls_output(t, &at, &len);
    assert_int_equal(len, 0);
    assert_int_equal(tls_handshake(t), TLS_WANT);
    tls_free(t);
}

/* A server that hands out tickets, which ours does not; bare OpenSSL. */
static SSL *ticket_server_new(SSL_CTX *ctx)
{
    SSL *ssl = SSL_new(ctx);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl);
    return ssl;
}

static void talk_to_ticket_server(struct tls *client, SSL *server)
{
    uint8_t buffer[8192];
    for (int i = 0; i < 10; i++) {
        enum tls_result r = tls_handshake(client);
        assert_true(r == TLS_DONE || r == TLS_WANT);
        const uint8_t *at;
        size_t len;
        for (tls_output(client, &at, &len); len > 0; tls_output(client, &at, &len)) {
            assert_int_equal(BIO_write(SSL_get_rbio(server), at, (int)len), (int)len);
            tls_output_done(client, len);
        }
        SSL_do_handshake(server);
        int n;
        while ((n = BIO_read(SSL_get_wbio(server), buffer, sizeof buffer)) > 0)
            assert_true(tls_input(client, buffer, (size_t)n));
    }
    size_t n;
    assert_true(tls_is_established(client));
    assert_int_equal(tls_read(client, buffer, sizeof buffer, &n),
                     TLS_WANT); /* takes the tickets in */
}

static void resumed_by_the_second_connection(int version)
{
    SSL_CTX *server = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_max_proto_version(server, version);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(server, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(server, key), 1);
    struct tls_context *ctx = client_context(TLS_MODE_REQUIRE, NULL, TLS_MIN_1_2);
    static const struct {
        const char *name;
        bool resumed;
    } turns[] = {{"a.example", false}, {"a.example", true}, {"b.example", false},
                 {"a.example", true},  {NULL, false},       {NULL, true}};
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        SSL *ssl = ticket_server_new(server);
        struct tls *t = tls_new_client(ctx, turns[i].name);
        talk_to_ticket_server(t, ssl);
        assert_int_equal(tls_is_resumed(t), turns[i].resumed);
        tls_free(t); /* without a goodbye, as when a backend dies */
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(ssl);
    }
    char name[16]; /* more names than are kept */
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "n%d", i);
        SSL *ssl = ticket_server_new(server);
        struct tls *t = tls_new_client(ctx, name);
        talk_to_ticket_server(t, ssl);
        tls_free(t);
        SSL_free(ssl);
    }
    tls_context_free(ctx);
    X509_free(cert);
    EVP_PKEY_free(key);
    SSL_CTX_free(server);
}

static void a_second_connection_to_the_same_name_resumes_the_session(void **state)
{
    (void)state;
    resumed_by_the_second_connection(TLS1_3_VERSION);
    resumed_by_the_second_connection(TLS1_2_VERSION);
}

static void our_server_gives_no_ticket(void **state)
{
    (void)state;
    struct tls_context *ctx = client_context(TLS_MODE_REQUIRE, NULL, TLS_MIN_1_2);
    for (int i = 0; i < 2; i++) {
        struct pair p = pair_new(ctx, server_context, "localhost");
        assert_established(&p);
        assert_says(&p, p.server, p.client, "x");
        assert_false(tls_is_resumed(p.client));
        pair_free(&p);
    }
    tls_context_free(ctx);
}

static void files_that_cannot_be_used_are_named(void **state)
{
    (void)state;
    char err[256];
    struct tls_server_options missing = {.cert_file = "/nonexistent/c.pem",
                                         .key_file = "/nonexistent/k.pem"};
    assert_null(tls_context_new_server(&missing, err, sizeof err));
    assert_non_null(strstr(err, "/nonexistent/c.pem"));
    assert_non_null(strstr(err, "No such file"));
    struct tls_server_options no_key = {.cert_file = server_pem, .key_file = server_pem};
    assert_null(tls_context_new_server(&no_key, err, sizeof err));
    assert_non_null(strstr(err, "cannot use key"));
    struct tls_server_options half = {.cert_file = server_pem};
    assert_null(tls_context_new_server(&half, err, sizeof err));
    struct tls_server_options other_half = {.key_file = server_pem};
    assert_null(tls_context_new_server(&other_half, err, sizeof err));
    struct tls_client_options no_ca = {.mode = TLS_MODE_VERIFY, .ca_file = "/nonexistent/ca.pem"};
    assert_null(tls_context_new_client(&no_ca, err, sizeof err));
    assert_non_null(strstr(err, "cannot read CA /nonexistent/ca.pem"));
}

static void temporary_file(char path[64])
{
    strcpy(path, "/tmp/sluice-test-tls-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

/* A key and a certificate for it in one file, as `openssl req -x509 -nodes` makes. */
static void pair_file_write(char path[64])
{
    temporary_file(path);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)"from.a.file", -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(PEM_write_X509(f, cert));
    assert_true(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
    fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void certificates_of_files_serve_both_ends(void **state)
{
    (void)state;
    char path[64];
    char err[256] = "";
    pair_file_write(path);
    struct tls_server_options so = {.cert_file = path, .key_file = path};
    struct tls_client_options co = {
        .mode = TLS_MODE_VERIFY, .ca_file = path, .cert_file = path, .key_file = path};
    struct tls_context *server = tls_context_new_server(&so, err, sizeof err);
    struct tls_context *client = tls_context_new_client(&co, err, sizeof err);
    assert_string_equal(err, "");
    struct pair p = pair_new(client, server, "from.a.file");
    assert_established(&p);
    pair_free(&p);
    so.key_file = server_pem; /* a certificate, no key */
    assert_null(tls_context_new_server(&so, err, sizeof err));
    char other[64];
    pair_file_write(other);
    so.key_file = other; /* the key of another certificate */
    assert_null(tls_context_new_server(&so, err, sizeof err));
    assert_non_null(strstr(err, other));
    tls_context_free(client);
    tls_context_free(server);
    unlink(path);
    unlink(other);
}

static void a_connection_outlives_its_contexts_owner(void **state)
{
    (void)state;
    struct tls_context *server = generated_context(TLS_MIN_1_2);
    struct tls_context *client = client_context(TLS_MODE_PREFER, NULL, TLS_MIN_1_2);
    struct pair p = pair_new(client, server, "localhost");
    tls_context_free(tls_context_ref(server));
    tls_context_free(server);
    tls_context_free(client);
    tls_context_free(NULL);
    assert_established(&p);
    assert_says(&p, p.client, p.server, "hello");
    pair_free(&p);
    tls_free(NULL);
}

static void option_words_are_read_exactly(void **state)
{
    (void)state;
    static const char *const modes[] = {"off", "prefer", "require", "verify-ca", "verify"};
    enum tls_mode mode;
    enum tls_min min;
    for (int i = TLS_MODE_OFF; i <= TLS_MODE_VERIFY; i++) {
        assert_true(tls_mode_parse(modes[i], &mode));
        assert_int_equal(mode, i);
    }
    assert_false(tls_mode_parse("", &mode));
    assert_false(tls_mode_parse("Verify", &mode));
    assert_false(tls_mode_parse("verify-", &mode));
    assert_true(tls_min_parse("1.2", &min) && min == TLS_MIN_1_2);
    assert_true(tls_min_parse("1.3", &min) && min == TLS_MIN_1_3);
    assert_false(tls_min_parse("1.1", &min));
    assert_false(tls_min_parse("1.33", &min));
    assert_false(tls_min_parse("", &min));
}

static void certificate_file_write(const struct tls_context *ctx, char path[64])
{
    char pem[4096];
    assert_false(tls_context_certificate(ctx, pem, 20));
    assert_true(tls_context_certificate(ctx, pem, sizeof pem));
    temporary_file(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(pem, f);
    fclose(f);
}

static int make_contexts(void **state)
{
    (void)state;
    server_context = generated_context(TLS_MIN_1_2);
    another_context = generated_context(TLS_MIN_1_2);
    certificate_file_write(server_context, server_pem);
    certificate_file_write(another_context, another_pem);
    return 0;
}

static int free_contexts(void **state)
{
    (void)state;
    tls_context_free(server_context);
    tls_context_free(another_context);
    unlink(server_pem);
    unlink(another_pem);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_generated_certificate_serves_a_client_that_does_not_look),
        cmocka_unit_test(bytes_one_at_a_time_make_the_same_conversation),
        cmocka_unit_test(verify_accepts_each_name_of_the_generated_certificate),
        cmocka_unit_test(a_certificate_of_another_ca_is_refused),
        cmocka_unit_test(another_name_is_refused_in_verify_mode_alone),
        cmocka_unit_test(the_server_hears_why_it_was_refused),
        cmocka_unit_test(what_is_not_tls_fails_with_a_sentence),
        cmocka_unit_test(a_changed_record_is_a_failure),
        cmocka_unit_test(reading_and_writing_wait_for_the_handshake),
        cmocka_unit_test(no_older_version_than_the_minimum_is_spoken),
        cmocka_unit_test(ten_megabytes_come_through_whole),
        cmocka_unit_test(lent_output_stays_where_it_is_while_more_is_written),
        cmocka_unit_test(a_goodbye_ends_reading_after_the_last_byte),
        cmocka_unit_test(the_other_way_stays_open_after_a_goodbye),
        cmocka_unit_test(a_goodbye_before_the_handshake_is_nothing),
        cmocka_unit_test(a_second_connection_to_the_same_name_resumes_the_session),
        cmocka_unit_test(our_server_gives_no_ticket),
        cmocka_unit_test(files_that_cannot_be_used_are_named),
        cmocka_unit_test(certificates_of_files_serve_both_ends),
        cmocka_unit_test(a_connection_outlives_its_contexts_owner),
        cmocka_unit_test(option_words_are_read_exactly),
    };
    return cmocka_run_group_tests(tests, make_contexts, free_contexts);
}
