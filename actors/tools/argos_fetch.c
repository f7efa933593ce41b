//  argos_fetch - brings one file of the store into a local folder.
//
//  Invariant: exactly one read is outstanding from the beginning to the end, so that its answer is
//  where a fetch is freed. A file that is not complete has another name, and is removed. Limits:
//  pieces of 256 KiB, one at a time; 64 MiB of the disk stay free; 4 KiB of a text are shown.

#include "argos_fetch.h"

#include "argos_base64.h"
#include "argos_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PIECE_MAX 262144      //  Bytes of a piece
#define HEAD_MAX 4096         //  Bytes of a text that are shown
#define NAME_MAX_BYTES 100    //  Of the name of a file
#define SESSION_MAX 64        //  Bytes of the name of a session's folder
#define FREE_LEAST 67108864LL //  Bytes of the disk that stay free
#define READ_TTL_MS 10000     //  Patience with the store
#define BLOB_MAX 72           //  sha256: and 64 hex digits, terminated

struct argos_fetch {
    argos_peer_t *peer;            //  Asks the store
    argos_fetch_fn *fn;            //  Told at the end, NULL = abandoned
    void *arg;                     //  Its first argument
    char blob[BLOB_MAX];           //  What is fetched
    char *folder;                  //  Of the session, ours
    char name[NAME_MAX_BYTES + 1]; //  Asked for, "" = as its sender has called it
    char media_type[129];          //  "" = not known
    char path[PATH_MAX];           //  What it becomes, once its name is known
    char part[PATH_MAX];           //  What it is until then
    int fd;                        //  Of that, -1 = none
    int64_t size, have;            //  Bytes of the whole, and of what has been written
    crypto_hash_sha256_state hash; //  Of these
    unsigned char head[HEAD_MAX];  //  The first of them
    size_t head_size;              //  How many
};

static void s_on_stat (void *arg, const argos_peer_answer_t *answer);
static void s_on_piece (void *arg, const argos_peer_answer_t *answer);

bool
argos_fetch_clean (const char *text, bool spaced, size_t max, char *target)
{
    size_t size = strnlen (text, max);
    while (text[size] && size && ((unsigned char) text[size] & 0xC0) == 0x80)
        size--; //  Never half a character
    bool same = !text[size] && size;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char) text[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z' && c < 0x80;
        bool good = letter || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                    (c == '.' && i > 0) || (spaced && (c == ' ' || c >= 0x80));
        same = same && good;
        target[i] = '_';
        if (good)
            target[i] = text[i];
    }
    target[size] = 0;
    if (!size)
        memcpy (target, "_", 2);
    return same;
}

//  ---------------------------------------------------------------------------------------------
//  The end

static void
s_destroy (argos_fetch_t **self_p)
{
    argos_fetch_t *self = *self_p;
    if (self->fd >= 0)
        close (self->fd);
    if (*self->part)
        unlink (self->part);
    free (self->folder);
    free (self);
    *self_p = NULL;
}

static void
s_end (argos_fetch_t *self, json_t *result)
{
    if (self->fn)
        self->fn (self->arg, self, result);
    else
        json_decref (result);
    s_destroy (&self);
}

static void
s_fail (argos_fetch_t *self, const char *error)
{
    s_end (self, json_pack ("{s:s, s:i, s:s, s:s}", "output", "", "exit_code", 1, "error", error,
                     "status", "error"));
}

static void
s_fail_errno (argos_fetch_t *self, const char *what)
{
    char error[256];
    snprintf (error, sizeof error, "%s: %s", what, strerrordesc_np (errno));
    s_fail (self, error);
}

//  Bytes of the character that begins with this one; 0 = none of a text does.

static size_t
s_char_size (unsigned char c)
{
    if (c < 0x20)
        return c && strchr ("\t\n\r\f\x1b", c) ? 1 : 0;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    return c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
}

//  Whether the beginning is a text: UTF-8 but for a last character in halves, no strange controls.

static bool
s_is_text (const unsigned char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = s_char_size (bytes[at]);
        if (!length)
            return false;
        for (size_t i = 1; i < length && at + i < size; i++)
            if ((bytes[at + i] & 0xC0) != 0x80)
                return false;
        at += length;
    }
    return size > 0;
}

