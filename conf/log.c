/* SPDX-License-Identifier: Apache-2.0
 *
 * The log. See log.h. A line is built in a buffer on the stack and written at once, so that lines
 * of several threads, or of several processes on one pipe, do not mix. */
#include "conf/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum log_level log_level_now = LOG_INFO;

static struct {
    enum log_format format;
    int fd;
    bool journal; /* the journal adds the time itself and wants a priority */
} sink = {.format = LOG_FORMAT_LOGFMT, .fd = STDERR_FILENO, .journal = false};

enum {
    LINE_MAX_BYTES = 8192,
    /* Kept free for the end of the line: the mark that something was left out, a brace, a newline.
     */
    LINE_TAIL_BYTES = 32,
};

struct line {
    char text[LINE_MAX_BYTES];
    size_t len;
    bool cut;
};

static const struct {
    const char *name;
    int priority; /* syslog's */
} levels[] = {
    [LOG_ERROR] = {"error", 3},
    [LOG_WARN] = {"warn", 4},
    [LOG_INFO] = {"info", 6},
    [LOG_DEBUG] = {"debug", 7},
};

const char *log_level_name(enum log_level level)
{
    return levels[level].name;
}

/* systemd.exec(5): the variable is inherited, so only "device:inode" of our own stderr counts. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device;
    uintmax_t inode;
    struct stat st;
    return stream != NULL && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(sink.fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_init(enum log_format format, enum log_level level)
{
    sink.format = format;
    sink.journal = stderr_is_journal();
    log_level_now = level;
}

void log_set_fd(int fd)
{
    sink.fd = fd;
    sink.journal = stderr_is_journal();
}

/* All or nothing, so that a cut never splits an escape. */
static void add(struct line *line, const char *at, size_t len)
{
    if (line->cut || len > LINE_MAX_BYTES - LINE_TAIL_BYTES - line->len) {
        line->cut = true;
        return;
    }
    memcpy(line->text + line->len, at, len);
    line->len += len;
}

static void add_text(struct line *line, const char *text)
{
    add(line, text, strlen(text));
}

/* Bytes of the well-formed UTF-8 character at `at` (Unicode 15, table 3-7); 0 if there is none. */
static size_t utf8_len(const unsigned char *at, size_t left)
{
    static const unsigned char least[] = {0, 0, 0x80, 0xa0, 0x90}; /* after C2, E0 and F0 */
    if (at[0] < 0x80)
        return 1;
    size_t len = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 || at[0] == 0xf0) && at[1] < least[len];
    bool surrogate = at[0] == 0xed && at[1] > 0x9f;
    bool beyond = at[0] == 0xf4 && at[1] > 0x8f;
    bool control = at[0] == 0xc2 && at[1] < 0xa0; /* C1: terminals obey them */
    return overlong || surrogate || beyond || control ? 0 : len;
}

/* The inside of a quoted string; what it writes is right in JSON and in logfmt. */
static void add_escaped(struct line *line, const char *at, size_t len)
{
    for (size_t i = 0; i < len && !line->cut;) {
        const unsigned char *c = (const unsigned char *)at + i;
        size_t chars = utf8_len(c, len - i);
        char escape[8];
        if (chars == 0) {
            add_text(line, "\xef\xbf\xbd"); /* U+FFFD */
            chars = 1;
        } else if (*c == '"' || *c == '\\') {
            add(line, (const char[]){'\\', (char)*c}, 2);
        } else if (*c < 0x20 || *c == 0x7f) {
            (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*c);
            add_text(line, *c == '\n' ? "\\n" : escape);
        } else {
            add(line, at + i, chars);
        }
        i += chars;
    }
}

static bool needs_quotes(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return true;
    }
    return len == 0;
}

static void add_string(struct line *line, const char *at, size_t len)
{
    if (sink.format == LOG_FORMAT_LOGFMT && !needs_quotes(at, len)) {
        add(line, at, len);
        return;
    }
    add_text(line, "\"");
    add_escaped(line, at, len);
    add_text(line, "\"");
}

