/* SPDX-License-Identifier: Apache-2.0
 *
 * Since when a session's pins hold, and which statements began them, as digests: for SHOW PINS and
 * for the log, where each digest shows once. Loop thread only. */
#ifndef SLUICE_PROXY_PIN_NOTE_H
#define SLUICE_PROXY_PIN_NOTE_H

#include "protocol/wire.h"
#include "proxy/pin.h"

struct pin_notes; /* opaque; NULL: nothing is pinned */

/* These pins begin with the statement in hand. */
void pin_note_begin(struct session *s, uint32_t begun);
/* These are over. */
void pin_note_end(struct session *s, uint32_t ended);
void pin_notes_free(struct pin_notes *n);

#endif
