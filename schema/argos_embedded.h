//  argos_embedded - the files of schema/ that every program carries inside: schemas, errors, limits
//  and SQL.
//
//  Read-only, static, sorted by name; made by the build from *.schema.json (without what only
//  people read: descriptions, titles, indents), errors.json, limits.json, sql/*.sql and
//  argos.example.yaml.

#ifndef ARGOS_EMBEDDED_H
#define ARGOS_EMBEDDED_H

#include <stddef.h>

typedef struct {
    const char *name; //  Path below schema/, such as "sql/0001-queue.sql"
    const char *data; //  The bytes, followed by a NUL that is not counted
    size_t size;      //  How many
} argos_embedded_t;

//  All files, and behind them one with name NULL
extern const argos_embedded_t argos_embedded_files[];

//  How many, without the last
extern const size_t argos_embedded_count;

//  The file of that name, or NULL. Borrowed, static.
const argos_embedded_t *argos_embedded_find (const char *name);

#endif
