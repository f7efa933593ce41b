//  argos_discord_in - events of the gateway: what is known of channels, and messages on their way
//  into the inbox.
//
//  Invariant: an event that carries a message has its place in the inbox before anything is asked
//  for it, so that its channel's order is kept; an interaction is acknowledged once it is stored.

#include "argos_discord_priv.h"

#include "argos_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  A message that needs something before it can be stored

typedef void (s_read_fn) (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in);

typedef struct {
    discord_t *discord;         //  Whose
    argos_inbox_entry_t *entry; //  Its place
    json_t *event;              //  What was heard
    s_read_fn *read;            //  Reads its kind
    char place[160];            //  In the stream of events
    argos_dc_in_t in;           //  What it says
    int tries;                  //  Of the thread
} s_hear_t;

json_t *
dc_place (const discord_t *self)
{
    return json_pack ("{s:s,s:s,s:I,s:s}", "session", self->session, "url", self->resume_url, "seq",
        (json_int_t) self->seq, "app", self->app);
}

static argos_dc_who_t
s_who (const discord_t *self, const char *place)
{
    return (argos_dc_who_t){ .account = argos_adapter_account (self->adapter),
        .id = self->id,
        .settings = argos_adapter_settings (self->adapter),
        .channels = self->channels,
        .roles = self->roles,
        .threads = self->threads,
        .place = place };
}

void
dc_know_channel (discord_t *self, const json_t *channel)
{
    static const char *const members[] = { "id", "type", "guild_id", "name", "topic", "parent_id",
        "owner_id", NULL };
    const char *id = dc_member (channel, "id");
    if (!*id)
        return;
    json_t *kept = json_object ();
    for (const char *const *name = members; *name; name++)
        if (json_object_get (channel, *name))
            json_object_set (kept, *name, json_object_get (channel, *name));
    if (json_object_size (self->channels) >= DC_CHANNELS_MAX)
        json_object_clear (self->channels);
    json_object_set_new (self->channels, id, kept);
}

void
dc_join_thread (discord_t *self, const char *id)
{
    char key[64];
    if (!*id || json_object_get (self->threads, id) ||
        json_object_size (self->threads) >= DC_THREADS_MAX)
        return;
    json_object_set_new (self->threads, id, json_true ());
    snprintf (key, sizeof key, "thread/%.40s", id);
    argos_adapter_keep (
        self->adapter, key, json_pack ("{s:I}", "at", (json_int_t) argos_shell_wall ()));
}

//  ------------------------------------------------------------------------------------------------
//  Messages

static void
s_enter (s_hear_t *self)
{
    if (!self->discord->closing)
        argos_inbox_ready (self->discord->inbox, self->entry, self->in.message, self->in.files);
    else {
        json_decref (self->in.message);
        json_decref (self->in.files);
    }
    json_decref (self->event);
    free (self);
}

static void s_make_thread (s_hear_t *self);

//  160004: there is one already, of an attempt before
static void
s_on_thread (void *arg, const dc_answer_t *answer)
{
    s_hear_t *self = arg;
    discord_t *discord = self->discord;
    bool there = answer->ok || answer->code == 160004;
    bool again = !there && !discord->closing && answer->http->phase != ARGOS_HTTP_ANSWERED &&
                 self->tries < 3;
    if (again) {
        s_make_thread (self);
        return;
    }
    const char *id = dc_member (self->event, "id");
    if (there) {
        json_t *channel = json_pack ("{s:s,s:i,s:s,s:s}", "id", id, "type", 11, "parent_id",
            dc_member (self->event, "channel_id"), "owner_id", discord->id);
        dc_know_channel (discord, channel);
        json_decref (channel);
        dc_join_thread (discord, id);
    }
    else {
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (discord->adapter), "no thread made",
            "code=%d reason=\"%.150s\"", answer->code, answer->why);
        argos_dc_who_t who = s_who (discord, self->place);
        argos_dc_read_flat (self->in.message, &who);
    }
    s_enter (self);
}

static void
s_make_thread (s_hear_t *self)
{
    char path[128];
    char *name =
        argos_dc_thread_name (dc_member (json_object_get (self->in.message, "body"), "text"));
    snprintf (path, sizeof path, "/channels/%.24s/messages/%.24s/threads",
        dc_member (self->event, "channel_id"), dc_member (self->event, "id"));
    json_t *params = json_pack ("{s:s,s:i}", "name", name, "auto_archive_duration", 1440);
    free (name);
    self->tries++;
    if (!dc_api (self->discord, "POST", path, params, NULL, s_on_thread, self)) {
        argos_dc_who_t who = s_who (self->discord, self->place);
        argos_dc_read_flat (self->in.message, &who);
        s_enter (self);
    }
}

static void
s_read (s_hear_t *self)
{
    argos_dc_who_t who = s_who (self->discord, self->place);
    self->read (self->event, &who, &self->in);
    if (self->in.why)
        argos_log (ARGOS_LOG_DEBUG, argos_adapter_name (self->discord->adapter), "message left",
            "id=%.24s why=%s", dc_member (self->event, "id"), self->in.why);
    if (!self->in.why && self->in.new_thread)
        s_make_thread (self);
    else
        s_enter (self);
}

