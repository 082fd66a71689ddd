/* SPDX-License-Identifier: Apache-2.0
 *
 * See mysql_error.h. */
#include "protocol/mysql_error.h"

#include <stdio.h>

#include "protocol/mysql_response.h"

static const struct mysql_error_info ERRORS[] = {
#define X(name, code_, sqlstate_, word_) [MYSQL_ERROR_##name] = {code_, sqlstate_, word_},
    MYSQL_ERRORS(X)
#undef X
};

const struct mysql_error_info *mysql_error_info(enum mysql_error e)
{
    return &ERRORS[e];
}

size_t mysql_error_packet(uint8_t *out, size_t room, uint8_t seq, enum mysql_error e,
                          const char *text)
{
    char message[MYSQL_ERROR_PACKET_MAX_BYTES]; /* more than mysql_err_packet's limit: it does the
                                                   cutting */
    snprintf(message, sizeof(message), "%s%s",
             e == MYSQL_ERROR_ACCESS_DENIED ? "" : "sluice: ", text);
    return mysql_err_packet(out, room, seq, ERRORS[e].code, ERRORS[e].sqlstate,
                            bytes_text(message));
}
