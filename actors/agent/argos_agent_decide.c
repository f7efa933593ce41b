//  argos_agent_decide - what becomes of the calls of an answer: run, refused, or asked for.
//
//  Before they are recorded: so a question is part of the commit that records its call. Limits:
//  QUESTIONS_MAX of one answer, for a commit has 64 parts.

#include "argos_agent_priv.h"
#include "argos_approval.h"
#include "argos_question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLARIFY_CHOICES 4 //  Choices that the model may offer
#define PREVIEW_MAX 1500  //  Bytes of a call that people see before they allow it
#define QUESTIONS_MAX 8   //  Of one answer of the model: a commit has 64 parts
#define TIMEOUT_S 300     //  Of a question without settings

static const char s_not_smart[] = "BLOCKED: This was judged to be harmful. It was not run. Do not "
                                  "try it again, and do not try the "
                                  "same by other words; say what you wanted to do.";

//  Whether there is anybody who could answer
static bool
s_can_ask (const turn_t *self)
{
    const json_t *source = json_object_get (self->body, "source");
    const char *platform = json_string_value (json_object_get (source, "platform"));
    if (json_object_get (self->body, "parent"))
        return false; //  A delegate has nobody to ask
    return json_object_get (self->body, "deliver") ||
           (platform && strcmp (platform, "api_server") == 0);
}

static int64_t
s_deadline (int64_t seconds)
{
    return argos_shell_wall () + (seconds > 0 ? seconds : TIMEOUT_S) * 1000;
}

//  Who has asked for the turn answers; in a chat without names anybody does
static json_t *
s_allowed_new (const turn_t *self)
{
    json_t *user = json_object_get (json_object_get (self->body, "source"), "user_id");
    return json_is_string (user) && json_string_length (user) ? json_pack ("[O]", user) : NULL;
}

static size_t
s_asked (const turn_t *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->tool_count; i++)
        count += self->tools[i].question != NULL;
    return count;
}

static void
s_ask (turn_t *self, tool_t *tool, const argos_question_t *members)
{
    argos_question_t full = *members;
    char id[ARGOS_QUESTION_ID], hash[ARGOS_QUESTION_HASH];
    argos_question_id (self->run_id, tool->id, id);
    argos_question_hash (tool->name, tool->arguments, hash);
    json_t *allowed = s_allowed_new (self);
    if (s_asked (self) >= QUESTIONS_MAX) {
        json_decref (allowed);
        tool_set_result (
            tool, tool_result ("error", "Too many questions at a time. It was not run."));
        return;
    }
    full.id = id;
    full.session_id = self->session;
    full.run_id = self->run_id;
    full.call_id = tool->id;
    full.tool = tool->name;
    full.hash = hash;
    full.allowed = allowed;
    full.source = json_object_get (self->body, "source");
    tool->question = argos_question_new (&full);
    json_decref (allowed);
    if (!tool->question)
        tool_set_result (tool, tool_result ("error", "The question could not be asked."));
}

//  At most four choices that are no blanks; numbers become texts
static json_t *
s_choices_new (const json_t *given)
{
    json_t *options = json_array ();
    size_t i;
    json_t *choice;
    json_array_foreach (given, i, choice) {
        char *dump = json_is_string (choice) ? NULL : json_dumps (choice, JSON_ENCODE_ANY);
        const char *label = dump ? dump : json_string_value (choice);
        char id[8];
        size_t size = label ? argos_utf8_cut (label, strlen (label), 255) : 0;
        snprintf (id, sizeof id, "%zu", json_array_size (options) + 1);
        if (label && strspn (label, " \t\r\n") < strlen (label) &&
            json_array_size (options) < CLARIFY_CHOICES)
            json_array_append_new (
                options, json_pack ("{s:s, s:s%}", "id", id, "label", label, size));
        free (dump);
    }
    return options;
}

