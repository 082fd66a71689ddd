/* SPDX-License-Identifier: Apache-2.0
 *
 * The effective configuration as a file: --print-config, and the admin's SHOW CONFIG. */
#ifndef SLUICE_CONF_PRINT_H
#define SLUICE_CONF_PRINT_H

#include <stdio.h>

#include "conf/options.h"

/* All sections in the file's syntax, each value with its source as a comment, secrets masked. */
void options_print(const struct options *options, FILE *out);
/* Where the value came from, in words. Borrowed of `options`. */
const char *option_source(const struct options *options, const struct option_row *row);
/* The value alone, as the file has it, secrets masked; owned by the caller (free). */
char *option_text(const struct options *options, const struct option_row *row);

#endif
