//  argos_openai - the chat completions wire: request body, streamed chunks, whole answers.
//
//  Pure. What a server adds to the wire is ignored; what it leaves out is taken for empty. Only the
//  first choice is read: one is asked for.

#include "argos_openai.h"

#include "argos_json.h"
#include "argos_tool_memo.h"
#include "argos_tool_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  Newer models of that family call it so
static bool
s_is_developer (const char *model)
{
    const char *name = strrchr (model, '/') ? strrchr (model, '/') + 1 : model;
    return strncmp (name, "gpt-5", 5) == 0 || strstr (name, "codex") != NULL;
}

static json_t *
s_system (const argos_request_t *request)
{
    const char *role = s_is_developer (request->model) ? "developer" : "system";
    const char *system = request->system ? request->system : "";
    const char *extra = request->extra ? request->extra : "";
    if (!*system && !*extra)
        return NULL;
    return json_pack ("{s:s, s:o}", "role", role, "content",
        json_sprintf ("%s%s%s", system, *system && *extra ? "\n\n" : "", extra));
}

static json_t *
s_tools (const json_t *tools, bool plain)
{
    json_t *list = json_array ();
    size_t i;
    json_t *tool;
    json_array_foreach (tools, i, tool)
        json_array_append_new (list, json_pack ("{s:s, s:o}", "type", "function", "function",
                                         argos_tool_schema_fit (tool, plain)));
    return list;
}

//  The text of a body with its tools, whose text is known mostly.

static char *
s_with_tools (const json_t *body, const argos_request_t *request)
{
    argos_tool_memo_t own = { .tools = NULL }, *memo = request->memo ? request->memo : &own;
    const char *tools =
        argos_tool_memo_text (memo, request->tools, request->adjust & ARGOS_ADJUST_SCHEMA, s_tools);
    static const char name[] = ",\"tools\":";
    size_t size, length = sizeof name - 1, tools_size = strlen (tools);
    char *text = argos_json_dumps (body, &size);
    char *whole = text ? (char *) malloc (size + length + tools_size + 1) : NULL;
    if (whole) { //  The last brace of the body makes room
        memcpy (whole, text, size - 1);
        memcpy (whole + size - 1, name, length);
        memcpy (whole + size - 1 + length, tools, tools_size + 1);
        memcpy (whole + size - 1 + length + tools_size, "}", 2);
    }
    free (text);
    argos_tool_memo_clear (&own);
    return whole;
}

//  Parts of a content in the form of this wire, new
static json_t *
s_parts (const json_t *content)
{
    json_t *list = json_array ();
    size_t i;
    json_t *part;
    json_array_foreach (content, i, part) {
        json_t *url = json_object_get (part, "url");
        if (argos_messages_is_image (url))
            json_array_append_new (
                list, json_pack ("{s:s, s:{s:O}}", "type", "image_url", "image_url", "url", url));
        else
            json_array_append (list, part);
    }
    return list;
}

//  What is not of this wire, or was refused, is left out
static void
s_add_messages (json_t *list, const json_t *messages, unsigned adjust)
{
    size_t i;
    json_t *message;
    json_array_foreach (messages, i, message) {
        const json_t *content = json_object_get (message, "content");
        bool thought =
            json_object_get (message, "_thinking") ||
            (json_object_get (message, "reasoning_content") && (adjust & ARGOS_ADJUST_THINKING));
        if (!thought && !json_is_array (content)) {
            json_array_append (list, message);
            continue;
        }
        json_t *copy = json_copy (message);
        json_object_del (copy, "_thinking");
        if (adjust & ARGOS_ADJUST_THINKING)
            json_object_del (copy, "reasoning_content");
        if (json_is_array (content))
            json_object_set_new (copy, "content", s_parts (content));
        json_array_append_new (list, copy);
    }
}

//  Hosts that know only the newer name
static bool
s_new_limit_name (const char *host)
{
    static const char *const suffixes[] = { "api.openai.com", ".openai.azure.com",
        "api.githubcopilot.com", "models.github.ai" };
    size_t length = host ? strlen (host) : 0;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix = strlen (suffixes[i]);
        if (length >= suffix && strcmp (host + length - suffix, suffixes[i]) == 0 &&
            (length == suffix || suffixes[i][0] == '.'))
            return true;
    }
    return false;
}

