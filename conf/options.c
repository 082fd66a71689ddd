/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of all options, their life, and look-up by name. See options.h. */
#include "conf/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"
#include "conf/value.h"

/* ---- where the field of a row is, by type ---- */
#define AT(s, field)            offsetof(struct options, s.field)
#define AT_STRING(s, key)       AT(s, key), 0
#define AT_BOOL(s, key)         AT(s, key), 0
#define AT_COUNT(s, key)        AT(s, key), 0
#define AT_SHARE(s, key)        AT(s, key), AT(s, key##_percent)
#define AT_DURATION(s, key)     AT(s, key##_ms), 0
#define AT_DURATION_OFF(s, key) AT(s, key##_ms), 0
#define AT_SIZE(s, key)         AT(s, key##_bytes), 0
#define AT_ADDRESS_LIST(s, key) AT(s, key), AT(s, key##_count)
#define AT_BACKEND_LIST(s, key) AT(s, key), AT(s, key##_count)
#define AT_USER_LIST(s, key)    AT(s, key), AT(s, user_count)
#define AT_STRING_LIST(s, key)  AT(s, key), AT(s, key##_count)

#define ROW(s, key, type, default_, min, max, unit, reload, help)                                  \
    {#s, #key, OPTION_##type, reload, default_, min, max, unit, help, AT_##type(s, key)},
#define ROW_ENUM(s, key, tag, default_, words, reload, help)                                       \
    {#s, #key, OPTION_ENUM, reload, default_, 0, 0, words, help, AT(s, key), 0},

const struct option_row option_table[OPTION_TOTAL] = {OPTIONS_ALL(ROW, ROW_ENUM)};

struct options *options_new(void)
{
    struct options *options = memory_new(sizeof *options);
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        struct why why;
        if (!value_set(options, row, row->default_text, &why)) {
            fprintf(stderr, "sluice: options.def: %s.%s: %s\n", row->section, row->key, why.text);
            abort();
        }
    }
    return options;
}

void options_free(struct options *options)
{
    if (options == NULL)
        return;
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        value_clear(options, &option_table[i]);
        free(options->origins[i].where);
    }
    free(options->source_file);
    free(options);
}

const struct option_row *option_find(const char *section, const char *key)
{
    /* pgbouncer's and HikariCP's word, which many will try first. */
    if (strcmp(key, "pool_size") == 0)
        key = "pool_max";
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        if (strcmp(option_table[i].section, section) == 0 && strcmp(option_table[i].key, key) == 0)
            return &option_table[i];
    return NULL;
}

enum { NEAREST_WORD_MAX_BYTES = 40 };

/* Levenshtein's distance; both shorter than NEAREST_WORD_MAX_BYTES. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NEAREST_WORD_MAX_BYTES + 1];
    size_t b_len = strlen(b);
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < step ? change : step;
        }
    }
    return row[b_len];
}

const char *option_nearest(const char *section, const char *word)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; /* further away is another word */
    if (strlen(word) >= NEAREST_WORD_MAX_BYTES)
        return NULL;
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        if (section != NULL && strcmp(row->section, section) != 0)
            continue;
        const char *candidate = section == NULL ? row->section : row->key;
        size_t d = distance(word, candidate);
        if (d < best_distance) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

static char *value_text(const struct options *options, const struct option_row *row)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = memory_must(open_memstream(&text, &len));
    value_print(out, options, row, VALUE_WITH_SECRETS);
    (void)fclose(out);
    return memory_must(text);
}

void options_diff(const struct options *before, const struct options *after,
                  option_change_fn on_change, void *context)
{
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        char *was = value_text(before, &option_table[i]);
        char *is = value_text(after, &option_table[i]);
        if (strcmp(was, is) != 0)
            on_change(&option_table[i], context);
        memory_free_secret(was);
        memory_free_secret(is);
    }
}
