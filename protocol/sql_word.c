/* SPDX-License-Identifier: Apache-2.0
 *
 * The word table: open addressing, filled once before main() from the two lists, read-only from
 * then on. */
#include "protocol/sql_word.h"

#include <assert.h>

#include "protocol/sql_scan.h"

enum { SLOTS = 2048, LONGEST_BYTES = 31, LOOSE = 0, TIGHT = 1 };

struct entry {
    const char *name;
    uint8_t len;
    uint8_t call; /* enum sql_call */
    uint8_t glue;
};

static const struct entry entries[SQL_WORD_COUNT] = {
#define FUNCTION(name, call, glue) [W_##name] = {#name, sizeof #name - 1, call, glue},
#include "protocol/sql_functions.def"
#undef FUNCTION
#define WORD(name, call) [W_##name] = {#name, sizeof #name - 1, call, LOOSE},
#include "protocol/sql_words.def"
#undef WORD
};

/* Some bits of the hash and the length beside the number keep a miss from reading the entry. */
struct slot {
    uint16_t word;
    uint8_t len;
    uint8_t tag;
};

static struct slot slots[SLOTS];
uint32_t sql_word_lengths[32][32];

/* The first and the last eight bytes, which overlap in a short word: enough to tell words of up to
 * sixteen bytes apart. */
struct ends {
    uint64_t first;
    uint64_t last;
};

/* Those of each word, and which of their bits may differ: the one of case, in letters. */
static struct ends keys[SQL_WORD_COUNT];
static struct ends cases[SQL_WORD_COUNT];

static uint64_t load32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static uint64_t load64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* Never reads outside the text, which is not empty. */
static inline struct ends ends_of(struct bytes text)
{
    const uint8_t *end = text.at + text.len;
    assert(text.len > 0);
    if (text.len >= 8)
        return (struct ends){load64(text.at), load64(end - 8)};
    if (text.len >= 4)
        return (struct ends){load32(text.at) | load32(end - 4) << 32, 0};
    uint64_t middle = text.at[text.len / 2];
    return (struct ends){text.at[0] | middle << 8 | (uint64_t)end[-1] << 16, 0};
}

static inline uint32_t hash(struct ends e, size_t len)
{
    const uint64_t fold = 0x2020202020202020u;
    uint64_t mix = (e.first | fold) * 0x9E3779B97F4A7C15u ^ (e.last | fold) * 0xC2B2AE3D27D4EB4Fu;
    return (uint32_t)((mix + len) * 0x9E3779B97F4A7C15u >> 40);
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static bool same(struct bytes text, struct ends ends, unsigned word)
{
    if ((((ends.first ^ keys[word].first) & ~cases[word].first) |
         ((ends.last ^ keys[word].last) & ~cases[word].last)) != 0)
        return false;
    for (size_t i = 8; i + 8 < text.len; i++)
        if (lower(text.at[i]) != (uint8_t)entries[word].name[i])
            return false;
    return true;
}

static void fill_word(unsigned word)
{
    const struct entry *e = &entries[word];
    uint8_t letters[LONGEST_BYTES];
    assert(e->len <= LONGEST_BYTES);
    sql_word_lengths[e->name[0] & 31][e->name[1] & 31] |= 1u << e->len;
    for (size_t i = 0; i < e->len; i++)
        letters[i] = e->name[i] >= 'a' && e->name[i] <= 'z' ? 0x20 : 0;
    keys[word] = ends_of(bytes_of(e->name, e->len));
    cases[word] = ends_of(bytes_of(letters, e->len));
    uint32_t h = hash(keys[word], e->len);
    uint32_t at = h % SLOTS;
    while (slots[at].len != 0)
        at = (at + 1) % SLOTS;
    slots[at] = (struct slot){.word = (uint16_t)word, .len = e->len, .tag = (uint8_t)(h >> 16)};
}

/* Before main(), so that no lookup ever meets a half-filled table and none needs a lock. */
__attribute__((constructor)) static void fill(void)
{
    for (unsigned word = W_none + 1; word < SQL_WORD_COUNT; word++)
        fill_word(word);
}

enum sql_word sql_word_find(struct bytes text)
{
    if (!sql_word_may_be(text))
        return W_none;
    struct ends ends = ends_of(text);
    uint32_t h = hash(ends, text.len);
    for (uint32_t at = h % SLOTS; slots[at].len != 0; at = (at + 1) % SLOTS)
        if (slots[at].len == text.len && slots[at].tag == (uint8_t)(h >> 16) &&
            same(text, ends, slots[at].word))
            return slots[at].word;
    return W_none;
}

enum sql_call sql_word_call(enum sql_word word)
{
    return entries[word].call;
}

bool sql_word_is_tight(enum sql_word word)
{
    return entries[word].glue == TIGHT;
}

bool sql_function_is_plain(struct bytes name)
{
    return entries[sql_word_find(name)].call == SQL_CALL_PLAIN;
}
