/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a configuration; the only file that knows libconfig. See load.h. */
#include "conf/load.h"

#include <errno.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/check.h"
#include "conf/environment.h"
#include "conf/layer.h"
#include "conf/memory.h"
#include "conf/value.h"

/* One file while it is read. */
struct file {
    struct layer *layer;
    const char *label; /* for settings that libconfig knows no file of */
};

enum { WHERE_MAX_BYTES = 512 };

static const char *where_of(const struct file *file, const config_setting_t *setting,
                            char out[WHERE_MAX_BYTES])
{
    const char *name = config_setting_source_file(setting);
    (void)snprintf(out, WHERE_MAX_BYTES, "%.400s:%u", name == NULL ? file->label : name,
                   (unsigned)config_setting_source_line(setting));
    return out;
}

/* ---- ${VAR} ---- */

static bool is_name(const char *at, size_t len)
{
    if (len == 0 || (*at >= '0' && *at <= '9'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!((at[i] >= 'A' && at[i] <= 'Z') || (at[i] >= 'a' && at[i] <= 'z') ||
              (at[i] >= '0' && at[i] <= '9') || at[i] == '_'))
            return false;
    return true;
}

/* The inside of one ${...} goes to `out`. As in a shell, ":-" also stands in for an empty value. */
static bool expand_one(char **environ_, const char *at, size_t len, FILE *out, struct why *why)
{
    const char *fallback = memmem(at, len, ":-", 2);
    size_t name_len = fallback == NULL ? len : (size_t)(fallback - at);
    if (!is_name(at, name_len))
        return why_set(why, "inside ${} stands NAME or NAME:-default; \"${\" itself is \"$${\"");
    const char *value = environment_plain(environ_, at, name_len);
    if (fallback != NULL && (value == NULL || *value == '\0'))
        (void)fwrite(fallback + 2, 1, len - name_len - 2, out);
    else if (value != NULL)
        (void)fputs(value, out);
    else
        return why_set(why, "${%.*s} is not set in the environment",
                       (int)(name_len > 64 ? 64 : name_len), at);
    return true;
}

char *load_expand(char **environ_, const char *text, struct why *why)
{
    char *expanded = NULL;
    size_t len = 0;
    FILE *out = memory_must(open_memstream(&expanded, &len));
    bool good = true;
    while (good && *text != '\0') {
        if (strncmp(text, "$${", 3) == 0) {
            (void)fputs("${", out);
            text += 3;
        } else if (strncmp(text, "${", 2) == 0) {
            const char *end = strchr(text, '}');
            good = end != NULL ? expand_one(environ_, text + 2, (size_t)(end - text) - 2, out, why)
                               : why_set(why, "\"${\" without \"}\"; \"${\" itself is \"$${\"");
            text = end == NULL ? text : end + 1;
        } else {
            (void)fputc(*text++, out);
        }
    }
    (void)fclose(out);
    if (good)
        return memory_must(expanded);
    memory_free_secret(expanded);
    return NULL;
}

/* ---- scalars ---- */

/* A scalar as text, owned; NULL with `why` for an aggregate. */
static char *scalar_text(const struct file *file, const config_setting_t *setting, struct why *why)
{
    char text[32];
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_STRING:
        return load_expand(file->layer->environ, config_setting_get_string(setting), why);
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        (void)snprintf(text, sizeof text, "%lld", config_setting_get_int64(setting));
        return memory_copy(text);
    case CONFIG_TYPE_BOOL:
        return memory_copy(config_setting_get_bool(setting) ? "true" : "false");
    case CONFIG_TYPE_FLOAT:
        (void)why_set(why, "a number with a point; put the value in quotes");
        return NULL;
    default: /* libconfig's own types: a list, an array or a group */
        (void)why_set(why, "is a list or a group where one value belongs");
        return NULL;
    }
}

static void load_scalar(const struct file *file, const struct option_row *row,
                        const config_setting_t *setting)
{
    char where[WHERE_MAX_BYTES];
    struct why why;
    char *text = scalar_text(file, setting, &why);
    if (text == NULL)
        layer_problem(file->layer, row, where_of(file, setting, where), why.text);
    else
        layer_assign(file->layer, row, text, where_of(file, setting, where));
    memory_free_secret(text);
}

/* ---- lists ---- */

