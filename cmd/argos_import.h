//  argos_import - sessions as JSON lines into the running daemon.
//
//  A session is a line {"session":{...,"usage":[...]}}, each of its messages a line
//  {"message":{...}} behind it; {"route":{"key","session_id","source"}} leads a route to a session.
//  `argos sessions export` writes them.

#ifndef ARGOS_IMPORT_H
#define ARGOS_IMPORT_H

#include "argos_cli.h"

#include <stdio.h>

//  What has become of the lines

typedef struct {
    int64_t sessions, messages, routes; //  Brought in
    int64_t present;                    //  Sessions and routes that were there already
    int64_t skipped_count;              //  What was left out
    json_t *skipped;                    //  [{"what","id","why"}], at most 100
} argos_import_report_t;

//  Notes what was left out. why is a sentence.
void argos_import_skip (
    argos_import_report_t *report, const char *what, const char *id, const char *why);

//  Reads all lines of file, which has total bytes, 0 = not known. Returns CLI_OK; or
//  CLI_FAILED after an error has been printed: what was brought in stays, and the same again goes
//  on.
int argos_import_lines (
    argos_cli_t *self, FILE *file, int64_t total, argos_import_report_t *report);

//  Prints the report and frees it.
void argos_import_print (const argos_cli_t *self, argos_import_report_t *report);

#endif
