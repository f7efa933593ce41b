//  argos_sessions - `argos sessions`: list, show, search, rename, branch, home, export, import,
//  delete, prune, stats.
//
//  Invariant: a session is named by its id, the beginning of it or its title: the store says which.
//  What is deleted for good is counted before and while it goes.

#include "argos_import.h"
#include "argos_session_export.h"
#include "argos_session_home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DAY_MS 86400000LL //  A day
#define ID_SIZE 32        //  Bytes of a new id, terminated
#define HITS_MAX 20       //  Messages that a search shows
#define LOOK_MAX 100      //  Sessions to be deleted, counted at a time

//  A command line

typedef struct {
    const char *owner;    //  --owner, NULL = anybody's
    const char *platform; //  --platform, NULL = all
    bool all;             //  --all
    int count;            //  Words that are left
    char *words[3];       //  These
} line_t;

static void
s_set (json_t *body, const char *name, const char *value)
{
    if (value)
        json_object_set_new (body, name, json_string (value));
}

//  The id of what is meant, new; or NULL after a failure has been printed.

static char *
s_find (argos_cli_t *self, const line_t *line, const char *what)
{
    json_t *reply = NULL, *body = json_pack ("{s:s}", "text", line->words[0]);
    s_set (body, "owner", line->owner);
    argos_err_t code = argos_cli_ask (self, "store", "session.resolve", body, &reply);
    const char *id = json_string_value (json_object_get (reply, "session_id"));
    char *found = code == ARGOS_OK && id ? strdup (id) : NULL;
    if (code == ARGOS_OK && !found) {
        code = ARGOS_NOT_FOUND;
        snprintf (self->reason, sizeof self->reason,
            json_is_true (json_object_get (reply, "ambiguous"))
                ? "several sessions begin with %.200s"
                : "there is no session %.200s",
            line->words[0]);
    }
    if (!found)
        argos_cli_fail (self, what, code);
    json_decref (reply);
    return found;
}

//  One write of the store; the exit code.

static int
s_write (argos_cli_t *self, const char *what, const char *type, json_t *body, json_t *answer)
{
    argos_loop_part_t part = { .type = type, .to = "store", .durable = true, .body = body };
    argos_err_t code = argos_cli_send (self, &part);
    if (code == ARGOS_OK && self->json)
        argos_cli_print (json_incref (answer));
    json_decref (answer);
    return code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, what, code);
}

//  ------------------------------------------------------------------------------------------------
//  Looking

static void
s_print_row (const json_t *session)
{
    printf ("%-34s %-19s %8s %-10s %s\n", argos_cli_text (session, "id"),
        argos_cli_time (json_integer_value (json_object_get (session, "last_activity_at"))),
        argos_cli_text (session, "message_count"), argos_cli_text (session, "platform"),
        argos_cli_text (session, json_object_get (session, "title") ? "title" : "preview"));
}

//  Page after page.

static int
s_list (argos_cli_t *self, const line_t *line)
{
    json_t *next = NULL, *session, *all = json_array ();
    size_t index;
    int rc = CLI_OK;
    do {
        json_t *reply = NULL, *body = json_pack ("{s:i, s:b}", "limit", 100, "all", line->all);
        s_set (body, "owner", line->owner);
        s_set (body, "platform", line->platform);
        if (next)
            json_object_set_new (body, "after", next);
        next = NULL;
        argos_err_t code = argos_cli_ask (self, "store", "session.list", body, &reply);
        if (code != ARGOS_OK)
            rc = argos_cli_fail (self, "sessions list", code);
        json_array_extend (all, json_object_get (reply, "sessions"));
        next = json_incref (json_object_get (reply, "next"));
        json_decref (reply);
    } while (next && !self->interrupted);
    json_decref (next);
    if (rc == CLI_OK && self->json)
        argos_cli_print (json_pack ("{s:O}", "sessions", all));
    else if (rc == CLI_OK && !json_array_size (all))
        puts ("there are no sessions");
    else if (rc == CLI_OK) {
        puts ("SESSION                            LAST ACTIVITY       MESSAGES PLATFORM   TITLE");
        json_array_foreach (all, index, session)
            s_print_row (session);
    }
    json_decref (all);
    return rc;
}

