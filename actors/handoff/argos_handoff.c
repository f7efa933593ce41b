//  argos_handoff - see the header.
//
//  Invariant: the route, the state and the turn change in one commit or not at all. Limits:
//  ARGOS_HANDOFF_ROUTES_MAX routes are taken from the session; more go on sharing its lane.

#include "argos_handoff.h"

#include "argos_header.h"
#include "argos_home.h"
#include "argos_json_get.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LABEL_SIZE 9 //  Of an id, for people, with its end
#define SERVICE "deliver."

//  ------------------------------------------------------------------------------------------------
//  Where to

json_t *
argos_handoff_place (const argos_handoff_case_t *self, char reason[static ARGOS_HANDOFF_TEXT_SIZE])
{
    const char *platform = argos_json_text (self->row, "platform"),
               *target = argos_json_text (self->row, "target");
    json_t *place =
        *target ? json_pack ("{s:s, s:s}", "platform", platform, "chat_id", target)
                : argos_home (self->settings, platform, json_object_get (self->home, "value"));
    if (!place)
        snprintf (reason, ARGOS_HANDOFF_TEXT_SIZE,
            "no home channel is configured for %s: say /sethome in the chat that is to be it",
            platform);
    return place;
}

bool
argos_handoff_account (const argos_handoff_case_t *self, const json_t *place, char *target)
{
    const char *wanted = argos_json_text (place, "account");
    char prefix[ARGOS_NAME_MAX + 1];
    size_t index;
    json_t *row;
    int size = snprintf (prefix, sizeof prefix, SERVICE "%s.", argos_json_text (place, "platform"));
    *target = 0;
    json_array_foreach (json_object_get (self->status, "services"), index, row) {
        const char *name = argos_json_text (row, "name");
        if (size >= (int) sizeof prefix || strncmp (name, prefix, (size_t) size) != 0 ||
            argos_json_int (row, "workers") < 1 || (*wanted && strcmp (name + size, wanted) != 0))
            continue;
        if (!*target || strcmp (name + size, target) < 0)
            snprintf (target, ARGOS_NAME_MAX + 1, "%s", name + size);
    }
    return *target != 0;
}

//  The title of the session, else the beginning of its id.

static void
s_label (const json_t *session, char *target, size_t size)
{
    const char *title = argos_json_text (session, "title");
    char id[LABEL_SIZE];
    argos_parts_cut (argos_json_text (session, "id"), id, sizeof id);
    argos_parts_cut (*title ? title : id, target, size);
    for (; *target; target++)
        if ((unsigned char) *target < 0x20 || *target == 0x7f)
            *target = ' ';
}

void
argos_handoff_name (const argos_handoff_case_t *self, char target[static ARGOS_HANDOFF_NAME_SIZE])
{
    char label[ARGOS_HANDOFF_NAME_SIZE - 16];
    s_label (self->session, label, sizeof label);
    snprintf (target, ARGOS_HANDOFF_NAME_SIZE, "Argos — %s", label);
}

//  What the adapter says of the next reply goes over what is known.

json_t *
argos_handoff_source (const argos_handoff_case_t *self, const json_t *place)
{
    json_t *source = json_deep_copy (place);
    json_t *own = json_object_get (self->thread, "source");
    const char *type = argos_json_text (self->chat, "chat_type");
    bool thread = *argos_json_text (self->thread, "thread_id");
    if (*type && !*argos_json_text (source, "chat_type"))
        json_object_set_new (source, "chat_type", json_string (type));
    if (thread) {
        json_object_set (source, "thread_id", json_object_get (self->thread, "thread_id"));
        json_object_set_new (source, "chat_type", json_string ("thread"));
        if (*argos_json_text (self->thread, "chat_id"))
            json_object_set (source, "chat_id", json_object_get (self->thread, "chat_id"));
    }
    else if (*argos_json_text (self->chat, "thread_id") && !*argos_json_text (source, "thread_id"))
        json_object_set (source, "thread_id", json_object_get (self->chat, "thread_id"));
    if (!*argos_json_text (source, "chat_type"))
        json_object_set_new (source, "chat_type", json_string ("dm"));
    if (json_is_object (own)) {
        json_object_update (source, own);
        json_object_set (source, "platform", json_object_get (place, "platform"));
        json_object_set (source, "account", json_object_get (place, "account"));
    }
    return source;
}

