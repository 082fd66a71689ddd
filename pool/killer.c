/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/killer.h"

#include <stdlib.h>

#include "pool/pool.h"

static void drop_kill(struct pool *p, struct backend *b)
{
    if (!list_node_alone(&b->kill_node))
        list_remove(&p->kills, &b->kill_node);
}

void killer_kill(struct backend *b)
{
    struct pool *p = b->pool;
    if (!list_node_alone(&b->kill_node) || p->killing == b)
        return;
    list_append(&p->kills, &b->kill_node);
    killer_pump(p);
}

bool killer_has_out(const struct backend *b)
{
    return b->pool->killing == b;
}

void killer_forget(struct backend *b)
{
    drop_kill(b->pool, b);
}

void pool_abandon(struct lessee *l)
{
    struct backend *b = l->backend;
    struct pool *p = b->pool;
    pool_release(b);
    pool_disown(b);
    backend_move(b, BACKEND_ABANDONED);
    b->reply.on_track = NULL; /* its context was the lessee's */
    b->statement_over = false;
    b->kill_over = false;
    b->deadline_ms = b->since_ms + (uint64_t)p->target->options->mysql.backend_timeout_ms;
    conn_resume(&b->conn);
    if (b->state != BACKEND_ABANDONED || b->statement_over)
        return;
    killer_kill(b);
}

void pool_abandon_over(struct lessee *l)
{
    struct backend *b = l->backend;
    pool_release(b);
    pool_disown(b);
    backend_move(b, BACKEND_ABANDONED);
    b->statement_over = true;
    b->kill_over = false;
    b->deadline_ms = b->since_ms + (uint64_t)b->pool->target->options->mysql.backend_timeout_ms;
}

void killer_on_statement_over(struct backend *b)
{
    struct pool *p = b->pool;
    if (!b->statement_over)
        return;
    if (!b->kill_over) {
        /* It ended by itself. When the KILL is not out yet it need not go; when it is, it must be
         * seen to have gone, or it would hit the next statement. */
        if (p->killing == b)
            return;
        drop_kill(p, b);
    }
    mysql_reply_fini(&b->reply);
    p->target->stats.resets_abandoned++;
    backend_move(b, BACKEND_RESET);
    pool_start_reset(b);
}

static void kill_next(struct backend *side)
{
    struct pool *p = side->pool;
    for (struct list_node *n; (n = list_first(&p->kills));) {
        struct backend *victim = CONTAINER_OF(n, struct backend, kill_node);
        drop_kill(p, victim);
        if (victim->identity_hash != side->identity_hash) {
            /* Several servers stand behind the address, and this is not the one. */
            backend_end(victim, BACKEND_END_ABANDONED, "another server answers at this address");
            continue;
        }
        struct ask_batch batch;
        p->killing = victim;
        p->target->stats.kills++;
        side->deadline_ms =
            loop_now_ms(p->target->loop) + (uint64_t)p->target->options->mysql.probe_timeout_ms;
        ask_begin(&batch, side);
        ask_query(&batch, ASK_KILL, "KILL QUERY %u", victim->server_id);
        ask_send(&batch);
        return;
    }
    backend_end(side, BACKEND_END_SURPLUS, NULL);
}

void killer_pump(struct pool *p)
{
    bool side_is_there = !list_empty(&p->backends[BACKEND_SIDE]);
    for (int s = BACKEND_CONNECT; s <= BACKEND_LOGIN; s++)
        for (struct list_node *n = list_first(&p->backends[s]); n;
             n = list_after(&p->backends[s], n))
            side_is_there |= CONTAINER_OF(n, struct backend, node)->purpose == BACKEND_FOR_KILL;
    if (!list_empty(&p->kills) && !side_is_there && account_secret(p->account) &&
        pool_may_open_extra(p))
        (void)backend_open(p, BACKEND_FOR_KILL, NULL);
}

void killer_on_answered(struct backend *side)
{
    struct pool *p = side->pool;
    struct backend *victim = p->killing;
    if (victim) { /* else these answers were to the side connection's own settling */
        p->killing = NULL;
        victim->kill_over = true;
        if (victim->state == BACKEND_ABANDONED) /* a killed statement ends soon, or never */
            victim->deadline_ms = loop_now_ms(p->target->loop) +
                                  (uint64_t)p->target->options->mysql.connect_timeout_ms;
        if (victim->state == BACKEND_ABANDONED)
            killer_on_statement_over(victim);
    }
    kill_next(side);
}

void killer_on_end(struct backend *b)
{
    struct pool *p = b->pool;
    drop_kill(p, b);
    if (p->killing == b)
        p->killing = NULL;
    if (b->state != BACKEND_SIDE || !p->killing)
        return;
    struct backend *victim = p->killing;
    p->killing = NULL;
    backend_end(victim, BACKEND_END_ABANDONED, "the KILL was not answered");
}
