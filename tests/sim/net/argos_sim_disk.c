//  argos_sim_disk - a disk in memory for SQLite that can lose its power.
//
//  Invariants: `safe` with all of `writes` in order is `now`; a sync makes the two the same. That a
//  file was made or removed is on the disk at once. Limits: a write is torn at sectors of 512
//  bytes, not within one.

#include "argos_sim_disk.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define SECTOR 512       //  Bytes that are written whole or not at all
#define NAME_SIZE 300    //  Bytes of a name
#define SPARES 32        //  Blocks of memory that are kept
#define DEVICE_PAGE 4096 //  Told to SQLite, as the default VFS does

typedef struct {
    unsigned char *bytes; //  Content
    size_t size, room;    //  Bytes of it, room for
} image_t;

//  Since the last sync

typedef struct write {
    size_t offset, size;       //  Where, how much; of a truncation: the new size, 0
    unsigned char *bytes;      //  What; NULL = a truncation
    struct write *prev, *next; //  In order
} write_t;

typedef struct content {
    char name[NAME_SIZE];        //  Name
    image_t now, safe;           //  As seen, as on the disk for sure
    write_t *writes;             //  Between the two
    struct content *prev, *next; //  In a list
} content_t;

//  An open file, as SQLite wants it: its own part first

typedef struct {
    sqlite3_file base;  //  Methods
    content_t *content; //  The file
} handle_t;

static sqlite3_vfs s_vfs;                  //  The disk
static content_t *s_files;                 //  On it
static content_t *s_picture;               //  As a crash leaves them
static content_t *s_kept;                  //  As a new disk has them
static image_t s_spares[SPARES];           //  Memory only
static bool s_taken;                       //  There is a picture
static int s_after = -1;                   //  Writes and syncs before it is taken, -1 = never
static argos_sim_disk_random_fn *s_random; //  How
static void *s_random_arg;                 //  Its first argument
static bool s_full;                        //  Files can't grow

//  ------------------------------------------------------------------------------------------------
//  Images

//  Memory of images that are gone is used again: the sanitizers make large blocks expensive.

static void
s_release (image_t *image)
{
    for (size_t i = 0; i < SPARES && image->bytes; i++)
        if (!s_spares[i].bytes) {
            s_spares[i] = *image;
            return;
        }
    free (image->bytes);
}

static void
s_reserve (image_t *image, size_t size)
{
    for (size_t i = 0; i < SPARES && !image->bytes; i++)
        if (s_spares[i].room >= size) {
            *image = (image_t){ .bytes = s_spares[i].bytes, .room = s_spares[i].room };
            s_spares[i] = (image_t){ NULL, 0, 0 };
        }
    if (size <= image->room)
        return;
    image->room = size > 2 * image->room ? size : 2 * image->room;
    image->bytes = realloc (image->bytes, image->room);
    assert (image->bytes);
}

//  What is new is zero.

