//  argos_question - a question of a running turn to people: an approval or a clarify. Pure.
//
//  Invariant: a value that is built here is one that argos_question_read takes, and fits a record.

#include "argos_question.h"

#include "argos_json_get.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEEP_MS 86400000 //  How long a record outlives its deadline

void
argos_question_id (const char *run_id, const char *call_id, char target[ARGOS_QUESTION_ID])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init (&state);
    crypto_hash_sha256_update (&state, (const unsigned char *) run_id, strlen (run_id) + 1);
    crypto_hash_sha256_update (&state, (const unsigned char *) call_id, strlen (call_id));
    crypto_hash_sha256_final (&state, hash);
    target[0] = 'q';
    target[1] = '_';
    sodium_bin2hex (target + 2, ARGOS_QUESTION_ID - 2, hash, 6);
}

void
argos_question_key (
    const char *session_id, const char *question_id, char target[ARGOS_QUESTION_KEY])
{
    snprintf (target, ARGOS_QUESTION_KEY, "%s/%s", session_id, question_id);
}

void
argos_question_hash (const char *tool, const json_t *arguments, char target[ARGOS_QUESTION_HASH])
{
    char *text = json_dumps (arguments, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init (&state);
    crypto_hash_sha256_update (&state, (const unsigned char *) tool, strlen (tool) + 1);
    if (text)
        crypto_hash_sha256_update (&state, (const unsigned char *) text, strlen (text));
    crypto_hash_sha256_final (&state, hash);
    sodium_bin2hex (target, ARGOS_QUESTION_HASH, hash, sizeof hash);
    free (text);
}

//  The value, when it is one of at most so many bytes; else NULL, and it is let go.

static json_t *
s_checked (json_t *value, size_t max)
{
    argos_question_t self;
    if (argos_question_read (&self, value) && json_dumpb (value, NULL, 0, JSON_COMPACT) <= max)
        return value;
    json_decref (value);
    return NULL;
}

static void
s_set (json_t *target, const char *name, const char *text)
{
    if (text)
        json_object_set_new (target, name, json_string (text));
}

json_t *
argos_question_new (const argos_question_t *members)
{
    const char *text = members->text ? members->text : "";
    size_t size = strlen (text);
    if (size > ARGOS_QUESTION_TEXT_MAX)
        for (size = ARGOS_QUESTION_TEXT_MAX; ((unsigned char) text[size] & 0xC0) == 0x80;)
            size--; //  Not within a character
    json_t *value = json_object ();
    s_set (value, "id", members->id);
    s_set (value, "kind", members->kind);
    s_set (value, "session_id", members->session_id);
    s_set (value, "run_id", members->run_id);
    s_set (value, "call_id", members->call_id);
    s_set (value, "tool", members->tool);
    s_set (value, "hash", members->hash);
    s_set (value, "grant", members->grant);
    s_set (value, "state", "open");
    json_object_set_new (value, "text", json_stringn (text, size));
    json_object_set_new (value, "deadline", json_integer (members->deadline));
    json_object_set_new (
        value, "options", members->options ? json_deep_copy (members->options) : json_array ());
    if (members->allowed)
        json_object_set_new (value, "allowed", json_deep_copy (members->allowed));
    json_t *source = members->source ? json_deep_copy (members->source) : json_object ();
    json_object_del (source, "chat_topic"); //  Long, and of no use to who answers
    json_object_set_new (value, "source", source);
    return s_checked (value, ARGOS_QUESTION_VALUE_MAX - ARGOS_QUESTION_END_MAX);
}

json_t *
argos_question_approval_options (bool only_once)
{
    if (only_once)
        return json_pack ("[{s:s, s:s}, {s:s, s:s}]", "id", "once", "label", "Allow once", "id",
            "deny", "label", "Deny");
    return json_pack ("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "id", "once", "label",
        "Allow once", "id", "session", "label", "Allow for this session", "id", "always", "label",
        "Always allow", "id", "deny", "label", "Deny");
}

static bool
s_options_good (const json_t *options)
{
    size_t i;
    json_t *option;
    if (!json_is_array (options) || json_array_size (options) > ARGOS_QUESTION_OPTIONS)
        return false;
    json_array_foreach (options, i, option) {
        const char *id = argos_json_find_text (option, "id");
        const char *label = argos_json_find_text (option, "label");
        if (!id || !*id || strlen (id) >= ARGOS_QUESTION_OPTION || !label || !*label ||
            strlen (label) > 255)
            return false;
    }
    return true;
}

bool
argos_question_read (argos_question_t *self, const json_t *value)
{
    *self = (argos_question_t){ .id = argos_json_find_text (value, "id"),
        .kind = argos_json_find_text (value, "kind"),
        .session_id = argos_json_find_text (value, "session_id"),
        .run_id = argos_json_find_text (value, "run_id"),
        .call_id = argos_json_find_text (value, "call_id"),
        .tool = argos_json_find_text (value, "tool"),
        .text = argos_json_find_text (value, "text"),
        .hash = argos_json_find_text (value, "hash"),
        .grant = argos_json_find_text (value, "grant"),
        .options = json_object_get (value, "options"),
        .allowed = json_object_get (value, "allowed"),
        .source = json_object_get (value, "source"),
        .deadline = json_integer_value (json_object_get (value, "deadline")),
        .state = argos_json_find_text (value, "state"),
        .choice = argos_json_find_text (value, "choice"),
        .answer = argos_json_find_text (value, "answer"),
        .by = argos_json_find_text (value, "by") };
    return self->id && strlen (self->id) < ARGOS_QUESTION_ID && self->kind &&
           (strcmp (self->kind, "approval") == 0 || strcmp (self->kind, "clarify") == 0) &&
           self->session_id && strlen (self->session_id) <= 256 && self->run_id && self->call_id &&
           self->text && self->state && self->deadline > 0 && json_is_object (self->source) &&
           s_options_good (self->options);
}

bool
argos_question_split (
    const char *text, char question_id[ARGOS_QUESTION_ID], char option_id[ARGOS_QUESTION_OPTION])
{
    const char *colon = text ? strchr (text, ':') : NULL;
    if (!colon || colon - text != ARGOS_QUESTION_ID - 1 || strncmp (text, "q_", 2) != 0 ||
        strspn (text + 2, "0123456789abcdef") != ARGOS_QUESTION_ID - 3 || !colon[1] ||
        strlen (colon + 1) >= ARGOS_QUESTION_OPTION)
        return false;
    snprintf (question_id, ARGOS_QUESTION_ID, "%.*s", ARGOS_QUESTION_ID - 1, text);
    snprintf (option_id, ARGOS_QUESTION_OPTION, "%s", colon + 1);
    return true;
}

const char *
argos_question_match (const argos_question_t *self, const char *text)
{
    char question_id[ARGOS_QUESTION_ID], option_id[ARGOS_QUESTION_OPTION];
    size_t i;
    json_t *option;
    bool button = argos_question_split (text, question_id, option_id);
    if (button && strcmp (question_id, self->id) != 0)
        return NULL;
    const char *sought = button ? option_id : text;
    json_array_foreach (self->options, i, option)
        if (strcmp (argos_json_find_text (option, "id"), sought) == 0)
            return argos_json_find_text (option, "id");
    if (button || strcmp (self->kind, "clarify") != 0)
        return NULL;
    size_t number = strspn (text, "0123456789") == strlen (text) && strlen (text) <= 2
                        ? strtoul (text, NULL, 10)
                        : 0;
    json_array_foreach (self->options, i, option)
        if (i + 1 == number || strcasecmp (argos_json_find_text (option, "label"), text) == 0)
            return argos_json_find_text (option, "id");
    return NULL;
}

static bool
s_allows (const argos_question_t *self, const char *by)
{
    size_t i;
    json_t *user;
    if (!json_array_size (self->allowed))
        return true;
    json_array_foreach (self->allowed, i, user)
        if (by && json_is_string (user) && strcmp (json_string_value (user), by) == 0)
            return true;
    return false;
}

argos_question_verdict_t
argos_question_check (const argos_question_t *self, const char *by, const char *choice, int64_t now)
{
    size_t i;
    json_t *option;
    bool found = !choice && strcmp (self->kind, "clarify") == 0;
    if (strcmp (self->state, "open") != 0)
        return ARGOS_QUESTION_CLOSED;
    if (now >= self->deadline)
        return ARGOS_QUESTION_LATE;
    if (!s_allows (self, by))
        return ARGOS_QUESTION_STRANGER;
    json_array_foreach (self->options, i, option)
        found = found || (choice && strcmp (argos_json_find_text (option, "id"), choice) == 0);
    return found ? ARGOS_QUESTION_TAKE : ARGOS_QUESTION_NO_CHOICE;
}

json_t *
argos_question_settle (
    const json_t *value, const char *state, const char *choice, const char *text, const char *by)
{
    json_t *settled = json_deep_copy (value);
    s_set (settled, "state", state);
    s_set (settled, "choice", choice);
    s_set (settled, "answer", text);
    s_set (settled, "by", by);
    return s_checked (settled, ARGOS_QUESTION_VALUE_MAX);
}

json_t *
argos_question_put (const json_t *value, int64_t version)
{
    argos_question_t self;
    char key[ARGOS_QUESTION_KEY];
    bool good = argos_question_read (&self, value);
    assert (good);
    (void) good;
    argos_question_key (self.session_id, self.id, key);
    return json_pack ("{s:s, s:s, s:O, s:I, s:I}", "space", ARGOS_QUESTION_SPACE, "key", key,
        "value", value, "version", (json_int_t) version, "expires_at",
        (json_int_t) self.deadline + KEEP_MS);
}

json_t *
argos_question_answer (
    const char *question_id, const char *choice, const char *text, const char *by)
{
    json_t *body = json_pack ("{s:s}", "question_id", question_id);
    s_set (body, "choice", choice);
    s_set (body, "text", text);
    s_set (body, "by", by);
    return body;
}

json_t *
argos_question_prompt (const json_t *value, const char *reply_to)
{
    argos_question_t self;
    size_t i;
    json_t *option, *options = json_array ();
    bool good = argos_question_read (&self, value);
    assert (good);
    (void) good;
    json_array_foreach (self.options, i, option)
        json_array_append_new (
            options, json_pack ("{s:o, s:O}", "id",
                         json_sprintf ("%s:%s", self.id, argos_json_find_text (option, "id")),
                         "label", json_object_get (option, "label")));
    json_t *body = json_pack ("{s:s, s:s, s:s, s:s}", "op", i ? "prompt" : "send", "kind", "notice",
        "text", self.text, "run_id", self.run_id);
    if (i)
        json_object_set (body, "options", options);
    json_decref (options);
    s_set (body, "chat_id", argos_json_find_text (self.source, "chat_id"));
    s_set (body, "thread_id", argos_json_find_text (self.source, "thread_id"));
    s_set (body, "reply_to", reply_to);
    return body;
}

json_t *
argos_question_asked (const json_t *value)
{
    argos_question_t self;
    bool good = argos_question_read (&self, value);
    assert (good);
    (void) good;
    json_t *body = json_pack ("{s:s, s:s, s:s, s:s, s:O, s:I}", "question_id", self.id, "kind",
        self.kind, "tool_call_id", self.call_id, "text", self.text, "options", self.options,
        "deadline", (json_int_t) self.deadline);
    s_set (body, "tool", self.tool);
    return body;
}

json_t *
argos_question_closed (const json_t *value)
{
    argos_question_t self;
    bool good = argos_question_read (&self, value);
    assert (good);
    (void) good;
    json_t *body = json_pack ("{s:s, s:s}", "question_id", self.id, "state", self.state);
    s_set (body, "choice", self.choice);
    s_set (body, "by", self.by);
    return body;
}
