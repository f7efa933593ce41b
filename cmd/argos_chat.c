//  argos_chat - `argos chat`: a conversation at the terminal.
//
//  An adapter like any other: what is typed is a durable message.inbound, what is answered is
//  leased from deliver.cli.NAME and receipted; the topic of the run is only for seeing it come. So
//  an answer survives the client: it is shown at the next start.
//
//  Invariant: each message sent is a chat_run_t until its answer has been shown. Without a terminal
//  the next line is sent when nothing is waited for, and the end of input ends the chat.
//  Limits: one client for a NAME; a newer one supersedes this one.

#include "argos_chat.h"

#include "argos_handover.h"

#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utlist.h>

#define DELIVERY_MS 3000 //  A run has ended, its delivery has not come: show what the run says
#define SLOTS 4          //  Deliveries at a time
#define AGAIN_MS 2000    //  A second Ctrl-C within this leaves; patience with the first

//  ------------------------------------------------------------------------------------------------
//  What is typed

static void
s_on_sent (void *arg, const argos_loop_answer_t *answer)
{
    chat_run_t *run = (chat_run_t *) arg;
    chat_t *self = run->chat;
    run->asked = false;
    if (run->over) {
        argos_chat_run_free (run);
        return;
    }
    if (answer->code == ARGOS_OK || answer->code == ARGOS_GONE)
        return; //  Gone: we are leaving ourselves
    if (self->cli->json)
        argos_chat_event (self, "refused", run->run_id,
            json_pack (
                "{s:s,s:s}", "code", argos_err_name (answer->code), "reason", answer->reason));
    else
        argos_term_line (
            self->term, "not accepted: %s (%s)", answer->reason, argos_err_name (answer->code));
    self->rc = CLI_FAILED;
    argos_chat_run_over (run);
}

static void
s_lose (chat_t *self)
{
    if (self->lost || self->cli->final)
        return;
    self->lost = true;
    argos_term_work (self->term, NULL); //  Nobody works that we know of
    if (self->cli->json)
        argos_chat_event (self, "connection.lost", NULL, NULL);
    else
        argos_term_line (self->term, "[connection lost, waiting for argosd]");
}

static void
s_say (chat_t *self, const char *text)
{
    char id[160], topic[CHAT_RUN_ID_SIZE + 8], key[128];
    chat_run_t *run = argos_chat_run_new (self, NULL);
    snprintf (id, sizeof id, "%s.%s", self->name, run->message_id);
    snprintf (key, sizeof key, "local:%s:%s", self->name, self->name);
    snprintf (topic, sizeof topic, "run.%s", run->run_id);
    run->command = text[0] == '/';
    run->help = strcmp (text, "/help") == 0;
    run->picks = argos_chat_picks (text);
    run->asked = true;
    argos_term_hide (self->term);
    argos_loop_subscribe (self->cli->loop, topic, 0);
    argos_loop_part_t part = { .type = "message.inbound",
        .to = "service:gateway",
        .id = id,
        .key = key,
        .durable = true,
        .urgent = run->command,
        .body = json_pack ("{s:{s:s,s:s,s:s,s:s,s:s,s:s},s:s,s:s,s:s}", "source", "platform",
            "local", "account", self->name, "chat_id", self->name, "chat_type", "dm", "user_id",
            self->user, "user_name", self->user, "text", text, "message_id", run->message_id,
            "run_id", run->run_id) };
    argos_err_t code = part.body ? argos_loop_send (self->cli->loop, &part, s_on_sent, run)
                                 : ARGOS_INVALID; //  What was typed is no UTF-8
    if (code != ARGOS_OK) {
        argos_loop_answer_t answer = { .code = code,
            .reason = part.body ? argos_err_text (code) : "the text is not UTF-8" };
        s_on_sent (run, &answer);
    }
    else if (!argos_cli_is_listening (self->cli))
        s_lose (self);
    if (code == ARGOS_OK && argos_chat_replies (self, run, text))
        argos_chat_run_over (run); //  Who asked goes on, this has no answer of its own
    else if (code == ARGOS_OK)
        argos_chat_settle (self); //  An approval still stands
}

