//  argos_view - what all views need. Pure.

#include "argos_view.h"

#include <stdlib.h>
#include <string.h>

void
argos_view_frame (argos_text_t *out, const char *event, json_t *body)
{
    char *text = json_dumps (body, JSON_COMPACT | JSON_REAL_PRECISION (13));
    json_decref (body);
    if (!text)
        return;
    if (event) {
        (void) argos_text_add (out, "event: ", 7);
        (void) argos_text_add (out, event, strlen (event));
        (void) argos_text_add (out, "\n", 1);
    }
    (void) argos_text_add (out, "data: ", 6);
    (void) argos_text_add (out, text, strlen (text));
    (void) argos_text_add (out, "\n\n", 2);
    free (text);
}

void
argos_view_clear (argos_view_t *self)
{
    if (self->class)
        self->class->destroy (self->self);
    *self = (argos_view_t){ .class = NULL };
}
