/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/pool.c and pool/ask.c, against the scripted server: bringing a backend into its client's
 * state, preparing what it executes, what is written behind the questions, what is read back. */
#include "tests/unit/pool/scripted.h"

#include "protocol/sql_scan.h"

/* The client's variable is that, as if it had set it elsewhere. */
static void with(struct client *c, enum variable v, const char *value)
{
    struct settings_table *table = names_settings(target->names);
    assert_true(pool_state_is_known(&c->lessee));
    struct settings *s = settings_with(table, c->lessee.state.settings, v, bytes_text(value));
    session_state_set_settings(target->names, &c->lessee.state, s);
    settings_unref(table, s);
}

/* Opens a pool whose first backend has been lent and is idle again. */
static void open_warm(const char *mysql)
{
    open_pool(mysql);
    (void)lend(&client[0]);
    pool_give_back(&client[0].lessee);
    pool_forget_statement(&client[0].lessee);
    forget_log();
}

static void assert_brought(const struct client *c)
{
    assert_true(session_state_equal(&c->lessee.backend->session, &c->lessee.state));
}

static void write_query(struct backend *b, const char *text)
{
    uint8_t packet[64];
    struct wire_writer w = wire_writer(packet, sizeof packet);
    size_t begin = mysql_packet_begin(&w);
    wire_put_u8(&w, MYSQL_COM_QUERY);
    wire_put(&w, bytes_text(text));
    size_t len = mysql_packet_end(&w, begin, 0);
    assert_int_equal(conn_write_bytes(&b->conn, packet, len), 0);
}

/* The bytes of a reply to SELECT 1, that the client must get. */
static size_t reply_bytes_of(struct client *c)
{
    write_query(c->lessee.backend, "SELECT 1");
    UNTIL(c->read_bytes > 0);
    quiet();
    size_t bytes = c->read_bytes;
    c->read_bytes = 0;
    return bytes;
}

/* ---- what differs ---- */

static void only_what_differs_is_asked(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    (void)lend(&client[0]);
    pool_give_back(&client[0].lessee);
    forget_log();
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    (void)lend(&client[1]);
    assert_log("USE blog|");
    pool_give_back(&client[1].lessee);
    join(&client[2], "app", "blog", "utf8mb4_bin");
    (void)lend(&client[2]);
    assert_log("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'|");
    pool_give_back(&client[2].lessee);
    join(&client[3], "app", "blog", "utf8mb4_bin");
    client[3].lessee.state.multi_statements = false;
    (void)lend(&client[3]);
    assert_log("OPTION 1|");
    pool_give_back(&client[3].lessee);
    (void)lend(&client[0]);
    assert_log("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'|USE shop|OPTION 0|");
    struct backend *b = client[0].lessee.backend;
    assert_true(session_state_equal(&b->session, &client[0].lessee.state));
}

static void a_charset_by_number_is_asked_for_once(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    join(&client[0], "app", "", NULL);
    join(&client[1], "app", "", NULL);
    (void)lend(&client[0]);
    assert_log("TRACKERS|BASELINE|CHARSET|SET NAMES 'latin1' COLLATE 'latin1_german1_ci'|");
    pool_give_back(&client[0].lessee);
    assert_true(pool_lend(&client[1].lessee)); /* the number is known now */
    assert_int_equal(client[1].lessee.state.charset, client[0].lessee.state.charset);
    assert_log("");
}

static void a_refused_schema_gives_the_backend_back(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    server.refused_schema = "nope";
    join(&client[0], "app", "nope", "utf8mb4_bin");
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].not_lent);
    assert_int_equal(client[0].error.failure, LEND_REFUSED);
    assert_int_equal(client[0].error.code, 1049);
    assert_string_equal(client[0].error.message, "Unknown database");
    assert_int_equal(client[0].lent, 0);
    assert_int_equal(count_of(BACKEND_IDLE), 1);
    forget_log();
    join(&client[1], "app", "shop", "utf8mb4_bin"); /* what was restored counts */
    (void)lend(&client[1]);
    assert_log("USE shop|");
    assert_int_equal(server.links, 1);
}

static void after_a_refusal_the_next_waiter_is_served(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    server.refused_schema = "nope";
    join(&client[0], "app", "nope", "utf8mb4_general_ci");
    assert_false(pool_lend(&client[0].lessee));
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].lent);
    assert_int_equal(client[0].not_lent, 1);
}

static void a_client_without_schema_gets_none_that_has_one(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    (void)lend(&client[0]);
    pool_give_back(&client[0].lessee);
    forget_log();
    join(&client[1], "app", "", "utf8mb4_general_ci");
    struct backend *b = lend(&client[1]); /* by logging in again on it */
    assert_log("CHANGE_USER app|TRACKERS|BASELINE|");
    assert_int_equal(b->session.schema, 0);
    assert_int_equal(server.links, 1);
}

static void last_insert_id_follows_its_client(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    (void)lend(&client[0]);
    server.last_insert_id = "4711";
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    forget_log();
    (void)lend(&client[1]); /* before another gets the backend it is read */
    assert_log("SELECT LAST_INSERT_ID() LIMIT 1|SET last_insert_id=0|");
    assert_int_equal(client[0].lessee.last_id_where, LAST_ID_KNOWN);
    assert_int_equal(client[0].lessee.last_insert_id, 4711);
    pool_give_back(&client[1].lessee);
    client[2].lessee.wants_last_id = true; /* has none, as the one before */
    (void)lend(&client[2]);
    assert_log("");
    pool_give_back(&client[2].lessee);
    client[0].lessee.wants_last_id = true;
    (void)lend(&client[0]);
    assert_log("SET last_insert_id=4711|");
    pool_give_back(&client[0].lessee);
    assert_true(pool_lend(&client[0].lessee)); /* it is there */
    assert_log("");
    pool_give_back(&client[0].lessee);
    pool_forget_statement(&client[0].lessee);
    assert_int_equal(client[0].lessee.last_insert_id, 0);
}