static void
s_on_line (void *ctx, const char *line)
{
    chat_t *self = (chat_t *) ctx;
    char picked[32];
    if (!line || strcmp (line, "/quit") == 0 || strcmp (line, "/exit") == 0) {
        self->leaving = true;
        argos_term_hide (self->term);
        //  A person who leaves does not wait: the answer is kept, and shown at the next start
        if (line || argos_term_is_interactive (self->term))
            argos_loop_stop (self->cli->loop);
        argos_chat_settle (self);
    }
    else if (line[strspn (line, " \t\r")] == '\0')
        argos_chat_settle (self);
    else if (argos_chat_is_handoff (line)) {
        self->handoff = strdup (line);
        argos_term_hide (self->term);
        argos_loop_stop (self->cli->loop);
    }
    else
        s_say (self, argos_chat_picked (self, line, picked, sizeof picked));
}

//  ------------------------------------------------------------------------------------------------
//  What comes

//  Its delivery is long in coming: the topic has said all there is.

static void
s_on_overdue (void *arg)
{
    chat_t *self = (chat_t *) arg;
    chat_run_t *run = self->runs;
    while (run && !run->ending)
        run = run->next;
    if (!run)
        return;
    argos_chat_answer (self, run, run->failed ? "error" : "answer", run->ending, false);
    if (run->failed)
        self->rc = CLI_FAILED;
    argos_chat_run_over (run);
    argos_loop_timer (
        self->cli->loop, argos_loop_now () + DELIVERY_MS, s_on_overdue, self); //  For the next
}

static void
s_on_entry (void *ctx, const char *topic, const argos_loop_msg_t *msg)
{
    chat_t *self = (chat_t *) ctx;
    argos_handover_entry (self->handing, topic, msg);
    chat_run_t *run =
        strncmp (topic, "run.", 4) == 0 ? argos_chat_run_find (self, topic + 4) : NULL;
    if (!run)
        return;
    argos_chat_entry (run, msg);
    if (strcmp (msg->type, "question.closed") == 0)
        argos_chat_closed (run);
    if (argos_chat_is_open (msg)) {
        run->asks = true;
        argos_chat_settle (self);
    }
    if (run->ending && run->notice && strcmp (run->notice, run->ending) == 0)
        argos_chat_run_over (run); //  Its delivery was faster than this entry
    else if (run->ending)
        argos_loop_timer (self->cli->loop, argos_loop_now () + DELIVERY_MS, s_on_overdue, self);
}

//  A terminal can only say something and ask: the rest is answered that way.

static bool
s_refused_op (argos_work_t *lease, const char *op)
{
    if (!*op || strcmp (op, "send") == 0 || strcmp (op, "prompt") == 0)
        return false;
    argos_loop_part_t part = { .type = "receipt.put",
        .to = "store",
        .body =
            json_pack ("{s:s, s:s, s:s}", "state", "refused", "op", op, "error", "unsupported") };
    argos_loop_done (lease, &part);
    return true;
}

static void
s_on_work (void *ctx, const argos_loop_msg_t *msg)
{
    chat_t *self = (chat_t *) ctx;
    argos_work_t *lease = msg->work;
    if (strcmp (msg->type, "deliver.request") != 0) {
        argos_work_release (&lease, 0, false, "unknown_type");
        return;
    }
    if (s_refused_op (lease, argos_chat_text (msg->body, "op")))
        return;
    const char *run_id = argos_chat_text (msg->body, "run_id"),
               *kind = argos_chat_text (msg->body, "kind");
    chat_run_t *run = argos_chat_run_find (self, run_id);
    if (!run && !*run_id)
        run = argos_chat_run_answered (self, argos_chat_text (msg->body, "reply_to"), kind);
    if (self->cli->json)
        argos_chat_event (self, msg->type, run_id, json_incref (msg->body));
    bool asks = json_is_array (json_object_get (msg->body, "options"));
    argos_chat_answer (self, run, kind, argos_chat_text (msg->body, "text"), msg->attempt > 1);
    bool approval = asks && argos_chat_options (self, msg->body);
    if (run && run->help && !self->cli->json)
        argos_term_line (self->term,
            "/quit leaves the chat, Ctrl-D leaves it, too; Ctrl-C stops the "
            "answer");
    if (run && run->picks && strcmp (kind, "notice") == 0)
        argos_chat_pick (self, argos_chat_text (msg->body, "text"));
    json_t *receipt = json_pack ("{s:s}", "state", "sent");
    if (*run_id)
        json_object_set_new (receipt, "run_id", json_string (run_id));
    argos_loop_part_t part = { .type = "receipt.put", .to = "store", .body = receipt };
    argos_loop_done (lease, &part);
    if (run && strcmp (kind, "error") == 0)
        self->rc = CLI_FAILED;
    if (run && asks) {
        run->asks = true;
        run->approval = approval;
        argos_chat_settle (self);
    }
    else if (run && strcmp (kind, "notice") == 0 && *run_id && !run->ending && !run->command) {
        free (run->notice); //  Said on the way: it goes on
        run->notice = strdup (argos_chat_text (msg->body, "text"));
    }
    else if (run)
        argos_chat_run_over (run);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    chat_t *self = (chat_t *) ctx;
    (void) new_store;
    argos_cli_welcome (self->cli);
    if (!self->lost)
        return;
    self->lost = false;
    self->interrupt = 0;
    if (self->cli->json)
        argos_chat_event (self, "connection.back", NULL, NULL);
    else
        argos_term_line (self->term, "[connected again]");
    if (self->runs && !self->handing)
        argos_chat_settle (self); //  They are worked at again
}

