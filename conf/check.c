/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks over several options. See check.h. */
#include "conf/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what follows from other options ---- */

static void resolve_pool(struct options *options, struct pool_options *pool,
                         enum option_id pool_total, enum option_id min_idle)
{
    if (pool->max_pinned_percent != 0) {
        int count = (int)((int64_t)pool->pool_max * pool->max_pinned_percent / 100);
        pool->max_pinned = count < 1 ? 1 : count;
    }
    if (options->origins[pool_total].layer == LAYER_DEFAULT && pool->pool_total < pool->pool_max)
        pool->pool_total = pool->pool_max;
    if (options->origins[min_idle].layer == LAYER_DEFAULT && pool->min_idle > pool->pool_max)
        pool->min_idle = pool->pool_max;
    for (size_t i = 0; i < pool->backend_count; i++)
        pool->backend[i].tls = pool->tls;
}

void options_resolve(struct options *options)
{
    resolve_pool(options, &options->mysql.pool, OPTION_mysql_pool_total, OPTION_mysql_min_idle);
    resolve_pool(options, &options->redis.pool, OPTION_redis_pool_total, OPTION_redis_min_idle);
}

/* ---- checks ---- */

/* A problem that belongs to one option, wherever its value came from. */
static void complain(const struct options *options, struct problems *problems, enum option_id id,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void complain(const struct options *options, struct problems *problems, enum option_id id,
                     const char *format, ...)
{
    char text[WHY_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *where = options->origins[id].where;
    problems_add(problems, "%s: %s.%s: %s", where == NULL ? "default" : where,
                 option_table[id].section, option_table[id].key, text);
}

/* The rows of one pool section, so that mysql and redis are checked by the same lines. */
struct pool_ids {
    enum option_id min_idle, max_pinned, pool_total, reserved;
    enum option_id tls_cert, tls_key, listen_tls_cert, listen_tls_key, users;
};

#define POOL_IDS(s)                                                                                \
    {                                                                                              \
        OPTION_##s##_min_idle, OPTION_##s##_max_pinned, OPTION_##s##_pool_total,                   \
            OPTION_##s##_reserved, OPTION_##s##_tls_cert, OPTION_##s##_tls_key,                    \
            OPTION_##s##_listen_tls_cert, OPTION_##s##_listen_tls_key, OPTION_##s##_users          \
    }

static void check_pool_sizes(const struct options *options, const struct pool_options *pool,
                             const struct pool_ids *ids, struct problems *problems)
{
    if (pool->min_idle > pool->pool_max)
        complain(options, problems, ids->min_idle, "%d is more than pool_max, %d", pool->min_idle,
                 pool->pool_max);
    if (pool->max_pinned > pool->pool_max)
        complain(options, problems, ids->max_pinned, "%d is more than pool_max, %d",
                 pool->max_pinned, pool->pool_max);
    if (pool->pool_total < pool->pool_max)
        complain(options, problems, ids->pool_total, "%d is less than pool_max, %d",
                 pool->pool_total, pool->pool_max);
    for (size_t i = 0; i < pool->user_count; i++)
        if (pool->users[i].pool_max > pool->pool_total)
            complain(options, problems, ids->users,
                     "user %.64s: pool_max %d is more than pool_total, %d", pool->users[i].name,
                     pool->users[i].pool_max, pool->pool_total);
}

static void check_pair(const struct options *options, enum option_id cert_id, const char *cert,
                       enum option_id key_id, const char *key, struct problems *problems)
{
    if (cert != NULL && key == NULL)
        complain(options, problems, cert_id, "needs %s too", option_table[key_id].key);
    if (key != NULL && cert == NULL)
        complain(options, problems, key_id, "needs %s too", option_table[cert_id].key);
}

static void check_pool(const struct options *options, const struct pool_options *pool,
                       const struct pool_ids *ids, struct problems *problems)
{
    check_pool_sizes(options, pool, ids, problems);
    check_pair(options, ids->tls_cert, pool->tls_cert, ids->tls_key, pool->tls_key, problems);
    check_pair(options, ids->listen_tls_cert, pool->listen_tls_cert, ids->listen_tls_key,
               pool->listen_tls_key, problems);
}

/* clients=trust hands the URL's identity to whoever can connect: nobody from outside may. */
static void check_trust(const struct options *options, const struct backend_option *backend,
                        struct problems *problems)
{
    char text[ADDRESS_TEXT_MAX_BYTES];
    if (!backend->clients_trust)
        return;
    if (backend->user == NULL)
        complain(options, problems, OPTION_mysql_backend,
                 "clients=trust needs a user and a password in the URL");
    for (size_t i = 0; i < options->mysql.listen_count; i++)
        if (!address_is_local(&options->mysql.listen[i]))
            complain(options, problems, OPTION_mysql_listen,
                     "%.200s can be reached from outside, which clients=trust does not allow",
                     address_format(&options->mysql.listen[i], text, sizeof text));
}

static void check_backends(const struct options *options, struct problems *problems)
{
    const struct mysql_options *mysql = &options->mysql;
    for (size_t i = 0; i < mysql->backend_count; i++) {
        check_trust(options, &mysql->backend[i], problems);
        if (mysql->backend[i].password != NULL && mysql->backend[i].user == NULL)
            complain(options, problems, OPTION_mysql_backend, "has a password but no user");
    }
}

/* Things that the interface names and that this version does not do. */
static void check_not_yet(const struct options *options, struct problems *problems)
{
    const struct mysql_options *mysql = &options->mysql;
    if (options->redis.backend_count > 0)
        complain(options, problems, OPTION_redis_backend,
                 "redis is not served by this version yet");
    if (mysql->backend_count > 1)
        complain(options, problems, OPTION_mysql_backend,
                 "%zu backends are given, this version serves one", mysql->backend_count);
    for (size_t i = 0; i < mysql->backend_count; i++)
        if (mysql->backend[i].role == ROLE_REPLICA)
            complain(options, problems, OPTION_mysql_backend,
                     "roles are not served by this version yet, leave role = \"replica\" out");
    if (mysql->session_mode_users_count > 0)
        complain(options, problems, OPTION_mysql_session_mode_users,
                 "session mode is not served by this version yet");
    if (options->redis.sentinel_count > 0)
        complain(options, problems, OPTION_redis_sentinel,
                 "sentinel is not served by this version yet");
    if (options->redis.cluster_count > 0)
        complain(options, problems, OPTION_redis_cluster,
                 "cluster is not served by this version yet");
    if (options->process.threads > 1)
        complain(options, problems, OPTION_process_threads,
                 "%d threads are wanted, this version runs one loop thread",
                 options->process.threads);
}

void options_check(const struct options *options, bool needs_backend, struct problems *problems)
{
    static const struct pool_ids mysql_ids = POOL_IDS(mysql);
    static const struct pool_ids redis_ids = POOL_IDS(redis);
    check_pool(options, &options->mysql.pool, &mysql_ids, problems);
    check_pool(options, &options->redis.pool, &redis_ids, problems);
    check_backends(options, problems);
    check_not_yet(options, problems);
    if (needs_backend && options->mysql.backend_count == 0 && options->redis.backend_count == 0)
        problems_add(problems, "no backend is given: use --mysql-backend mysql://USER@HOST, "
                               "SLUICE_MYSQL_BACKEND or mysql.backend in the file");
}

/* ---- files ---- */

static void check_file(const struct options *options, enum option_id id, struct problems *problems)
{
    const char *path = *(char *const *)option_value(options, &option_table[id]);
    struct stat st;
    if (path == NULL)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        complain(options, problems, id, "%.200s: %s", path, strerror(errno));
    else if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) &&
             strcmp(option_table[id].key, "tls_ca") != 0)
        complain(options, problems, id, "%.200s: is a directory", path);
    if (fd >= 0)
        (void)close(fd);
}

void options_check_files(const struct options *options, struct problems *problems)
{
    static const enum option_id files[] = {
        OPTION_mysql_tls_ca,          OPTION_mysql_tls_cert,       OPTION_mysql_tls_key,
        OPTION_mysql_listen_tls_cert, OPTION_mysql_listen_tls_key, OPTION_redis_tls_ca,
        OPTION_redis_tls_cert,        OPTION_redis_tls_key,        OPTION_redis_listen_tls_cert,
        OPTION_redis_listen_tls_key,  OPTION_admin_token_file,
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        check_file(options, files[i], problems);
}