static void last_insert_id_goes_with_its_backend(void **state)
{
    (void)state;
    open_pool("");
    struct backend *b = lend(&client[0]);
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    link_close(link_of(b));
    UNTIL(target->open_backends == 0);
    assert_int_equal(client[0].lessee.last_id_where, LAST_ID_LOST);
    assert_null(client[0].lessee.id_backend);
}

static void a_refresh_reads_the_last_insert_id_too(void **state)
{
    (void)state;
    open_pool("refresh_every = \"60s\";");
    struct backend *b = lend(&client[0]);
    server.last_insert_id = "9";
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    make_quiet(b, 60000);
    janitor_tick(target);
    UNTIL(client[0].lessee.last_id_where == LAST_ID_KNOWN);
    assert_int_equal(client[0].lessee.last_insert_id, 9);
}

static void a_suspect_one_is_reset_before_anybody_else_has_it(void **state)
{
    (void)state;
    open_pool("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    b->suspect = true;
    pool_give_back(&client[0].lessee);
    forget_log();
    (void)lend(&client[0]); /* its own client knows what it did */
    assert_log("");
    pool_give_back(&client[0].lessee);
    (void)lend(&client[1]);
    assert_string_equal(
        server.log, "RESET|USE shop|SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci' + TRACKERS|"
                    "BASELINE|");
    assert_false(b->suspect);
    assert_int_equal(target->stats.resets_suspect, 1);
}

/* ---- variables ---- */

static void which_variables_there_are_is_asked_once(void **state)
{
    (void)state;
    open_pool("");
    for (int i = 0; i < 3; i++)
        (void)lend(&client[i]);
    assert_int_equal(server.links, 3);
    assert_int_equal(server.variables_asked, 1);
    assert_true(target->has_variable[VARIABLE_sql_mode]);
    assert_true(target->has_variable[VARIABLE_wait_timeout]);
    assert_false(target->has_variable[VARIABLE_max_statement_time]);
}

static void a_fresh_client_has_what_a_fresh_session_has(void **state)
{
    (void)state;
    open_pool("");
    assert_false(pool_state_is_known(&client[0].lessee));
    struct backend *b = lend(&client[0]);
    const struct settings *s = client[0].lessee.state.settings;
    assert_ptr_equal(s, pool_of("app")->baseline);
    assert_ptr_equal(s, b->session.settings);
    assert_true(bytes_equal(names_text(target->names, s->value[VARIABLE_sql_mode]),
                            bytes_text("STRICT_TRANS_TABLES")));
    assert_true(bytes_equal(names_text(target->names, s->value[VARIABLE_autocommit]),
                            bytes_text("ON"))); /* not the 1 that SELECT says */
    assert_int_equal(s->value[VARIABLE_max_statement_time], 0);
}

static void the_variables_that_differ_are_set_in_one_statement(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    with(&client[1], VARIABLE_sql_mode, "ANSI_QUOTES");
    with(&client[1], VARIABLE_wait_timeout, "600");
    struct backend *b = lend(&client[1]);
    assert_log("SET @@session.sql_mode='ANSI_QUOTES',@@session.wait_timeout=600|");
    assert_brought(&client[1]);
    assert_int_equal(b->wait_timeout_ms, 600 * 1000);
    pool_give_back(&client[1].lessee);
    with(&client[2], VARIABLE_sql_mode, "");
    with(&client[2], VARIABLE_wait_timeout, "600");
    (void)lend(&client[2]);
    assert_log("SET @@session.sql_mode=''|");
    pool_give_back(&client[2].lessee);
    assert_true(pool_lend(&client[2].lessee));
    pool_give_back(&client[2].lessee);
    (void)lend(&client[0]); /* back to what the server has itself */
    assert_log("SET @@session.sql_mode='STRICT_TRANS_TABLES',@@session.wait_timeout=28800|");
    assert_int_equal(b->wait_timeout_ms, 28800 * 1000);
}

static void equal_variables_are_an_exact_fit_however_they_came_about(void **state)
{
    (void)state;
    open_warm("");
    with(&client[1], VARIABLE_sql_mode, "ANSI_QUOTES");
    with(&client[1], VARIABLE_time_zone, "+00:00");
    with(&client[2], VARIABLE_time_zone, "+00:00");
    with(&client[2], VARIABLE_sql_mode, "ANSI_QUOTES");
    struct backend *first = lend(&client[0]);
    struct backend *second = lend(&client[1]);
    pool_give_back(&client[1].lessee);
    pool_forget_statement(&client[1].lessee);
    pool_give_back(&client[0].lessee); /* the newest */
    forget_log();
    assert_true(pool_lend(&client[2].lessee));
    assert_ptr_equal(client[2].lessee.backend, second);
    assert_ptr_not_equal(first, second);
    assert_log("");
}

/* Nothing waits for an answer before the last of them is written. */
static void all_that_differs_goes_in_one_write(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    join(&client[1], "app", "blog", "utf8mb4_bin");
    with(&client[1], VARIABLE_time_zone, "+00:00");
    client[1].lessee.state.multi_statements = false;
    server.hold = true;
    assert_false(pool_lend(&client[1].lessee));
    struct link *k = link_of(client[1].lessee.backend);
    size_t commands = 0;
    UNTIL(k->in_bytes > 0);
    quiet();
    for (size_t at = 0; at < k->in_bytes; commands++)
        at += MYSQL_HEADER_BYTES + mysql_header_length(k->in + at);
    assert_int_equal(commands, 4);
    server_release();
    UNTIL(client[1].lent);
    assert_log("SET @@session.time_zone='+00:00'|SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'|"
               "USE blog|OPTION 1|");
    assert_brought(&client[1]);
}

/* In ucs2 and the like a literal is not what it looks like. */
static void variables_are_set_in_a_character_set_that_is_plain(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    session_state_set_charset(target->names, &client[1].lessee.state, bytes_text("utf8mb4"),
                              bytes_text("ucs2_general_ci"), bytes_text("utf8mb4"), 45);
    (void)lend(&client[1]);
    assert_log("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci', "
               "collation_connection='ucs2_general_ci'|");
    pool_give_back(&client[1].lessee);
    with(&client[0], VARIABLE_time_zone, "+00:00");
    (void)lend(&client[0]);
    assert_log("SET NAMES utf8mb4|SET @@session.time_zone='+00:00'|"
               "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'|");
    assert_brought(&client[0]);
}

static void each_part_of_the_character_sets_is_restored(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    session_state_set_charset(target->names, &client[1].lessee.state, bytes_text("latin1"),
                              bytes_text("utf8mb4_general_ci"), bytes_text("NULL"), 0);
    (void)lend(&client[1]);
    assert_log("SET NAMES 'latin1' COLLATE 'utf8mb4_general_ci', character_set_results=NULL|");
    assert_brought(&client[1]);
    pool_give_back(&client[1].lessee);
    session_state_set_charset(target->names, &client[2].lessee.state, bytes_text("latin1"),
                              bytes_text("utf8mb4_general_ci"), bytes_text("utf8mb4"), 45);
    (void)lend(&client[2]);
    assert_log("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci', character_set_client='latin1'|");
}

static void a_set_that_is_refused_resets(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    with(&client[1], VARIABLE_time_zone, "Mars/Olympus");
    server.refused_query = "SET @@session";
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].not_lent);
    assert_int_equal(client[1].error.failure, LEND_REFUSED);
    assert_int_equal(client[1].error.code, 1064);
    assert_null(client[1].lessee.backend);
    UNTIL(count_of(BACKEND_IDLE) == 1); /* how far it got was not known */
    assert_string_equal(server.log, "SET @@session.time_zone='Mars/Olympus'|RESET|USE shop|"
                                    "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci' + TRACKERS|"
                                    "BASELINE|");
    forget_log();
    assert_true(pool_lend(&client[2].lessee));
    assert_log("");
    assert_int_equal(server.links, 1);
}

