/* SPDX-License-Identifier: Apache-2.0
 *
 * The log: one line per event on stderr, logfmt or JSON:
 *   ts=2026-01-31T12:00:00.123Z level=info event=backend_up backend=db:3306 id=7
 * Under systemd (JOURNAL_STREAM names our stderr) the line begins with <priority> and has no ts.
 *
 *   log_line(LOG_INFO, "backend_up", LOG_STR("backend", name), LOG_INT("id", id));
 *
 * Fields are not evaluated when the level is off. Lines are whole: one write each, any thread;
 * log_init before there is a second one. Never query text or secrets above debug. */
#ifndef SLUICE_CONF_LOG_H
#define SLUICE_CONF_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_ERROR, /* the operator must act */
    LOG_WARN,  /* will be ours to act on soon */
    LOG_INFO,  /* one line per life event */
    LOG_DEBUG,
};

enum log_format {
    LOG_FORMAT_LOGFMT,
    LOG_FORMAT_JSON,
};

enum log_field_type {
    LOG_FIELD_STR,
    LOG_FIELD_BYTES,
    LOG_FIELD_INT,
    LOG_FIELD_UINT,
    LOG_FIELD_BOOL,
};

/* All pointers are borrowed until the call returns. */
struct log_field {
    const char *key; /* [a-z0-9_]+ */
    enum log_field_type type;
    size_t len; /* BYTES */
    union {
        const char *str; /* STR: NULL prints as "" */
        int64_t i;
        uint64_t u;
        bool b;
    } value;
};

#define LOG_STR(k, v)  ((struct log_field){.key = (k), .type = LOG_FIELD_STR, .value.str = (v)})
#define LOG_INT(k, v)  ((struct log_field){.key = (k), .type = LOG_FIELD_INT, .value.i = (v)})
#define LOG_UINT(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_UINT, .value.u = (v)})
#define LOG_BOOL(k, v) ((struct log_field){.key = (k), .type = LOG_FIELD_BOOL, .value.b = (v)})
/* Text that is not a C string. */
#define LOG_BYTES(k, v, n)                                                                         \
    ((struct log_field){                                                                           \
        .key = (k), .type = LOG_FIELD_BYTES, .len = (n), .value.str = (const char *)(v)})

extern enum log_level log_level_now; /* read it through log_on() */

static inline bool log_on(enum log_level level)
{
    return level <= log_level_now;
}

/* With or without fields. */
#define log_line(level, event, ...)                                                                \
    do {                                                                                           \
        if (log_on(level)) {                                                                       \
            const struct log_field log_fields_[] = {{.key = NULL}, ##__VA_ARGS__};                 \
            log_emit((level), (event), log_fields_ + 1,                                            \
                     sizeof log_fields_ / sizeof log_fields_[0] - 1);                              \
        }                                                                                          \
    } while (0)

/* Brakes one kind of line: more than LOG_LIMIT_LINES of them within LOG_LIMIT_WINDOW_MS are
 * dropped, and the next window begins with a line `event=suppressed of=EVENT suppressed=K`. The
 * caller owns one per thing that may repeat (per backend, say), zeroed at first, used by one
 * thread; log_limit_flush before it goes, so that a last burst is told too. */
struct log_limit {
    int64_t window_since_ms;
    uint32_t lines;
    uint32_t suppressed;
};

enum {
    LOG_LIMIT_LINES = 5,
    LOG_LIMIT_WINDOW_MS = 10000,
};

#define log_line_limited(limit, level, event, ...)                                                 \
    do {                                                                                           \
        if (log_on(level) && log_limit_pass((limit), (level), (event)))                            \
            log_line((level), (event), ##__VA_ARGS__);                                             \
    } while (0)

/* Also at reload. */
void log_init(enum log_format format, enum log_level level);
/* Where lines go; stderr (2) unless told otherwise. */
void log_set_fd(int fd);
/* One printf line for what has no fields worth a name: `event=EVENT msg="..."`. */
void log_write(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What log_line calls. */
void log_emit(enum log_level level, const char *event, const struct log_field *fields,
              size_t count);
bool log_limit_pass(struct log_limit *limit, enum log_level level, const char *event);
void log_limit_flush(struct log_limit *limit, enum log_level level, const char *event);
const char *log_level_name(enum log_level level);

#endif
