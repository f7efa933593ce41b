//  argos_view - another form of the events of a run than the event stream of the runs API: how an
//  answer of another route is made of them. Pure.

#ifndef ARGOS_VIEW_H
#define ARGOS_VIEW_H

#include "argos_text.h"

#include <jansson.h>

//  What an answer as a whole is

typedef struct {
    unsigned status;      //  Of HTTP
    json_t *body;         //  New
    bool partial, failed; //  For the headers
    const char *error;    //  The same, NULL = all is well; borrowed from the view
} argos_view_answer_t;

//  A form. self is the view; out gets the bytes of an event stream, nothing when the answer comes
//  as a whole.

typedef struct {
    void (*begin) (void *self, argos_text_t *out); //  Before the first event
    void (*event) (
        void *self, const json_t *event, argos_text_t *out); //  The last one brings the end, too
    void (*answer) (void *self, argos_view_answer_t *ret_answer); //  After the last event
    void (*destroy) (void *self);
} argos_view_class_t;

typedef struct {
    const argos_view_class_t *class; //  NULL = there is no view
    void *self;                      //  The view
    bool stream;                     //  As an event stream
} argos_view_t;

//  "data: {...}" and an empty line; event (a name) may be NULL. body is stolen.
void argos_view_frame (argos_text_t *out, const char *event, json_t *body);

//  Frees a view. Idempotent.
void argos_view_clear (argos_view_t *self);

#endif
