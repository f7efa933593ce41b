//  argos_out - entries of topic:out.<platform>.<account>. Pure; the same arguments give the same
//  body.

#include "argos_out.h"

#include <stdio.h>
#include <string.h>

#define SERVICE_PREFIX "deliver."

int
argos_out_topic (const char *service, char *target, size_t size)
{
    *target = 0;
    if (!service || strncmp (service, SERVICE_PREFIX, strlen (SERVICE_PREFIX)) != 0)
        return -1;
    int length = snprintf (target, size, "topic:out.%s", service + strlen (SERVICE_PREFIX));
    if (length > 0 && (size_t) length < size)
        return 0;
    *target = 0;
    return -1;
}

json_t *
argos_out_body (const json_t *source, const char *reply_to, const char *run_id, const char *state,
    const char *delivery)
{
    static const char *const copied[] = { "chat_id", "thread_id" };
    json_t *body = json_pack ("{s:s, s:s}", "turn", run_id, "state", state);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *value = json_object_get (source, copied[i]);
        if (json_is_string (value))
            json_object_set (body, copied[i], value);
    }
    if (reply_to)
        json_object_set_new (body, "reply_to", json_string (reply_to));
    if (delivery)
        json_object_set_new (body, "delivery", json_string (delivery));
    return body;
}
