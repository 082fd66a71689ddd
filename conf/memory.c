/* SPDX-License-Identifier: Apache-2.0
 *
 * Small allocations of the configuration. See memory.h. */
#include "conf/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *memory_must(void *at)
{
    if (at == NULL) {
        fputs("sluice: out of memory\n", stderr);
        abort();
    }
    return at;
}

void *memory_new(size_t bytes)
{
    return memory_must(calloc(1, bytes));
}

char *memory_copy(const char *text)
{
    return memory_must(strdup(text));
}

char *memory_copy_bytes(const char *at, size_t len)
{
    char *copy = memory_new(len + 1);
    if (len > 0)
        memcpy(copy, at, len);
    return copy;
}

void *memory_append(void *items, size_t *count, size_t item_bytes)
{
    char *grown = memory_must(reallocarray(items, *count + 1, item_bytes));
    memset(grown + *count * item_bytes, 0, item_bytes);
    (*count)++;
    return grown;
}

void memory_free_secret(char *text)
{
    if (text == NULL)
        return;
    explicit_bzero(text, strlen(text));
    free(text);
}
