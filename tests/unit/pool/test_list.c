/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/list.h: the intrusive list. */
#include "pool/list.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct item {
    int number;
    struct list_node node;
};

static int number_of(struct list_node *n)
{
    return CONTAINER_OF(n, struct item, node)->number;
}

static void an_empty_list_has_no_ends(void **state)
{
    struct list l;
    (void)state;
    list_init(&l);
    assert_true(list_empty(&l));
    assert_null(list_first(&l));
    assert_null(list_last(&l));
}

static void nodes_keep_the_order_in_which_they_came(void **state)
{
    struct list l;
    struct item items[4];
    int expected = 0;
    (void)state;
    list_init(&l);
    for (int i = 0; i < 4; i++) {
        items[i].number = i;
        list_node_init(&items[i].node);
        assert_true(list_node_alone(&items[i].node));
        list_append(&l, &items[i].node);
        assert_false(list_node_alone(&items[i].node));
    }
    assert_int_equal(l.count, 4);
    for (struct list_node *n = list_first(&l); n; n = list_after(&l, n))
        assert_int_equal(number_of(n), expected++);
    assert_int_equal(expected, 4);
    for (struct list_node *n = list_last(&l); n; n = list_before(&l, n))
        assert_int_equal(number_of(n), --expected);
    assert_int_equal(expected, 0);
}

static void a_removed_node_is_alone_and_may_go_on_another_list(void **state)
{
    struct list from;
    struct list to;
    struct item items[3];
    (void)state;
    list_init(&from);
    list_init(&to);
    for (int i = 0; i < 3; i++) {
        items[i].number = i;
        list_append(&from, &items[i].node);
    }
    list_remove(&from, &items[1].node);
    assert_true(list_node_alone(&items[1].node));
    assert_int_equal(from.count, 2);
    assert_int_equal(number_of(list_after(&from, &items[0].node)), 2);
    assert_int_equal(number_of(list_before(&from, &items[2].node)), 0);
    list_append(&to, &items[1].node);
    assert_int_equal(number_of(list_first(&to)), 1);
    list_remove(&from, &items[0].node);
    list_remove(&from, &items[2].node);
    assert_true(list_empty(&from));
    assert_null(list_first(&from));
}

static void a_walk_survives_the_removal_of_the_node_in_hand(void **state)
{
    struct list l;
    struct item items[3];
    int seen = 0;
    (void)state;
    list_init(&l);
    for (int i = 0; i < 3; i++)
        list_append(&l, &items[i].node);
    for (struct list_node *n = list_first(&l), *after; n; n = after) {
        after = list_after(&l, n);
        list_remove(&l, n);
        seen++;
    }
    assert_int_equal(seen, 3);
    assert_true(list_empty(&l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_has_no_ends),
        cmocka_unit_test(nodes_keep_the_order_in_which_they_came),
        cmocka_unit_test(a_removed_node_is_alone_and_may_go_on_another_list),
        cmocka_unit_test(a_walk_survives_the_removal_of_the_node_in_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
