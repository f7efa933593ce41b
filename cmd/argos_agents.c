//  argos_agents - `argos agents`: the agents that are kept between turns, and letting one go.
//
//  Each process that has agents has a cache; the broker says which are there.

#include "argos_cli.h"

#include <stdio.h>
#include <string.h>

//  Names of the caches that are connected, new; NULL = the broker could not say.

static json_t *
s_caches (argos_cli_t *self, argos_err_t *ret_code)
{
    json_t *reply = NULL, *names = json_array (), *row;
    size_t index;
    *ret_code = argos_cli_ask (self, "actor:broker", "broker.status", NULL, &reply);
    json_array_foreach (json_object_get (reply, "sessions"), index, row) {
        const char *name = argos_cli_text (row, "name");
        size_t size = strcspn (name, ".@");
        if (size == strlen ("cache") && strncmp (name, "cache", size) == 0)
            json_array_append_new (names, json_string (name));
    }
    json_decref (reply);
    return names;
}

static void
s_print (const json_t *list, bool head)
{
    size_t index;
    json_t *row;
    if (head)
        puts ("AGENT                STATE    TURNS  HITS    BYTES  LAST ACTIVITY        WORKER    "
              "           SESSION");
    json_array_foreach (list, index, row)
        printf ("%-20s %-8s %5lld %5lld %8lld  %-19s  %-20s %s\n", argos_cli_text (row, "agent_id"),
            json_is_true (json_object_get (row, "running")) ? "running" : "idle",
            (long long) json_integer_value (json_object_get (row, "turns")),
            (long long) json_integer_value (json_object_get (row, "hits")),
            (long long) json_integer_value (json_object_get (row, "bytes")),
            argos_cli_time (json_integer_value (json_object_get (row, "last_activity_at"))),
            argos_cli_text (row, "worker"), argos_cli_text (row, "session"));
}

//  Ask one cache; a text of the reply is added to all. Returns its code.

static argos_err_t
s_ask (argos_cli_t *self, const char *name, const char *type, json_t *body, json_t **ret_reply)
{
    char to[160];
    snprintf (to, sizeof to, "actor:%.140s", name);
    return argos_cli_ask (self, to, type, body, ret_reply);
}

static int
s_list (argos_cli_t *self)
{
    argos_err_t code;
    json_t *names = s_caches (self, &code), *name, *all = json_array ();
    size_t index;
    bool head = true;
    json_array_foreach (names, index, name) {
        json_t *reply = NULL;
        code = s_ask (self, json_string_value (name), "agent.list", NULL, &reply);
        if (code != ARGOS_OK)
            break;
        json_object_set (reply, "cache", name);
        json_array_append_new (all, reply);
    }
    if (code == ARGOS_OK && self->json)
        argos_cli_print (json_pack ("{s:O}", "caches", all));
    json_array_foreach (all, index, name) {
        const json_t *agents = json_object_get (name, "agents");
        if (!self->json && code == ARGOS_OK && json_array_size (agents)) {
            s_print (agents, head);
            head = false;
        }
    }
    if (!self->json && code == ARGOS_OK && head)
        puts ("no agent is kept");
    json_decref (names);
    json_decref (all);
    return code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, "agents", code);
}

static int
s_evict (argos_cli_t *self, const char *session)
{
    argos_err_t code;
    json_t *names = s_caches (self, &code), *name;
    size_t index;
    bool evicted = false, running = false;
    json_array_foreach (names, index, name) {
        json_t *reply = NULL;
        code = s_ask (self, json_string_value (name), "agent.evict",
            json_pack ("{s:s}", "session", session), &reply);
        evicted |= json_is_true (json_object_get (reply, "evicted"));
        running |= json_is_true (json_object_get (reply, "running"));
        json_decref (reply);
        if (code != ARGOS_OK)
            break;
    }
    json_decref (names);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "agents evict", code);
    if (self->json)
        argos_cli_print (json_pack ("{s:b, s:b}", "evicted", evicted, "running", running));
    else
        puts (!evicted  ? "no agent is kept for this session"
              : running ? "let go; its turn goes on with what it has"
                        : "let go; the next turn builds a new one");
    return evicted ? CLI_OK : CLI_FAILED;
}

int
argos_command_agents (argos_cli_t *self, int count, char **words)
{
    bool list = count == 0 || (count == 1 && strcmp (words[0], "list") == 0);
    bool evict = count == 2 && strcmp (words[0], "evict") == 0;
    if (!list && !evict)
        return argos_cli_usage (self, "agents list, or agents evict SESSION");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    return list ? s_list (self) : s_evict (self, words[1]);
}
