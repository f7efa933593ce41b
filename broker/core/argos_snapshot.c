//  argos_snapshot - the settings that nodes take over, as argosd has given them: answered to who
//  asks, and an entry of topic:config.snapshot each time they are others.
//
//  Invariant: the entry is a passing key frame, and each start publishes one: so a reader from 0
//  gets the newest at once, and one that was cut off gets it when it is back. Limit: that of a
//  part.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "{\"type\":\"config.snapshot\",\"to\":\"topic:config.snapshot\",\"keyframe\":true}";

static void
s_publish (argos_core_t *self)
{
    argos_header_t header;
    json_t *body = json_pack ("{s:O}", "settings", self->snapshot);
    char *text = json_dumps (body, JSON_COMPACT);
    json_decref (body);
    assert (text && strlen (text) <= ARGOS_PART_MAX);
    argos_frame_t *frames[4] = { self->magic, argos_frame_new (head, sizeof head - 1), self->empty,
        argos_frame_new (text, strlen (text)) };
    free (text);
    argos_err_t code = argos_header_read (frames[1]->data, frames[1]->size, &header, NULL);
    assert (code == ARGOS_OK);
    (void) code;
    argos_topic_publish (self->self, &header, frames);
    argos_frame_unref (&frames[1]);
    argos_frame_unref (&frames[3]);
}

void
argos_core_snapshot (argos_core_t *self, const char *text)
{
    json_t *snapshot = json_loads (text, 0, NULL);
    assert (json_is_object (snapshot)); //  Our own process has made it
    bool same = self->snapshot && json_equal (self->snapshot, snapshot);
    json_decref (self->snapshot);
    self->snapshot = snapshot;
    if (!same)
        s_publish (self);
}

json_t *
argos_snapshot_answer (session_t *session, json_t *asked)
{
    (void) asked;
    json_t *snapshot = session->core->snapshot;
    return snapshot ? json_pack ("{s:O}", "settings", snapshot) : NULL;
}
