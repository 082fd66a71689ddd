/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of the command phase: their names, and the shape of the reply that each one gets.
 * One table. */
#ifndef SLUICE_PROTOCOL_MYSQL_COMMAND_H
#define SLUICE_PROTOCOL_MYSQL_COMMAND_H

#include "protocol/wire.h"

/* What comes back. */
enum mysql_reply_shape {
    MYSQL_REPLY_NONE,    /* nothing at all: COM_QUIT, COM_STMT_CLOSE, COM_STMT_SEND_LONG_DATA */
    MYSQL_REPLY_SIMPLE,  /* one OK, EOF or ERR */
    MYSQL_REPLY_STRING,  /* one packet of text, or ERR: COM_STATISTICS */
    MYSQL_REPLY_QUERY,   /* results: OK, ERR, rows, infile request; several under MORE_RESULTS */
    MYSQL_REPLY_PREPARE, /* COM_STMT_PREPARE_OK, parameters, columns */
    MYSQL_REPLY_FETCH,   /* rows to their end: COM_STMT_FETCH */
    MYSQL_REPLY_FIELDS,  /* column definitions to their end: COM_FIELD_LIST */
};

enum mysql_command {
    MYSQL_COM_SLEEP = 0x00,
    MYSQL_COM_QUIT = 0x01,
    MYSQL_COM_INIT_DB = 0x02,
    MYSQL_COM_QUERY = 0x03,
    MYSQL_COM_FIELD_LIST = 0x04,
    MYSQL_COM_CREATE_DB = 0x05,
    MYSQL_COM_DROP_DB = 0x06,
    MYSQL_COM_REFRESH = 0x07,
    MYSQL_COM_SHUTDOWN = 0x08,
    MYSQL_COM_STATISTICS = 0x09,
    MYSQL_COM_PROCESS_INFO = 0x0A,
    MYSQL_COM_CONNECT = 0x0B,
    MYSQL_COM_PROCESS_KILL = 0x0C,
    MYSQL_COM_DEBUG = 0x0D,
    MYSQL_COM_PING = 0x0E,
    MYSQL_COM_TIME = 0x0F,
    MYSQL_COM_DELAYED_INSERT = 0x10,
    MYSQL_COM_CHANGE_USER = 0x11,
    MYSQL_COM_BINLOG_DUMP = 0x12,
    MYSQL_COM_TABLE_DUMP = 0x13,
    MYSQL_COM_CONNECT_OUT = 0x14,
    MYSQL_COM_REGISTER_REPLICA = 0x15,
    MYSQL_COM_STMT_PREPARE = 0x16,
    MYSQL_COM_STMT_EXECUTE = 0x17,
    MYSQL_COM_STMT_SEND_LONG_DATA = 0x18,
    MYSQL_COM_STMT_CLOSE = 0x19,
    MYSQL_COM_STMT_RESET = 0x1A,
    MYSQL_COM_SET_OPTION = 0x1B,
    MYSQL_COM_STMT_FETCH = 0x1C,
    MYSQL_COM_DAEMON = 0x1D,
    MYSQL_COM_BINLOG_DUMP_GTID = 0x1E,
    MYSQL_COM_RESET_CONNECTION = 0x1F,
};

struct mysql_command_info {
    const char *name; /* "COM_QUERY"; NULL for a number without a meaning */
    enum mysql_reply_shape shape;
    bool served; /* false: refused with 1235 (replication, internal, obsolete) or 1047 when it has
                    no name */
};

/* Never NULL; any byte. */
const struct mysql_command_info *mysql_command_info(uint8_t command);

#endif
