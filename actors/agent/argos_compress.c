//  argos_compress - makes a conversation smaller. Pure.
//
//  Limits: 384 KiB of text are summed up, the newest of it; the rows afterwards take 768 KiB at
//  most as long as results of tools can be made shorter.

#include "argos_compress.h"

#include "argos_messages.h"
#include "argos_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMPT_MAX 393216 //  Bytes of the text that is summed up
#define RESULT_CUT 600    //  Bytes of a tool's result in it
#define RESULT_KEPT 200   //  Bytes of a result that had to become shorter
#define ROWS_MAX 786432   //  Bytes of the rows afterwards
#define LEAST 5           //  One part in so many has to be summed up, else it is of no use
#define ROW_COST 16       //  Bytes that a row costs beside its text

static const char s_title[] = "[Summary of the earlier conversation]";

static const char s_system[] =
    "You write the summary of a conversation between a user and an assistant, so that the "
    "assistant "
    "can go on with it. Write only the summary, under these headings: Goal; Constraints; Progress "
    "(done, in progress, blocked); Decisions; Files; Next steps; Critical context. Keep names, "
    "paths, numbers, commands and what the user has asked for word by word where it matters. What "
    "is in an earlier summary stays, unless it is no longer true.";

static const char *
s_role (const json_t *rows, size_t at)
{
    const char *role = json_string_value (json_object_get (json_array_get (rows, at), "role"));
    return role ? role : "";
}

static bool
s_is_tool (const json_t *rows, size_t at)
{
    return strcmp (s_role (rows, at), "tool") == 0;
}