static void
s_on_lost_connection (void *ctx)
{
    chat_t *self = (chat_t *) ctx;
    if (self->term)
        s_lose (self);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_cli_final (((chat_t *) ctx)->cli, code, reason);
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    chat_t *self = (chat_t *) ctx;
    if (strncmp (id, "service:", 8) != 0)
        return; //  A topic that is not there, a receipt: nothing that the person could do
    argos_term_line (
        self->term, "answers can't be received: %s (%s)", reason, argos_err_name (code));
    self->rc = CLI_FAILED;
    argos_loop_stop (self->cli->loop);
}

//  ------------------------------------------------------------------------------------------------
//  Ctrl-C

//  The run's row names the session, whose lane takes the stop.

static void
s_on_row (void *arg, const argos_loop_answer_t *answer)
{
    chat_t *self = (chat_t *) arg;
    const json_t *row = json_object_get (answer->body, "run");
    const char *session = argos_chat_text (row, "session_id"),
               *run_id = argos_chat_text (row, "run_id");
    self->asking = false;
    if (answer->code == ARGOS_GONE || self->lost || !self->runs)
        return; //  Nobody waits for it any more
    if (answer->code != ARGOS_OK) {
        argos_term_line (self->term, "[%s; Ctrl-C again leaves]", argos_err_text (answer->code));
        return;
    }
    if (*run_id && !argos_chat_run_find (self, run_id))
        return; //  Over in the meantime
    if (!*session) {
        self->interrupt = argos_loop_now ();
        argos_term_line (self->term, "[not begun yet; Ctrl-C again leaves]");
        return;
    }
    argos_loop_part_t part = { .type = "turn.stop",
        .to = "service:turn",
        .key = session,
        .durable = true,
        .side = true,
        .urgent = true,
        .body = json_pack ("{s:s,s:s}", "run_id", run_id, "reason", "stopped by the user") };
    if (argos_loop_send (self->cli->loop, &part, NULL, NULL) == ARGOS_OK)
        argos_term_line (self->term, "[stopping]");
}

//  Stops the run that is waited for. Where that can do nothing (yet), the next Ctrl-C leaves.

static void
s_interrupt (chat_t *self, int64_t now)
{
    if (self->lost) {
        self->interrupt = now;
        argos_term_line (self->term, "[waiting for argosd; Ctrl-C again leaves]");
        return;
    }
    if (self->asking) {
        self->interrupt = now;
        argos_term_line (self->term, "[argosd does not answer; Ctrl-C again leaves]");
        return;
    }
    argos_loop_part_t part = { .type = "run.get",
        .to = "store",
        .ttl_ms = AGAIN_MS,
        .body = json_pack ("{s:s}", "run_id", self->runs->run_id) };
    self->asking = argos_loop_send (self->cli->loop, &part, s_on_row, self) == ARGOS_OK;
}

static void
s_on_signal (void *ctx, int signal)
{
    chat_t *self = (chat_t *) ctx;
    int64_t now = argos_loop_now ();
    if (signal == SIGCONT) {
        argos_term_resume (self->term);
        return;
    }
    argos_term_echoed (self->term);
    bool again = self->interrupt > 0 && now - self->interrupt < AGAIN_MS;
    if (signal == SIGINT && !argos_cli_is_listening (self->cli))
        s_lose (self);
    if (signal == SIGINT && !again && (self->lost || self->runs))
        s_interrupt (self, now);
    else if (!again && signal == SIGINT && argos_term_is_interactive (self->term)) {
        argos_term_hide (self->term); //  With what has been typed
        argos_term_line (self->term, "[Ctrl-D or /quit ends the chat]");
        argos_term_show (self->term);
    }
    else {
        self->rc = CLI_FAILED;
        argos_loop_stop (self->cli->loop);
    }
}

