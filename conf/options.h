/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration as everybody else reads it: plain structs, made from options.def. A load
 * (conf/load.h) builds a new one and checks it whole; it never changes afterwards, so that a reload
 * is a swap of pointers. Any thread may read. */
#ifndef SLUICE_CONF_OPTIONS_H
#define SLUICE_CONF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/address.h"
#include "conf/log.h"
#include "conf/options.def"

/* TLS towards the backend. */
enum backend_tls {
    TLS_OFF,
    TLS_PREFER,    /* if the backend offers it */
    TLS_REQUIRE,   /* any certificate */
    TLS_VERIFY_CA, /* signed by tls_ca, any name */
    TLS_VERIFY,    /* and for the host of the URL */
};

/* TLS towards clients. */
enum listen_tls {
    LISTEN_TLS_OFF,
    LISTEN_TLS_AUTO,    /* offered; a generated certificate unless one is set */
    LISTEN_TLS_REQUIRE, /* the same, and nothing else is served */
};

enum tls_version {
    TLS_VERSION_1_2,
    TLS_VERSION_1_3,
};

enum redis_multi {
    REDIS_MULTI_AUTO,
    REDIS_MULTI_PIN,
};

enum ready_requires {
    READY_LISTENERS,
    READY_BACKEND,
};

enum backend_role {
    ROLE_AUTO,
    ROLE_PRIMARY,
    ROLE_REPLICA,
};

enum { USER_HASH_BYTES = 20 };

/* One server behind. Owns its strings. */
struct backend_option {
    char *host;           /* NULL with a path; v6 without brackets */
    uint16_t port;        /* never 0 with a host */
    char *path;           /* unix socket, NULL with a host */
    char *user;           /* NULL: no credentials of our own */
    char *password;       /* NULL when none was given; wiped when freed */
    char *schema;         /* database (a number for Redis); NULL: none */
    enum backend_tls tls; /* the section's, resolved */
    enum backend_role role;
    bool clients_trust; /* clients=trust: local clients are this user without a password */
};

/* One user who may log in. Owns its strings. */
struct user_option {
    char *name;
    char *password; /* NULL when only the hash is known; wiped when freed */
    bool has_hash;
    uint8_t hash[USER_HASH_BYTES]; /* SHA1(SHA1(password)), as mysql.user shows it after the '*' */
    int pool_max;                  /* 0: the section's */
};

/* ---- fields, by type ---- */
#define OPTION_FIELD_STRING(key)       char *key;
#define OPTION_FIELD_BOOL(key)         bool key;
#define OPTION_FIELD_COUNT(key)        int key;
#define OPTION_FIELD_SHARE(key)        int key, key##_percent; /* percent is 0 for a count */
#define OPTION_FIELD_DURATION(key)     int64_t key##_ms;
#define OPTION_FIELD_DURATION_OFF(key) int64_t key##_ms; /* 0 is off */
#define OPTION_FIELD_SIZE(key)         int64_t key##_bytes;
#define OPTION_FIELD_ADDRESS_LIST(key)                                                             \
    struct address *key;                                                                           \
    size_t key##_count;
#define OPTION_FIELD_BACKEND_LIST(key)                                                             \
    struct backend_option *key;                                                                    \
    size_t key##_count;
/* `users` has its count in user_count, since every reader says it so. */
#define OPTION_FIELD_USER_LIST(key)                                                                \
    struct user_option *key;                                                                       \
    size_t user_count;
#define OPTION_FIELD_STRING_LIST(key)                                                              \
    char **key;                                                                                    \
    size_t key##_count;

#define OPTION_FIELD(s, key, type, d, min, max, unit, reload, help) OPTION_FIELD_##type(key)
#define OPTION_FIELD_ENUM(s, key, tag, d, words, reload, help)      enum tag key;

/* What mysql and redis share, for code that serves both. */
struct pool_options {
    OPTIONS_POOL(OPTION_FIELD, OPTION_FIELD_ENUM, _, _)
};

