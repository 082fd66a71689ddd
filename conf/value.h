/* SPDX-License-Identifier: Apache-2.0
 *
 * One option's value: from text into its field, and back. All sources of configuration go through
 * here, so that a value means the same in the file, in the environment and in a URL.
 * Works on the caller's struct only: any thread. */
#ifndef SLUICE_CONF_VALUE_H
#define SLUICE_CONF_VALUE_H

#include <stdbool.h>
#include <stdio.h>

#include "conf/options.h"
#include "conf/problem.h"

struct url;

enum value_secrets {
    VALUE_MASKED, /* "***" */
    VALUE_WITH_SECRETS,
};

/* Replaces the value. False, with `why`, when `text` is none; a list may then be half filled, so
 * the whole `options` is not to be used. A URL's parameters are checked for their form only: the
 * layer applies them. */
bool value_set(struct options *options, const struct option_row *row, const char *text,
               struct why *why);
/* Empties it: NULL, 0, no items. Secrets are wiped. */
void value_clear(struct options *options, const struct option_row *row);
/* Writes the value as it stands in the file, quotes and all. */
void value_print(FILE *out, const struct options *options, const struct option_row *row,
                 enum value_secrets secrets);

/* Lists: adds one item. */
bool value_append_address(struct options *options, const struct option_row *row, const char *text,
                          struct why *why);
void value_append_string(struct options *options, const struct option_row *row, const char *text);
/* Takes nothing of `url`. */
bool value_append_backend(struct options *options, const struct option_row *row,
                          const struct url *url, struct why *why);
/* Takes the strings of `user`, also on failure. */
bool value_append_user(struct options *options, const struct option_row *row,
                       struct user_option *user, struct why *why);

/* "*" and 40 hexadecimal digits. */
bool value_parse_hash(const char *text, struct user_option *user, struct why *why);
void user_option_fini(struct user_option *user);
/* "primary", "replica" or "auto". */
bool value_parse_role(const char *text, enum backend_role *role, struct why *why);

#endif
