/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that one build of its own (`make break`, -DSLUICE_BREAK) can break: the one that the
 * environment variable SLUICE_BREAK_RULE names. tests/oracle/prove.py shows by it that the oracle
 * notices each. In every other build broken() is a constant, and nothing of this is in the program.
 * Set before the loop runs, only read afterwards. */
#ifndef SLUICE_POOL_BREAKS_H
#define SLUICE_POOL_BREAKS_H

#include <stdbool.h>
#include <stdio.h>

/* X(ID, name) */
#define RULES(X)                                                                                   \
    /* what is virtual is restored where the client runs next */                                   \
    X(SCHEMA_RESTORED, "schema_restored")                                                          \
    X(CHARSET_RESTORED, "charset_restored")                                                        \
    X(VARIABLES_RESTORED, "variables_restored")                                                    \
    X(SQL_MODE_TRACKED, "sql_mode_tracked")                                                        \
    X(LAST_INSERT_ID_RESTORED, "last_insert_id_restored")                                          \
    X(BEGIN_CARRIED, "begin_carried")                                                              \
    /* and ends where a session ends */                                                            \
    X(RESET_CLEARS_VARIABLES, "reset_clears_variables")                                            \
    X(CHANGE_USER_CLEARS_STATE, "change_user_clears_state")                                        \
    X(DIRTY_IS_RESET, "dirty_is_reset")                                                            \
    /* what only one backend has keeps it */                                                       \
    X(TRANSACTION_PINS, "transaction_pins")                                                        \
    X(ONE_SHOT_PINS, "one_shot_pins")                                                              \
    X(USER_VARIABLE_PINS, "user_variable_pins")                                                    \
    X(TEMPORARY_TABLE_PINS, "temporary_table_pins")                                                \
    X(NAMED_LOCK_PINS, "named_lock_pins")                                                          \
    X(TABLE_LOCK_PINS, "table_lock_pins")                                                          \
    X(XA_PINS, "xa_pins")                                                                          \
    X(CURSOR_PINS, "cursor_pins")                                                                  \
    X(LONG_DATA_SENT, "long_data_sent")                                                            \
    /* what is about the client's last statement, or about itself, is its own */                   \
    X(LAST_STATE_OWN, "last_state_own")                                                            \
    X(WARNINGS_OWN, "warnings_own")                                                                \
    X(CONNECTION_ID_REPLACED, "connection_id_replaced")                                            \
    /* texts mean what they mean in the client's state */                                          \
    X(LEXER_FOLLOWS_SQL_MODE, "lexer_follows_sql_mode")                                            \
    X(PREPARE_KEYED_BY_STATE, "prepare_keyed_by_state")                                            \
    X(TYPES_RESENT, "types_resent")

enum rule {
#define X(id, name) RULE_##id,
    RULES(X)
#undef X
        RULES_COUNT
};

#ifdef SLUICE_BREAK
bool broken(enum rule r);
/* Takes the variable out of the environment, where options are looked for. False: it names no rule.
 */
bool breaks_begin(void);
void breaks_list(FILE *out);
#else
#define broken(rule) false
static inline bool breaks_begin(void)
{
    return true;
}
static inline void breaks_list(FILE *out)
{
    (void)out;
}
#endif

#endif
