//  argos_agent_title - a session gets a title of its first words, written by the auxiliary model.
//
//  Beside everything: the turn has ended, nobody waits, and what fails is not tried again. Without
//  agent.auxiliary_model nothing is asked. A title that people have given stays (auto).

#include "argos_agent_priv.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define SAID_MAX 2000 //  Bytes of each side that the model reads
#define TITLE_MAX 80  //  Bytes of a title

static const char s_system[] =
    "Write a title of three to seven words for this conversation, in its language. Only the title, "
    "without quotation marks and without a full stop at its end.";

struct title {
    agent_t *agent;       //  Whose
    char session[257];    //  Session
    title_t *prev, *next; //  In the agent's list
};

static void
s_free (title_t *self)
{
    DL_DELETE (self->agent->titles, self);
    free (self);
}

void
agent_titles_clear (agent_t *self)
{
    title_t *title, *next;
    DL_FOREACH_SAFE (self->titles, title, next)
        free (title);
    self->titles = NULL;
}

static void
s_on_end (void *arg, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error)
{
    title_t *self = (title_t *) arg;
    const char *text = argos_text_str (&answer->text);
    text += strspn (text, " \t\r\n\"'");
    size_t size = argos_utf8_cut (text, strcspn (text, "\r\n"), TITLE_MAX);
    while (size && strchr (" .\"'", text[size - 1]))
        size--;
    if (!error && kind == ARGOS_ANSWER_TEXT && size) {
        argos_peer_part_t part = { .type = "session.rename",
            .to = "store",
            .durable = true,
            .body = json_pack (
                "{s:s, s:s%, s:b}", "id", self->session, "title", text, size, "auto", 1) };
        argos_peer_send (self->agent->peer, &part, NULL, NULL);
    }
    s_free (self);
}

void
agent_title (const turn_t *turn)
{
    static const argos_call_handlers_t handlers = { NULL, s_on_end };
    const char *model = argos_setting_text (turn->settings, NULL, NULL, "agent.auxiliary_model");
    const char *said = json_string_value (turn->user);
    const back_t *back = &turn->agent->backs[0];
    if (!model || !back->provider || turn->error || !turn->text || !*turn->text || !said ||
        !json_is_true (json_object_get (turn->body, "new_session")))
        return;
    title_t *self = (title_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->agent = turn->agent;
    DL_APPEND (self->agent->titles, self);
    memcpy (self->session, turn->session, sizeof self->session);
    json_t *messages = json_pack ("[{s:s, s:o}]", "role", "user", "content",
        json_sprintf ("User: %.*s\n\nAssistant: %.*s",
            (int) argos_utf8_cut (said, strlen (said), SAID_MAX), said,
            (int) argos_utf8_cut (turn->text, strlen (turn->text), SAID_MAX), turn->text));
    argos_request_t request = { .model = model, .system = s_system, .messages = messages };
    argos_provider_call (back->provider, &request, "title", &handlers, self, argos_shell_now ());
    json_decref (messages);
    agent_arm (turn->agent);
}
