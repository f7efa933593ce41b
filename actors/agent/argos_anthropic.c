//  argos_anthropic - the Anthropic messages wire: request body and streamed events.
//
//  Invariant of a request: roles alternate and begin with user; all results of an assistant message
//  stand in the one user message behind it. Event types and block types that are not known are
//  ignored.

#include "argos_anthropic.h"

#include "argos_json.h"
#include "argos_tool_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  The block list of the newest message when it has that role; else of a new message
static json_t *
s_blocks (json_t *messages, const char *role)
{
    json_t *last = json_array_get (messages, json_array_size (messages) - 1);
    const char *last_role = json_string_value (json_object_get (last, "role"));
    if (last_role && strcmp (last_role, role) == 0)
        return json_object_get (last, "content");
    json_t *blocks = json_array ();
    json_array_append_new (messages, json_pack ("{s:s, s:o}", "role", role, "content", blocks));
    return blocks;
}

//  Text blocks may not be empty
static void
s_add_text_block (json_t *blocks, const json_t *content)
{
    char *text = argos_messages_text (content);
    if (text && *text)
        json_array_append_new (blocks, json_pack ("{s:s, s:s}", "type", "text", "text", text));
    free (text);
}

//  "data:TYPE;base64,DATA" as a block
static void
s_add_image_block (json_t *blocks, const char *url)
{
    const char *type = url + strlen ("data:"), *data = strchr (type, ',');
    size_t size = strcspn (type, ";,");
    if (data)
        json_array_append_new (
            blocks, json_pack ("{s:s, s:{s:s, s:s%, s:s}}", "type", "image", "source", "type",
                        "base64", "media_type", type, size, "data", data + 1));
}

static void
s_add_user (json_t *messages, const json_t *content)
{
    json_t *blocks = s_blocks (messages, "user");
    size_t i;
    json_t *part;
    if (!json_is_array (content)) {
        s_add_text_block (blocks, content);
        return;
    }
    json_array_foreach (content, i, part) {
        const json_t *url = json_object_get (part, "url");
        if (argos_messages_is_image (url))
            s_add_image_block (blocks, json_string_value (url));
        else
            s_add_text_block (blocks, json_object_get (part, "text"));
    }
}

static void
s_add_assistant (json_t *messages, const json_t *message, bool think)
{
    if (!json_array_size (messages))
        json_array_append_new (s_blocks (messages, "user"),
            json_pack ("{s:s, s:s}", "type", "text", "text", "(continued)"));
    json_t *blocks = s_blocks (messages, "assistant");
    json_t *thinking = json_object_get (message, "_thinking");
    if (think && json_is_array (thinking))
        json_array_extend (blocks, thinking);
    s_add_text_block (blocks, json_object_get (message, "content"));
    size_t i;
    json_t *call;
    json_array_foreach (json_object_get (message, "tool_calls"), i, call) {
        const json_t *function = json_object_get (call, "function");
        const char *args = json_string_value (json_object_get (function, "arguments"));
        json_t *input = json_loads (args ? args : "{}", 0, NULL);
        json_array_append_new (
            blocks, json_pack ("{s:s, s:O, s:O, s:o}", "type", "tool_use", "id",
                        json_object_get (call, "id"), "name", json_object_get (function, "name"),
                        "input", input ? input : json_object ()));
    }
}

static void
s_add_message (json_t *messages, argos_text_t *system, const json_t *message, bool think)
{
    const char *role = json_string_value (json_object_get (message, "role"));
    const json_t *content = json_object_get (message, "content");
    if (strcmp (role, "assistant") == 0)
        s_add_assistant (messages, message, think);
    else if (strcmp (role, "tool") == 0)
        json_array_append_new (s_blocks (messages, "user"),
            json_pack ("{s:s, s:O, s:O}", "type", "tool_result", "tool_use_id",
                json_object_get (message, "tool_call_id"), "content", content));
    else if (strcmp (role, "system") == 0) {
        char *text = argos_messages_text (content);
        if (text && *text) {
            argos_text_add (system, "\n\n", system->size ? 2 : 0);
            argos_text_add (system, text, strlen (text));
        }
        free (text);
    }
    else
        s_add_user (messages, content);
}

