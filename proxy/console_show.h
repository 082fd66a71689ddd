/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the admin console's SHOW. POOLS, CLIENTS and SERVERS begin with pgbouncer's
 * columns, by name and in order, so that what reads those reads these; ours follow. Read, change
 * nothing. Loop thread only. */
#ifndef SLUICE_PROXY_CONSOLE_SHOW_H
#define SLUICE_PROXY_CONSOLE_SHOW_H

#include "protocol/mysql_resultset.h"
#include "proxy/console_rows.h"
#include "proxy/proxy.h"

struct console_table {
    const char *name; /* "pools" */
    const char *help;
    const struct mysql_column *columns;
    size_t count;
    void (*rows)(struct console_rows *r, struct proxy *p);
};

/* Ends with one whose name is NULL. */
extern const struct console_table console_tables[];
/* What happens as connections come and go: console_show.c; the rest: console_facts.c. */
void console_rows_of_pools(struct console_rows *r, struct proxy *p);
void console_rows_of_clients(struct console_rows *r, struct proxy *p);
void console_rows_of_servers(struct console_rows *r, struct proxy *p);
void console_rows_of_pins(struct console_rows *r, struct proxy *p);
void console_rows_of_statements(struct console_rows *r, struct proxy *p);
void console_rows_of_help(struct console_rows *r, struct proxy *p); /* console.c */

#endif
