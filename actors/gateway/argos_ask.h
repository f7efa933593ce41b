//  argos_ask - what an operator asks of the gateway: one row for each type of request. Pure.
//
//  The shell (argos_gateway_ask) asks the questions of the row, then for the answer: a body, or a
//  code with a reason, and what is to be written before it is told. What is written carries the
//  versions that were read: when they are old by then, all of it is done again.

#ifndef ARGOS_ASK_H
#define ARGOS_ASK_H

#include "argos_errors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_ASK_READS 24   //  Questions of a request at most
#define ARGOS_ASK_REASON 128 //  Bytes of a reason, terminated

typedef struct {
    const struct argos_gateway_policy *policy; //  Settings
    const char *id;                            //  Of the request
    const char *from;                          //  Who asks, as authenticated
    const json_t *body;                        //  Of the request, checked by its schema
    const json_t *read[ARGOS_ASK_READS];       //  Results of the questions
    const json_t *missing; //  Addresses that nobody has ever served, found out by trying
    int64_t wall;          //  Msec since 1970
    uint64_t entropy;      //  Random bits, for the key of an audit record
} argos_ask_t;

typedef struct {
    const char *type;   //  Of the request
    const char *result; //  Of the answer
    bool parts;         //  The answer makes parts of a commit, not bodies of record.put
    //  Question number index to the store: its type (static), the body to *ret_body (new). NULL =
    //  that was all.
    const char *(*question) (const argos_ask_t *self, size_t index, json_t **ret_body);
    //  The answer to *ret_reply (new), or a code with a sentence in reason. Appends what is to be
    //  written, bodies of record.put (or parts), to writes; parts only count with ARGOS_OK.
    argos_err_t (*answer) (
        const argos_ask_t *self, json_t **ret_reply, json_t *writes, char reason[ARGOS_ASK_REASON]);
} argos_ask_row_t;

//  The row of a type; NULL = there is none. Static.
const argos_ask_row_t *argos_ask_find (const char *type);

#endif
