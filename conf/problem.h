/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a configuration, in words. A parser gives one `struct why`; a load collects
 * lines in `struct problems`, so that all mistakes show at once. No secret is ever put into either.
 * Main thread, or the thread that reloads. */
#ifndef SLUICE_CONF_PROBLEM_H
#define SLUICE_CONF_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    WHY_MAX_BYTES = 512,
    PROBLEMS_MAX = 20,
};

/* The reason of one failure; meaningful only after a parser returned false. */
struct why {
    char text[WHY_MAX_BYTES];
};

/* Always false, so that a parser can `return why_set(...)`. Control characters become '?'. */
bool why_set(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed at first; owns its lines. Those above PROBLEMS_MAX are only counted. */
struct problems {
    char *lines[PROBLEMS_MAX];
    size_t count;
    size_t dropped;
};

void problems_add(struct problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline bool problems_any(const struct problems *problems)
{
    return problems->count > 0;
}
/* One line each, and one that counts the rest. */
void problems_print(const struct problems *problems, FILE *out);
void problems_fini(struct problems *problems);

#endif
