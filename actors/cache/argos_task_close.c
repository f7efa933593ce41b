//  argos_task_close - see the header.
//
//  Limits: a service with several workers is told once, so one of them hears it.

#include "argos_task_close.h"

#include "argos_header.h"
#include "argos_log.h"

#include <stdio.h>

#define TTL_MS 30000 //  Patience with a tool; nobody waits for it

static void
s_on_closed (void *arg, const argos_peer_answer_t *answer)
{
    (void) arg;
    if (answer->code != ARGOS_OK && answer->code != ARGOS_GONE)
        argos_log (ARGOS_LOG_INFO, "cache", "task not closed", "code=%s reason=\"%s\"",
            argos_err_name (answer->code), answer->reason);
}

size_t
argos_task_close (argos_peer_t *peer, const argos_toolset_t *set, const char *task)
{
    size_t index, count = 0;
    json_t *told;
    json_array_foreach (argos_toolset_told (set), index, told) {
        char to[ARGOS_TO_MAX + 1];
        const char *name = json_string_value (json_object_get (told, "name"));
        if (!name || !argos_toolset_flag (argos_toolset_find (set, name), "close"))
            continue;
        snprintf (to, sizeof to, "service:tool.%s", name);
        argos_peer_part_t part = { .type = "task.close",
            .to = to,
            .ttl_ms = TTL_MS,
            .body = json_pack ("{s:s}", "task_id", task) };
        count += argos_peer_send (peer, &part, s_on_closed, NULL) == ARGOS_OK;
    }
    return count;
}
