//  argos_store_scratch - a copy of a database file that is not ours, with its log, to work on.
//
//  SQLite writes to a file that it opens with its log, and beside it; without its log a file lacks
//  what was committed last, or has what never was (a -journal).

#ifndef ARGOS_STORE_SCRATCH_H
#define ARGOS_STORE_SCRATCH_H

#include <stdbool.h>

#define ARGOS_STORE_SCRATCH_REASON 512 //  Bytes of a reason

//  Whether another process has it open; then with a sentence in reason. One that only could have,
//  in rollback mode without a transaction, can't be seen. This process may not have it open.
bool argos_store_scratch_in_use (const char *path, char *reason);

//  Whether there is something in a log beside it.
bool argos_store_scratch_needed (const char *path);

//  Copies the bytes of a file that nobody has open, and of its logs, to the new file scratch;
//  rescue: what the disk can't read becomes zeros. Returns 0; or -1 with a sentence in reason, then
//  scratch is gone.
int argos_store_scratch_make (const char *path, const char *scratch, bool rescue, char *reason);

//  Removes a file with all that SQLite puts beside it.
void argos_store_scratch_remove (const char *scratch);

#endif
