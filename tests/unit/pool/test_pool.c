/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/pool.c, and with it backend.c, ask.c, killer.c, janitor.c, target.c and the proofs of
 * account.c, against the scripted server. Restoring a client's state: test_restore.c. */
#include "tests/unit/pool/scripted.h"

/* ---- lending ---- */

static void the_first_lend_opens_one_and_the_next_takes_it_as_it_is(void **state)
{
    (void)state;
    open_pool("");
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].lent);
    assert_log("TRACKERS|BASELINE|USE shop|");
    struct backend *b = client[0].lessee.backend;
    assert_int_equal(b->state, BACKEND_LENT);
    assert_ptr_equal(b->lessee, &client[0].lessee);
    pool_give_back(&client[0].lessee);
    assert_null(client[0].lessee.backend);
    assert_int_equal(b->state, BACKEND_IDLE);
    assert_true(pool_lend(&client[1].lessee)); /* at once, and nothing is asked */
    assert_ptr_equal(client[1].lessee.backend, b);
    quiet();
    assert_log("");
    assert_int_equal(server.links, 1);
    assert_int_equal(target->stats.lends_exact, 1);
    assert_int_equal(target->stats.lends_restored, 1);
}

static void a_reply_goes_to_who_has_the_backend(void **state)
{
    static const uint8_t ping[] = {9, 0, 0, 0, 3, 'S', 'E', 'L', 'E', 'C', 'T', ' ', '1'};
    (void)state;
    open_pool("");
    struct backend *b = lend(&client[0]);
    assert_int_equal(conn_write_bytes(&b->conn, ping, sizeof ping), 0);
    UNTIL(client[0].read_bytes > 40);
    assert_int_equal(client[1].read_bytes, 0);
}

static void never_more_than_pool_max_are_open_and_waiters_are_served_in_order(void **state)
{
    (void)state;
    open_pool("pool_max = 2;");
    for (int i = 0; i < 6; i++)
        assert_false(pool_lend(&client[i].lessee));
    UNTIL(client[0].lent && client[1].lent);
    quiet();
    assert_int_equal(server.links, 2);
    assert_int_equal(client[2].lent, 0);
    for (int i = 0; i < 4; i++) {
        pool_give_back(&client[i].lessee);
        UNTIL(client[i + 2].lent);
        quiet();
        assert_int_equal(i + 3 < 6 ? client[i + 3].lent : 0, 0);
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(client[i].turn, i + 1);
    assert_int_equal(server.most, 2);
    assert_int_equal(server.links, 2);
}

static void nobody_overtakes_who_waits(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    (void)lend(&client[0]);
    assert_false(pool_lend(&client[1].lessee));
    pool_give_back(&client[0].lessee);
    assert_false(pool_lend(&client[2].lessee)); /* idle is one, but it is another's turn */
    UNTIL(client[1].lent);
    pool_give_back(&client[1].lessee);
    UNTIL(client[2].lent);
}

static void who_waits_no_longer_gets_none(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    (void)lend(&client[0]);
    assert_false(pool_lend(&client[1].lessee));
    assert_false(pool_lend(&client[2].lessee));
    pool_stop_waiting(&client[1].lessee);
    pool_stop_waiting(&client[1].lessee);
    pool_give_back(&client[0].lessee);
    UNTIL(client[2].lent);
    assert_int_equal(client[1].lent, 0);
    assert_null(client[1].lessee.backend);
}

static void as_many_are_opened_as_wait_and_no_more(void **state)
{
    (void)state;
    open_pool("pool_max = 8;");
    for (int i = 0; i < 3; i++)
        assert_false(pool_lend(&client[i].lessee));
    UNTIL(client[0].lent && client[1].lent && client[2].lent);
    quiet();
    assert_int_equal(server.links, 3);
}

static void a_users_own_limit_comes_before_the_sections(void **state)
{
    (void)state;
    open_pool(
        "pool_max = 4; users = ( { name = \"app\"; password = \"s3cret\"; pool_max = 1; } );");
    assert_int_equal(pool_max(pool_of("app")), 1);
    for (int i = 0; i < 3; i++)
        assert_false(pool_lend(&client[i].lessee));
    UNTIL(client[0].lent);
    quiet();
    assert_int_equal(server.links, 1);
}

/* ---- which one ---- */

static void an_exact_fit_is_preferred_to_a_newer_one(void **state)
{
    (void)state;
    open_pool("");
    join(&client[0], "app", "shop", "utf8mb4_general_ci");
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    join(&client[2], "app", "shop", "utf8mb4_general_ci");
    struct backend *shop = lend(&client[0]);
    struct backend *blog = lend(&client[1]);
    pool_give_back(&client[0].lessee);
    pool_give_back(&client[1].lessee); /* the newest */
    forget_log();
    assert_ptr_equal(lend(&client[2]), shop);
    assert_ptr_not_equal(shop, blog);
    assert_log("");
}

static void among_equal_fits_the_newest_is_taken(void **state)
{
    (void)state;
    open_pool("");
    (void)lend(&client[0]);
    struct backend *b = lend(&client[1]);
    pool_give_back(&client[0].lessee);
    pool_give_back(&client[1].lessee);
    pool_forget(&client[0].lessee);
    pool_forget(&client[1].lessee);
    assert_ptr_equal(lend(&client[2]), b);
}

/* What another's last statement left is taken only when there is nothing else. */
static void who_left_state_behind_finds_it_again(void **state)
{
    (void)state;
    open_pool("");
    struct backend *first = lend(&client[0]);
    struct backend *second = lend(&client[1]);
    pool_give_back(&client[1].lessee);
    pool_forget(&client[1].lessee);
    pool_give_back(&client[0].lessee); /* newest, but owned */
    assert_ptr_equal(client[0].lessee.last_backend, first);
    assert_ptr_equal(lend(&client[2]), second);
    assert_ptr_equal(lend(&client[0]), first);
    pool_give_back(&client[0].lessee);
    assert_true(pool_lend_own(&client[0].lessee));
    assert_ptr_equal(client[0].lessee.backend, first);
    pool_give_back(&client[0].lessee);
    assert_ptr_equal(lend(&client[3]), first); /* nothing else idle */
    assert_null(client[0].lessee.last_backend);
    assert_false(pool_lend_own(&client[0].lessee));
}

/* ---- coming back ---- */

static void a_dirty_one_is_reset_and_keeps_its_schema(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    forget_log();
    pool_give_back_dirty(&client[0].lessee);
    assert_null(client[0].lessee.backend);
    assert_int_equal(b->state, BACKEND_RESET);
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].lent);
    assert_log(
        "RESET|USE shop|SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci' + TRACKERS|BASELINE|");
    assert_ptr_equal(client[1].lessee.backend, b);
    assert_null(client[0].lessee.last_backend);
    assert_int_equal(target->stats.resets_dirty, 1);
}

