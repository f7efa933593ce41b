//  argos_store_space - where the database lies and room there: the kind of file system, the ballast
//  file, the free space, the size of the log, free pages.
//
//  Invariant: admissions end before the disk is full, so that accepted work can be finished; when
//  even that can't be stored, the ballast is given up once. No function here fails: a ballast that
//  can't be made is only missed. The file of the database itself is never opened here: a close
//  would drop the lock that SQLite has on it.

#include "argos_store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BALLAST_SIZE (16 * ARGOS_STORE_MIB) //  Bytes
#define CHECK_MS 1000                       //  Between two looks at the free space
#define VACUUM_PAGES 64                     //  Of a slice
#define VACUUM_SHARE 4                      //  Part of the file that may lie free

//  Whether the database may lie there. Over NFS and SMB a lock and a sync are promises of a machine
//  that can forget them. 9p, virtiofs and FUSE have no memory that processes share, but a database
//  that is locked by one needs none.

bool
argos_store_place_check (const char *path, char reason[static 256])
{
    static const struct {
        unsigned magic;   //  Of statfs
        const char *name; //  As people call it
    } remote[] = { { 0x6969, "NFS" }, { 0x517b, "SMB" }, { 0xff534d42, "CIFS" },
        { 0xfe534d42, "SMB" }, { 0x5346414f, "AFS" } };
    char folder[4096];
    struct statfs info;
    const char *slash = strrchr (path, '/');
    snprintf (
        folder, sizeof folder, "%.*s", slash ? (int) (slash - path) + 1 : 1, slash ? path : ".");
    if (statfs (folder, &info) != 0)
        return true; //  Opening says why
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if ((unsigned) info.f_type == remote[i].magic) {
            snprintf (reason, 256,
                "%.150s lies on %s, whose locks and syncs can't be trusted: use a local disk", path,
                remote[i].name);
            return false;
        }
    return true;
}

//  Free bytes where the database is, or -1.

static int64_t
s_free_bytes (const argos_store_t *self)
{
    struct statvfs info;
    if (statvfs (self->path, &info) != 0)
        return -1;
    return (int64_t) info.f_bavail * (int64_t) info.f_frsize;
}

//  Makes the ballast unless it is there or there is too little room for it.

void
argos_store_ballast_make (argos_store_t *self)
{
    if (!self->ballast || self->ballast_held ||
        s_free_bytes (self) < self->space_min + BALLAST_SIZE)
        return;
    int fd = open (self->ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    struct stat info;
    if (fstat (fd, &info) == 0 && info.st_blocks * 512 >= BALLAST_SIZE)
        self->ballast_held = true;
    else
        self->ballast_held = posix_fallocate (fd, 0, BALLAST_SIZE) == 0;
    close (fd);
    if (!self->ballast_held)
        unlink (self->ballast);
}

//  Gives the ballast up. Returns whether that made room.

bool
argos_store_ballast_drop (argos_store_t *self)
{
    if (!self->ballast_held)
        return false;
    self->ballast_held = false;
    return unlink (self->ballast) == 0;
}

void
argos_store_space_check (argos_store_t *self)
{
    int64_t since = self->now - self->space_checked;
    if (!self->path || (since >= 0 && since < CHECK_MS && self->space_checked))
        return;
    self->space_checked = self->now;
    int64_t bytes = s_free_bytes (self);
    self->space_low = bytes >= 0 && bytes < self->space_min;
}

//  Copies the log into the database, as far as it goes without waiting.

int
argos_store_checkpoint (argos_store_t *self)
{
    int rc = sqlite3_wal_checkpoint_v2 (self->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (rc != SQLITE_OK)
        self->failed = sqlite3_extended_errcode (self->db);
    self->wal_pages = 0;
    return rc == SQLITE_OK ? 0 : -1;
}

//  Gives free pages back to the file system, a slice of them, when they are a good part of the
//  file. Returns whether there is more.

bool
argos_store_vacuum (argos_store_t *self)
{
    int64_t unused = argos_store_number (self, 0, ARGOS_SQL_FREE_PAGES, "");
    int64_t all = argos_store_number (self, 0, ARGOS_SQL_ALL_PAGES, "");
    if (self->failed || unused < VACUUM_PAGES || unused < all / VACUUM_SHARE)
        return false;
    argos_store_exec (self, "PRAGMA incremental_vacuum (64)");
    //  A file that was made otherwise keeps its pages
    return !self->failed && argos_store_number (self, 0, ARGOS_SQL_FREE_PAGES, "") < unused;
}
