/* SPDX-License-Identifier: Apache-2.0
 *
 * The text exposition format 0.0.4 (prometheus.io, "Exposition formats"). Each line is built behind
 * `len` and only counted once whole, so that a text that is full still ends with a whole line. Any
 * thread. */
#include "health/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_S = 1000000000, ROOM_FIRST_BYTES = 4096 };

/* One place for the bounds: the number that is compared and the text of its label. */
#define BOUNDS(X)                                                                                  \
    X(100000, "0.0001")                                                                            \
    X(250000, "0.00025")                                                                           \
    X(500000, "0.0005")                                                                            \
    X(1000000, "0.001")                                                                            \
    X(2500000, "0.0025")                                                                           \
    X(5000000, "0.005")                                                                            \
    X(10000000, "0.01")                                                                            \
    X(25000000, "0.025")                                                                           \
    X(50000000, "0.05")                                                                            \
    X(100000000, "0.1")                                                                            \
    X(250000000, "0.25")                                                                           \
    X(500000000, "0.5")                                                                            \
    X(1000000000, "1")                                                                             \
    X(2500000000, "2.5")                                                                           \
    X(5000000000, "5")                                                                             \
    X(10000000000, "10")                                                                           \
    X(30000000000, "30")                                                                           \
    X(60000000000, "60")

#define X(ns, text) UINT64_C(ns),
const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS] = {BOUNDS(X)};
#undef X
#define X(ns, text) text,
static const char *const bound_texts[HISTOGRAM_BOUNDS + 1] = {BOUNDS(X) "+Inf"};
#undef X

const struct metric_info *metric_info(enum metric metric)
{
    static const struct metric_info infos[METRIC_COUNT_] = {
#define X(id, name, type, help) [METRIC_##id] = {name, METRIC_TYPE_##type, help},
#include "health/metrics.def"
#undef X
    };
    return &infos[metric];
}

void metrics_text_init(struct metrics_text *text, size_t max_bytes)
{
    *text = (struct metrics_text){.max_bytes = max_bytes};
}

void metrics_text_fini(struct metrics_text *text)
{
    free(text->at);
    *text = (struct metrics_text){.max_bytes = text->max_bytes};
}

/* A line in the making: bytes [text->len, end) of the text. */
struct line {
    struct metrics_text *text;
    size_t end;
};

static struct line line_begin(struct metrics_text *text)
{
    return (struct line){.text = text, .end = text->len};
}

static void line_end(struct line *line)
{
    if (!line->text->full)
        line->text->len = line->end;
}

/* Makes room for `more` bytes behind the line. False, and full for good, when there is none. */
static bool line_reserve(struct line *line, size_t more)
{
    struct metrics_text *text = line->text;
    if (text->full)
        return false;
    if (more <= text->room - line->end)
        return true;
    if (more > text->max_bytes || line->end > text->max_bytes - more) {
        text->full = true;
        return false;
    }
    size_t room = text->room > 0 ? text->room : ROOM_FIRST_BYTES;
    while (room < line->end + more)
        room *= 2;
    if (room > text->max_bytes)
        room = text->max_bytes;
    char *at = realloc(text->at, room);
    if (at == NULL) {
        text->full = true;
        return false;
    }
    text->at = at;
    text->room = room;
    return true;
}

static void line_put(struct line *line, const char *at, size_t len)
{
    if (!line_reserve(line, len))
        return;
    memcpy(line->text->at + line->end, at, len);
    line->end += len;
}

static void line_text(struct line *line, const char *string)
{
    line_put(line, string, strlen(string));
}

/* Short things only: numbers. */
static void __attribute__((format(printf, 2, 3)))
line_printf(struct line *line, const char *format, ...)
{
    char short_text[64];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(short_text, sizeof short_text, format, args);
    va_end(args);
    line_put(line, short_text, (size_t)len);
}

