/* SPDX-License-Identifier: Apache-2.0
 *
 * The generic answers: OK_Packet (with its session trackers), EOF_Packet, ERR_Packet; and small
 * text results read whole. `struct bytes` borrow from the input. Any thread. */
#ifndef SLUICE_PROTOCOL_MYSQL_RESPONSE_H
#define SLUICE_PROTOCOL_MYSQL_RESPONSE_H

#include "protocol/wire.h"

struct mysql_ok {
    uint64_t affected_rows;
    uint64_t insert_id;
    uint16_t status;
    uint16_t warnings;
    struct bytes info;     /* human text, may be empty */
    struct bytes trackers; /* the session state block without its length; empty unless status has
                              STATE_CHANGED */
};

/* Header 0x00, or 0xFE as the end of rows under DEPRECATE_EOF. `info` is a length-encoded string on
 * both servers; an OK that ends behind the warnings has none. A classic EOF of 5 bytes is taken
 * too: status and warnings are filled. */
MUST_CHECK enum wire_result mysql_ok_read(struct bytes payload, struct mysql_ok *out);

enum mysql_track_type {
    MYSQL_TRACK_SYSTEM_VARIABLES = 0,
    MYSQL_TRACK_SCHEMA = 1,
    MYSQL_TRACK_STATE_CHANGE = 2,
    MYSQL_TRACK_GTIDS = 3,
    MYSQL_TRACK_TRX_CHARACTERISTICS = 4,
    MYSQL_TRACK_TRX_STATE = 5,
};

/* One tracker: name and value for a system variable; value alone for the others. */
struct mysql_track {
    uint8_t type; /* enum mysql_track_type, or one of a newer server */
    struct bytes name;
    struct bytes value;
};

/* Takes the next tracker from the front of `trackers` and advances it. MariaDB may pack several
 * variables into one entry: they come out one by one (then the rest of that entry is kept in
 * `entry`, which starts zeroed). WIRE_DONE: one read; WIRE_MORE: none left; WIRE_BAD. */
struct mysql_track_cursor {
    struct bytes left;
    struct bytes entry; /* variables still to come of a SYSTEM_VARIABLES entry */
};
MUST_CHECK enum wire_result mysql_track_next(struct mysql_track_cursor *c, struct mysql_track *out);

struct mysql_err {
    uint16_t code;
    char sqlstate[6]; /* NUL-terminated; "HY000" when the packet has none (errors before the
                         handshake) */
    struct bytes message;
};
MUST_CHECK enum wire_result mysql_err_read(struct bytes payload, struct mysql_err *out);

/* Whole packets, header included, for a classic 4.1 client: no trackers, EOF as 0xFE with 4 bytes.
 * Bytes written, 0 when `room` is too small. The texts of ERR and OK are cut to 512 bytes;
 * STATE_CHANGED is cleared. */
size_t mysql_ok_packet(uint8_t *out, size_t room, uint8_t seq, const struct mysql_ok *ok);
size_t mysql_eof_packet(uint8_t *out, size_t room, uint8_t seq, uint16_t status, uint16_t warnings);
size_t mysql_err_packet(uint8_t *out, size_t room, uint8_t seq, uint16_t code, const char *sqlstate,
                        struct bytes message);

enum { MYSQL_RESULT_COLUMNS_MAX = 96 };

/* A text result that is small enough to be held whole (our own SELECTs), as sent under
 * DEPRECATE_EOF. */
struct mysql_result {
    bool is_error; /* err is filled */
    struct mysql_err err;
    struct mysql_ok ok; /* the only packet, or the one that ends the rows */
    uint32_t columns;   /* 0: a plain OK */
    size_t rows_at;     /* where the rows begin in `reply` */
    size_t rows_end;    /* where the last packet begins */
};

/* reply  all bytes of the reply so far, packet headers included; borrowed
 * out, used_bytes  filled only on WIRE_DONE
 * WIRE_MORE until it is whole; WIRE_BAD for a reply of more than MYSQL_RESULT_COLUMNS_MAX columns,
 * an infile request, more than one result, or broken packets. */
MUST_CHECK enum wire_result mysql_result_read(struct bytes reply, struct mysql_result *out,
                                              size_t *used_bytes);
/* The collation number in the definition of column `index`; 0: there is no such column. */
uint16_t mysql_result_collation(struct bytes reply, const struct mysql_result *result,
                                uint32_t index);

/* The reply to COM_STMT_PREPARE, as sent under DEPRECATE_EOF: its head, behind which the
 * definitions end by count alone. */
struct mysql_prepared {
    bool is_error; /* err is filled; the rest is 0 */
    struct mysql_err err;
    uint32_t statement_id;
    uint16_t columns, parameters, warnings;
};
/* WIRE_MORE until the last definition is there; `err` borrows from the reply. */
MUST_CHECK enum wire_result mysql_prepared_read(struct bytes reply, struct mysql_prepared *out,
                                                size_t *used_bytes);
/* Reads the row at `*at` (start with rows_at) into values[columns] (NULL: at == NULL) and advances.
 * False at the end. */
MUST_CHECK bool mysql_result_row(struct bytes reply, const struct mysql_result *result, size_t *at,
                                 struct bytes *values);

#endif
