//  argos_chat_request - what a POST /v1/chat/completions asks for. Pure. Limits: those of
//  argos_run_request; 10,000 messages.

#include "argos_chat_request.h"

#include "argos_sampling.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_MESSAGES_MAX 10000 //  Of one request
#define S_MODEL_MAX 128      //  Bytes of the name of a model

//  One message on its way into the request

typedef struct {
    json_t *kept;        //  [{role, content}] of users and assistants
    json_t *images;      //  Of the last one, or NULL
    char *system;        //  Texts of system messages
    size_t system_size;  //  Bytes
    FILE *system_stream; //  Writes it
    bool visible;        //  The last one has something to be seen
} s_reading_t;

static bool
s_is (const char *text, const char *a, const char *b)
{
    return strcmp (text, a) == 0 || strcmp (text, b) == 0;
}

static int
s_take_message (
    s_reading_t *self, const json_t *message, size_t index, argos_run_problem_t *problem)
{
    char param[64];
    (void) snprintf (param, sizeof param, "messages[%zu]", index);
    const char *role = json_string_value (json_object_get (message, "role"));
    if (!json_is_object (message) || !role)
        return argos_problem (
            problem, 400, NULL, param, "%s: expected an object with 'role' and 'content'.", param);
    bool system = s_is (role, "system", "developer");
    if (!system && !s_is (role, "user", "assistant"))
        return 0;
    json_t *content = json_object_get (message, "content");
    json_t *none = json_null ();
    argos_content_t read;
    (void) snprintf (param, sizeof param, "messages[%zu].content", index);
    if (argos_content_read (content ? content : none, param, &read, problem) != 0)
        return -1;
    if (system && json_string_length (read.text))
        (void) fprintf (self->system_stream, "%s%s", ftell (self->system_stream) ? "\n" : "",
            json_string_value (read.text));
    if (!system) {
        (void) json_array_append_new (
            self->kept, json_pack ("{s:s,s:O}", "role", role, "content", read.text));
        json_decref (self->images);
        self->images = json_incref (read.images);
        self->visible = json_string_length (read.text) || read.images;
    }
    argos_content_clear (&read);
    return 0;
}

//  Messages without a text say nothing to the model.

static json_t *
s_history (const json_t *kept)
{
    json_t *history = json_array (), *message;
    size_t index, count = json_array_size (kept);
    json_array_foreach (kept, index, message)
        if (index + 1 < count && json_string_length (json_object_get (message, "content")))
            (void) json_array_append (history, message);
    return history;
}

static int
s_take_kept (s_reading_t *self, argos_chat_request_t *request, argos_run_problem_t *problem)
{
    size_t index, count = json_array_size (self->kept);
    json_t *message;
    if (!count || !self->visible)
        return argos_problem (problem, 400, NULL, "messages",
            "There is no user message in 'messages' that holds anything.");
    json_array_foreach (self->kept, index, message)
        if (!request->first &&
            strcmp (json_string_value (json_object_get (message, "role")), "user") == 0)
            request->first = json_incref (json_object_get (message, "content"));
    request->run.text =
        json_incref (json_object_get (json_array_get (self->kept, count - 1), "content"));
    request->run.history = s_history (self->kept);
    request->run.images = json_incref (self->images);
    if (json_array_size (request->run.history) > ARGOS_RUN_HISTORY_MAX)
        return argos_problem (problem, 400, "content_too_long", "messages",
            "'messages' has more than %d entries.", ARGOS_RUN_HISTORY_MAX);
    return 0;
}

static int
s_read_messages (
    const json_t *messages, argos_chat_request_t *request, argos_run_problem_t *problem)
{
    s_reading_t reading = { .kept = json_array () };
    size_t index;
    json_t *message;
    int rc = 0;
    reading.system_stream = open_memstream (&reading.system, &reading.system_size);
    if (!reading.system_stream)
        abort ();
    json_array_foreach (messages, index, message)
        if (rc == 0)
            rc = s_take_message (&reading, message, index, problem);
    if (fclose (reading.system_stream) != 0)
        abort ();
    if (rc == 0)
        rc = s_take_kept (&reading, request, problem);
    if (rc == 0 && reading.system_size > ARGOS_RUN_TEXT_MAX)
        rc = argos_problem (problem, 400, "content_too_long", "messages",
            "The system messages have more than %d bytes.", ARGOS_RUN_TEXT_MAX);
    if (rc == 0 && reading.system_size)
        request->run.instructions = json_stringn (reading.system, reading.system_size);
    free (reading.system);
    json_decref (reading.kept);
    json_decref (reading.images);
    return rc;
}

