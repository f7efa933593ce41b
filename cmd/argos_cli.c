//  argos_cli - what the commands of `argos` share.
//
//  Invariant: the loop runs only inside argos_cli_connect, argos_cli_ask, argos_cli_send and the
//  chat; each ends by an answer, a deadline or a signal. Limits: ASK_MS for an answer.

#include "argos_cli.h"
#include "argos_keys.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ASK_MS 15000    //  Patience with an answer
#define WELCOME_MS 5000 //  Patience with the welcome
#define RING 8          //  Texts that live at a time

//  An answer that is waited for

typedef struct {
    argos_cli_t *cli; //  Who waits
    bool there;       //  It has come
    bool abandoned;   //  Nobody waits any more
    argos_err_t code; //  Its code
    json_t *body;     //  Of a reply
} cli_answer_t;

//  ------------------------------------------------------------------------------------------------
//  Where the daemon is

//  The first line of run/broker.endpoint, if there is one

static bool
s_read_pointer (argos_cli_t *self)
{
    char path[PATH_MAX + 32];
    snprintf (path, sizeof path, "%s/run/broker.endpoint", self->home);
    FILE *file = fopen (path, "re");
    if (!file)
        return false;
    bool found = fgets (self->endpoint, sizeof self->endpoint, file) != NULL;
    fclose (file);
    self->endpoint[strcspn (self->endpoint, "\r\n")] = '\0';
    return found && self->endpoint[0];
}

int
argos_cli_find (argos_cli_t *self, const char *home)
{
    const char *own = home ? home : getenv ("ARGOS_HOME"), *user = getenv ("HOME");
    int size = -1;
    if (own && *own)
        size = snprintf (self->home, sizeof self->home, "%s", own);
    else if (user && *user)
        size = snprintf (self->home, sizeof self->home, "%s/.argos", user);
    if (size < 0 || (size_t) size >= sizeof self->home) {
        snprintf (self->reason, sizeof self->reason,
            "name the folder of argosd: --home DIR or ARGOS_HOME");
        return -1;
    }
    char resolved[PATH_MAX]; //  As argosd does, for the name of the socket
    if (realpath (self->home, resolved))
        memcpy (self->home, resolved, strlen (resolved) + 1);
    if (!s_read_pointer (self)) {
        size = snprintf (self->endpoint, sizeof self->endpoint, "ipc://%.*s/run/broker.sock",
            PATH_MAX - 32, self->home);
        if (size < 0 || (size_t) size >= sizeof self->endpoint)
            return -1;
    }
    return 0;
}

//  Whether somebody listens there. ØMQ would wait for it without a word.

bool
argos_cli_is_listening (const argos_cli_t *self)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strncmp (self->endpoint, "ipc://", 6) != 0)
        return true; //  Only the welcome can tell
    const char *path = self->endpoint + 6;
    if (strlen (path) >= sizeof address.sun_path)
        return false;
    memcpy (address.sun_path, path, strlen (path) + 1);
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    int rc = connect (fd, (const struct sockaddr *) &address, sizeof address);
    close (fd);
    return rc == 0;
}

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
    if (self->on_signal) {
        self->on_signal (self->signal_ctx, (int) info.ssi_signo);
        return;
    }
    self->interrupted = true;
    argos_loop_stop (self->loop);
}

static void
s_on_timeout (void *arg)
{
    argos_loop_stop (((argos_cli_t *) arg)->loop);
}