bool
argos_handoff_reachable (const argos_handoff_case_t *self, const json_t *source,
    char reason[static ARGOS_HANDOFF_TEXT_SIZE])
{
    const char *type = argos_json_text (source, "chat_type");
    bool known = *argos_json_text (source, "user_id") || *argos_json_text (source, "user_id_alt");
    bool nobody = strcmp (type, "channel") == 0; //  Its posts have no author
    if (known || nobody || strcmp (type, "dm") == 0 || argos_route_is_shared (source, self->policy))
        return true;
    snprintf (reason, ARGOS_HANDOFF_TEXT_SIZE,
        "each person has a conversation of his own in that chat, and there is no new thread "
        "(%.200s): say /sethome there, and it is yours",
        *self->no_thread ? self->no_thread : "not supported");
    return false;
}

//  ------------------------------------------------------------------------------------------------
//  The last commit

static void
s_reason (const json_t *row, char target[static ARGOS_HANDOFF_REASON_SIZE])
{
    snprintf (
        target, ARGOS_HANDOFF_REASON_SIZE, "handoff:%.32s", argos_json_text (row, "platform"));
}

static void
s_idle (json_t *parts, const char *session)
{
    argos_parts_store_new (parts, "expect",
        json_pack (
            "{s:s, s:s, s:s, s:i}", "row", "lane", "service", "turn", "key", session, "max", 1));
}

static bool
s_lets_go (const json_t *route, const char *key)
{
    return strcmp (argos_json_text (route, "key"), key) != 0 &&
           !json_is_true (json_object_get (route, "suspended"));
}

const char *
argos_handoff_from (const argos_handoff_case_t *self, const char *key)
{
    size_t index;
    json_t *route;
    json_array_foreach (json_object_get (self->routes, "routes"), index, route)
        if (s_lets_go (route, key))
            return argos_json_text (route, "key");
    return NULL;
}

//  The other routes of the session lead nowhere from now on: who speaks there is told where it
//  went. Returns them, for the way back.

static json_t *
s_let_go (const argos_handoff_case_t *self, const char *key, json_t *parts)
{
    char reason[ARGOS_HANDOFF_REASON_SIZE];
    json_t *gone = json_array (), *route;
    size_t index;
    s_reason (self->row, reason);
    json_array_foreach (json_object_get (self->routes, "routes"), index, route) {
        const char *other = argos_json_text (route, "key");
        if (!s_lets_go (route, key) || json_array_size (gone) == ARGOS_HANDOFF_ROUTES_MAX)
            continue;
        argos_parts_store_new (
            parts, "route.suspend", json_pack ("{s:s, s:s}", "key", other, "reason", reason));
        json_t *entry = json_pack ("{s:s}", "key", other);
        if (json_is_object (json_object_get (route, "source")))
            json_object_set (entry, "source", json_object_get (route, "source"));
        json_array_append_new (gone, entry);
    }
    return gone;
}

//  What was set for the session by /model and /reasoning goes with it, into the turn and into the
//  settings of the chat; whoever speaks there has not switched off asking (/yolo).

static void
s_carry (const argos_handoff_case_t *self, const char *key, json_t *turn, json_t *parts)
{
    static const char *const names[] = { "model", "reasoning" };
    char record[ARGOS_ROUTE_RECORD_SIZE];
    const char *session = argos_json_text (self->row, "session_id");
    const json_t *here = json_object_get (self->setting, "value"), *there;
    there = json_object_get (self->there, "value");
    bool own = strcmp (argos_json_text (there, "session"), session) == 0;
    const json_t *set = json_object_get (own ? there : here, "of");
    if (!own && strcmp (argos_json_text (here, "session"), session) != 0)
        return;
    json_t *of = json_object (), *chat = json_object_get (there, "chat");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (*argos_json_text (set, names[i])) {
            json_object_set (of, names[i], json_object_get (set, names[i]));
            json_object_set (turn, names[i], json_object_get (set, names[i]));
        }
    json_t *value = json_pack ("{s:s, s:O, s:o}", "session", session, "of", of, "chat",
        chat ? json_copy (chat) : json_object ());
    if (*argos_json_text (there, "session"))
        json_object_set_new (value, "before",
            json_pack ("{s:O, s:O?}", "session", json_object_get (there, "session"), "of",
                json_object_get (there, "of")));
    argos_route_record (key, record);
    if (!own && json_object_size (of))
        argos_parts_store_new (parts, "record.put",
            json_pack ("{s:s, s:s, s:O, s:I}", "space", "setting", "key", record, "value", value,
                "version", argos_json_int (self->there, "version")));
    json_decref (of);
    json_decref (value);
}

