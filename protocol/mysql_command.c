/* SPDX-License-Identifier: Apache-2.0
 *
 * See mysql_command.h. ("Command Phase" of the protocol documentation.) */
#include "protocol/mysql_command.h"

#define SERVED(command, shape_) [MYSQL_##command] = {#command, MYSQL_REPLY_##shape_, true}
#define REFUSED(command)        [MYSQL_##command] = {#command, MYSQL_REPLY_SIMPLE, false}

static const struct mysql_command_info COMMANDS[256] = {
    /* clang-format off */
    REFUSED(COM_SLEEP),
    SERVED(COM_QUIT, NONE),
    SERVED(COM_INIT_DB, SIMPLE),
    SERVED(COM_QUERY, QUERY),
    SERVED(COM_FIELD_LIST, FIELDS),
    REFUSED(COM_CREATE_DB),
    REFUSED(COM_DROP_DB),
    SERVED(COM_REFRESH, SIMPLE),
    REFUSED(COM_SHUTDOWN),
    SERVED(COM_STATISTICS, STRING),
    SERVED(COM_PROCESS_INFO, QUERY), /* MariaDB; MySQL 9 answers 1047 */
    REFUSED(COM_CONNECT),
    SERVED(COM_PROCESS_KILL, SIMPLE),
    SERVED(COM_DEBUG, SIMPLE),
    SERVED(COM_PING, SIMPLE),
    REFUSED(COM_TIME),
    REFUSED(COM_DELAYED_INSERT),
    SERVED(COM_CHANGE_USER, SIMPLE), /* after the exchange of authentication packets */
    REFUSED(COM_BINLOG_DUMP),
    REFUSED(COM_TABLE_DUMP),
    REFUSED(COM_CONNECT_OUT),
    REFUSED(COM_REGISTER_REPLICA),
    SERVED(COM_STMT_PREPARE, PREPARE),
    SERVED(COM_STMT_EXECUTE, QUERY),
    SERVED(COM_STMT_SEND_LONG_DATA, NONE),
    SERVED(COM_STMT_CLOSE, NONE),
    SERVED(COM_STMT_RESET, SIMPLE),
    SERVED(COM_SET_OPTION, SIMPLE),
    SERVED(COM_STMT_FETCH, FETCH),
    REFUSED(COM_DAEMON),
    REFUSED(COM_BINLOG_DUMP_GTID),
    SERVED(COM_RESET_CONNECTION, SIMPLE),
    /* clang-format on */
};

const struct mysql_command_info *mysql_command_info(uint8_t command)
{
    return &COMMANDS[command];
}