static void
s_on_channel (void *arg, const dc_answer_t *answer)
{
    s_hear_t *self = arg;
    if (answer->ok)
        dc_know_channel (self->discord, answer->body);
    s_read (self);
}

static void
s_hear (discord_t *self, const json_t *event, s_read_fn *read)
{
    char tag[512] = "", path[64];
    s_hear_t *heard = calloc (1, sizeof *heard);
    if (!heard)
        abort ();
    if (read == argos_dc_read_interaction)
        snprintf (tag, sizeof tag, "%.24s/%.400s %d", dc_member (event, "id"),
            dc_member (event, "token"), (int) json_integer_value (json_object_get (event, "type")));
    *heard = (s_hear_t){ .discord = self, .event = json_deep_copy (event), .read = read };
    snprintf (heard->place, sizeof heard->place, "%s %" PRId64, self->session, self->seq);
    heard->entry =
        argos_inbox_add (self->inbox, dc_member (event, "channel_id"), dc_place (self), tag);
    argos_dc_who_t who = s_who (self, heard->place);
    const char *needs = argos_dc_read_needs (event, &who);
    snprintf (path, sizeof path, "/channels/%.24s", needs);
    if (!*needs || !dc_api (self, "GET", path, NULL, NULL, s_on_channel, heard))
        s_read (heard);
}

//  An interaction is answered within three seconds: a command by its name, for the one who gave it
//  alone; a button by nothing
void
dc_stored (void *arg, const char *tag)
{
    discord_t *self = arg;
    char path[512];
    const char *kind = strrchr (tag, ' ');
    if (!kind)
        return;
    snprintf (path, sizeof path, "/interactions/%.*s/callback", (int) (kind - tag), tag);
    json_t *params = strcmp (kind, " 2") == 0 ? json_pack ("{s:i,s:{s:s,s:i}}", "type", 4, "data",
                                                    "content", "\u2705", "flags", 64)
                                              : json_pack ("{s:i}", "type", 6);
    dc_api (self, "POST", path, params, NULL, dc_ignore, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Events

static void
s_know_all (discord_t *self, const json_t *list)
{
    size_t at;
    const json_t *channel;
    json_array_foreach (list, at, channel)
        dc_know_channel (self, channel);
}

//  The role that is ours alone in a server: a mention of it is one of us
static void
s_on_guild (discord_t *self, const json_t *guild)
{
    size_t at;
    const json_t *role;
    s_know_all (self, json_object_get (guild, "channels"));
    s_know_all (self, json_object_get (guild, "threads"));
    json_array_foreach (json_object_get (guild, "roles"), at, role)
        if (strcmp (dc_member (json_object_get (role, "tags"), "bot_id"), self->id) == 0)
            json_object_set (self->roles, dc_member (guild, "id"), json_object_get (role, "id"));
}

static void
s_on_thread_gone (discord_t *self, const json_t *thread)
{
    char key[64];
    const char *id = dc_member (thread, "id");
    json_object_del (self->channels, id);
    if (json_object_del (self->threads, id) == 0) {
        snprintf (key, sizeof key, "thread/%.40s", id);
        argos_adapter_keep (self->adapter, key, NULL);
    }
}

static void
s_read_removed (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in)
{
    json_t *removed = json_deep_copy (event);
    json_object_set_new (removed, "removed", json_true ());
    argos_dc_read_reaction (removed, who, ret_in);
    json_decref (removed);
}

//  What people say and do; of our own messages, which we hear of as well, nothing
static bool
s_hear_any (discord_t *self, const char *type, const json_t *data)
{
    static const struct {
        const char *type; //  Of the dispatch
        s_read_fn *read;  //  Reads it
    } kinds[] = { { "MESSAGE_CREATE", argos_dc_read_message },
        { "INTERACTION_CREATE", argos_dc_read_interaction },
        { "MESSAGE_UPDATE", argos_dc_read_edit },
        { "MESSAGE_REACTION_ADD", argos_dc_read_reaction },
        { "MESSAGE_REACTION_REMOVE", s_read_removed } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp (kinds[i].type, type) == 0) {
            if (strcmp (dc_member (json_object_get (data, "author"), "id"), self->id) != 0)
                s_hear (self, data, kinds[i].read);
            return true;
        }
    return false;
}

void
dc_dispatch (discord_t *self, const char *type, const json_t *data)
{
    if (s_hear_any (self, type, data))
        return;
    if (strcmp (type, "GUILD_CREATE") == 0)
        s_on_guild (self, data);
    else if (strcmp (type, "THREAD_LIST_SYNC") == 0)
        s_know_all (self, json_object_get (data, "threads"));
    else if (strcmp (type, "CHANNEL_DELETE") == 0)
        json_object_del (self->channels, dc_member (data, "id"));
    else if (strcmp (type, "THREAD_DELETE") == 0)
        s_on_thread_gone (self, data);
    else if (strcmp (type, "CHANNEL_CREATE") == 0 || strcmp (type, "CHANNEL_UPDATE") == 0 ||
             strcmp (type, "THREAD_CREATE") == 0 || strcmp (type, "THREAD_UPDATE") == 0)
        dc_know_channel (self, data);
}