static void a_variable_that_a_tracker_tells_moves_client_and_backend(void **state)
{
    (void)state;
    open_pool("");
    struct backend *b = lend(&client[0]);
    struct lessee *l = &client[0].lessee;
    assert_true(pool_note_variable(l, bytes_text("time_zone"), bytes_text("+00:00")));
    assert_brought(&client[0]);
    assert_true(bytes_equal(names_text(target->names, l->state.settings->value[VARIABLE_time_zone]),
                            bytes_text("+00:00")));
    assert_true(pool_note_variable(l, bytes_text("WAIT_TIMEOUT"), bytes_text("77")));
    assert_int_equal(b->wait_timeout_ms, 77 * 1000);
    struct settings *before = l->state.settings;
    assert_false(pool_note_variable(l, bytes_text("timestamp"), bytes_text("1")));
    assert_ptr_equal(l->state.settings, before);
    /* Known from now on, but nobody could set it again. */
    assert_false(pool_note_variable(l, bytes_text("sql_mode"), bytes_text("it's")));
    assert_brought(&client[0]);
    assert_ptr_not_equal(l->state.settings, pool_of("app")->baseline);
}

/* ---- read back ---- */

static void a_session_is_what_the_server_says(void **state)
{
    (void)state;
    open_warm("");
    (void)lend(&client[0]);
    client[0].lessee.state.multi_statements = false;
    client[0].lessee.backend->session.multi_statements = false;
    server.sql_mode = "ANSI_QUOTES";
    (void)snprintf(link_of(client[0].lessee.backend)->schema, 64, "blog");
    int before = client[0].lent;
    pool_reread(&client[0].lessee);
    UNTIL(client[0].lent > before);
    assert_log("BASELINE|"); /* the same question */
    assert_brought(&client[0]);
    const struct session_state *s = &client[0].lessee.state;
    assert_true(bytes_equal(names_text(target->names, s->schema), bytes_text("blog")));
    assert_int_equal(s->settings->scan_mode, SQL_MODE_ANSI_QUOTES);
    assert_false(s->multi_statements); /* no SELECT tells */
    assert_false(client[0].lessee.backend->retire);
    assert_ptr_not_equal(s->settings, pool_of("app")->baseline); /* that is not fresh */
}

static void one_whose_role_has_moved_is_not_used_again(void **state)
{
    (void)state;
    open_warm("");
    (void)lend(&client[0]);
    server.role = "admin";
    int before = client[0].lent;
    pool_reread(&client[0].lessee);
    UNTIL(client[0].lent > before);
    assert_true(client[0].lessee.backend->retire);
    pool_give_back(&client[0].lessee);
    UNTIL(target->open_backends == 0);
}

/* No reset undoes it. */
static void a_role_that_outlives_the_reset_closes(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    (void)lend(&client[0]);
    server.role = "admin";
    pool_give_back_dirty(&client[0].lessee);
    UNTIL(target->open_backends == 0);
    assert_int_equal(target->stats.reconnects[BACKEND_END_RETIRED], 1);
}

static void a_number_is_asked_for(void **state)
{
    (void)state;
    open_warm("");
    (void)lend(&client[0]);
    server.number = "4711";
    int before = client[0].lent;
    pool_ask(&client[0].lessee, "SELECT IS_USED_LOCK('a')");
    UNTIL(client[0].lent > before);
    assert_int_equal(client[0].lessee.answer, 4711);
    assert_log("SELECT IS_USED_LOCK('a')|");
    assert_int_equal(client[0].read_bytes, 0); /* nobody's reply */
    server.refused_query = "SELECT IS_USED";
    pool_ask(&client[0].lessee, "SELECT IS_USED_LOCK('b')");
    UNTIL(client[0].ended);
    assert_int_equal(client[0].why, BACKEND_END_DIRTY);
}

/* ---- what is written behind the questions ---- */