static json_t *
s_tools (const json_t *tools, bool plain)
{
    json_t *list = json_array ();
    size_t i;
    json_t *tool;
    json_array_foreach (tools, i, tool) {
        json_t *fit = argos_tool_schema_fit (tool, plain);
        json_array_append_new (
            list, json_pack ("{s:O, s:O, s:O}", "name", json_object_get (fit, "name"),
                      "description", json_object_get (fit, "description"), "input_schema",
                      json_object_get (fit, "parameters")));
        json_decref (fit);
    }
    return list;
}

static void
s_mark (json_t *block)
{
    json_object_set_new (block, "cache_control", json_pack ("{s:s}", "type", "ephemeral"));
}

//  What stays the same from call to call is cached up to these marks: the system prompt, and the
//  last block of each of the last three messages. Thinking can't bear one. The blocks are shared
//  with nobody but thinking.
static void
s_mark_messages (const json_t *messages)
{
    size_t count = json_array_size (messages);
    for (size_t i = count; i > 0 && i + 3 > count; i--) {
        const json_t *blocks = json_object_get (json_array_get (messages, i - 1), "content");
        json_t *block = json_array_get (blocks, json_array_size (blocks) - 1);
        const char *type = json_string_value (json_object_get (block, "type"));
        if (type && strstr (type, "thinking") == NULL)
            s_mark (block);
    }
}

//  "claude-sonnet-4-5" and later think as much as they are told by effort; older ones have a budget
static bool
s_is_adaptive (const char *model)
{
    const char *digit = strpbrk (model, "0123456789");
    long major = digit ? strtol (digit, NULL, 10) : 0;
    const char *dash = digit ? strpbrk (digit, "-.") : NULL;
    long minor = dash ? strtol (dash + 1, NULL, 10) : 0;
    return major > 4 || (major == 4 && minor >= 6 && minor < 100);
}

static void
s_set_thinking (json_t *body, const argos_request_t *request)
{
    static const struct {
        const char *effort; //  As it is asked for
        const char *word;   //  On the wire
        int budget;         //  Tokens, of older models
    } rows[] = { { "minimal", "low", 4000 }, { "low", "low", 4000 }, { "medium", "medium", 8000 },
        { "high", "high", 16000 }, { "xhigh", "max", 32000 }, { "max", "max", 32000 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!request->reasoning || strcmp (rows[i].effort, request->reasoning) != 0)
            continue;
        if (s_is_adaptive (request->model)) {
            json_object_set_new (body, "thinking", json_pack ("{s:s}", "type", "adaptive"));
            json_object_set_new (
                body, "output_config", json_pack ("{s:s}", "effort", rows[i].word));
            return;
        }
        json_object_set_new (body, "thinking",
            json_pack ("{s:s, s:i}", "type", "enabled", "budget_tokens", rows[i].budget));
        json_int_t answer = json_integer_value (json_object_get (body, "max_tokens"));
        json_object_set_new (body, "max_tokens", json_integer (rows[i].budget + answer));
        return;
    }
}

//  Here a temperature ends at 1; of it and top_p only one may be there, and none beside thinking
static void
s_set_sampling (json_t *body, const json_t *sampling)
{
    json_t *stop = json_object_get (sampling, "stop");
    json_t *temperature = json_object_get (sampling, "temperature");
    json_t *top_p = json_object_get (sampling, "top_p");
    if (stop)
        json_object_set (body, "stop_sequences", stop);
    if (json_object_get (body, "thinking"))
        return;
    if (temperature && json_number_value (temperature) > 1)
        json_object_set_new (body, "temperature", json_integer (1));
    else if (temperature)
        json_object_set (body, "temperature", temperature);
    else if (top_p)
        json_object_set (body, "top_p", top_p);
}

