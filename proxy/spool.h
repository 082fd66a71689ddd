/* SPDX-License-Identifier: Apache-2.0
 *
 * A command too large to wait in memory: kept, packet headers and all, in a file without a name, so
 * that no backend is held while a client uploads, the whole text is known before it runs, and a
 * command above the server's limit costs nothing. The file is in TMPDIR, else /tmp, else in memory
 * (memfd) where neither can be written. Loop thread only; reads and writes of the page cache, a
 * block at a time. */
#ifndef SLUICE_PROXY_SPOOL_H
#define SLUICE_PROXY_SPOOL_H

#include "protocol/sql_scan.h"
#include "protocol/wire.h"

struct spool;

enum { SPOOL_BLOCK_BYTES = 64 * 1024, SPOOL_EDITS_MAX = 2 };

/* NULL when no file can be had. */
struct spool *spool_new(void);
void spool_free(struct spool *s);

/* Takes bytes of the command's packets from the front of `in`, up to their end.
 * WIRE_DONE: whole; WIRE_MORE; WIRE_BAD: sequence ids out of order, or the file cannot be written.
 */
MUST_CHECK enum wire_result spool_take(struct spool *s, struct bytes in, size_t *used);
/* Payload bytes so far announced by headers: what the server's limit is about. */
uint64_t spool_payload_bytes(const struct spool *s);
/* What of the packet in hand is still to come, and whether another follows: to skip it. */
void spool_rest(const struct spool *s, uint64_t *left, bool *continues, uint8_t *next_seq);
/* First bytes of the payload, the command byte included: at most `room`. 0: none, or the file
 * cannot be read. */
size_t spool_head(struct spool *s, uint8_t *out, size_t room);
/* Feeds the payload behind its first byte to the lexer. False: the file cannot be read. */
MUST_CHECK bool spool_scan(struct spool *s, struct sql_scan *scan);
/* `with` (a copy is kept) goes out instead of old_bytes of the whole payload, from `at` on; what is
 * spooled stays as it is. Another one at the same place takes the first one's place; else they are
 * apart, and SPOOL_EDITS_MAX at most. Sending begins anew. */
void spool_replace(struct spool *s, size_t at, size_t old_bytes, struct bytes with);
/* Payload bytes that go out. */
uint64_t spool_outgoing_bytes(const struct spool *s);
/* The next block to send, in packets of their own; SPOOL_BLOCK_BYTES at most; len 0 at the end, at
 * NULL: the file cannot be read. Lives until the next call. */
struct bytes spool_next(struct spool *s);
void spool_rewind(struct spool *s);

#endif