static void
s_clarify (turn_t *self, tool_t *tool)
{
    const char *text = json_string_value (json_object_get (tool->arguments, "question"));
    text = text ? text + strspn (text, " \t\r\n") : "";
    tool->denied = true; //  Nothing is run
    if (!*text)
        tool_set_result (tool, tool_result ("error", "There is no question."));
    else if (!s_can_ask (self))
        tool_set_result (tool, tool_result ("error", "Nobody can be asked here. Decide yourself."));
    else {
        json_t *options = s_choices_new (json_object_get (tool->arguments, "choices"));
        argos_question_t members = { .kind = "clarify",
            .text = text,
            .options = options,
            .deadline = s_deadline (
                argos_setting_int (self->settings, NULL, NULL, "agent.clarify_timeout_s")) };
        s_ask (self, tool, &members);
        json_decref (options);
    }
}

//  What people see before they allow a call: why it is asked for, what would run, and how to answer
static void
s_ask_approval (turn_t *self, tool_t *tool, const argos_approval_t *judged)
{
    char preview[PREVIEW_MAX + 1];
    parts_preview (tool, preview, sizeof preview);
    json_t *text = json_sprintf ("%s\n\n%s: %s\n\n/approve, /approve session, /approve always or "
                                 "/deny",
        judged->text, tool->name, preview);
    json_t *options = argos_question_approval_options (false);
    argos_question_t members = { .kind = "approval",
        .text = json_string_value (text),
        .grant = judged->key,
        .options = options,
        .deadline =
            s_deadline (argos_setting_int (self->settings, NULL, NULL, "approvals.timeout_s")) };
    s_ask (self, tool, &members);
    json_decref (options);
    json_decref (text);
}

//  What a model has said of it, in mode smart
static bool
s_is_weighed (tool_t *tool)
{
    if (!tool->weighed || tool->opinion == ARGOS_APPROVAL_ASK)
        return false;
    tool->denied = tool->opinion == ARGOS_APPROVAL_DENY;
    if (tool->denied)
        tool_set_result (tool, tool_result ("blocked", s_not_smart));
    return true;
}

//  Returns false when something has to be asked first: then turn_decide comes again
static bool
s_judge (turn_t *self, size_t at)
{
    tool_t *tool = &self->tools[at];
    argos_approval_t judged;
    const char *mode = argos_setting_text (self->settings, NULL, NULL, "approvals.mode");
    argos_approval_call_t call = { .tool = tool->name,
        .arguments = tool->arguments,
        .mode = argos_approval_mode (mode),
        .yolo = json_is_true (json_object_get (self->body, "yolo")),
        .unattended = !s_can_ask (self),
        .grants = self->grants,
        .home = getenv ("HOME") };
    argos_approval_judge (self->agent->policy, &call, &judged);
    if (judged.verdict == ARGOS_APPROVAL_ALLOW)
        return true;
    if (!self->grants && !judged.floor) {
        turn_read_grants (self);
        return false;
    }
    if (judged.verdict == ARGOS_APPROVAL_ASK && call.mode == ARGOS_APPROVAL_SMART) {
        if (s_is_weighed (tool))
            return true;
        if (turn_weigh (self, at, &judged))
            return false;
    }
    tool->denied = judged.verdict == ARGOS_APPROVAL_DENY;
    if (tool->denied)
        tool_set_result (tool, tool_result ("blocked", judged.text));
    else
        s_ask_approval (self, tool, &judged);
    return true;
}

//  The children of a task work where it does: so that is known before they are made
static bool
s_awaits_home (turn_t *self)
{
    for (size_t i = 0; i < self->tool_count; i++)
        if (strcmp (self->tools[i].name, "delegate_task") == 0 && !self->tools[i].result &&
            turn_needs_home (self, self->tools[i].name))
            return true;
    return false;
}

void
turn_decide (turn_t *self)
{
    if (s_awaits_home (self))
        return;
    for (size_t i = 0; i < self->tool_count; i++) {
        tool_t *tool = &self->tools[i];
        tool->denied = tool->denied || tool->result;
        if (tool->broken || tool->result || tool->question || !tool->known)
            continue;
        if (!delegate_may (self, tool->name)) {
            tool->denied = true;
            tool_set_result (tool, tool_result ("blocked", "A delegate has not this tool."));
        }
        else if (strcmp (tool->name, "clarify") == 0)
            s_clarify (self, tool);
        else if (strcmp (tool->name, "delegate_task") == 0)
            turn_delegate (self, tool);
        else if (!s_judge (self, i))
            return;
    }
    turn_event (self, ARGOS_TURN_DECIDED);
}
