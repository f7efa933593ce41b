//  argos_rows - see argos_rows.h.
//
//  Invariant: what comes from the broker is printed without control characters. Limits: CELL bytes
//  of a cell, LINE bytes of a line.

#include "argos_rows.h"

#include "argos_cli.h"

#include <stdlib.h>
#include <string.h>

#define CELL 32  //  Bytes of a number as text
#define LINE 512 //  Bytes of a line

typedef enum { TEXT, COUNT, BYTES, AGE } kind_t;

typedef struct {
    const char *title;  //  Head
    const char *member; //  Of a row
    const char *rate;   //  Of a row, when live; NULL = the same
    int width;          //  Bytes
    kind_t kind;        //  How it is shown
} column_t;

static const column_t peers[] = {
    { "PEER", "name", NULL, 28, TEXT },
    { "ROLE", "role", NULL, 14, TEXT },
    { "VIA", "via", NULL, 6, TEXT },
    { "LEASES", "leases", NULL, 6, COUNT },
    { "CREDIT", "credit", NULL, 6, COUNT },
    { "WINDOW", "window_used", NULL, 6, COUNT },
    { "IN", "in_messages", "in_messages_s", 7, COUNT },
    { "OUT", "out_messages", "out_messages_s", 7, COUNT },
    { "IN B", "in_bytes", "in_bytes_s", 7, BYTES },
    { "OUT B", "out_bytes", "out_bytes_s", 7, BYTES },
    { "IDLE", "idle_ms", NULL, 6, AGE },
    { "MUTED", "muted", NULL, 5, TEXT },
    { "DRAINED", "drained", NULL, 7, TEXT },
    { "BUILD", "build", NULL, 24, TEXT },
    { NULL, NULL, NULL, 0, TEXT },
};

static const column_t services[] = {
    { "SERVICE", "name", NULL, 28, TEXT },
    { "WAITING", "waiting", NULL, 7, COUNT },
    { "OLDEST", "oldest_ms", NULL, 7, AGE },
    { "LEASED", "leased", NULL, 6, COUNT },
    { "ASKED", "requests", NULL, 6, COUNT },
    { "WORKERS", "workers", NULL, 7, COUNT },
    { "SLOTS", "slots", NULL, 6, COUNT },
    { "IN", "in", "in_s", 7, COUNT },
    { "DONE", "done", "done_s", 7, COUNT },
    { "REFUSED", "refused", "refused_s", 7, COUNT },
    { "PAUSED", "paused", NULL, 6, TEXT },
    { NULL, NULL, NULL, 0, TEXT },
};

//  ------------------------------------------------------------------------------------------------
//  Cells

//  12345 as 12k, 12345678 as 12M

static void
s_scaled (char cell[CELL], int64_t value)
{
    static const char units[] = " kMGTP";
    size_t unit = 0;
    while ((value >= 100000 || value <= -100000) && units[unit + 1]) {
        value /= 1000;
        unit++;
    }
    snprintf (cell, CELL, unit ? "%lld%c" : "%lld", (long long) value, units[unit]);
}