static json_t *
s_result (const argos_fetch_t *self)
{
    const char *type = *self->media_type ? self->media_type : "unknown type";
    if (!s_is_text (self->head, self->head_size))
        return json_pack ("{s:o, s:i, s:s}", "output",
            json_sprintf ("%s\n%lld bytes, %s", self->path, (long long) self->size, type),
            "exit_code", 0, "status", "ok");
    argos_output_t *output = argos_output_new (HEAD_MAX);
    argos_output_add (output, self->head, self->head_size);
    char *text = argos_output_text (output);
    argos_output_destroy (&output);
    const char *begins = self->size > (int64_t) self->head_size ? "It begins:" : "It says:";
    json_t *result = json_pack ("{s:o, s:i, s:s}", "output",
        json_sprintf (
            "%s\n%lld bytes, %s. %s\n\n%s", self->path, (long long) self->size, type, begins, text),
        "exit_code", 0, "status", "ok");
    free (text);
    return result;
}

static void
s_complete (argos_fetch_t *self)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256_final (&self->hash, hash);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    if (strcmp (hex, strchr (self->blob, ':') + 1) != 0 || self->have != self->size) {
        s_fail (self, "the file has arrived damaged; try again");
        return;
    }
    int rc = close (self->fd);
    self->fd = -1;
    if (rc != 0 || rename (self->part, self->path) != 0) {
        s_fail_errno (self, "the file can't be written");
        return;
    }
    *self->part = 0;
    s_end (self, s_result (self));
}

//  ---------------------------------------------------------------------------------------------
//  Pieces

//  Ask the store; the answer goes to fn. On failure self is over.

static void
s_ask (argos_fetch_t *self, const char *type, json_t *body, argos_peer_answer_fn *fn)
{
    argos_peer_part_t part = { .type = type, .to = "store", .ttl_ms = READ_TTL_MS, .body = body };
    if (argos_peer_send (self->peer, &part, fn, self) != ARGOS_OK)
        s_fail (self, "the store can't be asked now; try again");
}

static void
s_ask_piece (argos_fetch_t *self)
{
    s_ask (self, "blob.get",
        json_pack ("{s:s, s:I, s:i}", "blob", self->blob, "offset", (json_int_t) self->have,
            "limit", PIECE_MAX),
        s_on_piece);
}

