/* SPDX-License-Identifier: Apache-2.0 */
/* forwarder PORT HOST:PORT|/unix/path [ONE_WAY_DELAY_US]
 *
 * The cheapest proxy there can be: one thread, epoll, bytes copied both ways and never looked at. A
 * query costs it epoll_wait, recv and send in each direction and nothing else, so its CPU time is
 * the floor that sluice's is divided by. HOST is an IPv4 literal.
 *
 * With a delay it is a long wire instead: each chunk waits that long in each direction, and the
 * backend is connected three delays after the accept, so that a greeting comes after two round
 * trips as it does from a server that far away. The wire's queue has no bound: it is meant for
 * short requests. One thread. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_BYTES = 256 * 1024,
    QUEUE_HIGH_BYTES = 4 * READ_BYTES,
    EVENTS_PER_WAIT = 256,
    ACCEPT_BACKLOG = 4096,
};
#define NEVER INT64_MAX

/* Bytes that wait for a side to take them; none at all stands for the end of the stream. */
struct chunk {
    struct chunk *next;
    int64_t due_ns;
    size_t len, sent;
    char bytes[];
};

/* One socket of a pair. Its queue holds what its peer has read. */
struct side {
    int fd;
    struct pair *pair;
    struct side *peer;
    struct chunk *head, *tail;
    size_t queued_bytes;
    int timers; /* entries of the timer queue that name this side */
    bool read_ended, fin_sent, read_paused, want_write, registered;
};

struct pair {
    struct side client, backend;
    int64_t connect_due_ns;
    bool dead;
    struct pair *next; /* on `connecting` or `dead` */
};

/* Says that a chunk of `to` falls due. The delay is constant, so the queue is in order of time. */
struct timer {
    struct timer *next;
    struct side *to;
    int64_t due_ns;
};

static struct {
    int epoll, listener;
    int64_t delay_ns;
    struct sockaddr_storage backend;
    socklen_t backend_len;
    struct pair *connecting, *connecting_tail, *dead;
    struct timer *timers, *timers_tail;
    char buffer[READ_BYTES];
} fwd;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *must_alloc(size_t bytes)
{
    void *p = calloc(1, bytes);

    assert(p);
    return p;
}

static void side_watch(struct side *s)
{
    bool readable = !s->read_ended && !s->read_paused;
    struct epoll_event e = {.events = (readable ? EPOLLIN : 0) | (s->want_write ? EPOLLOUT : 0),
                            .data.ptr = s};

    epoll_ctl(fwd.epoll, s->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &e);
    s->registered = true;
}

static void side_want_write(struct side *s, bool wanted)
{
    if (s->want_write == wanted)
        return;
    s->want_write = wanted;
    side_watch(s);
}

static void side_pause(struct side *s, bool paused)
{
    if (s->read_paused == paused)
        return;
    s->read_paused = paused;
    side_watch(s);
}

static void side_pop(struct side *s)
{
    struct chunk *c = s->head;

    s->head = c->next;
    if (!s->head)
        s->tail = NULL;
    free(c);
}

/* Memory goes later, in free_dead(): events and timers may still name the pair. */
static void pair_kill(struct pair *p)
{
    if (p->dead)
        return;
    p->dead = true;
    close(p->client.fd);
    if (p->backend.fd >= 0)
        close(p->backend.fd);
    while (p->client.head)
        side_pop(&p->client);
    while (p->backend.head)
        side_pop(&p->backend);
    p->next = fwd.dead;
    fwd.dead = p;
}

/* Passes the end of the stream on. The second end of a pair is the end of the pair. */
static void side_finish(struct side *s)
{
    shutdown(s->fd, SHUT_WR);
    s->fin_sent = true;
    side_pop(s);
    if (s->peer->fin_sent)
        pair_kill(s->pair);
}

