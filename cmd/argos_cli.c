//  argos_cli - what the commands of `argos` share that speak to the broker.
//
//  Invariant: the loop runs only inside argos_cli_connect, argos_cli_ask, argos_cli_send and the
//  chat; each ends by an answer, a deadline or a signal. Limits: ASK_MS for an answer.

#include "argos_cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_MS 15000    //  Patience with an answer
#define WELCOME_MS 5000 //  Patience with the welcome
#define TOKEN_MAX 64    //  Longest token of the operator

//  An answer that is waited for

typedef struct {
    argos_cli_t *cli; //  Who waits
    bool there;       //  It has come
    bool late;        //  It has not come in time
    bool abandoned;   //  Nobody waits any more
    argos_err_t code; //  Its code
    json_t *body;     //  Of a reply
} cli_answer_t;

//  ------------------------------------------------------------------------------------------------
//  The connection

void
argos_cli_welcome (argos_cli_t *self)
{
    if (!self->welcome)
        argos_loop_stop (self->loop);
    self->welcome = true;
}

void
argos_cli_final (argos_cli_t *self, argos_err_t code, const char *reason)
{
    self->final = true;
    self->final_code = code;
    snprintf (self->reason, sizeof self->reason, "%s",
        code == ARGOS_SUPERSEDED ? "another client of the same name has connected; this one ends"
                                 : reason);
    argos_loop_stop (self->loop);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    argos_cli_welcome ((argos_cli_t *) ctx);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_cli_final ((argos_cli_t *) ctx, code, reason);
}

static void
s_on_signal (void *arg)
{
    argos_cli_t *self = (argos_cli_t *) arg;
    struct signalfd_siginfo info;
    if (read (self->signal_fd, &info, sizeof info) != sizeof info)
        return;
    self->signalled = true;
    if (self->on_signal) {
        self->on_signal (self->signal_ctx, (int) info.ssi_signo);
        return;
    }
    if (info.ssi_signo == SIGCONT)
        return; //  Only who watches it makes something of it
    self->interrupted = true;
    argos_loop_stop (self->loop);
}

//  What is in run/operator.token of the home, "" when it is not there or others may read it. Who
//  runs the daemon may, and has the role of the operator.

static void
s_read_token (const argos_cli_t *self, char token[static TOKEN_MAX + 1])
{
    char path[PATH_MAX + 32];
    struct stat info;
    ssize_t size = 0;
    snprintf (path, sizeof path, "%s/run/operator.token", self->home);
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat (fd, &info) == 0 && !(info.st_mode & 077))
        size = read (fd, token, TOKEN_MAX);
    if (fd >= 0)
        close (fd);
    token[size < 0 ? 0 : size] = 0;
    token[strcspn (token, " \t\r\n")] = 0;
}

static void
s_on_timeout (void *arg)
{
    argos_loop_stop (((argos_cli_t *) arg)->loop);
}

//  Nobody listens: what runs on the home may be a node, and then it is asked in vain.

static int
s_say_down (const argos_cli_t *self)
{
    cli_node_t node;
    if (argos_cli_elsewhere (self, &node))
        return argos_cli_error (self, CLI_DOWN, "down",
            "what runs in %s with pid %ld is the node %s, and its core is at %s: ask there",
            self->home, node.pid, node.name, node.broker);
    return argos_cli_error (
        self, CLI_DOWN, "down", "no daemon is running in %s; start argosd", self->home);
}

int
argos_cli_connect (argos_cli_t *self, const char *name, const argos_loop_handlers_t *handlers)
{
    static const argos_loop_handlers_t plain = { .on_welcome = s_on_welcome,
        .on_final = s_on_final };
    argos_loop_handlers_t own = plain;
    char token[TOKEN_MAX + 1];
    own.ctx = self;
    if (!argos_cli_is_listening (self))
        return s_say_down (self);
    s_read_token (self, token);
    self->loop =
        argos_loop_new (name, self->endpoint, *token ? token : NULL, handlers ? handlers : &own);
    explicit_bzero (token, sizeof token);
    if (!self->loop)
        return argos_cli_error (
            self, CLI_DOWN, "down", "can't connect to %s as %s", self->endpoint, name);
    argos_loop_fd (self->loop, self->signal_fd, s_on_signal, self);
    argos_loop_timer (self->loop, argos_loop_now () + WELCOME_MS, s_on_timeout, self);
    argos_loop_run (self->loop);
    argos_loop_timer (self->loop, -1, NULL, NULL);
    if (self->welcome && !self->final)
        return CLI_OK;
    argos_cli_disconnect (self);
    if (self->final)
        return argos_cli_error (
            self, CLI_FAILED, argos_err_name (self->final_code), "%s", self->reason);
    if (self->interrupted)
        return argos_cli_error (self, CLI_FAILED, "cancelled", "interrupted");
    return argos_cli_error (
        self, CLI_DOWN, "down", "the daemon at %s does not answer", self->endpoint);
}

