//  argos_session_export - see the header.
//
//  Invariant: a parent is printed before what came of it, so that the lines can be read in one go.
//  Limit: the ids of all sessions are in memory.

#include "argos_session_export.h"

#include <stdio.h>

//  The row of a session as it is exported: without what follows from the rest, with its usage. New,
//  or NULL with *ret_code.

static json_t *
s_exported (argos_cli_t *self, const char *id, argos_err_t *ret_code)
{
    static const char *const left_out[] = { "version", "home", "continued", "message_count",
        "tool_call_count", "preview", "platform", "root" };
    json_t *reply = NULL, *usage = NULL, *session = NULL;
    *ret_code = argos_cli_ask (self, "store", "session.get", json_pack ("{s:s}", "id", id), &reply);
    if (*ret_code == ARGOS_OK)
        *ret_code =
            argos_cli_ask (self, "store", "usage.get", json_pack ("{s:s}", "id", id), &usage);
    if (*ret_code == ARGOS_OK) {
        session = json_incref (json_object_get (reply, "session"));
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            json_object_del (session, left_out[i]);
        if (json_array_size (json_object_get (usage, "usage")))
            json_object_set (session, "usage", json_object_get (usage, "usage"));
    }
    json_decref (reply);
    json_decref (usage);
    return session;
}

//  An export that was interrupted between two questions is none.

static argos_err_t
s_whole (argos_cli_t *self, argos_err_t code)
{
    if (code != ARGOS_OK || !self->interrupted)
        return code;
    snprintf (self->reason, sizeof self->reason, "interrupted");
    return ARGOS_EXPIRED;
}

argos_err_t
argos_session_export (argos_cli_t *self, const char *id)
{
    json_t *reply = NULL, *message;
    json_int_t after = 0;
    size_t index;
    argos_err_t code;
    json_t *session = s_exported (self, id, &code);
    if (session)
        argos_cli_print (json_pack ("{s:o}", "session", session));
    for (bool more = true; more && code == ARGOS_OK && !self->interrupted;) {
        code = argos_cli_ask (self, "store", "session.load",
            json_pack ("{s:s, s:I, s:b}", "id", id, "after", after, "inactive", 1), &reply);
        json_array_foreach (json_object_get (reply, "messages"), index, message) {
            after = json_integer_value (json_object_get (message, "id"));
            json_object_del (message, "id"); //  Of this store
            argos_cli_print (json_pack ("{s:O}", "message", message));
        }
        more = json_is_true (json_object_get (reply, "more"));
        json_decref (reply);
        reply = NULL;
    }
    return s_whole (self, code);
}

//  Those that have to wait for their parent go round again.

int
argos_session_export_all (argos_cli_t *self, const char *owner, const char *platform)
{
    json_t *all = json_object (), *next = NULL, *session, *parent;
    argos_err_t code = ARGOS_OK;
    const char *id;
    void *again;
    size_t index;
    do {
        json_t *reply = NULL, *body = json_pack ("{s:i, s:b}", "limit", 100, "all", 1);
        if (owner)
            json_object_set_new (body, "owner", json_string (owner));
        if (platform)
            json_object_set_new (body, "platform", json_string (platform));
        if (next)
            json_object_set_new (body, "after", next);
        code = argos_cli_ask (self, "store", "session.list", body, &reply);
        json_array_foreach (json_object_get (reply, "sessions"), index, session) {
            parent = json_object_get (session, "parent");
            json_object_set_new (all, json_string_value (json_object_get (session, "id")),
                parent ? json_incref (parent) : json_null ());
        }
        next = json_incref (json_object_get (reply, "next"));
        json_decref (reply);
    } while (next && code == ARGOS_OK && !self->interrupted);
    json_decref (next);
    for (bool moved = true; moved && code == ARGOS_OK;) {
        moved = false;
        json_object_foreach_safe (all, again, id, parent)
        {
            const char *waits = json_string_value (parent);
            if (code != ARGOS_OK || self->interrupted || (waits && json_object_get (all, waits)))
                continue;
            code = argos_session_export (self, id);
            json_object_del (all, id);
            moved = true;
        }
    }
    json_decref (all);
    code = s_whole (self, code);
    return code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, "sessions export", code);
}