/* Nothing stands before the first key but a brace. */
static void add_key(struct line *line, const char *key)
{
    bool json = sink.format == LOG_FORMAT_JSON;
    bool first =
        line->len == 0 || line->text[line->len - 1] == '{' || line->text[line->len - 1] == '>';
    if (!first)
        add_text(line, json ? "," : " ");
    if (json)
        add_text(line, "\"");
    add_text(line, key);
    add_text(line, json ? "\":" : "=");
}

static void add_value(struct line *line, const struct log_field *field)
{
    char number[24];
    switch (field->type) {
    case LOG_FIELD_STR:
        add_string(line, field->value.str == NULL ? "" : field->value.str,
                   field->value.str == NULL ? 0 : strlen(field->value.str));
        return;
    case LOG_FIELD_BYTES:
        add_string(line, field->value.str, field->len);
        return;
    case LOG_FIELD_INT:
        (void)snprintf(number, sizeof number, "%" PRId64, field->value.i);
        break;
    case LOG_FIELD_UINT:
        (void)snprintf(number, sizeof number, "%" PRIu64, field->value.u);
        break;
    case LOG_FIELD_BOOL:
        (void)snprintf(number, sizeof number, "%s", field->value.b ? "true" : "false");
        break;
    }
    add_text(line, number);
}

/* A field that does not fit is left out whole. */
static void add_field(struct line *line, const struct log_field *field)
{
    size_t before = line->len;
    if (line->cut)
        return;
    add_key(line, field->key);
    add_value(line, field);
    if (line->cut)
        line->len = before;
}

static void add_time(struct line *line)
{
    struct timespec now;
    struct tm utc;
    char text[40];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + len, sizeof text - len, ".%03ldZ", now.tv_nsec / 1000000);
    /* Never in quotes in logfmt: only digits, '-' and ':'. */
    add_field(line, &LOG_STR("ts", text));
}

static void finish(struct line *line)
{
    bool json = sink.format == LOG_FORMAT_JSON;
    if (line->cut) {
        line->cut = false;
        const char *mark = json ? ",\"truncated\":true" : " truncated=true";
        memcpy(line->text + line->len, mark, strlen(mark));
        line->len += strlen(mark);
    }
    if (json)
        line->text[line->len++] = '}';
    line->text[line->len++] = '\n';
    /* A log that nobody reads any more must not end us: nothing to do about an error here. */
    ssize_t ignored = write(sink.fd, line->text, line->len);
    (void)ignored;
}

void log_emit(enum log_level level, const char *event, const struct log_field *fields, size_t count)
{
    struct line line;
    line.len = 0;
    line.cut = false;
    if (sink.journal)
        add(&line, (const char[]){'<', (char)('0' + levels[level].priority), '>'}, 3);
    if (sink.format == LOG_FORMAT_JSON)
        add_text(&line, "{");
    if (!sink.journal)
        add_time(&line);
    add_field(&line, &LOG_STR("level", levels[level].name));
    add_field(&line, &LOG_STR("event", event));
    for (size_t i = 0; i < count; i++)
        add_field(&line, &fields[i]);
    finish(&line);
}

void log_write(enum log_level level, const char *event, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!log_on(level))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_line(level, event, LOG_STR("msg", text));
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void log_limit_flush(struct log_limit *limit, enum log_level level, const char *event)
{
    uint32_t suppressed = limit->suppressed;
    limit->suppressed = 0;
    if (suppressed > 0)
        log_line(level, "suppressed", LOG_STR("of", event), LOG_UINT("suppressed", suppressed));
}

bool log_limit_pass(struct log_limit *limit, enum log_level level, const char *event)
{
    int64_t now = now_ms();
    if (limit->lines == 0 || now - limit->window_since_ms >= LOG_LIMIT_WINDOW_MS) {
        log_limit_flush(limit, level, event);
        limit->window_since_ms = now;
        limit->lines = 0;
    }
    if (limit->lines == LOG_LIMIT_LINES) {
        limit->suppressed++;
        return false;
    }
    limit->lines++;
    return true;
}
