/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/account.c: secrets, their age and their rotation, configured users, proven schemas. Nothing
 * is connected here; proofs at a server are in test_pool.c. The loop's clock stands still unless a
 * test moves it. */
#include "pool/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/load.h"
#include "pool/pool.h"
#include "protocol/mysql_caps.h"

enum { TTL_MS = 60000, IDLE_MS = 300000 };

static const uint8_t salt[] = "abcdefghijklmnopqrst";

static struct loop loop;
static struct options *options;
static struct target *target;

static struct options *options_of(const char *mysql)
{
    char text[1024];
    char path[64];
    struct problems problems = {0};
    int fd = memfd_create("test", MFD_CLOEXEC);
    int len = snprintf(text, sizeof text, "mysql = { tls = \"off\"; %s };\n", mysql);
    assert_int_equal(write(fd, text, (size_t)len), len);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct load_request request = {.file = path};
    struct options *loaded = options_load(&request, &problems);
    problems_print(&problems, stderr);
    assert_non_null(loaded);
    (void)close(fd);
    return loaded;
}

static void open_target(const char *mysql)
{
    char err[256];
    options = options_of(mysql);
    target = target_new(&loop, options, err, sizeof err);
    assert_non_null(target);
}

static int setup(void **state)
{
    (void)state;
    return uv_loop_init(&loop.uv);
}

static int teardown(void **state)
{
    (void)state;
    target_close(target);
    (void)uv_run(&loop.uv, UV_RUN_DEFAULT);
    target_free(target);
    options_free(options);
    return uv_loop_close(&loop.uv);
}

static int setup_plain(void **state)
{
    int error = setup(state);
    open_target("backend = \"mysql://127.0.0.1:1\"; verifier_ttl = \"60s\"; "
                "idle_timeout = \"5min\";");
    return error;
}

static void pass(uint64_t ms)
{
    loop.uv.time += ms;
}

static struct account *account(const char *name)
{
    return account_get(target, bytes_text(name));
}

static struct secret *by_password(struct account *a, const char *password)
{
    return account_check_password(a, bytes_text(password));
}

static struct secret *by_sha2(struct account *a, const char *password)
{
    uint8_t reply[SCRAMBLE_SHA2_BYTES];
    size_t len = scramble_sha2_reply(bytes_text(password), salt, reply);
    return account_check_sha2(a, bytes_of(reply, len), salt);
}

static struct secret *by_native(struct account *a, const char *password)
{
    uint8_t reply[SCRAMBLE_NATIVE_BYTES];
    size_t len = scramble_native_reply(bytes_text(password), salt, reply);
    return account_check_native(a, bytes_of(reply, len), salt);
}

static void learn(struct account *a, const char *password)
{
    account_learn(a, bytes_text(password));
}

static void assert_first(struct account *a, const char *password)
{
    struct secret *s = account_secret(a);
    assert_non_null(s);
    assert_string_equal(s->password, password);
}

/* ---- accounts ---- */

static void a_name_has_one_account(void **state)
{
    (void)state;
    assert_null(account_find(target, bytes_text("app")));
    struct account *a = account("app");
    assert_ptr_equal(account("app"), a);
    assert_ptr_equal(account_find(target, bytes_text("app")), a);
    assert_ptr_not_equal(account("App"), a);
    assert_null(account_find(target, bytes_text("ap")));
    assert_null(account_secret(a));
    assert_null(account_secret(NULL));
}

static void more_accounts_than_buckets_are_told_apart(void **state)
{
    char name[32];
    (void)state;
    for (int i = 0; i < 3 * ACCOUNT_BUCKETS; i++) {
        (void)snprintf(name, sizeof name, "user%d", i);
        account(name)->sessions = (uint32_t)i;
    }
    for (int i = 0; i < 3 * ACCOUNT_BUCKETS; i++) {
        (void)snprintf(name, sizeof name, "user%d", i);
        assert_int_equal(account_find(target, bytes_text(name))->sessions, i);
    }
}

static void unused_accounts_are_forgotten_after_a_while(void **state)
{
    (void)state;
    (void)account("gone");
    account("in use")->sessions = 1;
    pass(599999);
    account_tick(target);
    assert_non_null(account_find(target, bytes_text("gone")));
    pass(1);
    account_tick(target);
    assert_null(account_find(target, bytes_text("gone")));
    assert_non_null(account_find(target, bytes_text("in use")));
}

/* ---- secrets ---- */