static int
s_show (argos_cli_t *self, const line_t *line)
{
    json_t *session = NULL, *lineage = NULL, *usage = NULL;
    char *id = s_find (self, line, "sessions show");
    if (!id)
        return CLI_FAILED;
    argos_err_t code =
        argos_cli_ask (self, "store", "session.get", json_pack ("{s:s}", "id", id), &session);
    if (code == ARGOS_OK)
        code = argos_cli_ask (
            self, "store", "session.lineage", json_pack ("{s:s}", "id", id), &lineage);
    if (code == ARGOS_OK)
        code = argos_cli_ask (self, "store", "usage.get", json_pack ("{s:s}", "id", id), &usage);
    free (id);
    json_t *all = json_pack ("{s:O?, s:o?, s:O?}", "session", json_object_get (session, "session"),
        "lineage", lineage, "usage", json_object_get (usage, "usage"));
    json_decref (session);
    json_decref (usage);
    if (code == ARGOS_OK && self->json)
        argos_cli_print (json_incref (all));
    else if (code == ARGOS_OK) {
        json_dumpf (all, stdout, JSON_INDENT (2));
        putchar ('\n');
    }
    json_decref (all);
    return code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, "sessions show", code);
}

//  One search, from messages before *next (NULL: from the newest) back, adds its hits. *next is
//  then where the next one goes on, NULL = all were looked at.

static argos_err_t
s_search_on (argos_cli_t *self, const line_t *line, json_t *hits, json_t **next)
{
    json_t *reply = NULL, *body = json_pack ("{s:s, s:I}", "text", line->words[0], "limit",
                              (json_int_t) (HITS_MAX - json_array_size (hits)));
    s_set (body, "owner", line->owner);
    s_set (body, "platform", line->platform);
    if (*next)
        json_object_set (body, "before", *next);
    argos_err_t code = argos_cli_ask (self, "store", "session.search", body, &reply);
    if (code == ARGOS_OK) {
        json_array_extend (hits, json_object_get (reply, "hits"));
        json_decref (*next);
        *next = json_incref (json_object_get (reply, "next"));
    }
    json_decref (reply);
    return code;
}

static void
s_print_hits (const json_t *hits, bool partial)
{
    size_t index;
    json_t *hit;
    json_array_foreach (hits, index, hit)
        printf ("%s %s %s\n    %s\n", argos_cli_text (hit, "session_id"),
            argos_cli_time (json_integer_value (json_object_get (hit, "at"))),
            argos_cli_text (hit, "role"), argos_cli_text (hit, "snippet"));
    if (json_array_size (hits) == 0)
        puts (partial ? "nothing was found so far: not all messages were looked at"
                      : "nothing was found");
}

//  A search of the store ends when its time is used up, whatever it has found: it is gone on with.
//  What an interrupt leaves is shown.

static int
s_search (argos_cli_t *self, const line_t *line)
{
    json_t *hits = json_array (), *next = NULL;
    argos_err_t code;
    do
        code = s_search_on (self, line, hits, &next);
    while (code == ARGOS_OK && next && json_array_size (hits) < HITS_MAX && !self->interrupted);
    bool partial = next || code != ARGOS_OK;
    int rc = self->interrupted ? CLI_FAILED : CLI_OK;
    if (code != ARGOS_OK && !self->interrupted)
        rc = argos_cli_fail (self, "sessions search", code);
    else if (self->json)
        argos_cli_print (json_pack ("{s:O, s:b}", "hits", hits, "partial", partial));
    else
        s_print_hits (hits, partial);
    json_decref (hits);
    json_decref (next);
    return rc;
}

static int
s_stats (argos_cli_t *self, const line_t *line)
{
    json_t *reply = NULL, *body = json_object (), *row;
    size_t index;
    s_set (body, "owner", line->owner);
    argos_err_t code = argos_cli_ask (self, "store", "session.stats", body, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "sessions stats", code);
    if (self->json)
        argos_cli_print (json_incref (reply));
    else {
        printf ("%s sessions, %s messages\n", argos_cli_text (reply, "sessions"),
            argos_cli_text (reply, "messages"));
        json_array_foreach (json_object_get (reply, "platforms"), index, row)
            printf ("%-16s %8s sessions %10s messages\n", argos_cli_text (row, "platform"),
                argos_cli_text (row, "sessions"), argos_cli_text (row, "messages"));
        json_array_foreach (json_object_get (reply, "models"), index, row)
            printf ("%-32s %8s calls %12s in %12s out\n", argos_cli_text (row, "model"),
                argos_cli_text (row, "calls"), argos_cli_text (row, "input_tokens"),
                argos_cli_text (row, "output_tokens"));
    }
    json_decref (reply);
    return CLI_OK;
}