static void a_reset_that_is_refused_closes(void **state)
{
    (void)state;
    open_pool("");
    (void)lend(&client[0]);
    server.refused_query = "SET NAMES";
    pool_give_back_dirty(&client[0].lessee);
    UNTIL(target->open_backends == 0);
    assert_int_equal(target->stats.reconnects[BACKEND_END_DIRTY], 1);
}

static void a_dropped_one_closes_and_its_client_hears_nothing(void **state)
{
    (void)state;
    open_pool("");
    (void)lend(&client[0]);
    pool_drop(&client[0].lessee, BACKEND_END_DIRTY, "test");
    UNTIL(target->open_backends == 0);
    assert_int_equal(client[0].ended, 0);
}

static void surplus_over_a_lowered_limit_closes_on_return(void **state)
{
    char err[256];
    (void)state;
    open_pool("pool_max = 2;");
    (void)lend(&client[0]);
    (void)lend(&client[1]);
    struct options *newer = load("pool_max = 1;");
    assert_int_equal(target_reload(target, newer, err, sizeof err), 0);
    options_free(options);
    options = newer;
    pool_give_back(&client[0].lessee);
    UNTIL(target->open_backends == 1);
    pool_give_back(&client[1].lessee);
    quiet();
    assert_int_equal(count_of(BACKEND_IDLE), 1);
    assert_int_equal(target->stats.reconnects[BACKEND_END_SURPLUS], 1);
}

/* ---- pins ---- */

static void no_more_than_max_pinned_are_lent_to_those_who_pin(void **state)
{
    (void)state;
    open_pool("pool_max = 3; max_pinned = 1;");
    client[0].lessee.wants_pin = true;
    client[1].lessee.wants_pin = true;
    (void)lend(&client[0]);
    pool_of("app")->pinned = 1; /* the session counts */
    assert_false(pool_lend(&client[1].lessee));
    assert_false(pool_lend(&client[2].lessee)); /* does not pin: passes by */
    UNTIL(client[2].lent);
    quiet();
    assert_int_equal(client[1].lent, 0);
    pool_give_back(&client[2].lessee);
    assert_true(pool_lend(&client[2].lessee));
    pool_of("app")->pinned = 0;
    pool_give_back(&client[0].lessee);
    UNTIL(client[1].lent);
}

/* ---- the total ---- */

static void the_total_is_exact_and_an_idle_one_of_another_key_makes_room(void **state)
{
    (void)state;
    open_pool("pool_max = 2; pool_total = 2; reserved = 0;");
    account_learn(account_get(target, bytes_text("other")), bytes_text("s3cret"));
    (void)lend(&client[0]);
    (void)lend(&client[1]);
    join(&client[2], "other", "shop", "utf8mb4_general_ci");
    assert_false(pool_lend(&client[2].lessee));
    quiet();
    assert_int_equal(client[2].lent, 0);
    pool_give_back(&client[0].lessee);
    UNTIL(client[2].lent);
    assert_int_equal(server.most, 2);
    assert_int_equal(target->open_backends, 2);
    assert_int_equal(target->stats.reconnects[BACKEND_END_EVICTED], 1);
    assert_non_null(client[1].lessee.backend);
}

