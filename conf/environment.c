/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration from the environment. See environment.h. */
#include "conf/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"
#include "conf/units.h"
#include "conf/value.h"

enum { NAME_MAX_BYTES = 96 };

/* The parts that a backend may come in. */
enum part {
    PART_HOST,
    PART_PORT,
    PART_USER,
    PART_PASSWORD,
    PART_DATABASE,
};

static const char *const part_names[] = {
    [PART_HOST] = "HOST",         [PART_PORT] = "PORT",         [PART_USER] = "USER",
    [PART_PASSWORD] = "PASSWORD", [PART_DATABASE] = "DATABASE",
};

enum { PART_COUNT = sizeof part_names / sizeof part_names[0] };

/* Other names of an option. */
static const struct {
    const char *name;
    enum option_id id;
} aliases[] = {
    {"SLUICE_HEALTH_LISTEN", OPTION_admin_health_listen},
    {"SLUICE_MYSQL_POOL_SIZE", OPTION_mysql_pool_max},
    {"SLUICE_REDIS_POOL_SIZE", OPTION_redis_pool_max},
};

enum { ALIAS_COUNT = sizeof aliases / sizeof aliases[0] };

/* "SLUICE_MYSQL_POOL_MAX" */
static const char *option_name(const char *section, const char *key, char out[NAME_MAX_BYTES])
{
    (void)snprintf(out, NAME_MAX_BYTES, "SLUICE_%s_%s", section, key);
    for (char *at = out; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return out;
}

const char *environment_plain(char **environ_, const char *name, size_t name_len)
{
    for (char **at = environ_; at != NULL && *at != NULL; at++)
        if (strncmp(*at, name, name_len) == 0 && (*at)[name_len] == '=')
            return *at + name_len + 1;
    return NULL;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

/* What Kubernetes puts into every container for a service named sluice-mysql:
 * SLUICE_MYSQL_PORT=tcp://10.0.0.1:6033. */
static bool is_link_value(const char *name, const char *value)
{
    return ends_with(name, "_PORT") &&
           (starts_with(value, "tcp://") || starts_with(value, "udp://") ||
            starts_with(value, "sctp://"));
}

/* Set, not empty, and not a service link. */
static const char *get_meant(char **environ_, const char *name)
{
    const char *value = environment_plain(environ_, name, strlen(name));
    return value == NULL || *value == '\0' || is_link_value(name, value) ? NULL : value;
}

static const char *get_twin(char **environ_, const char *name)
{
    char twin[NAME_MAX_BYTES + 8];
    (void)snprintf(twin, sizeof twin, "%s_FILE", name);
    return get_meant(environ_, twin);
}

bool environment_has(char **environ_, const char *name)
{
    return get_meant(environ_, name) != NULL || get_twin(environ_, name) != NULL;
}

char *environment_read_secret(const char *path, struct why *why)
{
    FILE *in = fopen(path, "re");
    if (in == NULL) {
        (void)why_set(why, "%s: %s", path, strerror(errno));
        return NULL;
    }
    setbuf(in, NULL); /* no second copy of a secret in memory */
    char *text = memory_new(SECRET_FILE_MAX_BYTES + 1);
    errno = 0;
    size_t len = fread(text, 1, SECRET_FILE_MAX_BYTES + 1, in);
    bool good = true;
    if (ferror(in))
        good = why_set(why, "%s: %s", path, strerror(errno));
    else if (len > SECRET_FILE_MAX_BYTES)
        good = why_set(why, "%s: has more than %d bytes", path, SECRET_FILE_MAX_BYTES);
    else if (memchr(text, '\0', len) != NULL)
        good = why_set(why, "%s: holds a NUL byte", path);
    (void)fclose(in);
    if (good && len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    if (good && len > 0 && text[len - 1] == '\r')
        text[--len] = '\0';
    char *value = good ? memory_copy(text) : NULL;
    explicit_bzero(text, SECRET_FILE_MAX_BYTES + 1);
    free(text);
    return value;
}

bool environment_get(char **environ_, const char *name, char **value, struct why *where,
                     struct problems *problems)
{
    struct why why;
    const char *plain = get_meant(environ_, name);
    const char *path = get_twin(environ_, name);
    if (plain == NULL && path == NULL)
        return false;
    if (plain != NULL && path != NULL) {
        problems_add(problems, "environment %s: %s_FILE is set too, leave one of them", name, name);
        return false;
    }
    (void)why_set(where, "environment %s%s", name, plain == NULL ? "_FILE" : "");
    *value = plain != NULL ? memory_copy(plain) : environment_read_secret(path, &why);
    if (*value == NULL)
        problems_add(problems, "%s: %s", where->text, why.text);
    return *value != NULL;
}

/* ---- options ---- */

static void apply_name(struct layer *layer, const struct option_row *row, const char *name)
{
    char *value;
    struct why where;
    if (!environment_get(layer->environ, name, &value, &where, layer->problems))
        return;
    layer_assign(layer, row, value, where.text);
    memory_free_secret(value);
}

/* Backends go first, so that a key of its own beats the same key as a URL's parameter. */
static void apply_options(struct layer *layer, bool backends)
{
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        if ((row->type == OPTION_BACKEND_LIST) == backends)
            apply_name(layer, row, option_name(row->section, row->key, name));
    }
    for (size_t i = 0; !backends && i < ALIAS_COUNT; i++)
        apply_name(layer, &option_table[aliases[i].id], aliases[i].name);
}

/* ---- a backend in parts ---- */

/* The path of a socket, "[v6]", v6 or a name: all that people write into such a variable. */
static bool set_host(struct backend_option *backend, const char *text, struct why *why)
{
    size_t len = strlen(text);
    bool is_path = *text == '/' && len <= ADDRESS_PATH_MAX_BYTES;
    bool bracketed = *text == '[' && text[len - 1] == ']';
    const char *host = text + bracketed;
    len -= bracketed ? 2 : 0;
    if (!is_path && !address_is_host(host, len, memchr(host, ':', len) != NULL))
        return why_set(why, "is no host's name or address and no socket's path; the port has a "
                            "variable of its own");
    free(backend->host);
    free(backend->path);
    backend->host = is_path ? NULL : memory_copy_bytes(host, len);
    backend->path = is_path ? memory_copy(text) : NULL;
    return true;
}

static bool set_port(struct backend_option *backend, const char *text, struct why *why)
{
    int64_t port;
    if (!units_parse_number(text, &port, why) || port < 1 || port > UINT16_MAX)
        return why_set(why, "the port must be 1..65535");
    backend->port = (uint16_t)port;
    return true;
}

static bool set_part(struct backend_option *backend, enum part part, const char *text,
                     struct why *why)
{
    switch (part) {
    case PART_HOST:
        return set_host(backend, text, why);
    case PART_PORT:
        return set_port(backend, text, why);
    case PART_USER:
        free(backend->user);
        backend->user = memory_copy(text);
        return true;
    case PART_PASSWORD:
        memory_free_secret(backend->password);
        backend->password = memory_copy(text);
        return true;
    case PART_DATABASE:
        free(backend->schema);
        backend->schema = memory_copy(text);
        return true;
    }
    return false;
}

/* The backend that the parts make or change; NULL when there is none and no host either. */
static struct backend_option *part_target(struct pool_options *pool, bool has_host, uint16_t port)
{
    if (pool->backend_count == 0 && !has_host)
        return NULL;
    if (pool->backend_count == 0) {
        pool->backend = memory_append(NULL, &pool->backend_count, sizeof *pool->backend);
        pool->backend[0].port = port;
    }
    return &pool->backend[0];
}

static void apply_parts(struct layer *layer, const struct option_row *row,
                        struct pool_options *pool, uint16_t default_port)
{
    char name[NAME_MAX_BYTES];
    bool has_host = environment_has(layer->environ, option_name(row->section, "HOST", name));
    struct backend_option *backend = part_target(pool, has_host, default_port);
    for (size_t i = 0; i < PART_COUNT; i++) {
        char *value;
        struct why where;
        struct why why;
        if (!environment_get(layer->environ, option_name(row->section, part_names[i], name), &value,
                             &where, layer->problems))
            continue;
        if (backend == NULL)
            layer_problem(layer, row, where.text, "says a part of a backend, but no host is given");
        else if (!set_part(backend, (enum part)i, value, &why))
            layer_problem(layer, row, where.text, why.text);
        else if (!layer->given[option_id_of(row)])
            (void)layer_claim(layer, row, where.text);
        memory_free_secret(value);
    }
}

/* ---- names that are none of ours ---- */

/* A name without its SLUICE_: SERVICE_HOST, X_SERVICE_PORT_NAME, X_PORT_6033_TCP_ADDR. */
static bool is_service_link(const char *rest)
{
    static const char *const ends[] = {"", "_PROTO", "_PORT", "_ADDR"};
    const char *service = strstr(rest, "SERVICE_");
    if (service != NULL && (service == rest || service[-1] == '_')) {
        const char *what = service + strlen("SERVICE_");
        if (strcmp(what, "HOST") == 0 || strcmp(what, "PORT") == 0 || starts_with(what, "PORT_"))
            return true;
    }
    for (const char *at = rest; (at = strstr(at, "PORT_")) != NULL; at++) {
        const char *digits = at + strlen("PORT_");
        size_t len = strspn(digits, "0123456789");
        const char *protocol = digits + len;
        if ((at != rest && at[-1] != '_') || len == 0)
            continue;
        size_t skip = starts_with(protocol, "_SCTP")                                   ? 5
                      : starts_with(protocol, "_TCP") || starts_with(protocol, "_UDP") ? 4
                                                                                       : 0;
        for (size_t i = 0; skip > 0 && i < sizeof ends / sizeof ends[0]; i++)
            if (strcmp(protocol + skip, ends[i]) == 0)
                return true;
    }
    return false;
}

static bool is_known_plain(const char *name)
{
    char known[NAME_MAX_BYTES];
    if (strcmp(name, "SLUICE_CONFIG") == 0)
        return true;
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        if (strcmp(option_name(option_table[i].section, option_table[i].key, known), name) == 0)
            return true;
    for (size_t i = 0; i < ALIAS_COUNT; i++)
        if (strcmp(aliases[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < PART_COUNT; i++)
        if (strcmp(option_name("MYSQL", part_names[i], known), name) == 0 ||
            strcmp(option_name("REDIS", part_names[i], known), name) == 0)
            return true;
    return false;
}

static bool is_known(const char *name)
{
    char stem[NAME_MAX_BYTES];
    if (is_known_plain(name))
        return true;
    (void)snprintf(stem, sizeof stem, "%s", name);
    if (!ends_with(stem, "_FILE"))
        return false;
    stem[strlen(stem) - strlen("_FILE")] = '\0';
    return is_known_plain(stem);
}

/* The name that was probably meant, in `out`; false when nothing comes near. */
static bool nearest_name(const char *name, char out[NAME_MAX_BYTES])
{
    char rest[NAME_MAX_BYTES];
    (void)snprintf(rest, sizeof rest, "%s", name + strlen("SLUICE_"));
    for (char *at = rest; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    char *key = strchr(rest, '_');
    if (key == NULL)
        return false;
    *key++ = '\0';
    const char *section = option_nearest(NULL, rest);
    const char *nearest = section == NULL ? NULL : option_nearest(section, key);
    if (nearest == NULL)
        return false;
    (void)option_name(section, nearest, out);
    return true;
}

static void find_strangers(struct layer *layer)
{
    for (char **at = layer->environ; at != NULL && *at != NULL; at++) {
        char name[NAME_MAX_BYTES];
        char nearest[NAME_MAX_BYTES];
        size_t len = strcspn(*at, "=");
        if (!starts_with(*at, "SLUICE_"))
            continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name - 1),
                       *at);
        const char *value = (*at)[len] == '=' ? *at + len + 1 : "";
        if (is_known(name) || is_service_link(name + strlen("SLUICE_")) ||
            is_link_value(name, value))
            continue;
        if (nearest_name(name, nearest))
            problems_add(layer->problems, "environment %s: unknown name, did you mean %s?", name,
                         nearest);
        else
            problems_add(layer->problems, "environment %s: unknown name", name);
    }
}

void environment_apply(struct layer *layer)
{
    apply_options(layer, true);
    apply_parts(layer, &option_table[OPTION_mysql_backend], &layer->options->mysql.pool, 3306);
    apply_parts(layer, &option_table[OPTION_redis_backend], &layer->options->redis.pool, 6379);
    apply_options(layer, false);
    find_strangers(layer);
}
