//  argos_gateway_events - see the header. Invariant: the events depend on message and parts only.

#include "argos_gateway_events.h"

#include "argos_edited.h"
#include "argos_hook_event.h"

#include <string.h>

static void
s_add (json_t *events, const char *name, const json_t *source, const char *session,
    const char *previous)
{
    json_t *event = argos_hook_event_new (name, source);
    argos_hook_event_text (event, "session_id", session);
    argos_hook_event_text (event, "previous", previous);
    json_array_append_new (events, event);
}

json_t *
argos_gateway_events (const argos_gateway_case_t *gateway, const char *session, const json_t *parts)
{
    const json_t *source = gateway->notice ? NULL : json_object_get (gateway->body, "source");
    json_t *events = json_array (), *edited = argos_edited_event (gateway, parts);
    const char *opened = NULL, *ended = NULL;
    for (size_t i = 0; i < json_array_size (parts); i++) {
        const json_t *part = json_array_get (parts, i), *body = json_object_get (part, "body");
        const char *type = json_string_value (json_object_get (part, "type"));
        if (type && strcmp (type, "session.create") == 0)
            opened = json_string_value (json_object_get (body, "id"));
        else if (type && strcmp (type, "route.reset") == 0) {
            opened = json_string_value (json_object_get (body, "id"));
            ended = session;
        }
        else if (type && strcmp (type, "session.end") == 0)
            ended = json_string_value (json_object_get (body, "session_id"));
    }
    if (ended)
        s_add (events, "session:end", source, ended, NULL);
    if (ended && opened)
        s_add (events, "session:reset", source, opened, ended);
    if (opened)
        s_add (events, "session:start", source, opened, NULL);
    if (edited)
        json_array_append_new (events, edited);
    return events;
}