static int
s_export (argos_cli_t *self, const line_t *line)
{
    if (line->all && line->count == 0)
        return argos_session_export_all (self, line->owner, line->platform);
    if (line->all || line->count == 0)
        return argos_cli_usage (self, "sessions export takes a session, or --all");
    char *id = s_find (self, line, "sessions export");
    if (!id)
        return CLI_FAILED;
    argos_err_t code = argos_session_export (self, id);
    free (id);
    return code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, "sessions export", code);
}

//  What `export` has written; "-" is stdin.

static int
s_import (argos_cli_t *self, const line_t *line)
{
    argos_import_report_t report = { .sessions = 0 };
    struct stat info;
    FILE *file = strcmp (line->words[0], "-") == 0 ? stdin : fopen (line->words[0], "re");
    if (!file)
        return argos_cli_error (
            self, CLI_FAILED, "not_found", "%s: %s", line->words[0], strerror (errno));
    bool plain = fstat (fileno (file), &info) == 0 && S_ISREG (info.st_mode);
    int rc = argos_import_lines (self, file, plain ? info.st_size : 0, &report);
    if (file != stdin)
        fclose (file);
    if (rc == CLI_OK)
        argos_import_print (self, &report);
    json_decref (report.skipped);
    return rc;
}

static int
s_rename (argos_cli_t *self, const line_t *line)
{
    char *id = s_find (self, line, "sessions rename");
    if (!id)
        return CLI_FAILED;
    int rc = s_write (self, "sessions rename", "session.rename",
        json_pack ("{s:s, s:s}", "id", id, "title", line->words[1]),
        json_pack ("{s:s, s:s}", "renamed", id, "title", line->words[1]));
    free (id);
    return rc;
}

static int
s_branch (argos_cli_t *self, const line_t *line)
{
    char fresh[ID_SIZE] = "s";
    char *id = s_find (self, line, "sessions branch");
    if (!id)
        return CLI_FAILED;
    argos_cli_random_hex (fresh + 1, 12);
    json_t *body = json_pack ("{s:s, s:s}", "id", fresh, "from", id);
    s_set (body, "title", line->count > 1 ? line->words[1] : NULL);
    int rc = s_write (self, "sessions branch", "session.branch", body,
        json_pack ("{s:s, s:s}", "session_id", fresh, "from", id));
    if (rc == CLI_OK && !self->json)
        puts (fresh);
    free (id);
    return rc;
}

static int
s_home (argos_cli_t *self, const line_t *line)
{
    char *id = s_find (self, line, "sessions home");
    int rc = id ? argos_session_home (self, id, line->words[1]) : CLI_FAILED;
    free (id);
    return rc;
}

static int
s_delete (argos_cli_t *self, const line_t *line)
{
    char *id = s_find (self, line, "sessions delete");
    if (!id)
        return CLI_FAILED;
    int rc = s_write (self, "sessions delete", "session.delete", json_pack ("{s:s}", "id", id),
        json_pack ("{s:s}", "deleted", id));
    if (rc == CLI_OK && !self->json)
        printf ("deleted %s\n", id);
    free (id);
    return rc;
}

//  Sessions that would go, the oldest LOOK_MAX, new; NULL after a failure has been printed.

static json_t *
s_prunable (argos_cli_t *self, const line_t *line, json_int_t before)
{
    json_t *reply = NULL,
           *body = json_pack ("{s:I, s:i}", "prunable_before", before, "limit", LOOK_MAX);
    s_set (body, "owner", line->owner);
    s_set (body, "platform", line->platform);
    argos_err_t code = argos_cli_ask (self, "store", "session.list", body, &reply);
    json_t *sessions = json_incref (json_object_get (reply, "sessions"));
    json_decref (reply);
    if (code != ARGOS_OK)
        argos_cli_fail (self, "sessions prune", code);
    return sessions;
}

//  How many of a list are not in the next one.

static int
s_gone (const json_t *list, const json_t *next)
{
    json_t *session, *left = json_object ();
    size_t index;
    int count = 0;
    json_array_foreach (next, index, session)
        json_object_set_new (left, argos_cli_text (session, "id"), json_null ());
    json_array_foreach (list, index, session)
        count += !json_object_get (left, argos_cli_text (session, "id"));
    json_decref (left);
    return count;
}

//  The time that many days ago, msec; -1 when that is no number of days.

