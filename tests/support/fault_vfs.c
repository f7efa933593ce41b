//  fault_vfs - the shim: each file holds the real one behind it.
//
//  Invariant: with no fault set everything goes through as it is. A watched file has a copy of what
//  was there at its last sync, and the writes since; a sync of one file says nothing of the others.

#include "fault_vfs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 16 //  Watched at the same time

//  A change since the last sync

typedef struct change {
    struct change *next;   //  Later one
    sqlite3_int64 at;      //  Where
    int size;              //  Bytes; -1 = cut to `at`
    unsigned char bytes[]; //  Written
} change_t;

//  What is known of a watched file

typedef struct {
    char *path;             //  NULL = free
    unsigned char *bytes;   //  At the last sync
    sqlite3_int64 size;     //  So many
    change_t *first, *last; //  Since then
} watch_t;

typedef struct {
    sqlite3_file base;  //  First, as SQLite wants it
    sqlite3_file *real; //  The file itself
    watch_t *watch;     //  NULL = none
} shim_file_t;

static sqlite3_vfs s_vfs;     //  The shim
static sqlite3_vfs *s_real;   //  The default one
static fault_t s_kind;        //  What fails
static int s_countdown;       //  How many go well before
static bool s_lasting;        //  All further ones fail too
static int s_failed;          //  How many have failed
static int s_syncs;           //  See fault_syncs
static int s_writes;          //  See fault_writes
static const char *s_ballast; //  See fault_ballast
static bool s_read_only;      //  See fault_read_only
static bool s_watching;       //  See fault_watch
static bool s_dark;           //  The power is off
static watch_t s_watches[FILES_MAX];

static bool
s_now (fault_t kind)
{
    if (s_kind != kind)
        return false;
    if (s_countdown-- > 0 || (s_countdown < -1 && !s_lasting))
        return false;
    s_failed++;
    return true;
}

static shim_file_t *
s_shim (sqlite3_file *file)
{
    return (shim_file_t *) file;
}

static sqlite3_file *
s_file (sqlite3_file *file)
{
    return s_shim (file)->real;
}

//  ------------------------------------------------------------------------------------------------
//  Watching

static void
s_forget_changes (watch_t *watch)
{
    while (watch->first) {
        change_t *next = watch->first->next;
        free (watch->first);
        watch->first = next;
    }
    watch->last = NULL;
}

static void
s_note (watch_t *watch, const void *bytes, int size, sqlite3_int64 at)
{
    if (!watch)
        return;
    change_t *change = malloc (sizeof *change + (size > 0 ? (size_t) size : 0));
    assert (change);
    change->next = NULL;
    change->at = at;
    change->size = size;
    if (size > 0)
        memcpy (change->bytes, bytes, (size_t) size);
    if (watch->last)
        watch->last->next = change;
    else
        watch->first = change;
    watch->last = change;
}

static void
s_apply (watch_t *watch, sqlite3_int64 at, const void *bytes, sqlite3_int64 size)
{
    if (at + size > watch->size) {
        watch->bytes = realloc (watch->bytes, (size_t) (at + size) + 1);
        assert (watch->bytes);
        memset (watch->bytes + watch->size, 0, (size_t) (at + size - watch->size));
        watch->size = at + size;
    }
    memcpy (watch->bytes + at, bytes, (size_t) size);
}

//  All that was written is on the disk.

static void
s_settle (watch_t *watch)
{
    for (change_t *change = watch->first; change; change = change->next) {
        if (change->size < 0)
            watch->size = change->at < watch->size ? change->at : watch->size;
        else
            s_apply (watch, change->at, change->bytes, change->size);
    }
    s_forget_changes (watch);
}

