/* SPDX-License-Identifier: Apache-2.0
 *
 * What the process tells of itself: /metrics and /status (interface.md). Reads, changes nothing.
 * Loop thread only. */
#ifndef SLUICE_PROXY_REPORT_H
#define SLUICE_PROXY_REPORT_H

#include "health/metrics.h"
#include "proxy/proxy.h"

void report_metrics(const struct proxy *p, struct metrics_text *out);
/* JSON text, owned by the caller (free); NULL: no memory. */
char *report_status(const struct proxy *p);
/* The same figures as log lines: USR1. */
void report_log(const struct proxy *p);
/* Ready to be sent clients? Else a cause per line in `causes`. */
bool report_ready(const struct proxy *p, char *causes, size_t room);

#endif
