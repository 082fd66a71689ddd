/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/pin_note.h"

#include <stdlib.h>

#include "conf/log.h"
#include "pool/iobuf.h"
#include "protocol/sql_digest.h"
#include "proxy/session.h"

struct pin_notes {
    uint64_t since_ms[PIN_REASONS_COUNT];
    char *digest[PIN_REASONS_COUNT]; /* owned; NULL: not known */
};

/* Pins of every request's ordinary life: shown, not logged. */
enum { ORDINARY = PIN_TRANSACTION | PIN_LAST_STATEMENT | PIN_CURSOR | PIN_LONG_DATA };

void pin_notes_free(struct pin_notes *n)
{
    if (!n)
        return;
    for (int r = 0; r < PIN_REASONS_COUNT; r++)
        free(n->digest[r]);
    free(n);
}

/* Only the beginning of a long statement is looked at. */
static struct bytes text_in_hand(const struct session *s)
{
    enum { LOOK_BYTES = 4096 };
    const struct plan *p = &s->plan;
    struct bytes text = bytes_of("", 0);
    if (p->text)
        text = bytes_of(p->text, p->text_bytes);
    else if (p->prepared)
        text = bytes_of(p->prepared->text, p->prepared->text_bytes);
    else if (p->command == MYSQL_COM_QUERY && s->request_bytes > MYSQL_HEADER_BYTES + 1 &&
             s->view_len >= s->request_bytes)
        text = bytes_of(s->view_at + MYSQL_HEADER_BYTES + 1,
                        s->request_bytes - MYSQL_HEADER_BYTES - 1);
    if (text.len > LOOK_BYTES)
        text.len = LOOK_BYTES;
    return text;
}

/* True the first time; two digests that share a place log again. */
static bool is_new(struct proxy *p, uint64_t hash)
{
    uint64_t *place = &p->pins_logged[hash % PINS_LOGGED];
    bool is = *place != hash;
    *place = hash;
    return is;
}

void pin_note_begin(struct session *s, uint32_t begun)
{
    struct sql_digest digest = {0};
    struct bytes text = text_in_hand(s);
    if (text.len)
        sql_digest_make(text, session_scan_mode(s), &digest);
    if (!s->notes)
        s->notes = xcalloc(1, sizeof *s->notes);
    for (int r = 0; r < PIN_REASONS_COUNT; r++) {
        if (!(begun & 1u << r))
            continue;
        s->notes->since_ms[r] = loop_now_ms(s->proxy->loop);
        free(s->notes->digest[r]);
        s->notes->digest[r] = xstrndup(bytes_of(digest.text, digest.len));
        if (!(ORDINARY & 1u << r) && digest.len && is_new(s->proxy, digest.hash * 31 + (uint64_t)r))
            log_line(LOG_INFO, "pinned", LOG_UINT("client", s->id & ~SESSION_ID_BIT),
                     LOG_STR("user", s->account ? s->account->name : ""),
                     LOG_STR("reason", pin_word((enum pin_reason)r)),
                     LOG_STR("digest", digest.text));
    }
}

void pin_note_end(struct session *s, uint32_t ended)
{
    if (!s->notes)
        return;
    if (ended == s->pins) {
        pin_notes_free(s->notes);
        s->notes = NULL;
        return;
    }
    for (int r = 0; r < PIN_REASONS_COUNT; r++)
        if (ended & 1u << r) {
            free(s->notes->digest[r]);
            s->notes->digest[r] = NULL;
        }
}

uint64_t pin_since_ms(const struct session *s, enum pin_reason r)
{
    return s->notes ? s->notes->since_ms[r] : 0;
}

const char *pin_digest_text(const struct session *s, enum pin_reason r)
{
    return s->notes && s->notes->digest[r] ? s->notes->digest[r] : "";
}