static watch_t *
s_watch_of (const char *path)
{
    watch_t *room = NULL;
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (s_watches[i].path && strcmp (s_watches[i].path, path) == 0)
            return &s_watches[i];
        if (!s_watches[i].path && !room)
            room = &s_watches[i];
    }
    assert (room);
    room->path = strdup (path);
    assert (room->path);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    unsigned char bytes[4096];
    ssize_t got;
    while (fd >= 0 && (got = read (fd, bytes, sizeof bytes)) > 0)
        s_apply (room, room->size, bytes, got);
    if (fd >= 0)
        close (fd);
    return room;
}

static void
s_release (watch_t *watch)
{
    s_forget_changes (watch);
    free (watch->path);
    free (watch->bytes);
    *watch = (watch_t){ .path = NULL };
}

static void
s_put (const watch_t *watch)
{
    int fd = open (watch->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert (fd >= 0);
    for (sqlite3_int64 at = 0; at < watch->size;) {
        ssize_t put = write (fd, watch->bytes + at, (size_t) (watch->size - at));
        assert (put > 0);
        at += put;
    }
    close (fd);
}

//  ------------------------------------------------------------------------------------------------
//  Methods of a file

static int
s_close (sqlite3_file *file)
{
    return s_file (file)->pMethods->xClose (s_file (file));
}

static int
s_read (sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    if (s_now (FAULT_READ))
        return SQLITE_IOERR_READ;
    return s_file (file)->pMethods->xRead (s_file (file), bytes, count, offset);
}

static int
s_write (sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    if (s_dark)
        return SQLITE_IOERR_WRITE;
    if (s_ballast && access (s_ballast, F_OK) == 0)
        return SQLITE_FULL;
    s_writes++;
    bool full = s_now (FAULT_FULL), fails = full || s_now (FAULT_WRITE);
    if (fails)
        count /= 2;
    s_note (s_shim (file)->watch, bytes, count, offset);
    int rc = s_file (file)->pMethods->xWrite (s_file (file), bytes, count, offset);
    return full ? SQLITE_FULL : fails ? SQLITE_IOERR_WRITE : rc;
}

static int
s_truncate (sqlite3_file *file, sqlite3_int64 size)
{
    if (s_dark || s_now (FAULT_TRUNCATE))
        return SQLITE_IOERR_TRUNCATE;
    s_note (s_shim (file)->watch, NULL, -1, size);
    return s_file (file)->pMethods->xTruncate (s_file (file), size);
}

static int
s_sync (sqlite3_file *file, int flags)
{
    if (s_dark || s_now (FAULT_SYNC))
        return SQLITE_IOERR_FSYNC;
    s_syncs++;
    if (s_shim (file)->watch)
        s_settle (s_shim (file)->watch);
    (void) flags; //  No test pulls the plug of this machine: what the disk does is told here
    return SQLITE_OK;
}

static int
s_size (sqlite3_file *file, sqlite3_int64 *size)
{
    if (s_now (FAULT_SIZE))
        return SQLITE_IOERR_FSTAT;
    return s_file (file)->pMethods->xFileSize (s_file (file), size);
}

static int
s_lock (sqlite3_file *file, int level)
{
    if (s_now (FAULT_LOCK))
        return SQLITE_IOERR_LOCK;
    return s_file (file)->pMethods->xLock (s_file (file), level);
}

static int
s_unlock (sqlite3_file *file, int level)
{
    return s_file (file)->pMethods->xUnlock (s_file (file), level);
}

static int
s_check_lock (sqlite3_file *file, int *ret_locked)
{
    return s_file (file)->pMethods->xCheckReservedLock (s_file (file), ret_locked);
}

static int
s_control (sqlite3_file *file, int op, void *arg)
{
    return s_file (file)->pMethods->xFileControl (s_file (file), op, arg);
}

static int
s_sector (sqlite3_file *file)
{
    return s_file (file)->pMethods->xSectorSize (s_file (file));
}

static int
s_device (sqlite3_file *file)
{
    return s_file (file)->pMethods->xDeviceCharacteristics (s_file (file));
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
//  Methods of the VFS

static int
s_open (sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    shim_file_t *shim = s_shim (file);
    (void) vfs;
    shim->base.pMethods = NULL;
    shim->real = (sqlite3_file *) (shim + 1);
    shim->watch = NULL;
    if (s_dark || s_now (FAULT_OPEN))
        return SQLITE_CANTOPEN;
    //  What the default one does when the system says EROFS
    if (s_read_only && flags & SQLITE_OPEN_READWRITE) {
        flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
        flags |= SQLITE_OPEN_READONLY;
    }
    int rc = s_real->xOpen (s_real, name, shim->real, flags, ret_flags);
    if (rc == SQLITE_OK && ret_flags && s_read_only)
        *ret_flags = flags;
    if (rc == SQLITE_OK) {
        shim->base.pMethods = &s_methods;
        if (s_watching && name)
            shim->watch = s_watch_of (name);
    }
    return rc;
}

static int
s_delete (sqlite3_vfs *vfs, const char *name, int sync)
{
    (void) vfs;
    if (s_dark || s_read_only || s_now (FAULT_DELETE))
        return SQLITE_IOERR_DELETE;
    for (size_t i = 0; i < FILES_MAX; i++)
        if (s_watches[i].path && strcmp (s_watches[i].path, name) == 0)
            s_release (&s_watches[i]);
    return s_real->xDelete (s_real, name, sync);
}

static int
s_access (sqlite3_vfs *vfs, const char *name, int flags, int *ret_is)
{
    (void) vfs;
    if (s_now (FAULT_ACCESS))
        return SQLITE_IOERR_ACCESS;
    return s_real->xAccess (s_real, name, flags, ret_is);
}

void
fault_install (void)
{
    if (s_real)
        return;
    s_real = sqlite3_vfs_find (NULL);
    s_vfs = *s_real;
    s_vfs.zName = "fault";
    s_vfs.szOsFile = (int) sizeof (shim_file_t) + s_real->szOsFile;
    s_vfs.xOpen = s_open;
    s_vfs.xDelete = s_delete;
    s_vfs.xAccess = s_access;
    int rc = sqlite3_vfs_register (&s_vfs, 1);
    assert (rc == SQLITE_OK);
}

void
fault_set (fault_t kind, int before, bool lasting)
{
    s_kind = kind;
    s_countdown = before;
    s_lasting = lasting;
    s_failed = 0;
}

int
fault_count (void)
{
    return s_failed;
}

int
fault_syncs (void)
{
    return s_syncs;
}

int
fault_writes (void)
{
    return s_writes;
}

void
fault_ballast (const char *path)
{
    s_ballast = path;
}

void
fault_read_only (bool is)
{
    s_read_only = is;
}

void
fault_watch (bool is)
{
    s_watching = is;
    for (size_t i = 0; !is && i < FILES_MAX; i++)
        if (s_watches[i].path)
            s_release (&s_watches[i]);
}

//  A change that was not synced: gone, there, or there up to a sector.

static void
s_perhaps (watch_t *watch, const change_t *change, unsigned *seed)
{
    int chance = rand_r (seed) % 4;
    if (chance == 0)
        return;
    if (change->size < 0) {
        watch->size = change->at < watch->size ? change->at : watch->size;
        return;
    }
    int size = change->size;
    if (chance == 1 && size > 512)
        size = 512 * (rand_r (seed) % (size / 512));
    s_apply (watch, change->at, change->bytes, size);
}

void
fault_power_off (unsigned seed)
{
    s_dark = true;
    for (size_t i = 0; i < FILES_MAX; i++) {
        watch_t *watch = &s_watches[i];
        for (change_t *change = watch->first; change; change = change->next)
            s_perhaps (watch, change, &seed);
        s_forget_changes (watch);
    }
}

void
fault_power_on (void)
{
    s_dark = false;
    for (size_t i = 0; i < FILES_MAX; i++)
        if (s_watches[i].path) {
            s_put (&s_watches[i]);
            s_release (&s_watches[i]);
        }
}