static void
s_turn (const argos_handoff_case_t *self, const json_t *source, const char *key, const char *run,
    json_t *parts)
{
    char label[ARGOS_HANDOFF_NAME_SIZE], text[1024], service[ARGOS_NAME_MAX + 1];
    const char *session = argos_json_text (self->row, "session_id");
    s_label (self->session, label, sizeof label);
    snprintf (text, sizeof text,
        "[This conversation, \"%s\", has just been handed over from the command line to this chat; "
        "all that was said is above. Confirm that briefly, and sum up in a few sentences where "
        "things stand.]",
        label);
    argos_parts_store_new (parts, "run.create",
        json_pack ("{s:s, s:s, s:s, s:s, s:s}", "run_id", run, "owner", "handoff", "session_id",
            session, "input", "handoff", "kind", "handoff"));
    json_t *turn = json_pack ("{s:s, s:s, s:s, s:s, s:O}", "run_id", run, "session_id", session,
        "text", text, "route", key, "source", source);
    if (argos_parts_service (source, service))
        json_object_set_new (turn, "deliver", json_string (service));
    s_carry (self, key, turn, parts);
    argos_parts_turn_new (parts, "turn.request", run, session, false, turn);
    argos_parts_out (parts, source, NULL, run, "queued", NULL);
}

static void
s_check (const argos_handoff_case_t *self, const char *run, json_t *gone, json_t *parts)
{
    const char *session = argos_json_text (self->row, "session_id");
    char id[ARGOS_ID_MAX + 1];
    snprintf (id, sizeof id, "check.%s", run);
    json_t *body =
        json_pack ("{s:I, s:I, s:s, s:s, s:s, s:o}", "id", argos_json_int (self->row, "id"),
            "epoch", argos_json_int (self->row, "epoch"), "session_id", session, "run_id", run,
            "platform", argos_json_text (self->row, "platform"), "routes", gone);
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:s, s:b, s:o}", "type", "handoff.check", "to",
                   "service:handoff", "id", id, "key", run, "durable", 1, "body", body));
}

//  In the chat itself when there is no thread: said before the answer.

static void
s_notice (const argos_handoff_case_t *self, const json_t *source, const char *run, json_t *parts)
{
    char text[ARGOS_HANDOFF_TEXT_SIZE], label[ARGOS_HANDOFF_NAME_SIZE], id[ARGOS_ID_MAX + 1];
    if (*argos_json_text (self->thread, "thread_id"))
        return;
    s_label (self->session, label, sizeof label);
    snprintf (id, sizeof id, "%s.handoff", run);
    snprintf (text, sizeof text,
        "➜ \"%s\" goes on here. No new thread is available (%.200s), so it is this chat.", label,
        self->no_thread ? self->no_thread : "not supported");
    argos_parts_deliver (parts, source, id, "notice", text, NULL);
}

