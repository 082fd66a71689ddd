/* SPDX-License-Identifier: Apache-2.0
 *
 * One option's value, text to field and back. See value.h. */
#include "conf/value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"
#include "conf/units.h"
#include "conf/url.h"

/* The field of a row as the type that the row's macro gave it. */
#define FIELD(type, options, row) ((type *)((char *)(options) + (row)->offset))
#define COUNT(options, row)       ((size_t *)((char *)(options) + (row)->count_offset))

/* ---- scalars ---- */

static bool set_bool(bool *out, const char *text, struct why *why)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2 == 1;
            return true;
        }
    }
    return why_set(why, "\"%.64s\" is neither true nor false", text);
}

static bool set_count(int *out, const struct option_row *row, const char *text, struct why *why)
{
    int64_t number;
    if (!units_parse_number(text, &number, why))
        return why_set(why, "\"%.64s\" is not a whole number, expected %" PRId64 "..%" PRId64 " %s",
                       text, row->min, row->max, row->unit);
    if (number < row->min || number > row->max)
        return why_set(why, "%" PRId64 " is out of range, expected %" PRId64 "..%" PRId64 " %s",
                       number, row->min, row->max, row->unit);
    *out = (int)number;
    return true;
}

/* "75%", "75 %" or a count. The percentage becomes a count once pool_max is known. */
static bool set_share(struct options *options, const struct option_row *row, const char *text,
                      struct why *why)
{
    int *percent = (int *)((char *)options + row->count_offset);
    size_t len = strlen(text);
    char digits[8];
    int64_t number;
    *percent = 0;
    if (len == 0 || text[len - 1] != '%')
        return set_count(FIELD(int, options, row), row, text, why);
    do
        len--;
    while (len > 0 && text[len - 1] == ' ');
    if (len < sizeof digits) {
        memcpy(digits, text, len);
        digits[len] = '\0';
        if (units_parse_number(digits, &number, why) && number >= 1 && number <= 100) {
            *percent = (int)number;
            return true;
        }
    }
    return why_set(why,
                   "\"%.64s\" is out of range, expected 1%%..100%% or %" PRId64 "..%" PRId64 " %s",
                   text, row->min, row->max, row->unit);
}

static bool set_duration(int64_t *out, const struct option_row *row, const char *text,
                         struct why *why)
{
    char low[UNITS_TEXT_MAX_BYTES];
    char high[UNITS_TEXT_MAX_BYTES];
    bool may_be_off = row->type == OPTION_DURATION_OFF;
    int64_t ms;
    if (may_be_off && strcmp(text, "off") == 0) {
        *out = 0;
        return true;
    }
    if (!units_parse_duration(text, &ms, why))
        return false;
    if (ms < row->min || ms > row->max)
        return why_set(why, "%.64s is out of range, expected %s..%s%s", text,
                       units_format_duration(row->min, low), units_format_duration(row->max, high),
                       may_be_off ? " or off" : "");
    *out = ms;
    return true;
}

static bool set_size(int64_t *out, const struct option_row *row, const char *text, struct why *why)
{
    char low[UNITS_TEXT_MAX_BYTES];
    char high[UNITS_TEXT_MAX_BYTES];
    int64_t bytes;
    if (!units_parse_size(text, &bytes, why))
        return false;
    if (bytes < row->min || bytes > row->max)
        return why_set(why, "%.64s is out of range, expected %s..%s", text,
                       units_format_size(row->min, low), units_format_size(row->max, high));
    *out = bytes;
    return true;
}

/* The place of `text` in "a|b|c"; -1 when it is none of them. */
static int word_index(const char *words, const char *text)
{
    size_t len = strlen(text);
    int index = 0;
    for (const char *at = words;; index++) {
        size_t word_len = strcspn(at, "|");
        if (word_len == len && strncmp(at, text, len) == 0)
            return index;
        if (at[word_len] == '\0')
            return -1;
        at += word_len + 1;
    }
}

static bool set_enum(void *out, const struct option_row *row, const char *text, struct why *why)
{
    int index = word_index(row->unit, text);
    if (index < 0)
        return why_set(why, "\"%.64s\" is none of %s", text, row->unit);
    memcpy(out, &index,
           sizeof index); /* every enum of options.h counts from 0 and has an int's size */
    return true;
}

/* ---- lists ---- */

bool value_append_address(struct options *options, const struct option_row *row, const char *text,
                          struct why *why)
{
    struct address address;
    struct address **list = FIELD(struct address *, options, row);
    size_t *count = COUNT(options, row);
    if (!address_parse(text, &address, why))
        return false;
    *list = memory_append(*list, count, sizeof **list);
    (*list)[*count - 1] = address;
    return true;
}

