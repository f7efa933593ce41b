//  argos_say_db - see the header.

#include "argos_say_db.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *verb;  //  Second word
    int least, most;   //  Words behind it
    bool apart;        //  It only reads, so that it may read another file: --file
    const char *wants; //  Those words
} verbs[] = {
    { "check", 0, 0, true, "no more words; --deep, --file FILE" },
    { "backup", 0, 1, false, "at most the name of a file" },
    { "restore", 1, 1, false, "the name of a backup" },
    { "compact", 0, 0, false, "no more words" },
    { "salvage", 0, 1, true, "at most the name of a new file; --file FILE" },
    { "query", 1, 1, true, "one statement (in quotes); --file FILE" },
    { "finish", 2, 2, false, "a copy and its name" },
};

static int
s_words (argos_cli_t *self, int argc, char **argv, argos_db_line_t *line)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp (argv[i], "--deep") == 0)
            line->deep = true;
        else if (strcmp (argv[i], "--file") == 0 && i + 1 < argc)
            line->file = argv[++i];
        else if (strcmp (argv[i], "--look") == 0 && i + 1 < argc) {
            line->file = argv[++i];
            line->own = true;
        }
        else if (strncmp (argv[i], "--", 2) == 0)
            return argos_cli_usage (self, "db has no option %s, or it needs a word", argv[i]);
        else if (line->count == 2)
            return argos_cli_usage (self, "too many words");
        else
            line->words[line->count++] = argv[i];
    }
    return CLI_OK;
}

int
argos_say_db_line (argos_cli_t *self, int argc, char **argv, argos_db_line_t *line)
{
    *line = (argos_db_line_t){ .verb = argc > 0 ? argv[0] : "" };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp (verbs[i].verb, line->verb) != 0)
            continue;
        int rc = s_words (self, argc, argv, line);
        if (rc == CLI_OK && (line->count < verbs[i].least || line->count > verbs[i].most))
            rc = argos_cli_usage (self, "db %s takes %s", line->verb, verbs[i].wants);
        //  Who has --file works without the lock of the home
        if (rc == CLI_OK && line->file && !verbs[i].apart)
            rc = argos_cli_usage (
                self, "db %s has no --file: it works on the database of the home", line->verb);
        return rc;
    }
    return argos_cli_usage (self, "db check, backup, restore, salvage, compact or query");
}

void
argos_say_db_progress (const argos_cli_t *self, const char *what, int64_t done, int64_t total)
{
    static const char bar[] = "########################";
    static int shown = -1; //  Per cent
    int percent = total > 0 ? (int) (done * 100 / total) : -1;
    if (self->json || percent < 0 || percent == shown || !isatty (STDERR_FILENO))
        return;
    int full = percent * (int) strlen (bar) / 100;
    fprintf (stderr, "\r%s [%-*.*s] %3d %%%s", what, (int) strlen (bar), full, bar, percent,
        done == total ? "\n" : "");
    fflush (stderr);
    shown = done == total ? -1 : percent;
}

int
argos_say_db_name (const char *prefix, char *name, size_t size)
{
    struct tm parts;
    char stamp[32];
    time_t now = time (NULL);
    if (!gmtime_r (&now, &parts) || strftime (stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts) == 0)
        return -1;
    int length = snprintf (name, size, "%s-%s-%ld.db", prefix, stamp, (long) getpid ());
    return length < 0 || (size_t) length >= size ? -1 : 0;
}
