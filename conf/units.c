/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations and sizes in words. See units.h. */
#include "conf/units.h"

#include <inttypes.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit durations[] = {
    {"d", INT64_C(86400000)}, {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1},
};

static const struct unit sizes[] = {
    {"TiB", INT64_C(1) << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1},
};

enum { UNIT_COUNT = 5 };

/* Reads digits up to `*end`. False when there are none or they are too many. */
static bool read_digits(const char *text, int64_t *number, const char **end)
{
    int64_t n = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *at - '0', &n))
            return false;
    *number = n;
    *end = at;
    return at != text;
}

static bool scale(int64_t number, const char *unit, const struct unit units[static UNIT_COUNT],
                  int64_t *out)
{
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (strcmp(unit, units[i].name) == 0)
            return !__builtin_mul_overflow(number, units[i].factor, out);
    return false;
}

bool units_parse_duration(const char *text, int64_t *ms, struct why *why)
{
    int64_t number;
    const char *unit;
    if (!read_digits(text, &number, &unit))
        return why_set(why, "\"%.64s\" is not a duration, write \"250ms\", \"5s\" or \"5min\"",
                       text);
    if (*unit == '\0')
        return why_set(why,
                       "\"%.64s\" has no unit, add a unit: \"%.64sms\", \"%.64ss\" or \"%.64smin\"",
                       text, text, text, text);
    if (strcmp(unit, "m") == 0)
        return why_set(why, "\"%.64s\" is unclear, write \"min\" or \"ms\"", text);
    if (!scale(number, unit, durations, ms))
        return why_set(why, "\"%.64s\" is not a duration, its units are ms, s, min, h and d", text);
    return true;
}

bool units_parse_size(const char *text, int64_t *bytes, struct why *why)
{
    int64_t number;
    const char *unit;
    if (!read_digits(text, &number, &unit))
        return why_set(why, "\"%.64s\" is not a size, write \"64KiB\", \"16MiB\" or 512", text);
    if (!scale(number, unit, sizes, bytes))
        return why_set(why, "\"%.64s\" is not a size, its units are KiB, MiB, GiB and TiB", text);
    return true;
}

bool units_parse_number(const char *text, int64_t *number, struct why *why)
{
    const char *end;
    bool minus = *text == '-';
    if (!read_digits(text + minus, number, &end) || *end != '\0')
        return why_set(why, "\"%.64s\" is not a whole number", text);
    if (minus)
        *number = -*number;
    return true;
}

static char *format(int64_t value, const struct unit units[static UNIT_COUNT], char *out)
{
    size_t i = 0;
    while (i < UNIT_COUNT - 1 && (value == 0 || value % units[i].factor != 0))
        i++;
    (void)snprintf(out, UNITS_TEXT_MAX_BYTES, "%" PRId64 "%s", value / units[i].factor,
                   units[i].name);
    return out;
}

char *units_format_duration(int64_t ms, char out[static UNITS_TEXT_MAX_BYTES])
{
    return format(ms, durations, out);
}

char *units_format_size(int64_t bytes, char out[static UNITS_TEXT_MAX_BYTES])
{
    return format(bytes, sizes, out);
}