char *
argos_anthropic_request (const argos_request_t *request)
{
    argos_text_t system;
    argos_text_init (&system, 4194304);
    const char *parts[] = { request->system, request->extra };
    for (size_t i = 0; i < 2; i++)
        if (parts[i] && *parts[i]) {
            argos_text_add (&system, "\n\n", system.size ? 2 : 0);
            argos_text_add (&system, parts[i], strlen (parts[i]));
        }
    json_t *messages = json_array ();
    size_t i;
    json_t *message;
    json_array_foreach (request->messages, i, message)
        s_add_message (messages, &system, message, !(request->adjust & ARGOS_ADJUST_THINKING));
    bool cached = !(request->adjust & ARGOS_ADJUST_CACHE);
    if (cached)
        s_mark_messages (messages);
    json_t *body = json_pack ("{s:s, s:I}", "model", request->model, "max_tokens",
        (json_int_t) (request->max_tokens > 0 ? request->max_tokens : ARGOS_ANTHROPIC_TOKENS));
    if (system.size && cached) {
        json_t *block = json_pack ("{s:s, s:s}", "type", "text", "text", argos_text_str (&system));
        s_mark (block);
        json_object_set_new (body, "system", json_pack ("[o]", block));
    }
    else if (system.size)
        json_object_set_new (body, "system", json_string (argos_text_str (&system)));
    json_object_set_new (body, "messages", messages);
    if (json_array_size (request->tools))
        json_object_set_new (
            body, "tools", s_tools (request->tools, request->adjust & ARGOS_ADJUST_SCHEMA));
    json_object_set_new (body, "stream", json_boolean (!(request->adjust & ARGOS_ADJUST_STREAM)));
    if (!(request->adjust & ARGOS_ADJUST_EFFORT))
        s_set_thinking (body, request);
    if (!(request->adjust & ARGOS_ADJUST_SAMPLING))
        s_set_sampling (body, request->sampling);
    argos_text_clear (&system);
    char *text = argos_json_dumps (body, NULL);
    json_decref (body);
    return text;
}

static void
s_read_stop (argos_answer_t *answer, const char *reason)
{
    if (!reason)
        return;
    if (strcmp (reason, "tool_use") == 0)
        answer->finish = ARGOS_FINISH_TOOLS;
    else if (strcmp (reason, "max_tokens") == 0 ||
             strcmp (reason, "model_context_window_exceeded") == 0)
        answer->finish = ARGOS_FINISH_LENGTH;
    else if (strcmp (reason, "refusal") == 0)
        answer->finish = ARGOS_FINISH_FILTER;
    else
        answer->finish = ARGOS_FINISH_STOP;
}

static void
s_read_usage (argos_answer_t *answer, const json_t *usage)
{
    static const char *const input_members[] = { "input_tokens", "cache_read_input_tokens",
        "cache_creation_input_tokens" };
    int64_t parts[3], input = 0;
    for (size_t i = 0; i < 3; i++) {
        int64_t tokens = json_integer_value (json_object_get (usage, input_members[i]));
        parts[i] = tokens > 0 && tokens < INT32_MAX ? tokens : 0;
        input += parts[i];
    }
    int64_t output = json_integer_value (json_object_get (usage, "output_tokens"));
    if (input > 0) {
        answer->input_tokens = input;
        answer->cache_read_tokens = parts[1];
        answer->cache_write_tokens = parts[2];
    }
    if (output > 0)
        answer->output_tokens = output; //  Cumulative
}

static void
s_start_call (argos_answer_t *answer, const json_t *block, int64_t index)
{
    const char *id = json_string_value (json_object_get (block, "id"));
    const char *name = json_string_value (json_object_get (block, "name"));
    argos_answer_call_t *call = argos_answer_call (answer, index, "");
    if (!call) {
        argos_answer_fail (answer, "format_error", "more than 16 tool calls in one answer");
        return;
    }
    if (id && strlen (id) < sizeof call->id && !strpbrk (id, " \"\\"))
        memcpy (call->id, id, strlen (id) + 1);
    if (name) {
        size_t size = argos_utf8_cut (name, strlen (name), sizeof call->name - 1);
        memcpy (call->name, name, size);
        call->name[size] = 0;
    }
    const json_t *input = json_object_get (block, "input");
    if (json_object_size (input)) {
        char *args = json_dumps (input, JSON_COMPACT | JSON_SORT_KEYS);
        if (!args || argos_answer_add_args (call, args, strlen (args)) < 0)
            argos_answer_fail (answer, "format_error", "arguments of a tool call are too long");
        free (args);
    }
}

//  It goes back to the provider as it came: kept whole, or not at all
static void
s_start_thinking (argos_answer_t *answer, const json_t *block)
{
    if (!answer->thinking)
        answer->thinking = json_array ();
    json_array_append_new (answer->thinking, json_deep_copy (block));
}

static void
s_add_thinking (argos_answer_t *answer, const json_t *delta)
{
    static const char *const members[] = { "thinking", "signature" };
    json_t *block = json_array_get (answer->thinking, json_array_size (answer->thinking) - 1);
    for (size_t i = 0; block && i < 2; i++) {
        const json_t *more = json_object_get (delta, members[i]);
        const char *before = json_string_value (json_object_get (block, members[i]));
        if (!json_is_string (more))
            continue;
        if (i == 0)
            argos_utf8_add (
                &answer->reasoning, json_string_value (more), json_string_length (more));
        if (before &&
            strlen (before) + json_string_length (more) > 4UL * ARGOS_ANSWER_THOUGHT_MAX) {
            json_decref (answer->thinking);
            answer->thinking = NULL;
            return;
        }
        json_object_set_new (block, members[i],
            json_sprintf ("%s%s", before ? before : "", json_string_value (more)));
    }
}