/* Bytes of the UTF-8 character at `s` (RFC 3629, NUL-terminated), 0 when it is not one. */
static size_t utf8_len(const unsigned char *s)
{
    static const struct {
        unsigned char first_min, first_max, second_min, second_max;
        size_t len;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    if (s[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (s[0] < forms[i].first_min || s[0] > forms[i].first_max)
            continue;
        if (s[1] < forms[i].second_min || s[1] > forms[i].second_max)
            return 0;
        for (size_t at = 2; at < forms[i].len; at++)
            if ((s[at] & 0xC0) != 0x80)
                return 0;
        return forms[i].len;
    }
    return 0;
}

static void line_label_value(struct line *line, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    while (*s != '\0') {
        size_t len = utf8_len(s);
        if (len == 0)
            line_text(line, "\xEF\xBF\xBD");
        else if (*s == '\\')
            line_text(line, "\\\\");
        else if (*s == '"')
            line_text(line, "\\\"");
        else if (*s == '\n')
            line_text(line, "\\n");
        else
            line_put(line, (const char *)s, len);
        s += len > 0 ? len : 1;
    }
}

static void line_label(struct line *line, const char *before, const char *name, const char *value)
{
    line_text(line, before);
    line_text(line, name);
    line_text(line, "=\"");
    line_label_value(line, value != NULL ? value : "");
    line_text(line, "\"");
}

/* name + suffix {labels, le} and a blank; `le` may be NULL. */
static struct line sample_begin(struct metrics_text *text, enum metric metric, const char *suffix,
                                const struct metrics_label *labels, const char *le)
{
    struct line line = line_begin(text);
    const char *before = "{";

    line_text(&line, metric_info(metric)->name);
    line_text(&line, suffix);
    for (; labels != NULL && labels->name != NULL; labels++) {
        line_label(&line, before, labels->name, labels->value);
        before = ",";
    }
    if (le != NULL) {
        line_label(&line, before, "le", le);
        before = ",";
    }
    line_text(&line, *before == ',' ? "} " : " ");
    return line;
}

static void sample_end(struct line *line, uint64_t value)
{
    line_printf(line, "%" PRIu64 "\n", value);
    line_end(line);
}

static void sample_end_ns(struct line *line, uint64_t ns)
{
    uint64_t fraction = ns % NS_PER_S;
    int digits = 9;

    line_printf(line, "%" PRIu64, ns / NS_PER_S);
    if (fraction > 0) {
        for (; fraction % 10 == 0; digits--)
            fraction /= 10;
        line_printf(line, ".%0*" PRIu64, digits, fraction);
    }
    line_text(line, "\n");
    line_end(line);
}

void metrics_family(struct metrics_text *text, enum metric metric)
{
    static const char *const types[] = {
        [METRIC_TYPE_COUNTER] = "counter",
        [METRIC_TYPE_GAUGE] = "gauge",
        [METRIC_TYPE_HISTOGRAM] = "histogram",
    };
    const struct metric_info *info = metric_info(metric);
    struct line line = line_begin(text);

    line_text(&line, "# HELP ");
    line_text(&line, info->name);
    line_text(&line, " ");
    line_text(&line, info->help); /* metrics.def has no backslash or newline to escape */
    line_text(&line, "\n# TYPE ");
    line_text(&line, info->name);
    line_text(&line, " ");
    line_text(&line, types[info->type]);
    line_text(&line, "\n");
    line_end(&line);
}

void metrics_sample(struct metrics_text *text, enum metric metric, uint64_t value,
                    const struct metrics_label *labels)
{
    struct line line = sample_begin(text, metric, "", labels, NULL);
    sample_end(&line, value);
}

void metrics_sample_ns(struct metrics_text *text, enum metric metric, uint64_t ns,
                       const struct metrics_label *labels)
{
    struct line line = sample_begin(text, metric, "", labels, NULL);
    sample_end_ns(&line, ns);
}

void histogram_add(struct histogram *into, const struct histogram *from)
{
    for (unsigned i = 0; i <= HISTOGRAM_BOUNDS; i++)
        into->counts[i] += from->counts[i];
    into->sum_ns += from->sum_ns;
}

void metrics_histogram(struct metrics_text *text, enum metric metric, const struct histogram *h,
                       const struct metrics_label *labels)
{
    uint64_t count = 0;
    struct line line;

    for (unsigned i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        count += h->counts[i];
        line = sample_begin(text, metric, "_bucket", labels, bound_texts[i]);
        sample_end(&line, count);
    }
    line = sample_begin(text, metric, "_sum", labels, NULL);
    sample_end_ns(&line, h->sum_ns);
    line = sample_begin(text, metric, "_count", labels, NULL);
    sample_end(&line, count);
}