//  Members of this wire and of ours have the same names
static void
s_set_sampling (json_t *body, const json_t *sampling)
{
    static const char *const names[] = { "temperature", "top_p", "stop", "seed", "presence_penalty",
        "frequency_penalty" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get (sampling, names[i]);
        if (value)
            json_object_set (body, names[i], value);
    }
}

char *
argos_openai_request (const argos_request_t *request, const char *host)
{
    json_t *messages = json_array ();
    json_t *system = s_system (request);
    if (system)
        json_array_append_new (messages, system);
    s_add_messages (messages, request->messages, request->adjust);
    json_t *body = json_pack ("{s:s, s:o}", "model", request->model, "messages", messages);
    bool stream = !(request->adjust & ARGOS_ADJUST_STREAM);
    json_object_set_new (body, "stream", json_boolean (stream));
    if (stream && !(request->adjust & ARGOS_ADJUST_USAGE))
        json_object_set_new (body, "stream_options", json_pack ("{s:b}", "include_usage", 1));
    bool other = request->adjust & ARGOS_ADJUST_LIMIT;
    if (request->max_tokens > 0)
        json_object_set_new (body,
            s_new_limit_name (host) != other ? "max_completion_tokens" : "max_tokens",
            json_integer (request->max_tokens));
    if (request->reasoning &&
        !(request->adjust & ARGOS_ADJUST_EFFORT)) //  The wire has no word for more than xhigh
        json_object_set_new (body, "reasoning_effort",
            json_string (strcmp (request->reasoning, "max") == 0 ? "xhigh" : request->reasoning));
    if (!(request->adjust & ARGOS_ADJUST_SAMPLING))
        s_set_sampling (body, request->sampling);
    char *text = json_array_size (request->tools) ? s_with_tools (body, request)
                                                  : argos_json_dumps (body, NULL);
    json_decref (body);
    return text;
}

static argos_finish_t
s_finish (const char *name)
{
    static const struct {
        const char *name;      //  On the wire
        argos_finish_t finish; //  Ours
    } finishes[] = { { "stop", ARGOS_FINISH_STOP }, { "length", ARGOS_FINISH_LENGTH },
        { "tool_calls", ARGOS_FINISH_TOOLS }, { "function_call", ARGOS_FINISH_TOOLS },
        { "content_filter", ARGOS_FINISH_FILTER } };
    for (size_t i = 0; i < sizeof finishes / sizeof *finishes; i++)
        if (strcmp (name, finishes[i].name) == 0)
            return finishes[i].finish;
    return ARGOS_FINISH_STOP;
}

static void
s_copy (char *target, size_t room, const char *source)
{
    size_t size = argos_utf8_cut (source, strlen (source), room - 1);
    memcpy (target, source, size);
    target[size] = 0;
}

//  A printable ASCII id of at most 128 bytes, as the tool.call message wants it; else none
static const char *
s_usable_id (const json_t *value)
{
    const char *id = json_string_value (value);
    if (!id || strlen (id) > 128)
        return "";
    for (const char *at = id; *at; at++)
        if (*at <= ' ' || *at > '~' || *at == '"' || *at == '\\')
            return "";
    return id;
}

static void
s_read_call (argos_answer_t *answer, const json_t *piece, int64_t index)
{
    const json_t *function = json_object_get (piece, "function");
    const char *name = json_string_value (json_object_get (function, "name"));
    const json_t *args = json_object_get (function, "arguments");
    const char *id = s_usable_id (json_object_get (piece, "id"));
    argos_answer_call_t *call = argos_answer_call (answer, index, id);
    if (!call) {
        argos_answer_fail (answer, "format_error", "more than 16 tool calls in one answer");
        return;
    }
    if (*id)
        s_copy (call->id, sizeof call->id, id);
    if (name && *name)
        s_copy (call->name, sizeof call->name, name);
    int rc = 0;
    if (json_is_object (args)) {
        char *compact = json_dumps (args, JSON_COMPACT | JSON_SORT_KEYS);
        rc = compact ? argos_answer_add_args (call, compact, strlen (compact)) : 0;
        free (compact);
    }
    else if (json_is_string (args))
        rc = argos_answer_add_args (call, json_string_value (args), json_string_length (args));
    if (rc < 0)
        argos_answer_fail (answer, "format_error", "arguments of a tool call are over 128 KiB");
}

