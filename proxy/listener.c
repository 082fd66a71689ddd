/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/listener.h"

#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "pool/iobuf.h"
#include "proxy/session.h"

enum { LISTENER_BACKLOG = 4096 };

struct listener {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct proxy *proxy;
    struct list_node node;
    bool is_unix;
    char path[ADDRESS_PATH_MAX_BYTES + 1];
    char text[ADDRESS_TEXT_MAX_BYTES]; /* as it is open */
};

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *l = CONTAINER_OF(stream, struct listener, uv.stream);
    if (status == 0)
        session_accept(l->proxy, stream, l->is_unix,
                       l->proxy->options->mysql.listen_tls == LISTEN_TLS_REQUIRE);
}

static void on_closed(uv_handle_t *handle)
{
    free(CONTAINER_OF(handle, struct listener, uv.handle));
}

int listener_resolve(const struct address *a, struct sockaddr_storage *out)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char port[8];
    (void)snprintf(port, sizeof port, "%u", a->port);
    if (getaddrinfo(a->host, port, &hints, &found) != 0 || !found)
        return UV_EAI_NONAME;
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

static int open_tcp(struct listener *l, const struct address *a)
{
    struct sockaddr_storage ss;
    int error = listener_resolve(a, &ss);
    if (!error)
        error = uv_tcp_bind(&l->uv.tcp, (struct sockaddr *)&ss, 0);
    if (!error)
        error = uv_listen(&l->uv.stream, LISTENER_BACKLOG, on_connection);
    int len = sizeof ss;
    if (!error)
        error = uv_tcp_getsockname(&l->uv.tcp, (struct sockaddr *)&ss, &len);
    if (error)
        return error;
    struct address bound = *a;
    bound.port = ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                                : ((struct sockaddr_in *)&ss)->sin_port);
    (void)address_format(&bound, l->text, sizeof l->text);
    return 0;
}

/* A socket file that nobody listens on any more is a leftover; anything else stays. */
static int remove_stale(const char *path)
{
    struct stat st;
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    if (lstat(path, &st) != 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return UV_EADDRINUSE;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    (void)snprintf(sun.sun_path, sizeof sun.sun_path, "%s", path);
    int refused = connect(fd, (struct sockaddr *)&sun, sizeof sun) != 0 && errno == ECONNREFUSED;
    (void)close(fd);
    if (!refused)
        return UV_EADDRINUSE;
    return unlink(path) == 0 ? 0 : -errno;
}

static int set_group(const struct address *a)
{
    if (!a->group)
        return 0;
    struct group *g = getgrnam(a->group);
    if (!g)
        return UV_ENOENT;
    return chown(a->path, (uid_t)-1, g->gr_gid) == 0 ? 0 : -errno;
}

static int open_unix(struct listener *l, const struct address *a)
{
    int error = remove_stale(a->path);
    if (!error) {
        mode_t before = umask(0777 & ~a->mode);
        error = uv_pipe_bind(&l->uv.pipe, a->path);
        (void)umask(before);
    }
    if (error)
        return error;
    (void)snprintf(l->path, sizeof l->path, "%s", a->path);
    error = set_group(a);
    if (!error && chmod(a->path, a->mode) != 0)
        error = -errno;
    if (!error)
        error = uv_listen(&l->uv.stream, LISTENER_BACKLOG, on_connection);
    (void)address_format(a, l->text, sizeof l->text);
    return error;
}

static void say_why(const struct address *a, int error, char *err, size_t err_bytes)
{
    char text[ADDRESS_TEXT_MAX_BYTES];
    (void)address_format(a, text, sizeof text);
    (void)snprintf(err, err_bytes, "cannot listen on %s: %s%s", text, uv_strerror(error),
                   error == UV_EADDRINUSE ? "; another process has it: stop that one, or choose "
                                            "another address with --mysql-listen or "
                                            "SLUICE_MYSQL_LISTEN"
                                          : "");
}

int listener_open_all(struct proxy *p, char *err, size_t err_bytes)
{
    const struct mysql_options *m = &p->options->mysql;
    for (size_t i = 0; i < m->listen_count; i++) {
        const struct address *a = &m->listen[i];
        struct listener *l = xcalloc(1, sizeof *l);
        l->proxy = p;
        l->is_unix = a->kind == ADDRESS_UNIX;
        if (l->is_unix)
            (void)uv_pipe_init(&p->loop->uv, &l->uv.pipe, 0);
        else
            (void)uv_tcp_init(&p->loop->uv, &l->uv.tcp);
        list_append(&p->listeners, &l->node);
        int error = l->is_unix ? open_unix(l, a) : open_tcp(l, a);
        if (error) {
            say_why(a, error, err, err_bytes);
            return -1;
        }
    }
    return 0;
}

void listener_close_all(struct proxy *p)
{
    for (struct list_node *n; (n = list_first(&p->listeners));) {
        struct listener *l = CONTAINER_OF(n, struct listener, node);
        list_remove(&p->listeners, n);
        if (l->path[0])
            (void)unlink(l->path); /* libuv does so too; here it is ours to have done */
        uv_close(&l->uv.handle, on_closed);
    }
}

void listener_describe(const struct proxy *p, char *out, size_t room)
{
    size_t len = 0;
    (void)snprintf(out, room, "off");
    for (struct list_node *n = list_first((struct list *)&p->listeners); n;
         n = list_after((struct list *)&p->listeners, n)) {
        const struct listener *l = CONTAINER_OF(n, struct listener, node);
        int wrote = snprintf(out + len, room - len, "%s%s", len ? "," : "", l->text);
        if (wrote < 0 || (size_t)wrote >= room - len)
            return;
        len += (size_t)wrote;
    }
}
