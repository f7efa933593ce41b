//  argos_background - the command /background.
//
//  Invariant: a task, its first message to the chat and its stop at the time limit are parts of one
//  done, so there is all of it or nothing, and the first message stands before the result in the
//  lane of the chat. A run of the API becomes the task itself, beside its session and without a
//  message. Pure. Limits: 60 characters of a preview, 20 tasks of a list, 1,000 bytes of a
//  result in /background status.

#include "argos_background.h"

#include "argos_cmd.h"
#include "argos_header.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define LIST_MAX 20      //  Tasks of a list
#define RESULT_SIZE 1001 //  Bytes of a result that is shown again, terminated
#define TEXT_SIZE 8192   //  Bytes of an answer

void
argos_background_id (int64_t wall, uint64_t entropy, char *target)
{
    time_t seconds = (time_t) (wall / 1000);
    struct tm when;
    localtime_r (&seconds, &when);
    size_t length = strftime (target, ARGOS_TASK_ID_SIZE, "bg_%H%M%S_", &when);
    snprintf (target + length, ARGOS_TASK_ID_SIZE - length, "%06" PRIx32,
        (uint32_t) ((entropy ^ (entropy >> 32)) & 0xFFFFFF));
}

//  Whether the message came through the API, whose run is the answer and the task itself.

static bool
s_is_api (const argos_gateway_case_t *gateway)
{
    const char *platform = argos_json_text (json_object_get (gateway->body, "source"), "platform");
    return argos_platform_find (platform)->by_run;
}

//  ---------------------------------------------------------------------------------------------
//  Starting one

//  The rows of the task: its session, its run, and that there is room for one more.

static void
s_rows (const argos_gateway_case_t *gateway, const char *run, const char *task, const char *prompt,
    json_t *parts)
{
    char origin[ARGOS_ROUTE_KEY_MAX + 1], owner[ARGOS_NAME_MAX + 1], input[1025];
    const json_t *source = json_object_get (gateway->body, "source");
    int64_t max = argos_setting_int (gateway->policy->config, NULL, NULL, "background.max_running");
    if (max)
        argos_parts_store_new (parts, "expect",
            json_pack (
                "{s:s, s:s, s:I}", "row", "runs", "kind", "background", "max", (json_int_t) max));
    if (argos_route_key (source, &gateway->policy->route, origin, sizeof origin) != 0)
        *origin = 0;
    argos_name_base (gateway->from, owner);
    argos_parts_cut (prompt, input, sizeof input);
    argos_parts_store_new (parts, "session.create",
        json_pack ("{s:s, s:O, s:b}", "id", task, "source", source, "hidden", 1));
    if (s_is_api (gateway))
        argos_parts_store_new (parts, "run.bind",
            json_pack ("{s:s, s:s, s:s}", "run_id", run, "session_id", task, "kind", "background"));
    else
        argos_parts_store_new (parts, "run.create",
            json_pack ("{s:s, s:s, s:s, s:s, s:s, s:s}", "run_id", run, "owner", owner,
                "session_id", task, "input", input, "kind", "background", "origin", origin));
}

//  The turn, with the words for its end; and its stop, when that takes too long.

static void
s_turns (const argos_gateway_case_t *gateway, const char *run, const char *task, const char *prompt,
    const char *preview, json_t *parts)
{
    char completed[ARGOS_CMD_PREVIEW_SIZE + 64], failed[64], id[ARGOS_RUN_ID_SIZE + 8];
    char session[ARGOS_SESSION_ID_MAX + 1];
    int64_t seconds =
        argos_setting_int (gateway->policy->config, NULL, NULL, "background.timeout_s");
    snprintf (
        completed, sizeof completed, "✅ Background task complete\nPrompt: \"%s\"\n\n", preview);
    snprintf (failed, sizeof failed, "❌ Background task %s failed: ", task);
    json_t *turn = argos_gateway_turn_new (gateway, run, task, prompt);
    json_object_set_new (turn, "new_session", json_true ());
    json_object_del (turn, "history");
    json_object_set_new (turn, "task",
        json_pack ("{s:s, s:s, s:s, s:s}", "id", task, "completed", completed, "empty",
            "(No response generated)", "failed", failed));
    argos_gateway_session (gateway, session);
    if (*session && argos_setting_bool (gateway->policy->config, NULL, NULL, "background.note"))
        json_object_set_new (json_object_get (turn, "task"), "note", json_string (session));
    argos_parts_turn_new (parts, "turn.request", run, task, false, turn);
    if (!seconds)
        return;
    char reason[64];
    snprintf (id, sizeof id, "late_%s", run);
    snprintf (reason, sizeof reason, "timed out after %" PRId64 " s", seconds);
    argos_parts_turn_new (parts, "turn.stop", id, task, true,
        json_pack ("{s:s, s:s}", "run_id", run, "reason", reason));
    json_object_set_new (json_array_get (parts, json_array_size (parts) - 1), "not_before",
        json_integer ((json_int_t) gateway->wall + seconds * 1000));
}