static int
s_write (argos_fetch_t *self, const unsigned char *bytes, size_t size)
{
    if (self->head_size < HEAD_MAX) {
        size_t take = HEAD_MAX - self->head_size < size ? HEAD_MAX - self->head_size : size;
        memcpy (self->head + self->head_size, bytes, take);
        self->head_size += take;
    }
    crypto_hash_sha256_update (&self->hash, bytes, size);
    self->have += (int64_t) size;
    while (size) {
        ssize_t written = write (self->fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        bytes += written;
        size -= (size_t) written;
    }
    return 0;
}

static void
s_on_piece (void *arg, const argos_peer_answer_t *answer)
{
    argos_fetch_t *self = arg;
    if (!self->fn || answer->code != ARGOS_OK) {
        s_fail (self, *answer->reason ? answer->reason : argos_err_text (answer->code));
        return;
    }
    const json_t *data = json_object_get (answer->body, "data");
    unsigned char *bytes = malloc (PIECE_MAX);
    if (!bytes)
        abort ();
    long got = -1;
    if (json_is_string (data))
        got = argos_base64_decode (
            json_string_value (data), json_string_length (data), bytes, PIECE_MAX);
    size_t size = got > 0 ? (size_t) got : 0;
    bool good = got >= 0;
    bool more = json_is_true (json_object_get (answer->body, "more"));
    good = good && self->have + (int64_t) size <= self->size && (size || !more);
    int rc = good ? s_write (self, bytes, size) : 0;
    free (bytes);
    if (!good)
        s_fail (self, "the store has answered something that can't be used");
    else if (rc != 0)
        s_fail_errno (self, "the file can't be written");
    else if (more)
        s_ask_piece (self);
    else
        s_complete (self);
}

//  ---------------------------------------------------------------------------------------------
//  The beginning

static int
s_make_folder (const char *path)
{
    return mkdir (path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

//  Name the file, see that there is room, open it. NULL, or what is in the way.

static const char *
s_open (argos_fetch_t *self, const char *given)
{
    struct statvfs info;
    char name[NAME_MAX_BYTES + 1];
    argos_fetch_clean (*self->name ? self->name : given, true, NAME_MAX_BYTES, name);
    if (s_make_folder (self->folder) != 0)
        return "the folder of the session can't be made";
    if (statvfs (self->folder, &info) != 0 ||
        (int64_t) info.f_bavail * (int64_t) info.f_frsize < self->size + FREE_LEAST)
        return "there is too little room on the disk";
    int length = snprintf (self->path, sizeof self->path, "%s/%.12s-%s", self->folder,
        strchr (self->blob, ':') + 1, name);
    if (length < 0 || (size_t) length + 8 > sizeof self->part)
        return "the path is too long";
    snprintf (
        self->part, sizeof self->part, "%.*s.XXXXXX", (int) sizeof self->part - 8, self->path);
    self->fd = mkostemp (self->part, O_CLOEXEC);
    if (self->fd >= 0)
        return NULL;
    *self->part = 0;
    return "the file can't be made";
}

static void
s_on_stat (void *arg, const argos_peer_answer_t *answer)
{
    argos_fetch_t *self = arg;
    const json_t *blob = answer->code == ARGOS_OK ? json_object_get (answer->body, "blob") : NULL;
    if (!self->fn || answer->code != ARGOS_OK) {
        s_fail (self, *answer->reason ? answer->reason : argos_err_text (answer->code));
        return;
    }
    if (!json_is_true (json_object_get (blob, "complete"))) {
        s_fail (self, "there is no such file; it may have been removed");
        return;
    }
    const char *name = json_string_value (json_object_get (blob, "name"));
    const char *type = json_string_value (json_object_get (blob, "media_type"));
    snprintf (self->media_type, sizeof self->media_type, "%s", type ? type : "");
    self->size = json_integer_value (json_object_get (blob, "size"));
    const char *problem = s_open (self, name ? name : "file");
    if (problem)
        s_fail (self, problem);
    else
        s_ask_piece (self);
}

static bool
s_blob_valid (const char *blob)
{
    return strlen (blob) == BLOB_MAX - 1 && strncmp (blob, "sha256:", 7) == 0 &&
           strspn (blob + 7, "0123456789abcdef") == 64;
}

//  Path of the session's folder: its name when that is harmless, else with a hash behind it, so
//  that no two sessions share one. New.

static char *
s_folder (const char *folder, const char *session)
{
    char name[SESSION_MAX + 1], *path = NULL;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256 (hash, (const unsigned char *) session, strlen (session));
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    bool same = argos_fetch_clean (session, false, SESSION_MAX, name);
    if (asprintf (&path, same ? "%s/%s" : "%s/%s-%.16s", folder, name, hex) < 0)
        abort ();
    return path;
}

argos_fetch_t *
argos_fetch_new (argos_peer_t *peer, const argos_fetch_task_t *task, argos_fetch_fn *fn, void *arg,
    char *reason, size_t size)
{
    if (!s_blob_valid (task->blob)) {
        snprintf (reason, size, "`blob` is no id of a file: sha256: and 64 hex digits");
        return NULL;
    }
    if (s_make_folder (task->folder) != 0) {
        snprintf (reason, size, "the folder of files can't be made: %s", strerrordesc_np (errno));
        return NULL;
    }
    argos_fetch_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->peer = peer;
    self->fd = -1;
    self->folder = s_folder (task->folder, task->session);
    memcpy (self->blob, task->blob, sizeof self->blob);
    if (task->name && *task->name)
        argos_fetch_clean (task->name, true, NAME_MAX_BYTES, self->name);
    crypto_hash_sha256_init (&self->hash);
    argos_peer_part_t part = { .type = "blob.stat",
        .to = "store",
        .ttl_ms = READ_TTL_MS,
        .body = json_pack ("{s:s}", "blob", self->blob) };
    if (argos_peer_send (peer, &part, s_on_stat, self) != ARGOS_OK) {
        snprintf (reason, size, "the store can't be asked now; try again");
        s_destroy (&self);
        return NULL;
    }
    self->fn = fn;
    self->arg = arg;
    return self;
}

void
argos_fetch_abandon (argos_fetch_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    (*self_p)->fn = NULL;
    *self_p = NULL;
}