static void a_read_is_written_behind_its_begin(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    (void)lend(&client[1]);
    size_t alone = reply_bytes_of(&client[1]);
    pool_give_back(&client[1].lessee);
    pool_forget_statement(&client[1].lessee);
    forget_log();
    client[2].lessee.begin = "START TRANSACTION";
    client[2].lessee.may_follow = true;
    assert_true(pool_lend(&client[2].lessee)); /* nothing is waited for */
    assert_null(client[2].lessee.begin);
    assert_true(client[2].lessee.backend->status & MYSQL_STATUS_IN_TRANS);
    assert_true(client[2].lessee.backend->deadline_ms > 0);
    assert_int_equal(reply_bytes_of(&client[2]), alone);        /* and no byte of the BEGIN's */
    assert_int_equal(client[2].lessee.backend->deadline_ms, 0); /* it was about our question */
    assert_log("START TRANSACTION|SELECT 1|");
    assert_int_equal(client[2].lent, 0);
}

static void a_write_waits_for_its_begin(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    client[1].lessee.begin = "START TRANSACTION";
    client[1].lessee.id_may_follow = true;
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].lent);
    assert_log("START TRANSACTION|");
    assert_null(client[1].lessee.begin);
}

static void a_begin_goes_behind_what_restores_the_state(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    client[1].lessee.begin = "START TRANSACTION";
    client[1].lessee.may_follow = true;
    server.refused_schema = "blog";
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].not_lent);
    assert_log("USE blog|"); /* nothing was begun */
    assert_non_null(client[1].lessee.begin);
    assert_int_equal(count_of(BACKEND_IDLE), 1);
    server.refused_schema = NULL;
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].lent);
    (void)reply_bytes_of(&client[1]);
    assert_log("USE blog|START TRANSACTION|SELECT 1|");
}

static void a_begin_that_is_refused_ends_the_backend(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    client[1].lessee.begin = "START TRANSACTION";
    client[1].lessee.may_follow = true;
    server.refused_query = "START";
    assert_true(pool_lend(&client[1].lessee));
    write_query(client[1].lessee.backend, "SELECT 1");
    UNTIL(client[1].ended);
    assert_int_equal(client[1].why, BACKEND_END_DIRTY);
    assert_int_equal(client[1].read_bytes, 0);
}

/* A lone question about it cannot change what a statement does that does not name it. */
static void what_does_not_name_the_last_id_is_written_behind_its_set(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    client[1].lessee.last_insert_id = 7;
    client[1].lessee.id_may_follow = true;
    assert_true(pool_lend(&client[1].lessee));
    (void)reply_bytes_of(&client[1]);
    assert_log("SET last_insert_id=7|SELECT 1|");
    assert_true(client[1].lessee.backend->last_insert_id_known);
    pool_give_back(&client[1].lessee);
    pool_forget_statement(&client[1].lessee);
    client[2].lessee.last_insert_id = 8;
    client[2].lessee.wants_last_id = true;
    assert_false(pool_lend(&client[2].lessee));
    UNTIL(client[2].lent);
    assert_log("SET last_insert_id=8|");
    pool_give_back(&client[2].lessee);
    pool_forget_statement(&client[2].lessee);
    client[3].lessee.last_insert_id = 8; /* it is that already */
    assert_true(pool_lend(&client[3].lessee));
    assert_log("");
}

static void who_wants_an_id_that_nobody_knows_is_told(void **state)
{
    (void)state;
    open_pool("");
    struct backend *b = lend(&client[0]);
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    link_close(link_of(b));
    UNTIL(target->open_backends == 0);
    client[0].lessee.wants_last_id = true;
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].not_lent);
    assert_int_equal(client[0].error.failure, LEND_ID_LOST);
    client[0].lessee.wants_last_id = false; /* nobody asks: it is served */
    client[0].not_lent = 0;
    (void)lend(&client[0]);
}

static void a_set_whose_warnings_are_wanted_is_run_anew(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    client[1].lessee.replay = "SET NAMES utf8";
    client[1].lessee.may_follow = true;
    assert_false(pool_lend(&client[1].lessee)); /* it is waited for in any case */
    UNTIL(client[1].lent);
    assert_log("SET NAMES utf8|");
    assert_null(client[1].lessee.replay);
}

static void who_wants_a_fresh_one_has_it_reset(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    client[1].lessee.wants_fresh = true;
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].lent);
    assert_log(
        "RESET|USE shop|SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci' + TRACKERS|BASELINE|");
    assert_false(client[1].lessee.wants_fresh);
}

/* ---- texts to execute ---- */

/* A text that client `c` has prepared in the state it is in. */
static struct prepared *prepare(struct client *c, const char *text)
{
    struct prepared_facts facts = {.kind = SQL_SELECT, .kinds = 1u << SQL_SELECT};
    struct session_state key = {0};
    assert_true(pool_state_is_known(&c->lessee));
    session_state_copy(target->names, &key, &c->lessee.state);
    session_state_set_settings(target->names, &key, c->lessee.state.settings->bound);
    key.multi_statements = false;
    struct prepared *p =
        prepared_add(pool_of("app")->prepared, &key, bytes_text(text), &facts, true);
    session_state_fini(target->names, &key);
    texts[texts_count++] = p;
    return p;
}

static void a_text_is_prepared_once_on_each_backend(void **state)
{
    (void)state;
    open_warm("");
    struct prepared *p = prepare(&client[0], "SELECT ?");
    client[0].lessee.prepared = client[1].lessee.prepared = client[2].lessee.prepared = p;
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].lent > 1);
    assert_log("PREPARE SELECT ?|");
    pool_give_back(&client[0].lessee);
    pool_forget_statement(&client[0].lessee);
    assert_true(pool_lend(&client[1].lessee)); /* whoever opened it */
    assert_log("");
    (void)lend(&client[2]);
    assert_string_equal(server.log + strlen(server.log) - 17, "PREPARE SELECT ?|");
    assert_int_equal(server.links, 2);
}

static void one_that_has_it_prepared_is_preferred(void **state)
{
    (void)state;
    open_warm("");
    struct prepared *p = prepare(&client[0], "SELECT ?");
    client[0].lessee.prepared = client[2].lessee.prepared = p;
    struct backend *has = lend(&client[0]);
    struct backend *newer = lend(&client[1]);
    pool_give_back(&client[0].lessee);
    pool_forget_statement(&client[0].lessee);
    pool_give_back(&client[1].lessee);
    pool_forget_statement(&client[1].lessee);
    forget_log();
    assert_true(pool_lend(&client[2].lessee));
    assert_ptr_equal(client[2].lessee.backend, has);
    assert_ptr_not_equal(newer, has);
    assert_log("");
}