static void a_learned_password_is_checked_in_each_form(void **state)
{
    (void)state;
    struct account *a = account("app");
    assert_null(by_password(a, "s3cret"));
    learn(a, "s3cret");
    struct secret *s = account_secret(a);
    assert_ptr_equal(by_password(a, "s3cret"), s);
    assert_ptr_equal(by_sha2(a, "s3cret"), s);
    assert_ptr_equal(by_native(a, "s3cret"), s);
    assert_null(by_password(a, "s3cre"));
    assert_null(by_password(a, "s3cretx"));
    assert_null(by_password(a, ""));
    assert_null(by_sha2(a, "other"));
    assert_null(by_native(a, "other"));
    assert_null(by_password(account("another"), "s3cret"));
}

static void replies_of_another_length_fit_nothing(void **state)
{
    static const uint8_t zeros[64];
    (void)state;
    struct account *a = account("app");
    learn(a, "s3cret");
    for (size_t len = 0; len <= sizeof zeros; len++) {
        assert_null(account_check_sha2(a, bytes_of(zeros, len), salt));
        assert_null(account_check_native(a, bytes_of(zeros, len), salt));
    }
}

static void a_reply_to_another_salt_fits_nothing(void **state)
{
    uint8_t reply[SCRAMBLE_SHA2_BYTES];
    (void)state;
    struct account *a = account("app");
    learn(a, "s3cret");
    size_t len = scramble_sha2_reply(bytes_text("s3cret"), salt, reply);
    assert_null(
        account_check_sha2(a, bytes_of(reply, len), (const uint8_t *)"ABCDEFGHIJKLMNOPQRST"));
    len = scramble_native_reply(bytes_text("s3cret"), salt, reply);
    assert_null(
        account_check_native(a, bytes_of(reply, len), (const uint8_t *)"ABCDEFGHIJKLMNOPQRST"));
}

/* An empty password has no reply; it is known by itself only. */
static void an_empty_password_is_one_like_others(void **state)
{
    (void)state;
    struct account *a = account("app");
    learn(a, "");
    assert_non_null(by_password(a, ""));
    assert_null(by_sha2(a, ""));
    assert_null(by_native(a, ""));
    assert_null(by_sha2(a, "x"));
    assert_first(a, "");
}

static void three_are_kept_for_rotation_and_the_newest_is_used(void **state)
{
    (void)state;
    struct account *a = account("app");
    learn(a, "one");
    learn(a, "two");
    learn(a, "three");
    assert_int_equal(a->secret_count, 3);
    assert_first(a, "three");
    learn(a, "four");
    assert_int_equal(a->secret_count, 3);
    assert_first(a, "four");
    assert_null(by_password(a, "one"));
    assert_non_null(by_sha2(a, "two"));
    assert_non_null(by_native(a, "three"));
    learn(a, "two"); /* known: renewed where it is */
    assert_int_equal(a->secret_count, 3);
    assert_first(a, "four");
}

static void a_secret_ages_after_its_last_proof(void **state)
{
    (void)state;
    struct account *a = account("app");
    learn(a, "s3cret");
    pass(TTL_MS - 1);
    assert_non_null(by_password(a, "s3cret"));
    assert_non_null(by_sha2(a, "s3cret"));
    assert_non_null(by_native(a, "s3cret"));
    pass(1);
    assert_null(by_password(a, "s3cret"));
    assert_null(by_sha2(a, "s3cret"));
    assert_null(by_native(a, "s3cret"));
    assert_first(a, "s3cret"); /* it admits nobody, but still logs backends in */
    learn(a, "s3cret");
    assert_int_equal(a->secret_count, 1);
    assert_non_null(by_sha2(a, "s3cret"));
    pass(TTL_MS - 1);
    assert_non_null(by_sha2(a, "s3cret"));
}

static void an_aged_secret_goes_when_its_account_is_out_of_use(void **state)
{
    (void)state;
    struct account *a = account("app");
    a->sessions = 1;
    learn(a, "s3cret");
    pass(IDLE_MS);
    account_tick(target);
    assert_int_equal(a->secret_count, 1);
    a->sessions = 0;
    a->used_ms = loop_now_ms(&loop);
    pass(IDLE_MS - 1);
    account_tick(target);
    assert_int_equal(a->secret_count, 1);
    pass(1);
    account_tick(target);
    assert_int_equal(a->secret_count, 0);
    assert_null(account_secret(a));
}

