//  argos_agent_delegate - a call of delegate_task: turns of other sessions whose ends are its
//  result.
//
//  The turns are part of the commit that records the call, and the parent parks until they have
//  ended: each end is a side message to its lane (delegate.result). A batch is a record of the
//  space `delegate`, key "<session>/<id of the call>":
//  {"id","run_id","call_id","deadline","children":
//  [{"run_id","session_id","goal","result"?}]}. Invariant: a result is taken by the commit that
//  puts it into the record, the last one by the commit that stores the result of the call, so each
//  child counts once. What is not there at the deadline is stopped and counts as that.

#include "argos_agent_priv.h"
#include "argos_question.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHILDREN_MAX 8    //  Children of a batch, whatever the settings say
#define CHILDREN 3        //  By default
#define TIMEOUT_S 600     //  Of a batch by default
#define GOAL_MAX 32768    //  Bytes of a goal with its context
#define SUMMARY_MAX 16384 //  Bytes of what a child has to say
#define RECORD_MAX 32768  //  Bytes of a record
#define KEPT_MS 86400000  //  How long a record outlives its deadline

static const char s_task[] =
    "You do one task for another agent, which reads your last message and nothing else. Do it with "
    "the tools that you have; nobody can be asked. At the end say what you have done, what you "
    "have "
    "found, which files have changed, and what is left.";

//  ------------------------------------------------------------------------------------------------
//  The call

//  The list of tasks: `tasks`, as a list or as the JSON text of one, or the one of `goal`; new
static json_t *
s_tasks_new (const json_t *arguments)
{
    json_t *tasks = json_object_get (arguments, "tasks");
    const char *goal = json_string_value (json_object_get (arguments, "goal"));
    const char *text = json_string_value (tasks);
    if (text)
        return json_loads (text, 0, NULL);
    if (json_array_size (tasks))
        return json_incref (tasks);
    return goal ? json_pack ("[{s:s, s:O?}]", "goal", goal, "context",
                      json_object_get (arguments, "context"))
                : NULL;
}

//  "run_" and 32 hex digits that no other child has
static void
s_child_id (const turn_t *self, const tool_t *tool, size_t at, char target[37])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char seed[300];
    int size = snprintf (seed, sizeof seed, "%s/%s/%zu", self->run_id, tool->id, at);
    crypto_hash_sha256 (hash, (const unsigned char *) seed, (unsigned long long) size);
    snprintf (target, 5, "run_");
    sodium_bin2hex (target + 4, 33, hash, 16);
}

static const char *
s_add_child (const turn_t *self, const tool_t *tool, json_t *children, const json_t *task)
{
    const char *goal = json_string_value (json_object_get (task, "goal"));
    const char *context = json_string_value (json_object_get (task, "context"));
    char run_id[37];
    if (!goal || strspn (goal, " \t\r\n") == strlen (goal))
        return "Each task needs a goal.";
    if (strlen (goal) + (context ? strlen (context) : 0) > GOAL_MAX)
        return "A goal and its context are 32 KiB at most.";
    s_child_id (self, tool, json_array_size (children), run_id);
    json_array_append_new (
        children, json_pack ("{s:s, s:s+, s:s, s:s*}", "run_id", run_id, "session_id", "delegate_",
                      run_id + 4, "goal", goal, "context", context));
    return NULL;
}

static size_t
s_children_of (const turn_t *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->tool_count; i++)
        count += json_array_size (json_object_get (self->tools[i].batch, "children"));
    return count;
}

static int64_t
s_depth (const turn_t *self)
{
    return json_integer_value (json_object_get (json_object_get (self->body, "parent"), "depth"));
}

static int64_t
s_deadline (int64_t timeout_s)
{
    return argos_shell_wall () + (timeout_s > 0 ? timeout_s : TIMEOUT_S) * 1000;
}

static const char *
s_batch (turn_t *self, tool_t *tool, const json_t *tasks)
{
    int64_t depth = argos_setting_int (self->settings, NULL, NULL, "delegation.max_spawn_depth");
    int64_t most =
        argos_setting_int (self->settings, NULL, NULL, "delegation.max_concurrent_children");
    int64_t timeout_s =
        argos_setting_int (self->settings, NULL, NULL, "delegation.child_timeout_s");
    size_t i;
    json_t *task;
    if (s_depth (self) >= (depth > 0 ? depth : 1))
        return "A delegate can't delegate any further.";
    if (!json_array_size (tasks))
        return "There is no goal.";
    if (most <= 0 || most > CHILDREN_MAX)
        most = most <= 0 ? CHILDREN : CHILDREN_MAX;
    if (json_array_size (tasks) + s_children_of (self) > (size_t) most)
        return "Too many tasks at a time. None was begun; give fewer of them.";
    json_t *children = json_array ();
    char id[ARGOS_QUESTION_ID];
    argos_question_id (self->run_id, tool->id, id);
    const char *problem = NULL;
    json_array_foreach (tasks, i, task)
        problem = problem ? problem : s_add_child (self, tool, children, task);
    if (!problem)
        tool->batch =
            json_pack ("{s:s, s:s, s:s, s:I, s:O}", "id", id, "run_id", self->run_id, "call_id",
                tool->id, "deadline", (json_int_t) s_deadline (timeout_s), "children", children);
    json_decref (children);
    return problem;
}

