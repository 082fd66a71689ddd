/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/1.1 messages (RFC 9112), one at a time, for the admin server and its client: the only file
 * that knows llhttp. No sockets. A parser is its owner's; any thread. Cutting the stream
 * differently changes nothing, except for which of its two faults a message is refused. */
#ifndef SLUICE_HEALTH_HTTP_PARSE_H
#define SLUICE_HEALTH_HTTP_PARSE_H

#include "protocol/wire.h"

enum {
    HTTP_TARGET_MAX_BYTES = 2 * 1024, /* above: 414 */
    HTTP_HEAD_MAX_BYTES = 8 * 1024,   /* first line and headers together; above: 431 */
    HTTP_BODY_MAX_BYTES = 64 * 1024,  /* chunk framing and trailers included; above: 413 */
    HTTP_TOKEN_MAX_BYTES = 512,       /* bearer token; above: 431 */
};

enum http_method { HTTP_METHOD_GET, HTTP_METHOD_POST, HTTP_METHOD_OTHER };

enum http_side { HTTP_SIDE_REQUEST, HTTP_SIDE_RESPONSE };

/* What was read. Filled on WIRE_DONE; on WIRE_BAD only `status` is. Strings are the parser's, until
 * its next call. */
struct http_message {
    enum http_method method;
    bool is_head;    /* HEAD; `method` is then HTTP_METHOD_GET */
    bool keep_alive; /* the connection may carry another message */
    bool has_origin; /* an Origin header: a web page in a browser sent this */
    int status; /* of a response; on WIRE_BAD of a request the one to refuse it with: 400, 413, 414,
                   431 */
    const char *path;  /* raw, begins with '/' (or is "*"), without the query */
    const char *query; /* raw, behind the '?'; "" when there is none */
    const char *token; /* of "Authorization: Bearer"; NULL when there is none */
};

struct http_parser;

/* NULL when out of memory. */
struct http_parser *http_parser_new(enum http_side side);
void http_parser_free(struct http_parser *parser);

/* Stores bodies in the caller's memory, which outlives the parser; what is above `room` is dropped.
 * Without it bodies are dropped whole. http_parser_body_len: bytes stored of the message that is
 * being read or was just read. */
void http_parser_keep_body(struct http_parser *parser, char *body, size_t room);
size_t http_parser_body_len(const struct http_parser *parser);

/* Reads on.
 *
 * in    bytes not yet shown; borrowed. All are used on WIRE_MORE
 * used  how many were read; on WIRE_DONE the rest belongs to the next message
 * out   see struct http_message
 *
 * WIRE_DONE: the message is whole; the next call begins another. WIRE_BAD sticks, `used` is then
 * the input's length. */
MUST_CHECK enum wire_result http_parse(struct http_parser *parser, struct bytes in, size_t *used,
                                       struct http_message *out);
/* The peer has closed: WIRE_DONE for a response whose body ends there, WIRE_MORE when nothing had
 * begun, else BAD. */
MUST_CHECK enum wire_result http_parse_eof(struct http_parser *parser, struct http_message *out);

/* "Not Found" for 404; "" for one that is unknown. */
const char *http_status_text(int status);

#endif
