//  argos_table - columns are as wide as their widest cell, in cells of a terminal.
//
//  Invariant: every row has `columns` cells; what is missing is empty.

#include "argos_table.h"

#include "argos_unit.h"

#include <utf8proc.h>

#include <stdlib.h>
#include <string.h>

bool
argos_table_is_rule (const char *line, size_t size)
{
    bool bar = false;
    bool dash = false;
    for (size_t at = 0; at < size; at++) {
        bar = bar || line[at] == '|';
        dash = dash || line[at] == '-';
        if (!strchr ("|-: \t", line[at]))
            return false;
    }
    return bar && dash;
}

static size_t
s_wide (const char *text)
{
    size_t size = strlen (text);
    size_t wide = 0;
    size_t next = 0;
    for (size_t at = 0; at < size; at = next) {
        int width = utf8proc_charwidth (argos_unit_next (text, size, at, &next));
        wide += width > 0 ? (size_t) width : 0;
    }
    return wide;
}

void
argos_table_add (argos_table_t *self, const char *text)
{
    char **cells = realloc (self->cells, (self->count + 1) * sizeof *cells);
    char *copy = strdup (text);
    if (!cells || !copy)
        abort ();
    for (char *at = copy; *at; at++)
        if (*at == '\n')
            *at = ' ';
    self->cells = cells;
    self->cells[self->count++] = copy;
}

//  The widths of the columns, in one walk over the cells; new.

static size_t *
s_columns (const argos_table_t *self)
{
    size_t *widths = calloc (self->columns + 1, sizeof *widths);
    if (!widths)
        abort ();
    for (size_t at = 0; at < self->count; at++) {
        size_t wide = s_wide (self->cells[at]), column = at % self->columns;
        widths[column] = wide > widths[column] ? wide : widths[column];
    }
    return widths;
}

size_t
argos_table_width (const argos_table_t *self)
{
    size_t width = 0, *widths = s_columns (self);
    for (size_t column = 0; column < self->columns; column++)
        width += widths[column] + (column ? 2 : 0);
    free (widths);
    return width;
}

static void
s_fill (argos_text_t *target, char with, size_t count)
{
    while (count--)
        argos_text_add (target, &with, 1);
}

void
argos_table_block (const argos_table_t *self, argos_text_t *target)
{
    size_t *widths = s_columns (self);
    for (size_t at = 0; at < self->count; at++) {
        size_t column = at % self->columns;
        argos_text_add (target, self->cells[at], strlen (self->cells[at]));
        if (column + 1 < self->columns) {
            s_fill (target, ' ', widths[column] - s_wide (self->cells[at]) + 2);
            continue;
        }
        s_fill (target, '\n', at + 1 < self->count ? 1 : 0);
        for (size_t line = 0; at + 1 == self->columns && line < self->columns; line++) {
            s_fill (target, '-', widths[line]);
            s_fill (
                target, line + 1 < self->columns ? ' ' : '\n', line + 1 < self->columns ? 2 : 1);
        }
    }
    free (widths);
}

void
argos_table_item (const argos_table_t *self, size_t row, argos_text_t *target, size_t *ret_first)
{
    char *const *cells = self->cells + row * self->columns;
    *ret_first = strlen (cells[0]);
    argos_text_add (target, cells[0], *ret_first);
    for (size_t column = 1; column < self->columns; column++) {
        const char *parts[] = { "\n• ", self->cells[column], ": ", cells[column] };
        for (size_t part = 0; part < 4; part++)
            argos_text_add (target, parts[part], strlen (parts[part]));
    }
}

void
argos_table_clear (argos_table_t *self)
{
    if (!self)
        return;
    for (size_t at = 0; at < self->count; at++)
        free (self->cells[at]);
    free (self->cells);
    *self = (argos_table_t){ 0 };
}
