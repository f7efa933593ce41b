//  argos_chat_pick - what the tabulator knows in `argos chat`: earlier sessions behind /resume,
//  places behind /handoff; and a number picks one of the sessions that /resume lists.
//
//  Invariant: what is known is what argosd said last; it is asked again whenever it may have
//  changed (for places: when they are completed), and nothing waits for it. Limits: the
//  SESSIONS_MAX latest, PLACES_MAX places.

#include "argos_chat.h"
#include "argos_words.h"

#include <stdio.h>
#include <string.h>

#define SESSIONS_MAX 50
#define PLACES_MAX 100
#define COMMAND "/resume"

static void
s_on_sessions (void *arg, const argos_loop_answer_t *answer)
{
    chat_t *self = arg;
    self->listing = false;
    json_t *sessions = json_object_get (answer->body, "sessions");
    if (answer->code != ARGOS_OK || !sessions)
        return;
    json_decref (self->sessions);
    self->sessions = json_incref (sessions);
}

void
argos_chat_list (chat_t *self)
{
    char owner[128];
    if (self->listing || self->lost || self->leaving || !argos_term_is_interactive (self->term))
        return;
    snprintf (owner, sizeof owner, "local:%s:%s", self->name, self->user);
    argos_loop_part_t part = { .type = "session.list",
        .to = "store",
        .body = json_pack ("{s:s,s:i}", "owner", owner, "limit", SESSIONS_MAX) };
    self->listing = argos_loop_send (self->cli->loop, &part, s_on_sessions, self) == ARGOS_OK;
}

//  ------------------------------------------------------------------------------------------------
//  Places

static bool
s_is_there (const json_t *list, const char *place)
{
    size_t i;
    json_t *known;
    json_array_foreach (list, i, known)
        if (strcmp (json_string_value (known), place) == 0)
            return true;
    return false;
}

static void
s_add (json_t *list, const char *place)
{
    if (json_array_size (list) < PLACES_MAX && !s_is_there (list, place))
        json_array_append_new (list, json_string (place));
}

//  Chats that somebody has spoken from, of platforms that are there. Now all is known again.

static void
s_on_channels (void *arg, const argos_loop_answer_t *answer)
{
    chat_t *self = arg;
    char place[ARGOS_TERM_WORD];
    size_t i;
    json_t *channel;
    json_array_foreach (json_object_get (answer->body, "channels"), i, channel) {
        const json_t *source = json_object_get (channel, "source");
        const char *platform = argos_chat_text (source, "platform");
        if (s_is_there (self->placing, platform) &&
            snprintf (place, sizeof place, "%s:%s", platform, argos_chat_text (source, "chat_id")) <
                (int) sizeof place)
            s_add (self->placing, place);
    }
    json_decref (self->places);
    self->places = self->placing;
    self->placing = NULL;
}

//  The platforms whose adapters are there; then their chats.

static void
s_on_services (void *arg, const argos_loop_answer_t *answer)
{
    chat_t *self = arg;
    char platform[64];
    size_t i;
    json_t *service;
    json_array_foreach (json_object_get (answer->body, "services"), i, service) {
        const char *name = argos_chat_text (service, "name");
        if (sscanf (name, "deliver.%63[^.].", platform) == 1 && strcmp (platform, "local") != 0 &&
            json_integer_value (json_object_get (service, "workers")) > 0)
            s_add (self->placing, platform);
    }
    argos_loop_part_t part = { .type = "channel.list", .to = "actor:gateway" };
    argos_loop_answer_t none = { .code = ARGOS_GONE };
    if (answer->code != ARGOS_OK ||
        argos_loop_send (self->cli->loop, &part, s_on_channels, self) != ARGOS_OK)
        s_on_channels (self, &none);
}

void
argos_chat_place (chat_t *self)
{
    argos_loop_part_t part = { .type = "broker.status", .to = "actor:broker" };
    if (self->placing || self->lost || !argos_term_is_interactive (self->term) ||
        argos_loop_send (self->cli->loop, &part, s_on_services, self) != ARGOS_OK)
        return;
    self->placing = json_array ();
}

//  ------------------------------------------------------------------------------------------------
//  Completing and picking

bool
argos_chat_complete (void *ctx, const char *line, size_t index, char *target)
{
    chat_t *self = ctx;
    const char *names[SESSIONS_MAX], *places[PLACES_MAX];
    argos_words_known_t known = { .sessions = names, .places = places };
    size_t i;
    json_t *item;
    json_array_foreach (self->sessions, i, item) {
        const char *title = argos_chat_text (item, "title");
        if (known.session_count < SESSIONS_MAX)
            names[known.session_count++] = *title ? title : argos_chat_text (item, "id");
    }
    json_array_foreach (self->places, i, item)
        places[known.place_count++] = json_string_value (item);
    if (index == 0 && argos_chat_is_handoff (line))
        argos_chat_place (self);
    return argos_words_complete (line, &known, index, target, ARGOS_TERM_WORD);
}

bool
argos_chat_picks (const char *text)
{
    return strcmp (text, COMMAND) == 0;
}

void
argos_chat_pick (chat_t *self, const char *list)
{
    if (self->cli->json || !argos_term_is_interactive (self->term) || strncmp (list, "1. ", 3) != 0)
        return; //  There is none
    self->picking = true;
    argos_term_line (self->term, "[here a number alone goes on with that one, too]");
}

const char *
argos_chat_picked (chat_t *self, const char *line, char *target, size_t room)
{
    size_t size = strlen (line);
    bool picked = self->picking && size > 0 && size < 4 && strspn (line, "0123456789") == size;
    self->picking = false;
    if (!picked)
        return line;
    snprintf (target, room, COMMAND " %s", line);
    return target;
}
