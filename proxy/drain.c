/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/drain.h"

#include "proxy/listener.h"
#include "proxy/proxy.h"
#include "proxy/session.h"
#include "proxy/systemd.h"

enum { DRAIN_CLOSE_BEFORE_END_MS = 3000 };

void drain_begin(struct proxy *p)
{
    if (p->drain != DRAIN_NONE)
        return;
    p->drain = DRAIN_SERVING;
    p->drain_since_ms = loop_now_ms(p->loop);
    systemd_notify("STOPPING=1");
    log_line(LOG_INFO, "drain", LOG_UINT("clients", p->sessions.count),
             LOG_INT("drain_timeout_ms", p->options->process.drain_timeout_ms));
}

/* Does anybody have something under way? An idle connection between two requests does not count. */
static bool anyone_busy(const struct proxy *p)
{
    struct list *l = (struct list *)&p->sessions;
    for (struct list_node *n = list_first(l); n; n = list_after(l, n)) {
        const struct session *s = CONTAINER_OF(n, struct session, node);
        if ((s->state != SESSION_READY && s->state != SESSION_CLOSING) || s->pins)
            return true;
    }
    return false;
}

void drain_tick(struct proxy *p)
{
    if (p->drain == DRAIN_NONE || p->stopping)
        return;
    uint64_t now = loop_now_ms(p->loop);
    uint64_t timeout = (uint64_t)p->options->process.drain_timeout_ms;
    uint64_t since = now - p->drain_since_ms;
    uint64_t last = p->last_active_ms > p->drain_since_ms ? p->last_active_ms : p->drain_since_ms;
    bool busy = anyone_busy(p);
    bool quiet = !busy && now - last >= (uint64_t)p->options->process.drain_idle_ms;
    bool nearly_over = since + DRAIN_CLOSE_BEFORE_END_MS >= timeout;
    if (p->drain == DRAIN_SERVING && (quiet || nearly_over)) {
        p->drain = DRAIN_CLOSING;
        listener_close_all(p);
        log_line(LOG_INFO, "drain_closing", LOG_UINT("clients", p->sessions.count));
    }
    /* Persistent clients that stay silent are told on their next command, for as long as there is
     * time; when nobody has anything under way there is no reason to wait for that. */
    if (p->drain == DRAIN_CLOSING && (quiet || p->sessions.count == 0 || since >= timeout))
        proxy_stop(p);
}
