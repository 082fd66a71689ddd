/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target for mysql_reply. Input: one byte of shape, one of status, one that says how many
 * piece sizes follow (low four bits), the piece sizes, the backend's bytes. Properties: cutting the
 * bytes differently gives the client the same bytes, in the same events, with the same facts; and
 * what the client gets are packets with ascending sequence ids, the last one below next_seq. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/mysql_packet.h"
#include "protocol/mysql_reply.h"

enum {
    INPUT_MAX_BYTES = 1 << 17,
    CLIENT_MAX_BYTES = 8 * INPUT_MAX_BYTES,
    INFILES_MAX = 64,
};

/* Sizes of the pieces, used over and over; none: all at once. */
struct cuts {
    const uint8_t *size;
    size_t count;
};

struct run {
    struct mysql_reply reply;
    enum mysql_reply_event event;
    size_t used;
    size_t infiles;
    size_t infile_at[INFILES_MAX]; /* how much the client had got */
    size_t client_len;
    uint64_t tracks; /* a hash of all that on_track was told */
    uint8_t client[CLIENT_MAX_BYTES];
};

static struct run whole_run, cut_run;

static void mix(uint64_t *hash, struct bytes b)
{
    *hash = *hash * 31 + b.len;
    for (size_t i = 0; i < b.len; i++)
        *hash = *hash * 31 + b.at[i];
}

static void on_track(void *ctx, const struct mysql_track *t)
{
    struct run *run = ctx;
    mix(&run->tracks, bytes_of(&t->type, 1));
    mix(&run->tracks, t->name);
    mix(&run->tracks, t->value);
}

static void take_out(struct run *run, const struct mysql_reply_out *out)
{
    assert(out->count <= MYSQL_REPLY_SLICES);
    assert(out->scratch_used <= MYSQL_REPLY_SCRATCH_BYTES);
    for (size_t i = 0; i < out->count; i++) {
        assert(out->slice[i].len > 0);
        assert(run->client_len + out->slice[i].len <= CLIENT_MAX_BYTES);
        memcpy(run->client + run->client_len, out->slice[i].at, out->slice[i].len);
        run->client_len += out->slice[i].len;
    }
}

static void feed_all(struct run *run, uint8_t shape, uint8_t status, struct bytes in,
                     const struct cuts *cuts)
{
    struct mysql_reply_out *out = malloc(sizeof(*out));
    assert(out);
    memset(run, 0, offsetof(struct run, client));
    mysql_reply_begin(&run->reply, (enum mysql_reply_shape)shape, status, on_track, run);
    run->event = MYSQL_REPLY_MORE;
    for (size_t turn = 0; run->used < in.len; turn++) {
        size_t here = cuts->count ? (size_t)cuts->size[turn % cuts->count] + 1 : in.len;
        size_t used;
        if (here > in.len - run->used)
            here = in.len - run->used;
        uint8_t *piece = malloc(here);
        assert(piece);
        memcpy(piece, in.at + run->used, here);
        run->event = mysql_reply_feed(&run->reply, piece, here, &used, out);
        take_out(run, out);
        free(piece);
        assert(used <= here);
        run->used += used;
        if (run->event == MYSQL_REPLY_END || run->event == MYSQL_REPLY_BROKEN)
            break;
        assert(used > 0);
        if (run->event == MYSQL_REPLY_INFILE)
            run->infile_at[run->infiles++] = run->client_len;
        if (run->infiles == INFILES_MAX)
            break; /* at the same byte however the input is cut */
    }
    mysql_reply_fini(&run->reply);
    free(out);
}

static void compare(const struct run *a, const struct run *b)
{
    const struct mysql_reply *p = &a->reply;
    const struct mysql_reply *q = &b->reply;
    assert(a->event == b->event);
    assert(a->event == MYSQL_REPLY_BROKEN || a->used == b->used);
    assert(a->client_len == b->client_len);
    assert(memcmp(a->client, b->client, a->client_len) == 0);
    assert(a->infiles == b->infiles);
    assert(memcmp(a->infile_at, b->infile_at, sizeof(a->infile_at)) == 0);
    assert(a->tracks == b->tracks);
    assert(p->status == q->status && p->warnings == q->warnings);
    assert(p->insert_id == q->insert_id && p->affected_rows == q->affected_rows);
    assert(p->error_code == q->error_code);
    assert(memcmp(p->error_sqlstate, q->error_sqlstate, sizeof(p->error_sqlstate)) == 0);
    assert(p->state_changed == q->state_changed && p->had_rows == q->had_rows);
    assert(p->statement_id == q->statement_id && p->parameters == q->parameters);
    assert(p->prepared_columns == q->prepared_columns);
    assert(p->next_seq == q->next_seq && p->seq_added == q->seq_added);
}

/* Whole packets, in order; a new start is allowed behind an infile request only. */
static void check_client(const struct run *run)
{
    size_t at = 0;
    size_t infile = 0;
    bool any = true;
    uint8_t seq = 0;
    while (run->client_len - at >= MYSQL_HEADER_BYTES) {
        const uint8_t *header = run->client + at;
        assert(any || header[3] == seq);
        any = false;
        seq = (uint8_t)(header[3] + 1);
        at += MYSQL_HEADER_BYTES + mysql_header_length(header);
        if (infile < run->infiles && run->infile_at[infile] == at) {
            any = true;
            infile++;
        }
        if (at > run->client_len)
            break; /* a row that is still coming */
    }
    if (run->event == MYSQL_REPLY_END && run->client_len > 0) {
        assert(at == run->client_len);
        assert(run->reply.next_seq == seq);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { PREFIX_BYTES = 3, SHAPES = MYSQL_REPLY_FIELDS + 1 };
    if (size < PREFIX_BYTES || size > INPUT_MAX_BYTES)
        return 0;
    struct cuts cuts = {.size = data + PREFIX_BYTES, .count = data[2] & 15};
    if (size - PREFIX_BYTES < cuts.count)
        return 0;
    uint8_t shape = data[0] % SHAPES;
    size_t before = PREFIX_BYTES + cuts.count;
    struct bytes in = bytes_of(data + before, size - before);
    const struct cuts all_at_once = {0};
    const struct cuts byte_by_byte = {.size = (const uint8_t *)"", .count = 1};
    feed_all(&whole_run, shape, data[1], in, &all_at_once);
    check_client(&whole_run);
    feed_all(&cut_run, shape, data[1], in, cuts.count ? &cuts : &byte_by_byte);
    compare(&whole_run, &cut_run);
    return 0;
}
