/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/admin.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/environment.h"
#include "health/http.h"
#include "pool/scramble.h"
#include "proxy/drain.h"
#include "proxy/listener.h"
#include "proxy/report.h"

enum {
    LISTENER_ADMIN = 1,
    LISTENER_HEALTH = 2,
    METRICS_MAX_BYTES = 16 << 20,
};

static void respond_text(const struct http_request *r, int status, const char *text)
{
    http_respond(r->client, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void get_ready(struct proxy *p, const struct http_request *r)
{
    char causes[512];
    if (report_ready(p, causes, sizeof causes))
        respond_text(r, 200, "ready\n");
    else
        respond_text(r, 503, causes);
}

static void get_startup(struct proxy *p, const struct http_request *r)
{
    bool answered = !p->target || p->target->known;
    respond_text(r, answered ? 200 : 503, answered ? "started\n" : "no backend has answered yet\n");
}

static void get_live(struct proxy *p, const struct http_request *r)
{
    (void)p;
    respond_text(r, 200, "live\n");
}

static void get_metrics(struct proxy *p, const struct http_request *r)
{
    struct metrics_text text;
    metrics_text_init(&text, METRICS_MAX_BYTES);
    report_metrics(p, &text);
    if (text.full)
        respond_text(r, 500, "too many metrics\n");
    else
        http_respond(r->client, 200, METRICS_CONTENT_TYPE, text.at, text.len);
    metrics_text_fini(&text);
}

static void get_status(struct proxy *p, const struct http_request *r)
{
    char *json = report_status(p);
    if (json)
        http_respond(r->client, 200, "application/json", json, strlen(json));
    else
        respond_text(r, 500, "no memory\n");
    free(json);
}

static void get_index(struct proxy *p, const struct http_request *r)
{
    (void)p;
    static const char page[] =
        "<!DOCTYPE html><html lang=en><meta "
        "charset=utf-8><title>sluice</title><h1>sluice " SLUICE_VERSION
        "</h1><ul><li><a href=/status>status</a><li><a href=/metrics>metrics</a><li><a "
        "href=/readyz>readyz</a><li><a href=/livez>livez</a><li><a "
        "href=/startupz>startupz</a></ul>";
    http_respond(r->client, 200, "text/html; charset=utf-8", page, sizeof page - 1);
}

static void post_drain(struct proxy *p, const struct http_request *r)
{
    drain_begin(p);
    respond_text(r, 200, "draining\n");
}

static void post_reload(struct proxy *p, const struct http_request *r)
{
    char why[4096];
    if (proxy_reload(p, why, sizeof why) == 0)
        respond_text(r, 200, "reloaded\n");
    else
        respond_text(r, 422, why);
}

static const struct {
    const char *path;
    enum http_method method;
    bool on_health; /* served by the health listener too */
    void (*answer)(struct proxy *p, const struct http_request *r);
} routes[] = {
    {"/livez", HTTP_METHOD_GET, true, get_live},
    {"/readyz", HTTP_METHOD_GET, true, get_ready},
    {"/startupz", HTTP_METHOD_GET, true, get_startup},
    {"/metrics", HTTP_METHOD_GET, true, get_metrics},
    {"/status", HTTP_METHOD_GET, false, get_status},
    {"/", HTTP_METHOD_GET, false, get_index},
    {"/drain", HTTP_METHOD_POST, false, post_drain},
    {"/reload", HTTP_METHOD_POST, false, post_reload},
};

static bool token_is_right(const struct proxy *p, const char *token)
{
    size_t len = strlen(p->token);
    return !len || (token && strlen(token) == len && scramble_equal(token, p->token, len));
}

static void on_request(void *ctx, const struct http_request *r)
{
    struct proxy *p = ctx;
    bool known = false;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (strcmp(routes[i].path, r->path) != 0 ||
            (r->listener_id == LISTENER_HEALTH && !routes[i].on_health))
            continue;
        known = true;
        if (routes[i].method != r->method)
            continue;
        if (r->method == HTTP_METHOD_POST && !token_is_right(p, r->token))
            respond_text(r, 401, "a token is needed: Authorization: Bearer TOKEN\n");
        else if (r->method == HTTP_METHOD_POST && r->has_origin)
            respond_text(r, 403, "not for web pages\n");
        else
            routes[i].answer(p, r);
        return;
    }
    if (known)
        http_respond_with(r->client, 405, "Allow: GET, HEAD, POST\r\n", "text/plain; charset=utf-8",
                          bytes_text("this path has another method\n"));
    else
        respond_text(r, 404, "no such path\n");
}

static int open_one(struct proxy *p, const struct address *a, int id, char *text, size_t room)
{
    struct sockaddr_storage ss;
    struct sockaddr_storage bound;
    if (a->kind == ADDRESS_UNIX) {
        (void)address_format(a, text, room);
        return http_server_listen_unix(p->http, a->path, a->mode, id);
    }
    int error = listener_resolve(a, &ss);
    if (!error)
        error = http_server_listen_tcp(p->http, (struct sockaddr *)&ss, id, &bound);
    if (error)
        return error;
    struct address open = *a;
    open.port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                  : ((struct sockaddr_in *)&bound)->sin_port);
    (void)address_format(&open, text, room);
    return 0;
}

