//  argos_sim_disk - a disk in memory for SQLite that can lose its power.
//
//  Each file is there twice: as the process sees it, and as it is on the disk for sure, with the
//  writes since the last sync in between. A picture is what a crash leaves: all writes when only
//  the process dies; each of those writes whole, in part or not at all when the power goes. One
//  disk for the whole process, one thread.

#ifndef ARGOS_SIM_DISK_H
#define ARGOS_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

//  Chance: a number below limit.

typedef int (argos_sim_disk_random_fn) (void *arg, int limit);

//  Makes the disk known to SQLite under the name "simdisk"; more than once is as well.
void argos_sim_disk_init (void);

//  Removes all files and forgets the picture.
void argos_sim_disk_clear (void);

//  Takes the picture just before the write or sync after the next `after` ones. With random the
//  power goes, without (NULL) only the process.
void argos_sim_disk_arm (int after, argos_sim_disk_random_fn *random, void *arg);

//  Takes the picture now unless it was taken since it was armed, and ends the waiting for it.
void argos_sim_disk_picture (argos_sim_disk_random_fn *random, void *arg);

//  All files are as in the picture; none may be open.
void argos_sim_disk_restore (void);

//  Remember all files, none of them open, for later; fresh: what is on the disk is what was
//  remembered. Returns false when nothing was.
void argos_sim_disk_keep (void);
bool argos_sim_disk_fresh (void);

//  From now on files can't grow, or (false) can again.
void argos_sim_disk_full (bool full);

#endif
