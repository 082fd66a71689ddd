/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a configuration: defaults, then the file, the environment, the flags; then the checks.
 * A load builds a new struct and gives it out only when all of it is right, so that a bad file
 * never half-applies. Start and reload use the same call. Not to be called from two threads at
 * once: libconfig's scanner is fine with that, getenv's memory is not. */
#ifndef SLUICE_CONF_LOAD_H
#define SLUICE_CONF_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/options.h"
#include "conf/problem.h"

struct layer;

#define LOAD_DEFAULT_FILE "/etc/sluice/sluice.cfg"

/* One option given on the command line. Borrowed. */
struct load_flag {
    enum option_id id;
    const char *name; /* "--mysql-listen" */
    const char *text;
};

/* What to load from; borrowed. Keep it for the reload. */
struct load_request {
    const char *file;         /* -c; NULL: SLUICE_CONFIG, then default_file */
    const char *default_file; /* read when it exists; NULL: none */
    char **environ;           /* NULL: none */
    const struct load_flag *flags;
    size_t flag_count;
    bool needs_backend; /* sluice itself; its clients (wait, drain) do without */
};

/* The checked whole, owned by the caller (options_free), or NULL and at least one problem. */
struct options *options_load(const struct load_request *request, struct problems *problems);

/* Lays one file's text over `layer`; `label` stands for its name. For options_load and the fuzzer.
 */
void load_text(struct layer *layer, const char *label, const char *text);
/* Replaces ${VAR} and ${VAR:-default}; "$${" gives "${". Owned; NULL with `why`. */
char *load_expand(char **environ, const char *text, struct why *why);

#endif