/* What a PREPARE binds is there when it is prepared; the client's own is there when it runs. */
static void a_text_is_prepared_in_the_state_that_it_belongs_to(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    with(&client[1], VARIABLE_sql_mode, "ANSI_QUOTES");
    with(&client[1], VARIABLE_wait_timeout, "600"); /* binds nothing: the client's own stays */
    struct prepared *p = prepare(&client[1], "SELECT ?");
    client[0].lessee.prepared = p;
    (void)lend(&client[0]);
    assert_log("SET @@session.sql_mode='ANSI_QUOTES'|USE blog|PREPARE SELECT ?|"
               "SET @@session.sql_mode='STRICT_TRANS_TABLES'|USE shop|");
    assert_brought(&client[0]);
    assert_int_equal(client[0].lent, 2);
}

/* MySQL prepares a statement anew for other types, for good: nobody is to meet what another
 * client's types have done. */
static void a_statement_serves_those_whose_types_leave_the_same_behind(void **state)
{
    static const uint8_t integer[] = {1};
    static const uint8_t string[] = {2};
    static const uint8_t both[] = {3};
    (void)state;
    open_warm("pool_max = 1;");
    struct prepared *p = prepare(&client[0], "SELECT ?");
    struct backend *b = lend(&client[0]);
    pool_give_back(&client[0].lessee);
    for (int i = 0; i < 5; i++)
        client[i].lessee.prepared = p;
    client[0].lessee.use = (struct prepared_use){.seen = integer, .with = integer, .count = 1};
    (void)lend(&client[0]);
    assert_log("PREPARE SELECT ?|");
    prepared_slots_note(&b->slots, 1, &client[0].lessee.use); /* it has been executed */
    pool_give_back(&client[0].lessee);

    client[1].lessee.use = client[0].lessee.use; /* it would leave the same */
    assert_true(pool_lend(&client[1].lessee));
    pool_give_back(&client[1].lessee);
    client[2].lessee.use = (struct prepared_use){.seen = string, .with = string, .count = 1};
    (void)lend(&client[2]);
    assert_log("PREPARE SELECT ?|");
    prepared_slots_note(&b->slots, 2, &client[2].lessee.use);
    pool_give_back(&client[2].lessee);
    /* A third: both in turn. The one that has had strings leads there with an integer too. */
    client[3].lessee.use = (struct prepared_use){.seen = both, .with = integer, .count = 1};
    assert_true(pool_lend(&client[3].lessee));
    assert_int_equal(prepared_slots_find(&b->slots, p, &client[3].lessee.use), 2);
    pool_give_back(&client[3].lessee);
    assert_true(pool_lend(&client[0].lessee)); /* its own is still there */
    assert_int_equal(prepared_slots_find(&b->slots, p, &client[0].lessee.use), 1);
    assert_log("");
}

static void what_is_prepared_least_recently_is_closed(void **state)
{
    (void)state;
    open_warm("pool_max = 1; statement_cache = 2;");
    static const char *const text[] = {"SELECT 1, ?", "SELECT 2, ?", "SELECT 3, ?"};
    for (int i = 0; i < 3; i++) {
        client[0].lessee.prepared = prepare(&client[0], text[i]);
        (void)lend(&client[0]);
        pool_give_back(&client[0].lessee);
    }
    quiet();
    assert_log("PREPARE SELECT 1, ?|PREPARE SELECT 2, ?|PREPARE SELECT 3, ?|CLOSE 1|");
}

static void a_text_of_any_length_is_prepared(void **state)
{
    static char text[7000];
    (void)state;
    open_warm("pool_max = 1;");
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "SELECT 1", 8);
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    client[1].lessee.prepared = prepare(&client[1], text);
    (void)lend(&client[1]);
    assert_memory_equal(server.log, "USE blog|PREPARE SELECT 1", 25);
    assert_brought(&client[1]);
}

static void a_reset_closes_what_was_prepared(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    client[0].lessee.prepared = prepare(&client[0], "SELECT ?");
    (void)lend(&client[0]);
    pool_give_back_dirty(&client[0].lessee);
    UNTIL(count_of(BACKEND_IDLE) == 1);
    forget_log();
    (void)lend(&client[0]);
    assert_log("PREPARE SELECT ?|");
}

static void a_prepare_that_is_refused_gives_the_backend_back(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    server.refused_prepare = 1146;
    client[0].lessee.prepared = prepare(&client[0], "SELECT ?");
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].not_lent);
    assert_int_equal(client[0].error.failure, LEND_UNPREPARED);
    assert_int_equal(client[0].error.code, 1146);
    assert_int_equal(count_of(BACKEND_IDLE), 1);
    forget_log();
    assert_true(pool_lend(&client[1].lessee));
    assert_log("");
}

/* 1461 counts the statements of all: what we can do without goes. */
static void where_too_many_are_prepared_ours_go(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    for (int i = 0; i < 2; i++) {
        client[0].lessee.prepared = prepare(&client[0], i ? "SELECT 1, ?" : "SELECT 2, ?");
        (void)lend(&client[0]);
        pool_give_back(&client[0].lessee);
    }
    forget_log();
    server.refused_prepare = 1461;
    client[0].lessee.prepared = prepare(&client[0], "SELECT 3, ?");
    assert_false(pool_lend(&client[0].lessee));
    UNTIL(client[0].not_lent);
    assert_log("PREPARE SELECT 3, ?|CLOSE 1|CLOSE 2|PREPARE SELECT 3, ?|");
    assert_int_equal(client[0].error.code, 1461);
}