/* The text of a group's member, owned. NULL without a problem when there is none. */
static char *member_text(const struct file *file, const struct option_row *row,
                         const config_setting_t *group, const char *name)
{
    const config_setting_t *member = config_setting_get_member(group, name);
    char where[WHERE_MAX_BYTES];
    struct why why;
    if (member == NULL)
        return NULL;
    char *text = scalar_text(file, member, &why);
    if (text == NULL)
        layer_problem(file->layer, row, where_of(file, member, where), why.text);
    return text;
}

/* Only the names in `known` may stand in a group. */
static bool check_members(const struct file *file, const struct option_row *row,
                          const config_setting_t *group, const char *const known[])
{
    char where[WHERE_MAX_BYTES];
    for (unsigned i = 0; i < (unsigned)config_setting_length(group); i++) {
        const config_setting_t *member = config_setting_get_elem((config_setting_t *)group, i);
        size_t k = 0;
        while (known[k] != NULL && strcmp(known[k], config_setting_name(member)) != 0)
            k++;
        if (known[k] == NULL) {
            struct why why;
            (void)why_set(&why, "unknown key %.64s", config_setting_name(member));
            layer_problem(file->layer, row, where_of(file, member, where), why.text);
            return false;
        }
    }
    return true;
}

static bool user_pool_max(const char *text, int *pool_max, struct why *why)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || number < 1 || number > 10000)
        return why_set(why, "pool_max: expected 1..10000 connections");
    *pool_max = (int)number;
    return true;
}

/* Fills `user` from the group's texts. */
static bool read_user(const struct file *file, const struct option_row *row,
                      const config_setting_t *group, struct user_option *user, struct why *why)
{
    char *path = member_text(file, row, group, "password_file");
    char *hash = member_text(file, row, group, "hash");
    char *pool_max = member_text(file, row, group, "pool_max");
    bool good = true;
    user->name = member_text(file, row, group, "name");
    user->password = member_text(file, row, group, "password");
    if (path != NULL && user->password != NULL)
        good = why_set(why, "both password and password_file");
    else if (path != NULL)
        good = (user->password = environment_read_secret(path, why)) != NULL;
    if (good && hash != NULL)
        good = value_parse_hash(hash, user, why);
    if (good && pool_max != NULL)
        good = user_pool_max(pool_max, &user->pool_max, why);
    free(path);
    memory_free_secret(hash);
    free(pool_max);
    return good;
}

static void load_user(const struct file *file, const struct option_row *row,
                      const config_setting_t *setting)
{
    static const char *const known[] = {"name", "password", "password_file",
                                        "hash", "pool_max", NULL};
    char where[WHERE_MAX_BYTES];
    struct user_option user = {0};
    struct why why;
    if (!config_setting_is_group(setting)) {
        layer_problem(file->layer, row, where_of(file, setting, where),
                      "a user is { name = \"...\"; password = \"...\"; }");
        return;
    }
    if (!check_members(file, row, setting, known))
        return;
    bool good = read_user(file, row, setting, &user, &why);
    if (good)
        good = value_append_user(file->layer->options, row, &user, &why);
    else
        user_option_fini(&user);
    if (!good)
        layer_problem(file->layer, row, where_of(file, setting, where), why.text);
}

static void load_backend_group(const struct file *file, const struct option_row *row,
                               const config_setting_t *setting)
{
    static const char *const known[] = {"url", "role", NULL};
    char where[WHERE_MAX_BYTES];
    struct pool_options *pool = strcmp(row->section, "mysql") == 0
                                    ? &file->layer->options->mysql.pool
                                    : &file->layer->options->redis.pool;
    size_t before = pool->backend_count;
    struct why why;
    if (!check_members(file, row, setting, known))
        return;
    (void)where_of(file, setting, where);
    char *url = member_text(file, row, setting, "url");
    char *role = member_text(file, row, setting, "role");
    if (url == NULL)
        layer_problem(file->layer, row, where, "a backend without a url");
    else
        layer_add_backend(file->layer, row, url, where);
    if (role != NULL && pool->backend_count > before &&
        !value_parse_role(role, &pool->backend[before].role, &why))
        layer_problem(file->layer, row, where, why.text);
    memory_free_secret(url);
    free(role);
}

