//  argos_chat_pick - earlier sessions in `argos chat`: behind /resume the tabulator knows their
//  names, and a number picks one of those that /resume lists.
//
//  Invariant: names is what argosd said last; it is asked again whenever it may have changed, and
//  nothing waits for it. Limits: the SESSIONS_MAX latest.

#include "argos_chat.h"
#include "argos_words.h"

#include <stdio.h>
#include <string.h>

#define SESSIONS_MAX 50
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

bool
argos_chat_complete (void *ctx, const char *line, size_t index, char *target)
{
    chat_t *self = ctx;
    const char *names[SESSIONS_MAX];
    size_t count = json_array_size (self->sessions);
    count = count < SESSIONS_MAX ? count : SESSIONS_MAX;
    for (size_t i = 0; i < count; i++) {
        const json_t *session = json_array_get (self->sessions, i);
        const char *title = argos_chat_text (session, "title");
        names[i] = *title ? title : argos_chat_text (session, "id");
    }
    return argos_words_complete (line, names, count, index, target, ARGOS_TERM_WORD);
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