static void
s_start (const argos_gateway_case_t *gateway, const char *prompt, json_t *parts)
{
    char run[ARGOS_RUN_ID_SIZE], task[ARGOS_TASK_ID_SIZE], preview[ARGOS_CMD_PREVIEW_SIZE];
    argos_gateway_run (gateway, run);
    argos_background_id (gateway->wall, gateway->entropy, task);
    argos_cmd_preview (prompt, preview);
    s_rows (gateway, run, task, prompt, parts);
    argos_gateway_attachments (gateway, run, parts);
    if (!s_is_api (gateway))
        argos_cmd_say (gateway, parts,
            "🔄 Background task started: \"%s\"\nTask ID: %s\n"
            "You can go on chatting; the result comes here.",
            preview, task);
    s_turns (gateway, run, task, prompt, preview, parts);
}

//  ---------------------------------------------------------------------------------------------
//  Looking at them, and stopping one

//  The task of that name among those of this conversation, NULL = there is none. Somebody else's
//  is none.

static const json_t *
s_find (const argos_gateway_case_t *gateway, const char *id)
{
    size_t index;
    json_t *run;
    json_array_foreach (json_object_get (gateway->fact[ARGOS_FACT_TASKS], "runs"), index, run)
        if (strcmp (argos_json_text (run, "kind"), "background") == 0 &&
            strcmp (argos_json_text (run, "session_id"), id) == 0)
            return run;
    return NULL;
}

static bool
s_is_finished (const json_t *run)
{
    const char *state = argos_json_text (run, "state");
    return strcmp (state, "completed") == 0 || strcmp (state, "failed") == 0 ||
           strcmp (state, "cancelled") == 0;
}

static int64_t
s_minutes (const argos_gateway_case_t *gateway, const json_t *run)
{
    int64_t age = gateway->wall - json_integer_value (json_object_get (run, "created_at"));
    return age > 0 ? age / 60000 : 0;
}

static void
s_list (const argos_gateway_case_t *gateway, const char *id, json_t *parts)
{
    (void) id;
    char text[TEXT_SIZE], preview[ARGOS_CMD_PREVIEW_SIZE];
    size_t length = 0, index;
    int shown = 0;
    json_t *run;
    json_array_foreach (json_object_get (gateway->fact[ARGOS_FACT_TASKS], "runs"), index, run) {
        if (strcmp (argos_json_text (run, "kind"), "background") != 0 || shown == LIST_MAX ||
            length >= sizeof text)
            continue;
        argos_cmd_preview (argos_json_text (run, "input"), preview);
        length += (size_t) snprintf (text + length, sizeof text - length,
            "%s`%s` %s, %" PRId64 " min ago: \"%s\"", shown++ ? "\n" : "",
            argos_json_text (run, "session_id"), argos_json_text (run, "state"),
            s_minutes (gateway, run), preview);
    }
    argos_cmd_say (gateway, parts, "%s", shown ? text : "There are no background tasks.");
}

static void
s_status (const argos_gateway_case_t *gateway, const char *id, json_t *parts)
{
    char text[TEXT_SIZE], preview[ARGOS_CMD_PREVIEW_SIZE], result[RESULT_SIZE];
    const json_t *run = s_find (gateway, id);
    if (!run) {
        argos_cmd_say (
            gateway, parts, "There is no such background task. /background list shows them.");
        return;
    }
    argos_cmd_preview (argos_json_text (run, "input"), preview);
    const char *output = argos_json_text (run, "output");
    argos_parts_cut (*output ? output : argos_json_text (run, "error"), result, sizeof result);
    snprintf (text, sizeof text, "Background task %s: %s, %" PRId64 " min ago\nPrompt: \"%s\"%s%s",
        argos_json_text (run, "session_id"), argos_json_text (run, "state"),
        s_minutes (gateway, run), preview, *result ? "\n\n" : "", result);
    argos_cmd_say (gateway, parts, "%s", text);
}

