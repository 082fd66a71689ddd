/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/call.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf/environment.h"
#include "health/http_client.h"
#include "proxy/listener.h"

enum { CALL_TIMEOUT_MS = 3000, WAIT_STEP_MS = 100 };

struct answer {
    int status;
    char body[4096];
};

static int call_at(const struct address *a, const char *method, const char *path, const char *token,
                   struct answer *answer)
{
    struct sockaddr_storage ss;
    struct http_call call = {
        .method = method, .path = path, .token = token, .timeout_ms = CALL_TIMEOUT_MS};
    if (a->kind == ADDRESS_UNIX) {
        call.unix_path = a->path;
    } else {
        if (listener_resolve(a, &ss) != 0)
            return -1;
        call.addr = (const struct sockaddr *)&ss;
    }
    return http_call(&call, &answer->status, answer->body, sizeof answer->body);
}

/* The admin listener, else the health listener. */
static int get_any(const struct options *o, const char *path, struct answer *answer)
{
    int error = -1;
    for (size_t i = 0; i < o->admin.listen_count && error; i++)
        error = call_at(&o->admin.listen[i], "GET", path, NULL, answer);
    for (size_t i = 0; i < o->admin.health_listen_count && error; i++)
        error = call_at(&o->admin.health_listen[i], "GET", path, NULL, answer);
    return error;
}

/* 0, or 1 with the cause on stderr. */
static int judge(int error, const struct answer *answer)
{
    if (error) {
        (void)fprintf(stderr,
                      "sluice: no answer on the admin listener (%s); is it running, and is "
                      "admin.listen the same here?\n",
                      strerror(-error));
        return 1;
    }
    if (answer->status != 200)
        (void)fprintf(stderr, "sluice: %s", answer->body);
    return answer->status == 200 ? 0 : 1;
}

static int64_t clock_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until it is ready and a backend has answered. */
static int wait_ready(const struct options *o, int64_t max_ms)
{
    static const struct timespec pause = {.tv_nsec = WAIT_STEP_MS * 1000000L};
    int64_t end = clock_ms() + max_ms;
    struct answer answer = {.body = "no answer on the admin or health listener\n"};
    for (;;) {
        int error = get_any(o, "/startupz", &answer);
        if (error == 0 && answer.status == 200)
            error = get_any(o, "/readyz", &answer);
        if (error == 0 && answer.status == 200)
            return 0;
        if (error)
            (void)snprintf(answer.body, sizeof answer.body, "%s on the admin or health listener\n",
                           strerror(-error));
        if (clock_ms() >= end) {
            (void)fprintf(stderr, "sluice: not ready after %lld ms: %s", (long long)max_ms,
                          answer.body);
            return 1;
        }
        (void)nanosleep(&pause, NULL);
    }
}

static int post_drain(const struct options *o)
{
    struct answer answer = {0};
    struct why why = {{0}};
    char *token = NULL;
    if (o->admin.token_file && *o->admin.token_file) {
        token = environment_read_secret(o->admin.token_file, &why);
        if (!token) {
            (void)fprintf(stderr, "sluice: admin.token_file: %s\n", why.text);
            return 2;
        }
    }
    int error = -1;
    for (size_t i = 0; i < o->admin.listen_count && error; i++)
        error = call_at(&o->admin.listen[i], "POST", "/drain", token, &answer);
    free(token);
    return judge(error, &answer);
}

int call_running(const struct cli *cli, const struct options *options)
{
    struct answer answer = {0};
    int error = 0;
    switch (cli->action) {
    case CLI_WAIT:
        return wait_ready(options, cli->wait_max_ms);
    case CLI_HEALTH:
        error = get_any(options, "/readyz", &answer);
        return judge(error, &answer);
    case CLI_DRAIN:
        return post_drain(options);
    case CLI_TOP:
        (void)fprintf(stderr,
                      "sluice: `top` is not in this version; GET /status has the figures\n");
        return 2;
    case CLI_RUN:
    case CLI_CHECK:
    case CLI_CHECK_ONLINE:
    case CLI_PRINT_CONFIG:
    case CLI_VERSION:
    case CLI_HELP:
        break;
    }
    return 2;
}
