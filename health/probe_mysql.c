/* SPDX-License-Identifier: Apache-2.0
 *
 * See probe_mysql.h. Any thread. */
#include "health/probe_mysql.h"

#include "protocol/mysql_caps.h"
#include "protocol/mysql_response.h"

enum probe_verdict probe_mysql_judge(struct bytes reply)
{
    struct mysql_result result;
    size_t used_bytes = 0;

    if (reply.len > PROBE_REPLY_MAX_BYTES)
        return PROBE_BROKEN;
    switch (mysql_result_read(reply, &result, &used_bytes)) {
    case WIRE_MORE:
        return PROBE_MORE;
    case WIRE_BAD:
        return PROBE_BROKEN;
    case WIRE_DONE:
        break;
    }
    /* Bytes that answer nothing: this connection is out of step. */
    if (used_bytes != reply.len)
        return PROBE_BROKEN;
    if (result.is_error)
        return PROBE_FAILED;
    /* A probe is one statement. */
    return result.ok.status & MYSQL_STATUS_MORE_RESULTS ? PROBE_BROKEN : PROBE_ALIVE;
}
