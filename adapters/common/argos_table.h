//  argos_table - the cells of a table, and the two ways to show them as text.

#ifndef ARGOS_TABLE_H
#define ARGOS_TABLE_H

#include "argos_text.h"

#include <stdbool.h>

//  Is it the line below the header of a table: |---|:--:| and so on?
bool argos_table_is_rule (const char *line, size_t size);

typedef struct {
    char **cells;   //  Row by row, the header first
    size_t count;   //  Cells
    size_t columns; //  Cells of a row
} argos_table_t;

//  Adds a cell: a copy of the text, its line breaks as blanks.
void argos_table_add (argos_table_t *self, const char *text);

//  The columns that it is wide as a block, with two blanks between them.
size_t argos_table_width (const argos_table_t *self);

//  Appends it as aligned columns, a line below the header.
void argos_table_block (const argos_table_t *self, argos_text_t *target);

//  Appends one row as a list: its first cell, then a bullet, header and value for each other one.
//  ret_first: bytes of the first cell.
void argos_table_item (
    const argos_table_t *self, size_t row, argos_text_t *target, size_t *ret_first);

//  Frees the cells. NULL-safe, idempotent.
void argos_table_clear (argos_table_t *self);

#endif
