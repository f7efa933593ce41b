//  argos_places - the folders in which a session works: where its files are, where its commands
//  begin, where what is too long for a result goes.

#ifndef ARGOS_PLACES_H
#define ARGOS_PLACES_H

#include <limits.h>
#include <stdbool.h>

typedef struct {
    char *home;  //  Home directory of the user
    char *state; //  Folder of Argos; NULL = unknown
    char *files; //  Folder for files of sessions; NULL = none
    char *root;  //  Each session has a folder in it; NULL = none has one
} argos_places_t;

//  Where the session works: where its shell is now; else its own folder below the root (made); else
//  usual; else the home directory. May use path.
const char *argos_places_work (
    const argos_places_t *self, const char *session, const char *usual, char path[PATH_MAX]);

//  The file where the shell of a session keeps its state; "" = nowhere. Its folder is made.
void argos_places_shell (const argos_places_t *self, const char *session, char path[PATH_MAX]);

//  The session is over: that file goes.
void argos_places_forget (const argos_places_t *self, const char *session);

//  The folder of a session's files (made); "" = there is none.
void argos_places_files (const argos_places_t *self, const char *session, char path[PATH_MAX]);

//  Writes what is too long to be told into that folder. Returns whether that was done; then path
//  names it.
bool argos_places_keep (const argos_places_t *self, const char *session, const char *id,
    const char *text, char path[PATH_MAX]);

#endif