static void
s_age (char cell[CELL], int64_t ms)
{
    static const struct {
        int64_t ms;       //  One of them
        const char *unit; //  Name
    } units[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
    size_t unit = 0;
    while (unit < 4 && ms < 2 * units[unit].ms)
        unit++;
    snprintf (cell, CELL, "%lld%s", (long long) (ms / units[unit].ms), units[unit].unit);
}

//  Returns the text of a cell, borrowed until the next ones.

static const char *
s_cell (char cell[CELL], const json_t *row, const column_t *column, bool live)
{
    const char *member = live && column->rate ? column->rate : column->member;
    int64_t value = json_integer_value (json_object_get (row, member));
    if (column->kind == TEXT || !json_is_integer (json_object_get (row, member)))
        return argos_cli_text (row, member);
    if (column->kind == AGE)
        s_age (cell, value);
    else
        s_scaled (cell, value);
    return cell;
}

static void
s_line (FILE *out, const char *line, size_t width)
{
    size_t size = strlen (line);
    while (size && line[size - 1] == ' ')
        size--;
    fprintf (out, "%.*s\n", (int) (size < width ? size : width), line);
}

//  A column is shown when some row has it.

static bool
s_shown (const json_t *list, const column_t *column)
{
    size_t i;
    json_t *row;
    json_array_foreach (list, i, row)
        if (json_object_get (row, column->member))
            return true;
    return json_array_size (list) == 0;
}

static void
s_row (FILE *out, const json_t *list, const json_t *row, const column_t *columns, bool live,
    size_t width)
{
    char line[LINE], cell[CELL];
    size_t used = 0;
    for (const column_t *column = columns; column->title; column++) {
        if (!s_shown (list, column))
            continue;
        const char *text = row ? s_cell (cell, row, column, live) : column->title;
        int wide = column->kind == TEXT ? -column->width : column->width;
        int size = snprintf (line + used, sizeof line - used, "%*.*s ", wide, column->width, text);
        used += (size_t) size;
    }
    line[used < sizeof line ? used : sizeof line - 1] = 0;
    s_line (out, line, width);
}

static void
s_table (
    FILE *out, const json_t *list, const column_t *columns, bool live, size_t rows, size_t width)
{
    size_t i;
    json_t *row;
    s_row (out, list, NULL, columns, live, width);
    json_array_foreach (list, i, row)
        if (i < rows)
            s_row (out, list, row, columns, live, width);
}

void
argos_rows_peers (FILE *out, const json_t *list, bool live, size_t rows, size_t width)
{
    s_table (out, list, peers, live, rows, width);
}

void
argos_rows_services (FILE *out, const json_t *list, bool live, size_t rows, size_t width)
{
    s_table (out, list, services, live, rows, width);
}

//  ------------------------------------------------------------------------------------------------
//  Order and rates

typedef struct {
    json_t *row;      //  Borrowed
    const char *name; //  Of it
    json_int_t value; //  That it is sorted by
} sorted_t;

static int
s_compare (const void *left, const void *right)
{
    const sorted_t *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return strcmp (a->name, b->name);
}

json_t *
argos_rows_sorted (const json_t *list, const char *member)
{
    size_t count = json_array_size (list);
    json_t *copy = json_array ();
    sorted_t *rows = calloc (count + 1, sizeof *rows);
    if (!rows)
        abort ();
    for (size_t i = 0; i < count; i++) {
        const char *name;
        rows[i].row = json_array_get (list, i);
        name = json_string_value (json_object_get (rows[i].row, "name"));
        rows[i].name = name ? name : "";
        rows[i].value = json_integer_value (json_object_get (rows[i].row, member));
    }
    qsort (rows, count, sizeof *rows, s_compare);
    for (size_t i = 0; i < count; i++)
        json_array_append (copy, rows[i].row);
    free (rows);
    return copy;
}

static const json_t *
s_find (const json_t *list, const char *name)
{
    size_t i;
    json_t *row;
    json_array_foreach (list, i, row) {
        const char *other = json_string_value (json_object_get (row, "name"));
        if (name && other && strcmp (name, other) == 0)
            return row;
    }
    return NULL;
}

static void
s_rates (json_t *list, const json_t *before, const column_t *columns, json_int_t ms)
{
    size_t i;
    json_t *row;
    json_array_foreach (list, i, row) {
        const json_t *old = s_find (before, json_string_value (json_object_get (row, "name")));
        for (const column_t *column = columns; column->title; column++) {
            json_int_t now = json_integer_value (json_object_get (row, column->member));
            json_int_t then = json_integer_value (json_object_get (old, column->member));
            if (column->rate && ms > 0 && (!before || old))
                json_object_set_new (
                    row, column->rate, json_integer (now > then ? (now - then) * 1000 / ms : 0));
        }
    }
}

void
argos_rows_rates (json_t *stats, const json_t *before)
{
    json_int_t ms = json_integer_value (json_object_get (stats, "uptime_ms")) -
                    json_integer_value (json_object_get (before, "uptime_ms"));
    s_rates (json_object_get (stats, "peers"), json_object_get (before, "peers"), peers, ms);
    s_rates (
        json_object_get (stats, "services"), json_object_get (before, "services"), services, ms);
}
