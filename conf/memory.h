/* SPDX-License-Identifier: Apache-2.0
 *
 * Small allocations of the configuration: they are there, or the process ends with a message.
 * Secrets are wiped before their memory goes back. Any thread. */
#ifndef SLUICE_CONF_MEMORY_H
#define SLUICE_CONF_MEMORY_H

#include <stddef.h>

/* Zeroed. */
void *memory_new(size_t bytes);
char *memory_copy(const char *text);
char *memory_copy_bytes(const char *at, size_t len);
/* An array grown by one zeroed item; takes `items`, adds one to *count. */
void *memory_append(void *items, size_t *count, size_t item_bytes);
/* Wipes a string, then frees it. NULL is fine. */
void memory_free_secret(char *text);
/* Ends the process when `at` is NULL; gives it back otherwise. */
void *memory_must(void *at);

#endif