void value_append_string(struct options *options, const struct option_row *row, const char *text)
{
    char ***list = FIELD(char **, options, row);
    size_t *count = COUNT(options, row);
    *list = memory_append(*list, count, sizeof **list);
    (*list)[*count - 1] = memory_copy(text);
}

static char *copy_or_null(const char *text)
{
    return text == NULL ? NULL : memory_copy(text);
}

bool value_append_backend(struct options *options, const struct option_row *row,
                          const struct url *url, struct why *why)
{
    struct backend_option **list = FIELD(struct backend_option *, options, row);
    size_t *count = COUNT(options, row);
    if (strcmp(url_section(url->scheme), row->section) != 0)
        return why_set(why, "the URL is one of %s, not of %s", url_section(url->scheme),
                       row->section);
    *list = memory_append(*list, count, sizeof **list);
    (*list)[*count - 1] = (struct backend_option){
        .host = copy_or_null(url->host),
        .port = url->port,
        .path = copy_or_null(url->path),
        .user = copy_or_null(url->user),
        .password = copy_or_null(url->password),
        .schema = copy_or_null(url->database),
    };
    return true;
}

void user_option_fini(struct user_option *user)
{
    free(user->name);
    memory_free_secret(user->password);
    explicit_bzero(user, sizeof *user);
}

static bool check_user(const struct user_option *user, const struct user_option *others,
                       size_t count, struct why *why)
{
    if (user->name == NULL || *user->name == '\0') {
        (void)why_set(why, "a user without a name");
        return false;
    }
    if ((user->password != NULL) == user->has_hash) {
        (void)why_set(why, "user %.64s: needs one of password, password_file and hash", user->name);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(others[i].name, user->name) == 0)
            return why_set(why, "user %.64s is given twice", user->name);
    return true;
}

bool value_append_user(struct options *options, const struct option_row *row,
                       struct user_option *user, struct why *why)
{
    struct user_option **list = FIELD(struct user_option *, options, row);
    size_t *count = COUNT(options, row);
    if (!check_user(user, *list, *count, why)) {
        user_option_fini(user);
        return false;
    }
    *list = memory_append(*list, count, sizeof **list);
    (*list)[*count - 1] = *user;
    return true;
}

enum {
    HASH_DIGITS = 2 * USER_HASH_BYTES,
    HASH_TEXT_BYTES = 1 + HASH_DIGITS, /* and the '*' */
};

bool value_parse_hash(const char *text, struct user_option *user, struct why *why)
{
    static const char digits[] = "0123456789abcdef";
    bool good = *text == '*' && strlen(text) == HASH_TEXT_BYTES;
    for (size_t i = 0; good && i < HASH_DIGITS; i++) {
        const char *digit = strchr(digits, text[i + 1] | 0x20);
        good = digit != NULL && ((text[i + 1] >= '0' && text[i + 1] <= '9') || digit - digits > 9);
        if (good)
            user->hash[i / 2] = (uint8_t)(user->hash[i / 2] << 4 | (digit - digits));
    }
    user->has_hash = good;
    return good || why_set(why, "a hash is '*' and 40 hexadecimal digits, as mysql.user shows it");
}

bool value_parse_role(const char *text, enum backend_role *role, struct why *why)
{
    static const char words[] = "auto|primary|replica";
    int index = word_index(words, text);
    if (index < 0)
        return why_set(why, "role \"%.64s\" is none of %s", text, words);
    *role = (enum backend_role)index;
    return true;
}

/* ---- lists as one text ---- */

/* Cuts the next item off a comma list, blanks around it gone; NULL at the end. */
static char *next_item(char **rest)
{
    char *item = strsep(rest, ",");
    if (item == NULL)
        return NULL;
    item += strspn(item, " \t\r\n");
    size_t len = strlen(item);
    while (len > 0 && strchr(" \t\r\n", item[len - 1]) != NULL)
        len--;
    item[len] = '\0';
    return item;
}

static bool set_addresses(struct options *options, const struct option_row *row, char *text,
                          struct why *why)
{
    if (strcmp(text, "off") == 0)
        return true;
    for (char *item; (item = next_item(&text)) != NULL;)
        if (!value_append_address(options, row, item, why))
            return false;
    return true;
}

static void set_strings(struct options *options, const struct option_row *row, char *text)
{
    for (char *item; (item = next_item(&text)) != NULL;)
        if (*item != '\0')
            value_append_string(options, row, item);
}

/* Decodes %XX in place: a comma and a colon in a secret have to be written so. */
static bool decode_percent(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        unsigned byte = (unsigned char)*from;
        if (*from == '%') {
            char hex[3] = {from[1], from[1] == '\0' ? '\0' : from[2], '\0'};
            char *end;
            byte = (unsigned)strtoul(hex, &end, 16);
            if (strspn(hex, "0123456789abcdefABCDEF") != 2 || byte == 0)
                return false;
            from += 2;
        }
        *to++ = (char)byte;
    }
    *to = '\0';
    return true;
}

