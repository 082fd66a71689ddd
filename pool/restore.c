/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/restore.h"

#include <stdio.h>

#include "pool/breaks.h"
#include "pool/settings.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"

/* The names behind a collation number; for one that no session can be in, the server's default. */
static void ask_collation(struct ask_batch *batch, struct backend *b, uint16_t number)
{
    b->asked_number = number;
    ask_query(batch, ASK_CHARSET,
              "SELECT CHARACTER_SET_NAME, COLLATION_NAME, ID FROM information_schema.COLLATIONS "
              "WHERE ID=%u AND CHARACTER_SET_NAME NOT IN ('ucs2','utf16','utf16le','utf32') "
              "UNION ALL SELECT CHARACTER_SET_NAME, COLLATION_NAME, ID FROM "
              "information_schema.COLLATIONS WHERE COLLATION_NAME=@@global.collation_connection "
              "LIMIT 1",
              number);
}

/* The collation that goes with the results is only to be had by SET NAMES .. COLLATE; what else
 * differs from it is set behind. */
static void ask_names(struct ask_batch *batch, struct target *t, name_id unit)
{
    char text[512];
    struct charset_unit u = charset_split(names_text(t->names, unit));
    struct charset_unit by = u;
    if (u.number)
        by = charset_split(names_text(t->names, t->charset_of_id[u.number]));
    size_t len = (size_t)snprintf(text, sizeof text, "SET NAMES '%.*s' COLLATE '%.*s'",
                                  (int)by.client.len, (const char *)by.client.at,
                                  (int)by.collation.len, (const char *)by.collation.at);
    if (!bytes_equal(u.client, by.client))
        len += (size_t)snprintf(text + len, sizeof text - len, ", character_set_client='%.*s'",
                                (int)u.client.len, (const char *)u.client.at);
    if (!bytes_equal(u.collation, by.collation))
        len += (size_t)snprintf(text + len, sizeof text - len, ", collation_connection='%.*s'",
                                (int)u.collation.len, (const char *)u.collation.at);
    if (!u.number)
        len += (size_t)snprintf(text + len, sizeof text - len, ", character_set_results=NULL");
    ask_query(batch, ASK_NAMES, "%.*s", (int)len, text);
}

/* What an error may have left there, only the client that it was told to may meet. One that holds
 * the backend is that client. */
static bool is_suspect_to(const struct backend *b, const struct lessee *l)
{
    return b->suspect && b->last_owner != l && !l->keeps;
}

/* What the owner of LAST_INSERT_ID() there needs to know, and what must not be handed on. */
static void ask_for_owner(struct ask_batch *batch, struct backend *b, const struct lessee *l)
{
    bool resets = l->wants_fresh || is_suspect_to(b, l);
    if (b->id_owner && (b->id_owner != l || resets))
        ask_query(batch, ASK_LAST_ID, "SELECT LAST_INSERT_ID() LIMIT 1");
    if (resets) {
        b->pool->target->stats.resets_suspect++;
        names_unref(b->pool->target->names, b->baseline_charset);
        b->baseline_charset = names_ref(b->pool->target->names, b->session.charset);
        ask_reset(batch, b);
    }
}

static void ask_set(struct ask_batch *batch, struct backend *b, struct settings *to)
{
    const struct target *t = b->pool->target;
    const struct settings *from = b->session.settings; /* NULL: all may differ */
    char text[ASK_TEXT_MAX_BYTES];
    size_t len = (size_t)snprintf(text, sizeof text, "SET ");
    for (int v = 0; v < VARIABLES_COUNT; v++) {
        if (!t->has_variable[v] || (from && to->value[v] == from->value[v]))
            continue;
        if (len > 4)
            text[len++] = ',';
        len += variable_write(text + len, sizeof text - len - 1, (enum variable)v,
                              names_text(t->names, to->value[v]), t->mariadb);
    }
    session_state_set_settings(t->names, &b->asked, to);
    ask_query(batch, ASK_SET, "%.*s", (int)len, text);
}

/* Literals are read in the character set that the session is in, and in ucs2 and the like they are
 * not what they look like. */
static void ask_plain_charset(struct ask_batch *batch, struct backend *b)
{
    struct names *names = b->pool->target->names;
    struct charset_unit u = charset_split(names_text(names, b->session.charset));
    if (!b->session.charset || charset_unit_is_plain(&u))
        return;
    ask_query(batch, ASK_SETTINGS, "SET NAMES utf8mb4");
    names_unref(names, b->session.charset);
    b->session.charset = 0;
}

void restore_difference(struct ask_batch *batch, struct backend *b, const struct session_state *to)
{
    struct names *names = b->pool->target->names;
    if (!broken(RULE_VARIABLES_RESTORED) && to->settings != b->session.settings) {
        ask_plain_charset(batch, b);
        ask_set(batch, b, to->settings);
    }
    if (!broken(RULE_CHARSET_RESTORED) && to->charset && to->charset != b->session.charset) {
        names_unref(names, b->asked.charset);
        b->asked.charset = names_ref(names, to->charset);
        ask_names(batch, b->pool->target, to->charset);
    }
    if (!broken(RULE_SCHEMA_RESTORED) && to->schema && to->schema != b->session.schema) {
        names_unref(names, b->asked.schema);
        b->asked.schema = names_ref(names, to->schema);
        /* Entering the one that it is in leaves MariaDB with that one's old character set [seen].
         */
        if (b->pool->target->mariadb &&
            bytes_equal(names_text(names, b->session.schema), bytes_text(SCHEMA_UNKNOWN)))
            ask_command(batch, ASK_INIT_DB, MYSQL_COM_INIT_DB, bytes_text("information_schema"));
        ask_command(batch, ASK_INIT_DB, MYSQL_COM_INIT_DB, names_text(names, to->schema));
    }
    if (to->multi_statements != b->session.multi_statements) {
        uint8_t option[2] = {to->multi_statements ? 0 : 1, 0};
        b->asked.multi_statements = to->multi_statements;
        ask_command(batch, ASK_OPTION, MYSQL_COM_SET_OPTION, bytes_of(option, sizeof option));
    }
}

