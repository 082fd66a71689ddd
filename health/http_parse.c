/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim over llhttp (RFC 9112). llhttp says what a byte means; this counts bytes, keeps the few
 * strings that we want, and gives up at the limits. It pauses llhttp where the head ends, so that
 * head and body are counted apart and by their raw bytes: what is accepted does not depend on how
 * the stream was cut. Any thread. */
#include "health/http_parse.h"

#include <llhttp.h>
#include <stdlib.h>
#include <strings.h>

enum { NAME_ROOM_BYTES = 16, VALUE_ROOM_BYTES = HTTP_TOKEN_MAX_BYTES + 16 };

struct http_parser {
    llhttp_t llhttp;
    enum http_side side;
    struct http_message message;
    bool begun;    /* a message's first byte was seen */
    bool in_body;  /* its head is over; also while its chunks and trailers come */
    bool complete; /* the message is whole */
    bool bad;
    size_t head_bytes; /* raw, as the body's */
    size_t body_bytes;
    unsigned hosts;          /* Host headers */
    unsigned authorizations; /* Authorization headers */
    char *body;              /* borrowed, may be NULL */
    size_t body_room;
    size_t body_len;
    size_t name_len; /* of the header being read; stops at NAME_ROOM_BYTES, which matches no name of
                        ours */
    size_t value_len;
    size_t target_len;
    char name[NAME_ROOM_BYTES];
    char value[VALUE_ROOM_BYTES + 1];
    char token[HTTP_TOKEN_MAX_BYTES + 1];
    char target[HTTP_TARGET_MAX_BYTES + 1];
};

/* Ends the parse from within a callback. */
static int refuse(struct http_parser *p, int status)
{
    p->message.status = status;
    return HPE_USER;
}

static int on_message_begin(llhttp_t *llhttp)
{
    struct http_parser *p = llhttp->data;
    p->begun = true;
    return 0;
}

static int on_url(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = llhttp->data;
    if (len > HTTP_TARGET_MAX_BYTES - p->target_len)
        return refuse(p, 414);
    memcpy(p->target + p->target_len, at, len);
    p->target_len += len;
    return 0;
}

static int on_header_field(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = llhttp->data;
    size_t room = NAME_ROOM_BYTES - p->name_len;
    if (len > room)
        len = room;
    memcpy(p->name + p->name_len, at, len);
    p->name_len += len;
    return 0;
}

static bool name_is(const struct http_parser *p, const char *name)
{
    size_t len = strlen(name);
    return p->name_len == len && strncasecmp(p->name, name, len) == 0;
}

static int on_header_value(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = llhttp->data;
    if (!name_is(p, "authorization"))
        return 0;
    if (len > VALUE_ROOM_BYTES - p->value_len)
        return refuse(p, 431);
    memcpy(p->value + p->value_len, at, len);
    p->value_len += len;
    return 0;
}

/* Two of them would leave open which one counts. Other schemes than Bearer are as good as none. */
static int take_authorization(struct http_parser *p)
{
    static const char scheme[] = "Bearer ";
    char *token = p->value + strlen(scheme);

    if (p->authorizations++ > 0)
        return refuse(p, 400);
    while (p->value_len > 0 &&
           (p->value[p->value_len - 1] == ' ' || p->value[p->value_len - 1] == '\t'))
        p->value_len--;
    p->value[p->value_len] = '\0';
    if (strncasecmp(p->value, scheme, strlen(scheme)) != 0)
        return 0;
    token += strspn(token, " ");
    size_t token_len = strlen(token);
    if (token_len > HTTP_TOKEN_MAX_BYTES)
        return refuse(p, 431);
    memcpy(p->token, token, token_len + 1);
    p->message.token = p->token;
    return 0;
}

static int on_header_value_complete(llhttp_t *llhttp)
{
    struct http_parser *p = llhttp->data;
    int result = 0;

    if (p->in_body) {
        /* A trailer authorizes nothing. */
    } else if (name_is(p, "authorization")) {
        result = take_authorization(p);
    } else if (name_is(p, "host")) {
        p->hosts++;
    } else if (name_is(p, "origin")) {
        p->message.has_origin = true;
    }
    p->name_len = 0;
    p->value_len = 0;
    return result;
}

/* Splits the target into path and query. Absolute form ("http://host/path") is for servers too (RFC
 * 9112, 3.2.2). */
static bool split_target(struct http_parser *p)
{
    char *path = p->target;

    p->target[p->target_len] = '\0';
    for (size_t i = 0; i < p->target_len; i++)
        if ((unsigned char)p->target[i] >= 0x7F || p->target[i] == '#')
            return false;
    if (strncasecmp(path, "http://", strlen("http://")) == 0) {
        path = strchr(path + strlen("http://"), '/');
        if (path == NULL)
            return false;
    }
    if (*path != '/' && strcmp(path, "*") != 0)
        return false;
    char *question_mark = strchr(path, '?');
    p->message.path = path;
    p->message.query = question_mark != NULL ? question_mark + 1 : "";
    if (question_mark != NULL)
        *question_mark = '\0';
    return true;
}

static int take_request_head(struct http_parser *p)
{
    const llhttp_t *llhttp = &p->llhttp;
    bool host_due = llhttp->http_major == 1 && llhttp->http_minor >= 1;

    if (llhttp->method == HTTP_CONNECT || llhttp->http_major != 1)
        return refuse(p, 400);
    if (p->hosts > 1 || (host_due && p->hosts == 0) || !split_target(p))
        return refuse(p, 400);
    if ((llhttp->flags & F_CONTENT_LENGTH) != 0 && llhttp->content_length > HTTP_BODY_MAX_BYTES)
        return refuse(p, 413);
    p->message.is_head = llhttp->method == HTTP_HEAD;
    if (llhttp->method == HTTP_GET || llhttp->method == HTTP_HEAD)
        p->message.method = HTTP_METHOD_GET;
    else if (llhttp->method == HTTP_POST)
        p->message.method = HTTP_METHOD_POST;
    else
        p->message.method = HTTP_METHOD_OTHER;
    return HPE_PAUSED;
}

