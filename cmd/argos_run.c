//  argos_run - `argos run`: one question, its answer on stdout, and the exit code of its outcome.
//
//  A chat of one message: the message is a durable message.inbound of its own chat, what becomes of
//  it is read from the topic of its run. All these chats have one service of deliveries,
//  deliver.local.run: whichever of them gets a delivery receipts it, because the topic has shown it
//  already; only what has no run (a refusal, the answer of a command) goes to whose it is.
//
//  Exit codes: 0 answered, 1 failed or refused, 2 usage, 69 no daemon, 77 the run was stopped
//  because it asked a person, 130 it was stopped by a signal.
//  Limits: PROMPT_MAX bytes.

#include "argos_cli.h"

#include "argos_json_get.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROMPT_MAX 262144 //  Bytes, as of a message
#define SERVICE "deliver.local.run"
#define SLOTS 4              //  Deliveries at a time
#define DELIVERY_MS 1000     //  Patience with the delivery of what the topic has shown
#define ORPHAN_MS 60000      //  Nobody waits any more for what answers an older message
#define BACK_MS 100          //  Until another one is asked whether it is his
#define RUN_ID_SIZE 37       //  run_, 32 hex digits, and the end
#define EXIT_ASKED 77        //  EX_NOPERM
#define EXIT_INTERRUPTED 130 //  As shells have it

typedef struct {
    argos_cli_t *cli;         //  Ours
    char run_id[RUN_ID_SIZE]; //  Of the run
    char message_id[64];      //  Of the message: wall msec and noise
    const char *state;        //  What has become of it, NULL = nothing yet
    const char *why;          //  It is being stopped for this state, NULL = it is not
    char *text;               //  The answer, or the reason
    bool stopping;            //  turn.stop has been sent
    bool delivered;           //  Its delivery has been receipted
} once_t;

//  ------------------------------------------------------------------------------------------------
//  The outcome

static void
s_leave (void *arg)
{
    argos_loop_stop (((once_t *) arg)->cli->loop);
}

//  It is over; what has been delivered may end us at once.

static void
s_over (once_t *self, const char *state, const char *text)
{
    if (self->state)
        return;
    self->state = self->why ? self->why : state;
    if (!self->text)
        self->text = strdup (text);
    if (self->delivered)
        s_leave (self);
    else
        argos_loop_timer (self->cli->loop, argos_loop_now () + DELIVERY_MS, s_leave, self);
}

//  The row of the run names the session, whose lane takes the stop.

static void
s_on_row (void *arg, const argos_loop_answer_t *answer)
{
    once_t *self = (once_t *) arg;
    const char *session = argos_json_text (json_object_get (answer->body, "run"), "session_id");
    if (answer->code == ARGOS_GONE || self->state)
        return;
    if (answer->code != ARGOS_OK || !*session) {
        self->delivered = true; //  Nothing more comes
        s_over (self, self->why, "it had not begun");
        return;
    }
    argos_loop_part_t part = { .type = "turn.stop",
        .to = "service:turn",
        .key = session,
        .durable = true,
        .side = true,
        .urgent = true,
        .body = json_pack ("{s:s,s:s}", "run_id", self->run_id, "reason", "stopped by argos run") };
    argos_loop_send (self->cli->loop, &part, NULL, NULL);
}

//  Stops it; its end comes by the topic. A second time leaves at once.

static void
s_stop (once_t *self, const char *why)
{
    bool again = self->stopping;
    if (!self->why)
        self->why = why;
    self->stopping = true;
    argos_loop_part_t part = {
        .type = "run.get", .to = "store", .body = json_pack ("{s:s}", "run_id", self->run_id)
    };
    if (again || argos_loop_send (self->cli->loop, &part, s_on_row, self) != ARGOS_OK) {
        self->delivered = true;
        s_over (self, why, "interrupted");
    }
}

static void
s_on_signal (void *ctx, int signal)
{
    (void) signal;
    s_stop ((once_t *) ctx, "cancelled");
}

//  ------------------------------------------------------------------------------------------------
//  What comes

static void
s_on_entry (void *ctx, const char *topic, const argos_loop_msg_t *msg)
{
    static const struct {
        const char *type;   //  Of the last entry
        const char *state;  //  What it means
        const char *member; //  That has the text, NULL = none
    } ends[] = { { "run.completed", "completed", "output" }, { "run.failed", "failed", "error" },
        { "run.cancelled", "cancelled", NULL } };
    once_t *self = (once_t *) ctx;
    (void) topic;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp (msg->type, ends[i].type) == 0)
            s_over (self, ends[i].state,
                ends[i].member ? argos_json_text (msg->body, ends[i].member)
                               : "the run was stopped");
    if (strcmp (msg->type, "question.asked") == 0 && !self->why) {
        if (asprintf (&self->text, "it asks a person, who is not here: %s",
                argos_json_text (msg->body, "text")) < 0)
            abort ();
        s_stop (self, "asked");
    }
    else if (strcmp (msg->type, "tool.started") == 0 && !self->cli->json &&
             isatty (STDERR_FILENO) == 1)
        fprintf (stderr, "[%s] %s\n", argos_cli_text (msg->body, "tool"),
            argos_cli_text (msg->body, "preview"));
}