/* The state in which the lessee's text has to be prepared; the caller ends it. Variables that no
 * PREPARE binds stay the lessee's. */
static struct session_state preparing_state(const struct backend *b, const struct lessee *l)
{
    struct names *names = b->pool->target->names;
    const struct session_state *of = &l->prepared->state;
    struct session_state state = {0};
    session_state_copy(names, &state, of);
    state.multi_statements = l->state.multi_statements;
    name_id value[VARIABLES_COUNT];
    for (int v = 0; v < VARIABLES_COUNT; v++)
        value[v] = variable_binds((enum variable)v) || of->settings->value[v]
                       ? of->settings->value[v]
                       : l->state.settings->value[v];
    settings_unref(names_settings(names), state.settings);
    state.settings = settings_make(names_settings(names), value);
    return state;
}

static void ask_last_id(struct ask_batch *batch, struct backend *b)
{
    const struct lessee *l = b->lessee;
    if (broken(RULE_LAST_INSERT_ID_RESTORED) || l->last_id_where != LAST_ID_KNOWN ||
        (b->last_insert_id_known && b->last_insert_id == l->last_insert_id))
        return;
    b->asked_last_id = l->last_insert_id;
    b->last_insert_id_known = false;
    ask_query(batch, ASK_SET_LAST_ID, "SET last_insert_id=%llu",
              (unsigned long long)l->last_insert_id);
}

/* The number whose names have to be asked for before the lessee's state can be restored;
 * TARGET_COLLATIONS_MAX: none. */
static uint16_t unknown_collation(struct lessee *l)
{
    const struct target *t = l->pool->target;
    if (!l->state.charset)
        return l->charset_number;
    struct charset_unit u = charset_split(names_text(t->names, l->state.charset));
    if (u.number >= TARGET_COLLATIONS_MAX || !u.number || t->charset_of_id[u.number])
        return TARGET_COLLATIONS_MAX;
    return u.number;
}

bool restore_is_prepared(const struct backend *b, const struct lessee *l)
{
    return !l->prepared || prepared_slots_has(&b->slots, l->prepared, &l->use);
}

/* .. or has it as a statement that is as a fresh one. */
static bool has_fresh(const struct backend *b, const struct lessee *l)
{
    struct prepared_use use = prepared_slots_choose(&b->slots, l->prepared, &l->use);
    return prepared_slots_has(&b->slots, l->prepared, &use);
}

enum restore restore_ask(struct backend *b)
{
    struct lessee *l = b->lessee;
    const struct target *t = b->pool->target;
    struct ask_batch batch;
    ask_begin(&batch, b);

    ask_for_owner(&batch, b, l);
    size_t owners = wire_written(&batch.w);
    bool sent = false;
    bool resets = l->wants_fresh || is_suspect_to(b, l);
    l->wants_fresh = false;
    bool known = pool_state_is_known(l);
    bool prepares = !restore_is_prepared(b, l) && !has_fresh(b, l);
    uint16_t collation = unknown_collation(l);
    if (collation != TARGET_COLLATIONS_MAX && !resets)
        ask_collation(&batch, b, collation);
    if (resets || collation != TARGET_COLLATIONS_MAX) {
        /* What it is in is known when that is answered: the rest is asked then. */
    } else if (prepares && known) {
        struct session_state state = preparing_state(b, l);
        restore_difference(&batch, b, &state);
        session_state_fini(t->names, &state);
        ask_prepare(&batch, bytes_of(l->prepared->text, l->prepared->text_bytes));
        sent = true;
    } else {
        restore_difference(&batch, b, &l->state);
    }
    bool waits = resets || sent || wire_written(&batch.w) > owners;
    bool begins = false;
    if (!resets && !prepares && collation == TARGET_COLLATIONS_MAX) {
        ask_last_id(&batch, b);
        if (l->replay && !waits) {
            ask_query(&batch, ASK_SETTINGS, "%s", l->replay);
            l->replay = NULL;
            waits = true;
        }
        begins = l->begin && !waits;
        if (begins) {
            ask_query(&batch, ASK_BEGIN, "%s", l->begin);
            l->begin = NULL;
            b->status |= MYSQL_STATUS_IN_TRANS;
        }
    }
    if (wire_written(&batch.w) == 0 && !sent)
        return RESTORE_NOTHING;
    b->deadline_ms = loop_now_ms(t->loop) + (uint64_t)t->options->mysql.backend_timeout_ms;
    b->followed = !waits && (l->may_follow || (l->id_may_follow && !begins));
    ask_send(&batch);
    return b->followed ? RESTORE_FOLLOW : RESTORE_WAIT;
}