int
argos_cli_connect (argos_cli_t *self, const char *name, const argos_loop_handlers_t *handlers)
{
    static const argos_loop_handlers_t plain = { .on_welcome = s_on_welcome,
        .on_final = s_on_final };
    argos_loop_handlers_t own = plain;
    char path[PATH_MAX + 32], token[ARGOS_TOKEN_MAX + 1];
    own.ctx = self;
    if (!argos_cli_is_listening (self))
        return argos_cli_error (
            self, CLI_DOWN, "down", "no daemon is running in %s; start argosd", self->home);
    //  Who runs the daemon may read it, and has the role of the operator
    snprintf (path, sizeof path, "%s/" ARGOS_OPERATOR_TOKEN, self->home);
    bool shown = argos_keys_token_read (path, token) == 0;
    self->loop =
        argos_loop_new (name, self->endpoint, shown ? token : NULL, handlers ? handlers : &own);
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
        return CLI_FAILED;
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

//  Sends, and runs the loop until the answer is there. One that comes later frees itself.

static argos_err_t
s_exchange (argos_cli_t *self, const argos_loop_part_t *part, json_t **ret_reply)
{
    cli_answer_t *answer = calloc (1, sizeof *answer);
    if (!answer)
        abort ();
    answer->cli = self;
    argos_err_t code = argos_loop_send (self->loop, part, s_answered, answer);
    if (code != ARGOS_OK) {
        snprintf (self->reason, sizeof self->reason, "%s", argos_err_text (code));
        free (answer);
        return code;
    }
    argos_loop_timer (self->loop, argos_loop_now () + ASK_MS, s_on_timeout, self);
    argos_loop_run (self->loop);
    argos_loop_timer (self->loop, -1, NULL, NULL);
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
    return s_exchange (self, &part, ret_reply);
}

argos_err_t
argos_cli_send (argos_cli_t *self, const argos_loop_part_t *part)
{
    return s_exchange (self, part, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Output

static void
s_print_error (const char *code, const char *message)
{
    json_t *text = json_string (message);
    if (!text)
        text = json_string ("the sentence is not UTF-8"); //  It quotes what was typed
    argos_cli_print (json_pack ("{s:{s:s,s:o}}", "error", "code", code, "message", text));
}

//  suffix goes to people only

__attribute__ ((format (printf, 4, 0))) static void
s_say_error (
    const argos_cli_t *self, const char *code, const char *suffix, const char *format, va_list list)
{
    char message[PATH_MAX + 512];
    vsnprintf (message, sizeof message, format, list);
    if (self->json)
        s_print_error (code, message);
    else
        fprintf (stderr, "argos: %s%s\n", message, suffix);
}

int
argos_cli_error (const argos_cli_t *self, int rc, const char *code, const char *format, ...)
{
    va_list list;
    va_start (list, format);
    s_say_error (self, code, "", format, list);
    va_end (list);
    return rc;
}

int
argos_cli_fail (const argos_cli_t *self, const char *what, argos_err_t code)
{
    if (self->json)
        s_print_error (argos_err_name (code), self->reason);
    else
        fprintf (stderr, "argos: %s: %s (%s)\n", what, self->reason, argos_err_name (code));
    return CLI_FAILED;
}

int
argos_cli_usage (const argos_cli_t *self, const char *format, ...)
{
    va_list list;
    va_start (list, format);
    s_say_error (self, "usage", " (argos help)", format, list);
    va_end (list);
    return CLI_USAGE;
}

void
argos_cli_print (json_t *value)
{
    json_dumpf (value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    putchar ('\n');
    fflush (stdout);
    json_decref (value);
}

static char *
s_ring (void)
{
    static char ring[RING][CLI_SHOWN];
    static unsigned next;
    return ring[next++ % RING];
}

const char *
argos_cli_text (const json_t *object, const char *name)
{
    const json_t *value = json_object_get (object, name);
    char *text = s_ring ();
    snprintf (text, CLI_SHOWN, "-");
    if (json_is_integer (value))
        snprintf (text, CLI_SHOWN, "%lld", (long long) json_integer_value (value));
    else if (json_is_boolean (value))
        snprintf (text, CLI_SHOWN, "%s", json_is_true (value) ? "yes" : "no");
    else if (json_is_string (value) && json_string_length (value) > 0)
        snprintf (text, CLI_SHOWN, "%s", json_string_value (value));
    for (char *c = text; *c; c++)
        if ((unsigned char) *c < 0x20 || *c == 0x7f)
            *c = ' ';
    return text;
}

const char *
argos_cli_time (int64_t at)
{
    char *text = s_ring ();
    time_t seconds = (time_t) (at / 1000);
    struct tm parts;
    if (at <= 0 || !localtime_r (&seconds, &parts) ||
        strftime (text, CLI_SHOWN, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        snprintf (text, CLI_SHOWN, "-");
    return text;
}

void
argos_cli_write (const char *text, size_t size)
{
    size_t from = 0;
    for (size_t i = 0; i <= size; i++) {
        unsigned char c = i < size ? (unsigned char) text[i] : 0;
        if (i < size && (c >= 0x20 || c == '\n' || c == '\t') && c != 0x7f)
            continue;
        fwrite (text + from, 1, i - from, stdout);
        from = i + 1;
    }
    fflush (stdout);
}
