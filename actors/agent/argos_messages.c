//  argos_messages - a stored transcript made fit for a provider.
//
//  One pass over the rows. Invariant: `open` holds the ids of the newest assistant message's calls
//  that have no result yet; it is empty whenever a message that is no tool result is appended.

#include "argos_messages.h"

#include "argos_args.h"

#include <stdlib.h>
#include <string.h>

static const char s_missing[] = "No result of this call was recorded.";
static const char s_damaged[] =
    "[The stored arguments of this call were damaged and have been replaced by {}.]";

typedef struct {
    json_t *out;  //  Messages so far
    json_t *open; //  {call id: true when its arguments were damaged}, calls without a result
    const json_t *images; //  {blob: data URL or words}; borrowed, NULL = none
} s_repair_t;

static void
s_push_result (s_repair_t *self, const char *id, const char *text, const char *mark)
{
    json_t *content = mark ? json_sprintf ("%s\n%s", mark, text) : json_string (text);
    json_array_append_new (self->out,
        json_pack ("{s:s, s:s, s:o}", "role", "tool", "tool_call_id", id, "content", content));
}

//  Every call that is still open gets a result that says so
static void
s_close_calls (s_repair_t *self)
{
    const char *id;
    json_t *damaged;
    json_object_foreach (self->open, id, damaged)
        s_push_result (self, id, s_missing, json_is_true (damaged) ? s_damaged : NULL);
    json_object_clear (self->open);
}

char *
argos_messages_text (const json_t *content)
{
    if (json_is_string (content))
        return strdup (json_string_value (content));
    argos_text_t text;
    argos_text_init (&text, 1048576);
    size_t i;
    json_t *part;
    json_array_foreach (content, i, part) {
        const char *piece = json_is_string (part)
                                ? json_string_value (part)
                                : json_string_value (json_object_get (part, "text"));
        if (!piece)
            continue;
        if (text.size)
            argos_text_add (&text, "\n", 1);
        argos_text_add (&text, piece, strlen (piece));
    }
    char *copy = strdup (argos_text_str (&text));
    argos_text_clear (&text);
    return copy;
}

static json_t *
s_as_list (json_t *content)
{
    if (json_is_array (content))
        return json_copy (content);
    return json_pack ("[{s:s, s:s}]", "type", "text", "text", json_string_value (content));
}

//  The content of two user messages as one
static json_t *
s_merge (json_t *first, json_t *second)
{
    if (json_is_string (first) && json_is_string (second)) {
        const char *one = json_string_value (first), *two = json_string_value (second);
        return *one && *two ? json_sprintf ("%s\n\n%s", one, two) : json_string (*one ? one : two);
    }
    json_t *list = s_as_list (first), *more = s_as_list (second);
    json_array_extend (list, more);
    json_decref (more);
    return list;
}

bool
argos_messages_is_image (const json_t *image)
{
    return json_is_string (image) && strncmp (json_string_value (image), "data:", 5) == 0;
}

//  The content of a user's row with its images, new
static json_t *
s_with_images (const s_repair_t *self, const json_t *row, json_t *content)
{
    size_t i;
    json_t *attachment, *shown = json_incref (content);
    json_array_foreach (json_object_get (row, "attachments"), i, attachment) {
        const char *blob = json_string_value (json_object_get (attachment, "blob"));
        json_t *image = blob ? json_object_get (self->images, blob) : NULL;
        json_t *grown = NULL;
        if (argos_messages_is_image (image)) {
            grown = s_as_list (shown);
            json_array_append_new (grown, json_pack ("{s:s, s:O}", "type", "image", "url", image));
        }
        else if (json_is_string (image))
            grown = s_merge (shown, image);
        if (!grown)
            continue;
        json_decref (shown);
        shown = grown;
    }
    return shown;
}

static void
s_push_plain (s_repair_t *self, const char *role, json_t *content)
{
    s_close_calls (self);
    json_t *last = json_array_get (self->out, json_array_size (self->out) - 1);
    const char *last_role = json_string_value (json_object_get (last, "role"));
    if (last_role && strcmp (role, "user") == 0 && strcmp (last_role, role) == 0) {
        json_object_set_new (last, "content", s_merge (json_object_get (last, "content"), content));
        return;
    }
    json_array_append_new (self->out, json_pack ("{s:s, s:O}", "role", role, "content", content));
}

