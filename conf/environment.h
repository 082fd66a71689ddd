/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration from the environment: SLUICE_SECTION_KEY for every option, a backend in parts
 * (SLUICE_MYSQL_HOST, _PORT, _USER, _PASSWORD, _DATABASE), and a NAME_FILE twin of each that names
 * a file with the value. An empty variable counts as none. Any other SLUICE_ name is a mistake,
 * Kubernetes' service links apart. Main thread. */
#ifndef SLUICE_CONF_ENVIRONMENT_H
#define SLUICE_CONF_ENVIRONMENT_H

#include <stdbool.h>

#include "conf/layer.h"

enum { SECRET_FILE_MAX_BYTES = 65536 };

/* Lays the whole environment over what is there. */
void environment_apply(struct layer *layer);

/* The value of `name` or of its _FILE twin. True and owned (wipe it) in *value when there is one;
 * `where` then says which. A mistake is a problem and counts as none. */
bool environment_get(char **environ, const char *name, char **value, struct why *where,
                     struct problems *problems);
/* True when NAME or NAME_FILE is set. */
bool environment_has(char **environ, const char *name);
/* The text of a plain variable, NULL when it is not set. Borrowed. */
const char *environment_plain(char **environ, const char *name, size_t name_len);

/* The whole file without one newline at its end, owned; NULL with `why`. */
char *environment_read_secret(const char *path, struct why *why);

#endif
