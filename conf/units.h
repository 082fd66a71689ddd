/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations and sizes as people write them: "250ms", "5s", "5min", "24h", "1d"; "64KiB", "16MiB",
 * "1GiB", "512". A duration needs its unit. Keeps no state: any thread. */
#ifndef SLUICE_CONF_UNITS_H
#define SLUICE_CONF_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/problem.h"

/* Room that the two format functions never need more of. */
enum { UNITS_TEXT_MAX_BYTES = 32 };

/* False, with `why`, for anything else; `ms` is then untouched. "off" is the caller's affair. */
bool units_parse_duration(const char *text, int64_t *ms, struct why *why);
bool units_parse_size(const char *text, int64_t *bytes, struct why *why);
/* A whole number, decimal, with an optional minus. */
bool units_parse_number(const char *text, int64_t *number, struct why *why);

/* In the largest unit that says it exactly; gives `out` back. */
char *units_format_duration(int64_t ms, char out[static UNITS_TEXT_MAX_BYTES]);
char *units_format_size(int64_t bytes, char out[static UNITS_TEXT_MAX_BYTES]);

#endif
