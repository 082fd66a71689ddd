/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the Prometheus text exposition format, version 0.0.4. The families are metrics.def.
 * Counters themselves live with those who count; here they become text. Any thread; a text or a
 * histogram is its owner's.
 *
 *   struct metrics_text text;
 *   metrics_text_init(&text, 4 << 20);
 *   metrics_family(&text, METRIC_CLIENTS);
 *   metrics_sample(&text, METRIC_CLIENTS, idle, METRICS_LABELS({"proto", "mysql"}, {"state",
 * "idle"})); metrics_process(&text);
 *   ... text.full ? 500 : text.at, text.len ...
 *   metrics_text_fini(&text); */
#ifndef SLUICE_HEALTH_METRICS_H
#define SLUICE_HEALTH_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metric_type { METRIC_TYPE_COUNTER, METRIC_TYPE_GAUGE, METRIC_TYPE_HISTOGRAM };

/* METRIC_CLIENTS and so on, in the order of metrics.def. */
enum metric {
#define X(id, name, type, help) METRIC_##id,
#include "health/metrics.def"
#undef X
    METRIC_COUNT_
};

struct metric_info {
    const char *name;
    enum metric_type type;
    const char *help;
};
const struct metric_info *metric_info(enum metric metric);

/* A growing text with a bound. After the first line that did not fit, or no memory, `full` sticks
 * and nothing more is written; what is there ends with a whole line. */
struct metrics_text {
    char *at; /* owned; not NUL-terminated; NULL while empty */
    size_t len;
    size_t room;
    size_t max_bytes;
    bool full;
};
void metrics_text_init(struct metrics_text *text, size_t max_bytes);
void metrics_text_fini(struct metrics_text *text);

/* Label values may be any bytes: quotes, backslashes and newlines are escaped, what is not UTF-8
 * becomes U+FFFD. */
struct metrics_label {
    const char *name;
    const char *value; /* borrowed; NULL prints as "" */
};
/* METRICS_LABELS({"proto", "mysql"}, {"user", user}); lives as long as the enclosing block. NULL
 * for no labels. */
#define METRICS_LABELS(...) ((const struct metrics_label[]){__VA_ARGS__, {NULL, NULL}})

/* # HELP and # TYPE; once, before the samples of that family. */
void metrics_family(struct metrics_text *text, enum metric metric);
/* An exact integer. */
void metrics_sample(struct metrics_text *text, enum metric metric, uint64_t value,
                    const struct metrics_label *labels);
/* Nanoseconds, written in seconds without loss: 1500000000 is 1.5. */
void metrics_sample_ns(struct metrics_text *text, enum metric metric, uint64_t ns,
                       const struct metrics_label *labels);

/* Seconds from 100 us to 60 s, log-spaced, 18 bounds and +Inf. Zeroed memory is an empty one. */
enum { HISTOGRAM_BOUNDS = 18 };
extern const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS];
struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* not cumulative; the last is above 60 s */
    uint64_t sum_ns;
};

/* On the hot path: a short scan, since most statements fall into the first buckets. A value equal
 * to a bound is in that bound's bucket ("le"). */
static inline void histogram_observe_ns(struct histogram *h, uint64_t ns)
{
    unsigned i = 0;
    while (i < HISTOGRAM_BOUNDS && ns > histogram_bounds_ns[i])
        i++;
    h->counts[i]++;
    h->sum_ns += ns;
}
/* Adds `from` to `into`: the histograms of several loops as one. */
void histogram_add(struct histogram *into, const struct histogram *from);
/* The _bucket, _sum and _count lines. */
void metrics_histogram(struct metrics_text *text, enum metric metric, const struct histogram *h,
                       const struct metrics_label *labels);

/* The process_* families, HELP and TYPE included, of this process from /proc/self. What cannot be
 * read is left out. Reads a few small files of /proc; opens three descriptors one after the other.
 */
void metrics_process(struct metrics_text *text);

#endif
