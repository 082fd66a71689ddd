/* SPDX-License-Identifier: Apache-2.0
 *
 * One option's value as it stands in the file. See value.h. */
#include "conf/value.h"

#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"
#include "conf/units.h"
#include "conf/url.h"

/* The field of a row as the type that the row's macro gave it. */
#define FIELD(type, options, row) ((type const *)((const char *)(options) + (row)->offset))
#define COUNT(options, row)       (*(const size_t *)((const char *)(options) + (row)->count_offset))

/* A string of libconfig. */
static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            fputc(*text, out);
        /* "$${" is how the file says "${". */
        if (*text == '$' && text[1] == '{')
            fputc('$', out);
    }
    fputc('"', out);
}

static void print_addresses(FILE *out, const struct address *list, size_t count)
{
    char text[ADDRESS_TEXT_MAX_BYTES];
    if (count == 0)
        fputs("\"off\"", out);
    else if (count == 1)
        print_quoted(out, address_format(&list[0], text, sizeof text));
    for (size_t i = 0; count > 1 && i < count; i++) {
        fputs(i == 0 ? "( " : ", ", out);
        print_quoted(out, address_format(&list[i], text, sizeof text));
        fputs(i + 1 == count ? " )" : "", out);
    }
}

static void print_path_escaped(const char *path, FILE *out)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");
        char *segment = memory_copy_bytes(path, len);
        url_print_escaped(segment, out);
        free(segment);
        path += len;
        if (*path == '/')
            fputc(*path++, out);
    }
}

static void print_url(FILE *out, const struct backend_option *b, const char *section,
                      enum value_secrets secrets)
{
    fprintf(out, "%s%s://", section, b->path == NULL ? "" : "+unix");
    if (b->user != NULL)
        url_print_escaped(b->user, out);
    if (b->password != NULL) {
        fputc(':', out);
        if (secrets == VALUE_MASKED)
            fputs("***", out);
        else
            url_print_escaped(b->password, out);
    }
    if (b->user != NULL || b->password != NULL)
        fputc('@', out);
    const char *before_schema = "/";
    if (b->path != NULL) {
        print_path_escaped(b->path, out);
        before_schema = "?db=";
    } else {
        bool v6 = strchr(b->host, ':') != NULL;
        fputs(v6 ? "[" : "", out);
        v6 ? (void)fputs(b->host, out) : url_print_escaped(b->host, out);
        fprintf(out, "%s:%u", v6 ? "]" : "", (unsigned)b->port);
    }
    if (b->schema != NULL) {
        fputs(before_schema, out);
        url_print_escaped(b->schema, out);
    }
    if (b->clients_trust)
        fprintf(out, "%cclients=trust", b->path != NULL && b->schema != NULL ? '&' : '?');
}

static void print_backends(FILE *out, const struct backend_option *list, size_t count,
                           const char *section, enum value_secrets secrets)
{
    static const char *const roles[] = {
        [ROLE_AUTO] = "auto", [ROLE_PRIMARY] = "primary", [ROLE_REPLICA] = "replica"};
    if (count == 0)
        fputs("\"\"", out);
    for (size_t i = 0; i < count; i++) {
        bool plain = count == 1 && list[i].role == ROLE_AUTO;
        fputs(plain ? "\"" : i == 0 ? "( { url = \"" : ", { url = \"", out);
        print_url(out, &list[i], section, secrets);
        fputs("\"", out);
        if (!plain)
            fprintf(out, "; role = \"%s\"; }%s", roles[list[i].role], i + 1 == count ? " )" : "");
    }
}

static void print_users(FILE *out, const struct user_option *list, size_t count,
                        enum value_secrets secrets)
{
    fputs("(", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? " { name = " : ", { name = ", out);
        print_quoted(out, list[i].name);
        fprintf(out, "; %s = ", list[i].has_hash ? "hash" : "password");
        if (secrets == VALUE_MASKED) {
            fputs("\"***\"", out);
        } else if (list[i].has_hash) {
            fputs("\"*", out);
            for (size_t j = 0; j < USER_HASH_BYTES; j++)
                fprintf(out, "%02X", (unsigned)list[i].hash[j]);
            fputs("\"", out);
        } else {
            print_quoted(out, list[i].password);
        }
        if (list[i].pool_max != 0)
            fprintf(out, "; pool_max = %d", list[i].pool_max);
        fputs("; }", out);
    }
    fputs(count == 0 ? ")" : " )", out);
}

static void print_strings(FILE *out, char *const *list, size_t count)
{
    fputs("(", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? " " : ", ", out);
        print_quoted(out, list[i]);
    }
    fputs(count == 0 ? ")" : " )", out);
}

static void print_enum(FILE *out, const struct option_row *row, int index)
{
    const char *at = row->unit;
    for (; index > 0; index--)
        at += strcspn(at, "|") + 1;
    fprintf(out, "\"%.*s\"", (int)strcspn(at, "|"), at);
}

static void print_duration(FILE *out, const struct option_row *row, int64_t ms)
{
    char text[UNITS_TEXT_MAX_BYTES];
    bool off = row->type == OPTION_DURATION_OFF && ms == 0;
    fprintf(out, "\"%s\"", off ? "off" : units_format_duration(ms, text));
}

static void print_share(FILE *out, int count, int percent)
{
    if (percent != 0)
        fprintf(out, "\"%d%%\"", percent);
    else
        fprintf(out, "%d", count);
}

void value_print(FILE *out, const struct options *options, const struct option_row *row,
                 enum value_secrets secrets)
{
    char text[UNITS_TEXT_MAX_BYTES];
    const char *string;
    switch (row->type) {
    case OPTION_STRING:
        string = *FIELD(char *, options, row);
        print_quoted(out, string == NULL ? "" : string);
        return;
    case OPTION_BOOL:
        fputs(*FIELD(bool, options, row) ? "true" : "false", out);
        return;
    case OPTION_COUNT:
        fprintf(out, "%d", *FIELD(int, options, row));
        return;
    case OPTION_SHARE:
        print_share(out, *FIELD(int, options, row),
                    *(const int *)((const char *)options + row->count_offset));
        return;
    case OPTION_DURATION:
    case OPTION_DURATION_OFF:
        print_duration(out, row, *FIELD(int64_t, options, row));
        return;
    case OPTION_SIZE:
        fprintf(out, "\"%s\"", units_format_size(*FIELD(int64_t, options, row), text));
        return;
    case OPTION_ENUM:
        print_enum(out, row, *FIELD(int, options, row));
        return;
    case OPTION_ADDRESS_LIST:
        print_addresses(out, *FIELD(struct address *, options, row), COUNT(options, row));
        return;
    case OPTION_BACKEND_LIST:
        print_backends(out, *FIELD(struct backend_option *, options, row), COUNT(options, row),
                       row->section, secrets);
        return;
    case OPTION_USER_LIST:
        print_users(out, *FIELD(struct user_option *, options, row), COUNT(options, row), secrets);
        return;
    case OPTION_STRING_LIST:
        print_strings(out, *FIELD(char **, options, row), COUNT(options, row));
        return;
    }
}
