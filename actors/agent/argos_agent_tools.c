//  argos_agent_tools - the tools that are offered to the model, and who may have them run.
//
//  Invariant: a list that was told is not changed; another one takes its place.

#include "argos_agent_priv.h"
#include "argos_intent.h"
#include "argos_setting.h"

#include <string.h>

static void
s_on_changed (void *arg)
{
    agent_t *self = (agent_t *) arg;
    json_decref (self->tools);
    self->tools = json_incref (argos_toolset_told (argos_registry_set (self->registry)));
}

void
agent_follow_tools (agent_t *self)
{
    self->registry = argos_registry_new (self->peer, s_on_changed, self);
    s_on_changed (self);
}

void
agent_leave_tools (agent_t *self)
{
    argos_registry_destroy (&self->registry);
    json_decref (self->tools);
    json_decref (self->limited);
    json_decref (self->limited_of);
    self->tools = self->limited = self->limited_of = NULL;
}

bool
agent_tool_known (const agent_t *self, const char *name)
{
    return argos_toolset_find (argos_registry_set (self->registry), name) != NULL;
}

const char *
agent_tool_names (const agent_t *self)
{
    return argos_toolset_names (argos_registry_set (self->registry));
}

bool
agent_tool_flag (const agent_t *self, const char *name, const char *flag)
{
    return argos_toolset_flag (
        argos_toolset_find (argos_registry_set (self->registry), name), flag);
}

static bool
s_is (const turn_t *self, const char *flag)
{
    return json_is_true (json_object_get (self->body, flag));
}

static json_t *
s_allowed (const turn_t *self)
{
    agent_t *agent = self->agent;
    json_t *told = json_object_get (self->prompt, "tools");
    if (!s_is (self, "restricted"))
        return told;
    if (agent->limited_of != told) {
        json_decref (agent->limited);
        json_decref (agent->limited_of);
        agent->limited_of = json_incref (told);
        agent->limited = argos_toolset_limited (argos_registry_set (agent->registry), told);
    }
    return agent->limited;
}

//  All, or with `tools.retrieval` those that the message may need.

json_t *
turn_tools (turn_t *self)
{
    json_t *allowed = s_allowed (self);
    const char *retrieval = argos_setting_text (self->settings, NULL, NULL, "tools.retrieval");
    if (!retrieval || strcmp (retrieval, "on") != 0)
        return allowed;
    argos_intent_t intent;
    argos_intent_read (&intent, self->rows);
    json_decref (self->chosen);
    self->chosen = argos_intent_tools (&intent, allowed);
    return json_array_size (self->chosen) ? self->chosen : NULL;
}

argos_repeats_call_t
turn_repeats (const turn_t *self, const tool_t *tool)
{
    return (argos_repeats_call_t){ .rows = self->rows,
        .run_id = self->run_id,
        .tool = tool->name,
        .arguments = tool->arguments,
        .mutates = agent_tool_flag (self->agent, tool->name, "mutates") };
}

//  With agent.loop_stop what has led nowhere so often is not run any more
static void
s_stop_loop (const turn_t *self, tool_t *tool)
{
    char words[200];
    if (tool->result || !argos_setting_bool (self->settings, NULL, NULL, "agent.loop_stop"))
        return;
    argos_repeats_call_t call = turn_repeats (self, tool);
    argos_repeats_t seen = argos_repeats_before (&call);
    if (argos_repeats_refusal (&seen, tool->name, words, sizeof words))
        tool_set_result (tool, tool_result ("blocked", words));
}

void
turn_check_tool (const turn_t *self, tool_t *tool)
{
    const argos_toolset_t *set = argos_registry_set (self->agent->registry);
    const json_t *row = argos_toolset_find (set, tool->name);
    const char *refusal = argos_toolset_refusal (
        set, tool->name, s_is (self, "restricted"), s_is (self, "read_only"));
    argos_toolset_coerce (json_object_get (row, "parameters"), tool->arguments);
    if (refusal)
        tool_set_result (tool, tool_result ("blocked", refusal));
    s_stop_loop (self, tool);
}
