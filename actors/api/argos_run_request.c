//  argos_run_request - what a POST /v1/runs asks for, in the order in which its faults are named.
//
//  Pure. Invariant: what comes out fits the schema of message.inbound and one part of a commit. The
//  same request always makes the same bytes: a repeat under one idempotency key is recognised by
//  the store from the content alone.

#include "argos_run_request.h"

#include "argos_json.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_MODEL_MAX 128 //  Bytes of a model's name
#define S_ROLE_MAX 32   //  Bytes of a role
#define S_CHAT_MAX 255  //  Bytes of a chat id
#define S_SMALL 65536   //  Bytes of text that always fit: one becomes six at most

//  Append {role, content} made of entry to history.
//  An entry may be a plain string when loose. images (may be NULL) gets the images of the entry;
//  without it their place is told.

static int
s_add_entry (json_t *history, json_t *entry, bool loose, const char *param, json_t **images,
    argos_run_problem_t *problem)
{
    const json_t *role = json_object_get (entry, "role");
    json_t *content = json_object_get (entry, "content");
    if (loose && json_is_string (entry))
        content = entry;
    bool nameless = loose && !role;
    if (!content || (!role && !nameless))
        return argos_problem (
            problem, 400, NULL, param, "%s: expected an object with 'role' and 'content'.", param);
    const char *name = nameless ? "user" : json_string_value (role);
    if (!name || !*name || strlen (name) > S_ROLE_MAX)
        return argos_problem (
            problem, 400, NULL, param, "%s: 'role' must be a short string.", param);
    argos_content_t read;
    if (argos_content_read (content, param, &read, problem) != 0)
        return -1;
    if (images)
        *images = json_incref (read.images);
    else if (read.images)
        (void) json_array_append_new (history,
            json_pack ("{s:s,s:o}", "role", name, "content",
                json_sprintf ("%s%s[%zu images]", json_string_value (read.text),
                    json_string_length (read.text) ? "\n" : "", json_array_size (read.images))));
    if (images || !read.images)
        (void) json_array_append_new (
            history, json_pack ("{s:s,s:O}", "role", name, "content", read.text));
    argos_content_clear (&read);
    return 0;
}

//  The images are those of the last entry, when images is not NULL.

static int
s_add_entries (json_t *history, const json_t *entries, size_t count, bool loose, const char *name,
    json_t **images, argos_run_problem_t *problem)
{
    if (count > ARGOS_RUN_HISTORY_MAX)
        return argos_problem (problem, 400, "content_too_long", name,
            "'%s' has more than %d entries.", name, ARGOS_RUN_HISTORY_MAX);
    for (size_t i = 0; i < count; i++) {
        char param[64];
        (void) snprintf (param, sizeof param, "%s[%zu]", name, i);
        if (s_add_entry (history, json_array_get (entries, i), loose, param,
                i + 1 == count ? images : NULL, problem) != 0)
            return -1;
    }
    return 0;
}

//  --------------------------------------------------------------------------
//  Members, in the order of the checks

//  The prompt; earlier elements of an array are its history.

static int
s_read_input (const json_t *root, argos_run_request_t *request, argos_run_problem_t *problem)
{
    json_t *input = json_object_get (root, "input");
    if (!input || json_is_null (input) ||
        (json_is_string (input) && json_string_length (input) == 0) ||
        (json_is_array (input) && json_array_size (input) == 0))
        return argos_problem (
            problem, 400, NULL, "input", "'input' is required and must not be empty.");
    if (!json_is_string (input) && !json_is_array (input))
        return argos_problem (
            problem, 400, NULL, "input", "'input' must be a string or an array of messages.");
    if (json_is_string (input)) {
        request->text = json_incref (input);
        return 0;
    }
    json_t *all = json_array ();
    int rc = s_add_entries (
        all, input, json_array_size (input), true, "input", &request->images, problem);
    size_t count = json_array_size (all);
    if (rc == 0) {
        request->text = json_incref (json_object_get (json_array_get (all, count - 1), "content"));
        (void) json_array_remove (all, count - 1);
    }
    if (rc == 0 && count > 1)
        request->history = json_incref (all);
    json_decref (all);
    if (rc == 0 && json_string_length (request->text) == 0 && !request->images)
        rc = argos_problem (problem, 400, NULL, "input", "There is no user message in 'input'.");
    return rc;
}

int
argos_run_request_history (
    const json_t *entries, const char *name, json_t **ret_history, argos_run_problem_t *ret_problem)
{
    if (!json_is_array (entries))
        return argos_problem (
            ret_problem, 400, NULL, name, "'%s' must be an array of messages.", name);
    *ret_history = json_array ();
    return s_add_entries (
        *ret_history, entries, json_array_size (entries), false, name, NULL, ret_problem);
}

