//  argos_agent_reply - what the chat gets of an answer: the words, files, an explanation, or
//  nothing.
//
//  Pure. Invariant: nothing is delivered only when the model says so; an answer that is none is
//  explained; files go by the one that has them (file.send), behind the words.

#include "argos_agent_priv.h"
#include "argos_edits.h"
#include "argos_reply.h"
#include "argos_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_MAX 32768 //  Bytes of a result that is noted elsewhere

//  Whether programs read there, which get everything as it came

static bool
s_is_raw (const json_t *request)
{
    static const char *const raw[] = { "local", "api_server", "webhook" };
    const char *platform =
        json_string_value (json_object_get (json_object_get (request, "source"), "platform"));
    for (size_t i = 0; platform && i < sizeof raw / sizeof *raw; i++)
        if (strcmp (raw[i], platform) == 0)
            return true;
    return false;
}

static const char *
s_said (const json_t *request, const char *text)
{
    const json_t *task = json_object_get (request, "task");
    const char *empty = json_string_value (json_object_get (task, "empty"));
    bool silent = argos_reply_is_silent (text);
    if (task && (!*text || silent)) //  Who has asked for it waits for a word
        return empty ? empty : "(No response generated)";
    if (silent)
        return NULL;
    if (!*text)
        return "⚠️ Finished without a response.";
    if (strcmp (text, "(empty)") == 0)
        return "⚠️ The model has answered with nothing. `/retry` sends your message again.";
    if (!s_is_raw (request) && argos_reply_is_error_page (text))
        return "⚠️ The provider has sent an error page instead of an answer. `/retry` sends "
               "your "
               "message again.";
    return text;
}

//  The result of a task, for the session in which it was asked for

static void
s_note (parts_t *self, const turn_t *turn, const char *said)
{
    char id[64], origin[80], text[NOTE_MAX + 1];
    const char *session = parts_words (turn->body, "note", NULL);
    if (!session)
        return;
    size_t size = argos_utf8_cut (said, strlen (said), NOTE_MAX);
    memcpy (text, said, size);
    text[size] = 0;
    snprintf (id, sizeof id, "%s.note", turn->run_id);
    snprintf (origin, sizeof origin, "task %.64s", parts_words (turn->body, "id", ""));
    parts_turn (self, "session.note", id, session,
        json_pack ("{s:s, s:s, s:s}", "session_id", session, "text", text, "origin", origin));
}

//  What was said, and below it what was not done: new

static char *
s_words (const turn_t *turn, const char *said)
{
    bool raw = s_is_raw (turn->body);
    char *failed = raw ? NULL : argos_edits_failed (turn->rows, turn->run_id);
    char *words = NULL;
    const char *tool = raw ? "" : turn->dropped;
    said = said ? said : "";
    if (asprintf (&words, "%s%s%s%s%s%s", said, failed && *said ? "\n\n" : "", failed ? failed : "",
            *tool ? "\n\n⚠️ The connection broke off in a call of " : "", tool,
            *tool ? ". It was not run." : "") < 0)
        abort ();
    free (failed);
    return words;
}

void
parts_answer (parts_t *self, const turn_t *turn, const char *text)
{
    const char *said = s_said (turn->body, text);
    argos_reply_t reply = { .text = NULL };
    if (!said) {
        parts_over (self, turn->body, turn->run_id, NULL);
        return;
    }
    s_note (self, turn, said);
    if (!s_is_raw (turn->body))
        argos_reply_read (&reply, said);
    bool files =
        json_array_size (reply.media) && parts_files (self, turn->body, turn->run_id, reply.media);
    char *words = s_words (turn, files ? reply.text : said);
    const char *head = parts_words (turn->body, "completed", ""); //  Of a task
    if (!files || *words || *head)
        parts_deliver (self, turn->body, turn->run_id, "answer", head, words);
    else
        parts_over (self, turn->body, turn->run_id, NULL);
    free (words);
    argos_reply_clear (&reply);
}