static size_t
s_bytes (const json_t *row)
{
    const json_t *content = json_object_get (row, "content");
    const json_t *calls = json_object_get (row, "tool_calls");
    size_t bytes = ROW_COST;
    if (json_is_string (content))
        bytes += json_string_length (content);
    else if (content)
        bytes += json_dumpb (content, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
    return calls ? bytes + json_dumpb (calls, NULL, 0, JSON_COMPACT) : bytes;
}

static size_t
s_bytes_of (const json_t *rows, size_t from, size_t to)
{
    size_t bytes = 0;
    for (size_t i = from; i < to; i++)
        bytes += s_bytes (json_array_get (rows, i));
    return bytes;
}

static size_t
s_all_bytes (const json_t *rows)
{
    return s_bytes_of (rows, 0, json_array_size (rows));
}

int64_t
argos_compress_tokens (const json_t *rows)
{
    return (int64_t) (s_all_bytes (rows) / 4);
}

bool
argos_compress_split (const json_t *rows, size_t tail, size_t *ret_from, size_t *ret_to)
{
    size_t count = json_array_size (rows);
    size_t from = ARGOS_COMPRESS_HEAD, to = count > tail ? count - tail : 0;
    while (from < count && s_is_tool (rows, from))
        from++; //  Results stay with their call
    while (to > from && s_is_tool (rows, to))
        to--;
    if (to < from + 2 || s_bytes_of (rows, from, to) * LEAST < s_bytes_of (rows, 0, count))
        return false;
    *ret_from = from;
    *ret_to = to;
    return true;
}

const char *
argos_compress_system (void)
{
    return s_system;
}

static void
s_add (argos_text_t *text, const char *words)
{
    argos_text_add (text, words, strlen (words));
}

static void
s_add_row (argos_text_t *text, const json_t *row, const char *role)
{
    char *content = argos_messages_text (json_object_get (row, "content"));
    const json_t *calls = json_object_get (row, "tool_calls");
    size_t size = content ? strlen (content) : 0;
    if (strcmp (role, "tool") == 0 && size > RESULT_CUT)
        size = argos_utf8_cut (content, size, RESULT_CUT);
    s_add (text, "\n\n");
    s_add (text, role);
    s_add (text, ": ");
    argos_text_add (text, content ? content : "", size);
    char *dump = json_array_size (calls) ? json_dumps (calls, JSON_COMPACT) : NULL;
    if (dump) {
        s_add (text, "\ncalls: ");
        argos_text_add (text, dump, argos_utf8_cut (dump, strlen (dump), (size_t) RESULT_CUT * 4));
    }
    free (dump);
    free (content);
}

char *
argos_compress_prompt (const json_t *rows, size_t from, size_t to, const char *focus)
{
    argos_text_t text;
    size_t bytes = 0, begin = to;
    while (begin > from && (bytes += s_bytes (json_array_get (rows, begin - 1))) < PROMPT_MAX)
        begin--;
    argos_text_init (&text, (size_t) PROMPT_MAX * 2);
    s_add (&text, "Sum up this conversation.");
    if (focus && *focus) {
        s_add (&text, " Keep above all what concerns: ");
        s_add (&text, focus);
    }
    for (size_t i = begin; i < to; i++)
        s_add_row (&text, json_array_get (rows, i), s_role (rows, i));
    char *copy = strdup (argos_text_str (&text));
    argos_text_clear (&text);
    return copy;
}

//  Only what a transcript has; arguments as text
static json_t *
s_stored (const json_t *row)
{
    static const char *const members[] = { "role", "content", "tool_call_id", "tool_name", "run_id",
        "finish_reason" };
    json_t *copy = json_object ();
    size_t i;
    json_t *call;
    for (i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get (row, members[i]);
        if (json_is_string (value))
            json_object_set (copy, members[i], value);
    }
    if (json_array_size (json_object_get (row, "attachments")))
        json_object_set (copy, "attachments", json_object_get (row, "attachments"));
    const json_t *calls = json_object_get (row, "tool_calls");
    if (!json_array_size (calls))
        return copy;
    json_t *list = json_deep_copy (calls);
    json_array_foreach (list, i, call) {
        json_t *function = json_object_get (call, "function");
        const json_t *arguments = json_object_get (function, "arguments");
        char *dump = json_is_object (arguments)
                         ? json_dumps (arguments, JSON_COMPACT | JSON_SORT_KEYS)
                         : NULL;
        if (dump)
            json_object_set_new (function, "arguments", json_string (dump));
        json_object_set_new (call, "type", json_string ("function"));
        free (dump);
    }
    json_object_set_new (copy, "tool_calls", list);
    return copy;
}

//  The oldest results become short until all of it fits; the newest stay as they are
static void
s_shorten (json_t *rows)
{
    size_t bytes = s_all_bytes (rows);
    for (size_t i = 0; i + 2 < json_array_size (rows) && bytes > ROWS_MAX; i++) {
        json_t *row = json_array_get (rows, i);
        const json_t *content = json_object_get (row, "content");
        size_t size = json_string_length (content);
        if (!s_is_tool (rows, i) || size <= RESULT_KEPT)
            continue;
        const char *text = json_string_value (content);
        bytes -= size - RESULT_KEPT;
        json_object_set_new (row, "content",
            json_sprintf ("%.*s [%zu bytes left out]",
                (int) argos_utf8_cut (text, size, RESULT_KEPT), text, size - RESULT_KEPT));
    }
}

json_t *
argos_compress_apply (const json_t *rows, size_t from, size_t to, const char *summary)
{
    summary += strspn (summary, " \t\r\n");
    if (!*summary)
        return NULL;
    json_t *made = json_array ();
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        if (i == from) //  Users are merged with users, so either role keeps the order
            json_array_append_new (
                made, json_pack ("{s:s, s:o}", "role",
                          strcmp (s_role (rows, from - 1), "user") == 0 ? "assistant" : "user",
                          "content", json_sprintf ("%s\n%s", s_title, summary)));
        if (i < from || i >= to)
            json_array_append_new (made, s_stored (row));
    }
    s_shorten (made);
    if (s_all_bytes (made) * 10 <= s_all_bytes (rows) * 9)
        return made;
    json_decref (made);
    return NULL;
}
