/* SPDX-License-Identifier: Apache-2.0
 *
 * When pins end: the names behind them. A client's temporary tables, handlers, named locks and text
 * PREPAREs are counted by name, from statements that are simple enough to be read whole
 * (protocol/sql_simple.h); anything else about them makes the pin last to the end of the session.
 * Pure: no I/O. Loop thread only. */
#ifndef SLUICE_PROXY_PIN_TRACK_H
#define SLUICE_PROXY_PIN_TRACK_H

#include "protocol/sql_scan.h"
#include "protocol/wire.h"
#include "proxy/pin.h"

struct pin_track; /* opaque; NULL: nothing is counted */

/* A statement that has run to its end on the backend that the client holds. */
struct pin_event {
    struct bytes text;    /* whole; empty when it is not at hand (then nothing is simple) */
    uint32_t flags;       /* enum sql_flag, and */
    uint32_t kinds;       /* 1 << enum sql_kind of it */
    uint32_t mode;        /* enum sql_mode it was read in */
    struct bytes schema;  /* unqualified names are in it: the current one; of a prepared statement
                             the  one in which it was prepared, also after a USE */
    bool failed;          /* ended by ERR */
    bool in_transaction;  /* after it */
    bool tables_locked;   /* after it, as the transaction tracker says (its L) */
    uint32_t pins_before; /* enum pin: those that held before it */
};

struct pin_effect {
    uint32_t begin; /* enum pin: these hold now, on top of what the scanner's rules say */
    uint32_t end;   /* these are over */
    bool ask_locks; /* whether the named lock pin is over has to be asked of the server, by the text
                       of pin_track_lock_question */
};

/* pins  those that hold, with those that this statement began by the scanner's rules. *t is made
 * when something has to be counted, and freed when nothing is left. */
struct pin_effect pin_track_statement(struct pin_track **t, const struct pin_event *e,
                                      uint32_t pins);
/* What EXECUTE of a text PREPARE may do: the flags and kinds of the literal that was prepared under
 * the name in `text` (EXECUTE name ..); SQL_F_UNKNOWN_FUNCTION and SQL_OTHER when that is not
 * known. */
void pin_track_executed(const struct pin_track *t, struct bytes text, uint32_t mode,
                        uint32_t *flags, uint32_t *kinds);
/* One number: "SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) OR .. LIMIT 1" over the known names;
 * when some are not known, and only right behind a RELEASE_ALL_LOCKS(), that once more. False: they
 * do not fit or are not all known, the pin stays. The answer 0: none is held, call
 * pin_track_locks_gone. Any other answer: the pin stays. */
MUST_CHECK bool pin_track_lock_question(const struct pin_track *t, char *out, size_t room);
void pin_track_locks_gone(struct pin_track **t);
void pin_track_free(struct pin_track *t);

#endif
