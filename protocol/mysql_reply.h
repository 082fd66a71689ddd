/* SPDX-License-Identifier: Apache-2.0
 *
 * The reply of a backend that speaks DEPRECATE_EOF and SESSION_TRACK, cut into packets as it
 * streams past, and translated for a client that has neither ("Text Resultset", "COM_STMT_PREPARE
 * Response", "COM_STMT_EXECUTE Response"):
 *   - an EOF packet is put behind parameter and column definitions, so every later packet's
 * sequence id moves up (written in place: the input is changed); with a cursor, where the server
 * ends the columns and sends no rows, one EOF alone (CURSOR_EXISTS) goes out;
 *   - the OK with header 0xFE that ends rows becomes an EOF;
 *   - session trackers are told to the caller and taken out of every OK.
 * Rows are never copied or stored: what leaves is a list of slices of the input, in order. What is
 * kept between two feeds is a split header (4 bytes) or a split OK / EOF / ERR (at most
 * MYSQL_REPLY_KEEP_BYTES). Loop thread only, one struct per reply. */
#ifndef SLUICE_PROTOCOL_MYSQL_REPLY_H
#define SLUICE_PROTOCOL_MYSQL_REPLY_H

#include "protocol/mysql_command.h"
#include "protocol/mysql_response.h"

enum {
    MYSQL_REPLY_SLICES = 32,
    MYSQL_REPLY_SCRATCH_BYTES =
        2048,                       /* made packets of one feed: EOFs, rewritten OKs, joined ERRs */
    MYSQL_REPLY_KEEP_BYTES = 65536, /* largest OK with trackers that is taken */
};

enum mysql_reply_event {
    MYSQL_REPLY_MORE,   /* all input consumed (or the slices are full: see used); reply not over */
    MYSQL_REPLY_END,    /* the last packet of the reply was in this input */
    MYSQL_REPLY_INFILE, /* the server asks for the client's file (LOAD DATA LOCAL): its request is
                           the last slice. The caller relays the file's packets (the client numbers
                           them from next_seq on, the backend wants them lower by seq_added), then
                           feeds on */
    MYSQL_REPLY_BROKEN, /* not the protocol; close the backend */
};

/* What goes to the client, in order. Slices point into the input given to the feed or into
 * `scratch`. */
struct mysql_reply_out {
    size_t count;
    struct bytes slice[MYSQL_REPLY_SLICES];
    size_t scratch_used;
    uint8_t scratch[MYSQL_REPLY_SCRATCH_BYTES];
};

/* Called for each tracker in stream order; the bytes end with the call. */
typedef void (*mysql_track_fn)(void *ctx, const struct mysql_track *track);

struct mysql_reply {
    /* Facts for the caller, valid after any feed. */
    uint16_t status; /* of the last OK or EOF; unchanged by ERR. The caller sets it at the start to
                        the backend's last known one: made EOF packets behind columns carry it */
    uint16_t warnings;      /* of the last OK or EOF */
    uint64_t insert_id;     /* of the last OK with one; 0 if none in this reply */
    uint64_t affected_rows; /* of the last plain OK */
    uint16_t error_code;    /* 0, or that of the ERR that ended the reply */
    char error_sqlstate[6];
    uint64_t rows;          /* of the last result set */
    uint64_t columns_hash;  /* over the column definitions of all result sets; 0: there were none */
    char error_message[96]; /* the beginning of the ERR's text */
    bool state_changed;     /* some STATE_CHANGE tracker said 1 */
    bool had_rows;          /* some result set was among the results (QUERY only) */
    uint32_t statement_id;  /* of COM_STMT_PREPARE_OK */
    uint16_t parameters;    /* likewise */
    uint16_t prepared_columns; /* likewise */
    uint8_t next_seq;  /* the sequence id that a packet behind the last one sent to the client would
                          have */
    uint8_t seq_added; /* how far the client's sequence ids are ahead of the backend's */

    /* Private. */
    enum mysql_reply_shape shape;
    mysql_track_fn on_track;
    void *track_ctx;
    uint8_t step; /* enum step of mysql_reply.c */
    bool seq_any; /* the next packet may have any sequence id: the first, and that behind a client's
                     file */
    bool continues;  /* the last header said 0xFFFFFF: the next packet is the same row or text, not
                        looked at */
    uint8_t head[5]; /* header and first payload byte, collected when split between two feeds */
    uint8_t head_have;
    uint32_t left_bytes;       /* of a payload that is passing through */
    uint32_t definitions_left; /* parameter or column definitions still to come */
    uint16_t columns_left;     /* PREPARE: column definitions behind those of the parameters */
    uint8_t *joined; /* owned; an OK, ERR, count... that is split between two feeds, or NULL */
    uint32_t joined_have;
    uint32_t joined_whole;
};

/* Starts a reply; on_track may be NULL. It does not free: the struct is new or was given to
 * mysql_reply_fini. */
void mysql_reply_begin(struct mysql_reply *r, enum mysql_reply_shape shape, uint16_t status,
                       mysql_track_fn on_track, void *track_ctx);
/* Frees what a split packet holds; any time, twice is harmless. */
void mysql_reply_fini(struct mysql_reply *r);

/* in          bytes from the backend; borrowed and changed in place
 * used_bytes  how many were consumed: all of them unless the slices or the scratch ran full (feed
 * the rest again after writing `out`), or the reply ended before them (then the backend sent too
 * much) (MYSQL_REPLY_MORE with used_bytes < len always means full, and that something was consumed)
 * out         set anew by each call; slices live as long as `in` and `out`. With BROKEN it holds
 * what came before
 *
 * An ERR in mid result is passed in its place, after the EOF of the columns; whatever its sequence
 * id was. Sequence ids of the backend must otherwise ascend by one. After END and BROKEN further
 * feeds consume nothing and say the same. */
enum mysql_reply_event mysql_reply_feed(struct mysql_reply *r, uint8_t *in, size_t len,
                                        size_t *used_bytes, struct mysql_reply_out *out);

#endif
