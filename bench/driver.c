/* SPDX-License-Identifier: Apache-2.0 */
/* driver MODE HOST PORT USER PASSWORD DATABASE ...: the MySQL load, by libmariadb and threads.
 *
 *   storm TOTAL THREADS SECS   connect, one SELECT, close; ends at TOTAL cycles or after SECS
 *   point THREADS SECS TOTAL   SELECTs by primary key on persistent connections; TOTAL 0: no count
 *   idle  CLIENTS SECS THREADS opens CLIENTS with one SELECT each, prints READY and holds them
 * until its input ends or SECS are over; then each must still answer big   ROUNDS               the
 * 200 MB result, unbuffered param text|native MIB ROUNDS   one parameter of MIB mebibytes, in the
 * text or bound
 *
 * HOST may be the path of a unix socket; PORT is then ignored. Every row is compared with what the
 * fixture (fixture.py) put there. Prints one line of JSON: n good answers, errs (the server or the
 * connection said no), wrong (a row that is not the one asked for). Exit 1 if there were any. */
#include <mysql.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ORDERS = 10000,
    BIG_ROWS = 200000,
    BIG_ROW_BYTES = 1000,
    THREADS_MAX = 1024,
    STACK_BYTES = 256 * 1024,
    CLIENT_TIMEOUT_S = 30,
    IDLE_TRIES = 3,
    LOAD_MAX_S = 600,
};

/* What the worker threads of one run share. */
struct load {
    const char *host, *user, *password, *database;
    unsigned port;
    int total; /* cycles, queries or clients; 0: until the time is over */
    double ends_s;
    atomic_int next; /* the number of the next of them */
    MYSQL **held;    /* idle: the connections, by number */
};

