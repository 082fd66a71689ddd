/* SPDX-License-Identifier: Apache-2.0
 *
 * What is the same about statements that differ only in their literals: literals become `?`, a
 * list of any number of them `?`, a list of rows of them `(?)`, comments and runs of space one
 * space at most: much as in the digests of MySQL's performance schema. For logs and SHOW PINS,
 * which must not show a literal. Any thread. */
#ifndef SLUICE_PROTOCOL_SQL_DIGEST_H
#define SLUICE_PROTOCOL_SQL_DIGEST_H

#include "protocol/wire.h"

enum { SQL_DIGEST_TEXT_MAX_BYTES = 512 };

struct sql_digest {
    uint64_t hash; /* over the whole digest, also what was cut off */
    size_t len;    /* of text; cut at the limit, at a token's end, with ` ...` behind it */
    char text[SQL_DIGEST_TEXT_MAX_BYTES + 1];
};

/* Never fails: what cannot be read (an open quote, an open or executable comment, a NUL, a byte
 * above 0x7F where the charset is not safe) becomes one `?` to the end, so that no literal shows.
 * mode: enum sql_mode. An account's password in CREATE USER, SET PASSWORD, IDENTIFIED BY is a
 * literal too. */
void sql_digest_make(struct bytes text, uint32_t mode, struct sql_digest *out);

#endif
