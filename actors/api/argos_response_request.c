//  argos_response_request - what a POST /v1/responses asks for. Pure. Limits: those of
//  argos_run_request.

#include "argos_response_request.h"

#include "argos_sampling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_MODEL_MAX 128 //  Bytes of the name of a model

//  --------------------------------------------------------------------------
//  Items

static bool
s_is (const char *text, const char *a, const char *b)
{
    return strcmp (text, a) == 0 || strcmp (text, b) == 0;
}

static void
s_add_instructions (argos_run_request_t *run, const json_t *text)
{
    const char *given = json_string_value (run->instructions);
    json_t *more =
        json_sprintf ("%s%s%s", given ? given : "", given ? "\n" : "", json_string_value (text));
    json_decref (run->instructions);
    run->instructions = more;
}

//  One item: a message goes to items (its images to *images), one of the system to the
//  instructions; the calls of tools are in the transcript, and nothing here.

static int
s_take_item (argos_response_request_t *request, json_t *item, size_t index, json_t **images,
    argos_run_problem_t *problem)
{
    char param[64];
    const char *type = json_string_value (json_object_get (item, "type"));
    const char *role = json_string_value (json_object_get (item, "role"));
    json_t *content = json_is_string (item) ? item : json_object_get (item, "content");
    (void) snprintf (param, sizeof param, "input[%zu]", index);
    json_decref (*images);
    *images = NULL;
    if (!json_is_string (item) && !json_is_object (item))
        return argos_problem (
            problem, 400, NULL, param, "%s: expected a string or an object.", param);
    if (type && strcmp (type, "message") != 0 && !role)
        return 0;
    role = role ? role : "user";
    argos_content_t read;
    (void) snprintf (param, sizeof param, "input[%zu].content", index);
    if (!content)
        return argos_problem (problem, 400, NULL, param, "%s is missing.", param);
    if (argos_content_read (content, param, &read, problem) != 0)
        return -1;
    if (s_is (role, "system", "developer"))
        s_add_instructions (&request->run, read.text);
    else if (s_is (role, "user", "assistant")) {
        (void) json_array_append_new (
            request->items, json_pack ("{s:s,s:O}", "role", role, "content", read.text));
        *images = json_incref (read.images);
    }
    argos_content_clear (&read);
    return 0;
}

//  The last message is the prompt.

static int
s_take_prompt (argos_response_request_t *request, json_t *images, argos_run_problem_t *problem)
{
    size_t count = json_array_size (request->items);
    json_t *last = json_array_get (request->items, count ? count - 1 : 0);
    json_t *text = json_object_get (last, "content");
    if (!last || (json_string_length (text) == 0 && !images))
        return argos_problem (problem, 400, NULL, "input",
            "There is no user message in 'input' that holds anything.");
    request->run.text = json_incref (text);
    request->run.images = json_incref (images);
    (void) json_array_remove (request->items, count - 1);
    if (count > ARGOS_RUN_HISTORY_MAX)
        return argos_problem (problem, 400, "content_too_long", "input",
            "'input' has more than %d items.", ARGOS_RUN_HISTORY_MAX);
    return 0;
}

static int
s_read_input (const json_t *root, argos_response_request_t *request, argos_run_problem_t *problem)
{
    json_t *input = json_object_get (root, "input"), *item, *images = NULL;
    size_t index;
    int rc = 0;
    if (!json_is_string (input) && !json_is_array (input))
        return argos_problem (
            problem, 400, NULL, "input", "'input' is required: a string or an array of items.");
    request->items = json_array ();
    if (json_is_string (input))
        rc = s_take_item (request, input, 0, &images, problem);
    json_array_foreach (input, index, item)
        if (rc == 0)
            rc = s_take_item (request, item, index, &images, problem);
    if (rc == 0)
        rc = s_take_prompt (request, images, problem);
    json_decref (images);
    return rc;
}

//  --------------------------------------------------------------------------
//  The other members

//  A string member; an object with an id where that is a form of it.

static int
s_text (
    const json_t *root, const char *name, size_t max, char **ret_text, argos_run_problem_t *problem)
{
    const json_t *value = json_object_get (root, name);
    if (json_is_object (value))
        value = json_object_get (value, "id");
    if (!value || json_is_null (value))
        return 0;
    if (json_string_length (value) == 0 || json_string_length (value) > max)
        return argos_problem (
            problem, 400, NULL, name, "'%s' must be a string of 1 to %zu bytes.", name, max);
    *ret_text = strdup (json_string_value (value));
    return 0;
}

static int
s_read_history (const json_t *root, argos_response_request_t *request, argos_run_problem_t *problem)
{
    const json_t *history = json_object_get (root, "conversation_history");
    if (!history || json_is_null (history))
        return 0;
    return argos_run_request_history (
        history, "conversation_history", &request->run.history, problem);
}

static int
s_read_instructions (
    const json_t *root, argos_response_request_t *request, argos_run_problem_t *problem)
{
    json_t *text = json_object_get (root, "instructions");
    if (!text || json_is_null (text) || (json_is_string (text) && json_string_length (text) == 0))
        return 0;
    if (json_string_length (text) == 0 || json_string_length (text) > ARGOS_RUN_TEXT_MAX)
        return argos_problem (problem, 400, "content_too_long", "instructions",
            "'instructions' must be a string of at most %d bytes.", ARGOS_RUN_TEXT_MAX);
    request->run.instructions = json_incref (text);
    return 0;
}