/* ---- liveness ---- */

static void an_idle_one_that_the_server_closes_is_gone(void **state)
{
    (void)state;
    open_pool("");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    link_close(link_of(b));
    UNTIL(count_of(BACKEND_IDLE) == 0);
    UNTIL(target->open_backends == 0);
    assert_int_equal(target->stats.reconnects[BACKEND_END_SERVER_CLOSED], 1);
    assert_null(client[0].lessee.last_backend);
    assert_false(pool_lend_own(&client[0].lessee));
    (void)lend(&client[0]);
    assert_int_equal(server.links, 2);
}

static void an_idle_one_that_speaks_is_not_trusted(void **state)
{
    (void)state;
    open_pool("");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    send_err(link_of(b), 0, 4031, "The client was disconnected by the server");
    UNTIL(target->open_backends == 0);
}

static void a_lent_one_that_is_lost_is_told(void **state)
{
    (void)state;
    open_pool("");
    struct backend *b = lend(&client[0]);
    link_close(link_of(b));
    UNTIL(client[0].ended);
    assert_int_equal(client[0].why, BACKEND_END_LOST);
    assert_int_equal(client[0].lent, 1);
}

static void one_lost_while_its_state_is_restored_is_told(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    server.hold = true;
    assert_false(pool_lend(&client[1].lessee));
    assert_int_equal(count_of(BACKEND_LENT), 1);
    link_close(link_of(b));
    UNTIL(client[1].ended);
    server_release();
}

static void none_is_lent_in_the_guard_before_wait_timeout(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    server.wait_timeout = "10";
    struct backend *b = lend(&client[0]);
    assert_int_equal(b->wait_timeout_ms, 10000);
    pool_give_back(&client[0].lessee);
    make_quiet(b, 7000);
    assert_true(pool_lend(&client[0].lessee));
    pool_give_back(&client[0].lessee);
    make_quiet(b, 1000);
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].lent == 2);
    assert_int_equal(server.links, 2);
    assert_int_equal(target->stats.reconnects[BACKEND_END_WAIT_TIMEOUT], 1);
}

static void one_quiet_for_long_is_probed_first(void **state)
{
    (void)state;
    open_pool("pool_max = 1; probe_after = \"30s\";");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    forget_log();
    make_quiet(b, 30000);
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].lent);
    assert_log("SELECT 1|");
    assert_ptr_equal(client[1].lessee.backend, b);
    assert_int_equal(target->stats.probes, 1);
}

static void a_probe_that_fails_opens_another(void **state)
{
    (void)state;
    open_pool("pool_max = 1; probe_after = \"30s\";");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    make_quiet(b, 30000);
    server.refused_query = "SELECT 1";
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].lent);
    assert_int_equal(server.links, 2);
    assert_int_equal(target->stats.probe_failures, 1);
    assert_int_equal(target->stats.reconnects[BACKEND_END_PROBE_FAILED], 1);
}

static void an_answer_nobody_understands_ends_it(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    (void)lend(&client[0]);
    server.junk = true;
    pool_give_back_dirty(&client[0].lessee);
    UNTIL(target->open_backends == 0);
    assert_int_equal(target->stats.reconnects[BACKEND_END_PROTOCOL], 1);
}

/* ---- the tick ---- */

static void a_silent_probe_is_given_up_at_its_deadline(void **state)
{
    (void)state;
    open_pool("pool_max = 1; probe_after = \"30s\";");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    make_quiet(b, 30000);
    server.hold = true;
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(b->state == BACKEND_PROBE);
    assert_true(b->deadline_ms > loop_now_ms(&loop));
    b->deadline_ms = loop_now_ms(&loop);
    janitor_tick(target);
    assert_int_equal(target->stats.probe_failures, 1);
    server_release();
    UNTIL(client[1].lent);
}

static void a_login_that_takes_too_long_is_given_up(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    server.hold = true;
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(count_of(BACKEND_LOGIN) == 1);
    CONTAINER_OF(list_first(&pool_of("app")->backends[BACKEND_LOGIN]), struct backend, node)
        ->deadline_ms = loop_now_ms(&loop);
    janitor_tick(target);
    assert_int_equal(count_of(BACKEND_LOGIN), 0);
    assert_non_null(strstr(target->last_error, "connect_timeout"));
    assert_int_equal(target->backoff.failures, 1);
    server_release();
}

