/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target for the texts of a configuration. Input: one byte that picks the parser ('0' a file,
 * '1' a URL, '2' an ADDR, '3' a unit, '4' an option's value, '5' an environment, a line each), the
 * text. Properties: no read outside the text (an exact copy on the heap), nothing leaks, and what
 * was accepted reads the same once it is printed. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/check.h"
#include "conf/environment.h"
#include "conf/layer.h"
#include "conf/load.h"
#include "conf/memory.h"
#include "conf/print.h"
#include "conf/units.h"
#include "conf/url.h"
#include "conf/value.h"

enum {
    VARIABLES_MAX = 64,
    /* Percent-encoded, a URL of so many bytes is still below the limit. */
    TEXT_MAX_BYTES = URL_MAX_BYTES / 4,
};

const char *__lsan_default_suppressions(void);

/* libconfig 1.5 loses the string it was at when a text has a syntax error. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig.so";
}

static char *environment_none[] = {"A=a", "EMPTY=", NULL};

/* The whole configuration as a file, secrets and all. */
static char *print_all(const struct options *options)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = memory_must(open_memstream(&text, &len));
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        if (i == 0 || strcmp(option_table[i - 1].section, row->section) != 0)
            fprintf(out, "%s%s = {\n", i == 0 ? "" : "};\n", row->section);
        fprintf(out, "%s = ", row->key);
        value_print(out, options, row, VALUE_WITH_SECRETS);
        fputs(";\n", out);
    }
    fputs("};\n", out);
    (void)fclose(out);
    return text;
}

static void on_change(const struct option_row *row, void *context)
{
    (void)context;
    fprintf(stderr, "%s.%s reads back as something else\n", row->section, row->key);
    abort();
}

static struct options *load(const char *text, struct problems *problems)
{
    struct layer layer = {.options = options_new(),
                          .problems = problems,
                          .environ = environment_none,
                          .number = LAYER_FILE};
    load_text(&layer, "text", text);
    return layer.options;
}

static void try_file(const char *text)
{
    struct problems problems = {0};
    struct options *first = load(text, &problems);
    if (!problems_any(&problems)) {
        char *printed = print_all(first);
        struct options *second = load(printed, &problems);
        problems_print(&problems, stderr);
        assert(!problems_any(&problems));
        options_diff(first, second, on_change, NULL);
        options_free(second);
        free(printed);
        options_resolve(first);
        options_check(first, true, &problems);
    }
    problems_fini(&problems);
    options_free(first);
}

static void try_url(const char *text)
{
    struct url url;
    struct why why;
    if (!url_parse(text, &url, &why)) {
        assert(url.host == NULL && url.password == NULL && url.parameters == NULL);
        return;
    }
    assert((url.host == NULL) == url_is_unix(url.scheme) && (url.host == NULL) == (url.port == 0));
    url_fini(&url);
}

static void try_address(const char *text)
{
    char first[ADDRESS_TEXT_MAX_BYTES];
    char second[ADDRESS_TEXT_MAX_BYTES];
    struct address address;
    struct address back;
    struct why why;
    if (!address_parse(text, &address, &why))
        return;
    (void)address_is_local(&address);
    assert(address_parse(address_format(&address, first, sizeof first), &back, &why));
    assert(strcmp(first, address_format(&back, second, sizeof second)) == 0);
    assert(address.kind == back.kind && address.port == back.port && address.mode == back.mode);
    address_fini(&address);
    address_fini(&back);
}

static void try_units(const char *text)
{
    char out[UNITS_TEXT_MAX_BYTES];
    struct why why;
    int64_t value;
    int64_t back;
    if (units_parse_duration(text, &value, &why))
        assert(units_parse_duration(units_format_duration(value, out), &back, &why) &&
               back == value);
    if (units_parse_size(text, &value, &why))
        assert(units_parse_size(units_format_size(value, out), &back, &why) && back == value);
    (void)units_parse_number(text, &value, &why);
}

/* One option as a file of its own. */
static char *print_one(const struct options *options, const struct option_row *row)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = memory_must(open_memstream(&text, &len));
    fprintf(out, "%s = { %s = ", row->section, row->key);
    value_print(out, options, row, VALUE_WITH_SECRETS);
    fputs("; };\n", out);
    (void)fclose(out);
    return text;
}

static void try_value(const char *text)
{
    if (*text == '\0')
        return;
    struct options *options = options_new();
    const struct option_row *row = &option_table[(unsigned char)*text % OPTION_TOTAL];
    struct why why;
    if (value_set(options, row, text + 1, &why)) {
        struct problems problems = {0};
        char *printed = print_one(options, row);
        struct options *back = load(printed, &problems);
        problems_print(&problems, stderr);
        assert(!problems_any(&problems));
        char *again = print_one(back, row);
        assert(strcmp(printed, again) == 0);
        options_free(back);
        free(printed);
        free(again);
    }
    options_free(options);
}

static void try_environment(char *text)
{
    char *variables[VARIABLES_MAX + 1] = {NULL};
    struct problems problems = {0};
    struct load_request request = {.environ = variables};
    for (size_t i = 0; i < VARIABLES_MAX && text != NULL; i++)
        variables[i] = strsep(&text, "\n");
    options_free(options_load(&request, &problems));
    problems_fini(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > TEXT_MAX_BYTES)
        return 0;
    char *text = memory_copy_bytes((const char *)data + 1, size - 1);
    /* Files are named in some places: none that waits or never ends. */
    bool opens_devices = strstr(text, "/dev") != NULL || strstr(text, "/proc") != NULL;
    switch (data[0] % 6) {
    case 0:
        if (!opens_devices)
            try_file(text);
        break;
    case 1:
        try_url(text);
        break;
    case 2:
        try_address(text);
        break;
    case 3:
        try_units(text);
        break;
    case 4:
        try_value(text);
        break;
    case 5:
        if (!opens_devices)
            try_environment(text);
        break;
    }
    free(text);
    return 0;
}
