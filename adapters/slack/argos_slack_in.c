//  argos_slack_in - envelopes on their way into the inbox.
//
//  Invariant: an envelope is acknowledged, by the connection that it came by, when what it says is
//  stored or is nothing for us; a message that is on its way already is stored once, and both
//  envelopes are acknowledged.

#include "argos_slack_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    slack_t *slack;             //  Whose
    argos_inbox_entry_t *entry; //  Its place
    json_t *envelope;           //  What was heard
    char user[64];              //  Whose name is asked for
} s_hear_t;

static argos_sl_who_t
s_who (const slack_t *self)
{
    return (argos_sl_who_t){ .account = argos_adapter_account (self->adapter),
        .user = self->user,
        .bot = self->bot,
        .settings = argos_adapter_settings (self->adapter),
        .threads = self->threads,
        .names = self->names };
}

void
sl_join_thread (slack_t *self, const char *channel, const char *thread)
{
    char key[200], id[160];
    snprintf (id, sizeof id, "%.60s:%.60s", channel, thread);
    if (!*thread || *channel == 'D' || json_object_get (self->threads, id) ||
        json_object_size (self->threads) >= SL_THREADS_MAX)
        return;
    json_object_set_new (self->threads, id, json_true ());
    snprintf (key, sizeof key, "thread/%s", id);
    argos_adapter_keep (
        self->adapter, key, json_pack ("{s:I}", "at", (json_int_t) argos_shell_wall ()));
}

//  tag: generation, whether it may be answered, id of the envelope
void
sl_stored (void *arg, const char *tag)
{
    char *end = NULL;
    uint32_t generation = (uint32_t) strtoul (tag, &end, 10);
    if (end[0] == ' ' && end[1] && end[2] == ' ')
        sl_acknowledge (arg, generation, end + 3, end[1] == '1');
}

static void
s_enter (s_hear_t *self)
{
    slack_t *slack = self->slack;
    argos_sl_who_t who = s_who (slack);
    argos_sl_in_t in;
    argos_sl_read (self->envelope, &who, &in);
    if (in.why)
        argos_log (ARGOS_LOG_DEBUG, argos_adapter_name (slack->adapter), "envelope left", "why=%s",
            in.why);
    if (in.message && argos_inbox_has (slack->inbox, sl_member (in.message, "id"))) {
        json_decref (in.message);
        json_decref (in.files);
        in.message = in.files = NULL;
    }
    if (in.message && in.begins)
        sl_join_thread (slack, argos_sl_channel (self->envelope),
            sl_member (
                json_object_get (json_object_get (in.message, "body"), "source"), "thread_id"));
    if (!slack->closing)
        argos_inbox_ready (slack->inbox, self->entry, in.message, in.files);
    else {
        json_decref (in.message);
        json_decref (in.files);
    }
    json_decref (self->envelope);
    free (self);
}

static void
s_on_user (void *arg, const sl_answer_t *answer)
{
    s_hear_t *self = arg;
    const json_t *user = json_object_get (answer->body, "user");
    const json_t *profile = json_object_get (user, "profile");
    const char *name = sl_member (profile, "display_name");
    if (!*name)
        name = sl_member (user, "real_name");
    if (!*name)
        name = sl_member (user, "name");
    if (json_object_size (self->slack->names) >= SL_NAMES_MAX)
        json_object_clear (self->slack->names);
    if (answer->ok && *name)
        json_object_set_new (self->slack->names, self->user, json_string (name));
    s_enter (self);
}

//  Tokens that were taken away: nothing more will work
static bool
s_is_end (slack_t *self, const json_t *envelope)
{
    const json_t *event = json_object_get (json_object_get (envelope, "payload"), "event");
    const char *type = sl_member (event, "type");
    if (strcmp (type, "tokens_revoked") != 0 && strcmp (type, "app_uninstalled") != 0)
        return false;
    argos_adapter_problem (self->adapter, sl_help ("token_revoked"));
    return true;
}

void
sl_hear (slack_t *self, uint32_t generation, const json_t *envelope)
{
    char tag[256];
    bool answers = json_is_true (json_object_get (envelope, "accepts_response_payload")) &&
                   strcmp (sl_member (envelope, "type"), "slash_commands") == 0;
    snprintf (tag, sizeof tag, "%" PRIu32 " %d %.200s", generation, answers ? 1 : 0,
        sl_member (envelope, "envelope_id"));
    if (s_is_end (self, envelope)) {
        sl_stored (self, tag);
        return;
    }
    s_hear_t *heard = calloc (1, sizeof *heard);
    if (!heard)
        abort ();
    *heard = (s_hear_t){ .slack = self, .envelope = json_deep_copy (envelope) };
    heard->entry = argos_inbox_add (self->inbox, argos_sl_channel (envelope), NULL, tag);
    argos_sl_who_t who = s_who (self);
    const char *user = argos_sl_needs (envelope, &who);
    snprintf (heard->user, sizeof heard->user, "%.60s", user);
    if (!*user || !sl_api (self, "users.info", json_pack ("{s:s}", "user", user), true, false,
                      s_on_user, heard))
        s_enter (heard);
}
