/* SPDX-License-Identifier: Apache-2.0
 *
 * Every way in which a client's session ends: enum, word for the log and the metrics label, level
 * of the log line. */
#ifndef SLUICE_PROXY_CLOSE_REASON_H
#define SLUICE_PROXY_CLOSE_REASON_H

/* X(ID, word, level) */
#define CLOSE_REASONS(X)                                                                           \
    X(CLIENT_QUIT, "client_quit", LOG_DEBUG)                                                       \
    X(CLIENT_EOF, "client_eof",                                                                    \
      LOG_DEBUG) /* closed without COM_QUIT, as PHP does when a script ends */                     \
    X(CLIENT_LOST, "client_lost", LOG_INFO) /* reset, or a write failed */                         \
    X(CLIENT_TLS, "client_tls", LOG_INFO)   /* the TLS handshake or a record was bad */            \
    X(CLIENT_PROTOCOL, "client_protocol", LOG_WARN)                                                \
    X(LOGIN_REFUSED, "login_refused", LOG_INFO)                                                    \
    X(LOGIN_TIMEOUT, "login_timeout", LOG_INFO)                                                    \
    X(CLIENT_LIMIT, "client_limit", LOG_WARN)                                                      \
    X(IDLE_TIMEOUT, "idle_timeout", LOG_INFO)                                                      \
    X(BACKEND_DOWN, "backend_down", LOG_WARN) /* no greeting within connect_timeout */             \
    X(BACKEND_LOST, "backend_lost", LOG_WARN) /* with state that only that backend held */         \
    X(IDLE_IN_TRANSACTION, "idle_in_transaction", LOG_WARN)                                        \
    X(KILLED, "killed", LOG_INFO)                                                                  \
    X(DRAIN, "drain", LOG_INFO)                                                                    \
    X(SHUTDOWN, "shutdown", LOG_INFO)                                                              \
    X(MEMORY, "memory", LOG_ERROR)

enum close_reason {
#define X(id, word, level) CLOSE_##id,
    CLOSE_REASONS(X)
#undef X
        CLOSE_REASONS_COUNT
};

const char *close_reason_word(enum close_reason r);

#endif
