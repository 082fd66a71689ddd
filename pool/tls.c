/* SPDX-License-Identifier: Apache-2.0
 *
 * See tls.h. OpenSSL reads and writes through a BIO of our own over two queues of chunks (RFC 8446,
 * RFC 5246 for the rest). Why not memory BIOs: they keep the largest buffer they ever had, and move
 * bytes that are lent to a write in flight. An idle connection has no chunk at all. */
#include "pool/tls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CHUNK_MIN_BYTES =
        2048, /* takes what a server says in a handshake, without its certificate chain */
    CHUNK_MAX_BYTES = 65536,
    RECORD_CLEAR_BYTES = 16384,
    RECORD_EXTRA_BYTES = 64, /* header, nonce, tag and padding of one record, rounded up */
    ERROR_BYTES = 160,
    SESSIONS_KEPT =
        8, /* by server name; a context talks to one backend, seldom to a few names of it */
    CERTIFICATE_DAYS = 3650,
};

/* Bytes in a row that stay where they are until taken. */
struct chunk {
    struct chunk *next;
    size_t at;   /* first byte not taken */
    size_t used; /* end of what was put in */
    size_t room;
    uint8_t data[];
};

/* Chunks, oldest first; none when empty. */
struct queue {
    struct chunk *head;
    struct chunk *tail;
};

/* A session of an earlier connection, to resume. */
struct kept_session {
    char *name; /* NULL: free place */
    SSL_SESSION *session;
};

struct tls_context {
    atomic_uint references;
    SSL_CTX *ssl;
    enum tls_mode mode;   /* clients only */
    pthread_mutex_t lock; /* of the two below: connections of several loops share a context */
    struct kept_session kept[SESSIONS_KEPT];
    unsigned next_kept; /* the place that a new name takes, round and round */
};

struct tls {
    SSL *ssl;
    struct tls_context *context; /* one reference */
    char *name;                  /* clients: what sessions are kept by; never NULL for them */
    struct queue in;
    struct queue out;
    size_t out_hint_bytes; /* clear bytes that the write under way has still to put out */
    bool established;
    bool failed;       /* sticky */
    bool goodbye_sent; /* close_notify is in `out` or sent: reading goes on, so this is no end state
                        */
    char error[ERROR_BYTES];
};

/* --- queues
 * ------------------------------------------------------------------------------------------------------
 */

static struct chunk *queue_grow(struct queue *q, size_t room)
{
    struct chunk *c = malloc(sizeof *c + room);
    if (!c)
        return NULL;
    *c = (struct chunk){.room = room};
    if (q->tail)
        q->tail->next = c;
    else
        q->head = c;
    q->tail = c;
    return c;
}

/* All or nothing. A new chunk has `want_bytes` of room, within the bounds, and more if the bytes
 * need it. */
static bool queue_put(struct queue *q, const uint8_t *bytes, size_t len, size_t want_bytes)
{
    struct chunk *c = q->tail;
    size_t fits = c ? c->room - c->used : 0;
    if (fits > len)
        fits = len;
    if (fits < len) {
        size_t room = want_bytes < CHUNK_MAX_BYTES ? want_bytes : CHUNK_MAX_BYTES;
        room = room > CHUNK_MIN_BYTES ? room : CHUNK_MIN_BYTES;
        room = room > len - fits ? room : len - fits;
        if (!queue_grow(q, room))
            return false;
    }
    if (fits > 0) {
        memcpy(c->data + c->used, bytes, fits);
        c->used += fits;
    }
    if (fits < len) {
        memcpy(q->tail->data, bytes + fits, len - fits);
        q->tail->used = len - fits;
    }
    return true;
}

/* Takes n bytes off the head, which has as many. */
static void queue_drop(struct queue *q, size_t n)
{
    struct chunk *c = q->head;
    if (n == 0)
        return;
    assert(c && n <= c->used - c->at);
    c->at += n;
    if (c->at < c->used)
        return;
    q->head = c->next;
    if (!q->head)
        q->tail = NULL;
    free(c);
}

static void queue_free(struct queue *q)
{
    while (q->head)
        queue_drop(q, q->head->used - q->head->at);
}

static size_t queue_take(struct queue *q, uint8_t *out, size_t room)
{
    size_t taken = 0;
    while (q->head && taken < room) {
        size_t n = q->head->used - q->head->at;
        if (n > room - taken)
            n = room - taken;
        memcpy(out + taken, q->head->data + q->head->at, n);
        queue_drop(q, n);
        taken += n;
    }
    return taken;
}