static void a_refused_secret_is_forgotten_and_others_stay(void **state)
{
    (void)state;
    struct account *a = account("app");
    learn(a, "one");
    learn(a, "two");
    learn(a, "three");
    account_forget(a, bytes_text("two"));
    assert_int_equal(a->secret_count, 2);
    assert_null(by_password(a, "two"));
    assert_null(by_sha2(a, "two"));
    assert_non_null(by_password(a, "one"));
    assert_first(a, "three");
    account_forget(a, bytes_text("unknown"));
    assert_int_equal(a->secret_count, 2);
    account_forget(a, bytes_text("three"));
    assert_first(a, "one");
    account_forget(a, bytes_text("one"));
    assert_null(account_secret(a));
}

/* ---- configured ---- */

#define HASH_OF_PASSWORD "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19" /* of "password" */

static int setup_configured(void **state)
{
    int error = setup(state);
    open_target("backend = \"mysql://url:urlpass@127.0.0.1:1\"; verifier_ttl = \"60s\"; "
                "users = ( { name = \"a\"; password = \"pa\"; pool_max = 4; }, "
                "{ name = \"h\"; hash = \"" HASH_OF_PASSWORD "\"; } );");
    return error;
}

static void configured_users_are_there_from_the_start_and_do_not_age(void **state)
{
    (void)state;
    struct account *a = account_find(target, bytes_text("a"));
    assert_non_null(a);
    assert_true(a->configured);
    assert_int_equal(a->pool_max, 4);
    pass(TTL_MS * 10);
    assert_non_null(by_password(a, "pa"));
    assert_non_null(by_sha2(a, "pa"));
    pass(IDLE_MS * 10);
    account_tick(target);
    assert_ptr_equal(account_find(target, bytes_text("a")), a);
    assert_first(a, "pa");
}

static void the_urls_user_has_a_pool_but_is_not_one_who_may_log_in(void **state)
{
    (void)state;
    struct account *a = account_find(target, bytes_text("url"));
    assert_non_null(a);
    assert_false(a->configured);
    assert_first(a, "urlpass");
    assert_non_null(a->pools);
    assert_int_equal(a->pools->flags, MYSQL_CAP_LOCAL_FILES);
    assert_null(account_find(target, bytes_text("a"))->pools);
}

static void what_is_configured_is_not_forgotten(void **state)
{
    (void)state;
    struct account *a = account("a");
    account_forget(a, bytes_text("pa"));
    assert_non_null(by_password(a, "pa"));
}

/* A hash alone logs nobody in until a client's reply has shown the stage before it. */
static void a_hash_learns_stage_one_from_a_client(void **state)
{
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    (void)state;
    struct account *a = account("h");
    assert_int_equal(a->secret_count, 1);
    assert_null(account_secret(a));
    assert_null(by_native(a, "wrong"));
    assert_null(account_secret(a));
    assert_null(by_sha2(a, "password"));
    assert_null(by_password(a, "password"));
    assert_non_null(by_native(a, "password"));
    struct secret *s = account_secret(a);
    assert_non_null(s);
    assert_null(s->password);
    scramble_native_stage1(bytes_text("password"), stage1);
    assert_memory_equal(s->native_stage1, stage1, sizeof stage1);
}

static void a_reload_swaps_what_is_configured_and_keeps_what_is_learned(void **state)
{
    char err[256];
    (void)state;
    struct account *a = account("a");
    learn(a, "learned");
    struct options *newer = options_of("backend = \"mysql://127.0.0.1:1\"; "
                                       "users = ( { name = \"b\"; password = \"pb\"; } );");
    assert_int_equal(target_reload(target, newer, err, sizeof err), 0);
    options_free(options);
    options = newer;
    assert_null(by_password(a, "pa"));
    assert_non_null(by_password(a, "learned"));
    assert_false(a->configured);
    assert_int_equal(a->pool_max, 0);
    assert_true(account_find(target, bytes_text("b"))->configured);
    assert_null(account_secret(account("url")));
    assert_int_equal(account("h")->secret_count, 0);
}

static void a_learned_password_may_become_configured(void **state)
{
    char err[256];
    (void)state;
    struct account *b = account("b");
    learn(b, "pb");
    struct options *newer = options_of("backend = \"mysql://127.0.0.1:1\"; "
                                       "users = ( { name = \"b\"; password = \"pb\"; } );");
    assert_int_equal(target_reload(target, newer, err, sizeof err), 0);
    options_free(options);
    options = newer;
    assert_int_equal(b->secret_count, 1);
    pass(TTL_MS * 2);
    assert_non_null(by_password(b, "pb"));
}

/* ---- schemas ---- */

static name_id schema(const char *text)
{
    return names_ref_text(target->names, bytes_text(text));
}