/* Writes what is due by `until_ns`. May kill the pair. */
static void side_flush(struct side *s, int64_t until_ns)
{
    if (s->fd < 0)
        return;
    while (s->head && s->head->due_ns <= until_ns) {
        struct chunk *c = s->head;

        if (c->len == 0) {
            side_finish(s);
            return;
        }
        ssize_t n = send(s->fd, c->bytes + c->sent, c->len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) {
            pair_kill(s->pair);
            return;
        }
        if (n > 0) {
            c->sent += (size_t)n;
            s->queued_bytes -= (size_t)n;
        }
        if (c->sent < c->len) {
            side_want_write(s, true);
            return;
        }
        side_pop(s);
    }
    side_want_write(s, false);
    if (!s->head)
        side_pause(s->peer, false);
}

/* Queues bytes for `to`; none for the end of the stream. */
static void side_queue(struct side *to, const char *bytes, size_t len, int64_t due_ns)
{
    struct chunk *c = must_alloc(sizeof *c + len);

    c->due_ns = due_ns;
    c->len = len;
    if (len > 0)
        memcpy(c->bytes, bytes, len);
    if (to->tail)
        to->tail->next = c;
    else
        to->head = c;
    to->tail = c;
    to->queued_bytes += len;
    if (!fwd.delay_ns)
        return;

    struct timer *t = must_alloc(sizeof *t);
    t->to = to;
    t->due_ns = due_ns;
    to->timers++;
    if (fwd.timers_tail)
        fwd.timers_tail->next = t;
    else
        fwd.timers = t;
    fwd.timers_tail = t;
}

static void side_read_ended(struct side *s)
{
    s->read_ended = true;
    side_watch(s);
    side_queue(s->peer, NULL, 0, fwd.delay_ns ? now_ns() + fwd.delay_ns : 0);
    if (!fwd.delay_ns)
        side_flush(s->peer, 0);
}

/* Sends at once what the peer takes; queues the rest and stops reading when that is too much. */
static void side_pass_on(struct side *s, size_t len)
{
    struct side *to = s->peer;
    size_t sent = 0;

    if (!to->head) {
        ssize_t n = send(to->fd, fwd.buffer, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) {
            pair_kill(s->pair);
            return;
        }
        sent = n > 0 ? (size_t)n : 0;
    }
    if (sent == len)
        return;
    side_queue(to, fwd.buffer + sent, len - sent, 0);
    side_want_write(to, true);
    if (to->queued_bytes > QUEUE_HIGH_BYTES)
        side_pause(s, true);
}

static void side_read(struct side *s)
{
    ssize_t n = recv(s->fd, fwd.buffer, sizeof fwd.buffer, 0);

    if (n == 0)
        side_read_ended(s);
    else if (n > 0 && fwd.delay_ns)
        side_queue(s->peer, fwd.buffer, (size_t)n, now_ns() + fwd.delay_ns);
    else if (n > 0)
        side_pass_on(s, (size_t)n);
    else if (errno != EAGAIN)
        pair_kill(s->pair);
}