static void who_waits_too_long_hears_who_holds_the_pool(void **state)
{
    (void)state;
    open_pool("pool_max = 1; queue_timeout = \"5s\";");
    client[0].lessee.wants_pin = true;
    (void)lend(&client[0]);
    assert_false(pool_lend(&client[1].lessee));
    janitor_tick(target);
    assert_int_equal(client[1].not_lent, 0);
    client[1].lessee.since_ms -= 5000;
    janitor_tick(target);
    assert_int_equal(client[1].not_lent, 1);
    assert_int_equal(client[1].error.failure, LEND_QUEUE_TIMEOUT);
    assert_non_null(strstr(client[1].error.message, "1 of 1 held"));
    assert_non_null(strstr(client[1].error.message, "1 transaction"));
    assert_non_null(strstr(client[1].error.message, "0x80000001"));
    assert_false(client[1].lessee.waiting);
}

static void warm_ones_are_opened_up_to_min_idle(void **state)
{
    (void)state;
    open_pool("pool_max = 4;");
    options->mysql.min_idle = 2;
    janitor_tick(target);
    UNTIL(count_of(BACKEND_IDLE) == 2);
    janitor_tick(target);
    quiet();
    assert_int_equal(count_of(BACKEND_IDLE), 2);
    assert_int_equal(pool_of("app")->open, 2);
}

static void surplus_idle_ones_go_after_idle_timeout(void **state)
{
    (void)state;
    open_pool("pool_max = 4; idle_timeout = \"5min\";");
    options->mysql.min_idle = 1;
    struct backend *one = lend(&client[0]);
    struct backend *two = lend(&client[1]);
    pool_give_back(&client[0].lessee);
    pool_give_back(&client[1].lessee);
    one->since_ms -= 300000;
    two->since_ms -= 299000;
    janitor_tick(target);
    UNTIL(pool_of("app")->open == 1);
    assert_int_equal(target->stats.reconnects[BACKEND_END_IDLE_TIMEOUT], 1);
    two->since_ms -= 300000; /* the last one is no surplus */
    janitor_tick(target);
    quiet();
    assert_int_equal(count_of(BACKEND_IDLE), 1);
}

static void old_ones_are_replaced_and_quiet_ones_refreshed(void **state)
{
    (void)state;
    open_pool("pool_max = 4; max_age = \"30min\"; refresh_every = \"60s\";");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    forget_log();
    b->last_proof_ms -= 60000;
    b->born_ms -= 60000;
    janitor_tick(target);
    UNTIL(b->state == BACKEND_IDLE);
    assert_log("SELECT 1|");
    b->born_ms -= b->max_age_ms;
    janitor_tick(target);
    UNTIL(target->open_backends == 0);
    assert_log("QUIT|");
    assert_int_equal(target->stats.reconnects[BACKEND_END_MAX_AGE], 1);
}

/* ---- a statement whose client goes ---- */

static void start_sleep(struct client *c)
{
    static const uint8_t sleep_query[] = "\x0D\0\0\0\003SELECT SLEEP";
    struct backend *b = c->lessee.backend;
    mysql_reply_begin(&b->reply, MYSQL_REPLY_QUERY, b->status, NULL, NULL);
    assert_int_equal(conn_write_bytes(&b->conn, sleep_query, sizeof sleep_query - 1), 0);
    UNTIL(strstr(server.log, "SELECT SLEEP|"));
}

static void an_abandoned_statement_is_killed_and_its_backend_reset(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    start_sleep(&client[0]);
    forget_log();
    pool_abandon(&client[0].lessee);
    assert_null(client[0].lessee.backend);
    assert_int_equal(b->state, BACKEND_ABANDONED);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "KILL QUERY %u|", b->server_id);
    UNTIL(strstr(server.log, expected));
    quiet();
    assert_int_equal(b->state, BACKEND_ABANDONED); /* its statement is not over */
    forget_log();
    send_err(link_of(b), 1, 1317, "Query execution was interrupted");
    UNTIL(b->state == BACKEND_IDLE);
    assert_non_null(strstr(server.log, "RESET|"));
    UNTIL(target->open_backends == 1); /* the side connection goes */
    assert_int_equal(target->stats.kills, 1);
    assert_int_equal(target->stats.resets_abandoned, 1);
    assert_int_equal(client[0].read_bytes, 0);
}

static void a_statement_that_ends_by_itself_waits_for_a_kill_that_is_out(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    start_sleep(&client[0]);
    server.hold_kill = true;
    pool_abandon(&client[0].lessee);
    UNTIL(strstr(server.log, "KILL QUERY"));
    assert_true(killer_has_out(b));
    send_ok(link_of(b), 1);
    UNTIL(b->statement_over);
    quiet();
    assert_int_equal(b->state, BACKEND_ABANDONED); /* or the KILL would hit the next statement */
    for (int i = 0; i < server.links; i++)
        if (server.link[i].open && server.link[i].id != b->server_id)
            send_ok(&server.link[i], 1);
    UNTIL(b->state == BACKEND_IDLE);
}