/* opts->mysql.pool_max and opts->mysql.pool.pool_max are the same bytes. */
struct mysql_options {
    union {
        struct pool_options pool;
        struct {
            OPTIONS_POOL(OPTION_FIELD, OPTION_FIELD_ENUM, _, _)
        };
    };
    OPTIONS_MYSQL_OWN(OPTION_FIELD, OPTION_FIELD_ENUM, _)
};

struct redis_options {
    union {
        struct pool_options pool;
        struct {
            OPTIONS_POOL(OPTION_FIELD, OPTION_FIELD_ENUM, _, _)
        };
    };
    OPTIONS_REDIS_OWN(OPTION_FIELD, OPTION_FIELD_ENUM, _)
};

struct admin_options {
    OPTIONS_ADMIN_OWN(OPTION_FIELD, OPTION_FIELD_ENUM, _)
};

struct process_options {
    OPTIONS_PROCESS_OWN(OPTION_FIELD, OPTION_FIELD_ENUM, _)
};

/* ---- the table ---- */
#define OPTION_ID(s, key, type, d, min, max, unit, reload, help) OPTION_##s##_##key,
#define OPTION_ID_ENUM(s, key, tag, d, words, reload, help)      OPTION_##s##_##key,

/* OPTION_mysql_pool_max and so on: the row's place in option_table. */
enum option_id { OPTIONS_ALL(OPTION_ID, OPTION_ID_ENUM) OPTION_TOTAL };

enum option_type {
    OPTION_STRING,
    OPTION_BOOL,
    OPTION_COUNT,
    OPTION_SHARE,
    OPTION_DURATION,
    OPTION_DURATION_OFF,
    OPTION_SIZE,
    OPTION_ADDRESS_LIST,
    OPTION_BACKEND_LIST,
    OPTION_USER_LIST,
    OPTION_STRING_LIST,
    OPTION_ENUM,
};

enum option_reload {
    RELOADABLE,
    RESTART,
};

/* A row of options.def. */
struct option_row {
    const char *section;
    const char *key;
    enum option_type type;
    enum option_reload reload;
    const char *default_text;
    int64_t min, max; /* COUNT, SHARE; DURATION in ms; SIZE in bytes */
    const char *unit; /* ENUM: the words, '|' between two */
    const char *help;
    size_t offset;       /* of the field in struct options */
    size_t count_offset; /* lists: of the count; SHARE: of the percentage */
};

extern const struct option_row option_table[OPTION_TOTAL];

/* Later ones win. */
enum option_layer {
    LAYER_DEFAULT,
    LAYER_FILE,
    LAYER_ENVIRONMENT,
    LAYER_FLAG,
};

/* Where a value came from. */
struct option_origin {
    enum option_layer layer;
    char *where; /* "FILE:LINE", "environment NAME", "--flag"; NULL for a default */
};

/* Owns everything below it. */
struct options {
    struct mysql_options mysql;
    struct redis_options redis;
    struct admin_options admin;
    struct process_options process;
    char *source_file; /* NULL: none was read */
    struct option_origin origins[OPTION_TOTAL];
};

/* All defaults. Never NULL: memory that small is there or the process ends. */
struct options *options_new(void);
/* Wipes secrets first. NULL is fine. */
void options_free(struct options *options);

/* NULL when there is none; takes the alias pool_size for pool_max. */
const struct option_row *option_find(const char *section, const char *key);
/* The key of `section` (or the section, when `section` is NULL) that `word` most resembles; NULL
 * when none comes near. */
const char *option_nearest(const char *section, const char *word);

static inline const void *option_value(const struct options *options, const struct option_row *row)
{
    return (const char *)options + row->offset;
}

static inline enum option_id option_id_of(const struct option_row *row)
{
    return (enum option_id)(row - option_table);
}

/* Calls `on_change` for each row whose value differs. What a reload shows, and how it finds what
 * needs a restart (row->reload). */
typedef void (*option_change_fn)(const struct option_row *row, void *context);
void options_diff(const struct options *before, const struct options *after,
                  option_change_fn on_change, void *context);

#endif