static void an_error_of_a_prepare_keeps_its_number(void **state)
{
    static const uint16_t codes[] = {1461, 1064, 1295};
    (void)state;
    open_warm("pool_max = 1;");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) { /* nothing of ours is there */
        server.refused_prepare = codes[i];
        client[0].lessee.prepared = prepare(&client[0], "SELECT ?");
        client[0].not_lent = 0;
        assert_false(pool_lend(&client[0].lessee));
        UNTIL(client[0].not_lent);
        assert_int_equal(client[0].error.code, codes[i]);
        assert_string_equal(client[0].error.message, "refused");
    }
}

static void a_pinned_client_has_its_text_prepared_where_it_is(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    client[0].lessee.keeps = true;
    assert_true(pool_bring(&client[0].lessee)); /* wants nothing */
    client[0].lessee.prepared = prepare(&client[0], "SELECT ?");
    int before = client[0].lent;
    assert_false(pool_bring(&client[0].lessee));
    UNTIL(client[0].lent > before);
    assert_log("PREPARE SELECT ?|");
    assert_true(pool_bring(&client[0].lessee));
    assert_ptr_equal(client[0].lessee.backend, b);
}

/* Its error is the client's to hear, and what it holds there is not touched: neither is the state
 * that it is in. */
static void a_pinned_clients_state_survives_a_prepare_that_is_refused(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    with(&client[1], VARIABLE_sql_mode, "ANSI_QUOTES");
    struct prepared *p = prepare(&client[1], "SELECT ?");
    struct backend *b = lend(&client[0]);
    client[0].lessee.keeps = true;
    client[0].lessee.prepared = p;
    server.refused_prepare = 1146;
    assert_false(pool_bring(&client[0].lessee));
    UNTIL(client[0].not_lent);
    assert_int_equal(client[0].error.code, 1146);
    assert_ptr_equal(client[0].lessee.backend, b);
    client[0].lessee.prepared = NULL;
    if (!pool_bring(&client[0].lessee)) /* before its next statement at the latest */
        UNTIL(client[0].lent > 2);
    assert_brought(&client[0]);
}

/* The same when it is the state of the PREPARE that cannot be reached. */
static void a_pinned_client_goes_on_after_a_set_that_is_refused(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    with(&client[1], VARIABLE_sql_mode, "ANSI_QUOTES");
    struct prepared *p = prepare(&client[1], "SELECT ?");
    (void)lend(&client[0]);
    client[0].lessee.keeps = true;
    client[0].lessee.prepared = p;
    server.refused_query = "SET @@session";
    for (int i = 1; i <= 2 && !client[0].ended; i++) {
        assert_false(pool_bring(&client[0].lessee));
        UNTIL(client[0].not_lent == i || client[0].ended);
    }
}

/* ---- answers ---- */

/* From byte by byte on: no answer, nor a reply behind the answers, is read wrongly. */
static void answers_may_come_in_any_pieces(void **state)
{
    static const size_t pieces[] = {1, 2, 3, 5, 7, 13};
    (void)state;
    open_warm("pool_max = 1;");
    (void)lend(&client[0]);
    size_t alone = reply_bytes_of(&client[0]);
    pool_give_back(&client[0].lessee);
    pool_forget_statement(&client[0].lessee);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct client *c = &client[1 + i % 2];
        server.dribble = pieces[i];
        join(c, "app", i % 2 ? "blog" : "news", i % 2 ? "utf8mb4_bin" : "utf8mb4_general_ci");
        c->lessee.state.multi_statements = i % 2;
        with(c, VARIABLE_time_zone, i % 2 ? "+00:00" : "+02:00");
        c->lessee.prepared = prepare(c, i % 2 ? "SELECT 1, ?" : "SELECT 2, ?");
        c->lessee.begin = "START TRANSACTION";
        c->lessee.may_follow = true;
        (void)lend(c);
        assert_brought(c);
        write_query(c->lessee.backend, "SELECT 1");
        UNTIL(c->read_bytes >= alone);
        assert_false(ask_pending(c->lessee.backend));
        assert_int_equal(c->read_bytes, alone);
        int before = c->lent;
        pool_reread(&c->lessee); /* a long answer */
        UNTIL(c->lent > before);
        pool_give_back(&c->lessee);
        pool_forget_statement(&c->lessee);
    }
    assert_int_equal(server.links, 1);
}

static void bytes_behind_an_answer_end_the_backend(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    server.babbles = true;
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].ended);
    assert_int_equal(client[1].why, BACKEND_END_PROTOCOL);
    assert_int_equal(client[1].read_bytes, 0);
}

static void an_option_that_is_refused_ends_the_backend(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    client[1].lessee.state.multi_statements = false;
    server.refuses_option = true;
    assert_false(pool_lend(&client[1].lessee));
    UNTIL(client[1].ended);
    assert_int_equal(client[1].why, BACKEND_END_DIRTY);
}

/* ---- what moves ---- */

static void a_schema_that_may_be_another_is_entered_anew(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    effects_add(pool_of("app")->effects, &client[0].lessee.state, bytes_text("USE shop"), false,
                &client[0].lessee.state, false, bytes_of("x", 1));
    pool_schemas_moved(target);
    assert_int_equal(effects_count(pool_of("app")->effects), 0);
    (void)lend(&client[0]);
    assert_log("USE shop|");
    pool_give_back_dirty(&client[0].lessee);
    pool_schemas_moved(target); /* while it is being reset */
    UNTIL(count_of(BACKEND_IDLE) == 1);
    forget_log();
    (void)lend(&client[0]);
    assert_brought(&client[0]);
}

static void texts_are_asked_for_anew_when_tables_move(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    struct prepared_cache *cache = pool_of("app")->prepared;
    struct prepared *p = prepare(&client[0], "SELECT * FROM t");
    prepared_set_reply(cache, p, bytes_of("\0\0\0\1\0\1\0\0\0\0\0\0\0\0\0\0", 16), 0, 0);
    struct prepared *found = prepared_find(cache, &p->state, bytes_text("SELECT * FROM t"));
    assert_ptr_equal(found, p);
    prepared_unref(cache, found);
    pool_tables_moved(target);
    assert_null(prepared_find(cache, &p->state, bytes_text("SELECT * FROM t")));
}