static void a_kill_that_is_not_answered_costs_its_backend(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    start_sleep(&client[0]);
    server.hold_kill = true;
    pool_abandon(&client[0].lessee);
    UNTIL(killer_has_out(b));
    struct backend *side =
        CONTAINER_OF(list_first(&pool_of("app")->backends[BACKEND_SIDE]), struct backend, node);
    assert_true(side->deadline_ms > 0);
    side->deadline_ms = loop_now_ms(&loop);
    janitor_tick(target);
    UNTIL(target->open_backends == 0);
    assert_int_equal(target->stats.reconnects[BACKEND_END_ABANDONED], 1);
}

static void a_kill_that_is_not_out_yet_is_forgotten_with_its_statement(void **state)
{
    (void)state;
    open_pool("pool_max = 1; pool_total = 1; reserved = 0;"); /* no room for a side connection */
    struct backend *b = lend(&client[0]);
    start_sleep(&client[0]);
    pool_abandon(&client[0].lessee);
    assert_int_equal(pool_of("app")->kills.count, 1);
    send_ok(link_of(b), 1);
    UNTIL(b->state == BACKEND_IDLE);
    assert_int_equal(pool_of("app")->kills.count, 0);
    assert_int_equal(server.links, 1);
    assert_null(strstr(server.log, "KILL"));
}

static void giving_back_while_a_kill_is_out_waits_and_resets(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    start_sleep(&client[0]);
    server.hold_kill = true;
    killer_kill(b); /* KILL QUERY by another client: its own stays */
    UNTIL(killer_has_out(b));
    pool_give_back(&client[0].lessee);
    assert_int_equal(b->state, BACKEND_ABANDONED);
    for (int i = 0; i < server.links; i++)
        if (server.link[i].open && server.link[i].id != b->server_id)
            send_ok(&server.link[i], 1);
    UNTIL(b->state == BACKEND_IDLE);
    assert_non_null(strstr(server.log, "RESET|"));
}

/* ---- refused logins, a server that is down ---- */

static void a_refused_login_is_told_to_all_who_wait(void **state)
{
    (void)state;
    open_pool("pool_max = 4;");
    struct account *a = account_get(target, bytes_text("learned"));
    account_learn(a, bytes_text("outdated"));
    for (int i = 0; i < 2; i++) {
        join(&client[i], "learned", "shop", "utf8mb4_general_ci");
        assert_false(pool_lend(&client[i].lessee));
    }
    UNTIL(client[0].not_lent && client[1].not_lent);
    assert_int_equal(client[0].error.failure, LEND_LOGIN_REFUSED);
    assert_int_equal(client[0].error.code, 1045);
    assert_string_equal(client[0].error.message, "Access denied");
    assert_null(account_secret(a)); /* the server's word counts */
    assert_true(target->stats.login_failures >= 1);
}

static void a_configured_password_survives_a_refusal_but_is_not_hammered(void **state)
{
    (void)state;
    open_pool("pool_max = 4;");
    server.password = "changed";
    /* The wait may be as short as a millisecond, and over by now. */
    uint64_t before = loop_now_ms(&loop);
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].not_lent);
    assert_non_null(account_secret(account_get(target, bytes_text("app"))));
    assert_true(target->next_connect_ms > before);
    assert_int_equal(target->backoff.failures, 1);
}

static void too_many_connections_makes_waiters_wait_on(void **state)
{
    (void)state;
    open_pool("pool_max = 4;");
    server.refuses_logins = 1040;
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(target->stats.login_failures);
    quiet();
    assert_int_equal(client[0].not_lent, 0);
    assert_true(client[0].lessee.waiting);
    server.refuses_logins = 0;
    target->next_connect_ms = 0;
    janitor_tick(target);
    UNTIL(client[0].lent);
}

static void a_server_that_is_down_is_said_so(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    uint16_t port = options->mysql.backend[0].port;
    options->mysql.backend[0].port = 1; /* nobody listens there */
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(target->last_error_ms);
    assert_false(target->up);
    assert_string_not_equal(target->last_error, "");
    assert_int_equal(client[0].not_lent, 0); /* waits for it to come back */
    client[0].lessee.since_ms -= 5000;
    janitor_tick(target);
    assert_int_equal(client[0].error.failure, LEND_BACKEND_DOWN);
    options->mysql.backend[0].port = port;
    target->next_connect_ms = 0;
    (void)lend(&client[1]);
    assert_true(target->up);
}

static void a_mariadb_is_known_by_its_version(void **state)
{
    (void)state;
    open_pool("");
    server.version = "5.5.5-10.1.48-MariaDB";
    (void)lend(&client[0]);
    assert_true(target->mariadb);
    assert_string_equal(target->version, "5.5.5-10.1.48-MariaDB");
}

/* ---- retiring ---- */

