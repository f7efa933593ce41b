//  argosd_scratch - see the header.
//
//  Invariant: a signal ends a command as if nobody cared for it, but for its files, which go first;
//  its handler only unlinks names that were made before. A database that is being changed is left
//  as after a crash, which it stands. What SIGKILL leaves goes with the next sweep; a pid that
//  somebody else has by then keeps it until a later one. Limits: FILES_MAX files at a time.

#include "argosd_scratch.h"

#include "argos_say_db.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FILES_MAX 4
#define NAME_SIZE (PATH_MAX + 32)
#define IMPORT "import." //  In HOME/run: the copy of another program's database

//  What is made of a file, and beside it by SQLite and the store

static const char *const suffixes[] = { "", "-wal", "-shm", "-journal", "-ballast" };
#define SUFFIXES (sizeof suffixes / sizeof *suffixes)

static struct {
    volatile sig_atomic_t used;      //  There is one
    char names[SUFFIXES][NAME_SIZE]; //  Of the file and those beside it
} files[FILES_MAX];

static void
s_unlink (size_t at)
{
    for (size_t i = 0; i < SUFFIXES; i++)
        unlink (files[at].names[i]);
}

//  Its action is the default one by now, and comes as we return.

static void
s_on_signal (int number)
{
    for (size_t at = 0; at < FILES_MAX; at++)
        if (files[at].used)
            s_unlink (at);
    raise (number);
}

//  Signals that are ignored (nohup) stay so.

static void
s_take_signals (void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = s_on_signal, .sa_flags = (int) SA_RESETHAND }, old;
    sigemptyset (&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset (&action.sa_mask, numbers[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction (numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction (numbers[i], &action, NULL);
}

//  Where a path is, or the first free place for "". Returns FILES_MAX when it is nowhere.

static size_t
s_find (const char *path)
{
    size_t at = 0;
    while (at < FILES_MAX &&
           (*path ? !files[at].used || strcmp (files[at].names[0], path) != 0 : files[at].used))
        at++;
    return at;
}

void
argosd_scratch_add (const char *path)
{
    size_t at = s_find ("");
    if (at == FILES_MAX)
        abort ();
    for (size_t i = 0; i < SUFFIXES; i++)
        snprintf (files[at].names[i], NAME_SIZE, "%s%s", path, suffixes[i]);
    files[at].used = 1;
    s_take_signals ();
}

void
argosd_scratch_keep (const char *path)
{
    size_t at = *path ? s_find (path) : FILES_MAX;
    if (at < FILES_MAX)
        files[at].used = 0;
}

void
argosd_scratch_drop (const char *path)
{
    size_t at = *path ? s_find (path) : FILES_MAX;
    if (at < FILES_MAX)
        s_unlink (at);
    argosd_scratch_keep (path);
}

void
argosd_scratch_follow (void)
{
    prctl (PR_SET_PDEATHSIG, SIGTERM);
}

//  ------------------------------------------------------------------------------------------------
//  What was left

//  Passes so many digits and the text behind them. NULL: they are not there.

static const char *
s_pass (const char *at, size_t digits, const char *text)
{
    if (!at || strspn (at, "0123456789") != digits ||
        strncmp (at + digits, text, strlen (text)) != 0)
        return NULL;
    return at + digits + strlen (text);
}

//  Whose a file in HOME/backups is, by its name (argos_say_db_name): of looks, and of what is not
//  whole. 0 = nobody's.

static long
s_owner_of_copy (const char *name)
{
    const char *dash = strchr (name, '-');
    const char *pid = s_pass (s_pass (dash ? dash + 1 : NULL, 8, "-"), 6, "-");
    const char *end = pid ? s_pass (pid, strspn (pid, "0123456789"), ".db") : NULL;
    bool look = strncmp (name, DB_LOOK "-", strlen (DB_LOOK "-")) == 0;
    return end && (look || strncmp (end, ".part", 5) == 0) ? strtol (pid, NULL, 10) : 0;
}

//  The same in HOME/run.

static long
s_owner_of_import (const char *name)
{
    bool ours = strncmp (name, IMPORT, strlen (IMPORT)) == 0;
    return ours ? strtol (name + strlen (IMPORT), NULL, 10) : 0;
}

//  Whether that process has ended, waited for or not: nobody may ever do so in a container.

static bool
s_is_over (long pid)
{
    char path[48], text[512] = "";
    if (kill ((pid_t) pid, 0) != 0 && errno == ESRCH)
        return true;
    snprintf (path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen (path, "re");
    size_t size = file ? fread (text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose (file);
    text[size] = 0;
    const char *name_end = strrchr (text, ')'); //  Behind it: the state
    return name_end && (strncmp (name_end, ") Z", 3) == 0 || strncmp (name_end, ") X", 3) == 0);
}

static void
s_sweep_folder (const char *home, const char *folder, long (*owner) (const char *name))
{
    char path[NAME_SIZE + NAME_MAX];
    snprintf (path, sizeof path, "%s/%s", home, folder);
    DIR *stream = opendir (path);
    const struct dirent *entry;
    while (stream && (entry = readdir (stream)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        long pid = owner (entry->d_name);
        if (pid > 0 && s_is_over (pid))
            unlinkat (dirfd (stream), entry->d_name, 0);
    }
    if (stream)
        closedir (stream);
}

void
argosd_scratch_sweep (const char *home, bool held)
{
    char path[NAME_SIZE];
    s_sweep_folder (home, DB_FOLDER, s_owner_of_copy);
    s_sweep_folder (home, "run", s_owner_of_import);
    for (size_t i = 0; held && i < SUFFIXES; i++) {
        int length = snprintf (path, sizeof path, "%s/" DB_FILE DB_FRESH "%s", home, suffixes[i]);
        if (length > 0 && (size_t) length < sizeof path)
            unlink (path);
    }
}