static void
s_read_message (argos_answer_t *answer, const json_t *message)
{
    const json_t *content = json_object_get (message, "content");
    if (json_is_string (content))
        argos_answer_add_text (answer, json_string_value (content), json_string_length (content));
    else if (json_is_array (content)) {
        char *text = argos_messages_text (content);
        if (text)
            argos_answer_add_text (answer, text, strlen (text));
        free (text);
    }
    const json_t *thought = json_object_get (message, "reasoning_content");
    if (!json_is_string (thought))
        thought = json_object_get (message, "reasoning");
    if (json_is_string (thought))
        argos_utf8_add (
            &answer->reasoning, json_string_value (thought), json_string_length (thought));
    size_t i;
    json_t *piece;
    json_array_foreach (json_object_get (message, "tool_calls"), i, piece) {
        const json_t *index = json_object_get (piece, "index");
        s_read_call (
            answer, piece, json_is_integer (index) ? json_integer_value (index) : (int64_t) i);
    }
}

//  What is no count is none
static int64_t
s_count (const json_t *usage, const char *name)
{
    json_int_t count = json_integer_value (json_object_get (usage, name));
    return count > 0 && count < INT32_MAX ? count : 0;
}

static void
s_read_usage (argos_answer_t *answer, const json_t *usage)
{
    if (!json_is_object (usage))
        return;
    const json_t *input = json_object_get (usage, "prompt_tokens_details");
    const json_t *output = json_object_get (usage, "completion_tokens_details");
    answer->input_tokens = s_count (usage, "prompt_tokens");
    answer->output_tokens = s_count (usage, "completion_tokens");
    answer->cache_read_tokens = s_count (input, "cached_tokens");
    if (!answer->cache_read_tokens)
        answer->cache_read_tokens = s_count (usage, "cache_read_input_tokens");
    if (!answer->cache_read_tokens)
        answer->cache_read_tokens = s_count (usage, "prompt_cache_hit_tokens");
    answer->cache_write_tokens = s_count (input, "cache_write_tokens");
    if (!answer->cache_write_tokens)
        answer->cache_write_tokens = s_count (usage, "cache_creation_input_tokens");
    answer->reasoning_tokens = s_count (output, "reasoning_tokens");
}

static int
s_read (argos_answer_t *answer, const json_t *value, const char *part)
{
    if (argos_answer_read_error (answer, value))
        return 0;
    if (!json_is_object (value)) {
        argos_answer_fail (answer, "format_error", "the provider sent JSON that is no object");
        return -1;
    }
    const json_t *choice = json_array_get (json_object_get (value, "choices"), 0);
    s_read_message (answer, json_object_get (choice, part));
    const char *finish = json_string_value (json_object_get (choice, "finish_reason"));
    if (finish)
        answer->finish = s_finish (finish);
    s_read_usage (answer, json_object_get (value, "usage"));
    return 0;
}

int
argos_openai_event (
    argos_answer_t *answer, argos_json_carry_t *carry, const char *data, size_t size)
{
    while (size && (data[size - 1] == ' ' || data[size - 1] == '\t'))
        size--;
    if (size == 6 && memcmp (data, "[DONE]", 6) == 0) {
        answer->ended = true;
        return 0;
    }
    answer->events++;
    const char *reason = "";
    json_t *value = argos_json_text_parse (data, size, carry, &reason);
    if (!value) {
        char sentence[128];
        snprintf (sentence, sizeof sentence, "the provider sent an event that is %s", reason);
        argos_answer_fail (answer, "format_error", sentence);
        return -1;
    }
    int rc = s_read (answer, value, "delta");
    json_decref (value);
    return rc;
}

int
argos_openai_whole (argos_answer_t *answer, const char *data, size_t size)
{
    const char *reason = "";
    json_t *value = argos_json_text_parse (data, size, NULL, &reason);
    answer->events++;
    if (!value) {
        char sentence[128];
        snprintf (sentence, sizeof sentence, "the provider's answer is %s", reason);
        argos_answer_fail (answer, "format_error", sentence);
        return -1;
    }
    int rc = s_read (answer, value, "message");
    answer->ended = rc == 0 && json_array_size (json_object_get (value, "choices")) > 0;
    if (rc == 0 && !answer->ended && !answer->failed)
        argos_answer_fail (answer, "format_error", "the provider's answer has no choices");
    json_decref (value);
    return rc;
}
