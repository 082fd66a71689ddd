/* SPDX-License-Identifier: Apache-2.0
 *
 * See console_text.h. */
#include "proxy/console_text.h"

#include <ctype.h>

/* Names, numbers, @@variables, and addresses of servers, IPv6 too. */
static bool is_word_byte(uint8_t c)
{
    return isalnum(c) || c >= 0x80 || (c && strchr("_@$.:/-[]", c));
}

static void skip(struct bytes *b, size_t n)
{
    b->at += n;
    b->len -= n;
}

static bool starts_with(struct bytes b, const char *text)
{
    size_t n = strlen(text);
    return b.len >= n && memcmp(b.at, text, n) == 0;
}

/* Over a comment at the front of `left`; false when there is none. An open one takes the rest. */
static bool skip_comment(struct bytes *left)
{
    bool block = starts_with(*left, "/*");
    bool line = starts_with(*left, "-- ") || starts_with(*left, "#");
    if (!block && !line)
        return false;
    const char *end = block ? "*/" : "\n";
    skip(left, block ? 2 : 1);
    while (left->len && !starts_with(*left, end))
        skip(left, 1);
    if (left->len)
        skip(left, strlen(end));
    return true;
}

/* A quoted word, its quote in hand. */
static struct console_word take_quoted(struct bytes *left)
{
    struct console_word w = {.kind = left->at[0] == '`' ? CONSOLE_NAME : CONSOLE_STRING};
    uint8_t quote = left->at[0];
    size_t n = 1;
    while (n < left->len && left->at[n] != quote)
        n += left->at[n] == '\\' && quote != '`' ? 2 : 1;
    if (n >= left->len) {
        skip(left, left->len);
        return (struct console_word){.kind = CONSOLE_END};
    }
    w.raw = bytes_of(left->at, n + 1);
    w.text = bytes_of(left->at + 1, n - 1);
    skip(left, n + 1);
    return w;
}

struct console_word console_text_next(struct bytes *left)
{
    while (left->len)
        if (isspace(left->at[0]) || left->at[0] == ';')
            skip(left, 1);
        else if (!skip_comment(left))
            break;
    if (!left->len)
        return (struct console_word){.kind = CONSOLE_END};
    if (strchr("'\"`", left->at[0]) && left->at[0])
        return take_quoted(left);
    struct console_word w = {.kind = CONSOLE_WORD};
    size_t n = 0;
    while (n < left->len && is_word_byte(left->at[n]) &&
           !starts_with(bytes_of(left->at + n, left->len - n), "/*"))
        n++;
    if (!n) {
        w.kind = CONSOLE_SIGN;
        n = 1;
    }
    w.raw = w.text = bytes_of(left->at, n);
    skip(left, n);
    return w;
}

struct console_word console_text_peek(struct bytes left)
{
    return console_text_next(&left);
}

bool console_word_is(const struct console_word *w, const char *word)
{
    size_t n = strlen(word);
    if ((w->kind != CONSOLE_WORD && w->kind != CONSOLE_SIGN) || w->text.len != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (tolower(w->text.at[i]) != word[i])
            return false;
    return true;
}

bool console_text_take(struct bytes *left, const char *word)
{
    struct bytes rest = *left;
    struct console_word w = console_text_next(&rest);
    if (!console_word_is(&w, word))
        return false;
    *left = rest;
    return true;
}

bool console_text_number(struct bytes *left, uint64_t *out)
{
    struct bytes rest = *left;
    struct console_word w = console_text_next(&rest);
    uint64_t n = 0;
    bool hex = w.text.len > 2 && w.text.at[0] == '0' && tolower(w.text.at[1]) == 'x';
    unsigned base = hex ? 16 : 10;
    if (w.kind != CONSOLE_WORD || w.text.len > 18)
        return false;
    for (size_t i = hex ? 2 : 0; i < w.text.len; i++) {
        int c = tolower(w.text.at[i]);
        if (!isdigit(c) && !(hex && c >= 'a' && c <= 'f'))
            return false;
        n = n * base + (unsigned)(isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    *left = rest;
    *out = n;
    return true;
}

bool console_like(struct bytes text, struct bytes pattern)
{
    size_t t = 0;
    size_t p = 0;
    size_t after_any = SIZE_MAX; /* behind the last % met; the only place to go back to */
    size_t any_from = 0;         /* what that % has swallowed so far ends here */
    while (t < text.len || p < pattern.len) {
        if (p < pattern.len && pattern.at[p] == '%') {
            after_any = ++p;
            any_from = t;
            continue;
        }
        if (p < pattern.len && t < text.len) {
            bool escaped = pattern.at[p] == '\\' && p + 1 < pattern.len;
            uint8_t c = pattern.at[escaped ? p + 1 : p];
            if ((c == '_' && !escaped) || tolower(c) == tolower(text.at[t])) {
                p += escaped ? 2 : 1;
                t++;
                continue;
            }
        }
        if (after_any == SIZE_MAX || any_from >= text.len)
            return false;
        p = after_any;
        t = ++any_from;
    }
    return true;
}