static void what_is_known_goes_with_the_baseline(void **state)
{
    (void)state;
    open_pool("pool_max = 2;");
    (void)lend(&client[0]);
    struct pool *p = pool_of("app");
    struct settings *old = settings_ref(p->baseline);
    effects_add(p->effects, &client[0].lessee.state, bytes_text("SET a=1"), false,
                &client[0].lessee.state, false, bytes_of("x", 1));
    (void)lend(&client[1]); /* the same baseline: nothing is forgotten */
    assert_int_equal(effects_count(p->effects), 1);
    server.sql_mode = "ANSI_QUOTES";
    pool_give_back_dirty(&client[1].lessee);
    UNTIL(count_of(BACKEND_IDLE) == 1);
    assert_int_equal(effects_count(p->effects), 0);
    assert_ptr_not_equal(p->baseline, old);
    assert_true(pool_state_is_known(&client[2].lessee));
    assert_ptr_equal(client[2].lessee.state.settings, p->baseline); /* a client that comes now */
    assert_ptr_equal(client[0].lessee.state.settings, old);         /* one that was there before */
    settings_unref(names_settings(target->names), old);
}

static void a_set_global_makes_the_baseline_unknown(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    struct pool *p = pool_of("app");
    effects_add(p->effects, &client[0].lessee.state, bytes_text("SET a=1"), false,
                &client[0].lessee.state, false, bytes_of("x", 1));
    assert_false(pool_state_is_known(&client[1].lessee) && !p->baseline);
    pool_retire_all(target);
    assert_null(p->baseline);
    assert_int_equal(effects_count(p->effects), 0);
    join(&client[2], "app", "shop", "utf8mb4_general_ci");
    assert_false(pool_state_is_known(&client[2].lessee));
    UNTIL(target->open_backends == 0);
    server.sql_mode = "";
    (void)lend(&client[2]);
    assert_int_equal(client[2].lessee.state.settings->value[VARIABLE_sql_mode], 0);
    assert_brought(&client[2]);
}

/* ---- PAUSE ---- */

static void while_paused_nothing_is_lent(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    (void)lend(&client[0]);
    pool_pause(pool_of("app")->account, true);
    assert_true(pool_is_paused(pool_of("app")));
    pool_give_back(&client[0].lessee);
    assert_false(pool_lend(&client[1].lessee));
    quiet();
    assert_int_equal(client[1].lent, 0);
    pool_pause(pool_of("app")->account, false);
    UNTIL(client[1].lent);
    pool_give_back(&client[1].lessee);
    pool_pause_all(target, true);
    pool_pause(pool_of("app")->account, true);
    assert_false(pool_lend(&client[2].lessee));
    quiet();
    assert_int_equal(client[2].lent, 0);
    pool_pause_all(target, false); /* each single one too */
    assert_false(pool_is_paused(pool_of("app")));
    UNTIL(client[2].lent);
}

/* ---- who has what its last statement left ---- */

static void a_prepare_leaves_nothing_of_its_own(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    (void)lend(&client[0]);
    pool_give_back(&client[0].lessee);
    client[1].lessee.leaves_nothing = true;
    (void)lend(&client[1]); /* but what another left is not to be had any more */
    assert_null(client[0].lessee.last_backend);
    assert_null(client[1].lessee.last_backend);
    pool_claim(&client[1].lessee); /* it failed: its error can be asked for */
    assert_ptr_equal(client[1].lessee.last_backend, client[1].lessee.backend);
    pool_give_back(&client[1].lessee);
    assert_true(pool_lend_own(&client[1].lessee));
    pool_give_back(&client[1].lessee);
    pool_forget_last_state(&client[1].lessee);
    assert_false(pool_lend_own(&client[1].lessee));
}

static void the_last_statement_moves_with_its_client(void **state)
{
    (void)state;
    open_pool("");
    join(&client[1], "app", "blog", "utf8mb4_general_ci");
    struct backend *first = lend(&client[0]);
    struct backend *second = lend(&client[1]);
    pool_give_back(&client[0].lessee);
    pool_give_back(&client[1].lessee);
    pool_forget_statement(&client[1].lessee);
    assert_ptr_equal(first->last_owner, &client[0].lessee);
    session_state_set_schema(target->names, &client[0].lessee.state, bytes_text("blog"));
    assert_true(pool_lend(&client[0].lessee)); /* not back to the one it had: this one fits */
    assert_ptr_equal(client[0].lessee.backend, second);
    assert_ptr_equal(client[0].lessee.last_backend, second);
    assert_ptr_equal(second->last_owner, &client[0].lessee);
    assert_null(first->last_owner);
}

/* ---- LAST_INSERT_ID() ---- */

static void the_one_that_has_its_id_is_lent_to_who_asks_for_it(void **state)
{
    (void)state;
    open_warm("probe_after = \"30s\"; pool_max = 2;");
    struct backend *b = lend(&client[0]);
    (void)lend(&client[1]);
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    pool_give_back(&client[1].lessee); /* the newest, and as good */
    pool_forget_statement(&client[1].lessee);
    assert_ptr_equal(lend(&client[0]), b);
    pool_give_back(&client[0].lessee);
    make_quiet(b, 31 * 1000);
    client[0].lessee.wants_last_id = true; /* a probe would be as good a question */
    forget_log();
    assert_true(pool_lend(&client[0].lessee));
    assert_ptr_equal(client[0].lessee.backend, b);
    assert_log("");
}

static void who_forgets_its_id_leaves_nothing_to_be_asked_for(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    struct backend *b = lend(&client[0]);
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    pool_forget_statement(&client[0].lessee);
    assert_null(b->id_owner);
    forget_log();
    (void)lend(&client[1]);
    assert_log("SET last_insert_id=0|");
}

static void a_newer_id_is_on_the_newer_backend(void **state)
{
    (void)state;
    open_warm("pool_max = 2;");
    struct backend *first = lend(&client[0]);
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    (void)lend(&client[1]);
    (void)lend(&client[0]);
    assert_ptr_not_equal(client[0].lessee.backend, first);
    pool_last_id_in_backend(&client[0].lessee);
    assert_ptr_equal(client[0].lessee.id_backend, client[0].lessee.backend);
    assert_null(first->id_owner);
}