json_t *
argos_handoff_parts (const argos_handoff_case_t *self, const json_t *source)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1], number[64], digest[ARGOS_DIGEST_SIZE],
        run[ARGOS_RUN_ID_SIZE];
    const char *session = argos_json_text (self->row, "session_id");
    const json_t *route = json_object_get (self->route, "route");
    const char *other = argos_json_text (route, "session_id");
    json_t *parts = json_array ();
    argos_route_key (source, self->policy, key, sizeof key);
    snprintf (number, sizeof number, "%" PRId64 ".%" PRId64,
        (int64_t) argos_json_int (self->row, "id"), (int64_t) argos_json_int (self->row, "epoch"));
    argos_parts_digest ("handoff", number, digest);
    snprintf (run, sizeof run, "run_%.32s", digest);
    argos_parts_store_new (parts, "expect",
        json_pack ("{s:s, s:s, s:I}", "row", "route", "key", key, "version",
            argos_json_int (route, "version")));
    s_idle (parts, session);
    if (*other && strcmp (other, session) != 0)
        s_idle (parts, other);
    if (json_object_get (self->session, "ended_at"))
        argos_parts_store_new (parts, "session.reopen", json_pack ("{s:s}", "id", session));
    argos_parts_store_new (parts, "handoff.complete",
        json_pack ("{s:I, s:I, s:s, s:O}", "id", argos_json_int (self->row, "id"), "epoch",
            argos_json_int (self->row, "epoch"), "key", key, "source", source));
    json_t *gone = s_let_go (self, key, parts);
    s_notice (self, source, run, parts);
    s_turn (self, source, key, run, parts);
    s_check (self, run, gone, parts);
    return parts;
}

//  ------------------------------------------------------------------------------------------------
//  When it goes wrong

json_t *
argos_handoff_failed (const argos_handoff_case_t *self, bool claimed, const char *error)
{
    json_t *parts = json_array ();
    argos_parts_store_new (parts, "handoff.fail",
        json_pack ("{s:I, s:I, s:s, s:[s]}", "id", argos_json_int (self->row, "id"), "epoch",
            argos_json_int (self->row, "epoch"), "error", error, "states",
            claimed ? "running" : "pending"));
    return parts;
}

argos_handoff_verdict_t
argos_handoff_outcome (
    const json_t *run, const json_t *delivery, char reason[static ARGOS_HANDOFF_TEXT_SIZE])
{
    const char *state = argos_json_text (run, "state"), *sent = argos_json_text (delivery, "state");
    const char *error = argos_json_text (run, "error");
    *reason = 0;
    if (strcmp (state, "failed") == 0 || strcmp (state, "cancelled") == 0)
        snprintf (reason, ARGOS_HANDOFF_TEXT_SIZE, "the turn at the destination was not done: %s",
            *error ? error : state);
    else if (strcmp (state, "completed") == 0 && strcmp (sent, "refused") == 0)
        snprintf (reason, ARGOS_HANDOFF_TEXT_SIZE, "the adapter could not send there: %s",
            *argos_json_text (delivery, "error") ? argos_json_text (delivery, "error") : "refused");
    if (*reason)
        return ARGOS_HANDOFF_BAD;
    bool over = strcmp (sent, "sent") == 0 || strcmp (sent, "unknown") == 0;
    return strcmp (state, "completed") == 0 && over ? ARGOS_HANDOFF_GOOD : ARGOS_HANDOFF_WAIT;
}

json_t *
argos_handoff_undo (const json_t *body, const char *error)
{
    char reason[ARGOS_HANDOFF_REASON_SIZE], id[ARGOS_ID_MAX + 1],
        text[ARGOS_HANDOFF_TEXT_SIZE + 128];
    json_t *parts = json_array (), *route;
    size_t index;
    s_reason (body, reason);
    argos_parts_store_new (parts, "handoff.fail",
        json_pack ("{s:I, s:I, s:s, s:[s]}", "id", argos_json_int (body, "id"), "epoch",
            argos_json_int (body, "epoch"), "error", error, "states", "completed"));
    snprintf (text, sizeof text,
        "The handoff to %s has failed: %s. The conversation goes on here as before.",
        argos_json_text (body, "platform"), error);
    json_array_foreach (json_object_get (body, "routes"), index, route) {
        const char *key = argos_json_text (route, "key");
        argos_parts_store_new (parts, "route.suspend",
            json_pack ("{s:s, s:s, s:b}", "key", key, "reason", reason, "on", 0));
        snprintf (id, sizeof id, "%s.undo%zu", argos_json_text (body, "run_id"), index);
        argos_parts_deliver (parts, json_object_get (route, "source"), id, "notice", text, NULL);
    }
    return parts;
}

int64_t
argos_handoff_patience (int64_t age_ms)
{
    int64_t wait_ms = age_ms / 4;
    return wait_ms < 250 ? 250 : wait_ms > 30000 ? 30000 : wait_ms;
}
