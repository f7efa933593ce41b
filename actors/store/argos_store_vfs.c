//  argos_store_vfs - what a commit writes to the log is written in one piece.
//
//  SQLite writes each page of the log with two calls of its own, a commit of five with ten; the
//  kernel takes longer for them than for one of the same bytes, and so does the sync behind it.
//
//  Invariant: what was gathered is written before anything else is done with the file: a sync,
//  which each commit ends with, above all. When that fails, the call fails for which it was
//  written, and so does whatever builds on the lost bytes: SQLite takes them for written, and may
//  have undone but a statement. Whoever has undone all of them writes there again.
//  Only the log's files are wrapped; all others are those of the default VFS. A commit is not
//  delayed only because each one syncs (synchronous = FULL). Limits: ROOM bytes are gathered.

#include "argos_store_priv.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 65536 //  Some 15 pages: the commit of a turn and more

typedef struct {
    sqlite3_file base;    //  First, as SQLite wants it
    sqlite3_file *real;   //  The file itself
    unsigned char *bytes; //  Gathered; room for ROOM
    sqlite3_int64 at;     //  Where they belong
    int size;             //  So many
    int failed;           //  Why some could not be written, SQLITE_OK = all could
    sqlite3_int64 lost;   //  The first of these
} log_file_t;

static pthread_once_t s_once = PTHREAD_ONCE_INIT;
static sqlite3_vfs s_vfs;     //  Ours
static sqlite3_vfs *s_system; //  The default one

static log_file_t *
s_log (sqlite3_file *file)
{
    return (log_file_t *) file;
}

//  The file itself, once all that was gathered is written

static int
s_settle (sqlite3_file *file, sqlite3_file **ret_real)
{
    log_file_t *self = s_log (file);
    int size = self->size;
    *ret_real = self->real;
    self->size = 0;
    int rc =
        size ? self->real->pMethods->xWrite (self->real, self->bytes, size, self->at) : SQLITE_OK;
    if (rc && !self->failed) {
        self->failed = rc;
        self->lost = self->at;
    }
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  Methods of a file

static int
s_close (sqlite3_file *file)
{
    sqlite3_file *real;
    int written = s_settle (file, &real), closed = real->pMethods->xClose (real);
    free (s_log (file)->bytes);
    return written ? written : closed;
}

static int
s_read (sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    sqlite3_file *real;
    int rc = s_settle (file, &real);
    if (!rc && s_log (file)->failed && at + size > s_log (file)->lost)
        rc = s_log (file)->failed;
    return rc ? rc : real->pMethods->xRead (real, bytes, size, at);
}

static int
s_write (sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    log_file_t *self = s_log (file);
    sqlite3_file *real = self->real;
    bool follows = at == self->at + self->size && size <= ROOM - self->size;
    int rc = self->size && !follows ? s_settle (file, &real) : SQLITE_OK;
    if (!rc && self->failed && at <= self->lost)
        self->failed = SQLITE_OK;
    rc = rc ? rc : self->failed;
    if (rc || size > ROOM)
        return rc ? rc : real->pMethods->xWrite (real, bytes, size, at);
    if (self->size == 0)
        self->at = at;
    memcpy (self->bytes + self->size, bytes, (size_t) size);
    self->size += size;
    return SQLITE_OK;
}

static int
s_truncate (sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real;
    int rc = s_settle (file, &real);
    return rc ? rc : real->pMethods->xTruncate (real, size);
}

static int
s_sync (sqlite3_file *file, int flags)
{
    sqlite3_file *real;
    int rc = s_settle (file, &real);
    return rc ? rc : real->pMethods->xSync (real, flags);
}

static int
s_size (sqlite3_file *file, sqlite3_int64 *ret_size)
{
    sqlite3_file *real;
    int rc = s_settle (file, &real);
    return rc ? rc : real->pMethods->xFileSize (real, ret_size);
}

static int
s_lock (sqlite3_file *file, int level)
{
    return s_log (file)->real->pMethods->xLock (s_log (file)->real, level);
}

static int
s_unlock (sqlite3_file *file, int level)
{
    return s_log (file)->real->pMethods->xUnlock (s_log (file)->real, level);
}

static int
s_check_lock (sqlite3_file *file, int *ret_locked)
{
    return s_log (file)->real->pMethods->xCheckReservedLock (s_log (file)->real, ret_locked);
}

static int
s_control (sqlite3_file *file, int op, void *arg)
{
    sqlite3_file *real;
    int rc = s_settle (file, &real);
    return rc ? rc : real->pMethods->xFileControl (real, op, arg);
}

static int
s_sector (sqlite3_file *file)
{
    return s_log (file)->real->pMethods->xSectorSize (s_log (file)->real);
}

static int
s_device (sqlite3_file *file)
{
    return s_log (file)->real->pMethods->xDeviceCharacteristics (s_log (file)->real);
}

static const sqlite3_io_methods s_methods = { .iVersion = 1,
    .xClose = s_close,
    .xRead = s_read,
    .xWrite = s_write,
    .xTruncate = s_truncate,
    .xSync = s_sync,
    .xFileSize = s_size,
    .xLock = s_lock,
    .xUnlock = s_unlock,
    .xCheckReservedLock = s_check_lock,
    .xFileControl = s_control,
    .xSectorSize = s_sector,
    .xDeviceCharacteristics = s_device };

//  ------------------------------------------------------------------------------------------------
//  The VFS

static int
s_open (sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    log_file_t *self = s_log (file);
    (void) vfs;
    if (!(flags & SQLITE_OPEN_WAL))
        return s_system->xOpen (s_system, name, file, flags, ret_flags);
    *self = (log_file_t){ .real = (sqlite3_file *) (self + 1), .bytes = malloc (ROOM) };
    if (!self->bytes)
        return SQLITE_NOMEM;
    int rc = s_system->xOpen (s_system, name, self->real, flags, ret_flags);
    if (rc == SQLITE_OK)
        self->base.pMethods = &s_methods;
    else
        free (self->bytes);
    return rc;
}

//  All but open is that of the default one, whose fields it finds here.

static void
s_make (void)
{
    s_system = sqlite3_vfs_find (NULL);
    if (!s_system)
        return;
    s_vfs = *s_system;
    s_vfs.zName = "argos";
    s_vfs.szOsFile = (int) sizeof (log_file_t) + s_system->szOsFile;
    s_vfs.xOpen = s_open;
    if (sqlite3_vfs_register (&s_vfs, 0) != SQLITE_OK)
        s_system = NULL;
}

const char *
argos_store_vfs (void)
{
    pthread_once (&s_once, s_make);
    return s_system ? s_vfs.zName : NULL;
}
