/* SPDX-License-Identifier: Apache-2.0
 *
 * Laying one layer of configuration over those below. See layer.h. */
#include "conf/layer.h"

#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"
#include "conf/url.h"
#include "conf/value.h"

void layer_problem(struct layer *layer, const struct option_row *row, const char *where,
                   const char *why)
{
    if (layer->number == LAYER_FILE)
        problems_add(layer->problems, "%s: %s.%s: %s", where, row->section, row->key, why);
    else
        problems_add(layer->problems, "%s: %s", where, why);
}

static void set_origin(struct layer *layer, const struct option_row *row, const char *where)
{
    struct option_origin *origin = &layer->options->origins[option_id_of(row)];
    free(origin->where);
    origin->where = memory_copy(where);
    origin->layer = layer->number;
}

bool layer_claim(struct layer *layer, const struct option_row *row, const char *where)
{
    enum option_id id = option_id_of(row);
    if (layer->given[id]) {
        struct why why;
        (void)why_set(&why, "given twice, also by %s", layer->options->origins[id].where);
        layer_problem(layer, row, where, why.text);
        return false;
    }
    layer->given[id] = true;
    set_origin(layer, row, where);
    return true;
}

/* `clients` is the backend's own; every other parameter is a key of the section. */
static bool apply_parameter(struct layer *layer, struct backend_option *backend,
                            const struct option_row *of, const struct url_parameter *parameter,
                            const char *where, struct why *why)
{
    const char *section = of->section;
    if (strcmp(parameter->key, "clients") == 0) {
        backend->clients_trust = strcmp(parameter->value, "trust") == 0;
        if (backend->clients_trust || strcmp(parameter->value, "login") == 0)
            return true;
        return why_set(why, "clients is \"login\" or \"trust\"");
    }
    const struct option_row *row = option_find(section, parameter->key);
    if (row == NULL || row->type == OPTION_BACKEND_LIST) {
        /* Its name stays unsaid: it can be part of a password with a bare '?'. */
        const char *nearest = option_nearest(section, parameter->key);
        return why_set(why, "is not a key of section %s%s%s%s", section,
                       nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest,
                       nearest == NULL ? "" : "?");
    }
    bool replaced = strcmp(section, "mysql") == 0 ? layer->mysql_replaced : layer->redis_replaced;
    struct why reason;
    if (replaced)
        return true;
    if (!value_set(layer->options, row, parameter->value, &reason))
        return why_set(why, "%s: %.400s", row->key,
                       row->type == OPTION_USER_LIST ? "is not a user list" : reason.text);
    set_origin(layer, row, where);
    return true;
}

static void apply_parameters(struct layer *layer, const struct option_row *row,
                             const struct url *url, const char *where)
{
    struct backend_option *backend = strcmp(row->section, "mysql") == 0
                                         ? layer->options->mysql.backend
                                         : layer->options->redis.backend;
    size_t count = strcmp(row->section, "mysql") == 0 ? layer->options->mysql.backend_count
                                                      : layer->options->redis.backend_count;
    for (size_t i = 0; i < url->parameter_count; i++) {
        const struct url_parameter *parameter = &url->parameters[i];
        struct why why;
        if (!apply_parameter(layer, &backend[count - 1], row, parameter, where, &why)) {
            struct why whole;
            (void)why_set(&whole, "parameter %zu of the URL: %.450s", i + 1, why.text);
            layer_problem(layer, row, where, whole.text);
        }
    }
}

void layer_add_backend(struct layer *layer, const struct option_row *row, const char *text,
                       const char *where)
{
    struct url url;
    struct why why;
    if (!url_parse(text, &url, &why)) {
        layer_problem(layer, row, where, why.text);
        return;
    }
    if (value_append_backend(layer->options, row, &url, &why))
        apply_parameters(layer, row, &url, where);
    else
        layer_problem(layer, row, where, why.text);
    url_fini(&url);
}

void layer_assign(struct layer *layer, const struct option_row *row, const char *text,
                  const char *where)
{
    struct why why;
    if (!layer_claim(layer, row, where))
        return;
    if (row->type == OPTION_BACKEND_LIST) {
        value_clear(layer->options, row);
        if (*text != '\0')
            layer_add_backend(layer, row, text, where);
    } else if (!value_set(layer->options, row, text, &why)) {
        layer_problem(layer, row, where, why.text);
    }
}