//  What a response says of its request.

static int
s_make_object (const json_t *root, argos_response_request_t *request, argos_run_problem_t *problem)
{
    json_t *metadata = json_object_get (root, "metadata"), *user = json_object_get (root, "user");
    json_t *model = json_object_get (root, "model");
    const json_t *sampling = request->run.sampling;
    request->object = json_pack (
        "{s:O?,s:O?,s:s?,s:b,s:s,s:O?,s:O?,s:b,s:{s:n,s:n},s:O?,s:{s:{s:s}},s:s,s:[],s:O?,s:O?}",
        "model", json_is_string (model) ? model : NULL, "instructions",
        json_object_get (root, "instructions"), "previous_response_id", request->previous, "store",
        request->store, "truncation", request->truncate ? "auto" : "disabled", "user",
        json_is_string (user) ? user : NULL, "max_output_tokens",
        json_object_get (sampling, "max_tokens"), "parallel_tool_calls", 1, "reasoning", "effort",
        "summary", "temperature", json_object_get (sampling, "temperature"), "text", "format",
        "type", "text", "tool_choice", "auto", "tools", "top_p",
        json_object_get (sampling, "top_p"), "metadata",
        json_is_object (metadata) ? metadata : NULL);
    if (request->object && !json_is_object (metadata))
        (void) json_object_set_new (request->object, "metadata", json_object ());
    size_t size = request->object ? json_dumpb (request->object, NULL, 0, JSON_COMPACT) : 0;
    if (!size || (request->store && size > ARGOS_RESPONSE_OBJECT_MAX))
        return argos_problem (problem, 400, "content_too_long", "instructions",
            "A response that is stored keeps at most %d bytes of instructions and metadata.",
            ARGOS_RESPONSE_OBJECT_MAX);
    return 0;
}

static int
s_read (json_t *root, argos_response_request_t *request, argos_run_problem_t *problem)
{
    static const char *const known[] = { "input", "instructions", "previous_response_id",
        "conversation", "conversation_history", "store", "stream", "truncation", "model",
        "metadata", "user", "stream_options", NULL };
    const char *truncation = json_string_value (json_object_get (root, "truncation"));
    json_t *model = json_object_get (root, "model");
    request->store = argos_content_flag (root, "store", true);
    request->stream = argos_content_flag (root, "stream", false);
    request->truncate = truncation && strcmp (truncation, "auto") == 0;
    if (s_read_instructions (root, request, problem) != 0 ||
        s_read_input (root, request, problem) != 0 ||
        s_read_history (root, request, problem) != 0 ||
        s_text (root, "previous_response_id", 64, &request->previous, problem) != 0 ||
        s_text (root, "conversation", ARGOS_RESPONSE_CONVERSATION_MAX, &request->conversation,
            problem) != 0)
        return -1;
    if (request->previous && request->conversation)
        return argos_problem (problem, 400, NULL, "conversation",
            "Cannot use both 'conversation' and 'previous_response_id'.");
    if (model && !json_is_null (model) &&
        (!json_is_string (model) || json_string_length (model) > S_MODEL_MAX))
        return argos_problem (problem, 400, NULL, "model",
            "'model' must be a string of at most %d bytes.", S_MODEL_MAX);
    if (argos_sampling_read (root, &request->run.sampling, problem) != 0)
        return -1;
    request->run.model = json_string_length (model) ? json_incref (model) : NULL;
    argos_chat_request_ignored (root, known, request->ignored);
    return s_make_object (root, request, problem);
}

int
argos_response_request_read (
    json_t *root, argos_response_request_t *ret_request, argos_run_problem_t *ret_problem)
{
    *ret_request = (argos_response_request_t){ .items = NULL };
    int rc = s_read (root, ret_request, ret_problem);
    if (rc != 0)
        argos_response_request_clear (ret_request);
    return rc;
}

void
argos_response_request_clear (argos_response_request_t *self)
{
    argos_run_request_clear (&self->run);
    json_decref (self->items);
    json_decref (self->object);
    free (self->previous);
    free (self->conversation);
    *self = (argos_response_request_t){ .items = NULL };
}

void
argos_response_id (const char *run_id, char *target)
{
    (void) snprintf (target, 34, "resp_%.28s", run_id + 4);
}

bool
argos_response_id_valid (const char *text)
{
    return strncmp (text, "resp_", 5) == 0 && strspn (text + 5, "0123456789abcdef") == 28 &&
           strlen (text) == 33;
}

bool
argos_response_history (json_t *target, const json_t *messages, const char *upto_run)
{
    size_t index;
    json_t *message;
    bool met = false;
    json_array_foreach (messages, index, message) {
        const char *run = json_string_value (json_object_get (message, "run_id"));
        const char *role = json_string_value (json_object_get (message, "role"));
        json_t *content = json_object_get (message, "content");
        bool this = run && strcmp (run, upto_run) == 0;
        if (met && !this)
            return true;
        met = this;
        if (role && s_is (role, "user", "assistant") && json_string_length (content))
            (void) json_array_append_new (
                target, json_pack ("{s:s,s:O}", "role", role, "content", content));
    }
    return met;
}