/* "name:password,name:*HASH": the form that fits into one environment variable. */
static bool set_users(struct options *options, const struct option_row *row, char *text,
                      struct why *why)
{
    size_t number = 0;
    for (char *item; (item = next_item(&text)) != NULL;) {
        char *secret = strchr(item, ':');
        struct user_option user = {0};
        number++;
        if (secret == NULL)
            return why_set(why, "user %zu: write name:password or name:*HASH", number);
        *secret++ = '\0';
        bool is_hash = *secret == '*' && strlen(secret) == HASH_TEXT_BYTES;
        if (is_hash ? !value_parse_hash(secret, &user, why)
                    : !decode_percent(item) || !decode_percent(secret))
            return why_set(why,
                           "user %zu: after '%%' two hexadecimal digits must follow, and after "
                           "'*' forty",
                           number);
        user.name = memory_copy(item);
        user.password = is_hash ? NULL : memory_copy(secret);
        if (!value_append_user(options, row, &user, why))
            return false;
    }
    return true;
}

static bool set_backend(struct options *options, const struct option_row *row, const char *text,
                        struct why *why)
{
    struct url url;
    if (!url_parse(text, &url, why))
        return false;
    bool good = value_append_backend(options, row, &url, why);
    url_fini(&url);
    return good;
}

static bool set_list(struct options *options, const struct option_row *row, const char *text,
                     struct why *why)
{
    char *copy = memory_copy(text);
    bool good = true;
    if (*text == '\0')
        good = true;
    else if (row->type == OPTION_ADDRESS_LIST)
        good = set_addresses(options, row, copy, why);
    else if (row->type == OPTION_USER_LIST)
        good = set_users(options, row, copy, why);
    else if (row->type == OPTION_BACKEND_LIST)
        good = set_backend(options, row, copy, why);
    else
        set_strings(options, row, copy);
    explicit_bzero(copy, strlen(text));
    free(copy);
    return good;
}

bool value_set(struct options *options, const struct option_row *row, const char *text,
               struct why *why)
{
    value_clear(options, row);
    switch (row->type) {
    case OPTION_STRING:
        *FIELD(char *, options, row) = *text == '\0' ? NULL : memory_copy(text);
        return true;
    case OPTION_BOOL:
        return set_bool(FIELD(bool, options, row), text, why);
    case OPTION_COUNT:
        return set_count(FIELD(int, options, row), row, text, why);
    case OPTION_SHARE:
        return set_share(options, row, text, why);
    case OPTION_DURATION:
    case OPTION_DURATION_OFF:
        return set_duration(FIELD(int64_t, options, row), row, text, why);
    case OPTION_SIZE:
        return set_size(FIELD(int64_t, options, row), row, text, why);
    case OPTION_ENUM:
        return set_enum(FIELD(int, options, row), row, text, why);
    case OPTION_ADDRESS_LIST:
    case OPTION_BACKEND_LIST:
    case OPTION_USER_LIST:
    case OPTION_STRING_LIST:
        return set_list(options, row, text, why);
    }
    return why_set(why, "no such type");
}

/* ---- clearing ---- */

static void backend_fini(struct backend_option *backend)
{
    free(backend->host);
    free(backend->path);
    free(backend->user);
    memory_free_secret(backend->password);
    free(backend->schema);
}

static void clear_item(const struct option_row *row, void *items, size_t i)
{
    if (row->type == OPTION_ADDRESS_LIST)
        address_fini((struct address *)items + i);
    else if (row->type == OPTION_BACKEND_LIST)
        backend_fini((struct backend_option *)items + i);
    else if (row->type == OPTION_USER_LIST)
        user_option_fini((struct user_option *)items + i);
    else
        free(((char **)items)[i]);
}

void value_clear(struct options *options, const struct option_row *row)
{
    switch (row->type) {
    case OPTION_ADDRESS_LIST:
    case OPTION_BACKEND_LIST:
    case OPTION_USER_LIST:
    case OPTION_STRING_LIST:
        for (size_t i = 0; i < *COUNT(options, row); i++)
            clear_item(row, *FIELD(void *, options, row), i);
        *COUNT(options, row) = 0;
        free(*FIELD(void *, options, row));
        *FIELD(void *, options, row) = NULL;
        return;
    case OPTION_STRING:
        free(*FIELD(char *, options, row));
        *FIELD(char *, options, row) = NULL;
        return;
    case OPTION_BOOL:
    case OPTION_COUNT:
    case OPTION_SHARE:
    case OPTION_DURATION:
    case OPTION_DURATION_OFF:
    case OPTION_SIZE:
    case OPTION_ENUM:
        return; /* nothing owned; the next value_set overwrites it */
    }
}