static void schemas_are_proven_one_by_one(void **state)
{
    (void)state;
    struct account *a = account("app");
    name_id shop = schema("shop");
    name_id blog = schema("blog");
    assert_false(account_schema_is_proven(a, shop));
    account_schema_proven(a, shop);
    account_schema_proven(a, shop);
    account_schema_proven(a, 0); /* none is no schema */
    assert_int_equal(a->schema_count, 1);
    assert_true(account_schema_is_proven(a, shop));
    assert_false(account_schema_is_proven(a, blog));
    assert_false(account_schema_is_proven(account("another"), shop));
    account_schema_proven(a, blog);
    account_schema_unproven(a, shop);
    account_schema_unproven(a, shop);
    assert_false(account_schema_is_proven(a, shop));
    assert_true(account_schema_is_proven(a, blog));
    names_unref(target->names, shop);
    names_unref(target->names, blog);
    assert_int_equal(names_count(target->names), 1); /* blog is held by the account */
    account_schema_unproven(a, blog);
    assert_int_equal(names_count(target->names), 0);
}

static void a_statement_about_databases_unproves_all_of_all_users(void **state)
{
    (void)state;
    name_id shop = schema("shop");
    account_schema_proven(account("a"), shop);
    account_schema_proven(account("b"), shop);
    names_unref(target->names, shop);
    account_schemas_forget_all(target);
    assert_false(account_schema_is_proven(account("a"), shop));
    assert_false(account_schema_is_proven(account("b"), shop));
    assert_int_equal(names_count(target->names), 0);
}

static void proven_schemas_are_bounded(void **state)
{
    char text[32];
    (void)state;
    struct account *a = account("app");
    for (int i = 0; i < 1025; i++) {
        (void)snprintf(text, sizeof text, "s%d", i);
        name_id id = schema(text);
        account_schema_proven(a, id);
        assert_true(account_schema_is_proven(a, id));
        names_unref(target->names, id);
    }
    assert_int_equal(a->schema_count, 1); /* began anew */
    assert_int_equal(names_count(target->names), 1);
}

/* The list grows at each power of two: going down below one and up again must not lose room. */
static void schemas_come_and_go_around_each_power_of_two(void **state)
{
    enum { MANY = 70 };
    name_id id[MANY];
    char text[32];
    (void)state;
    struct account *a = account("app");
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "s%d", i);
        id[i] = schema(text);
    }
    for (int top = 1; top < MANY; top++) {
        for (int i = 0; i < top; i++)
            account_schema_proven(a, id[i]);
        for (int i = top - 1; i >= top / 2; i--)
            account_schema_unproven(a, id[i]);
        for (int i = 0; i < top; i++)
            assert_int_equal(account_schema_is_proven(a, id[i]), i < top / 2);
    }
    for (int i = 0; i < MANY; i++)
        names_unref(target->names, id[i]);
}

#define PLAIN_TEST(f)      cmocka_unit_test_setup_teardown(f, setup_plain, teardown)
#define CONFIGURED_TEST(f) cmocka_unit_test_setup_teardown(f, setup_configured, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN_TEST(a_name_has_one_account),
        PLAIN_TEST(more_accounts_than_buckets_are_told_apart),
        PLAIN_TEST(unused_accounts_are_forgotten_after_a_while),
        PLAIN_TEST(a_learned_password_is_checked_in_each_form),
        PLAIN_TEST(replies_of_another_length_fit_nothing),
        PLAIN_TEST(a_reply_to_another_salt_fits_nothing),
        PLAIN_TEST(an_empty_password_is_one_like_others),
        PLAIN_TEST(three_are_kept_for_rotation_and_the_newest_is_used),
        PLAIN_TEST(a_secret_ages_after_its_last_proof),
        PLAIN_TEST(an_aged_secret_goes_when_its_account_is_out_of_use),
        PLAIN_TEST(a_refused_secret_is_forgotten_and_others_stay),
        CONFIGURED_TEST(configured_users_are_there_from_the_start_and_do_not_age),
        CONFIGURED_TEST(the_urls_user_has_a_pool_but_is_not_one_who_may_log_in),
        CONFIGURED_TEST(what_is_configured_is_not_forgotten),
        CONFIGURED_TEST(a_hash_learns_stage_one_from_a_client),
        CONFIGURED_TEST(a_reload_swaps_what_is_configured_and_keeps_what_is_learned),
        CONFIGURED_TEST(a_learned_password_may_become_configured),
        PLAIN_TEST(schemas_are_proven_one_by_one),
        PLAIN_TEST(a_statement_about_databases_unproves_all_of_all_users),
        PLAIN_TEST(proven_schemas_are_bounded),
        PLAIN_TEST(schemas_come_and_go_around_each_power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