/* --- the BIO between OpenSSL and the queues
 * ----------------------------------------------------------------------- */

static int on_bio_read(BIO *bio, char *out, size_t room, size_t *n)
{
    struct tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *n = queue_take(&t->in, (uint8_t *)out, room);
    if (*n > 0)
        return 1;
    BIO_set_retry_read(bio);
    return 0;
}

static int on_bio_write(BIO *bio, const char *in, size_t len, size_t *n)
{
    struct tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!queue_put(&t->out, (const uint8_t *)in, len, t->out_hint_bytes))
        return 0;
    t->out_hint_bytes -= len < t->out_hint_bytes ? len : t->out_hint_bytes;
    *n = len;
    return 1;
}

static long on_bio_ctrl(BIO *bio, int command, long arg, void *pointer)
{
    (void)bio;
    (void)arg;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *bio_method; /* made once, lives as long as the process */
static pthread_once_t bio_once = PTHREAD_ONCE_INIT;

static void bio_method_make(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice queues");
    if (m && BIO_meth_set_read_ex(m, on_bio_read) && BIO_meth_set_write_ex(m, on_bio_write) &&
        BIO_meth_set_ctrl(m, on_bio_ctrl))
        bio_method = m;
    else
        BIO_meth_free(m);
}

/* --- words
 * --------------------------------------------------------------------------------------------------------
 */

bool tls_mode_parse(const char *text, enum tls_mode *out)
{
    static const char *const words[] = {
        [TLS_MODE_OFF] = "off",         [TLS_MODE_PREFER] = "prefer",
        [TLS_MODE_REQUIRE] = "require", [TLS_MODE_VERIFY_CA] = "verify-ca",
        [TLS_MODE_VERIFY] = "verify",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (enum tls_mode)i;
            return true;
        }
    }
    return false;
}

bool tls_min_parse(const char *text, enum tls_min *out)
{
    if (strcmp(text, "1.2") != 0 && strcmp(text, "1.3") != 0)
        return false;
    *out = text[2] == '2' ? TLS_MIN_1_2 : TLS_MIN_1_3;
    return true;
}

/* What OpenSSL says of the first thing that went wrong; the later ones are consequences. Empties
 * its queue. */
static const char *openssl_reason(void)
{
    unsigned long code = ERR_peek_error();
    const char *reason =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    ERR_clear_error();
    return reason ? reason : "unknown reason";
}

/* --- contexts
 * -----------------------------------------------------------------------------------------------------
 */

static struct tls_context *context_new(const SSL_METHOD *method, enum tls_min min)
{
    pthread_once(&bio_once, bio_method_make);
    struct tls_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NULL;
    atomic_init(&ctx->references, 1);
    pthread_mutex_init(&ctx->lock, NULL);
    ctx->ssl = SSL_CTX_new(method);
    int version = min == TLS_MIN_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    if (!bio_method || !ctx->ssl || !SSL_CTX_set_min_proto_version(ctx->ssl, version)) {
        tls_context_free(ctx);
        return NULL;
    }
    SSL_CTX_set_mode(ctx->ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ctx->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_read_ahead(ctx->ssl, 0);
    return ctx;
}

/* One sentence and NULL, for a constructor to end with. */
static struct tls_context *context_failed(struct tls_context *ctx, char *err, size_t err_bytes,
                                          const char *what, const char *file)
{
    const char *reason = openssl_reason();
    snprintf(err, err_bytes, "%s%s%s: %s", what, file ? " " : "", file ? file : "", reason);
    tls_context_free(ctx);
    return NULL;
}

/* NULL when the pair is in use now, else what could not be done, and `*file` with which. */
static const char *pair_load(SSL_CTX *ssl, const char *cert_file, const char *key_file,
                             const char **file)
{
    *file = cert_file;
    if (!cert_file || SSL_CTX_use_certificate_chain_file(ssl, cert_file) != 1)
        return "cannot read certificate";
    *file = key_file;
    if (!key_file || SSL_CTX_use_PrivateKey_file(ssl, key_file, SSL_FILETYPE_PEM) != 1)
        return "cannot use key";
    return SSL_CTX_check_private_key(ssl) == 1 ? NULL : "certificate does not fit key";
}

static bool extension_add(X509 *cert, int nid, const char *value)
{
    X509V3_CTX v3;
    X509V3_set_ctx_nodb(&v3);
    X509V3_set_ctx(&v3, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &v3, nid, value);
    bool ok = extension && X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    return ok;
}

static bool serial_set(X509 *cert)
{
    uint8_t bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    bytes[0] = (bytes[0] & 0x7F) | 0x40; /* positive, and no leading zero */
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return ok;
}

static bool certificate_fill(X509 *cert, EVP_PKEY *key)
{
    X509_NAME *name = X509_get_subject_name(cert);
    /* A day back: the clocks of a client's container and ours may differ. */
    return X509_set_version(cert, X509_VERSION_3) && serial_set(cert) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -24L * 3600) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), CERTIFICATE_DAYS, 0, NULL) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost",
                                      -1, -1, 0) &&
           X509_set_issuer_name(cert, name) && X509_set_pubkey(cert, key) &&
           extension_add(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
           extension_add(cert, NID_basic_constraints, "critical,CA:FALSE") &&
           extension_add(cert, NID_key_usage, "critical,digitalSignature") &&
           extension_add(cert, NID_ext_key_usage, "serverAuth") &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

static bool certificate_generate(SSL_CTX *ssl)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bool ok = key && cert && certificate_fill(cert, key) &&
              SSL_CTX_use_certificate(ssl, cert) == 1 && SSL_CTX_use_PrivateKey(ssl, key) == 1;
    X509_free(cert);
    EVP_PKEY_free(key);
    return ok;
}

