/* SPDX-License-Identifier: Apache-2.0
 *
 * Collecting what is wrong with a configuration. See problem.h. */
#include "conf/problem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"

/* A value may hold anything; a line of ours is one line and does nothing to a terminal. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

bool why_set(struct why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    make_printable(why->text);
    return false;
}

void problems_add(struct problems *problems, const char *format, ...)
{
    if (problems->count == PROBLEMS_MAX) {
        problems->dropped++;
        return;
    }
    char line[2 * WHY_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    make_printable(line);
    problems->lines[problems->count++] = memory_copy(line);
}

void problems_print(const struct problems *problems, FILE *out)
{
    for (size_t i = 0; i < problems->count; i++)
        fprintf(out, "%s\n", problems->lines[i]);
    if (problems->dropped > 0)
        fprintf(out, "and %zu more\n", problems->dropped);
}

void problems_fini(struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        free(problems->lines[i]);
    memset(problems, 0, sizeof *problems);
}