struct worker {
    pthread_t thread;
    struct load *load;
    unsigned seed;
    float *ms; /* latencies, `n` of them */
    int n, room;
    int errs, wrong;
    char error[256]; /* the first one */
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *must_alloc(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (!p) {
        fprintf(stderr, "driver: out of memory\n");
        exit(1);
    }
    return p;
}

/* Keeps the first cause, fit to stand in a JSON string. */
static void note_error(struct worker *w, unsigned code, const char *text)
{
    if (w->error[0])
        return;
    snprintf(w->error, sizeof w->error, "%u %s", code, text);
    for (char *c = w->error; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = '\'';
}

static void note_failure(struct worker *w, MYSQL *client)
{
    w->errs++;
    note_error(w, mysql_errno(client), mysql_error(client));
}

static void note_wrong(struct worker *w, const char *what, long wanted, const char *got)
{
    char text[200];

    snprintf(text, sizeof text, "wrong %s: wanted %ld, got %s", what, wanted, got ? got : "none");
    w->wrong++;
    note_error(w, 0, text);
}

static void note_latency(struct worker *w, double since_s)
{
    if (w->n == w->room) {
        w->room = w->room ? 2 * w->room : 4096;
        w->ms = realloc(w->ms, (size_t)w->room * sizeof *w->ms);
        if (!w->ms)
            exit(1);
    }
    w->ms[w->n++] = (float)((now_s() - since_s) * 1e3);
}

/* NULL on failure, not yet counted: the caller may try again. */
static MYSQL *client_try(struct worker *w)
{
    const struct load *l = w->load;
    bool is_path = l->host[0] == '/';
    MYSQL *client = mysql_init(NULL);
    unsigned timeout_s = CLIENT_TIMEOUT_S;
    my_bool no = 0;

    mysql_options(client, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    mysql_options(client, MYSQL_OPT_READ_TIMEOUT, &timeout_s);
    mysql_options(client, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
    if (mysql_real_connect(client, is_path ? NULL : l->host, l->user, l->password, l->database,
                           l->port, is_path ? l->host : NULL, 0))
        return client;
    note_error(w, mysql_errno(client), mysql_error(client));
    mysql_close(client);
    return NULL;
}

static MYSQL *client_open(struct worker *w)
{
    MYSQL *client = client_try(w);

    if (!client)
        w->errs++;
    return client;
}

static bool order_is(MYSQL_ROW row, int id)
{
    char number[16];

    snprintf(number, sizeof number, "NO%08d", id - 1);
    return row && row[0] && row[1] && row[2] && atoi(row[0]) == id && strcmp(row[1], number) == 0;
}

/* The point select, checked. False once it has been counted as failed or wrong. */
static bool ask_order(struct worker *w, MYSQL *client, int id)
{
    char sql[128];

    snprintf(sql, sizeof sql, "SELECT order_id,order_no,status FROM orders WHERE order_id=%d", id);
    MYSQL_RES *result = mysql_query(client, sql) ? NULL : mysql_store_result(client);
    if (!result) {
        note_failure(w, client);
        return false;
    }
    MYSQL_ROW row = mysql_fetch_row(result);
    bool ok = mysql_num_rows(result) == 1 && order_is(row, id);
    if (!ok)
        note_wrong(w, "order", id, row ? row[1] : NULL);
    mysql_free_result(result);
    return ok;
}

/* The number of the next piece of work, or -1 when the load is over. */
static int load_next(struct load *l)
{
    if (now_s() >= l->ends_s)
        return -1;
    int i = atomic_fetch_add(&l->next, 1);
    return l->total && i >= l->total ? -1 : i;
}

static void *storm_run(void *arg)
{
    struct worker *w = arg;
    int i;

    while ((i = load_next(w->load)) >= 0) {
        double began_s = now_s();
        MYSQL *client = client_open(w);

        if (!client)
            continue;
        bool ok = ask_order(w, client, 1 + i % ORDERS);
        mysql_close(client);
        if (ok)
            note_latency(w, began_s);
    }
    return NULL;
}

static void *point_run(void *arg)
{
    struct worker *w = arg;
    MYSQL *client = client_open(w);

    while (client && load_next(w->load) >= 0) {
        double began_s = now_s();

        if (ask_order(w, client, 1 + rand_r(&w->seed) % ORDERS))
            note_latency(w, began_s);
        else if (w->errs)
            break;
    }
    if (client)
        mysql_close(client);
    return NULL;
}

static void *idle_run(void *arg)
{
    struct worker *w = arg;
    int i;

    while ((i = load_next(w->load)) >= 0) {
        double began_s = now_s();
        MYSQL *client = NULL;

        for (int tries = 0; !client && tries < IDLE_TRIES; tries++) {
            client = client_try(w);
            if (!client)
                usleep(50 * 1000);
        }
        if (!client)
            w->errs++;
        else if (ask_order(w, client, 1 + i % ORDERS))
            note_latency(w, began_s);
        w->load->held[i] = client;
    }
    return NULL;
}

static struct worker *run_workers(struct load *l, int threads, void *(*run)(void *))
{
    struct worker *all = must_alloc((size_t)threads * sizeof *all);
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (int i = 0; i < threads; i++) {
        all[i].load = l;
        all[i].seed = (unsigned)i + 1;
        if (pthread_create(&all[i].thread, &attr, run, &all[i]) != 0) {
            fprintf(stderr, "driver: cannot start thread %d\n", i);
            exit(1);
        }
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].thread, NULL);
    return all;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Sums the workers up in one line. Returns the exit status. */
static int report(const struct worker *all, int threads, double took_s)
{
    const char *error = "";
    int n = 0, errs = 0, wrong = 0, at = 0;

    for (int i = 0; i < threads; i++) {
        n += all[i].n;
        errs += all[i].errs;
        wrong += all[i].wrong;
        if (!error[0])
            error = all[i].error;
    }
    float *ms = must_alloc((size_t)(n + 1) * sizeof *ms);
    for (int i = 0; i < threads; i++) {
        if (all[i].n > 0)
            memcpy(ms + at, all[i].ms, (size_t)all[i].n * sizeof *ms);
        at += all[i].n;
    }
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    printf("{\"n\":%d,\"errs\":%d,\"wrong\":%d,\"secs\":%.3f,\"qps\":%.1f,\"p50\":%.4f,"
           "\"p99\":%.4f,\"max\":%.4f,\"err\":\"%s\"}\n",
           n, errs, wrong, took_s, n / took_s, (double)ms[n / 2],
           (double)ms[(int)((double)n * .99)], (double)ms[n > 0 ? n - 1 : 0], error);
    fflush(stdout);
    return errs || wrong ? 1 : 0;
}

static int mode_threads(struct load *l, int threads, void *(*run)(void *))
{
    double began_s = now_s();
    struct worker *all = run_workers(l, threads, run);

    return report(all, threads, now_s() - began_s);
}

static int mode_idle(struct load *l, int hold_s, int threads)
{
    struct worker late = {.load = l};
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    l->held = must_alloc((size_t)l->total * sizeof *l->held);
    int status = mode_threads(l, threads, idle_run);
    puts("READY");
    fflush(stdout);
    poll(&in, 1, hold_s * 1000);

    double began_s = now_s();
    for (int i = 0; i < l->total; i++)
        if (l->held[i] && ask_order(&late, l->held[i], 1 + i % ORDERS))
            note_latency(&late, began_s);
    status |= report(&late, 1, now_s() - began_s);
    _exit(status); /* the clients go away as those of a killed process do */
}

/* Reads the whole result; row i is 1,000 times the letter that the fixture gives id i. */
static void check_big(struct worker *w, MYSQL_RES *result)
{
    char wanted[BIG_ROW_BYTES];
    MYSQL_ROW row;
    long rows = 0;

    while ((row = mysql_fetch_row(result))) {
        rows++;
        memset(wanted, 'a' + (int)(rows % 26), sizeof wanted);
        if (mysql_fetch_lengths(result)[0] != BIG_ROW_BYTES ||
            memcmp(row[0], wanted, sizeof wanted) != 0) {
            note_wrong(w, "row of big", rows, "other bytes");
            return;
        }
    }
    if (rows != BIG_ROWS) {
        char got[32];
        snprintf(got, sizeof got, "%ld", rows);
        note_wrong(w, "number of rows", BIG_ROWS, got);
    }
}

static int mode_big(struct load *l, int rounds)
{
    struct worker w = {.load = l};
    double began_s = now_s();

    for (int i = 0; i < rounds; i++) {
        double round_s = now_s();
        MYSQL *client = client_open(&w);

        if (!client)
            break;
        MYSQL_RES *result =
            mysql_query(client, "SELECT v FROM big ORDER BY id") ? NULL : mysql_use_result(client);
        if (result) {
            check_big(&w, result);
            if (mysql_errno(client))
                note_failure(&w, client);
            mysql_free_result(result);
        } else {
            note_failure(&w, client);
        }
        mysql_close(client);
        note_latency(&w, round_s);
    }
    return report(&w, 1, now_s() - began_s);
}

/* CRC-32 as the server's CRC32() has it. */
static uint32_t crc32_of(const char *bytes, size_t len)
{
    uint32_t table[256], crc = 0xffffffff;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    for (size_t i = 0; i < len; i++)
        crc = (crc >> 8) ^ table[(crc ^ (unsigned char)bytes[i]) & 0xff];
    return ~crc;
}

static void check_param(struct worker *w, const char *param, size_t len, const char *got)
{
    char wanted[64];

    snprintf(wanted, sizeof wanted, "%zu-%u", len, crc32_of(param, len));
    if (!got || strcmp(got, wanted) != 0)
        note_wrong(w, "length and CRC of the parameter", (long)len, got);
}

static const char PARAM_HEAD[] = "SELECT CONCAT(LENGTH(v), '-', CRC32(v)) FROM (SELECT ";
static const char PARAM_TAIL[] = " AS v) AS t";

/* The parameter as PDO's emulated prepares send it: a literal in the text. */
static void param_text(struct worker *w, MYSQL *client, const char *param, size_t len)
{
    char *sql = must_alloc(len + sizeof PARAM_HEAD + sizeof PARAM_TAIL + 2);
    size_t at = sizeof PARAM_HEAD - 1;
    size_t end = sizeof PARAM_TAIL - 1;

    memcpy(sql, PARAM_HEAD, at);
    sql[at++] = '\'';
    memcpy(sql + at, param, len);
    at += len;
    sql[at++] = '\'';
    memcpy(sql + at, PARAM_TAIL, end);
    MYSQL_RES *result = mysql_real_query(client, sql, at + end) ? NULL : mysql_store_result(client);
    free(sql);
    if (!result) {
        note_failure(w, client);
        return;
    }
    MYSQL_ROW row = mysql_fetch_row(result);
    check_param(w, param, len, row ? row[0] : NULL);
    mysql_free_result(result);
}

/* The parameter as PDO's native prepares send it: bound to a statement. */
static void param_native(struct worker *w, MYSQL *client, char *param, size_t len)
{
    char sql[sizeof PARAM_HEAD + sizeof PARAM_TAIL + 1], got[64] = "";
    MYSQL_STMT *stmt = mysql_stmt_init(client);
    MYSQL_BIND in = {
        .buffer_type = MYSQL_TYPE_STRING, .buffer = param, .buffer_length = (unsigned long)len};
    MYSQL_BIND out = {
        .buffer_type = MYSQL_TYPE_STRING, .buffer = got, .buffer_length = sizeof got - 1};

    snprintf(sql, sizeof sql, "%s?%s", PARAM_HEAD, PARAM_TAIL);
    if (mysql_stmt_prepare(stmt, sql, strlen(sql)) || mysql_stmt_bind_param(stmt, &in) ||
        mysql_stmt_execute(stmt) || mysql_stmt_bind_result(stmt, &out) || mysql_stmt_fetch(stmt)) {
        w->errs++;
        note_error(w, mysql_stmt_errno(stmt), mysql_stmt_error(stmt));
    } else {
        check_param(w, param, len, got);
    }
    mysql_stmt_close(stmt);
}

static int mode_param(struct load *l, bool native, size_t len, int rounds)
{
    struct worker w = {.load = l};
    char *param = must_alloc(len);
    double began_s = now_s();

    for (size_t i = 0; i < len; i++)
        param[i] = (char)('a' + i % 23);
    for (int i = 0; i < rounds; i++) {
        double round_s = now_s();
        MYSQL *client = client_open(&w);

        if (!client)
            break;
        if (native)
            param_native(&w, client, param, len);
        else
            param_text(&w, client, param, len);
        mysql_close(client);
        note_latency(&w, round_s);
    }
    return report(&w, 1, now_s() - began_s);
}

static int usage(void)
{
    fprintf(stderr, "usage: driver MODE HOST PORT USER PASSWORD DATABASE ...\n"
                    "  storm TOTAL THREADS SECS | point THREADS SECS TOTAL | idle CLIENTS SECS "
                    "THREADS | big ROUNDS | param text|native MIB ROUNDS\n");
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 8)
        return usage();
    struct load l = {.host = argv[2],
                     .port = (unsigned)atoi(argv[3]),
                     .user = argv[4],
                     .password = argv[5],
                     .database = argv[6]};
    int arg[3] = {0};

    for (int i = 0; i < 3 && 7 + i < argc; i++)
        arg[i] = atoi(argv[7 + i]);
    mysql_library_init(0, NULL, NULL);
    double began_s = now_s();
    l.ends_s = began_s + LOAD_MAX_S;
    if (strcmp(argv[1], "storm") == 0 && argc == 10 && arg[1] <= THREADS_MAX) {
        l.total = arg[0];
        l.ends_s = began_s + arg[2];
        return mode_threads(&l, arg[1], storm_run);
    }
    if (strcmp(argv[1], "point") == 0 && argc == 10 && arg[0] <= THREADS_MAX) {
        l.total = arg[2];
        l.ends_s = began_s + arg[1];
        return mode_threads(&l, arg[0], point_run);
    }
    if (strcmp(argv[1], "idle") == 0 && argc == 10 && arg[2] <= THREADS_MAX) {
        l.total = arg[0];
        return mode_idle(&l, arg[1], arg[2]);
    }
    if (strcmp(argv[1], "big") == 0)
        return mode_big(&l, arg[0]);
    if (strcmp(argv[1], "param") == 0 && argc == 10)
        return mode_param(&l, strcmp(argv[7], "native") == 0, (size_t)arg[1] << 20, arg[2]);
    return usage();
}
