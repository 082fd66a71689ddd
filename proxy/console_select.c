/* SPDX-License-Identifier: Apache-2.0
 *
 * See console_select.h. */
#include "proxy/console_select.h"

#include <stdio.h>

#include "proxy/console_rows.h"
#include "proxy/console_text.h"
#include "proxy/session.h"

enum {
    ITEMS_MAX = 48, /* what JDBC asks for in one statement is half of that */
    NAME_MAX_BYTES = 64,
    VALUE_MAX_BYTES = 96,
};

struct item {
    char name[NAME_MAX_BYTES + 1];
    char value[VALUE_MAX_BYTES + 1];
    bool is_null;
};

/* Variables that drivers read, as a server's defaults; all others are NULL. */
static const char *const variables[][2] = {
    {"auto_increment_increment", "1"},
    {"autocommit", "1"},
    {"character_set_client", "utf8mb4"},
    {"character_set_connection", "utf8mb4"},
    {"character_set_results", "utf8mb4"},
    {"character_set_server", "utf8mb4"},
    {"collation_connection", "utf8mb4_general_ci"},
    {"collation_server", "utf8mb4_general_ci"},
    {"init_connect", ""},
    {"interactive_timeout", "28800"},
    {"license", "Apache-2.0"},
    {"lower_case_table_names", "0"},
    {"max_allowed_packet", "16777216"},
    {"net_write_timeout", "60"},
    {"performance_schema", "0"},
    {"sql_mode", ""},
    {"system_time_zone", "UTC"},
    {"time_zone", "SYSTEM"},
    {"transaction_isolation", "REPEATABLE-READ"},
    {"tx_isolation", "REPEATABLE-READ"},
    {"version_comment", "sluice " SLUICE_VERSION " admin console; SHOW HELP lists its commands"},
    {"wait_timeout", "28800"},
};

static void set_bytes(char *out, size_t room, struct bytes text)
{
    (void)snprintf(out, room, "%.*s", (int)text.len, (const char *)text.at);
}

/* @@name, @@session.name, @@global.name */
static void read_variable(const struct session *s, struct bytes name, struct item *out)
{
    name = bytes_of(name.at + 2, name.len - 2);
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] == '.') {
            name = bytes_of(name.at + i + 1, name.len - i - 1);
            break;
        }
    out->is_null = false;
    if (console_like(name, bytes_text("version"))) {
        set_bytes(out->value, sizeof out->value, bytes_text(s->proxy->target->version));
        return;
    }
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (console_like(bytes_text(variables[i][0]), name)) {
            set_bytes(out->value, sizeof out->value, bytes_text(variables[i][1]));
            return;
        }
    out->is_null = true;
}

/* DATABASE() and its kind, the name in hand. */
static bool read_function(const struct session *s, const struct console_word *name,
                          struct bytes *left, struct item *out)
{
    bool has_call = console_text_take(left, "(");
    if (has_call && !console_text_take(left, ")"))
        return false;
    if (console_word_is(name, "database") || console_word_is(name, "schema"))
        set_bytes(out->value, sizeof out->value, bytes_text("sluice"));
    else if (console_word_is(name, "version"))
        set_bytes(out->value, sizeof out->value, bytes_text(s->proxy->target->version));
    else if (console_word_is(name, "user") || console_word_is(name, "current_user"))
        set_bytes(out->value, sizeof out->value, bytes_text("console@sluice"));
    else if (console_word_is(name, "connection_id"))
        (void)snprintf(out->value, sizeof out->value, "%u", s->id);
    else
        return false;
    return has_call || console_word_is(name, "current_user");
}

/* One expression and its alias. */
static bool read_item(const struct session *s, struct bytes *left, struct item *out)
{
    const uint8_t *begin;
    uint64_t number;
    struct console_word w = console_text_peek(*left);
    if (w.kind == CONSOLE_END)
        return false;
    begin = w.raw.at;
    if (console_text_number(left, &number)) {
        (void)snprintf(out->value, sizeof out->value, "%llu", (unsigned long long)number);
    } else {
        w = console_text_next(left);
        if (w.kind == CONSOLE_STRING)
            set_bytes(out->value, sizeof out->value, w.text);
        else if (w.kind == CONSOLE_WORD && w.text.len > 2 && w.text.at[0] == '@' &&
                 w.text.at[1] == '@')
            read_variable(s, w.text, out);
        else if (w.kind != CONSOLE_WORD || !read_function(s, &w, left, out))
            return false;
    }
    set_bytes(out->name, sizeof out->name, bytes_of(begin, (size_t)(left->at - begin)));
    if (console_text_take(left, "as")) {
        w = console_text_next(left);
        if (w.kind == CONSOLE_END || w.kind == CONSOLE_SIGN)
            return false;
        set_bytes(out->name, sizeof out->name, w.text);
    }
    return true;
}

static void send_items(struct session *s, uint8_t seq, const struct item *items, size_t count)
{
    struct mysql_column columns[ITEMS_MAX];
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct mysql_column){items[i].name, MYSQL_COLUMN_TEXT};
    struct console_rows *r = console_rows_begin(s, seq, columns, count, (struct bytes){0});
    for (size_t i = 0; i < count; i++)
        console_rows_text(r, items[i].is_null ? NULL : items[i].value);
    console_rows_next(r);
    console_rows_end(r);
}

bool console_select(struct session *s, uint8_t seq, struct bytes text)
{
    struct item items[ITEMS_MAX] = {0};
    size_t count = 0;
    uint64_t limit;
    do {
        if (count == ITEMS_MAX || !read_item(s, &text, &items[count]))
            return false;
        count++;
    } while (console_text_take(&text, ","));
    if (console_text_take(&text, "limit") && !console_text_number(&text, &limit))
        return false;
    if (console_text_peek(text).kind != CONSOLE_END)
        return false;
    send_items(s, seq, items, count);
    return true;
}

/* ---- SHOW what is always empty here ---- */

static void send_none(struct session *s, uint8_t seq, const struct mysql_column *columns,
                      size_t count)
{
    console_rows_end(console_rows_begin(s, seq, columns, count, (struct bytes){0}));
}

bool console_show_empty(struct session *s, uint8_t seq, struct bytes text)
{
    static const struct mysql_column variable[] = {{"Variable_name", MYSQL_COLUMN_TEXT},
                                                   {"Value", MYSQL_COLUMN_TEXT}};
    static const struct mysql_column warning[] = {{"Level", MYSQL_COLUMN_TEXT},
                                                  {"Code", MYSQL_COLUMN_NUMBER},
                                                  {"Message", MYSQL_COLUMN_TEXT}};
    static const struct mysql_column table[] = {{"Tables_in_sluice", MYSQL_COLUMN_TEXT},
                                                {"Table_type", MYSQL_COLUMN_TEXT}};
    bool full = console_text_take(&text, "full");
    if (!full && !console_text_take(&text, "global"))
        (void)console_text_take(&text, "session");
    struct console_word what = console_text_next(&text);
    if (console_word_is(&what, "tables"))
        send_none(s, seq, table, full ? 2 : 1);
    else if (console_word_is(&what, "warnings"))
        send_none(s, seq, warning, 3);
    else if (console_word_is(&what, "variables") || console_word_is(&what, "status"))
        send_none(s, seq, variable, 2);
    else
        return false;
    return true;
}
