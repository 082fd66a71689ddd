/* SPDX-License-Identifier: Apache-2.0
 *
 * ADDR, the address of a listener. See address.h; the text form is interface.md's. */
#include "conf/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/memory.h"
#include "conf/units.h"

static bool parse_mode(const char *text, size_t len, unsigned *mode)
{
    unsigned value = 0;
    if (len == 0 || len > 4)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '7')
            return false;
        value = value * 8 + (unsigned)(text[i] - '0');
    }
    *mode = value;
    return value <= 0777;
}

/* One `key=value` behind the '?'. */
static bool parse_unix_parameter(const char *text, size_t len, struct address *out, struct why *why)
{
    if (len > 5 && strncmp(text, "mode=", 5) == 0) {
        if (!parse_mode(text + 5, len - 5, &out->mode))
            return why_set(why, "mode=%.*s is not an octal file mode such as 0660",
                           (int)(len - 5 > 16 ? 16 : len - 5), text + 5);
        return true;
    }
    if (len > 6 && len < 6 + 64 && strncmp(text, "group=", 6) == 0 && out->group == NULL) {
        out->group = memory_copy_bytes(text + 6, len - 6);
        return true;
    }
    return why_set(why, "after '?' only mode=0660 and group=NAME may stand, with '&' between them");
}

static bool parse_unix(const char *text, struct address *out, struct why *why)
{
    size_t path_len = strcspn(text, "?");
    if (path_len == 0)
        return why_set(why, "unix: needs a path behind it");
    if (path_len > ADDRESS_PATH_MAX_BYTES)
        return why_set(why, "the socket's path has %zu bytes, at most %d fit", path_len,
                       ADDRESS_PATH_MAX_BYTES);
    *out = (struct address){.kind = ADDRESS_UNIX, .mode = ADDRESS_MODE_DEFAULT};
    out->path = memory_copy_bytes(text, path_len);
    const char *at = text + path_len;
    while (*at != '\0') {
        at++; /* the '?' or the '&' */
        size_t len = strcspn(at, "&");
        if (!parse_unix_parameter(at, len, out, why)) {
            address_fini(out);
            return false;
        }
        at += len;
    }
    return true;
}

bool address_is_host(const char *host, size_t len, bool v6)
{
    if (len == 0 || len > ADDRESS_HOST_MAX_BYTES)
        return false;
    if (v6) {
        char text[INET6_ADDRSTRLEN];
        struct in6_addr ignored;
        if (len >= sizeof text)
            return false;
        memcpy(text, host, len);
        text[len] = '\0';
        return inet_pton(AF_INET6, text, &ignored) == 1;
    }
    return strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") >= len;
}

static bool parse_tcp(const char *text, struct address *out, struct why *why)
{
    const char *colon = strrchr(text, ':');
    bool v6 = *text == '[';
    if (colon == NULL || (v6 && (colon == text + 1 || colon[-1] != ']')))
        return why_set(why, "\"%.64s\" has no port, write host:port", text);
    if (!v6 && memchr(text, ':', (size_t)(colon - text)) != NULL)
        return why_set(why, "\"%.64s\": an IPv6 address goes in brackets, [::1]:port", text);
    const char *host = text + v6;
    size_t host_len = (size_t)(colon - host) - v6;
    if (!address_is_host(host, host_len, v6))
        return why_set(why, "\"%.64s\": what stands before the port is not a host", text);
    int64_t port;
    if (!units_parse_number(colon + 1, &port, why) || port < 0 || port > UINT16_MAX)
        return why_set(why, "\"%.64s\": the port must be 0..65535", text);
    *out = (struct address){.kind = ADDRESS_TCP, .port = (uint16_t)port};
    out->host = memory_copy_bytes(host, host_len);
    return true;
}

bool address_parse(const char *text, struct address *out, struct why *why)
{
    struct address parsed;
    bool is_unix = strncmp(text, "unix:", 5) == 0;
    if (!(is_unix ? parse_unix(text + 5, &parsed, why) : parse_tcp(text, &parsed, why)))
        return false;
    *out = parsed;
    return true;
}

void address_fini(struct address *address)
{
    free(address->host);
    free(address->path);
    free(address->group);
    memset(address, 0, sizeof *address);
}

char *address_format(const struct address *address, char *out, size_t room)
{
    if (address->kind == ADDRESS_TCP) {
        bool v6 = strchr(address->host, ':') != NULL;
        (void)snprintf(out, room, "%s%s%s:%u", v6 ? "[" : "", address->host, v6 ? "]" : "",
                       (unsigned)address->port);
        return out;
    }
    char mode[16] = "";
    if (address->mode != ADDRESS_MODE_DEFAULT)
        (void)snprintf(mode, sizeof mode, "?mode=%04o", address->mode);
    (void)snprintf(out, room, "unix:%s%s%s%s", address->path, mode,
                   address->group == NULL ? "" : (*mode ? "&group=" : "?group="),
                   address->group == NULL ? "" : address->group);
    return out;
}

bool address_is_local(const struct address *address)
{
    struct in_addr v4;
    if (address->kind == ADDRESS_UNIX)
        return true;
    if (inet_pton(AF_INET, address->host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcmp(address->host, "localhost") == 0 || strcmp(address->host, "::1") == 0;
}
