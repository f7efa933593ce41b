//  argos_event - one entry of a run's topic as one event for HTTP clients; and the numbers in
//  Last-Event-ID.
//
//  Pure and stateless. Members that an entry lacks are left out, members that are not ours are not
//  passed on; texts of failures are redacted once more before they leave.

#include "argos_event.h"
#include "argos_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define S_ERROR_MAX 4096   //  Bytes of an error text
#define S_DURATION_MAX 1e9 //  Seconds

typedef struct {
    const char *entry;      //  Type of the entry
    const char *event;      //  Name of the event
    const char *members[5]; //  What is copied, NULL-terminated
    bool terminal;          //  The last of its run
} s_form_t;

static const s_form_t s_forms[] = {
    { "turn.delta", "message.delta", { "delta" }, false },
    { "turn.text", "message.completed", { "text" }, false },
    { "turn.restarted", "run.restarted", { "attempt" }, false },
    { "tool.started", "tool.started", { "tool", "tool_call_id", "preview", "arguments" }, false },
    { "tool.completed", "tool.completed", { "tool", "tool_call_id", "error", "output" }, false },
    { "question.asked", "approval.request", { "tool", "tool_call_id", "deadline" }, false },
    { "question.closed", "approval.responded", { "choice", "state" }, false },
    { "run.steered", "run.steered", { "steer_run_id" }, false },
    { "run.completed", "run.completed", { "output", "usage", "finish_reason" }, true },
    { "run.failed", "run.failed", { NULL }, true },
    { "run.cancelled", "run.cancelled", { "reason" }, true },
};

static const s_form_t *
s_form (const char *type)
{
    for (size_t i = 0; i < sizeof s_forms / sizeof *s_forms; i++)
        if (strcmp (s_forms[i].entry, type) == 0)
            return &s_forms[i];
    return NULL;
}

const char *
argos_event_name (const char *type)
{
    const s_form_t *form = type ? s_form (type) : NULL;
    return form ? form->event : NULL;
}

bool
argos_event_asks (const json_t *event)
{
    const char *name = json_string_value (json_object_get (event, "event"));
    return name &&
           (strcmp (name, "approval.request") == 0 || strcmp (name, "clarify.request") == 0);
}

bool
argos_event_terminal (const char *type)
{
    const s_form_t *form = s_form (type);
    return form && form->terminal;
}

//  A question: of an approval the choices, of a clarify its options; the text without secrets.

static void
s_asked (json_t *event, const json_t *body)
{
    char text[S_ERROR_MAX] = "";
    const char *kind = json_string_value (json_object_get (body, "kind"));
    const char *shown = json_string_value (json_object_get (body, "text"));
    bool clarify = kind && strcmp (kind, "clarify") == 0;
    json_t *choices = json_array (), *option;
    size_t index;
    if (shown)
        argos_log_redact (shown, text, sizeof text);
    json_array_foreach (json_object_get (body, "options"), index, option)
        (void) json_array_append (choices, json_object_get (option, "id"));
    (void) json_object_set (event, "request_id", json_object_get (body, "question_id"));
    (void) json_object_set_new (event, clarify ? "question" : "description", json_string (text));
    if (clarify) {
        (void) json_object_set_new (event, "event", json_string ("clarify.request"));
        (void) json_object_set (event, "options", json_object_get (body, "options"));
        json_decref (choices);
    }
    else
        (void) json_object_set_new (event, "choices", choices);
}

//  A question that is settled; its kind is told by the choice.

static void
s_closed (json_t *event, const json_t *body)
{
    static const char *const approvals[] = { "once", "session", "always", "deny" };
    const char *choice = json_string_value (json_object_get (body, "choice"));
    const char *state = json_string_value (json_object_get (body, "state"));
    bool answered = state && strcmp (state, "answered") == 0, approval = false;
    for (size_t i = 0; choice && i < sizeof approvals / sizeof *approvals; i++)
        approval = approval || strcmp (choice, approvals[i]) == 0;
    (void) json_object_set (event, "request_id", json_object_get (body, "question_id"));
    (void) json_object_set_new (event, "resolved", json_integer (answered));
    if (!approval)
        (void) json_object_set_new (
            event, "event", json_string (answered ? "clarify.responded" : "question.closed"));
}

json_t *
argos_event_translate (const char *type, const json_t *body, const char *run_id, int64_t at_ms)
{
    const s_form_t *form = s_form (type);
    if (!form ||
        (strcmp (type, "turn.delta") == 0 && !json_is_string (json_object_get (body, "delta"))))
        return NULL;
    json_t *event = json_pack ("{s:s,s:s,s:f}", "event", form->event, "run_id", run_id, "timestamp",
        (double) at_ms / 1000.0);
    for (size_t i = 0; form->members[i]; i++) {
        json_t *member = json_object_get (body, form->members[i]);
        if (member)
            (void) json_object_set (event, form->members[i], member);
    }
    if (strcmp (type, "question.asked") == 0)
        s_asked (event, body);
    if (strcmp (type, "question.closed") == 0)
        s_closed (event, body);
    if (strcmp (type, "run.steered") == 0)
        (void) json_object_set_new (event, "accepted", json_true ());
    if (strcmp (type, "tool.completed") == 0) {
        double duration = json_number_value (json_object_get (body, "duration"));
        double ms = duration > 0 && duration < S_DURATION_MAX ? duration * 1000.0 + 0.5 : 0;
        (void) json_object_set_new (event, "duration", json_real ((double) (int64_t) ms / 1000.0));
    }
    if (strcmp (type, "run.failed") == 0) {
        const char *error = json_string_value (json_object_get (body, "error"));
        char redacted[S_ERROR_MAX] = "";
        if (error)
            argos_log_redact (error, redacted, sizeof redacted);
        json_t *text = json_string (redacted);
        (void) json_object_set_new (
            event, "error", text ? text : json_string ("The run has failed."));
    }
    return event;
}

int64_t
argos_event_number (const char *text)
{
    if (!text || *text < '0' || *text > '9')
        return -1;
    char *end;
    errno = 0;
    long long number = strtoll (text, &end, 10);
    return errno || *end ? -1 : number;
}
