/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/check_online.h"

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#include "conf/options.h"

static void set_tls(MYSQL *m, const struct options *o, const struct backend_option *b)
{
    my_bool yes = 1;
    my_bool no = 0;
    my_bool verify = b->tls == TLS_VERIFY;
    if (b->tls >= TLS_REQUIRE)
        (void)mysql_options(m, MYSQL_OPT_SSL_ENFORCE, &yes);
    (void)mysql_options(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, verify ? &yes : &no);
    if (o->mysql.tls_ca && *o->mysql.tls_ca)
        (void)mysql_ssl_set(m, NULL, NULL, o->mysql.tls_ca, NULL, NULL);
}

static void print_value(MYSQL *m, FILE *out, const char *query, const char *label)
{
    if (mysql_query(m, query) != 0)
        return;
    MYSQL_RES *res = mysql_store_result(m);
    MYSQL_ROW row = res ? mysql_fetch_row(res) : NULL;
    if (row && row[0])
        (void)fprintf(out, "  %s %s\n", label, row[0]);
    mysql_free_result(res);
}

/* Without credentials of our own a refused login is what a good server answers. */
static int check_one(const struct options *o, const struct backend_option *b, FILE *out)
{
    char place[300];
    unsigned timeout_s = (unsigned)(o->mysql.connect_timeout_ms + 999) / 1000;
    (void)snprintf(place, sizeof place, b->path ? "%s" : "%s:%u", b->path ? b->path : b->host,
                   b->port);
    MYSQL *m = mysql_init(NULL);
    if (!m)
        return 1;
    (void)mysql_options(m, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    (void)mysql_options(m, MYSQL_OPT_READ_TIMEOUT, &timeout_s);
    set_tls(m, o, b);
    int code = 0;
    const char *user = b->user ? b->user : "sluice-check";
    if (mysql_real_connect(m, b->path ? NULL : b->host, user, b->password, NULL, b->port, b->path,
                           0)) {
        (void)fprintf(out, "backend %s: logged in as %s, version %s\n", place, user,
                      mysql_get_server_info(m));
        print_value(m, out, "SELECT @@wait_timeout", "wait_timeout");
        print_value(m, out, "SELECT @@max_allowed_packet", "max_allowed_packet");
        print_value(m, out, "SELECT @@max_connections", "max_connections");
    } else if (!b->user && (mysql_errno(m) == 1045 || mysql_errno(m) == 1698)) {
        (void)fprintf(
            out, "backend %s: answers (no credentials configured: clients log in with their own)\n",
            place);
    } else {
        (void)fprintf(out, "backend %s: %u %s\n", place, mysql_errno(m), mysql_error(m));
        code = 1;
    }
    mysql_close(m);
    return code;
}

int check_online(const struct options *options, FILE *out)
{
    int code = 0;
    (void)fprintf(out, "configuration is valid\n");
    if (mysql_library_init(0, NULL, NULL) != 0)
        return 1;
    for (size_t i = 0; i < options->mysql.backend_count; i++)
        code |= check_one(options, &options->mysql.backend[i], out);
    mysql_library_end();
    return code;
}
