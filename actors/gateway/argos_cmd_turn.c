//  argos_cmd_turn - the commands on turns: retry, undo, compress, stop, queue, plan, steer.
//
//  Invariant: what was said is taken back only while nothing runs in the session, and as it was
//  read. Pure.

#include "argos_asked.h"
#include "argos_busy.h"
#include "argos_cmd.h"
#include "argos_header.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_say.h"

#include <stdio.h>
#include <string.h>

#define NOTE "[attached " //  Begins the note of a file in a stored message
#define UNDONE_SIZE 2048  //  Bytes of the message that was taken back

//  What was said last, newest first.

static const json_t *
s_said (const argos_gateway_case_t *gateway)
{
    return json_object_get (gateway->fact[ARGOS_FACT_SAID], "messages");
}

//  Takes a message of the user back and all behind it: as the session was read, while it is idle.

static void
s_rewind (const argos_gateway_case_t *gateway, const json_t *message, json_t *parts)
{
    const json_t *session = argos_cmd_session (gateway);
    const char *id = argos_json_text (session, "id");
    argos_parts_store_new (parts, "expect",
        json_pack ("{s:s, s:s, s:O}", "row", "session", "id", id, "version",
            json_object_get (session, "version")));
    argos_cmd_expect_idle (id, parts);
    argos_parts_store_new (parts, "session.rewind",
        json_pack ("{s:s, s:O}", "session_id", id, "message_id", json_object_get (message, "id")));
}

//  What was said without the notes of its files, of which the new turn makes its own: a line for
//  each behind an empty one. Returns the number of bytes.

static size_t
s_without_notes (const char *text, size_t files)
{
    size_t length = strlen (text), from = length;
    while (files--) {
        while (from && text[from - 1] != '\n')
            from--;
        if (!from || strncmp (text + from, NOTE, sizeof NOTE - 1) != 0)
            return length;
        length = --from;
    }
    return length && text[length - 1] == '\n' ? length - 1 : length;
}

void
argos_cmd_retry (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) arguments;
    const json_t *last = json_array_get (s_said (gateway), 0);
    const char *text = argos_json_text (last, "content");
    json_t *files = json_object_get (last, "attachments");
    if (!*text) {
        argos_cmd_say (gateway, parts, SAY_NO_RETRY);
        return;
    }
    s_rewind (gateway, last, parts);
    if (!json_array_size (files)) {
        argos_gateway_turn (gateway, text, true, parts);
        return;
    }
    //  The message once more with its files, which stay as long as the new run
    json_t *said = json_stringn (text, s_without_notes (text, json_array_size (files)));
    json_t *body = json_deep_copy (gateway->body);
    json_object_set (body, "attachments", files);
    argos_gateway_case_t again = *gateway;
    again.body = body;
    argos_gateway_turn (&again, json_string_value (said), true, parts);
    json_decref (body);
    json_decref (said);
}

void
argos_cmd_undo (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const json_t *said = s_said (gateway);
    size_t count = json_array_size (said);
    char cut[UNDONE_SIZE];
    if (*arguments && argos_cmd_number (arguments) < 1) {
        argos_cmd_say (gateway, parts, SAY_USAGE, "undo", "[count]");
        return;
    }
    if (!count) {
        argos_cmd_say (gateway, parts, SAY_NO_UNDO);
        return;
    }
    const json_t *first = json_array_get (said, count - 1);
    s_rewind (gateway, first, parts);
    argos_parts_cut (argos_json_text (first, "content"), cut, sizeof cut);
    argos_cmd_say (gateway, parts, SAY_UNDONE, count, cut);
}

void
argos_cmd_compress (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char session[ARGOS_SESSION_ID_MAX + 1], id[64], service[ARGOS_NAME_MAX + 1];
    const json_t *source = json_object_get (gateway->body, "source");
    if (!argos_cmd_session (gateway)) {
        argos_cmd_say (gateway, parts, SAY_NO_COMPRESS);
        return;
    }
    argos_gateway_session (gateway, session);
    argos_cmd_id (gateway, "compress", id);
    json_t *body = json_pack ("{s:s, s:O?, s:O?}", "session_id", session, "source", source,
        "reply_to", json_object_get (gateway->body, "message_id"));
    if (*arguments)
        json_object_set_new (body, "focus", json_string (arguments));
    if (argos_parts_service (source, service))
        json_object_set_new (body, "deliver", json_string (service));
    argos_parts_turn_new (parts, "session.compress", id, session, false, body);
}

void
argos_cmd_stop (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) arguments;
    int running, queued;
    char session[ARGOS_SESSION_ID_MAX + 1], id[64];
    argos_cmd_count (gateway, &running, &queued);
    if (!running && !queued) {
        argos_cmd_say (gateway, parts, SAY_NOT_RUNNING);
        return;
    }
    argos_gateway_session (gateway, session);
    argos_cmd_id (gateway, "stop", id);
    argos_parts_turn_new (parts, "turn.stop", id, session, true,
        json_pack ("{s:s}", "reason", "stopped by the user"));
    argos_asked_cancel (gateway, parts);
    argos_cmd_say (gateway, parts, SAY_STOPPED);
}

//  A turn of its own, after what is there.

static void
s_queue (
    const argos_gateway_case_t *gateway, const char *name, const char *arguments, json_t *parts)
{
    int running, queued;
    argos_cmd_count (gateway, &running, &queued);
    if (!*arguments) {
        argos_cmd_say (gateway, parts, SAY_USAGE, name, "<prompt>");
        return;
    }
    argos_gateway_turn (gateway, arguments, false, parts);
    if (running || queued)
        argos_cmd_say (gateway, parts, SAY_QUEUED, queued + 1);
}

void
argos_cmd_queue (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    s_queue (gateway, "queue", arguments, parts);
}

void
argos_cmd_plan (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    s_queue (gateway, "plan", arguments, parts);
    json_object_set_new (
        json_object_get (argos_parts_request (parts), "body"), "read_only", json_true ());
}

void
argos_cmd_steer (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    int running, queued;
    char preview[ARGOS_CMD_PREVIEW_SIZE];
    argos_cmd_count (gateway, &running, &queued);
    if (!*arguments) {
        argos_cmd_say (gateway, parts, SAY_USAGE, "steer", "<prompt>");
        return;
    }
    argos_cmd_preview (arguments, preview);
    if (argos_busy_turn (gateway, arguments, ARGOS_BUSY_STEER, parts) && (running || queued))
        argos_cmd_say (gateway, parts, SAY_STEERED, preview);
}
