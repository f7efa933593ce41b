//  argos_chat_run - the messages of a chat whose answers are waited for.
//
//  Invariant: a run is in the list from the moment its message is sent (or its question is shown
//  again) until its answer has been shown; it is freed once nothing is asked of the broker for it.

#include "argos_chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

chat_run_t *
argos_chat_run_new (chat_t *self, const char *run_id)
{
    chat_run_t *run = calloc (1, sizeof *run);
    if (!run)
        abort ();
    run->chat = self;
    run->segment = -1;
    char hex[33];
    argos_cli_random_hex (hex, 16);
    if (run_id)
        snprintf (run->run_id, sizeof run->run_id, "%s", run_id);
    else
        snprintf (run->run_id, sizeof run->run_id, "run_%s", hex);
    snprintf (run->message_id, sizeof run->message_id, "%lld.%llu", (long long) self->started,
        (unsigned long long) ++self->sent);
    LL_APPEND (self->runs, run);
    return run;
}

void
argos_chat_run_free (chat_run_t *run)
{
    free (run->shown);
    free (run->ending);
    free (run->notice);
    free (run);
}

void
argos_chat_run_over (chat_run_t *run)
{
    chat_t *self = run->chat;
    char topic[CHAT_RUN_ID_SIZE + 8];
    snprintf (topic, sizeof topic, "run.%s", run->run_id);
    argos_loop_unsubscribe (self->cli->loop, topic);
    LL_DELETE (self->runs, run);
    self->interrupt = 0;
    run->over = true;
    if (!run->asked)
        argos_chat_run_free (run);
    self->tool[0] = '\0';
    argos_chat_list (self); //  Its title may be new, or it is another session
    argos_chat_settle (self);
}

chat_run_t *
argos_chat_run_find (chat_t *self, const char *run_id)
{
    chat_run_t *run;
    LL_FOREACH (self->runs, run)
        if (strcmp (run->run_id, run_id) == 0)
            break;
    return run;
}

chat_run_t *
argos_chat_run_answered (chat_t *self, const char *reply_to, const char *kind)
{
    chat_run_t *run;
    LL_FOREACH (self->runs, run)
        if (strcmp (run->message_id, reply_to) == 0)
            break;
    return run && (run->command || strcmp (kind, "error") == 0) ? run : NULL;
}

void
argos_chat_working (chat_t *self, const char *tool)
{
    snprintf (self->tool, sizeof self->tool, "%s", tool ? tool : "");
    argos_term_work (self->term, tool ? self->tool : "working");
}

void
argos_chat_settle (chat_t *self)
{
    const chat_run_t *run;
    bool waits = false, approval = false;
    LL_FOREACH (self->runs, run) {
        waits = waits || !run->asks;
        approval = approval || (run->asks && run->approval);
    }
    if (self->leaving && !waits)
        argos_loop_stop (self->cli->loop);
    else if (!self->leaving && (!waits || approval))
        argos_term_show (self->term);
    if (!waits || self->lost || self->leaving)
        argos_term_work (self->term, NULL);
    else
        argos_term_work (self->term, *self->tool ? self->tool : "working");
}