//  A stored call in wire form; *ret_damaged says whether its arguments were not JSON. NULL when it
//  has no id or no name.
static json_t *
s_call (const json_t *stored, bool *ret_damaged)
{
    const json_t *function = json_object_get (stored, "function");
    const char *id = json_string_value (json_object_get (stored, "id"));
    const char *name = json_string_value (json_object_get (function, "name"));
    const json_t *given = json_object_get (function, "arguments");
    if (!id || !*id || !name || !*name)
        return NULL;
    argos_text_t args;
    argos_text_init (&args, 1048576);
    if (json_is_object (given)) {
        char *compact = json_dumps (given, JSON_COMPACT | JSON_SORT_KEYS);
        argos_text_add (&args, compact ? compact : "{}", strlen (compact ? compact : "{}"));
        free (compact);
    }
    else if (json_is_string (given))
        argos_text_add (&args, json_string_value (given), json_string_length (given));
    *ret_damaged = argos_args_repair (&args) < 0;
    json_t *call = json_pack ("{s:s, s:s, s:{s:s, s:s}}", "id", id, "type", "function", "function",
        "name", name, "arguments", *ret_damaged ? "{}" : argos_text_str (&args));
    argos_text_clear (&args);
    return call;
}

static void
s_keep_thoughts (json_t *message, const json_t *row)
{
    static const char *const members[] = { "reasoning_content", "_thinking" };
    for (size_t i = 0; i < 2; i++) {
        json_t *thought = json_object_get (row, members[i]);
        if (json_string_length (thought) || json_array_size (thought))
            json_object_set (message, members[i], thought);
    }
}

static void
s_push_assistant (s_repair_t *self, json_t *content, const json_t *row)
{
    const json_t *stored_calls = json_object_get (row, "tool_calls");
    json_t *calls = json_array (), *open = json_object ();
    size_t i;
    json_t *stored;
    json_array_foreach (stored_calls, i, stored) {
        bool damaged = false;
        json_t *call = s_call (stored, &damaged);
        if (!call)
            continue;
        json_object_set_new (
            open, json_string_value (json_object_get (call, "id")), json_boolean (damaged));
        json_array_append_new (calls, call);
    }
    bool empty = !content || (json_is_string (content) && !json_string_length (content));
    if (json_array_size (calls)) {
        s_close_calls (self);
        json_t *message = json_pack ("{s:s, s:O?, s:O}", "role", "assistant", "content",
            empty ? NULL : content, "tool_calls", calls);
        s_keep_thoughts (message, row);
        json_array_append_new (self->out, message);
        json_object_update (self->open, open);
    }
    else if (!empty)
        s_push_plain (self, "assistant", content);
    json_decref (calls);
    json_decref (open);
}

static void
s_push_tool (s_repair_t *self, const json_t *row, const json_t *content)
{
    const char *id = json_string_value (json_object_get (row, "tool_call_id"));
    const json_t *damaged = id ? json_object_get (self->open, id) : NULL;
    if (!damaged)
        return; //  Nobody asked, or it has been answered
    char *text = argos_messages_text (content);
    s_push_result (self, id, text ? text : "", json_is_true (damaged) ? s_damaged : NULL);
    free (text);
    json_object_del (self->open, id);
}

json_t *
argos_messages_repair (const json_t *rows, const json_t *images)
{
    s_repair_t self = { json_array (), json_object (), images };
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const char *role = json_string_value (json_object_get (row, "role"));
        json_t *content = json_object_get (row, "content");
        if (!json_is_string (content) && !json_is_array (content))
            content = NULL;
        if (!role)
            continue;
        if (strcmp (role, "assistant") == 0)
            s_push_assistant (&self, content, row);
        else if (strcmp (role, "tool") == 0)
            s_push_tool (&self, row, content);
        else if (strcmp (role, "user") == 0 && content) {
            json_t *shown = s_with_images (&self, row, content);
            s_push_plain (&self, role, shown);
            json_decref (shown);
        }
        else if (strcmp (role, "system") == 0 && content)
            s_push_plain (&self, role, content);
    }
    s_close_calls (&self);
    json_decref (self.open);
    return self.out;
}