//  A delivery without a run: whether it is somebody else's who may still wait for it.

static bool
s_is_of_another (const once_t *self, const json_t *body)
{
    const char *reply_to = argos_json_text (body, "reply_to");
    if (strcmp (reply_to, self->message_id) == 0)
        return false;
    return argos_loop_wall () - strtoll (reply_to, NULL, 10) < ORPHAN_MS;
}

static void
s_on_work (void *ctx, const argos_loop_msg_t *msg)
{
    once_t *self = (once_t *) ctx;
    argos_work_t *lease = msg->work;
    const char *run_id = argos_json_text (msg->body, "run_id"),
               *op = argos_json_text (msg->body, "op");
    bool ours = strcmp (run_id, self->run_id) == 0, said = !*op || strcmp (op, "send") == 0;
    if (strcmp (msg->type, "deliver.request") != 0 ||
        (!*run_id && said && s_is_of_another (self, msg->body))) {
        argos_work_release (&lease, BACK_MS, true, "of_another");
        return;
    }
    json_t *receipt =
        said ? json_pack ("{s:s}", "state", "sent")
             : json_pack ("{s:s,s:s,s:s}", "state", "refused", "op", op, "error", "unsupported");
    if (*run_id && said)
        json_object_set_new (receipt, "run_id", json_string (run_id));
    argos_loop_part_t part = { .type = "receipt.put", .to = "store", .body = receipt };
    argos_loop_done (lease, &part);
    if (!said)
        return;
    if (!*run_id && strcmp (argos_json_text (msg->body, "reply_to"), self->message_id) == 0) {
        bool error = strcmp (argos_json_text (msg->body, "kind"), "error") == 0;
        self->delivered = true;
        s_over (self, error ? "refused" : "completed", argos_json_text (msg->body, "text"));
    }
    else if (ours) {
        self->delivered = true;
        if (self->state)
            argos_loop_timer (self->cli->loop, argos_loop_now (), s_leave, self);
    }
}

static void
s_on_sent (void *arg, const argos_loop_answer_t *answer)
{
    once_t *self = (once_t *) arg;
    if (answer->code == ARGOS_OK || answer->code == ARGOS_GONE)
        return;
    self->delivered = true;
    s_over (self, "refused", answer->reason);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    argos_cli_welcome (((once_t *) ctx)->cli);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_cli_final (((once_t *) ctx)->cli, code, reason);
}

//  ------------------------------------------------------------------------------------------------
//  The command

//  Adds text to the prompt; false = there is no room.

static bool
s_add (char *prompt, size_t *size, const char *text)
{
    size_t more = strlen (text);
    if (*size + more + 2 > PROMPT_MAX)
        return false;
    if (*size)
        prompt[(*size)++] = '\n';
    memcpy (prompt + *size, text, more + 1);
    *size += more;
    return true;
}

//  Adds all of stdin.

static bool
s_add_input (char *prompt, size_t *size)
{
    if (*size && *size < PROMPT_MAX)
        prompt[(*size)++] = '\n';
    size_t got = fread (prompt + *size, 1, PROMPT_MAX - *size, stdin);
    bool whole = feof (stdin) && !ferror (stdin) && !memchr (prompt + *size, 0, got);
    *size += got;
    while (*size && prompt[*size - 1] == '\n')
        (*size)--;
    prompt[*size] = 0;
    return whole;
}

//  The prompt: the words of the line, each a line of it; `-` is what stdin has, and so is a line
//  without words. Returns CLI_OK, or the exit code.

static int
s_read_line (argos_cli_t *self, int argc, char **argv, char prompt[static PROMPT_MAX + 2])
{
    size_t size = 0;
    bool good = argc > 0 || isatty (STDIN_FILENO) != 1, options = true;
    if (argc == 0 && good)
        good = s_add_input (prompt, &size);
    for (int i = 0; i < argc && good; i++) {
        bool dashes = options && strncmp (argv[i], "--", 2) == 0;
        if (dashes && argv[i][2])
            return argos_cli_usage (self, "run has no option %s", argv[i]);
        if (dashes)
            options = false;
        else
            good = options && strcmp (argv[i], "-") == 0 ? s_add_input (prompt, &size)
                                                         : s_add (prompt, &size, argv[i]);
    }
    if (good && size && prompt[strspn (prompt, " \t\r\n")])
        return CLI_OK;
    return argos_cli_usage (self, "run PROMPT|-..., at most %d bytes; - is stdin", PROMPT_MAX);
}

