//  argos_say - what the commands in `argos` and those in argosd share: where the daemon is, the
//  options of each command, and how results and errors are written.
//
//  Invariant: nothing here speaks to the broker, so that it is built into both programs. Limits:
//  RING texts live at a time.

#include "argos_cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RING 8 //  Texts that live at a time

//  ------------------------------------------------------------------------------------------------
//  The line

int
argos_cli_options (argos_cli_t *self, int argc, char **argv, const char **ret_home)
{
    int left = 1;
    bool ours = true; //  What follows -- is not
    for (int i = 1; i < argc; i++) {
        ours = ours && strcmp (argv[i], "--") != 0;
        if (ours && strcmp (argv[i], "--json") == 0)
            self->json = true;
        else if (ours && strcmp (argv[i], "--home") == 0) {
            if (i + 1 >= argc)
                return -1;
            *ret_home = argv[++i];
        }
        else if (ours && strncmp (argv[i], "--home=", 7) == 0)
            *ret_home = argv[i] + 7;
        else
            argv[left++] = argv[i];
    }
    return left;
}

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

//  The lock is tried for a moment, which an argosd that starts must not find held: so only when the
//  file speaks of a node, and of a process that is there.

bool
argos_cli_elsewhere (const argos_cli_t *self, cli_node_t *ret_node)
{
    char path[PATH_MAX + 32], text[320], *line;
    snprintf (path, sizeof path, "%s/run/argosd.lock", self->home);
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = fd >= 0 ? pread (fd, text, sizeof text - 1, 0) : 0;
    text[size < 0 ? 0 : size] = '\0';
    ret_node->pid = strtol (text, &line, 10);
    bool found = sscanf (line, "%31s %255s", ret_node->name, ret_node->broker) == 2 &&
                 ret_node->pid > 0 && (kill ((pid_t) ret_node->pid, 0) == 0 || errno == EPERM) &&
                 flock (fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close (fd);
    if (!found)
        memset (ret_node, 0, sizeof *ret_node);
    return found;
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

static void
s_say_error (const argos_cli_t *self, const char *code, const char *suffix, const char *message)
{
    if (self->json)
        s_print_error (code, message);
    else
        fprintf (stderr, "argos: %s%s\n", message, suffix);
}

int
argos_cli_error (const argos_cli_t *self, int rc, const char *code, const char *format, ...)
{
    char message[PATH_MAX + 512];
    va_list list;
    va_start (list, format);
    vsnprintf (message, sizeof message, format, list); // NOLINT(clang-analyzer-valist.*)
    va_end (list);
    s_say_error (self, code, "", message);
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
    char message[PATH_MAX + 512];
    va_list list;
    va_start (list, format);
    vsnprintf (message, sizeof message, format, list); // NOLINT(clang-analyzer-valist.*)
    va_end (list);
    s_say_error (self, "usage", " (argos help)", message);
    return CLI_USAGE;
}

int
argos_cli_end (int rc)
{
    if (fflush (stdout) == 0 && !ferror (stdout))
        return rc;
    fputs ("argos: not all of the output could be written\n", stderr);
    return rc == CLI_OK ? CLI_FAILED : rc;
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

//  Bytes of the control character that stands there, 0 = none does. U+0080 to U+009F are some, too:
//  a terminal may take the second byte of theirs for the start of a sequence.

static size_t
s_control (const char *text, size_t size)
{
    unsigned char c = (unsigned char) *text;
    if (c == 0xc2 && size > 1 && ((unsigned char) text[1] & 0xe0) == 0x80)
        return 2;
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

static char *
s_shown (const json_t *object, const char *name)
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
        if (*c == '\n' || *c == '\t' || s_control (c, c[1] ? 2 : 1))
            memset (c, ' ', *c == '\xc2' ? 2 : 1);
    return text;
}

const char *
argos_cli_text (const json_t *object, const char *name)
{
    return s_shown (object, name);
}

const char *
argos_cli_short (const json_t *object, const char *name, size_t size)
{
    char *text = s_shown (object, name);
    if (strlen (text) <= size)
        return text;
    while (size && ((unsigned char) text[size] & 0xc0) == 0x80)
        size--;
    text[size] = 0;
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
    size_t from = 0, at = 0;
    while (at < size) {
        size_t control = s_control (text + at, size - at);
        if (control)
            fwrite (text + from, 1, at - from, stdout);
        at += control ? control : 1;
        if (control)
            from = at;
    }
    fwrite (text + from, 1, size - from, stdout);
    fflush (stdout);
}
