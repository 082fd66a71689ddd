/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a console command, word by word, and LIKE. Pure: any thread. */
#ifndef SLUICE_PROXY_CONSOLE_TEXT_H
#define SLUICE_PROXY_CONSOLE_TEXT_H

#include "protocol/wire.h"

enum console_word_kind {
    CONSOLE_END,    /* nothing more; also an open quote or comment */
    CONSOLE_WORD,   /* letters, digits and what names, numbers and addresses are made of */
    CONSOLE_STRING, /* '..' or ".." */
    CONSOLE_NAME,   /* `..` */
    CONSOLE_SIGN,   /* one byte of anything else */
};

struct console_word {
    enum console_word_kind kind;
    struct bytes raw;  /* as written */
    struct bytes text; /* without its quotes; escapes in it are left as they are */
};

/* Takes the next word off the front of `left`, over spaces, comments and semicolons. */
struct console_word console_text_next(struct bytes *left);
/* The same without taking it. */
struct console_word console_text_peek(struct bytes left);
/* Is it this word, in any case? `word` is lower case. */
bool console_word_is(const struct console_word *w, const char *word);
/* Takes the next word if it is this one. */
bool console_text_take(struct bytes *left, const char *word);
/* Takes a number, decimal or 0x.., that is the next word. */
bool console_text_number(struct bytes *left, uint64_t *out);
/* Does `text` match the pattern of %, _ and \, in any case of ASCII letters? */
bool console_like(struct bytes text, struct bytes pattern);

#endif