struct tls_context *tls_context_new_server(const struct tls_server_options *o, char *err,
                                           size_t err_bytes)
{
    ERR_clear_error();
    struct tls_context *ctx = context_new(TLS_server_method(), o->min);
    if (!ctx)
        return context_failed(ctx, err, err_bytes, "cannot set up TLS", NULL);
    /* PHP's clients do not resume, so a ticket would be bytes and work for nothing; and a client
     * that closes without having read one resets the connection. */
    SSL_CTX_set_session_cache_mode(ctx->ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ctx->ssl, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_num_tickets(ctx->ssl, 0);
    if (!o->cert_file && !o->key_file) {
        if (!certificate_generate(ctx->ssl))
            return context_failed(ctx, err, err_bytes, "cannot make a certificate", NULL);
        return ctx;
    }
    const char *file;
    const char *wrong = pair_load(ctx->ssl, o->cert_file, o->key_file, &file);
    return wrong ? context_failed(ctx, err, err_bytes, wrong, file) : ctx;
}

static int on_new_session(SSL *ssl, SSL_SESSION *session);

struct tls_context *tls_context_new_client(const struct tls_client_options *o, char *err,
                                           size_t err_bytes)
{
    assert(o->mode != TLS_MODE_OFF);
    ERR_clear_error();
    struct tls_context *ctx = context_new(TLS_client_method(), o->min);
    if (!ctx)
        return context_failed(ctx, err, err_bytes, "cannot set up TLS", NULL);
    ctx->mode = o->mode;
    SSL_CTX_set_session_cache_mode(ctx->ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx->ssl, on_new_session);
    if (o->mode == TLS_MODE_VERIFY_CA || o->mode == TLS_MODE_VERIFY) {
        SSL_CTX_set_verify(ctx->ssl, SSL_VERIFY_PEER, NULL);
        int ok = o->ca_file ? SSL_CTX_load_verify_file(ctx->ssl, o->ca_file)
                            : SSL_CTX_set_default_verify_paths(ctx->ssl);
        if (ok != 1)
            return context_failed(ctx, err, err_bytes, "cannot read CA",
                                  o->ca_file ? o->ca_file : "of the system");
    }
    if (!o->cert_file && !o->key_file)
        return ctx;
    const char *file;
    const char *wrong = pair_load(ctx->ssl, o->cert_file, o->key_file, &file);
    return wrong ? context_failed(ctx, err, err_bytes, wrong, file) : ctx;
}

struct tls_context *tls_context_ref(struct tls_context *ctx)
{
    atomic_fetch_add(&ctx->references, 1);
    return ctx;
}

static void kept_session_free(struct kept_session *k)
{
    free(k->name);
    SSL_SESSION_free(k->session);
    *k = (struct kept_session){0};
}

void tls_context_free(struct tls_context *ctx)
{
    if (!ctx || atomic_fetch_sub(&ctx->references, 1) != 1)
        return;
    for (size_t i = 0; i < SESSIONS_KEPT; i++)
        kept_session_free(&ctx->kept[i]);
    SSL_CTX_free(ctx->ssl);
    pthread_mutex_destroy(&ctx->lock);
    free(ctx);
}

bool tls_context_certificate(const struct tls_context *ctx, char *pem, size_t room)
{
    X509 *cert = SSL_CTX_get0_certificate(ctx->ssl);
    BIO *bio = cert ? BIO_new(BIO_s_mem()) : NULL;
    char *text;
    size_t len = bio && PEM_write_bio_X509(bio, cert) ? (size_t)BIO_get_mem_data(bio, &text) : 0;
    bool ok = len > 0 && len < room;
    if (ok) {
        memcpy(pem, text, len);
        pem[len] = 0;
    }
    BIO_free(bio);
    return ok;
}

/* --- sessions of clients
 * ------------------------------------------------------------------------------------------ */

/* Where `name` is kept; NULL if it is not. With the lock held. */
static struct kept_session *kept_find(struct tls_context *ctx, const char *name)
{
    for (size_t i = 0; i < SESSIONS_KEPT; i++) {
        if (ctx->kept[i].name && strcmp(ctx->kept[i].name, name) == 0)
            return &ctx->kept[i];
    }
    return NULL;
}

/* Takes the session's reference by giving 1; the newest ticket of a name replaces the one before.
 */
static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls *t = SSL_get_app_data(ssl);
    struct tls_context *ctx = t->context;
    if (!SSL_SESSION_is_resumable(session))
        return 0;
    pthread_mutex_lock(&ctx->lock);
    struct kept_session *k = kept_find(ctx, t->name);
    if (!k) {
        k = &ctx->kept[ctx->next_kept++ % SESSIONS_KEPT];
        kept_session_free(k);
        k->name = strdup(t->name);
    }
    bool keep = k->name != NULL;
    if (keep) {
        SSL_SESSION_free(k->session);
        k->session = session;
    }
    pthread_mutex_unlock(&ctx->lock);
    return keep;
}