//  ------------------------------------------------------------------------------------------------
//  The command

static int
s_read_options (chat_t *self, int argc, char **argv)
{
    const char *name = "main";
    for (int i = 0; i < argc; i++) {
        if (strcmp (argv[i], "--chat") == 0 && i + 1 < argc)
            name = argv[++i];
        else if (strncmp (argv[i], "--chat=", 7) == 0)
            name = argv[i] + 7;
        else if (strcmp (argv[i], "--chat") == 0)
            return argos_cli_usage (self->cli, "--chat needs a name");
        else
            return argos_cli_usage (self->cli, "chat knows --chat NAME, not %s", argv[i]);
    }
    size_t size = strlen (name);
    if (size == 0 || size > 40 || strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != size)
        return argos_cli_usage (self->cli, "the name of a chat is 1 to 40 of a-z 0-9 _ -");
    memcpy (self->name, name, size + 1);
    const struct passwd *user = getpwuid (getuid ());
    snprintf (self->user, sizeof self->user, "%s", user ? user->pw_name : "user");
    return CLI_OK;
}

//  Also told of SIGCONT: somebody has said `fg`.

static void
s_watch_signals (chat_t *self)
{
    sigset_t set;
    sigprocmask (SIG_BLOCK, NULL, &set);
    sigaddset (&set, SIGCONT);
    sigprocmask (SIG_BLOCK, &set, NULL);
    signalfd (self->cli->signal_fd, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    self->cli->on_signal = s_on_signal;
    self->cli->signal_ctx = self;
}

static void
s_talk (chat_t *self)
{
    char history[PATH_MAX + 32];
    snprintf (history, sizeof history, "%s/chat_history", self->cli->home);
    self->term = argos_term_new (self->cli->loop, self->cli->json, history, s_on_line, self);
    argos_term_complete (self->term, argos_chat_complete);
    argos_chat_place (self);
    argos_chat_introduce (self);
    if (!self->cli->final) {
        s_watch_signals (self);
        argos_loop_serve (self->cli->loop, self->service, SLOTS);
        argos_chat_asked (self);
        argos_chat_list (self);
        bool gone = false;
        do {
            free (self->handoff);
            self->handoff = NULL;
            argos_chat_settle (self);
            argos_loop_run (self->cli->loop);
            gone = self->handoff && argos_chat_handoff (self);
        } while (self->handoff && !gone && !self->cli->final);
        free (self->handoff);
    }
    argos_term_stop (self->term);
    if (self->cli->final)
        self->rc = argos_cli_error (
            self->cli, CLI_FAILED, argos_err_name (self->cli->final_code), "%s", self->cli->reason);
}

int
argos_command_chat (argos_cli_t *self, int argc, char **argv)
{
    chat_t chat = { .cli = self, .started = argos_loop_wall () };
    int rc = s_read_options (&chat, argc, argv);
    if (rc != CLI_OK)
        return rc;
    char peer[64];
    snprintf (peer, sizeof peer, "cli.%s", chat.name);
    snprintf (chat.service, sizeof chat.service, "deliver.local.%s", chat.name);
    argos_loop_handlers_t handlers = { .ctx = &chat,
        .on_welcome = s_on_welcome,
        .on_lost_connection = s_on_lost_connection,
        .on_work = s_on_work,
        .on_entry = s_on_entry,
        .on_refused = s_on_refused,
        .on_final = s_on_final };
    rc = argos_cli_connect (self, peer, &handlers);
    if (rc != CLI_OK)
        return rc;
    s_talk (&chat);
    argos_cli_disconnect (self); //  Answers what is unanswered: before the runs are freed
    argos_term_destroy (&chat.term);
    json_decref (chat.sessions);
    json_decref (chat.places);
    while (chat.runs) {
        chat_run_t *run = chat.runs;
        LL_DELETE (chat.runs, run);
        argos_chat_run_free (run);
    }
    return chat.rc;
}
