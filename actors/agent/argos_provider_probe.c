//  argos_provider_probe - asks a provider one small question, and says in words what came of it.
//
//  A loop of its own around argos_provider: asleep in poll until the provider's descriptor is
//  readable or something is due.

#include "argos_provider_probe.h"

#include "argos_shell.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    argos_provider_probe_t *result; //  To be filled
    int64_t start_ms;               //  When the call began
    bool ended;                     //  It has ended
} s_probe_t;

static void
s_set_text (argos_provider_probe_t *result, const char *text)
{
    argos_text_t clean;
    argos_text_init (&clean, sizeof result->text - 1);
    argos_utf8_add (&clean, text, strlen (text));
    snprintf (result->text, sizeof result->text, "%s", argos_text_str (&clean));
    argos_text_clear (&clean);
}

static void
s_on_text (void *arg, const argos_answer_t *answer)
{
    s_probe_t *probe = (s_probe_t *) arg;
    if (probe->result->first_ms < 0 && answer->visible)
        probe->result->first_ms = argos_shell_now () - probe->start_ms;
}

static void
s_set_error (argos_provider_probe_t *result, const argos_provider_error_t *error)
{
    char sentence[1024], clean[1024];
    result->class = error->class;
    result->status = error->status;
    result->unsent = error->unsent;
    argos_provider_error_text (error, sentence, sizeof sentence);
    argos_log_redact (sentence, clean, sizeof clean);
    s_set_text (result, clean);
}

static void
s_on_end (void *arg, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error)
{
    s_probe_t *probe = (s_probe_t *) arg;
    (void) kind;
    probe->ended = true;
    probe->result->ok = !error;
    probe->result->input_tokens = answer->input_tokens;
    probe->result->output_tokens = answer->output_tokens;
    if (error)
        s_set_error (probe->result, error);
    else
        s_set_text (probe->result, argos_text_str (&answer->text));
}

static void
s_fail (argos_provider_probe_t *result, argos_provider_class_t class, const char *message)
{
    argos_provider_error_t error = { .class = class };
    snprintf (error.message, sizeof error.message, "%s", message);
    s_set_error (result, &error);
}

static void
s_run (argos_provider_t *provider, s_probe_t *probe, int timeout_ms)
{
    int64_t deadline = probe->start_ms + timeout_ms;
    for (;;) {
        int64_t now = argos_shell_now ();
        argos_provider_turn (provider, now, argos_shell_wall ());
        if (probe->ended || now >= deadline)
            return;
        int64_t due_ms = argos_provider_due (provider);
        if (due_ms < 0 || due_ms > deadline)
            due_ms = deadline;
        struct pollfd item = { .fd = argos_provider_fd (provider), .events = POLLIN };
        poll (&item, 1, due_ms > now ? (int) (due_ms - now) : 0);
    }
}

void
argos_provider_probe (const argos_provider_settings_t *settings, const char *prompt, int timeout_ms,
    argos_provider_probe_t *result)
{
    static const argos_call_handlers_t handlers = { s_on_text, s_on_end };
    s_probe_t probe = { .result = result, .start_ms = argos_shell_now () };
    *result = (argos_provider_probe_t){ .first_ms = -1 };
    if (*settings->problem) {
        s_fail (result, ARGOS_PE_CREDENTIALS, settings->problem);
        return;
    }
    argos_provider_t *provider = argos_provider_new (settings);
    if (!provider) {
        s_fail (result, ARGOS_PE_UNKNOWN, "no descriptor is free");
        return;
    }
    json_t *messages = json_pack ("[{s:s, s:s}]", "role", "user", "content",
        prompt ? prompt : "Answer with the one word: ready");
    argos_request_t request = { .messages = messages };
    argos_provider_call (provider, &request, "probe", &handlers, &probe, probe.start_ms);
    s_run (provider, &probe, timeout_ms);
    result->total_ms = argos_shell_now () - probe.start_ms;
    if (!probe.ended)
        s_fail (result, ARGOS_PE_TIMEOUT, "no complete answer came in time");
    argos_provider_destroy (&provider);
    json_decref (messages);
}
