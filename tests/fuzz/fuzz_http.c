/* SPDX-License-Identifier: Apache-2.0
 *
 * health/http_parse, both sides. The property: cutting the stream differently changes nothing. The
 * first byte chooses the side and seeds the cuts; the rest is the stream, shown whole and then in
 * pieces, each in memory of exactly its size. Both ways must give the same messages, at the same
 * places, with the same end. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/http_parse.h"

enum { TRACE_ROOM = 1 << 16, BODY_ROOM = 64 };

struct trace {
    char text[TRACE_ROOM];
    size_t len;
};

static void __attribute__((format(printf, 2, 3))) note(struct trace *trace, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(trace->text + trace->len, TRACE_ROOM - trace->len, format, args);
    va_end(args);
    if (len > 0 && (size_t)len < TRACE_ROOM - trace->len)
        trace->len += (size_t)len;
}

static void note_message(struct trace *trace, const struct http_message *m,
                         const struct http_parser *parser, const char *body, size_t end)
{
    size_t body_len = http_parser_body_len(parser);
    assert(body_len <= BODY_ROOM);
    assert(strlen(m->path) + strlen(m->query) <= HTTP_TARGET_MAX_BYTES);
    assert(m->token == NULL || strlen(m->token) <= HTTP_TOKEN_MAX_BYTES);
    note(trace, "%zu: %d %s %d%d%d [%s] [%s] [%s] %zu:", end, m->status,
         http_status_text(m->status), (int)m->method, m->is_head, m->keep_alive * 2 + m->has_origin,
         m->path, m->query, m->token != NULL ? m->token : "-", body_len);
    for (size_t i = 0; i < body_len; i++)
        note(trace, "%02x", (unsigned char)body[i]);
    note(trace, "\n");
}

/* Shows one piece until it is used up. False once the stream is bad. */
static bool show_piece(struct http_parser *parser, const uint8_t *at, size_t len, size_t before,
                       char *body, struct trace *trace)
{
    struct http_message message;
    size_t done = 0, used;

    while (done < len) {
        uint8_t *piece = malloc(len - done);
        memcpy(piece, at + done, len - done);
        enum wire_result result = http_parse(parser, bytes_of(piece, len - done), &used, &message);
        free(piece);
        assert(used <= len - done);
        done += used;
        if (result == WIRE_BAD) {
            /* Not its status: a stream that is wrong in two ways may be refused for either, since
             * llhttp hands out a string when it ends, or where the stream was cut. */
            assert(message.status >= 0);
            note(trace, "bad\n");
            return false;
        }
        if (result == WIRE_DONE)
            note_message(trace, &message, parser, body, before + done);
        else
            assert(done == len);
    }
    return true;
}

static void show(enum http_side side, const uint8_t *at, size_t len, unsigned seed,
                 struct trace *trace)
{
    struct http_parser *parser = http_parser_new(side);
    struct http_message message;
    char body[BODY_ROOM];
    size_t done = 0;
    bool good = true;

    http_parser_keep_body(parser, body, sizeof body);
    trace->len = 0;
    while (done < len && good) {
        size_t piece = len - done;
        if (seed > 0) {
            seed = seed * 1103515245 + 12345;
            size_t cut = seed % 4 == 0 ? 1 : seed >> 16 & 63;
            piece = cut < piece ? cut : piece;
        }
        good = show_piece(parser, at + done, piece, done, body, trace);
        done += piece;
    }
    if (good) {
        enum wire_result result = http_parse_eof(parser, &message);
        note(trace, "eof %d\n", (int)result);
        if (result == WIRE_DONE)
            note_message(trace, &message, parser, body, len);
    }
    http_parser_free(parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct trace whole, cut;
    if (len < 1)
        return 0;
    enum http_side side = data[0] & 1 ? HTTP_SIDE_RESPONSE : HTTP_SIDE_REQUEST;
    show(side, data + 1, len - 1, 0, &whole);
    show(side, data + 1, len - 1, data[0] + 1U, &cut);
    if (whole.len != cut.len || memcmp(whole.text, cut.text, whole.len) != 0) {
        fprintf(stderr, "whole:\n%.*s\ncut:\n%.*s\n", (int)whole.len, whole.text, (int)cut.len,
                cut.text);
        abort();
    }
    return 0;
}
