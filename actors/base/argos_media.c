//  argos_media - see the header.
//
//  Invariant: exactly one request is outstanding from the beginning to the end, and its answer is
//  where a task goes on or is freed. Limits: pieces of 256 KiB.

#include "argos_media.h"

#include "argos_base64.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_MAX 262144 //  Bytes of a piece
#define TTL_MS 30000     //  Patience with the store
#define BUFFER 65536     //  Bytes read at a time for the hash

typedef struct {
    argos_peer_t *peer;            //  Asks the store
    argos_media_fn *fn;            //  Told at the end
    void *arg;                     //  Its argument
    int fd;                        //  The file
    int64_t size, have, max;       //  Bytes of the whole, so far, at most
    char blob[ARGOS_MEDIA_BLOB];   //  What it is called
    char *name, *media_type;       //  NULL = not known
    crypto_hash_sha256_state hash; //  Of what has come
} task_t;

static void s_on_put (void *arg, const argos_peer_answer_t *answer);
static void s_on_got (void *arg, const argos_peer_answer_t *answer);

int
argos_media_temporary (void)
{
    const char *folder = getenv ("TMPDIR");
    return open (folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static void
s_end (task_t *self, const char *problem)
{
    self->fn (self->arg, problem, self->blob, *problem ? -1 : self->fd, self->size);
    free (self->name);
    free (self->media_type);
    free (self);
}

static void
s_ask (task_t *self, const char *type, json_t *body, argos_peer_answer_fn *fn, bool durable)
{
    argos_peer_part_t part = { .type = type,
        .to = "store",
        .durable = durable,
        .ttl_ms = durable ? 0 : TTL_MS,
        .body = body };
    argos_err_t code = argos_peer_send (self->peer, &part, fn, self);
    if (code != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = code, .reason = "", .part = -1, .type = "" };
        fn (self, &answer);
    }
}

static const char *
s_problem (const argos_peer_answer_t *answer)
{
    return *answer->reason ? answer->reason : argos_err_text (answer->code);
}

//  ------------------------------------------------------------------------------------------------
//  Put

static void
s_put_piece (task_t *self)
{
    unsigned char *bytes = malloc (PIECE_MAX);
    char *text = malloc (PIECE_MAX / 3 * 4 + 8);
    if (!bytes || !text)
        abort ();
    ssize_t got = pread (self->fd, bytes, PIECE_MAX, self->have);
    if (got < 0 || (got == 0 && self->size > 0)) {
        free (bytes);
        free (text);
        s_end (self, "the temporary file can't be read");
        return;
    }
    argos_base64_encode (bytes, (size_t) got, text);
    json_t *body = json_pack ("{s:s,s:I,s:I,s:s,s:s*,s:s*}", "blob", self->blob, "size",
        (json_int_t) self->size, "offset", (json_int_t) self->have, "data", text, "name",
        self->name, "media_type", self->media_type);
    free (bytes);
    free (text);
    self->have += got;
    s_ask (self, "blob.put", body, s_on_put, true);
}

static void
s_on_put (void *arg, const argos_peer_answer_t *answer)
{
    task_t *self = arg;
    if (answer->code != ARGOS_OK)
        s_end (self, s_problem (answer));
    else if (self->have < self->size)
        s_put_piece (self);
    else
        s_end (self, "");
}

static void
s_on_known (void *arg, const argos_peer_answer_t *answer)
{
    task_t *self = arg;
    const json_t *blob = answer->code == ARGOS_OK ? json_object_get (answer->body, "blob") : NULL;
    if (answer->code != ARGOS_OK)
        s_end (self, s_problem (answer));
    else if (json_is_true (json_object_get (blob, "complete")))
        s_end (self, "");
    else {
        self->have = json_integer_value (json_object_get (blob, "have"));
        if (self->have >= self->size)
            self->have = 0;
        s_put_piece (self);
    }
}

static bool
s_hash_file (task_t *self)
{
    unsigned char hash[crypto_hash_sha256_BYTES], *bytes = malloc (BUFFER);
    char hex[2 * sizeof hash + 1];
    ssize_t got;
    if (!bytes)
        abort ();
    crypto_hash_sha256_init (&self->hash);
    while ((got = pread (self->fd, bytes, BUFFER, self->size)) > 0) {
        crypto_hash_sha256_update (&self->hash, bytes, (unsigned long long) got);
        self->size += got;
    }
    free (bytes);
    crypto_hash_sha256_final (&self->hash, hash);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    snprintf (self->blob, sizeof self->blob, "sha256:%s", hex);
    return got == 0;
}

static char *
s_copy (const char *text)
{
    char *copy = text && *text ? strdup (text) : NULL;
    if (text && *text && !copy)
        abort ();
    return copy;
}

static task_t *
s_new (argos_peer_t *peer, argos_media_fn *fn, void *arg)
{
    task_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->peer = peer;
    self->fn = fn;
    self->arg = arg;
    return self;
}

void
argos_media_put (argos_peer_t *peer, int fd, const char *name, const char *media_type,
    argos_media_fn *fn, void *arg)
{
    task_t *self = s_new (peer, fn, arg);
    self->fd = fd;
    self->name = s_copy (name);
    self->media_type = s_copy (media_type);
    if (s_hash_file (self))
        s_ask (self, "blob.stat", json_pack ("{s:s}", "blob", self->blob), s_on_known, false);
    else
        s_end (self, "the temporary file can't be read");
}

//  ------------------------------------------------------------------------------------------------
//  Get

static void
s_fail (task_t *self, const char *problem)
{
    if (self->fd >= 0)
        close (self->fd);
    s_end (self, problem);
}

static void
s_get_piece (task_t *self)
{
    s_ask (self, "blob.get",
        json_pack ("{s:s,s:I}", "blob", self->blob, "offset", (json_int_t) self->size), s_on_got,
        false);
}

static void
s_complete (task_t *self)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256_final (&self->hash, hash);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    if (strcmp (hex, self->blob + 7) != 0)
        s_fail (self, "the file has arrived damaged");
    else
        s_end (self, "");
}