static void retired_ones_close_now_when_idle_and_on_return_when_lent(void **state)
{
    (void)state;
    open_pool("");
    (void)lend(&client[0]);
    (void)lend(&client[1]);
    pool_give_back(&client[1].lessee);
    pool_retire_all(target);
    UNTIL(target->open_backends == 1);
    assert_int_equal(client[0].ended, 0);
    pool_give_back(&client[0].lessee);
    UNTIL(target->open_backends == 0);
    assert_int_equal(target->stats.reconnects[BACKEND_END_RETIRED], 2);
}

static void when_the_servers_baseline_moves_older_ones_retire(void **state)
{
    (void)state;
    open_pool("");
    (void)lend(&client[0]);
    pool_give_back(&client[0].lessee);
    struct backend *old = lend(&client[0]);
    server.sql_mode = "ANSI_QUOTES";
    struct backend *newer = lend(&client[1]);
    assert_true(old->retire);
    assert_false(newer->retire);
    assert_int_equal(newer->pool->baseline->scan_mode, 1 << 1); /* SQL_MODE_ANSI_QUOTES */
    pool_give_back(&client[0].lessee);
    UNTIL(target->open_backends == 1);
}

static void a_reload_to_another_address_retires_all(void **state)
{
    char err[256];
    (void)state;
    open_pool("");
    (void)lend(&client[0]);
    pool_give_back(&client[0].lessee);
    struct options *newer = load("pool_max = 2;");
    assert_int_equal(target_reload(target, newer, err, sizeof err), 0);
    options_free(options);
    options = newer;
    quiet();
    assert_int_equal(target->open_backends, 1); /* the same place */
    newer = load("");
    newer->mysql.backend[0].port = 1;
    assert_int_equal(target_reload(target, newer, err, sizeof err), 0);
    options_free(options);
    options = newer;
    UNTIL(target->open_backends == 0);
    assert_string_equal(target->label, "127.0.0.1:1");
}

/* ---- the greeting ---- */

static struct target_waiter greeting_waiter;
static int greetings;

static void on_known(struct target_waiter *w)
{
    assert_ptr_equal(w, &greeting_waiter);
    greetings++;
}

static void the_scout_brings_the_greeting_and_goes(void **state)
{
    (void)state;
    open_pool("");
    greetings = 0;
    greeting_waiter = (struct target_waiter){.on_known = on_known};
    list_node_init(&greeting_waiter.node);
    target_wait_known(target, &greeting_waiter);
    UNTIL(greetings);
    assert_true(target->known);
    assert_false(target->mariadb);
    assert_string_equal(target->version, "8.4.0");
    assert_int_equal(target->charset, 45);
    UNTIL(target->open_backends == 0);
    target_look(target); /* known: nothing to do */
    assert_int_equal(target->open_backends, 0);
    assert_int_equal(server.links, 1);
}

/* ---- proofs ---- */

struct prover {
    struct proof_waiter waiter;
    int came;
    enum proof_verdict verdict;
    uint16_t code;
};

static struct prover prover[3];

static void on_proven(struct proof_waiter *w, const struct proof_result *result)
{
    struct prover *p = CONTAINER_OF(w, struct prover, waiter);
    p->came++;
    p->verdict = result->verdict;
    p->code = result->code;
}

static struct account *prove(struct prover *p, const char *user, const char *password)
{
    struct account *a = account_get(target, bytes_text(user));
    *p = (struct prover){.waiter = {.on_proven = on_proven}};
    account_prove(a, MYSQL_CAP_LOCAL_FILES, bytes_text(password), &p->waiter);
    assert_int_equal(p->came, 0); /* never from within */
    return a;
}

static void a_good_password_is_proven_and_learned_after_a_check_of_the_account(void **state)
{
    (void)state;
    open_pool("");
    struct account *a = prove(&prover[0], "joe", "s3cret");
    UNTIL(prover[0].came);
    assert_int_equal(prover[0].verdict, PROOF_GOOD);
    assert_int_equal(a->openness, ACCOUNT_STRICT);
    assert_non_null(account_check_password(a, bytes_text("s3cret")));
    assert_int_equal(server.links, 2); /* with a random password once */
    UNTIL(target->open_backends == 1);
    join(&client[0], "joe", "shop", "utf8mb4_general_ci");
    (void)lend(&client[0]); /* the login serves on */
    assert_int_equal(server.links, 2);
}

static void a_wrong_password_is_refused_in_the_servers_words(void **state)
{
    (void)state;
    open_pool("");
    struct account *a = prove(&prover[0], "joe", "wrong");
    UNTIL(prover[0].came);
    assert_int_equal(prover[0].verdict, PROOF_REFUSED);
    assert_int_equal(prover[0].code, 1045);
    assert_null(account_secret(a));
    assert_int_equal(target->next_connect_ms, 0); /* no backoff for one bad password */
}

