/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a session's system variables that are virtual (pool/variables.def), as one interned
 * object: two sessions have the same settings when their pointers are equal, and an idle client
 * costs a pointer. Values are kept as the server's trackers and SHOW VARIABLES spell them. Loop
 * thread only. */
#ifndef SLUICE_POOL_SETTINGS_H
#define SLUICE_POOL_SETTINGS_H

#include "pool/state.h"

enum variable {
#define VARIABLE(name, form, binds) VARIABLE_##name,
#include "pool/variables.def"
#undef VARIABLE
    VARIABLES_COUNT,
};

enum variable_form {
    VARIABLE_WORD,   /* set as a quoted literal */
    VARIABLE_NUMBER, /* set as it stands */
    VARIABLE_SWITCH, /* ON or OFF; read by SELECT as 1 or 0 */
};

struct settings {
    uint32_t refs;
    uint32_t hash;
    struct settings *next;  /* in its bucket */
    struct settings *bound; /* itself, or the same without what no PREPARE binds; a reference */
    uint32_t scan_mode;     /* enum sql_mode that sql_mode stands for, without SQL_MODE_MARIADB */
    uint16_t status;        /* AUTOCOMMIT and NO_BACKSLASH_ESCAPES of a status word */
    name_id value[VARIABLES_COUNT]; /* 0: empty, or this server has no such variable; references */
};

struct settings_table; /* opaque */

struct settings_table *settings_table_new(struct names *names); /* names: borrowed, outlives it */
/* With what is left in it: no reference may be used behind it. NULL is fine. */
void settings_table_free(struct settings_table *t);
/* The object with these values, interned; a reference of the caller's. value[] is copied. */
struct settings *settings_make(struct settings_table *t, const name_id value[VARIABLES_COUNT]);
/* `base` with one value changed (base may be the result); a reference of the caller's. */
struct settings *settings_with(struct settings_table *t, const struct settings *base,
                               enum variable v, struct bytes value);
/* `base` with IGNORE_SPACE in sql_mode, as the servers set it for a login with that flag; a
 * reference of the caller's. */
struct settings *settings_ignoring_space(struct settings_table *t, struct settings *base);
struct settings *settings_ref(struct settings *s); /* NULL is fine */
void settings_unref(struct settings_table *t, struct settings *s);
size_t settings_count(const struct settings_table *t);

/* VARIABLES_COUNT when it is none of them; letters of either case. tx_isolation and
 * transaction_isolation are two names of one, as are tx_read_only and transaction_read_only. */
enum variable variable_find(struct bytes name);
const char *variable_name(enum variable v);
enum variable_form variable_form(enum variable v);
/* May a prepared statement keep what it was at its PREPARE? */
bool variable_binds(enum variable v);
/* Can `value` be set again as text: ASCII without quotes, backslashes and control characters? */
bool variable_value_is_safe(struct bytes value);
/* Writes "@@session.name='value'" or "@@session.name=value" for SET, on MariaDB by the name that it
 * knows. Bytes written; 0: no room. value: safe. */
size_t variable_write(char *out, size_t room, enum variable v, struct bytes value, bool mariadb);

#endif