static bool session_offer(struct tls *t)
{
    pthread_mutex_lock(&t->context->lock);
    struct kept_session *k = kept_find(t->context, t->name);
    bool ok = !k || SSL_set_session(t->ssl, k->session);
    pthread_mutex_unlock(&t->context->lock);
    return ok;
}

/* A handshake went wrong: the next one begins afresh. */
static void session_forget(struct tls *t)
{
    pthread_mutex_lock(&t->context->lock);
    struct kept_session *k = kept_find(t->context, t->name);
    if (k)
        kept_session_free(k);
    pthread_mutex_unlock(&t->context->lock);
}

/* --- connections
 * --------------------------------------------------------------------------------------------------
 */

static struct tls *tls_new(struct tls_context *ctx)
{
    struct tls *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->context = tls_context_ref(ctx);
    t->ssl = SSL_new(ctx->ssl);
    BIO *bio = t->ssl ? BIO_new(bio_method) : NULL;
    if (!bio) {
        tls_free(t);
        return NULL;
    }
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio); /* takes the one reference: it is the same for both ways */
    SSL_set_app_data(t->ssl, t);
    return t;
}

struct tls *tls_new_server(struct tls_context *ctx)
{
    struct tls *t = tls_new(ctx);
    if (t)
        SSL_set_accept_state(t->ssl);
    return t;
}

static bool is_address(const char *name)
{
    uint8_t binary[16];
    return inet_pton(AF_INET, name, binary) == 1 || inet_pton(AF_INET6, name, binary) == 1;
}

/* Asks for the name (SNI has no addresses), and has the certificate checked for it. */
static bool server_name_set(struct tls *t, const char *name)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(t->ssl);
    bool address = is_address(name);
    if (!address && SSL_set_tlsext_host_name(t->ssl, name) != 1)
        return false;
    if (t->context->mode != TLS_MODE_VERIFY)
        return true;
    SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return address ? X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1
                   : X509_VERIFY_PARAM_set1_host(param, name, 0) == 1;
}

struct tls *tls_new_client(struct tls_context *ctx, const char *server_name)
{
    struct tls *t = tls_new(ctx);
    if (!t)
        return NULL;
    SSL_set_connect_state(t->ssl);
    t->name = strdup(server_name ? server_name : "");
    if (!t->name || (t->name[0] && !server_name_set(t, t->name)) || !session_offer(t)) {
        ERR_clear_error();
        tls_free(t);
        return NULL;
    }
    return t;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    /* OpenSSL would drop the session of a connection that ended without a goodbye, and so most of
     * ours: backends die. Both protocols know the end of a message by themselves, so nothing can be
     * cut short by it. */
    if (t->ssl && !t->failed)
        SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(t->ssl);
    queue_free(&t->in);
    queue_free(&t->out);
    tls_context_free(t->context);
    free(t->name);
    free(t);
}