int
argos_cli_connect_plain (argos_cli_t *self)
{
    char name[64];
    snprintf (name, sizeof name, "cmd.%ld", (long) getpid ());
    return argos_cli_connect (self, name, NULL);
}

void
argos_cli_disconnect (argos_cli_t *self)
{
    argos_loop_destroy (&self->loop);
}

//  ------------------------------------------------------------------------------------------------
//  Questions

static void
s_answered (void *arg, const argos_loop_answer_t *answer)
{
    cli_answer_t *self = (cli_answer_t *) arg;
    if (self->abandoned) {
        free (self);
        return;
    }
    self->there = true;
    self->code = answer->code;
    self->body = json_incref (answer->body);
    if (answer->code != ARGOS_OK)
        snprintf (self->cli->reason, sizeof self->cli->reason, "%s", answer->reason);
    argos_loop_stop (self->cli->loop);
}

static argos_err_t
s_not_answered (argos_cli_t *self)
{
    if (!self->final)
        snprintf (self->reason, sizeof self->reason, "%s",
            self->interrupted ? "interrupted" : "the daemon does not answer");
    return ARGOS_EXPIRED;
}

static void
s_on_late (void *arg)
{
    cli_answer_t *self = (cli_answer_t *) arg;
    self->late = true;
    argos_loop_stop (self->cli->loop);
}

//  Runs the loop until the answer is there, or will not come. Who else stops it meanwhile (an entry
//  has come, a key was pressed) finds it stopped behind the answer.

static void
s_await (cli_answer_t *answer)
{
    argos_cli_t *self = answer->cli;
    bool others = false, mine = false;
    self->signalled = false;
    argos_loop_timer (self->loop, argos_loop_now () + ASK_MS, s_on_late, answer);
    while (!mine && !self->signalled && !self->final) {
        int stops = argos_loop_run (self->loop);
        mine = answer->there || answer->late;
        others = others || stops > mine;
        if (!stops)
            break;
    }
    argos_loop_timer (self->loop, -1, NULL, NULL);
    if (others)
        argos_loop_stop (self->loop);
}

//  Sends, and waits for the answer. One that comes later frees itself.

static argos_err_t
s_exchange (argos_cli_t *self, const argos_loop_part_t *parts, size_t count, json_t **ret_reply)
{
    cli_answer_t *answer = calloc (1, sizeof *answer);
    if (!answer)
        abort ();
    answer->cli = self;
    argos_err_t code = count == 1
                           ? argos_loop_send (self->loop, parts, s_answered, answer)
                           : argos_loop_commit (self->loop, parts, count, s_answered, answer);
    if (code != ARGOS_OK) {
        snprintf (self->reason, sizeof self->reason, "%s", argos_err_text (code));
        free (answer);
        return code;
    }
    s_await (answer);
    if (!answer->there) {
        answer->abandoned = true;
        return s_not_answered (self);
    }
    code = answer->code;
    if (ret_reply && code == ARGOS_OK)
        *ret_reply = answer->body;
    else
        json_decref (answer->body);
    free (answer);
    return code;
}

argos_err_t
argos_cli_ask (
    argos_cli_t *self, const char *to, const char *type, json_t *body, json_t **ret_reply)
{
    argos_loop_part_t part = { .type = type, .to = to, .ttl_ms = ASK_MS - 1000, .body = body };
    if (ret_reply)
        *ret_reply = NULL;
    return s_exchange (self, &part, 1, ret_reply);
}

argos_err_t
argos_cli_send (argos_cli_t *self, const argos_loop_part_t *part)
{
    return s_exchange (self, part, 1, NULL);
}

argos_err_t
argos_cli_commit (argos_cli_t *self, const argos_loop_part_t *parts, size_t count)
{
    return s_exchange (self, parts, count, NULL);
}

void
argos_cli_random_hex (char *text, size_t count)
{
    unsigned char noise[64];
    if (count > sizeof noise || getrandom (noise, count, 0) != (ssize_t) count)
        abort (); //  Not for so few bytes, once the kernel is up
    for (size_t i = 0; i < count; i++)
        snprintf (text + 2 * i, 3, "%02x", noise[i]);
}