/* The sentence for a listener that cannot be opened. */
struct refusal {
    char *text;
    size_t bytes;
};

static void say_why(const struct refusal *r, const struct address *a, int id, int error)
{
    char text[ADDRESS_TEXT_MAX_BYTES];
    (void)address_format(a, text, sizeof text);
    (void)snprintf(r->text, r->bytes,
                   "cannot listen on %s: %s; choose another address with %s, or \"off\"", text,
                   uv_strerror(error),
                   id == LISTENER_ADMIN ? "--admin-listen or SLUICE_ADMIN_LISTEN"
                                        : "--health-listen or SLUICE_HEALTH_LISTEN");
}

/* Opens all addresses of one listener; `open` (ADMIN_TEXT_BYTES) gets them as they are open. */
static int open_list(struct proxy *p, int id, char *open, const struct refusal *r)
{
    const struct admin_options *o = &p->options->admin;
    const struct address *list = id == LISTENER_ADMIN ? o->listen : o->health_listen;
    size_t count = id == LISTENER_ADMIN ? o->listen_count : o->health_listen_count;
    size_t len = 0;
    (void)snprintf(open, ADMIN_TEXT_BYTES, "off");
    for (size_t i = 0; i < count; i++) {
        char one[ADDRESS_TEXT_MAX_BYTES];
        int error = open_one(p, &list[i], id, one, sizeof one);
        if (error) {
            say_why(r, &list[i], id, error);
            return -1;
        }
        int wrote = snprintf(open + len, ADMIN_TEXT_BYTES - len, "%s%s", len ? "," : "", one);
        len += wrote > 0 && (size_t)wrote < ADMIN_TEXT_BYTES - len ? (size_t)wrote : 0;
    }
    return 0;
}

static int read_token(struct proxy *p, char *err, size_t err_bytes)
{
    struct why why = {{0}};
    const char *file = p->options->admin.token_file;
    p->token[0] = '\0';
    if (!file || !*file)
        return 0;
    char *text = environment_read_secret(file, &why);
    if (!text || !*text || strlen(text) >= sizeof p->token) {
        (void)snprintf(err, err_bytes, "admin.token_file: %s: %s", file,
                       text ? "empty, or longer than 255 bytes" : why.text);
        free(text);
        return -1;
    }
    (void)snprintf(p->token, sizeof p->token, "%s", text);
    scramble_wipe(text, strlen(text));
    free(text);
    return 0;
}

int admin_open(struct proxy *p, char *admin, char *health, char *err, size_t err_bytes)
{
    struct refusal r = {.text = err, .bytes = err_bytes};
    if (read_token(p, err, err_bytes) != 0)
        return -1;
    p->http = http_server_new(&p->loop->uv, on_request, p);
    if (open_list(p, LISTENER_ADMIN, admin, &r) != 0)
        return -1;
    return open_list(p, LISTENER_HEALTH, health, &r);
}

void admin_close(struct proxy *p)
{
    if (p->http)
        http_server_close(p->http, NULL, NULL);
    p->http = NULL;
}
