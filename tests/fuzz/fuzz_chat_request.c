//  fuzz_chat_request - the bodies of POST /v1/chat/completions and POST /v1/responses, and what the
//  log makes of the events of a run.
//
//  Input: a byte that says which, then the body. Holds: a refusal has a status and a sentence; what
//  was taken makes a message.inbound that fits its schema, or is refused as too large; any view of
//  any event makes bytes that are frames.

#include "argos_chat_request.h"
#include "argos_chat_view.h"
#include "argos_response_request.h"
#include "argos_response_view.h"
#include "argos_schema.h"
#include "argos_session_view.h"
#include "fuzz.h"

#include <string.h>

#define RUN "run_00000000000000000000000000000001"

static void
s_check_run (argos_run_request_t *run)
{
    char reason[256], lane[257];
    argos_run_problem_t problem = { 0 };
    json_t *inbound = NULL;
    if (argos_run_request_finish (run, &problem) == 0)
        inbound = argos_run_request_inbound (run, RUN, "main", NULL, lane, &problem);
    if (inbound)
        FUZZ_CHECK (
            argos_schema_check ("message.inbound", inbound, reason, sizeof reason) == ARGOS_OK);
    json_decref (inbound);
}

static void
s_chat (json_t *root, argos_run_problem_t *problem)
{
    argos_chat_request_t request;
    char session[21];
    if (argos_chat_request_read (root, &request, problem) != 0) {
        FUZZ_CHECK (problem->status >= 400 && problem->status < 500 && *problem->message);
        return;
    }
    argos_chat_request_session (&request, "main", "", session);
    FUZZ_CHECK (strlen (session) == 20);
    s_check_run (&request.run);
    argos_chat_request_clear (&request);
}

static void
s_response (json_t *root, argos_run_problem_t *problem)
{
    argos_response_request_t request;
    if (argos_response_request_read (root, &request, problem) != 0) {
        FUZZ_CHECK (problem->status >= 400 && problem->status < 500 && *problem->message);
        return;
    }
    s_check_run (&request.run);
    argos_response_request_clear (&request);
}

static bool
s_is_end (const json_t *event)
{
    const char *name = json_string_value (json_object_get (event, "event"));
    return name && (strcmp (name, "run.completed") == 0 || strcmp (name, "run.failed") == 0 ||
                       strcmp (name, "run.cancelled") == 0);
}

//  The member "events" as the events of a run; an answer is there when one of them is the last.

static void
s_view (argos_view_t view, const json_t *events)
{
    argos_text_t out;
    argos_view_answer_t answer;
    json_t *event;
    size_t index;
    bool ended = false;
    argos_text_init (&out, 1 << 24);
    view.class->begin (view.self, &out);
    json_array_foreach (events, index, event) {
        view.class->event (view.self, event, &out);
        ended = ended || s_is_end (event);
    }
    const char *text = argos_text_str (&out);
    FUZZ_CHECK (out.size >= 2 && strcmp (text + out.size - 2, "\n\n") == 0);
    if (ended) {
        view.class->answer (view.self, &answer);
        FUZZ_CHECK (answer.body && answer.status >= 200);
        json_decref (answer.body);
    }
    argos_text_clear (&out);
    argos_view_clear (&view);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static int ready;
    char reason[256];
    argos_run_problem_t problem = { 0 };
    if (!ready)
        FUZZ_CHECK (argos_schema_init (reason) == 0);
    ready = 1;
    if (size == 0)
        return 0;
    json_t *root = argos_run_request_root ((const char *) data + 1, size - 1, &problem);
    const json_t *events = json_object_get (root, "events");
    json_t *object = json_object ();
    if (!root)
        FUZZ_CHECK (problem.status == 400 && *problem.message);
    else if (data[0] % 3 == 0)
        s_chat (root, &problem);
    else if (data[0] % 3 == 1)
        s_response (root, &problem);
    else {
        s_view (argos_chat_view_new (RUN, "m", true, true, true, 1), events);
        s_view (argos_response_view_new (RUN, "m", object, true, false, 1), events);
        s_view (argos_session_view_new (RUN, "s", "m", true), events);
    }
    json_decref (object);
    json_decref (root);
    return 0;
}
