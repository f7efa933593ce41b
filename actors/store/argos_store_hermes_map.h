//  argos_store_hermes_map - a row of Hermes as what it is here. Pure: rows in, JSON out.

#ifndef ARGOS_STORE_HERMES_MAP_H
#define ARGOS_STORE_HERMES_MAP_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//  What is to be told of a row: why it was left out, or what was left out of it

typedef struct {
    const char *why; //  Static, NULL = nothing
    bool cut;        //  A text was too long
} argos_store_hermes_note_t;

//  The columns in the order in which the functions below take them
extern const char *const argos_store_hermes_session_columns[];
extern const char *const argos_store_hermes_message_columns[];
extern const char *const argos_store_hermes_usage_columns[];
extern const size_t argos_store_hermes_session_count, argos_store_hermes_message_count,
    argos_store_hermes_usage_count;

#define ARGOS_STORE_HERMES_TEXT 262144       //  Bytes of a text
#define ARGOS_STORE_HERMES_TIME 4102444800.0 //  Seconds: a time behind 2100 is none

//  When the messages of a session are from

typedef struct {
    int64_t oldest, newest; //  msec, 0 = none of them has a time
} argos_store_hermes_span_t;

//  Bytes as a string: what is no UTF-8 becomes U+FFFD, a NUL is dropped, what is longer than max is
//  cut (*ret_cut, may be NULL). New.
json_t *argos_store_hermes_text (const char *bytes, size_t size, size_t max, bool *ret_cut);

//  The span of the row that stmt stands on: the oldest time, and the newest.
void argos_store_hermes_span (sqlite3_stmt *stmt, argos_store_hermes_span_t *span);

//  The session that stmt stands on, new; NULL when it can't be used. continued: its parent ended by
//  compression. span for times that the row does not have.
json_t *argos_store_hermes_session (sqlite3_stmt *stmt, bool continued,
    const argos_store_hermes_span_t *span, argos_store_hermes_note_t *note);

//  The counters in the row of a session, as usage, when there are any. session is what was made of
//  the row.
void argos_store_hermes_own_usage (sqlite3_stmt *stmt, const json_t *session, json_t *list);

//  The message that stmt stands on, new; NULL when it can't be used. started_at for a time that is
//  none.
json_t *argos_store_hermes_message (
    sqlite3_stmt *stmt, int64_t started_at, argos_store_hermes_note_t *note);

//  The usage row of a session that stmt stands on, new; NULL when it names no model.
json_t *argos_store_hermes_usage (sqlite3_stmt *stmt, const json_t *session);

//  An entry of the routing, as session_id and source, new; NULL when it can't be used.
json_t *argos_store_hermes_route (const json_t *entry, argos_store_hermes_note_t *note);

#endif
