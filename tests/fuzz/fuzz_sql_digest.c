/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target for sql_digest. Input: one byte of mode, then the text. Property: a small lexer of
 * its own finds literals and writes others over them, and the digest stays the same: none of their
 * bytes show. It leaves alone what it is not sure of. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/sql_digest.h"
#include "protocol/sql_scan.h"

struct text {
    uint8_t *at;
    size_t len;
    uint32_t mode;
};

static uint8_t byte_at(const struct text *t, size_t i)
{
    return i < t->len ? t->at[i] : 0;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c > 0x7F;
}

/* From its first quote to behind its last; with new content when it is a literal. */
static size_t over_quoted(struct text *t, size_t i, bool literal)
{
    uint8_t quote = t->at[i];
    bool escapes = literal && !(t->mode & SQL_MODE_NO_BACKSLASH_ESCAPES);
    for (i++; i < t->len; i++) {
        if (t->at[i] == quote && byte_at(t, i + 1) != quote)
            return i + 1;
        if (t->at[i] == quote || (t->at[i] == '\\' && escapes))
            i++; /* the next one is content, whatever it is */
        else if (literal)
            t->at[i] = t->at[i] == 'q' ? 'z' : 'q';
    }
    return t->len;
}

static size_t change_digits(struct text *t, size_t i)
{
    for (; i < t->len && is_digit(t->at[i]); i++)
        t->at[i] = t->at[i] == '7' ? '3' : '7';
    return i;
}

/* The digits at a word's front, and those of an exponent or of a hexadecimal number. */
static size_t over_word(struct text *t, size_t i)
{
    uint8_t before = i > 0 ? t->at[i - 1] : 0;
    bool begins = before != '.' && before != '-' && before != '+'; /* not part of a number */
    if (is_digit(t->at[i])) {
        bool hex = begins && t->at[i] == '0' && byte_at(t, i + 1) == 'x';
        i = change_digits(t, i);
        if (begins && byte_at(t, i) == 'e')
            i = change_digits(t, i + 1);
        for (; hex && i < t->len && is_word(t->at[i]); i++)
            (void)change_digits(t, i);
    }
    while (i < t->len && is_word(t->at[i]))
        i++;
    return i;
}

/* Behind the comment; the whole length when what follows cannot be read. */
static size_t over_comment(const struct text *t, size_t i)
{
    if (t->at[i] != '/') {
        const uint8_t *end = memchr(t->at + i, '\n', t->len - i);
        return end ? (size_t)(end - t->at) : t->len;
    }
    bool maria = byte_at(t, i + 2) == 'M' && byte_at(t, i + 3) == '!';
    if (byte_at(t, i + 2) == '!' || maria)
        return t->len;
    const uint8_t *end = memmem(t->at + i + 2, t->len - i - 2, "*/", 2);
    return end ? (size_t)(end - t->at) + 2 : t->len;
}

static bool is_comment(const struct text *t, size_t i)
{
    uint8_t third = byte_at(t, i + 2);
    bool dash = t->at[i] == '-' && byte_at(t, i + 1) == '-' && (third <= ' ' || third == 0x7F);
    return dash || t->at[i] == '#' || (t->at[i] == '/' && byte_at(t, i + 1) == '*');
}

static size_t over_variable(struct text *t, size_t i)
{
    uint8_t c = byte_at(t, i + 1);
    if (c == '@')
        return i + 2;
    if (c == '`' || (c == '"' && (t->mode & SQL_MODE_ANSI_QUOTES)))
        return over_quoted(t, i + 1, false);
    if (c == '\'' || c == '"')
        return over_quoted(t, i + 1, true);
    for (i++; i < t->len && (is_word(t->at[i]) || t->at[i] == '.');)
        i++;
    return i;
}

static void change_literals(struct text *t)
{
    bool ansi = (t->mode & SQL_MODE_ANSI_QUOTES) != 0;
    for (size_t i = 0; i < t->len && t->at[i] != 0;) {
        uint8_t c = t->at[i];
        if (is_comment(t, i))
            i = over_comment(t, i);
        else if (c == '`' || (c == '"' && ansi))
            i = over_quoted(t, i, false);
        else if (c == '\'' || c == '"')
            i = over_quoted(t, i, true);
        else if (c == '@')
            i = over_variable(t, i);
        else if (is_word(c))
            i = over_word(t, i);
        else
            i++;
    }
}

/* With the unsafe charsets nothing may be changed behind the first byte that ends the reading. */
static size_t safe_bytes(const struct text *t)
{
    for (size_t i = 0; (t->mode & SQL_MODE_MULTIBYTE_UNSAFE) && i < t->len; i++)
        if (t->at[i] > 0x7F)
            return i;
    return t->len;
}

static void check_form(const struct sql_digest *d)
{
    assert(d->len <= SQL_DIGEST_TEXT_MAX_BYTES && strlen(d->text) == d->len);
    for (size_t i = 0; i < d->len; i++)
        assert((uint8_t)d->text[i] >= ' ' && d->text[i] != 0x7F);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct sql_digest before;
    struct sql_digest after;
    if (len < 2)
        return 0;
    struct text t = {.at = malloc(len - 1), .len = len - 1, .mode = data[0] & 31};
    assert(t.at);
    memcpy(t.at, data + 1, t.len);
    sql_digest_make(bytes_of(t.at, t.len), t.mode, &before);
    check_form(&before);
    struct text safe = {.at = t.at, .len = safe_bytes(&t), .mode = t.mode};
    change_literals(&safe);
    sql_digest_make(bytes_of(t.at, t.len), t.mode, &after);
    assert(before.hash == after.hash && before.len == after.len);
    assert(memcmp(before.text, after.text, before.len) == 0);
    free(t.at);
    return 0;
}
