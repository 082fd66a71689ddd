/* SPDX-License-Identifier: Apache-2.0
 *
 * Backend URLs by uriparser (RFC 3986); the only file that knows it. See url.h. */
#include "conf/url.h"

#include <stdlib.h>
#include <string.h>
#include <uriparser/Uri.h>

#include "conf/address.h"
#include "conf/memory.h"
#include "conf/units.h"

static const struct scheme {
    const char *name;
    const char *section;
    uint16_t port; /* 0: a unix socket */
} schemes[] = {
    [URL_MYSQL] = {"mysql", "mysql", 3306},        [URL_MYSQL_UNIX] = {"mysql+unix", "mysql", 0},
    [URL_REDIS] = {"redis", "redis", 6379},        [URL_REDISS] = {"rediss", "redis", 6379},
    [URL_REDIS_UNIX] = {"redis+unix", "redis", 0},
};

enum { SCHEME_COUNT = sizeof schemes / sizeof schemes[0] };

const char *url_section(enum url_scheme scheme)
{
    return schemes[scheme].section;
}

bool url_is_unix(enum url_scheme scheme)
{
    return schemes[scheme].port == 0;
}

static size_t range_len(const UriTextRangeA *range)
{
    return range->first == NULL ? 0 : (size_t)(range->afterLast - range->first);
}

/* Owned and decoded. Never holds a NUL: url_parse refuses %00 at the start. */
static char *decode(const char *at, size_t len)
{
    char *copy = memory_copy_bytes(at, len);
    (void)uriUnescapeInPlaceExA(copy, URI_FALSE, URI_BR_DONT_TOUCH);
    return copy;
}

static bool take_scheme(const UriUriA *uri, struct url *out, struct why *why)
{
    size_t len = range_len(&uri->scheme);
    for (size_t i = 0; i < SCHEME_COUNT; i++) {
        if (len == strlen(schemes[i].name) &&
            strncasecmp(uri->scheme.first, schemes[i].name, len) == 0) {
            out->scheme = (enum url_scheme)i;
            return true;
        }
    }
    return why_set(why,
                   "not a URL of mysql://, mysql+unix://, redis://, rediss:// or redis+unix://");
}

static bool take_credentials(const UriUriA *uri, struct url *out, struct why *why)
{
    const char *at = uri->userInfo.first;
    size_t len = range_len(&uri->userInfo);
    if (at == NULL)
        return true;
    const char *colon = memchr(at, ':', len);
    size_t user_len = colon == NULL ? len : (size_t)(colon - at);
    if (user_len > 0)
        out->user = decode(at, user_len);
    else if (strcmp(url_section(out->scheme), "mysql") == 0)
        return why_set(why, "the user's name before '@' is empty");
    if (colon != NULL)
        out->password = decode(colon + 1, len - user_len - 1);
    return true;
}

static bool take_port(const UriUriA *uri, struct url *out, struct why *why)
{
    size_t len = range_len(&uri->portText);
    char digits[6];
    int64_t port;
    out->port = schemes[out->scheme].port;
    if (uri->portText.first == NULL)
        return true;
#ifdef SLUICE_PLANT_BUG /* the fuzzer has to find it: tests/fuzz */
    bool fits = true;
#else
    bool fits = len < sizeof digits;
#endif
    if (fits) {
        memcpy(digits, uri->portText.first, len);
        digits[len] = '\0';
        if (units_parse_number(digits, &port, why) && port >= 1 && port <= UINT16_MAX) {
            out->port = (uint16_t)port;
            return true;
        }
    }
    return why_set(why, "the port must be 1..65535");
}

static bool take_host(const UriUriA *uri, struct url *out, struct why *why)
{
    size_t len = range_len(&uri->hostText);
    if (url_is_unix(out->scheme)) {
        if (len > 0 || uri->portText.first != NULL)
            return why_set(why, "a unix socket has no host: write %s:///path",
                           schemes[out->scheme].name);
        return true;
    }
    if (len == 0)
        return why_set(why, "the host is missing");
    if (uri->hostData.ipFuture.first != NULL ||
        !address_is_host(uri->hostText.first, len, uri->hostData.ip6 != NULL))
        return why_set(why, "the host is not a name, an IPv4 or an [IPv6] address");
    out->host = memory_copy_bytes(uri->hostText.first, len);
    return take_port(uri, out, why);
}

/* The socket's path: the segments with a '/' before each. */
static bool take_socket(const UriUriA *uri, struct url *out, struct why *why)
{
    const UriPathSegmentA *head = uri->pathHead;
    if (head == NULL || range_len(&head->text) == 0)
        return why_set(why, "the path of the socket is missing");
    if (range_len(&uri->pathTail->text) == 0)
        return why_set(why, "the path of the socket ends with '/': it names a directory");
    const char *first = head->text.first - 1;
    out->path = decode(first, (size_t)(uri->pathTail->text.afterLast - first));
    if (strlen(out->path) > ADDRESS_PATH_MAX_BYTES)
        return why_set(why, "the socket's path has more than %d bytes", ADDRESS_PATH_MAX_BYTES);
    return true;
}