static void
s_cancel (const argos_gateway_case_t *gateway, const char *id, json_t *parts)
{
    char text[256], digest[ARGOS_DIGEST_SIZE], stop[ARGOS_DIGEST_SIZE + 8];
    const json_t *run = s_find (gateway, id);
    if (!run) {
        argos_cmd_say (
            gateway, parts, "There is no such background task. /background list shows them.");
        return;
    }
    if (s_is_finished (run)) {
        snprintf (text, sizeof text, "Background task %.32s is over already: %s.",
            argos_json_text (run, "session_id"), argos_json_text (run, "state"));
        argos_cmd_say (gateway, parts, "%s", text);
        return;
    }
    snprintf (text, sizeof text, "Background task %.32s is being cancelled.",
        argos_json_text (run, "session_id"));
    argos_cmd_say (gateway, parts, "%s", text);
    argos_parts_digest (gateway->from, gateway->id, digest);
    snprintf (stop, sizeof stop, "stop_%s", digest);
    argos_parts_turn_new (parts, "turn.stop", stop, argos_json_text (run, "session_id"), true,
        json_pack ("{s:s, s:s}", "run_id", argos_json_text (run, "run_id"), "reason",
            "cancelled by the user"));
}

//  ---------------------------------------------------------------------------------------------
//  The command

static void
s_which (const argos_gateway_case_t *gateway, const char *id, json_t *parts)
{
    (void) id;
    argos_cmd_say (gateway, parts,
        "Usage: /background cancel ID\n/background list shows the ids; /background -- cancel is a "
        "prompt.");
}

//  What the first word of the arguments may mean, when what follows fits; anything else is a
//  prompt.

static const struct {
    const char *word; //  First word
    bool id;          //  One word follows it, the name of a task; else nothing does
    void (*handler) (const argos_gateway_case_t *gateway, const char *id, json_t *parts);
} s_words[] = {
    { "list", false, s_list },
    { "status", false, s_list },
    { "status", true, s_status },
    { "cancel", false, s_which },
    { "cancel", true, s_cancel },
};

//  Runs the row whose word the arguments begin with. Returns false when they are a prompt.

static bool
s_run_word (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    static const char blank[] = " \t\r\n";
    char id[65];
    size_t word = strcspn (arguments, blank);
    const char *rest = arguments + word + strspn (arguments + word, blank);
    size_t length = strcspn (rest, blank);
    bool more = rest[length + strspn (rest + length, blank)] != 0;
    for (size_t i = 0; i < sizeof s_words / sizeof *s_words; i++) {
        if (strlen (s_words[i].word) != word || strncasecmp (s_words[i].word, arguments, word) != 0)
            continue;
        if (more || (length > 0) != s_words[i].id || length >= sizeof id)
            continue;
        memcpy (id, rest, length);
        id[length] = 0;
        if (s_is_api (gateway))
            argos_cmd_say (gateway, parts,
                "over HTTP a task is a run: GET /v1/runs lists them, GET /v1/runs/ID is its state, "
                "POST /v1/runs/ID/stop cancels it");
        else
            s_words[i].handler (gateway, id, parts);
        return true;
    }
    return false;
}

void
argos_cmd_background (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    static const char blank[] = " \t\r\n";
    bool escaped = strncmp (arguments, "--", 2) == 0 && strchr (blank, arguments[2]);
    if (escaped)
        arguments += 2;
    char *prompt = strdup (arguments + strspn (arguments, blank));
    if (!prompt)
        abort ();
    for (size_t length = strlen (prompt); length && strchr (blank, prompt[length - 1]);)
        prompt[--length] = 0;
    if (!*prompt)
        argos_cmd_say (gateway, parts,
            "Usage: /background <prompt>\nExample: /background Summarize the top HN stories\n"
            "The prompt runs in a separate session, and the result comes here. /background list, "
            "/background status ID and /background cancel ID look after it.");
    else if (escaped || !s_run_word (gateway, prompt, parts))
        s_start (gateway, prompt, parts);
    free (prompt);
}
