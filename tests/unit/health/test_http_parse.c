/* SPDX-License-Identifier: Apache-2.0
 * health/http_parse: whole, every prefix, every cut, one byte over each limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "health/http_parse.h"

static struct http_parser *parser;
static struct http_message message;
static size_t used;

static int set_up(void **state)
{
    (void)state;
    parser = http_parser_new(HTTP_SIDE_REQUEST);
    return parser == NULL;
}

static int set_up_response(void **state)
{
    (void)state;
    parser = http_parser_new(HTTP_SIDE_RESPONSE);
    return parser == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    http_parser_free(parser);
    return 0;
}

/* In memory of exactly that size, so that ASan sees a byte too far. */
static enum wire_result show(const char *at, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, at, len);
    enum wire_result result = http_parse(parser, bytes_of(copy, len), &used, &message);
    free(copy);
    return result;
}

static enum wire_result show_text(const char *text)
{
    return show(text, strlen(text));
}

static void expect_refusal(const char *text, int status)
{
    struct http_parser *kept = parser;
    parser = http_parser_new(HTTP_SIDE_REQUEST);
    assert_int_equal(show_text(text), WIRE_BAD);
    assert_int_equal(message.status, status);
    assert_int_equal(show_text("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), WIRE_BAD); /* it sticks */
    assert_int_equal(message.status, status);
    http_parser_free(parser);
    parser = kept;
}

static const char post[] =
    "POST /drain?wait=1&x=? HTTP/1.1\r\nHost: h\r\nauthorization:  bearer  s3cret \r\n"
    "Origin: http://evil\r\nContent-Length: 5\r\n\r\nhello";

static void expect_post(void)
{
    assert_int_equal(message.method, HTTP_METHOD_POST);
    assert_string_equal(message.path, "/drain");
    assert_string_equal(message.query, "wait=1&x=?");
    assert_string_equal(message.token, "s3cret");
    assert_true(message.has_origin);
    assert_true(message.keep_alive);
    assert_false(message.is_head);
}

static void a_whole_request_is_read(void **state)
{
    (void)state;
    assert_int_equal(show_text(post), WIRE_DONE);
    assert_int_equal(used, sizeof post - 1);
    expect_post();
}

static void every_shorter_prefix_asks_for_more(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof post - 1; len++) {
        http_parser_free(parser);
        parser = http_parser_new(HTTP_SIDE_REQUEST);
        assert_int_equal(show(post, len), WIRE_MORE);
        assert_int_equal(used, len);
        assert_int_equal(show(post + len, sizeof post - 1 - len), WIRE_DONE);
        expect_post();
    }
}

static void bytes_may_come_one_by_one(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof post - 2; i++)
            assert_int_equal(show(post + i, 1), WIRE_MORE);
        assert_int_equal(show(post + sizeof post - 2, 1), WIRE_DONE);
        expect_post();
    }
}

static void the_next_message_is_left_alone(void **state)
{
    static const char two[] = "GET /a HTTP/1.1\r\nHost: h\r\n\r\nHEAD /b HTTP/1.0\r\n\r\n";
    (void)state;
    assert_int_equal(show_text(two), WIRE_DONE);
    assert_string_equal(message.path, "/a");
    assert_string_equal(message.query, "");
    assert_null(message.token);
    assert_true(message.keep_alive);
    size_t first = used;
    assert_int_equal(show_text(two + first), WIRE_DONE);
    assert_int_equal(first + used, sizeof two - 1);
    assert_string_equal(message.path, "/b");
    assert_true(message.is_head);
    assert_int_equal(message.method, HTTP_METHOD_GET);
    assert_false(message.keep_alive);
}

