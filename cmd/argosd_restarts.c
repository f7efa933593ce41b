//  argosd_restarts - see the header. Limit: LAST times are kept; a clock that is set back makes
//  them of the future, which count as none.

#include "argosd_restarts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LAST 3      //  So many …
#define WITHIN_S 60 //  … within this are a loop
#define FILE_NAME "run/restarts"

static void
s_path (const char *home, char path[static PATH_MAX])
{
    snprintf (path, PATH_MAX, "%.*s/" FILE_NAME, PATH_MAX - 32, home);
}

//  The times in the file, seconds since 1970; what is missing or no number is 0.

static void
s_read (const char *home, int64_t times[static LAST])
{
    char path[PATH_MAX];
    s_path (home, path);
    FILE *file = fopen (path, "re");
    for (int i = 0; i < LAST; i++) {
        long long value = 0;
        if (!file || fscanf (file, "%lld", &value) != 1) //  NOLINT(cert-err34-c)
            value = 0;
        times[i] = value;
    }
    if (file)
        fclose (file);
}

void
argosd_restarts_note (const char *home)
{
    char path[PATH_MAX], next[PATH_MAX + 8];
    int64_t times[LAST];
    s_read (home, times);
    s_path (home, path);
    snprintf (next, sizeof next, "%s.new", path);
    FILE *file = fopen (next, "we");
    if (!file)
        return;
    fprintf (file, "%lld", (long long) time (NULL));
    for (int i = 0; i < LAST - 1; i++)
        fprintf (file, " %lld", (long long) times[i]);
    fputc ('\n', file);
    if (fclose (file) != 0 || rename (next, path) != 0)
        unlink (next);
}

int64_t
argosd_restarts_loop (const char *home)
{
    int64_t times[LAST], now = time (NULL), first = now;
    s_read (home, times);
    for (int i = 0; i < LAST; i++) {
        if (times[i] > now || now - times[i] > WITHIN_S)
            return 0;
        first = times[i] < first ? times[i] : first;
    }
    return (first + WITHIN_S + 1) * 1000;
}
