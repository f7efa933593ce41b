//  fault_vfs - a VFS of SQLite around the default one that fails the n-th call of one kind, and can
//  forget what was not synced.
//
//  One thread. It is the default VFS once installed. Version 1 of the methods: no shared memory, so
//  that a database that wants some can't be opened.

#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include <stdbool.h>

typedef enum {
    FAULT_NONE,
    FAULT_OPEN,     //  Opening a file: it can't be opened
    FAULT_READ,     //  Reading: an I/O error
    FAULT_WRITE,    //  Writing: half of the bytes, then an I/O error
    FAULT_FULL,     //  Writing: half of the bytes, then no room
    FAULT_SYNC,     //  fsync
    FAULT_TRUNCATE, //  Changing the size
    FAULT_SIZE,     //  Asking for the size
    FAULT_LOCK,     //  Taking a lock: an I/O error
    FAULT_DELETE,   //  Removing a file
    FAULT_ACCESS,   //  Asking whether there is a file
    FAULT_KINDS     //  How many there are
} fault_t;

//  Idempotent.
void fault_install (void);

//  The next `before` calls of that kind go well, the one after them fails; all further ones too
//  when it is lasting. Counts from 0 again.
void fault_set (fault_t kind, int before, bool lasting);

//  How many calls have failed since fault_set.
int fault_count (void);

//  How many files have been synced.
int fault_syncs (void);

//  How often something has been written.
int fault_writes (void);

//  As long as this file is there, writes find no room; NULL = no such file. Borrowed.
void fault_ballast (const char *path);

//  The file system is read-only from now on, for files that are opened, and for removing.
void fault_read_only (bool is);

//  From now on files are watched: what is written and not synced can be lost. Call before the
//  database is opened.
void fault_watch (bool is);

//  The power fails: files that are open keep what was synced, and of the writes since then some,
//  some of them in part, picked by the seed. Nothing reaches the disk any more until
//  fault_power_on. The connections are to be closed in between.
void fault_power_off (unsigned seed);
void fault_power_on (void);

#endif
