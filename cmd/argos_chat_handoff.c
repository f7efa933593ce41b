//  argos_chat_handoff - /handoff in `argos chat`: the conversation goes on at a platform.
//
//  Invariant: the loop of the chat does not run meanwhile but within what is asked here, so nothing
//  is typed; what is delivered is shown all the same.

#include "argos_chat.h"
#include "argos_handover.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define COMMAND "/handoff"

static void s_say (void *ctx, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

static void
s_say (void *ctx, const char *format, ...)
{
    chat_t *self = ctx;
    char line[1024];
    va_list args;
    va_start (args, format);
    vsnprintf (line, sizeof line, format, args); // NOLINT(clang-analyzer-valist.*)
    va_end (args);
    if (self->cli->json)
        argos_chat_event (self, "handoff.line", NULL, json_pack ("{s:s}", "text", line));
    else
        argos_term_line (self->term, "%s", line);
}

bool
argos_chat_is_handoff (const char *line)
{
    size_t size = strlen (COMMAND);
    return strncmp (line, COMMAND, size) == 0 && (!line[size] || line[size] == ' ');
}

//  The session of the chat; one of a chat in which nothing was said is made with the request.

static int
s_find (chat_t *self, argos_handover_t *handoff, const char *key)
{
    json_t *reply = NULL;
    argos_err_t code =
        argos_cli_ask (self->cli, "store", "route.get", json_pack ("{s:s}", "key", key), &reply);
    const char *session =
        json_string_value (json_object_get (json_object_get (reply, "route"), "session_id"));
    if (session)
        snprintf (handoff->session, sizeof handoff->session, "%s", session);
    else {
        char hex[9];
        time_t now = (time_t) (argos_loop_wall () / 1000);
        struct tm when;
        gmtime_r (&now, &when);
        size_t size = strftime (handoff->session, 32, "%Y%m%d_%H%M%S", &when);
        argos_cli_random_hex (hex, 4);
        snprintf (handoff->session + size, sizeof handoff->session - size, "_%s", hex);
    }
    json_decref (reply);
    if (code != ARGOS_OK)
        snprintf (handoff->why, sizeof handoff->why, "%s", self->cli->reason);
    return code == ARGOS_OK ? CLI_OK : CLI_FAILED;
}

bool
argos_chat_handoff (chat_t *self)
{
    char key[96], word[512];
    const char *given = self->handoff + strlen (COMMAND);
    argos_handover_t handoff = { .cli = self->cli, .say = s_say, .ctx = self, .key = key };
    void (*on_signal) (void *, int) = self->cli->on_signal;
    snprintf (word, sizeof word, "%s", given + strspn (given, " "));
    size_t size = strlen (word);
    while (size && word[size - 1] == ' ')
        word[--size] = 0;
    if (!argos_handover_words (&handoff, word)) {
        s_say (self, "usage: /handoff PLATFORM[:CHAT]");
        s_say (self, "The conversation goes on in that chat, or in the home channel of the "
                     "platform (/sethome).");
        s_say (self, "It ends here; /resume brings it back.");
        return false;
    }
    snprintf (key, sizeof key, "agent:main:local:dm:%s", self->name);
    handoff.source = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:s}", "platform", "local", "account",
        self->name, "chat_id", self->name, "chat_type", "dm", "user_id", self->user, "user_name",
        self->user);
    self->handing = &handoff;
    self->cli->on_signal = NULL;
    int rc = s_find (self, &handoff, key);
    if (rc == CLI_OK)
        rc = argos_handover_run (&handoff);
    self->cli->on_signal = on_signal;
    self->cli->interrupted = false;
    self->handing = NULL;
    argos_loop_forget (self->cli->loop); //  They were for who waited for it
    json_decref (handoff.source);
    if (rc != CLI_OK)
        s_say (self, "handoff: %s; the conversation stays here", handoff.why);
    return rc == CLI_OK;
}
