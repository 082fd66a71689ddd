/* SPDX-License-Identifier: Apache-2.0
 *
 * One layer of configuration while it is laid over those below it: the file, the environment, the
 * flags. Every source ends in layer_assign, which knows about origins, about URLs with parameters
 * and about things that are given twice. Belongs to one load. */
#ifndef SLUICE_CONF_LAYER_H
#define SLUICE_CONF_LAYER_H

#include <stdbool.h>

#include "conf/options.h"
#include "conf/problem.h"

/* All pointers are borrowed and outlive the load. */
struct layer {
    struct options *options;
    struct problems *problems;
    char **environ;
    enum option_layer number;
    /* A higher layer brings a backend of its own for the section (mysql, redis): the parameters of
     * the URL in this layer go with that URL. */
    bool mysql_replaced;
    bool redis_replaced;
    bool given[OPTION_TOTAL];
};

/* Sets the option from `text`; a mistake becomes a problem that names `where`. In the file the
 * option's name is added, since FILE:LINE does not say it. */
void layer_assign(struct layer *layer, const struct option_row *row, const char *text,
                  const char *where);
/* Notes the origin. False, with a problem, when this layer has set the option before. */
bool layer_claim(struct layer *layer, const struct option_row *row, const char *where);
/* A problem with one option. */
void layer_problem(struct layer *layer, const struct option_row *row, const char *where,
                   const char *why);
/* Adds a backend by URL; its parameters are applied to its section. */
void layer_add_backend(struct layer *layer, const struct option_row *row, const char *text,
                       const char *where);

#endif