static void
s_resize (image_t *image, size_t size)
{
    s_reserve (image, size);
    if (size > image->size)
        memset (image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

static void
s_put (image_t *image, size_t offset, const void *bytes, size_t size)
{
    if (offset > image->size)
        s_resize (image, offset);
    s_reserve (image, offset + size);
    if (size)
        memcpy (image->bytes + offset, bytes, size);
    if (offset + size > image->size)
        image->size = offset + size;
}

static void
s_apply (image_t *image, const write_t *write)
{
    if (write->bytes)
        s_put (image, write->offset, write->bytes, write->size);
    else
        s_resize (image, write->offset);
}

static void
s_note (content_t *content, size_t offset, const void *bytes, size_t size)
{
    write_t *write = calloc (1, sizeof *write);
    assert (write);
    write->offset = offset;
    write->size = size;
    if (bytes) {
        write->bytes = malloc (size ? size : 1);
        assert (write->bytes);
        memcpy (write->bytes, bytes, size);
    }
    DL_APPEND (content->writes, write);
    s_apply (&content->now, write);
}

static void
s_settle (content_t *content, bool apply)
{
    write_t *write, *next;
    DL_FOREACH_SAFE (content->writes, write, next) {
        if (apply)
            s_apply (&content->safe, write);
        DL_DELETE (content->writes, write);
        free (write->bytes);
        free (write);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Lists of files

static content_t *
s_find (content_t *files, const char *name)
{
    content_t *content;
    DL_FOREACH (files, content)
        if (strcmp (content->name, name) == 0)
            return content;
    return NULL;
}

static content_t *
s_make (content_t **files, const char *name)
{
    content_t *content = calloc (1, sizeof *content);
    assert (content && strlen (name) < sizeof content->name);
    memcpy (content->name, name, strlen (name) + 1);
    DL_APPEND (*files, content);
    return content;
}

static void
s_drop (content_t **files, content_t *content)
{
    DL_DELETE (*files, content);
    s_settle (content, false);
    s_release (&content->now);
    s_release (&content->safe);
    free (content);
}

static void
s_drop_all (content_t **files)
{
    while (*files)
        s_drop (files, *files);
}

//  ------------------------------------------------------------------------------------------------
//  Crashes

//  What is left of a write: all, nothing, or its first sectors.

static void
s_survive (image_t *image, const write_t *write, argos_sim_disk_random_fn *random, void *arg)
{
    int fate = random (arg, 3);
    if (fate == 0)
        return;
    if (fate == 1 || !write->bytes) {
        s_apply (image, write);
        return;
    }
    size_t sectors = (size_t) random (arg, (int) (write->size / SECTOR) + 1);
    s_put (image, write->offset, write->bytes, sectors * SECTOR);
}

static void
s_take_picture (argos_sim_disk_random_fn *random, void *arg)
{
    const content_t *content;
    const write_t *write;
    s_drop_all (&s_picture);
    s_taken = true;
    s_after = -1;
    DL_FOREACH (s_files, content) {
        const image_t *from = random ? &content->safe : &content->now;
        content_t *copy = s_make (&s_picture, content->name);
        s_put (&copy->now, 0, from->bytes, from->size);
        if (random)
            DL_FOREACH (content->writes, write)
                s_survive (&copy->now, write, random, arg);
        s_put (&copy->safe, 0, copy->now.bytes, copy->now.size);
    }
}

static void
s_count (void)
{
    if (s_after >= 0 && s_after-- == 0)
        s_take_picture (s_random, s_random_arg);
}

void
argos_sim_disk_arm (int after, argos_sim_disk_random_fn *random, void *arg)
{
    s_taken = false;
    s_after = after;
    s_random = random;
    s_random_arg = arg;
}

void
argos_sim_disk_picture (argos_sim_disk_random_fn *random, void *arg)
{
    if (!s_taken)
        s_take_picture (random, arg);
}

void
argos_sim_disk_restore (void)
{
    assert (s_taken);
    s_drop_all (&s_files);
    s_files = s_picture;
    s_picture = NULL;
    s_taken = false;
}

void
argos_sim_disk_clear (void)
{
    s_drop_all (&s_files);
    s_drop_all (&s_picture);
    s_taken = s_full = false;
    s_after = -1;
}

//  All of it is on the disk for sure.

static void
s_copy (content_t **to, const content_t *from)
{
    const content_t *content;
    s_drop_all (to);
    DL_FOREACH (from, content) {
        content_t *copy = s_make (to, content->name);
        s_put (&copy->now, 0, content->now.bytes, content->now.size);
        s_put (&copy->safe, 0, content->now.bytes, content->now.size);
    }
}

void
argos_sim_disk_keep (void)
{
    s_copy (&s_kept, s_files);
}

bool
argos_sim_disk_fresh (void)
{
    argos_sim_disk_clear ();
    s_copy (&s_files, s_kept);
    return s_kept != NULL;
}

void
argos_sim_disk_full (bool full)
{
    s_full = full;
}

//  ------------------------------------------------------------------------------------------------
//  As SQLite calls it

static content_t *
s_content (sqlite3_file *file)
{
    return ((handle_t *) file)->content;
}

static int
s_close (sqlite3_file *file)
{
    (void) file;
    return SQLITE_OK;
}

static int
s_read (sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    const image_t *image = &s_content (file)->now;
    size_t begin = (size_t) offset, wanted = (size_t) count;
    size_t there = begin < image->size ? image->size - begin : 0;
    if (there > wanted)
        there = wanted;
    if (there)
        memcpy (bytes, image->bytes + begin, there);
    memset ((char *) bytes + there, 0, wanted - there);
    return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int
s_write (sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    content_t *content = s_content (file);
    if (s_full && (size_t) offset + (size_t) count > content->now.size)
        return SQLITE_FULL;
    s_count ();
    s_note (content, (size_t) offset, bytes, (size_t) count);
    return SQLITE_OK;
}

static int
s_truncate (sqlite3_file *file, sqlite3_int64 size)
{
    s_count ();
    s_note (s_content (file), (size_t) size, NULL, 0);
    return SQLITE_OK;
}

static int
s_sync (sqlite3_file *file, int flags)
{
    (void) flags;
    s_count ();
    s_settle (s_content (file), true);
    return SQLITE_OK;
}

static int
s_size (sqlite3_file *file, sqlite3_int64 *size)
{
    *size = (sqlite3_int64) s_content (file)->now.size;
    return SQLITE_OK;
}

static int
s_lock (sqlite3_file *file, int level)
{
    (void) file;
    (void) level;
    return SQLITE_OK;
}

static int
s_check_lock (sqlite3_file *file, int *ret_locked)
{
    (void) file;
    *ret_locked = 0;
    return SQLITE_OK;
}

static int
s_control (sqlite3_file *file, int op, void *arg)
{
    (void) file;
    (void) op;
    (void) arg;
    return SQLITE_NOTFOUND;
}

static int
s_sector (sqlite3_file *file)
{
    (void) file;
    return DEVICE_PAGE;
}

static int
s_device (sqlite3_file *file)
{
    (void) file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

//  Version 1: no shared memory, which exclusive locking does not need

static const sqlite3_io_methods s_methods = { .iVersion = 1,
    .xClose = s_close,
    .xRead = s_read,
    .xWrite = s_write,
    .xTruncate = s_truncate,
    .xSync = s_sync,
    .xFileSize = s_size,
    .xLock = s_lock,
    .xUnlock = s_lock,
    .xCheckReservedLock = s_check_lock,
    .xFileControl = s_control,
    .xSectorSize = s_sector,
    .xDeviceCharacteristics = s_device };

static int
s_open (sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    handle_t *handle = (handle_t *) file;
    (void) vfs;
    assert (name); //  Temporary files are in SQLite's own memory
    handle->base.pMethods = &s_methods;
    handle->content = s_find (s_files, name);
    if (!handle->content)
        handle->content = s_make (&s_files, name);
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int
s_delete (sqlite3_vfs *vfs, const char *name, int sync)
{
    content_t *content = s_find (s_files, name);
    (void) vfs;
    (void) sync;
    if (!content)
        return SQLITE_IOERR_DELETE_NOENT;
    s_drop (&s_files, content);
    return SQLITE_OK;
}

static int
s_access (sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
    (void) vfs;
    (void) flags;
    *ret_there = s_find (s_files, name) != NULL;
    return SQLITE_OK;
}

static int
s_full_name (sqlite3_vfs *vfs, const char *name, int size, char *target)
{
    (void) vfs;
    sqlite3_snprintf (size, target, "%s", name);
    return SQLITE_OK;
}

void
argos_sim_disk_init (void)
{
    if (s_vfs.zName)
        return;
    s_vfs = *sqlite3_vfs_find (NULL);
    s_vfs.pNext = NULL;
    s_vfs.zName = "simdisk";
    s_vfs.szOsFile = (int) sizeof (handle_t);
    s_vfs.xOpen = s_open;
    s_vfs.xDelete = s_delete;
    s_vfs.xAccess = s_access;
    s_vfs.xFullPathname = s_full_name;
    int rc = sqlite3_vfs_register (&s_vfs, 0);
    assert (rc == SQLITE_OK);
}