static enum tls_result fail(struct tls *t, const char *text, const char *detail)
{
    snprintf(t->error, sizeof t->error, "%s%s%s", text, detail ? ": " : "", detail ? detail : "");
    t->failed = true;
    return TLS_FAILED;
}

/* What an SSL_ call that did not succeed has to say. */
static enum tls_result judge(struct tls *t, int returned)
{
    int error = SSL_get_error(t->ssl, returned);
    if (error == SSL_ERROR_WANT_READ)
        return TLS_WANT;
    if (error == SSL_ERROR_ZERO_RETURN)
        return TLS_EOF;
    if (error == SSL_ERROR_SYSCALL && ERR_peek_error() == 0)
        return fail(t, "TLS: no memory", NULL); /* the only way in which our BIO fails */
    long verified = SSL_get_verify_result(t->ssl);
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_CERTIFICATE_VERIFY_FAILED &&
        verified != X509_V_OK) {
        ERR_clear_error();
        return fail(t, "TLS: certificate refused", X509_verify_cert_error_string(verified));
    }
    return fail(t, "TLS", openssl_reason());
}

enum tls_result tls_handshake(struct tls *t)
{
    if (t->failed || t->established)
        return t->failed ? TLS_FAILED : TLS_DONE;
    if (t->context->mode == TLS_MODE_VERIFY && t->name[0] == 0)
        return fail(t, "TLS: no host name to verify the certificate by", NULL);
    ERR_clear_error();
    int returned = SSL_do_handshake(t->ssl);
    if (returned == 1) {
        t->established = true;
        return TLS_DONE;
    }
    enum tls_result result = judge(t, returned);
    if (result == TLS_EOF)
        result = fail(t, "TLS: the peer closed during the handshake", NULL);
    if (result == TLS_FAILED && t->name)
        session_forget(t);
    return result;
}

bool tls_is_established(const struct tls *t)
{
    return t->established && !t->failed;
}

bool tls_input(struct tls *t, const void *bytes, size_t len)
{
    return len == 0 || queue_put(&t->in, bytes, len, len);
}

enum tls_result tls_read(struct tls *t, void *out, size_t room, size_t *n)
{
    *n = 0;
    if (t->failed)
        return TLS_FAILED;
    if (!t->established)
        return fail(t, "TLS: read before the handshake", NULL);
    ERR_clear_error();
    int returned = SSL_read_ex(t->ssl, out, room, n);
    if (returned == 1)
        return TLS_DONE;
    *n = 0;
    return judge(t, returned);
}

enum tls_result tls_write(struct tls *t, const void *in, size_t len)
{
    if (t->failed)
        return TLS_FAILED;
    if (!t->established || t->goodbye_sent)
        return fail(
            t, t->goodbye_sent ? "TLS: write after shutdown" : "TLS: write before the handshake",
            NULL);
    if (len == 0)
        return TLS_DONE;
    ERR_clear_error();
    size_t records = (len + RECORD_CLEAR_BYTES - 1) / RECORD_CLEAR_BYTES;
    t->out_hint_bytes = len + records * RECORD_EXTRA_BYTES;
    size_t taken;
    int returned = SSL_write_ex(t->ssl, in, len, &taken);
    t->out_hint_bytes = 0;
    if (returned == 1)
        return TLS_DONE;
    enum tls_result result = judge(t, returned);
    return result == TLS_FAILED ? result : fail(t, "TLS: write would wait", NULL);
}

void tls_output(const struct tls *t, const uint8_t **at, size_t *len)
{
    const struct chunk *c = t->out.head;
    *at = c ? c->data + c->at : NULL;
    *len = c ? c->used - c->at : 0;
}

void tls_output_done(struct tls *t, size_t n)
{
    queue_drop(&t->out, n);
}

void tls_shutdown(struct tls *t)
{
    if (!tls_is_established(t) || t->goodbye_sent)
        return;
    t->goodbye_sent = true;
    ERR_clear_error();
    int returned = SSL_shutdown(t->ssl); /* 0: ours is out, the peer's not in yet */
    if (returned < 0)
        (void)judge(t, returned);
}

const char *tls_error_text(const struct tls *t)
{
    return t->error;
}

const char *tls_version_text(const struct tls *t)
{
    return SSL_get_version(t->ssl);
}

bool tls_is_resumed(const struct tls *t)
{
    return SSL_session_reused(t->ssl) == 1;
}