static argos_err_t
s_ask (once_t *self, const char *hex, const char *prompt)
{
    char chat[64], id[160], key[160], topic[RUN_ID_SIZE + 8];
    const struct passwd *user = getpwuid (getuid ());
    const char *name = user ? user->pw_name : "user";
    snprintf (self->run_id, sizeof self->run_id, "run_%s", hex);
    snprintf (self->message_id, sizeof self->message_id, "%lld.%.12s",
        (long long) argos_loop_wall (), hex);
    snprintf (chat, sizeof chat, "run-%.12s", hex);
    snprintf (id, sizeof id, "run.%s", self->message_id);
    snprintf (key, sizeof key, "local:run:%s", chat);
    snprintf (topic, sizeof topic, "run.%s", self->run_id);
    argos_loop_subscribe (self->cli->loop, topic, 0);
    argos_loop_serve (self->cli->loop, SERVICE, SLOTS);
    argos_loop_part_t part = { .type = "message.inbound",
        .to = "service:gateway",
        .id = id,
        .key = key,
        .durable = true,
        .urgent = prompt[0] == '/',
        .body =
            json_pack ("{s:{s:s,s:s,s:s,s:s,s:s,s:s},s:s,s:s,s:s}", "source", "platform", "local",
                "account", "run", "chat_id", chat, "chat_type", "dm", "user_id", name, "user_name",
                name, "text", prompt, "message_id", self->message_id, "run_id", self->run_id) };
    return part.body ? argos_loop_send (self->cli->loop, &part, s_on_sent, self) : ARGOS_INVALID;
}

static int
s_report (const once_t *self)
{
    static const struct {
        const char *state; //  What has become of it
        int rc;            //  Exit code
    } codes[] = { { "completed", CLI_OK }, { "asked", EXIT_ASKED },
        { "cancelled", EXIT_INTERRUPTED }, { "failed", CLI_FAILED }, { "refused", CLI_FAILED } };
    size_t at = 0;
    while (strcmp (codes[at].state, self->state) != 0)
        at++;
    bool good = codes[at].rc == CLI_OK;
    if (self->cli->json)
        argos_cli_print (json_pack ("{s:s,s:s,s:s}", "run_id", self->run_id, "state", self->state,
            good ? "output" : "error", self->text));
    else if (good) {
        argos_cli_write (self->text, strlen (self->text));
        putchar ('\n');
    }
    else
        fprintf (stderr, "argos: %s: %s (%s)\n", self->state, self->text, self->run_id);
    return codes[at].rc;
}

static int
s_run (once_t *self, const char *prompt)
{
    char peer[64], hex[33];
    argos_loop_handlers_t handlers = { .ctx = self,
        .on_welcome = s_on_welcome,
        .on_work = s_on_work,
        .on_entry = s_on_entry,
        .on_final = s_on_final };
    argos_cli_random_hex (hex, 16);
    snprintf (peer, sizeof peer, "cli.run-%.12s", hex);
    int rc = argos_cli_connect (self->cli, peer, &handlers);
    if (rc != CLI_OK)
        return rc;
    self->cli->on_signal = s_on_signal;
    self->cli->signal_ctx = self;
    argos_err_t code = s_ask (self, hex, prompt);
    if (code != ARGOS_OK)
        rc = argos_cli_error (self->cli, CLI_FAILED, argos_err_name (code), "%s",
            code == ARGOS_INVALID ? "the prompt is not UTF-8" : argos_err_text (code));
    else {
        argos_loop_run (self->cli->loop);
        rc = self->state ? s_report (self)
                         : argos_cli_error (self->cli, CLI_FAILED,
                               argos_err_name (self->cli->final_code), "%s", self->cli->reason);
    }
    argos_cli_disconnect (self->cli); //  Answers what is unanswered: before `self` is gone
    return rc;
}

int
argos_command_run (argos_cli_t *self, int argc, char **argv)
{
    once_t once = { .cli = self };
    char *prompt = calloc (1, PROMPT_MAX + 2);
    if (!prompt)
        abort ();
    int rc = s_read_line (self, argc, argv, prompt);
    if (rc == CLI_OK)
        rc = s_run (&once, prompt);
    free (once.text);
    free (prompt);
    return rc;
}