static int
s_read_history (const json_t *root, argos_run_request_t *request, argos_run_problem_t *problem)
{
    const json_t *history = json_object_get (root, "conversation_history");
    json_t *previous = json_object_get (root, "previous_response_id");
    if (history && !json_is_null (history)) {
        json_decref (request->history);
        request->history = NULL;
        return argos_run_request_history (
            history, "conversation_history", &request->history, problem);
    }
    if (!previous || json_is_null (previous))
        return 0;
    if (!json_is_string (previous))
        return argos_problem (
            problem, 400, NULL, "previous_response_id", "'previous_response_id' must be a string.");
    request->previous = json_incref (previous);
    return 0;
}

static int
s_read_string (const json_t *root, const char *name, size_t max, json_t **ret_value,
    argos_run_problem_t *problem)
{
    json_t *value = json_object_get (root, name);
    if (!value || json_is_null (value) ||
        (json_is_string (value) && json_string_length (value) == 0))
        return 0;
    if (!json_is_string (value))
        return argos_problem (problem, 400, NULL, name, "'%s' must be a string.", name);
    if (json_string_length (value) > max)
        return argos_problem (
            problem, 400, "content_too_long", name, "'%s' is longer than %zu bytes.", name, max);
    *ret_value = json_incref (value);
    return 0;
}

static int
s_read_members (const json_t *root, argos_run_request_t *request, argos_run_problem_t *problem)
{
    if (s_read_input (root, request, problem) != 0 || s_read_history (root, request, problem) != 0)
        return -1;
    if (s_read_string (root, "instructions", ARGOS_RUN_TEXT_MAX, &request->instructions, problem) !=
            0 ||
        s_read_string (root, "session_id", ARGOS_RUN_BODY_MAX, &request->session_id, problem) !=
            0 ||
        s_read_string (root, "model", S_MODEL_MAX, &request->model, problem) != 0)
        return -1;
    if (request->session_id && !argos_run_session_valid (json_string_value (request->session_id),
                                   json_string_length (request->session_id)))
        return argos_problem (problem, 400, "invalid_session_id", "session_id",
            "'session_id' must be 1 to %d bytes without control characters, path separators or "
            "'..'.",
            ARGOS_RUN_SESSION_MAX);
    return 0;
}

json_t *
argos_run_request_root (const char *data, size_t size, argos_run_problem_t *ret_problem)
{
    json_error_t error;
    json_t *root = argos_json_load (data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (json_is_object (root))
        return root;
    if (root)
        argos_problem (ret_problem, 400, NULL, "", "The body must be a JSON object.");
    else
        argos_problem (ret_problem, 400, NULL, "", "Invalid JSON at line %d, column %d.",
            error.line, error.column);
    json_decref (root);
    return NULL;
}

int
argos_run_request_read (
    const json_t *root, argos_run_request_t *ret_request, argos_run_problem_t *ret_problem)
{
    argos_run_request_t request = { .text = NULL };
    int rc = s_read_members (root, &request, ret_problem);
    if (rc == 0)
        *ret_request = request;
    else
        argos_run_request_clear (&request);
    return rc;
}

void
argos_run_request_clear (argos_run_request_t *self)
{
    if (!self)
        return;
    json_decref (self->text);
    json_decref (self->history);
    json_decref (self->images);
    json_decref (self->large);
    json_decref (self->previous);
    json_decref (self->attachments);
    json_decref (self->instructions);
    json_decref (self->session_id);
    json_decref (self->model);
    json_decref (self->sampling);
    *self = (argos_run_request_t){ .text = NULL };
}

size_t
argos_run_cut (const char *text, size_t max)
{
    size_t size = strlen (text);
    if (size <= max)
        return size;
    while (max && ((unsigned char) text[max] & 0xC0) == 0x80)
        max--;
    return max;
}

//  The text of request, with a line for what is not carried in it.

static void
s_add_line (argos_run_request_t *self, const char *line)
{
    const char *text = json_string_value (self->text);
    json_t *longer = json_sprintf ("%s%s%s", text, *text ? "\n" : "", line);
    json_decref (self->text);
    self->text = longer;
}

int
argos_run_request_finish (argos_run_request_t *self, argos_run_problem_t *ret_problem)
{
    char line[4200];
    size_t index, count = json_array_size (self->images);
    json_t *kept = json_array (), *url;
    json_array_foreach (self->images, index, url) {
        if (argos_content_is_data (json_string_value (url)))
            (void) json_array_append (kept, url);
        else {
            (void) snprintf (line, sizeof line, "[image: %.4096s]", json_string_value (url));
            s_add_line (self, line);
        }
    }
    json_decref (self->images);
    self->images = json_array_size (kept) ? json_incref (kept) : NULL;
    json_decref (kept);
    bool large = json_string_length (self->text) > ARGOS_RUN_TEXT_MAX;
    if (large && count >= ARGOS_CONTENT_IMAGES_MAX)
        return argos_problem (ret_problem, 400, "content_too_long", "",
            "A text of more than %d bytes is sent as a file, and there are %d already.",
            ARGOS_RUN_TEXT_MAX, ARGOS_CONTENT_IMAGES_MAX);
    if (large) {
        self->large = self->text;
        self->text = json_sprintf (
            "%.*s\n[the text goes on: all of it is in the file " ARGOS_RUN_LARGE_NAME "]",
            (int) argos_run_cut (json_string_value (self->large), ARGOS_RUN_LARGE_HEAD),
            json_string_value (self->large));
    }
    else if (json_string_length (self->text) == 0 && self->images)
        s_add_line (self, "[image]");
    return 0;
}

//  --------------------------------------------------------------------------
//  Ids

bool
argos_run_session_valid (const char *text, size_t size)
{
    if (size == 0 || size > ARGOS_RUN_SESSION_MAX || memmem (text, size, "..", 2))
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char) text[i] < 32 || text[i] == 127 || text[i] == '/' || text[i] == '\\')
            return false;
    return true;
}

