//  argos_rehearsal_script - what the rehearsal provider answers to a chat completion request.
//
//  Pure and deterministic: the same requests in the same order get the same answers. The last user
//  message decides:
//      !tool NAME {json}   asks for that tool call (one a line); the tool's result is then echoed
//      !slow N [MS]        N tokens (at most 100,000), one each MS msec (50)
//      !fail CODE          that HTTP status once; the next request with the same text succeeds
//      !hang               accepted, and then silence
//      !html               status 200 with a web page
//      !cut                an event stream that breaks off in the middle of a line
//      !big N              N bytes of text (at most 8 MiB)
//      !say TEXT           exactly that text
//      anything else       "You said: ..."

#ifndef ARGOS_REHEARSAL_SCRIPT_H
#define ARGOS_REHEARSAL_SCRIPT_H

#include "argos_text.h"

#include <stdbool.h>

#define ARGOS_REHEARSAL_TOKEN_MS 50 //  Pace of !slow without a number of its own

typedef struct argos_rehearsal_script argos_rehearsal_script_t; //  Remembers what has failed once

typedef enum {
    ARGOS_REHEARSAL_WHOLE, //  Send the text, done
    ARGOS_REHEARSAL_SLOW,  //  Send the text, then `tokens` tokens at their pace, then the tail
    ARGOS_REHEARSAL_CUT,   //  Send the text, then break the connection
    ARGOS_REHEARSAL_HANG   //  Send nothing
} argos_rehearsal_pace_t;

typedef struct {
    argos_rehearsal_pace_t pace; //  How it is sent
    int status;                  //  HTTP status
    const char *content_type;    //  Static
    argos_text_t text;           //  Body, or its beginning
    argos_text_t tail;           //  Slow: the end of the body
    int64_t tokens;              //  Slow: tokens between the two,
    int64_t token_ms;            //  and msec from one to the next
} argos_rehearsal_reply_t;

argos_rehearsal_script_t *argos_rehearsal_script_new (void);
void argos_rehearsal_script_destroy (argos_rehearsal_script_t **self_p);

//  Answers a request body. Fills *reply, whose texts are the caller's to clear.
void argos_rehearsal_script_answer (
    argos_rehearsal_script_t *self, const char *body, size_t size, argos_rehearsal_reply_t *reply);

//  Token number n (from 0) of a slow answer, as an event.
void argos_rehearsal_script_token (int64_t n, argos_text_t *target);

void argos_rehearsal_reply_clear (argos_rehearsal_reply_t *reply);

#endif
