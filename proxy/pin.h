/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a session keeps its backend between statements. Each reason is a bit, a word for logs,
 * metrics and SHOW PINS, a word for the queue timeout's text, and the way it ends. Until part 2
 * makes more of them end early, "session" means: COM_RESET_CONNECTION, COM_CHANGE_USER or
 * disconnect, and the backend is reset then. */
#ifndef SLUICE_PROXY_PIN_H
#define SLUICE_PROXY_PIN_H

#include <stdint.h>

/* X(ID, word, as held) */
#define PINS(X)                                                                                    \
    X(TRANSACTION, "transaction", "in transaction")    /* until the server says that it is over */ \
    X(USER_VARIABLE, "user_variable", "user variable") /* session */                               \
    X(TEMPORARY_TABLE, "temporary_table", "temporary table") /* session */                         \
    X(TABLE_LOCK, "table_lock", "LOCK TABLES")               /* session */                         \
    X(NAMED_LOCK, "named_lock", "GET_LOCK")                  /* session */                         \
    X(HANDLER, "handler", "HANDLER")                         /* session */                         \
    X(CURSOR, "cursor", "cursor")          /* until its statement is closed or reset */            \
    X(LONG_DATA, "long_data", "long data") /* until its statement is executed, reset or closed */  \
    X(TEXT_PREPARE, "text_prepare", "PREPARE") /* session */                                       \
    X(XA, "xa", "XA")                          /* session */                                       \
    X(ROLE, "role", "SET ROLE")                /* session, and the backend is closed */            \
    X(ROUTINE, "routine", "CALL")              /* session */                                       \
    X(UNKNOWN_FUNCTION, "unknown_function", "unknown function") /* session */                      \
    X(SESSION_VARIABLE, "session_variable", "session variable") /* session */                      \
    X(LAST_STATEMENT, "last_statement", "warnings")             /* until the next statement */     \
    X(SESSION_MODE, "session_mode", "session mode")             /* session */                      \
    X(PREPARED_STATEMENT, "prepared_statement",                                                    \
      "prepared statement") /* until the last one is closed */

enum pin_reason {
#define X(id, word, held) PIN_REASON_##id,
    PINS(X)
#undef X
        PIN_REASONS_COUNT
};

/* Bits of a set of reasons. */
enum pin {
#define X(id, word, held) PIN_##id = 1 << PIN_REASON_##id,
    PINS(X)
#undef X
};

struct session;

/* When this reason began to hold, by the loop's clock, and the digest of the statement that it
 * began with ("" when that is not known; valid until the next statement). */
uint64_t pin_since_ms(const struct session *s, enum pin_reason r);
const char *pin_digest_text(const struct session *s, enum pin_reason r);
const char *pin_word(enum pin_reason r);
/* For the first reason in a set: what the queue timeout's text says; "a statement" for the empty
 * set. */
const char *pin_held_text(uint32_t pins);

#endif