static void
s_on_got (void *arg, const argos_peer_answer_t *answer)
{
    task_t *self = arg;
    const json_t *data = answer->code == ARGOS_OK ? json_object_get (answer->body, "data") : NULL;
    if (!json_is_string (data)) {
        s_fail (self,
            answer->code == ARGOS_OK ? "the store has answered without data" : s_problem (answer));
        return;
    }
    unsigned char *bytes = malloc (PIECE_MAX);
    if (!bytes)
        abort ();
    long got =
        argos_base64_decode (json_string_value (data), json_string_length (data), bytes, PIECE_MAX);
    bool fits = got >= 0 && self->size + got <= self->max;
    bool more = json_is_true (json_object_get (answer->body, "more"));
    if (fits && got > 0 && pwrite (self->fd, bytes, (size_t) got, self->size) != got)
        got = -1;
    if (got > 0) {
        crypto_hash_sha256_update (&self->hash, bytes, (unsigned long long) got);
        self->size += got;
    }
    free (bytes);
    if (!fits)
        s_fail (self, "the file is larger than the platform takes");
    else if (got < 0 || (got == 0 && more))
        s_fail (self, "the temporary file can't be written");
    else if (more)
        s_get_piece (self);
    else
        s_complete (self);
}

void
argos_media_get (argos_peer_t *peer, const char *blob, int64_t max, argos_media_fn *fn, void *arg)
{
    task_t *self = s_new (peer, fn, arg);
    snprintf (self->blob, sizeof self->blob, "%s", blob);
    self->max = max;
    crypto_hash_sha256_init (&self->hash);
    self->fd = argos_media_temporary ();
    if (self->fd >= 0)
        s_get_piece (self);
    else
        s_end (self, "there is no place for temporary files");
}