static void
s_start_block (argos_answer_t *answer, const json_t *block, int64_t index)
{
    const char *type = json_string_value (json_object_get (block, "type"));
    const json_t *text = json_object_get (block, "text");
    if (!type)
        return;
    if (strcmp (type, "tool_use") == 0)
        s_start_call (answer, block, index);
    else if (strcmp (type, "thinking") == 0 || strcmp (type, "redacted_thinking") == 0)
        s_start_thinking (answer, block);
    else if (strcmp (type, "text") == 0 && json_is_string (text))
        argos_answer_add_text (answer, json_string_value (text), json_string_length (text));
}

static void
s_read_delta (argos_answer_t *answer, const json_t *delta, int64_t index)
{
    const json_t *text = json_object_get (delta, "text");
    const json_t *json = json_object_get (delta, "partial_json");
    if (json_is_string (text))
        argos_answer_add_text (answer, json_string_value (text), json_string_length (text));
    s_add_thinking (answer, delta);
    if (!json_is_string (json))
        return;
    argos_answer_call_t *call = argos_answer_call (answer, index, "");
    if (!call ||
        argos_answer_add_args (call, json_string_value (json), json_string_length (json)) < 0)
        argos_answer_fail (answer, "format_error", "arguments of a tool call are over 128 KiB");
}

static void
s_read_event (argos_answer_t *answer, const json_t *event)
{
    const char *type = json_string_value (json_object_get (event, "type"));
    int64_t index = json_integer_value (json_object_get (event, "index"));
    if (!type)
        argos_answer_read_error (answer, event);
    else if (strcmp (type, "message_start") == 0)
        s_read_usage (answer, json_object_get (json_object_get (event, "message"), "usage"));
    else if (strcmp (type, "content_block_start") == 0)
        s_start_block (answer, json_object_get (event, "content_block"), index);
    else if (strcmp (type, "content_block_delta") == 0)
        s_read_delta (answer, json_object_get (event, "delta"), index);
    else if (strcmp (type, "message_delta") == 0) {
        s_read_stop (answer,
            json_string_value (json_object_get (json_object_get (event, "delta"), "stop_reason")));
        s_read_usage (answer, json_object_get (event, "usage"));
    }
    else if (strcmp (type, "message_stop") == 0)
        answer->ended = true;
    else if (strcmp (type, "error") == 0 && !argos_answer_read_error (answer, event))
        argos_answer_fail (answer, "", "unspecified error");
}

static json_t *
s_parse (argos_answer_t *answer, argos_json_carry_t *carry, const char *data, size_t size)
{
    answer->events++;
    const char *reason = "";
    json_t *value = argos_json_text_parse (data, size, carry, &reason);
    if (!json_is_object (value)) {
        char sentence[128];
        snprintf (sentence, sizeof sentence, "the provider sent an event that is %s",
            value ? "no object" : reason);
        argos_answer_fail (answer, "format_error", sentence);
        json_decref (value);
        return NULL;
    }
    return value;
}

int
argos_anthropic_event (
    argos_answer_t *answer, argos_json_carry_t *carry, const char *data, size_t size)
{
    json_t *event = s_parse (answer, carry, data, size);
    if (!event)
        return -1;
    s_read_event (answer, event);
    json_decref (event);
    return 0;
}

int
argos_anthropic_whole (argos_answer_t *answer, const char *data, size_t size)
{
    json_t *message = s_parse (answer, NULL, data, size);
    if (!message)
        return -1;
    const json_t *content = json_object_get (message, "content");
    size_t i;
    json_t *block;
    bool failed = argos_answer_read_error (answer, message);
    if (!failed && !json_is_array (content))
        argos_answer_fail (answer, "format_error", "the provider's answer has no content");
    else if (!failed) {
        json_array_foreach (content, i, block)
            s_start_block (answer, block, (int64_t) i);
        s_read_stop (answer, json_string_value (json_object_get (message, "stop_reason")));
        s_read_usage (answer, json_object_get (message, "usage"));
        answer->ended = true;
    }
    json_decref (message);
    return 0;
}