static json_int_t
s_before (const char *word)
{
    char *end = NULL;
    struct timespec now;
    errno = 0;
    long days = strtol (word, &end, 10);
    if (errno || *end || days < 1 || days > 36500)
        return -1;
    clock_gettime (CLOCK_REALTIME, &now);
    json_int_t before = (json_int_t) now.tv_sec * 1000 - days * DAY_MS;
    return before > 0 ? before : 0;
}

static int
s_prune (argos_cli_t *self, const line_t *line)
{
    json_int_t before = s_before (line->words[0]);
    if (before < 0)
        return argos_cli_usage (self, "sessions prune needs a number of days, from 1");
    int total = 0, gone = 1; //  None gone: what is left can't be deleted now
    json_t *next, *list = s_prunable (self, line, before);
    while (json_array_size (list) && gone && !self->interrupted) {
        json_t *body = json_pack ("{s:I}", "before", before);
        s_set (body, "owner", line->owner);
        s_set (body, "platform", line->platform);
        argos_loop_part_t part = {
            .type = "session.prune", .to = "store", .durable = true, .body = body
        };
        argos_err_t code = argos_cli_send (self, &part);
        if (code != ARGOS_OK)
            argos_cli_fail (self, "sessions prune", code);
        next = code == ARGOS_OK ? s_prunable (self, line, before) : NULL;
        gone = next ? s_gone (list, next) : 0;
        total += gone;
        json_decref (list);
        list = next;
        if (list && !self->json)
            fprintf (stderr, "%d sessions deleted\n", total);
    }
    int rc = list ? CLI_OK : CLI_FAILED;
    if (list && self->json)
        argos_cli_print (json_pack ("{s:i}", "deleted", total));
    else if (list && total == 0)
        puts ("no session is that old and without work");
    json_decref (list);
    return rc;
}

static const struct {
    const char *verb;                                        //  Second word
    int least, most;                                         //  Words behind it
    int (*function) (argos_cli_t *self, const line_t *line); //  What it does
    const char *wants;                                       //  Those words
} verbs[] = {
    { "list", 0, 0, s_list, "no more words" },
    { "show", 1, 1, s_show, "a session" },
    { "search", 1, 1, s_search, "one text (in quotes)" },
    { "rename", 2, 2, s_rename, "a session and a title" },
    { "branch", 1, 2, s_branch, "a session, and perhaps a title" },
    { "home", 2, 2, s_home, "a session, and a node or none" },
    { "export", 0, 1, s_export, "a session" },
    { "import", 1, 1, s_import, "a file, or -" },
    { "delete", 1, 1, s_delete, "a session" },
    { "prune", 1, 1, s_prune, "a number of days" },
    { "stats", 0, 0, s_stats, "no more words" },
};

//  Returns 0, or the exit code.

static int
s_read_line (argos_cli_t *self, int argc, char **argv, line_t *line)
{
    for (int i = 1; i < argc; i++) {
        const char **option = strcmp (argv[i], "--owner") == 0      ? &line->owner
                              : strcmp (argv[i], "--platform") == 0 ? &line->platform
                                                                    : NULL;
        if (option && i + 1 == argc)
            return argos_cli_usage (self, "%s needs a word", argv[i]);
        if (option)
            *option = argv[++i];
        else if (strcmp (argv[i], "--all") == 0)
            line->all = true;
        else if (strncmp (argv[i], "--", 2) == 0)
            return argos_cli_usage (self, "sessions has no option %s", argv[i]);
        else if (line->count == 3)
            return argos_cli_usage (self, "too many words");
        else
            line->words[line->count++] = argv[i];
    }
    return 0;
}

int
argos_command_sessions (argos_cli_t *self, int argc, char **argv)
{
    const char *verb = argc > 0 ? argv[0] : "list";
    line_t line = { .count = 0 };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp (verbs[i].verb, verb) != 0)
            continue;
        int rc = s_read_line (self, argc, argv, &line);
        if (rc == 0 && (line.count < verbs[i].least || line.count > verbs[i].most))
            rc = argos_cli_usage (self, "sessions %s takes %s", verb, verbs[i].wants);
        if (rc == 0)
            rc = argos_cli_connect_plain (self);
        return rc == 0 ? verbs[i].function (self, &line) : rc;
    }
    return argos_cli_usage (self, "sessions list, show, search, rename, branch, home, export, "
                                  "import, delete, prune or stats");
}
