//  argos_schema - JSON Schema files compiled to tables at start; the one check at every border.
//
//  Supported keywords: see schema/README.md; any other keyword refuses to compile. Thread-safe
//  after argos_schema_init.

#ifndef ARGOS_SCHEMA_H
#define ARGOS_SCHEMA_H

#include "argos_errors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct argos_schema argos_schema_t; //  One compiled schema

//  Compiles all embedded schemas. Call once in main before threads. Returns 0, or -1 with a
//  sentence in reason (>= 256 bytes).
int argos_schema_init (char *reason);

//  Frees the tables (for leak checkers), at the end of main.
void argos_schema_term (void);

//  Whether a message type has a schema.
bool argos_schema_known (const char *type);

//  Checks a body against the schema of its type. ARGOS_OK, ARGOS_UNKNOWN_TYPE or ARGOS_INVALID with
//  a sentence that names the place ("source.platform: expected a string of at most 32 bytes") in
//  reason (size bytes).
argos_err_t argos_schema_check (const char *type, const json_t *body, char *reason, size_t size);

//  The same from bytes: parses (no duplicates, depth <= 64; characters that don't exist become
//  U+FFFD) and checks. *ret_body is new on ARGOS_OK. Size 0 means {}.
argos_err_t argos_schema_parse (const char *type, const void *data, size_t size, json_t **ret_body,
    char *reason, size_t reason_size);

//  Lower level, for the configuration and for tests.
argos_schema_t *argos_schema_compile (const json_t *schema, char *reason, size_t size);
void argos_schema_destroy (argos_schema_t **self_p);
//  Called for each problem: path is dotted ("http.port"), unknown is true for a member that is not
//  in the schema; expected is then the name that was probably meant, or "".
typedef void (argos_schema_problem_fn) (
    void *arg, const char *path, const char *expected, bool unknown);
//  Returns the number of problems.
int argos_schema_validate (
    const argos_schema_t *self, const json_t *value, argos_schema_problem_fn *fn, void *arg);

#endif
