//  argos_store_hermes - reads the state.db of a Hermes agent, schema 14 to 30, as lines for an
//  import.
//
//  Columns are looked for by name, not by the number of the schema. The file is never written to,
//  and not read while a process has it open: then, or to bring in a log that nobody has, a copy is
//  used.

#ifndef ARGOS_STORE_HERMES_H
#define ARGOS_STORE_HERMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ARGOS_STORE_HERMES_REASON 512 //  Bytes of a reason

//  One line, borrowed: {"session":{...,"usage":[...]}}, {"message":{...}}, {"route":{"session_id",
//  "source"}} (without a key), {"skipped":{"what","id","why"}}. False ends the reading.
typedef bool (argos_store_hermes_line_t) (void *arg, json_t *line);

typedef struct {
    int64_t schema;             //  As the file says, 0 = it does not
    int64_t sessions, messages; //  Lines of each
    int64_t routes;             //  The same
    int64_t skipped;            //  What was left out, or cut
} argos_store_hermes_report_t;

//  Reads all of it; given is its path, or that of a link to it. scratch is the path of a file that
//  may be made for a copy; it is gone at the end. Returns 0; or -1 with a sentence in reason.
int argos_store_hermes_read (const char *given, const char *scratch,
    argos_store_hermes_line_t *line, void *arg, argos_store_hermes_report_t *report, char *reason);

#endif