int
argos_chat_request_read (
    json_t *root, argos_chat_request_t *ret_request, argos_run_problem_t *ret_problem)
{
    static const char *const known[] = { "messages", "model", "stream", "stream_options", "user",
        "metadata", "store", NULL };
    const json_t *messages = json_object_get (root, "messages");
    json_t *model = json_object_get (root, "model"), *user = json_object_get (root, "user");
    if (!json_is_array (messages) || json_array_size (messages) == 0 ||
        json_array_size (messages) > S_MESSAGES_MAX)
        return argos_problem (ret_problem, 400, NULL, "messages",
            "'messages' is required: a list of 1 to %d messages.", S_MESSAGES_MAX);
    if (model && !json_is_null (model) &&
        (!json_is_string (model) || json_string_length (model) > S_MODEL_MAX))
        return argos_problem (ret_problem, 400, NULL, "model",
            "'model' must be a string of at most %d bytes.", S_MODEL_MAX);
    *ret_request = (argos_chat_request_t){ .stream = argos_content_flag (root, "stream", false),
        .include_usage =
            argos_content_flag (json_object_get (root, "stream_options"), "include_usage", false) };
    if (s_read_messages (messages, ret_request, ret_problem) != 0) {
        argos_chat_request_clear (ret_request);
        return -1;
    }
    if (argos_sampling_read (root, &ret_request->run.sampling, ret_problem) != 0) {
        argos_chat_request_clear (ret_request);
        return -1;
    }
    ret_request->run.model = json_string_length (model) ? json_incref (model) : NULL;
    ret_request->user = json_is_string (user) ? json_incref (user) : NULL;
    argos_chat_request_ignored (root, known, ret_request->ignored);
    return 0;
}

void
argos_chat_request_clear (argos_chat_request_t *self)
{
    argos_run_request_clear (&self->run);
    json_decref (self->first);
    json_decref (self->user);
    self->first = self->user = NULL;
}

void
argos_chat_request_session (
    const argos_chat_request_t *self, const char *owner, const char *salt, char *target)
{
    crypto_hash_sha256_state state;
    unsigned char digest[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof digest + 1];
    const char *const pieces[] = { json_string_value (self->run.instructions),
        json_string_value (self->first), owner, salt, json_string_value (self->user) };
    (void) crypto_hash_sha256_init (&state);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const char *piece = pieces[i] ? pieces[i] : "";
        (void) crypto_hash_sha256_update (&state, (const unsigned char *) piece, strlen (piece));
        (void) crypto_hash_sha256_update (&state, (const unsigned char *) "\n", 1);
    }
    (void) crypto_hash_sha256_final (&state, digest);
    (void) sodium_bin2hex (hex, sizeof hex, digest, sizeof digest);
    (void) snprintf (target, 21, "api-%.16s", hex);
}

void
argos_chat_request_ignored (
    json_t *root, const char *const *known, char target[static ARGOS_CHAT_IGNORED_MAX])
{
    const char *name;
    json_t *value;
    size_t used = 0;
    *target = 0;
    json_object_foreach (root, name, value) {
        bool effect = json_is_null (value) || argos_sampling_knows (name);
        for (size_t i = 0; known[i]; i++)
            effect = effect || strcmp (known[i], name) == 0;
        size_t size = strlen (name);
        bool plain = size && strspn (name, "abcdefghijklmnopqrstuvwxyz_") == size;
        if (effect || !plain || used + size + 3 > ARGOS_CHAT_IGNORED_MAX)
            continue;
        used += (size_t) snprintf (
            target + used, ARGOS_CHAT_IGNORED_MAX - used, "%s%s", used ? ", " : "", name);
    }
}