static void set_nodelay(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* The connect blocks: on loopback it ends at once. */
static void pair_connect(struct pair *p)
{
    int fd = socket(fwd.backend.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&fwd.backend, fwd.backend_len) < 0) {
        close(fd);
        pair_kill(p);
        return;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (fwd.backend.ss_family == AF_INET)
        set_nodelay(fd);
    p->backend.fd = fd;
    side_watch(&p->backend);
    side_watch(&p->client);
}

static void pair_new(int client_fd)
{
    struct pair *p = must_alloc(sizeof *p);

    set_nodelay(client_fd);
    p->client = (struct side){.fd = client_fd, .pair = p, .peer = &p->backend};
    p->backend = (struct side){.fd = -1, .pair = p, .peer = &p->client};
    if (!fwd.delay_ns) {
        pair_connect(p);
        return;
    }
    p->connect_due_ns = now_ns() + 3 * fwd.delay_ns;
    if (fwd.connecting_tail)
        fwd.connecting_tail->next = p;
    else
        fwd.connecting = p;
    fwd.connecting_tail = p;
}

static void accept_all(void)
{
    int fd;

    while ((fd = accept4(fwd.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        pair_new(fd);
}

static void on_side_event(struct side *s, uint32_t events)
{
    bool hung_up = events & (EPOLLHUP | EPOLLERR);

    if (s->pair->dead)
        return;
    if (events & EPOLLOUT)
        side_flush(s, fwd.delay_ns ? now_ns() : 0);
    if (s->pair->dead || !(hung_up || events & EPOLLIN))
        return;
    if (!s->read_ended) {
        side_read(s);
    } else if (hung_up && !fwd.delay_ns) {
        pair_kill(s->pair);
    } else if (hung_up) {
        /* Its last chunks are still on the wire; epoll would report the hang-up until then. */
        epoll_ctl(fwd.epoll, EPOLL_CTL_DEL, s->fd, NULL);
        s->registered = false;
    }
}

static void run_timers(void)
{
    int64_t now = now_ns();

    while (fwd.connecting && fwd.connecting->connect_due_ns <= now) {
        struct pair *p = fwd.connecting;

        fwd.connecting = p->next;
        if (!fwd.connecting)
            fwd.connecting_tail = NULL;
        p->next = NULL;
        pair_connect(p);
    }
    while (fwd.timers && fwd.timers->due_ns <= now) {
        struct timer *t = fwd.timers;

        fwd.timers = t->next;
        if (!fwd.timers)
            fwd.timers_tail = NULL;
        t->to->timers--;
        if (!t->to->pair->dead)
            side_flush(t->to, now);
        free(t);
    }
}

static void free_dead(void)
{
    struct pair **at = &fwd.dead;

    while (*at) {
        struct pair *p = *at;

        if (p->client.timers + p->backend.timers > 0) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p);
    }
}

static int wait_events(struct epoll_event *events)
{
    int64_t due_ns = NEVER;

    if (fwd.timers)
        due_ns = fwd.timers->due_ns;
    if (fwd.connecting && fwd.connecting->connect_due_ns < due_ns)
        due_ns = fwd.connecting->connect_due_ns;
    if (due_ns == NEVER)
        return epoll_wait(fwd.epoll, events, EVENTS_PER_WAIT, -1);

    int64_t left_ns = due_ns - now_ns();
    if (left_ns < 0)
        left_ns = 0;
    struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};
    return epoll_pwait2(fwd.epoll, events, EVENTS_PER_WAIT, &left, NULL);
}

static void run(void)
{
    struct epoll_event events[EVENTS_PER_WAIT];

    for (;;) {
        int n = wait_events(events);

        for (int i = 0; i < n; i++) {
            struct side *s = events[i].data.ptr;

            if (s)
                on_side_event(s, events[i].events);
            else
                accept_all();
        }
        if (fwd.delay_ns)
            run_timers();
        free_dead();
    }
}

static bool parse_backend(char *text)
{
    if (text[0] == '/') {
        struct sockaddr_un *u = (struct sockaddr_un *)&fwd.backend;

        if (strlen(text) >= sizeof u->sun_path)
            return false;
        u->sun_family = AF_UNIX;
        strcpy(u->sun_path, text);
        fwd.backend_len = sizeof *u;
        return true;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)&fwd.backend;
    char *colon = strchr(text, ':');

    if (!colon)
        return false;
    *colon = '\0';
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)atoi(colon + 1));
    fwd.backend_len = sizeof *in;
    return inet_pton(AF_INET, text, &in->sin_addr) == 1;
}

static bool open_listener(uint16_t port)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    int one = 1;

    fwd.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fwd.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fwd.listener, (struct sockaddr *)&addr, sizeof addr) < 0 ||
        listen(fwd.listener, ACCEPT_BACKLOG) < 0)
        return false;
    return epoll_ctl(fwd.epoll, EPOLL_CTL_ADD, fwd.listener, &e) == 0;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 3 || !parse_backend(argv[2])) {
        fprintf(stderr, "usage: forwarder PORT HOST:PORT|/unix/path [ONE_WAY_DELAY_US]\n");
        return 2;
    }
    fwd.delay_ns = argc > 3 ? atol(argv[3]) * 1000 : 0;
    fwd.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!open_listener((uint16_t)atoi(argv[1]))) {
        perror("forwarder");
        return 1;
    }
    run();
}