bool
argos_run_idempotency_valid (const char *key)
{
    size_t size = strlen (key);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char) key[i] < 33 || (unsigned char) key[i] > 126)
            return false;
    return size >= 1 && size <= 255;
}

void
argos_run_id_new (char *ret_run_id)
{
    unsigned char random[16];
    randombytes_buf (random, sizeof random);
    (void) snprintf (ret_run_id, 5, "run_");
    (void) sodium_bin2hex (ret_run_id + 4, 33, random, sizeof random);
}

bool
argos_run_id_valid (const char *text)
{
    return strncmp (text, "run_", 4) == 0 && strspn (text + 4, "0123456789abcdef") == 32 &&
           strlen (text) == 36;
}

//  SHA-256 over a domain, a NUL and the text, as 64 hex digits.

static void
s_hash (const char *domain, const char *text, size_t size, char ret_hex[65])
{
    crypto_hash_sha256_state state;
    unsigned char digest[crypto_hash_sha256_BYTES];
    (void) crypto_hash_sha256_init (&state);
    if (*domain)
        (void) crypto_hash_sha256_update (
            &state, (const unsigned char *) domain, strlen (domain) + 1);
    (void) crypto_hash_sha256_update (&state, (const unsigned char *) text, size);
    (void) crypto_hash_sha256_final (&state, digest);
    (void) sodium_bin2hex (ret_hex, 65, digest, sizeof digest);
}

//  --------------------------------------------------------------------------
//  Out

json_t *
argos_run_request_session (const char *session_key)
{
    char hex[65];
    s_hash ("session-key", session_key, strlen (session_key), hex);
    return json_sprintf ("key-%.32s", hex);
}

json_t *
argos_run_request_inbound (const argos_run_request_t *self, const char *run_id, const char *account,
    const char *session_key, char *ret_lane, argos_run_problem_t *ret_problem)
{
    char hex[65];
    char user[80] = "api";
    if (session_key) {
        s_hash ("session-key", session_key, strlen (session_key), hex);
        (void) snprintf (user, sizeof user, "key-%.32s", hex);
    }
    json_t *session =
        session_key && !self->session_id ? json_string (user) : json_incref (self->session_id);
    size_t size = json_string_length (session);
    const char *chat = run_id;
    char folded[80];
    if (size > S_CHAT_MAX) {
        s_hash ("session", json_string_value (session), size, hex);
        (void) snprintf (folded, sizeof folded, "sid-%.64s", hex);
        chat = folded;
    }
    else if (size)
        chat = json_string_value (session);
    (void) snprintf (ret_lane, ARGOS_RUN_SESSION_MAX + 1, "%s", chat);
    json_t *body = json_pack ("{s:{s:s,s:s,s:s,s:s,s:s},s:O,s:s,s:o*,s:O*,s:O*,s:O*,s:O*,s:O*}",
        "source", "platform", "api_server", "account", account, "chat_id", chat, "chat_type", "dm",
        "user_id", user, "text", self->text, "run_id", run_id, "session_id", session,
        "instructions", self->instructions, "history", self->history, "model", self->model,
        "attachments", self->attachments, "sampling", self->sampling);
    size_t texts = json_string_length (self->text) + json_string_length (self->instructions);
    bool small = !self->history && texts <= S_SMALL;
    if (body && (small || json_dumpb (body, NULL, 0, JSON_COMPACT) <= ARGOS_RUN_BODY_MAX))
        return body;
    json_decref (body);
    argos_problem (ret_problem, 400, "content_too_long",
        self->history ? "conversation_history" : "input", "The run is larger than %d bytes in all.",
        ARGOS_RUN_BODY_MAX);
    return NULL;
}

json_t *
argos_run_request_row (const argos_run_request_t *self, const char *run_id, const char *owner)
{
    const char *text = json_string_value (self->text);
    size_t size = argos_run_cut (text, ARGOS_RUN_PREVIEW_MAX);
    return json_pack ("{s:s,s:s,s:O*,s:s%}", "run_id", run_id, "owner", owner, "model", self->model,
        "input", text, size);
}
