/* SPDX-License-Identifier: Apache-2.0
 *
 * An intrusive, circular, doubly linked list with its length. A node on no list points at itself.
 * Loop thread only. */
#ifndef SLUICE_POOL_LIST_H
#define SLUICE_POOL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct list_node {
    struct list_node *prev;
    struct list_node *next;
};

struct list {
    struct list_node head;
    size_t count;
};

static inline void list_init(struct list *l)
{
    l->head.prev = l->head.next = &l->head;
    l->count = 0;
}

static inline void list_node_init(struct list_node *n)
{
    n->prev = n->next = n;
}

static inline bool list_node_alone(const struct list_node *n)
{
    return n->next == n;
}

static inline bool list_empty(const struct list *l)
{
    return l->count == 0;
}

static inline struct list_node *list_first(struct list *l)
{
    return l->count ? l->head.next : NULL;
}

static inline struct list_node *list_last(struct list *l)
{
    return l->count ? l->head.prev : NULL;
}

/* The one behind `n`, NULL at the end. Take it before `n` is moved away. */
static inline struct list_node *list_after(struct list *l, struct list_node *n)
{
    return n->next == &l->head ? NULL : n->next;
}

static inline struct list_node *list_before(struct list *l, struct list_node *n)
{
    return n->prev == &l->head ? NULL : n->prev;
}

static inline void list_append(struct list *l, struct list_node *n)
{
    n->prev = l->head.prev;
    n->next = &l->head;
    n->prev->next = n;
    l->head.prev = n;
    l->count++;
}

static inline void list_remove(struct list *l, struct list_node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    list_node_init(n);
    l->count--;
}

#endif