/* The only one that it could be is another's: that one's id is read first. */
static void an_id_is_read_before_its_backend_logs_in_again(void **state)
{
    (void)state;
    open_warm("pool_max = 1;");
    (void)lend(&client[0]);
    server.last_insert_id = "12";
    pool_last_id_in_backend(&client[0].lessee);
    pool_give_back(&client[0].lessee);
    join(&client[1], "app", "", "utf8mb4_general_ci");
    forget_log();
    (void)lend(&client[1]);
    assert_log("SELECT LAST_INSERT_ID() LIMIT 1|SELECT 1|CHANGE_USER app|TRACKERS|BASELINE|");
    assert_int_equal(client[0].lessee.last_id_where, LAST_ID_KNOWN);
    assert_int_equal(client[0].lessee.last_insert_id, 12);
}

static void one_that_is_new_and_fits_counts_as_fresh(void **state)
{
    (void)state;
    open_pool("");
    join(&client[0], "app", "", "utf8mb4_general_ci");
    client[0].lessee.last_id_where = LAST_ID_LOST;
    (void)lend(&client[0]);
    assert_log("TRACKERS|BASELINE|");
    assert_int_equal(target->stats.lends_fresh, 1);
}

#define RESTORE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESTORE_TEST(only_what_differs_is_asked),
        RESTORE_TEST(a_charset_by_number_is_asked_for_once),
        RESTORE_TEST(a_refused_schema_gives_the_backend_back),
        RESTORE_TEST(after_a_refusal_the_next_waiter_is_served),
        RESTORE_TEST(a_client_without_schema_gets_none_that_has_one),
        RESTORE_TEST(last_insert_id_follows_its_client),
        RESTORE_TEST(last_insert_id_goes_with_its_backend),
        RESTORE_TEST(a_refresh_reads_the_last_insert_id_too),
        RESTORE_TEST(a_suspect_one_is_reset_before_anybody_else_has_it),
        RESTORE_TEST(which_variables_there_are_is_asked_once),
        RESTORE_TEST(a_fresh_client_has_what_a_fresh_session_has),
        RESTORE_TEST(the_variables_that_differ_are_set_in_one_statement),
        RESTORE_TEST(equal_variables_are_an_exact_fit_however_they_came_about),
        RESTORE_TEST(all_that_differs_goes_in_one_write),
        RESTORE_TEST(variables_are_set_in_a_character_set_that_is_plain),
        RESTORE_TEST(each_part_of_the_character_sets_is_restored),
        RESTORE_TEST(a_set_that_is_refused_resets),
        RESTORE_TEST(a_variable_that_a_tracker_tells_moves_client_and_backend),
        RESTORE_TEST(a_session_is_what_the_server_says),
        RESTORE_TEST(one_whose_role_has_moved_is_not_used_again),
        RESTORE_TEST(a_role_that_outlives_the_reset_closes),
        RESTORE_TEST(a_number_is_asked_for),
        RESTORE_TEST(a_read_is_written_behind_its_begin),
        RESTORE_TEST(a_write_waits_for_its_begin),
        RESTORE_TEST(a_begin_goes_behind_what_restores_the_state),
        RESTORE_TEST(a_begin_that_is_refused_ends_the_backend),
        RESTORE_TEST(what_does_not_name_the_last_id_is_written_behind_its_set),
        RESTORE_TEST(who_wants_an_id_that_nobody_knows_is_told),
        RESTORE_TEST(a_set_whose_warnings_are_wanted_is_run_anew),
        RESTORE_TEST(who_wants_a_fresh_one_has_it_reset),
        RESTORE_TEST(a_text_is_prepared_once_on_each_backend),
        RESTORE_TEST(one_that_has_it_prepared_is_preferred),
        RESTORE_TEST(a_text_is_prepared_in_the_state_that_it_belongs_to),
        RESTORE_TEST(a_statement_serves_those_whose_types_leave_the_same_behind),
        RESTORE_TEST(what_is_prepared_least_recently_is_closed),
        RESTORE_TEST(a_text_of_any_length_is_prepared),
        RESTORE_TEST(a_reset_closes_what_was_prepared),
        RESTORE_TEST(a_prepare_that_is_refused_gives_the_backend_back),
        RESTORE_TEST(where_too_many_are_prepared_ours_go),
        RESTORE_TEST(an_error_of_a_prepare_keeps_its_number),
        RESTORE_TEST(a_pinned_client_has_its_text_prepared_where_it_is),
        RESTORE_TEST(a_pinned_clients_state_survives_a_prepare_that_is_refused),
        RESTORE_TEST(a_pinned_client_goes_on_after_a_set_that_is_refused),
        RESTORE_TEST(answers_may_come_in_any_pieces),
        RESTORE_TEST(bytes_behind_an_answer_end_the_backend),
        RESTORE_TEST(an_option_that_is_refused_ends_the_backend),
        RESTORE_TEST(a_schema_that_may_be_another_is_entered_anew),
        RESTORE_TEST(texts_are_asked_for_anew_when_tables_move),
        RESTORE_TEST(what_is_known_goes_with_the_baseline),
        RESTORE_TEST(a_set_global_makes_the_baseline_unknown),
        RESTORE_TEST(while_paused_nothing_is_lent),
        RESTORE_TEST(a_prepare_leaves_nothing_of_its_own),
        RESTORE_TEST(the_last_statement_moves_with_its_client),
        RESTORE_TEST(the_one_that_has_its_id_is_lent_to_who_asks_for_it),
        RESTORE_TEST(who_forgets_its_id_leaves_nothing_to_be_asked_for),
        RESTORE_TEST(a_newer_id_is_on_the_newer_backend),
        RESTORE_TEST(an_id_is_read_before_its_backend_logs_in_again),
        RESTORE_TEST(one_that_is_new_and_fits_counts_as_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