static void chunked_bodies_and_their_trailers_are_read(void **state)
{
    (void)state;
    assert_int_equal(show_text("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "3;x=y\r\nabc\r\n0\r\nAuthorization: Bearer no\r\n\r\nGET"),
                     WIRE_DONE);
    assert_null(message.token);
    assert_int_equal(used, strlen("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "3;x=y\r\nabc\r\n0\r\nAuthorization: Bearer no\r\n\r\n"));
}

static void absolute_form_and_upgrades_are_plain_requests(void **state)
{
    (void)state;
    assert_int_equal(
        show_text("GET http://h:1/livez?a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
                  "Upgrade: h2c\r\n\r\n"),
        WIRE_DONE);
    assert_string_equal(message.path, "/livez");
    assert_string_equal(message.query, "a");
    assert_int_equal(show_text("OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
                     WIRE_DONE);
    assert_int_equal(message.method, HTTP_METHOD_OTHER);
    assert_string_equal(message.path, "*");
    assert_false(message.keep_alive);
    assert_int_equal(show_text("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YTpi\r\n\r\n"),
                     WIRE_DONE);
    assert_null(message.token);
}

static void malformed_requests_are_refused(void **state)
{
    static const char *const bad[] = {
        "\x16\x03\x01\x02\x00\x01", /* a TLS hello */
        "NONSENSE / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: h\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /\r\n\r\n",
        "GET /a\xC3\xA9 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://h HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET * HTTP/1.1 x\r\nHost: h\r\n\r\n",
        "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nA\x01: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refusal(bad[i], 400);
}

static char *repeat(const char *before, char c, size_t count, const char *after)
{
    size_t before_len = strlen(before);
    char *text = malloc(before_len + count + strlen(after) + 1);
    memcpy(text, before, before_len);
    memset(text + before_len, c, count);
    strcpy(text + before_len + count, after);
    return text;
}

/* `count` times a byte is read, once more is refused. */
static void expect_limit(const char *before, size_t count, const char *after, int status)
{
    char *text = repeat(before, 'a', count, after);
    assert_int_equal(show_text(text), WIRE_DONE);
    free(text);
    text = repeat(before, 'a', count + 1, after);
    expect_refusal(text, status);
    free(text);
}

static void one_byte_over_a_limit_is_refused(void **state)
{
    static const char head[] = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
    static const char token[] = "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ";
    (void)state;
    expect_limit("GET /", HTTP_TARGET_MAX_BYTES - 1, " HTTP/1.1\r\nHost: h\r\n\r\n", 414);
    expect_limit(head, HTTP_HEAD_MAX_BYTES - (sizeof head - 1) - 4, "\r\n\r\n", 431);
    expect_limit(token, HTTP_TOKEN_MAX_BYTES, "\r\n\r\n", 431);
}

static void bodies_over_the_limit_are_refused(void **state)
{
    char *text;
    (void)state;
    text = repeat("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 65536\r\n\r\n", 'a', 65536, "");
    assert_int_equal(show_text(text), WIRE_DONE);
    free(text);
    expect_refusal("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n", 413);
    text = repeat("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n", 'a',
                  0x20000, "");
    expect_refusal(text, 413);
    free(text);
    /* "fff3\r\n" + 0xfff3 + "\r\n0\r\n\r\n" are 65536 raw bytes. */
    static const char head[] =
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfff3\r\n";
    text = repeat(head, 'a', 0xfff3, "\r\n0\r\n\r\n");
    assert_int_equal(show_text(text), WIRE_DONE);
    free(text);
    text = repeat("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfff4\r\n", 'a',
                  0xfff4, "\r\n0\r\n\r\n");
    expect_refusal(text, 413);
    free(text);
    text = repeat("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ", 'a', 2000, "\r\n\r\n");
    expect_refusal(text, 431);
    free(text);
}

static void the_end_of_the_stream_is_bad_within_a_request(void **state)
{
    (void)state;
    assert_int_equal(http_parse_eof(parser, &message), WIRE_MORE);
    assert_int_equal(show_text("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), WIRE_DONE);
    assert_int_equal(http_parse_eof(parser, &message), WIRE_MORE);
    assert_int_equal(show_text("GET /"), WIRE_MORE);
    assert_int_equal(http_parse_eof(parser, &message), WIRE_BAD);
    assert_int_equal(http_parse_eof(parser, &message), WIRE_BAD);
}

static void responses_give_status_and_body(void **state)
{
    char body[8] = "";
    (void)state;
    http_parser_keep_body(parser, body, 4);
    assert_int_equal(
        show_text("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nabcdeHTTP"),
        WIRE_DONE);
    assert_int_equal(message.status, 503);
    assert_int_equal(http_parser_body_len(parser), 4); /* cut to the room */
    assert_memory_equal(body, "abcd\0", 5);
    assert_int_equal(show_text("HTTP/1.0 200 OK\r\n\r\nxy"), WIRE_MORE);
    assert_int_equal(http_parse_eof(parser, &message), WIRE_DONE);
    assert_int_equal(message.status, 200);
    assert_int_equal(http_parser_body_len(parser), 2);
    assert_memory_equal(body, "xy", 2);
}

static void a_cut_response_is_bad(void **state)
{
    (void)state;
    assert_int_equal(http_parse_eof(parser, &message), WIRE_MORE);
    assert_int_equal(show_text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), WIRE_MORE);
    assert_int_equal(http_parse_eof(parser, &message), WIRE_BAD);
}

static void statuses_have_texts(void **state)
{
    (void)state;
    assert_string_equal(http_status_text(405), "Method Not Allowed");
    assert_string_equal(http_status_text(299), "");
    http_parser_free(NULL);
}

#define CASE(name)          cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define RESPONSE_CASE(name) cmocka_unit_test_setup_teardown(name, set_up_response, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_whole_request_is_read),
        CASE(every_shorter_prefix_asks_for_more),
        CASE(bytes_may_come_one_by_one),
        CASE(the_next_message_is_left_alone),
        CASE(chunked_bodies_and_their_trailers_are_read),
        CASE(absolute_form_and_upgrades_are_plain_requests),
        CASE(malformed_requests_are_refused),
        CASE(one_byte_over_a_limit_is_refused),
        CASE(bodies_over_the_limit_are_refused),
        CASE(the_end_of_the_stream_is_bad_within_a_request),
        RESPONSE_CASE(responses_give_status_and_body),
        RESPONSE_CASE(a_cut_response_is_bad),
        cmocka_unit_test(statuses_have_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