static void an_account_that_accepts_anything_admits_nobody(void **state)
{
    (void)state;
    open_pool("");
    server.accepts_anything = true;
    struct account *a = prove(&prover[0], "joe", "whatever");
    UNTIL(prover[0].came);
    assert_int_equal(prover[0].verdict, PROOF_OPEN);
    assert_int_equal(a->openness, ACCOUNT_OPEN);
    UNTIL(target->open_backends == 0);
    assert_null(account_secret(a));
}

static void the_same_password_is_proven_once_for_all_who_wait(void **state)
{
    (void)state;
    open_pool("");
    struct account *a = prove(&prover[0], "joe", "s3cret");
    (void)prove(&prover[1], "joe", "s3cret");
    (void)prove(&prover[2], "joe", "another");
    assert_int_equal(a->proofs.count, 2);
    UNTIL(prover[0].came && prover[1].came && prover[2].came);
    assert_int_equal(prover[0].verdict, PROOF_GOOD);
    assert_int_equal(prover[1].verdict, PROOF_GOOD);
    assert_int_equal(prover[2].verdict, PROOF_REFUSED);
    assert_int_equal(server.links, 3); /* two passwords and the check */
    assert_true(list_empty(&a->proofs));
}

static void who_stops_waiting_hears_nothing_but_the_proof_goes_on(void **state)
{
    (void)state;
    open_pool("");
    struct account *a = prove(&prover[0], "joe", "s3cret");
    account_stop_proof(&prover[0].waiter);
    account_stop_proof(&prover[0].waiter);
    UNTIL(list_empty(&a->proofs));
    assert_int_equal(prover[0].came, 0);
    assert_non_null(account_check_password(a, bytes_text("s3cret")));
}

static void a_proof_at_a_server_that_is_down_fails(void **state)
{
    (void)state;
    open_pool("");
    options->mysql.backend[0].port = 1;
    (void)prove(&prover[0], "joe", "s3cret");
    UNTIL(prover[0].came);
    assert_int_equal(prover[0].verdict, PROOF_FAILED);
}

static void an_aged_secret_is_proven_again_on_an_idle_backend(void **state)
{
    (void)state;
    open_pool("pool_max = 2;");
    struct account *a = prove(&prover[0], "joe", "s3cret");
    UNTIL(prover[0].came && target->open_backends == 1 &&
          !list_empty(&pool_of("joe")->backends[BACKEND_IDLE]));
    a->secrets[0].proven_ms -= (uint64_t)options->mysql.verifier_ttl_ms;
    assert_null(account_check_password(a, bytes_text("s3cret")));
    forget_log();
    (void)prove(&prover[1], "joe", "s3cret");
    UNTIL(prover[1].came);
    assert_int_equal(prover[1].verdict, PROOF_GOOD);
    assert_memory_equal(server.log, "CHANGE_USER joe|", 16);
    assert_int_equal(server.links, 2);
    assert_non_null(account_check_password(a, bytes_text("s3cret")));
}

static void a_secret_in_use_is_proven_again_before_it_ages(void **state)
{
    (void)state;
    open_pool("pool_max = 2;");
    struct account *a = prove(&prover[0], "joe", "s3cret");
    UNTIL(prover[0].came && target->open_backends == 1 &&
          !list_empty(&pool_of("joe")->backends[BACKEND_IDLE]));
    a->sessions = 1;
    forget_log();
    janitor_tick(target);
    quiet();
    assert_log("");
    a->secrets[0].proven_ms -= (uint64_t)options->mysql.verifier_ttl_ms / 2 + 1;
    uint64_t before = a->secrets[0].proven_ms;
    janitor_tick(target);
    UNTIL(!list_empty(&pool_of("joe")->backends[BACKEND_IDLE]));
    assert_memory_equal(server.log, "CHANGE_USER joe|", 16);
    assert_true(a->secrets[0].proven_ms > before);
    assert_false(a->secrets[0].proving);
    a->sessions = 0;
}

static void a_secret_refused_when_proven_again_is_forgotten(void **state)
{
    (void)state;
    open_pool("pool_max = 2;");
    struct account *a = prove(&prover[0], "joe", "s3cret");
    UNTIL(prover[0].came && target->open_backends == 1 &&
          !list_empty(&pool_of("joe")->backends[BACKEND_IDLE]));
    a->sessions = 1;
    a->secrets[0].proven_ms -= (uint64_t)options->mysql.verifier_ttl_ms / 2 + 1;
    server.password = "changed";
    janitor_tick(target);
    UNTIL(target->open_backends == 0);
    assert_null(account_secret(a));
    a->sessions = 0;
}

