//  argos_logs - `argos logs`: the newest lines of the daemon's log, and those that come.
//
//  It reads HOME/argosd.log and argosd.log.1 (actors/base/argos_log_file.c) and asks nobody, so it
//  works when the daemon does not. With -f inotify wakes it: of the file when it grows, of the home
//  when another file takes its name; then the old one is read to its end. Limits: LINES_MAX lines;
//  a line is as long as the daemon makes it.

#include "argos_cli.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "argosd.log"
#define LINES 100       //  Unless -n says how many
#define LINES_MAX 10000 //  That it may say

typedef struct {
    argos_cli_t *cli;    //  Ours
    bool follow;         //  -f
    int level;           //  Lines up to this number of levels
    size_t wanted;       //  Lines at the beginning
    char **lines;        //  Ring of them, while they are looked for
    size_t count;        //  Of all that were put into it
    char path[PATH_MAX]; //  Of the file
    FILE *file;          //  Open, NULL = there is none
    ino_t inode;         //  Of what is open
    int watch_fd;        //  inotify
    int file_watch;      //  Of the file, -1 = none
} logs_t;

static const char *const levels[] = { "error", "warn", "info", "debug" };

static int
s_level (const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strlen (levels[i]) == size && strncmp (levels[i], word, size) == 0)
            return (int) i;
    return -1;
}

//  Whether a line is wanted. One that is not of the logger has no level, and is never left out.

static bool
s_is_wanted (const logs_t *self, const char *line)
{
    const char *level = strncmp (line, "ts=", 3) == 0 ? strstr (line, " level=") : NULL;
    if (!level)
        return true;
    return s_level (level + 7, strcspn (level + 7, " \n")) <= self->level;
}

//  ------------------------------------------------------------------------------------------------
//  Output

//  The value at *at, without quotes; *at moves behind it.

static json_t *
s_value (const char **at)
{
    const char *from = *at;
    if (*from != '"') {
        *at = from + strcspn (from, " ");
        return json_stringn (from, (size_t) (*at - from));
    }
    char *text = malloc (strlen (from) + 1);
    size_t size = 0;
    if (!text)
        abort ();
    for (from++; *from && *from != '"'; from++) {
        if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
            from++;
        text[size++] = *from;
    }
    *at = from + (*from == '"');
    json_t *value = json_stringn (text, size);
    free (text);
    return value;
}

//  A line as an object: its pairs, or `text` when it has none

static json_t *
s_object (const char *line)
{
    json_t *object = json_object ();
    const char *at = line;
    while (strncmp (line, "ts=", 3) == 0 && *at) {
        size_t size = 0;
        while (isalnum ((unsigned char) at[size]) || at[size] == '_' || at[size] == '.')
            size++;
        char name[64];
        if (!size || size >= sizeof name || at[size] != '=')
            break;
        snprintf (name, sizeof name, "%.*s", (int) size, at);
        at += size + 1;
        json_object_set_new (object, name, s_value (&at));
        at += strspn (at, " ");
    }
    if (*at)
        json_object_set_new (object, "text", json_string (at));
    return object;
}

//  Each line as it comes; while they are looked for they are kept.

static void
s_take (logs_t *self, char *line)
{
    if (!s_is_wanted (self, line))
        return;
    if (self->lines) {
        char **place = &self->lines[self->count++ % self->wanted];
        free (*place);
        *place = strdup (line);
        return;
    }
    line[strcspn (line, "\n")] = 0;
    if (self->cli->json)
        argos_cli_print (s_object (line));
    else {
        argos_cli_write (line, strlen (line));
        putchar ('\n');
    }
    fflush (stdout);
}

//  What was kept; one document of JSON, unless more follows.

static void
s_show (logs_t *self)
{
    json_t *list = json_array ();
    char **lines = self->lines;
    size_t first = self->count > self->wanted ? self->count - self->wanted : 0;
    self->lines = NULL;
    for (size_t i = first; i < self->count; i++) {
        char *line = lines[i % self->wanted];
        if (self->cli->json && !self->follow) {
            line[strcspn (line, "\n")] = 0;
            json_array_append_new (list, s_object (line));
        }
        else
            s_take (self, line);
    }
    for (size_t i = 0; i < self->wanted; i++)
        free (lines[i]);
    free (lines);
    if (self->cli->json && !self->follow)
        argos_cli_print (json_pack ("{s:O}", "lines", list));
    json_decref (list);
}

