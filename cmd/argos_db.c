//  argos_db - `argos db`: check, backup, restore, salvage, compact, query.
//
//  While a daemon runs the file is its own: it hands out a copy, slice by slice, as we ask for it,
//  and argosd, as a command, looks at that copy in a process of its own. Without a daemon argosd
//  does it all; the lock of the home tells which it is. Limits: SLICE_PAGES pages of a slice.

#include "argos_say_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE_PAGES 512 //  Of one request: two milliseconds of the store

//  ------------------------------------------------------------------------------------------------
//  A copy of the database that is being served

//  Makes it; its path, new, or NULL after a failure has been printed.

static char *
s_copy (argos_cli_t *self, const char *what, const char *name)
{
    char *path = NULL;
    bool finished = false;
    argos_err_t code = ARGOS_OK;
    while (!finished && code == ARGOS_OK && !self->interrupted) {
        json_t *reply = NULL;
        code = argos_cli_ask (self, "store", "db.backup",
            json_pack ("{s:s, s:i}", "name", name, "pages", SLICE_PAGES), &reply);
        finished = json_is_true (json_object_get (reply, "finished"));
        int64_t total = json_integer_value (json_object_get (reply, "total"));
        argos_say_db_progress (
            self, what, json_integer_value (json_object_get (reply, "done")), total);
        const char *given = json_string_value (json_object_get (reply, "path"));
        if (finished && given)
            path = strdup (given);
        json_decref (reply);
    }
    if (path)
        return path;
    if (self->interrupted)
        argos_cli_ask (
            self, "store", "db.backup", json_pack ("{s:s, s:b}", "name", name, "drop", 1), NULL);
    argos_cli_fail (self, what, code == ARGOS_OK ? ARGOS_EXPIRED : code);
    return NULL;
}

//  A copy for one look: argosd looks, and it is gone.

static int
s_look (argos_cli_t *self, const argos_db_line_t *line)
{
    char name[64], word[] = "db", verb[16], option[] = "--look", deep[] = "--deep";
    char *words[8] = { word, verb };
    int count = 2;
    if (argos_say_db_name (DB_LOOK, name, sizeof name) != 0)
        return CLI_FAILED;
    char *path = s_copy (self, "snapshot", name);
    if (!path)
        return CLI_FAILED;
    char *sql = line->count ? strdup (line->words[0]) : NULL;
    snprintf (verb, sizeof verb, "%s", line->verb);
    if (sql)
        words[count++] = sql;
    words[count++] = option;
    words[count++] = path;
    if (line->deep)
        words[count++] = deep;
    int rc = argos_cli_run (self, count, words);
    unlink (path);
    free (sql);
    free (path);
    return rc;
}

static int
s_backup (argos_cli_t *self, const argos_db_line_t *line)
{
    char name[64], target[PATH_MAX], word[] = "db", verb[] = "finish";
    if (argos_say_db_name ("argos", name, sizeof name) != 0)
        return CLI_FAILED;
    int length = line->count
                     ? snprintf (target, sizeof target, "%s", line->words[0])
                     : snprintf (target, sizeof target, "%s/" DB_FOLDER "/%s", self->home, name);
    if (length < 0 || (size_t) length >= sizeof target)
        return argos_cli_usage (self, "the name of the file is too long");
    if (access (target, F_OK) == 0)
        return argos_cli_error (self, CLI_FAILED, "conflict", "%s is there already", target);
    char *path = s_copy (self, "backup", name);
    if (!path)
        return CLI_FAILED;
    char *words[] = { word, verb, path, target };
    int rc = argos_cli_run (self, 4, words);
    unlink (path); //  Unless it has become the backup
    free (path);
    return rc;
}

//  ------------------------------------------------------------------------------------------------

static int
s_compact (argos_cli_t *self)
{
    int64_t first = -1, before = 0, total = 0, size = 0;
    bool possible = true;
    for (int64_t free_pages = 1, last = 0; free_pages > 0 && possible && !self->interrupted;) {
        json_t *reply = NULL;
        argos_err_t code = argos_cli_ask (
            self, "store", "db.compact", json_pack ("{s:i}", "pages", SLICE_PAGES), &reply);
        if (code != ARGOS_OK)
            return argos_cli_fail (self, "db compact", code);
        last = first < 0 ? -1 : free_pages;
        free_pages = json_integer_value (json_object_get (reply, "free"));
        total = json_integer_value (json_object_get (reply, "total"));
        size = json_integer_value (json_object_get (reply, "page_size"));
        possible = json_is_true (json_object_get (reply, "possible"));
        json_decref (reply);
        if (first < 0) {
            first = free_pages;
            before = total;
        }
        argos_say_db_progress (self, "compact", first - free_pages, first);
        if (last >= 0 && free_pages >= last)
            break; //  The daemon frees faster than that: enough; or nothing more can be given back
    }
    if (!possible)
        return argos_cli_error (self, CLI_FAILED, "unsupported",
            "this file was made by an older argosd: stop argosd and do it once again");
    if (self->json)
        argos_cli_print (json_pack ("{s:I, s:I}", "before", (json_int_t) before * size, "after",
            (json_int_t) total * size));
    else
        printf (
            "%lld bytes before, %lld after\n", (long long) before * size, (long long) total * size);
    return CLI_OK;
}

static int
s_served (argos_cli_t *self, const argos_db_line_t *line)
{
    if (strcmp (line->verb, "restore") == 0 || strcmp (line->verb, "salvage") == 0)
        return argos_cli_error (self, CLI_FAILED, "busy", "argosd runs on %s: stop it, then %s",
            self->home, line->verb);
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    if (strcmp (line->verb, "compact") == 0)
        return s_compact (self);
    return strcmp (line->verb, "backup") == 0 ? s_backup (self, line) : s_look (self, line);
}

int
argos_command_db (argos_cli_t *self, int argc, char **argv)
{
    argos_db_line_t line;
    char *words[16];
    char word[] = "db";
    int rc = argos_say_db_line (self, argc, argv, &line);
    if (rc != CLI_OK)
        return rc;
    if (!line.file && strcmp (line.verb, "finish") != 0 && argos_cli_is_listening (self))
        return s_served (self, &line);
    words[0] = word;
    for (int i = 0; i < argc; i++)
        words[i + 1] = argv[i];
    return argos_cli_become (self, argc + 1, words);
}