#define POOL_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void the_one_idle_for_longest_is_evicted(void **state)
{
    (void)state;
    open_pool("pool_max = 2; pool_total = 2; reserved = 0;");
    account_learn(account_get(target, bytes_text("other")), bytes_text("s3cret"));
    (void)lend(&client[0]);
    struct backend *second = lend(&client[1]);
    pool_give_back(&client[1].lessee);
    pool_give_back(&client[0].lessee);
    uint32_t gone = second->server_id;
    join(&client[2], "other", "shop", "utf8mb4_general_ci");
    (void)lend(&client[2]);
    struct backend *left =
        CONTAINER_OF(list_first(&pool_of("app")->backends[BACKEND_IDLE]), struct backend, node);
    assert_int_not_equal(left->server_id, gone);
    assert_int_equal(count_of(BACKEND_IDLE), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POOL_TEST(the_one_idle_for_longest_is_evicted),
        POOL_TEST(the_first_lend_opens_one_and_the_next_takes_it_as_it_is),
        POOL_TEST(a_reply_goes_to_who_has_the_backend),
        POOL_TEST(never_more_than_pool_max_are_open_and_waiters_are_served_in_order),
        POOL_TEST(nobody_overtakes_who_waits),
        POOL_TEST(who_waits_no_longer_gets_none),
        POOL_TEST(as_many_are_opened_as_wait_and_no_more),
        POOL_TEST(a_users_own_limit_comes_before_the_sections),
        POOL_TEST(an_exact_fit_is_preferred_to_a_newer_one),
        POOL_TEST(among_equal_fits_the_newest_is_taken),
        POOL_TEST(who_left_state_behind_finds_it_again),
        POOL_TEST(a_dirty_one_is_reset_and_keeps_its_schema),
        POOL_TEST(a_reset_that_is_refused_closes),
        POOL_TEST(a_dropped_one_closes_and_its_client_hears_nothing),
        POOL_TEST(surplus_over_a_lowered_limit_closes_on_return),
        POOL_TEST(no_more_than_max_pinned_are_lent_to_those_who_pin),
        POOL_TEST(the_total_is_exact_and_an_idle_one_of_another_key_makes_room),
        POOL_TEST(an_idle_one_that_the_server_closes_is_gone),
        POOL_TEST(an_idle_one_that_speaks_is_not_trusted),
        POOL_TEST(a_lent_one_that_is_lost_is_told),
        POOL_TEST(one_lost_while_its_state_is_restored_is_told),
        POOL_TEST(none_is_lent_in_the_guard_before_wait_timeout),
        POOL_TEST(one_quiet_for_long_is_probed_first),
        POOL_TEST(a_probe_that_fails_opens_another),
        POOL_TEST(an_answer_nobody_understands_ends_it),
        POOL_TEST(a_silent_probe_is_given_up_at_its_deadline),
        POOL_TEST(a_login_that_takes_too_long_is_given_up),
        POOL_TEST(who_waits_too_long_hears_who_holds_the_pool),
        POOL_TEST(warm_ones_are_opened_up_to_min_idle),
        POOL_TEST(surplus_idle_ones_go_after_idle_timeout),
        POOL_TEST(old_ones_are_replaced_and_quiet_ones_refreshed),
        POOL_TEST(an_abandoned_statement_is_killed_and_its_backend_reset),
        POOL_TEST(a_statement_that_ends_by_itself_waits_for_a_kill_that_is_out),
        POOL_TEST(a_kill_that_is_not_answered_costs_its_backend),
        POOL_TEST(a_kill_that_is_not_out_yet_is_forgotten_with_its_statement),
        POOL_TEST(giving_back_while_a_kill_is_out_waits_and_resets),
        POOL_TEST(a_refused_login_is_told_to_all_who_wait),
        POOL_TEST(a_configured_password_survives_a_refusal_but_is_not_hammered),
        POOL_TEST(too_many_connections_makes_waiters_wait_on),
        POOL_TEST(a_server_that_is_down_is_said_so),
        POOL_TEST(a_mariadb_is_known_by_its_version),
        POOL_TEST(retired_ones_close_now_when_idle_and_on_return_when_lent),
        POOL_TEST(when_the_servers_baseline_moves_older_ones_retire),
        POOL_TEST(a_reload_to_another_address_retires_all),
        POOL_TEST(the_scout_brings_the_greeting_and_goes),
        POOL_TEST(a_good_password_is_proven_and_learned_after_a_check_of_the_account),
        POOL_TEST(a_wrong_password_is_refused_in_the_servers_words),
        POOL_TEST(an_account_that_accepts_anything_admits_nobody),
        POOL_TEST(the_same_password_is_proven_once_for_all_who_wait),
        POOL_TEST(who_stops_waiting_hears_nothing_but_the_proof_goes_on),
        POOL_TEST(a_proof_at_a_server_that_is_down_fails),
        POOL_TEST(an_aged_secret_is_proven_again_on_an_idle_backend),
        POOL_TEST(a_secret_in_use_is_proven_again_before_it_ages),
        POOL_TEST(a_secret_refused_when_proven_again_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
