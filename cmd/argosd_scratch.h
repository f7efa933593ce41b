//  argosd_scratch - files that a command needs while it runs, and nobody afterwards: copies of the
//  database, and what is not whole yet.

#ifndef ARGOSD_SCRATCH_H
#define ARGOSD_SCRATCH_H

#include <stdbool.h>

//  From now on SIGINT, SIGTERM and SIGHUP take that file, and what SQLite puts beside it, with
//  them. Called before it is made.
void argosd_scratch_add (const char *path);

//  Removes them now; or leaves them: the file has become what it was made for. "" is nothing.
void argosd_scratch_drop (const char *path);
void argosd_scratch_keep (const char *path);

//  The end of the argos that has started us is ours too.
void argosd_scratch_follow (void);

//  Removes what was left in a home by processes that were killed: the names have their pid; held:
//  also what is made under the lock of the home alone, which the caller has.
void argosd_scratch_sweep (const char *home, bool held);

#endif