static bool take_path(const UriUriA *uri, struct url *out, struct why *why)
{
    const UriPathSegmentA *head = uri->pathHead;
    if (url_is_unix(out->scheme))
        return take_socket(uri, out, why);
    if (head == NULL || (head->next == NULL && range_len(&head->text) == 0))
        return true;
    if (head->next != NULL)
        return why_set(why, "only a database name may follow the host, a '/' in it is %%2F");
    out->database = decode(head->text.first, range_len(&head->text));
    return true;
}

/* A unix URL has its database among the parameters; the others go to the section. */
static bool take_parameter(const char *key, const char *value, struct url *out, struct why *why)
{
    bool is_database = strcmp(key, "db") == 0 || strcmp(key, "database") == 0;
    if (is_database && out->database != NULL)
        return why_set(why, "the database is given twice");
    if (is_database) {
        if (*value != '\0')
            out->database = memory_copy(value);
        return true;
    }
    if (out->parameter_count == URL_PARAMETERS_MAX)
        return why_set(why, "more than %d parameters", URL_PARAMETERS_MAX);
    out->parameters =
        memory_append(out->parameters, &out->parameter_count, sizeof *out->parameters);
    out->parameters[out->parameter_count - 1] =
        (struct url_parameter){.key = memory_copy(key), .value = memory_copy(value)};
    return true;
}

static bool take_query(const UriUriA *uri, struct url *out, struct why *why)
{
    UriQueryListA *list = NULL;
    int count = 0;
    if (range_len(&uri->query) == 0)
        return true;
    if (uriDissectQueryMallocExA(&list, &count, uri->query.first, uri->query.afterLast, URI_FALSE,
                                 URI_BR_DONT_TOUCH) != URI_SUCCESS)
        return why_set(why, "the parameters behind '?' cannot be read");
    bool good = true;
    size_t number = 0;
    for (const UriQueryListA *at = list; good && at != NULL; at = at->next) {
        number++;
        good = at->value == NULL
                   ? why_set(why, "parameter %zu has no value, write key=value", number)
                   : take_parameter(at->key, at->value, out, why);
    }
    uriFreeQueryListA(list);
    return good;
}

/* What RFC 3986 lets pass, but what is most likely a password that was not percent-encoded. */
static bool check_stray(const char *text, const UriUriA *uri, struct why *why)
{
    if (uri->fragment.first != NULL)
        return why_set(why, "character %zu: a '#' is written %%23",
                       (size_t)(uri->fragment.first - text));
    const char *rest =
        uri->portText.first != NULL ? uri->portText.afterLast : uri->hostText.afterLast;
    const char *at = strchr(rest, '@');
    if (at != NULL)
        return why_set(why,
                       "character %zu: an '@' stands here; in a password '/' is written %%2F, '?' "
                       "%%3F and '@' %%40",
                       (size_t)(at - text) + 1);
    return true;
}

static bool take_all(const char *text, const UriUriA *uri, struct url *out, struct why *why)
{
    if (!take_scheme(uri, out, why))
        return false;
    if (uri->hostText.first == NULL)
        return why_set(why, "\"//\" must follow %s:", schemes[out->scheme].name);
    return check_stray(text, uri, why) && take_credentials(uri, out, why) &&
           take_host(uri, out, why) && take_path(uri, out, why) && take_query(uri, out, why);
}

bool url_parse(const char *text, struct url *out, struct why *why)
{
    UriUriA uri;
    const char *bad = NULL;
    memset(out, 0, sizeof *out);
    if (strlen(text) > URL_MAX_BYTES)
        return why_set(why, "the URL is longer than %d bytes", URL_MAX_BYTES);
    const char *nul = strstr(text, "%00");
    if (nul != NULL)
        return why_set(why, "character %zu: %%00 is not allowed", (size_t)(nul - text) + 1);
    if (uriParseSingleUriA(&uri, text, &bad) != URI_SUCCESS)
        return why_set(why,
                       "character %zu of the URL may not stand there; in a user's name or password "
                       "write it percent-encoded",
                       bad == NULL ? (size_t)0 : (size_t)(bad - text) + 1);
    bool good = take_all(text, &uri, out, why);
    uriFreeUriMembersA(&uri);
    if (!good)
        url_fini(out);
    return good;
}

void url_fini(struct url *url)
{
    for (size_t i = 0; i < url->parameter_count; i++) {
        free(url->parameters[i].key);
        memory_free_secret(url->parameters[i].value);
    }
    free(url->parameters);
    free(url->user);
    memory_free_secret(url->password);
    free(url->host);
    free(url->path);
    free(url->database);
    memset(url, 0, sizeof *url);
}

void url_print_escaped(const char *text, FILE *out)
{
    char *escaped = memory_new(strlen(text) * 3 + 1);
    (void)uriEscapeA(text, escaped, URI_FALSE, URI_FALSE);
    fputs(escaped, out);
    memory_free_secret(escaped);
}