void
turn_delegate (turn_t *self, tool_t *tool)
{
    json_t *tasks = s_tasks_new (tool->arguments);
    const char *problem = s_batch (self, tool, tasks);
    json_decref (tasks);
    tool->denied = true; //  No tool of a service is called
    if (problem)
        tool_set_result (tool, tool_result ("error", problem));
}

//  ------------------------------------------------------------------------------------------------
//  What is committed

static json_t *
s_put (const turn_t *self, const json_t *batch)
{
    char key[ARGOS_QUESTION_KEY];
    argos_question_key (self->session, json_string_value (json_object_get (batch, "id")), key);
    return json_pack ("{s:s, s:s, s:O, s:I}", "space", "delegate", "key", key, "value", batch,
        "expires_at", json_integer_value (json_object_get (batch, "deadline")) + KEPT_MS);
}

static json_t *
s_turn_new (const turn_t *self, const tool_t *tool, const json_t *child, size_t index)
{
    static const char *const copied[] = { "source", "model", "reasoning", "restricted",
        "read_only" };
    const char *context = json_string_value (json_object_get (child, "context"));
    json_t *body = json_pack ("{s:O, s:O, s:s+++, s:s, s:{s:s, s:s, s:s, s:i, s:I}}", "run_id",
        json_object_get (child, "run_id"), "session_id", json_object_get (child, "session_id"),
        "text", json_string_value (json_object_get (child, "goal")), context ? "\n\n" : "",
        context ? context : "", "", "instructions", s_task, "parent", "session_id", self->session,
        "run_id", self->run_id, "id", json_string_value (json_object_get (tool->batch, "id")),
        "index", (int) index, "depth", (json_int_t) s_depth (self) + 1);
    int64_t most = argos_setting_int (self->settings, NULL, NULL, "delegation.max_iterations");
    json_object_set_new (body, "max_iterations", json_integer (most > 0 ? most : 50));
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *value = json_object_get (self->body, copied[i]);
        if (value)
            json_object_set (body, copied[i], value);
    }
    return body;
}

static void
s_begin (parts_t *self, const turn_t *turn, const tool_t *tool)
{
    size_t i;
    json_t *child;
    parts_store (self, "record.put", s_put (turn, tool->batch));
    json_array_foreach (json_object_get (tool->batch, "children"), i, child) {
        const char *session = json_string_value (json_object_get (child, "session_id"));
        const char *run_id = json_string_value (json_object_get (child, "run_id"));
        parts_store (self, "session.create",
            json_pack ("{s:s, s:s, s:s, s:b}", "id", session, "parent", turn->session, "kind",
                "delegate", "hidden", 1));
        parts_store (self, "run.create",
            json_pack (
                "{s:s, s:s, s:s}", "run_id", run_id, "session_id", session, "kind", "delegate"));
        parts_lane (
            self, session, "turn.request", run_id, false, s_turn_new (turn, tool, child, i));
    }
}

void
parts_delegate (parts_t *self, const turn_t *turn)
{
    for (size_t i = 0; i < turn->tool_count; i++)
        if (turn->tools[i].batch && !turn->tools[i].settled)
            s_begin (self, turn, &turn->tools[i]);
}

//  The children that have not ended are told to
static void
s_stop_children (parts_t *self, const json_t *batch, const char *reason)
{
    size_t i;
    json_t *child;
    json_array_foreach (json_object_get (batch, "children"), i, child) {
        const char *run_id = json_string_value (json_object_get (child, "run_id"));
        char id[64];
        snprintf (id, sizeof id, "%s.stop", run_id);
        if (!json_object_get (child, "result"))
            parts_lane (self, json_string_value (json_object_get (child, "session_id")),
                "turn.stop", id, true,
                json_pack ("{s:s, s:s, s:b}", "run_id", run_id, "reason", reason, "quiet", 1));
    }
}

void
parts_delegate_settle (parts_t *self, const turn_t *turn, const tool_t *tool)
{
    if (tool->verdict)
        s_stop_children (self, tool->batch, "its time is over");
    parts_store (self, "record.put", s_put (turn, tool->verdict ? tool->verdict : tool->batch));
}

void
parts_delegate_drop (parts_t *self, const turn_t *turn)
{
    for (size_t i = 0; i < turn->tool_count; i++)
        if (turn->tools[i].batch && !turn->tools[i].settled)
            s_stop_children (self, turn->tools[i].batch, "its parent was stopped");
}