static int on_headers_complete(llhttp_t *llhttp)
{
    struct http_parser *p = llhttp->data;
    p->in_body = true;
    if (p->side == HTTP_SIDE_REQUEST)
        return take_request_head(p);
    p->message.status = llhttp->status_code;
    return HPE_PAUSED;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http_parser *p = llhttp->data;
    if (len > p->body_room - p->body_len)
        len = p->body_room - p->body_len;
    if (len > 0)
        memcpy(p->body + p->body_len, at, len);
    p->body_len += len;
    return 0;
}

static int on_message_complete(llhttp_t *llhttp)
{
    struct http_parser *p = llhttp->data;
    p->complete = true;
    p->message.keep_alive = llhttp_should_keep_alive(llhttp) != 0;
    return HPE_PAUSED;
}

static void begin_message(struct http_parser *p)
{
    llhttp_reset(&p->llhttp);
    p->message = (struct http_message){.status = 400, .path = "", .query = ""};
    p->begun = p->in_body = p->complete = false;
    p->head_bytes = p->body_bytes = p->body_len = 0;
    p->hosts = p->authorizations = 0;
    p->name_len = p->value_len = p->target_len = 0;
}

struct http_parser *http_parser_new(enum http_side side)
{
    static const llhttp_settings_t settings = {
        .on_message_begin = on_message_begin,
        .on_url = on_url,
        .on_header_field = on_header_field,
        .on_header_value = on_header_value,
        .on_header_value_complete = on_header_value_complete,
        .on_headers_complete = on_headers_complete,
        .on_body = on_body,
        .on_message_complete = on_message_complete,
    };
    struct http_parser *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    llhttp_init(&p->llhttp, side == HTTP_SIDE_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
    p->llhttp.data = p;
    p->side = side;
    begin_message(p);
    return p;
}

void http_parser_free(struct http_parser *parser)
{
    if (parser != NULL)
        explicit_bzero(parser, sizeof *parser); /* the token */
    free(parser);
}

void http_parser_keep_body(struct http_parser *parser, char *body, size_t room)
{
    parser->body = body;
    parser->body_room = room;
}

size_t http_parser_body_len(const struct http_parser *parser)
{
    return parser->body_len;
}

/* How many more raw bytes this part of the message may have. Answers to us may be long: the caller
 * bounds the time. */
static size_t budget_bytes(const struct http_parser *p)
{
    if (!p->in_body)
        return HTTP_HEAD_MAX_BYTES - p->head_bytes;
    return p->side == HTTP_SIDE_RESPONSE ? SIZE_MAX : HTTP_BODY_MAX_BYTES - p->body_bytes;
}

static enum wire_result stop_bad(struct http_parser *p, struct http_message *out)
{
    p->bad = true;
    out->status = p->message.status;
    return WIRE_BAD;
}

/* Shows llhttp the front of `in`, up to the budget. Returns how much it read; false when it
 * objects. */
static bool feed(struct http_parser *p, struct bytes in, size_t *read_bytes)
{
    bool was_in_body = p->in_body;
    size_t budget = budget_bytes(p);
    size_t len = in.len < budget ? in.len : budget;
#ifdef SLUICE_PLANT_BUG
    len += in.len < budget; /* proves that the fuzz target finds a byte too many */
#endif
    const char *at = (const char *)in.at;

    if (in.len > 0 && budget == 0) {
        p->message.status = p->in_body ? 413 : 431;
        return false;
    }
    llhttp_errno_t error = llhttp_execute(&p->llhttp, at, len);
    *read_bytes = error == HPE_OK ? len : (size_t)(llhttp_get_error_pos(&p->llhttp) - at);
    *(was_in_body ? &p->body_bytes : &p->head_bytes) += *read_bytes;
    if (error == HPE_PAUSED)
        llhttp_resume(&p->llhttp);
    return error == HPE_OK || error == HPE_PAUSED;
}

enum wire_result http_parse(struct http_parser *parser, struct bytes in, size_t *used,
                            struct http_message *out)
{
    struct bytes left = in.len > 0 ? in : bytes_text("");
    size_t read_bytes;
    bool head_ended;

    *used = in.len;
    if (parser->complete)
        begin_message(parser);
    if (parser->bad)
        return stop_bad(parser, out);
    do {
        head_ended = parser->in_body;
        if (!feed(parser, left, &read_bytes))
            return stop_bad(parser, out);
        left = bytes_of(left.at + read_bytes, left.len - read_bytes);
        head_ended = parser->in_body && !head_ended;
        /* The end of a head is also the end of a message without a body: llhttp says so when asked
         * once more. */
    } while (!parser->complete && (left.len > 0 || head_ended));
    if (!parser->complete)
        return WIRE_MORE;
    *used = in.len - left.len;
    *out = parser->message;
    return WIRE_DONE;
}

enum wire_result http_parse_eof(struct http_parser *parser, struct http_message *out)
{
    if (parser->complete)
        begin_message(parser);
    if (!parser->bad && !parser->begun)
        return WIRE_MORE;
    /* llhttp calls on_message_complete from there when the end of the stream is the end of the
     * body. */
    if (!parser->bad)
        llhttp_finish(&parser->llhttp);
    if (!parser->complete)
        return stop_bad(parser, out);
    *out = parser->message;
    return WIRE_DONE;
}

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {302, "Found"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {422, "Unprocessable Content"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "";
}
