//  argos_places - the folders in which a session works.
//
//  Limit: names of sessions are cut to 128 bytes, as argos_fetch_clean does it.

#include "argos_places.h"

#include "argos_fetch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

//  The folder of a session's files, "" = there is none.

void
argos_places_files (const argos_places_t *self, const char *session, char path[PATH_MAX])
{
    char name[129];
    *path = '\0';
    if (!self->files)
        return;
    argos_fetch_clean (session, false, sizeof name - 1, name);
    snprintf (path, PATH_MAX, "%.3800s/%s", self->files, name);
    mkdir (self->files, 0700);
    mkdir (path, 0700);
}

bool
argos_places_keep (const argos_places_t *self, const char *session, const char *id,
    const char *text, char path[PATH_MAX])
{
    char folder[PATH_MAX], name[129];
    argos_places_files (self, session, folder);
    argos_fetch_clean (id, false, sizeof name - 1, name);
    snprintf (path, PATH_MAX, "%.3900s/out-%s.txt", folder, name);
    FILE *out = *folder ? fopen (path, "wxe") : NULL;
    bool good = out && fwrite (text, 1, strlen (text), out) == strlen (text);
    return out && fclose (out) == 0 && good;
}

void
argos_places_shell (const argos_places_t *self, const char *session, char path[PATH_MAX])
{
    char name[129];
    *path = '\0';
    if (!self->state)
        return;
    argos_fetch_clean (session, false, sizeof name - 1, name);
    snprintf (path, PATH_MAX, "%.3800s/shells", self->state);
    mkdir (path, 0700);
    snprintf (path, PATH_MAX, "%.3800s/shells/%s", self->state, name);
}

//  Where the shell of the session is. Returns whether that is known, and there.

static bool
s_shell_place (const argos_places_t *self, const char *session, char path[PATH_MAX])
{
    char file[PATH_MAX + 8];
    argos_places_shell (self, session, file);
    if (!*file)
        return false;
    stpcpy (file + strlen (file), ".pwd");
    FILE *in = fopen (file, "re");
    bool good = in && fgets (path, PATH_MAX, in) && *path == '/';
    if (in)
        fclose (in);
    if (good)
        path[strcspn (path, "\n")] = '\0';
    return good && access (path, X_OK) == 0;
}

const char *
argos_places_work (
    const argos_places_t *self, const char *session, const char *usual, char path[PATH_MAX])
{
    char name[129];
    if (s_shell_place (self, session, path))
        return path;
    if (!self->root)
        return usual && *usual ? usual : self->home;
    argos_fetch_clean (session, false, sizeof name - 1, name);
    snprintf (path, PATH_MAX, "%.3800s/%s", self->root, name);
    mkdir (self->root, 0700);
    mkdir (path, 0700);
    return path;
}

void
argos_places_forget (const argos_places_t *self, const char *session)
{
    char file[PATH_MAX + 8];
    argos_places_shell (self, session, file);
    if (*file && unlink (file) == 0) {
        stpcpy (file + strlen (file), ".pwd");
        unlink (file);
    }
}
