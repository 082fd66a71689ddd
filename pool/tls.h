/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS as an engine between two pairs of byte streams: cipher bytes of the peer in, clear bytes out,
 * and back. It has no socket and never waits; whoever has the socket carries the bytes:
 *
 *      socket read ──▶ tls_input ──▶ tls_handshake, then tls_read ──▶ clear bytes
 *      socket write ◀── tls_output ◀── tls_write ◀── clear bytes
 *
 * After any call but tls_output, look at tls_output: a handshake, a read (key updates) and a
 * failure (the alert that tells the peer why) all make bytes to send. With tls.c, scramble.c is the
 * other file that sees OpenSSL. A context may be shared by threads; a connection belongs to one at
 * a time. */
#ifndef SLUICE_POOL_TLS_H
#define SLUICE_POOL_TLS_H

#include "protocol/wire.h"

/* What is asked of a backend, in the words of the option `tls`. */
enum tls_mode {
    TLS_MODE_OFF,
    TLS_MODE_PREFER,    /* TLS when it offers it, its certificate not looked at */
    TLS_MODE_REQUIRE,   /* TLS or nothing; certificate not looked at */
    TLS_MODE_VERIFY_CA, /* a certificate that the CA has signed, for any name */
    TLS_MODE_VERIFY,    /* and it names the host that we asked for */
};

enum tls_min {
    TLS_MIN_1_2,
    TLS_MIN_1_3,
};

/* "off", "prefer", ... and "1.2", "1.3"; false for other words. */
MUST_CHECK bool tls_mode_parse(const char *text, enum tls_mode *out);
MUST_CHECK bool tls_min_parse(const char *text, enum tls_min *out);

/* Certificates, rules and, for clients, the sessions to resume. Counted: the maker has one
 * reference, each connection another, so that a new context can take its place while old
 * connections go on with the old one. */
struct tls_context;

struct tls_server_options {
    const char
        *cert_file; /* PEM, with the chain; NULL with key_file: make a certificate in memory */
    const char *key_file; /* PEM */
    enum tls_min min;
};

struct tls_client_options {
    enum tls_mode mode;    /* not TLS_MODE_OFF */
    const char *ca_file;   /* PEM, read in the verify modes; NULL: what the system trusts */
    const char *cert_file; /* PEM, our own; NULL: none */
    const char *key_file;
    enum tls_min min;
};

/* NULL on failure, with a sentence in `err` that names the file. Reads files: at start and reload,
 * not per connection. The certificate made in memory has a P-256 key, CN localhost, the names
 * localhost, 127.0.0.1 and ::1, and 10 years. */
MUST_CHECK struct tls_context *tls_context_new_server(const struct tls_server_options *o, char *err,
                                                      size_t err_bytes);
MUST_CHECK struct tls_context *tls_context_new_client(const struct tls_client_options *o, char *err,
                                                      size_t err_bytes);
/* Another owner, who calls tls_context_free too. Gives its argument. */
struct tls_context *tls_context_ref(struct tls_context *ctx);
/* Drops one reference; the last one frees. NULL is fine. */
void tls_context_free(struct tls_context *ctx);
/* The own certificate as PEM text with a NUL, for clients that want to trust it. False: none, or it
 * does not fit (4 KiB is plenty for a generated one). */
MUST_CHECK bool tls_context_certificate(const struct tls_context *ctx, char *pem, size_t room);

/* One connection. Established and idle it has about 15 kB of heap as a server, 19 kB as a client.
 */
struct tls;

enum tls_result {
    TLS_DONE,   /* what was asked is done */
    TLS_WANT,   /* not before more input; nothing is lost, call again after tls_input */
    TLS_EOF,    /* the peer said goodbye (close_notify): no more clear bytes will come */
    TLS_FAILED, /* over, see tls_error_text; send what tls_output still has (the alert), then close.
                   Stays so */
};

/* NULL: no memory. */
MUST_CHECK struct tls *tls_new_server(struct tls_context *ctx);
/* server_name  host name or address that the certificate must name in TLS_MODE_VERIFY (without one
 * every certificate is refused then), and sent as SNI if a name; also what sessions are kept by.
 * NULL or "": none (unix sockets). Copied. NULL is also given for one over 255 bytes */
MUST_CHECK struct tls *tls_new_client(struct tls_context *ctx, const char *server_name);
/* Says no goodbye. NULL is fine. Bytes borrowed from tls_output end with it. */
void tls_free(struct tls *t);

/* Steps the handshake. TLS_DONE also means that tls_output may hold the last flight. A client's
 * first call needs no input. */
MUST_CHECK enum tls_result tls_handshake(struct tls *t);
bool tls_is_established(const struct tls *t);

/* Takes cipher bytes from the peer, all of them. The caller keeps the amount within bounds by
 * reading (tls_read until TLS_WANT) before it gives more. False: no memory, and nothing was taken.
 */
MUST_CHECK bool tls_input(struct tls *t, const void *bytes, size_t len);
/* Clear bytes from the peer: TLS_DONE with 1..room in *n, else *n is 0. At most one record (16 KiB)
 * per call. */
MUST_CHECK enum tls_result tls_read(struct tls *t, void *out, size_t room, size_t *n);
/* Takes clear bytes for the peer, all of them, and makes cipher bytes. TLS_DONE or TLS_FAILED (also
 * without a handshake behind it, or behind tls_shutdown). */
MUST_CHECK enum tls_result tls_write(struct tls *t, const void *in, size_t len);

/* Cipher bytes to send, from the front; *len is 0 when there are none, and else all that lie in one
 * piece (there may be more behind). They stay where they are until tls_output_done has taken them
 * off or tls_free, whatever is called meanwhile: they may be lent to a write in flight. A later
 * call may give the same start and more length. */
void tls_output(const struct tls *t, const uint8_t **at, size_t *len);
/* Takes n bytes off the front, at most what tls_output gave. */
void tls_output_done(struct tls *t, size_t n);

/* Puts close_notify behind what is to send; no more writes. Reading goes on. Does nothing before
 * the handshake is done, after a failure, or the second time. */
void tls_shutdown(struct tls *t);

/* A sentence on the failure; "" without one. Lives as long as the connection. */
const char *tls_error_text(const struct tls *t);
/* "TLSv1.3"; never NULL. */
const char *tls_version_text(const struct tls *t);
/* The handshake took up an earlier session: no certificate was sent. */
bool tls_is_resumed(const struct tls *t);

#endif