static void load_item(const struct file *file, const struct option_row *row,
                      const config_setting_t *setting)
{
    char where[WHERE_MAX_BYTES];
    struct why why;
    if (row->type == OPTION_USER_LIST) {
        load_user(file, row, setting);
        return;
    }
    if (row->type == OPTION_BACKEND_LIST && config_setting_is_group(setting)) {
        load_backend_group(file, row, setting);
        return;
    }
    (void)where_of(file, setting, where);
    char *text = scalar_text(file, setting, &why);
    if (text == NULL)
        layer_problem(file->layer, row, where, why.text);
    else if (row->type == OPTION_BACKEND_LIST)
        layer_add_backend(file->layer, row, text, where);
    else if (row->type == OPTION_STRING_LIST)
        value_append_string(file->layer->options, row, text);
    else if (!value_append_address(file->layer->options, row, text, &why))
        layer_problem(file->layer, row, where, why.text);
    memory_free_secret(text);
}

static bool is_list_row(const struct option_row *row)
{
    return row->type == OPTION_ADDRESS_LIST || row->type == OPTION_BACKEND_LIST ||
           row->type == OPTION_USER_LIST || row->type == OPTION_STRING_LIST;
}

static void load_setting(const struct file *file, const struct option_row *row,
                         const config_setting_t *setting)
{
    char where[WHERE_MAX_BYTES];
    bool is_list = config_setting_is_list(setting) || config_setting_is_array(setting);
    if (!is_list || !is_list_row(row)) {
        load_scalar(file, row, setting);
        return;
    }
    if (!layer_claim(file->layer, row, where_of(file, setting, where)))
        return;
    value_clear(file->layer->options, row);
    for (unsigned i = 0; i < (unsigned)config_setting_length(setting); i++)
        load_item(file, row, config_setting_get_elem((config_setting_t *)setting, i));
}

/* ---- the tree ---- */

static void unknown_key(const struct file *file, const char *section,
                        const config_setting_t *setting)
{
    char where[WHERE_MAX_BYTES];
    const char *name = config_setting_name(setting);
    const char *nearest = option_nearest(section, name);
    problems_add(file->layer->problems, "%s: %s%s%.64s: unknown %s%s%s%s",
                 where_of(file, setting, where), section == NULL ? "" : section,
                 section == NULL ? "" : ".", name, section == NULL ? "section" : "key",
                 nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest,
                 nearest == NULL ? "" : "?");
}

/* Backends go first, so that a key of its own beats the same key as a URL's parameter. */
static void load_section(const struct file *file, const config_setting_t *group, bool backends)
{
    const char *section = config_setting_name(group);
    for (unsigned i = 0; i < (unsigned)config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem((config_setting_t *)group, i);
        const struct option_row *row = option_find(section, config_setting_name(setting));
        if (row == NULL && !backends)
            unknown_key(file, section, setting);
        else if (row != NULL && (row->type == OPTION_BACKEND_LIST) == backends)
            load_setting(file, row, setting);
    }
}

static void load_tree(const struct file *file, const config_setting_t *root)
{
    char where[WHERE_MAX_BYTES];
    for (unsigned i = 0; i < (unsigned)config_setting_length(root); i++) {
        const config_setting_t *group = config_setting_get_elem((config_setting_t *)root, i);
        const char *name = config_setting_name(group);
        const char *nearest = option_nearest(NULL, name);
        if (nearest == NULL || strcmp(nearest, name) != 0) {
            unknown_key(file, NULL, group);
        } else if (!config_setting_is_group(group)) {
            problems_add(file->layer->problems, "%s: %s is a section, write %s = { ... };",
                         where_of(file, group, where), name, name);
        } else {
            load_section(file, group, true);
            load_section(file, group, false);
        }
    }
}

/* libconfig frees its strings without wiping them; some are passwords. */
static void wipe_tree(config_setting_t *setting)
{
    if (config_setting_type(setting) == CONFIG_TYPE_STRING && setting->value.sval != NULL)
        explicit_bzero(setting->value.sval, strlen(setting->value.sval));
    if (config_setting_is_aggregate(setting))
        for (unsigned i = 0; i < (unsigned)config_setting_length(setting); i++)
            wipe_tree(config_setting_get_elem(setting, i));
}

