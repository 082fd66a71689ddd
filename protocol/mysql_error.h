/* SPDX-License-Identifier: Apache-2.0
 *
 * The ERR packets that Sluice itself sends. One row per cause: enum, error number, SQLSTATE, word
 * for logs and for the metrics label. The text comes from the caller, since it names limits and
 * remedies. Any thread. */
#ifndef SLUICE_PROTOCOL_MYSQL_ERROR_H
#define SLUICE_PROTOCOL_MYSQL_ERROR_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define MYSQL_ERRORS(X)                                                                  \
    X(QUEUE_TIMEOUT,               1040, "08004", "queue_timeout")                       \
    X(CLIENT_LIMIT,                1040, "08004", "client_limit")                        \
    X(BACKEND_DOWN,                1429, "HY000", "backend_down")                        \
    X(BACKEND_LOST,                1927, "70100", "backend_lost")                        \
    X(BACKEND_LOST_IN_TRANSACTION, 1927, "70100", "backend_lost_in_transaction")         \
    X(REFUSED,                     1235, "42000", "refused")                             \
    X(UNKNOWN_COMMAND,             1047, "08S01", "unknown_command")                     \
    X(UNKNOWN_STATEMENT,           1243, "HY000", "unknown_statement")                   \
    X(UNKNOWN_THREAD,              1094, "HY000", "unknown_thread")                      \
    X(UNSUPPORTED_FLAG,            1043, "08S01", "unsupported_flag")                    \
    X(TOO_LARGE,                   1153, "08S01", "too_large")                           \
    X(MALFORMED,                   1835, "HY000", "malformed")                           \
    X(DRAIN,                       1053, "08S01", "drain")                               \
    X(KILLED,                      1317, "70100", "killed")                              \
    X(ACCESS_DENIED,               1045, "28000", "access_denied")                       \
    X(LOGIN_RATE,                  1203, "42000", "login_rate")                          \
    X(LOGIN_TIMEOUT,               1159, "08S01", "login_timeout")                       \
    X(CLIENT_IDLE,                 4031, "HY000", "client_idle")                         \
    X(IDLE_IN_TRANSACTION,         4031, "HY000", "idle_in_transaction")
/* clang-format on */

enum mysql_error {
#define X(name, code, sqlstate, word) MYSQL_ERROR_##name,
    MYSQL_ERRORS(X)
#undef X
};

enum {
#define X(name, code, sqlstate, word) +1
    MYSQL_ERROR_COUNT = 0 MYSQL_ERRORS(X),
#undef X
    MYSQL_ERROR_PACKET_MAX_BYTES = 4 + 9 + 512, /* room that is always enough */
};

struct mysql_error_info {
    uint16_t code;
    const char *sqlstate;
    const char *word;
};

const struct mysql_error_info *mysql_error_info(enum mysql_error e);

/* A whole ERR packet with "sluice: " before `text`; not before that of ACCESS_DENIED, which is a
 * server's own sentence and must look like it. Cut to 512 bytes. Bytes written, 0 when `room` is
 * too small. */
size_t mysql_error_packet(uint8_t *out, size_t room, uint8_t seq, enum mysql_error e,
                          const char *text);

#endif