//  ------------------------------------------------------------------------------------------------
//  Reading

//  The whole lines that are there; what is not whole is read again.

static void
s_read (logs_t *self, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    clearerr (file);
    while ((size = getline (&line, &room, file)) > 0) {
        if (line[size - 1] != '\n') {
            fseeko (file, -size, SEEK_CUR);
            break;
        }
        s_take (self, line);
    }
    free (line);
}

//  Opens the file that has the name now. Returns whether it is another one than before.

static bool
s_open (logs_t *self)
{
    struct stat info;
    FILE *file = fopen (self->path, "re");
    if (!file || fstat (fileno (file), &info) != 0 || (self->file && info.st_ino == self->inode)) {
        if (file)
            fclose (file);
        return false;
    }
    if (self->file) {
        s_read (self, self->file);
        fclose (self->file);
    }
    self->file = file;
    self->inode = info.st_ino;
    if (self->watch_fd >= 0) {
        if (self->file_watch >= 0)
            inotify_rm_watch (self->watch_fd, self->file_watch);
        self->file_watch = inotify_add_watch (self->watch_fd, self->path, IN_MODIFY);
    }
    return true;
}

static void
s_read_new (logs_t *self)
{
    do
        if (self->file)
            s_read (self, self->file);
    while (s_open (self));
}

static int
s_follow (logs_t *self)
{
    char events[4096];
    struct pollfd items[] = { { .fd = self->watch_fd, .events = POLLIN },
        { .fd = self->cli->signal_fd, .events = POLLIN },
        { .fd = STDOUT_FILENO } }; //  A pipe that nobody reads any more
    while (!items[1].revents && !items[2].revents) {
        s_read_new (self);
        if (poll (items, 3, -1) < 0 && errno != EINTR)
            return CLI_FAILED;
        if (items[0].revents && read (self->watch_fd, events, sizeof events) < 0)
            return CLI_FAILED;
    }
    return CLI_OK;
}

static int
s_look (logs_t *self)
{
    char old[PATH_MAX + 8];
    self->lines = calloc (self->wanted, sizeof *self->lines);
    if (!self->lines)
        abort ();
    if (self->follow) {
        self->watch_fd = inotify_init1 (IN_CLOEXEC);
        inotify_add_watch (self->watch_fd, self->cli->home, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
    }
    snprintf (old, sizeof old, "%s.1", self->path);
    FILE *before = fopen (old, "re");
    bool found = before != NULL;
    if (before) {
        s_read (self, before);
        fclose (before);
    }
    s_open (self);
    found = found || self->file;
    if (self->file)
        s_read (self, self->file);
    if (found || self->follow)
        s_show (self);
    else
        free (self->lines);
    if (!found && !self->follow)
        return argos_cli_error (self->cli, CLI_FAILED, "not_found",
            "%s: %s (argosd writes it, from its first start on)", self->path,
            strerrordesc_np (ENOENT));
    return self->follow ? s_follow (self) : CLI_OK;
}

int
argos_command_logs (argos_cli_t *self, int argc, char **argv)
{
    logs_t logs = { .cli = self, .wanted = LINES, .level = 3, .watch_fd = -1, .file_watch = -1 };
    bool good = true;
    for (int i = 0; i < argc && good; i++) {
        char *end;
        bool value = i + 1 < argc;
        if (strcmp (argv[i], "-f") == 0)
            logs.follow = true;
        else if (strcmp (argv[i], "-n") == 0 && value) {
            logs.wanted = strtoul (argv[++i], &end, 10);
            good = isdigit ((unsigned char) *argv[i]) && !*end && logs.wanted > 0 &&
                   logs.wanted <= LINES_MAX;
        }
        else if (strcmp (argv[i], "--level") == 0 && value)
            good = (logs.level = s_level (argv[i + 1], strlen (argv[i + 1]))) >= 0 && ++i;
        else
            good = false;
    }
    if (!good)
        return argos_cli_usage (
            self, "logs [-f] [-n LINES, at most %d] [--level error|warn|info|debug]", LINES_MAX);
    snprintf (logs.path, sizeof logs.path, "%.*s/" FILE_NAME, PATH_MAX - 16, self->home);
    int rc = s_look (&logs);
    if (logs.file)
        fclose (logs.file);
    if (logs.watch_fd >= 0)
        close (logs.watch_fd);
    return rc;
}