static void take_config(struct layer *layer, const char *label, config_t *config, bool was_read)
{
    const struct file file = {.layer = layer, .label = label};
    if (was_read) {
        load_tree(&file, config_root_setting(config));
    } else if (config_error_type(config) == CONFIG_ERR_FILE_IO) {
        problems_add(layer->problems, "%s: cannot be read", label);
    } else {
        const char *name = config_error_file(config);
        problems_add(layer->problems, "%s:%d: %s", name == NULL ? label : name,
                     config_error_line(config), config_error_text(config));
    }
    wipe_tree(config_root_setting(config));
    config_destroy(config);
}

void load_text(struct layer *layer, const char *label, const char *text)
{
    config_t config;
    config_init(&config);
    /* Text without a place has nothing to include. */
    config_set_include_dir(&config, "/nonexistent");
    bool was_read = config_read_string(&config, text) == CONFIG_TRUE;
    take_config(layer, label, &config, was_read);
}

static void load_file(struct layer *layer, const char *path)
{
    config_t config;
    config_init(&config);
    char *dir = memory_copy(path);
    char *slash = strrchr(dir, '/');
    if (slash != NULL) {
        slash[slash == dir ? 1 : 0] = '\0';
        config_set_include_dir(&config, dir);
    }
    free(dir);
    bool was_read = config_read_file(&config, path) == CONFIG_TRUE;
    layer->options->source_file = memory_copy(path);
    take_config(layer, path, &config, was_read);
}

/* ---- the layers ---- */

static bool has_flag(const struct load_request *request, enum option_id id)
{
    for (size_t i = 0; i < request->flag_count; i++)
        if (request->flags[i].id == id)
            return true;
    return false;
}

/* -c, SLUICE_CONFIG, or the default when it is there. Owned; NULL: no file. */
static char *choose_file(const struct load_request *request, struct problems *problems)
{
    char *path;
    struct why where;
    if (request->file != NULL)
        return memory_copy(request->file);
    if (environment_get(request->environ, "SLUICE_CONFIG", &path, &where, problems))
        return path;
    if (request->default_file != NULL && access(request->default_file, F_OK) == 0)
        return memory_copy(request->default_file);
    return NULL;
}

static void apply_file(struct layer *layer, const struct load_request *request)
{
    char *path = choose_file(request, layer->problems);
    layer->number = LAYER_FILE;
    layer->mysql_replaced = has_flag(request, OPTION_mysql_backend) ||
                            environment_has(request->environ, "SLUICE_MYSQL_BACKEND");
    layer->redis_replaced = has_flag(request, OPTION_redis_backend) ||
                            environment_has(request->environ, "SLUICE_REDIS_BACKEND");
    if (path != NULL && access(path, R_OK) != 0)
        problems_add(layer->problems, "%s: %s", path, strerror(errno));
    else if (path != NULL)
        load_file(layer, path);
    free(path);
}

static void apply_environment(struct layer *layer, const struct load_request *request)
{
    layer->number = LAYER_ENVIRONMENT;
    layer->mysql_replaced = has_flag(request, OPTION_mysql_backend);
    layer->redis_replaced = has_flag(request, OPTION_redis_backend);
    memset(layer->given, 0, sizeof layer->given);
    environment_apply(layer);
}

static void apply_flags(struct layer *layer, const struct load_request *request)
{
    layer->number = LAYER_FLAG;
    layer->mysql_replaced = false;
    layer->redis_replaced = false;
    memset(layer->given, 0, sizeof layer->given);
    /* Backends go first here too. */
    for (int backends = 1; backends >= 0; backends--) {
        for (size_t i = 0; i < request->flag_count; i++) {
            const struct load_flag *flag = &request->flags[i];
            const struct option_row *row = &option_table[flag->id];
            if ((row->type == OPTION_BACKEND_LIST) == (backends == 1))
                layer_assign(layer, row, flag->text, flag->name);
        }
    }
}

struct options *options_load(const struct load_request *request, struct problems *problems)
{
    struct layer layer = {
        .options = options_new(), .problems = problems, .environ = request->environ};
    apply_file(&layer, request);
    apply_environment(&layer, request);
    apply_flags(&layer, request);
    if (!problems_any(problems)) {
        options_resolve(layer.options);
        options_check(layer.options, request->needs_backend, problems);
    }
    if (!problems_any(problems))
        return layer.options;
    options_free(layer.options);
    return NULL;
}
