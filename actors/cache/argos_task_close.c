//  argos_task_close - see the header.
//
//  Limits: a service with several workers is told once, so one of them hears it.

#include "argos_task_close.h"

#include "argos_log.h"
#include "argos_node.h"

#include <stdio.h>
#include <stdlib.h>

#define TTL_MS 30000 //  Patience with a tool; nobody waits for it

//  Tools of the home of a task

typedef struct {
    argos_peer_t *peer; //  Ours
    char task[257];     //  Which
    json_t *names;      //  Their services
} s_home_t;

static void
s_on_closed (void *arg, const argos_peer_answer_t *answer)
{
    (void) arg;
    if (answer->code != ARGOS_OK && answer->code != ARGOS_GONE)
        argos_log (ARGOS_LOG_INFO, "cache", "task not closed", "code=%s reason=\"%s\"",
            argos_err_name (answer->code), answer->reason);
}

static bool
s_tell (argos_peer_t *peer, const char *service, const char *task)
{
    char to[ARGOS_TO_MAX + 1];
    snprintf (to, sizeof to, "service:%s", service);
    argos_peer_part_t part = { .type = "task.close",
        .to = to,
        .ttl_ms = TTL_MS,
        .body = json_pack ("{s:s}", "task_id", task) };
    return argos_peer_send (peer, &part, s_on_closed, NULL) == ARGOS_OK;
}

//  A task without a home has nothing at any.

static void
s_on_home (void *arg, const argos_peer_answer_t *answer)
{
    s_home_t *self = arg;
    const char *home =
        json_string_value (json_object_get (json_object_get (answer->body, "session"), "home"));
    size_t i;
    json_t *name;
    json_array_foreach (self->names, i, name) {
        char own[ARGOS_NAME_MAX + 1];
        if (answer->code != ARGOS_OK || !home)
            break;
        argos_node_service (json_string_value (name), home, own);
        s_tell (self->peer, own, self->task);
    }
    json_decref (self->names);
    free (self);
}

static void
s_tell_home (argos_peer_t *peer, json_t *names, const char *task)
{
    s_home_t *self = malloc (sizeof *self);
    if (!self)
        abort ();
    *self = (s_home_t){ .peer = peer, .names = names };
    snprintf (self->task, sizeof self->task, "%s", task);
    argos_peer_part_t part = { .type = "session.get",
        .to = "store",
        .ttl_ms = TTL_MS,
        .body = json_pack ("{s:s}", "id", task) };
    if (argos_peer_send (peer, &part, s_on_home, self) == ARGOS_OK)
        return;
    json_decref (names);
    free (self);
}

size_t
argos_task_close (argos_peer_t *peer, const argos_toolset_t *set, const char *task)
{
    size_t index, count = 0;
    json_t *told, *bound = json_array ();
    json_array_foreach (argos_toolset_told (set), index, told) {
        char service[ARGOS_NAME_MAX + 1];
        const char *name = json_string_value (json_object_get (told, "name"));
        const json_t *tool = name ? argos_toolset_find (set, name) : NULL;
        if (!argos_toolset_flag (tool, "close"))
            continue;
        snprintf (service, sizeof service, "tool.%.48s", name);
        if (argos_toolset_flag (tool, "host"))
            json_array_append_new (bound, json_string (service));
        else
            count += s_tell (peer, service, task);
    }
    count += json_array_size (bound);
    if (json_array_size (bound))
        s_tell_home (peer, bound, task);
    else
        json_decref (bound);
    return count;
}