//  The end of a child, to who waits for it
void
parts_child_over (parts_t *self, const turn_t *turn, const char *state, const char *summary)
{
    const json_t *parent = json_object_get (turn->body, "parent");
    const char *session = json_string_value (json_object_get (parent, "session_id"));
    char id[64];
    if (!session)
        return;
    snprintf (id, sizeof id, "%s.result", turn->run_id);
    json_t *body = json_pack ("{s:O, s:s, s:O, s:s, s:s%, s:i, s:I, s:I, s:I}", "question_id",
        json_object_get (parent, "id"), "run_id", turn->run_id, "index",
        json_object_get (parent, "index"), "state", state, "summary", summary,
        argos_utf8_cut (summary, strlen (summary), SUMMARY_MAX), "api_calls", turn->iterations,
        "duration_ms", (json_int_t) (argos_shell_now () - turn->begun_ms), "input_tokens",
        (json_int_t) turn->input_tokens, "output_tokens", (json_int_t) turn->output_tokens);
    parts_lane (self, session, "delegate.result", id, true, body);
}

//  ------------------------------------------------------------------------------------------------
//  Results

bool
delegate_restore (tool_t *tool, const json_t *record)
{
    json_t *batch = json_object_get (record, "value");
    const char *call_id = json_string_value (json_object_get (batch, "call_id"));
    if (!call_id || strcmp (call_id, tool->id) != 0 || json_object_get (batch, "used"))
        return false;
    tool->batch = json_deep_copy (batch);
    return true;
}

//  One more line of the result of the call
static json_t *
s_entry (const json_t *child, size_t index)
{
    const json_t *result = json_object_get (child, "result");
    const char *state = json_string_value (json_object_get (result, "state"));
    json_int_t msec = json_integer_value (json_object_get (result, "duration_ms"));
    return json_pack ("{s:i, s:s, s:O?, s:O?, s:f, s:{s:I, s:I}}", "task_index", (int) index,
        "status", state ? state : "timeout", "summary", json_object_get (result, "summary"),
        "api_calls", json_object_get (result, "api_calls"), "duration_seconds",
        (double) msec / 1000, "tokens", "input",
        json_integer_value (json_object_get (result, "input_tokens")), "output",
        json_integer_value (json_object_get (result, "output_tokens")));
}

//  All have ended, or will not: the batch is used up
static void
s_finish (tool_t *tool)
{
    size_t i;
    json_t *child, *entries = json_array ();
    tool->verdict = json_deep_copy (tool->batch);
    json_array_foreach (json_object_get (tool->batch, "children"), i, child)
        json_array_append_new (entries, s_entry (child, i));
    json_array_foreach (json_object_get (tool->verdict, "children"), i, child)
        json_object_del (child, "result"); //  They are in the transcript
    json_object_set_new (tool->verdict, "used", json_true ());
    json_t *output = json_pack ("{s:o}", "results", entries);
    char *text = json_dumps (output, JSON_COMPACT);
    tool_set_result (tool, json_pack ("{s:s, s:s}", "output", text ? text : "", "status", "ok"));
    free (text);
    json_decref (output);
}

bool
delegate_use (tool_t *tool, const json_t *body)
{
    size_t at = (size_t) json_integer_value (json_object_get (body, "index"));
    json_t *children = json_object_get (tool->batch, "children");
    json_t *child = json_array_get (children, at);
    const char *run_id = json_string_value (json_object_get (child, "run_id"));
    const char *from = json_string_value (json_object_get (body, "run_id"));
    if (!run_id || !from || strcmp (run_id, from) != 0 || json_object_get (child, "result") ||
        tool->verdict)
        return false;
    json_t *result = json_deep_copy (body);
    json_object_del (result, "question_id");
    json_object_set_new (child, "result", result);
    //  A record holds so much: what a child says may have to become shorter
    for (size_t keep = SUMMARY_MAX; json_dumpb (tool->batch, NULL, 0, JSON_COMPACT) > RECORD_MAX;) {
        const char *summary = json_string_value (json_object_get (result, "summary"));
        keep /= 2;
        json_object_set_new (result, "summary",
            json_stringn (summary, argos_utf8_cut (summary, strlen (summary), keep)));
        if (keep < 64)
            break;
    }
    tool->moved = true;
    size_t i;
    json_array_foreach (children, i, child)
        if (!json_object_get (child, "result"))
            return true;
    s_finish (tool);
    return true;
}

bool
delegate_may (const turn_t *self, const char *name)
{
    static const char *const never[] = { "clarify", "memory", "send_message" };
    if (!json_object_get (self->body, "parent"))
        return true;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp (name, never[i]) == 0)
            return false;
    int64_t depth = argos_setting_int (self->settings, NULL, NULL, "delegation.max_spawn_depth");
    return strcmp (name, "delegate_task") != 0 || s_depth (self) < (depth > 0 ? depth : 1);
}

json_t *
delegate_tools_new (const turn_t *self, json_t *told)
{
    size_t i;
    json_t *tool;
    if (!json_object_get (self->body, "parent"))
        return json_incref (told);
    json_t *list = json_array ();
    json_array_foreach (told, i, tool) {
        const char *name = json_string_value (json_object_get (tool, "name"));
        if (name && delegate_may (self, name))
            json_array_append (list, tool);
    }
    return list;
}

void
delegate_expire (tool_t *tool, int64_t now)
{
    int64_t deadline = json_integer_value (json_object_get (tool->batch, "deadline"));
    if (tool->batch && !tool->verdict && deadline <= now)
        s_finish (tool);
}
