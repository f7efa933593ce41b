//  argos_store_column - the columns of a row that a statement stands on.
//
//  Invariant: what is given out by pointer is valid until the next row or the end of the statement.

#include "argos_store_priv.h"

#include "argos_json.h"

#include <sqlite3.h>
#include <string.h>

#define STMT(row) ((sqlite3_stmt *) (row))

int64_t
argos_sql_int (argos_sql_row_t *row, int column)
{
    return sqlite3_column_int64 (STMT (row), column);
}

double
argos_sql_real (argos_sql_row_t *row, int column)
{
    return sqlite3_column_double (STMT (row), column);
}

bool
argos_sql_is_null (argos_sql_row_t *row, int column)
{
    return sqlite3_column_type (STMT (row), column) == SQLITE_NULL;
}

bool
argos_sql_is_int (argos_sql_row_t *row, int column)
{
    return sqlite3_column_type (STMT (row), column) == SQLITE_INTEGER;
}

const void *
argos_sql_bytes (argos_sql_row_t *row, int column)
{
    return sqlite3_column_blob (STMT (row), column);
}

const char *
argos_sql_text (argos_sql_row_t *row, int column)
{
    return (const char *) sqlite3_column_text (STMT (row), column);
}

size_t
argos_sql_size (argos_sql_row_t *row, int column)
{
    return (size_t) sqlite3_column_bytes (STMT (row), column);
}

int
argos_sql_width (argos_sql_row_t *row)
{
    return sqlite3_column_count (STMT (row));
}

void
argos_store_text (argos_sql_row_t *row, int column, char *target, size_t size)
{
    const unsigned char *text = sqlite3_column_text (STMT (row), column);
    target[0] = 0;
    if (!text)
        return;
    size_t length = (size_t) sqlite3_column_bytes (STMT (row), column);
    if (length >= size)
        length = size - 1;
    memcpy (target, text, length);
    target[length] = 0;
}

argos_frame_t *
argos_store_frame (argos_sql_row_t *row, int column)
{
    const void *bytes = sqlite3_column_blob (STMT (row), column);
    if (!bytes)
        return NULL;
    return argos_frame_new (bytes, (size_t) sqlite3_column_bytes (STMT (row), column));
}

json_t *
argos_store_json (argos_sql_row_t *row, int column)
{
    const char *text = (const char *) sqlite3_column_text (STMT (row), column);
    if (!text)
        return NULL;
    return argos_json_load (
        text, (size_t) sqlite3_column_bytes (STMT (row), column), JSON_DECODE_ANY, NULL);
}

json_t *
argos_store_string (argos_sql_row_t *row, int column)
{
    const char *text = (const char *) sqlite3_column_text (STMT (row), column);
    if (!text)
        return NULL;
    return json_stringn (text, (size_t) sqlite3_column_bytes (STMT (row), column));
}
