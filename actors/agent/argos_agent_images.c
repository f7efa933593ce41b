//  argos_agent_images - the images of a conversation, as a model gets them.
//
//  A row has its files by reference (`attachments`); the bytes are fetched while the turn is
//  loading and live as long as the turn. The newest come first; a large photo is made smaller
//  (argos_agent_shrink), and what is too much, too large or none that providers read gets words in
//  its place. What became of a large one is kept, so that the next turn does not do it again.
//  Invariant: one file is on its way at a time; an image that can't be had never stops a turn; an
//  image is the same in every request. Limits: IMAGES_MAX images of AGENT_PHOTO_MAX, made of
//  SOURCE_MAX at most, and ALL_MAX together; PHOTOS_MAX are kept.

#include "argos_agent_priv.h"
#include "argos_base64.h"
#include "argos_jpeg.h"
#include "argos_media.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGES_MAX 8        //  Images of a request
#define ALL_MAX 8388608     //  Bytes of all
#define LARGE 1048576       //  A photo of more bytes is made smaller: so many find room together
#define SOURCE_MAX 20971520 //  Bytes of what is fetched for that
#define PHOTOS_MAX 16       //  Kept from turn to turn
#define HEAD_MAX 32         //  Bytes in front of the data

typedef struct {
    turn_t *turn;                //  Holds a reference
    unsigned epoch;              //  Of the turn when it was asked
    char blob[ARGOS_MEDIA_BLOB]; //  Which image
    bool large;                  //  What becomes of it is kept
} s_ticket_t;

static void s_next (turn_t *self);

//  The media type of what providers read, by its first bytes; NULL = it is none of these
static const char *
s_type (const unsigned char *bytes, size_t size)
{
    static const struct {
        const char *magic; //  First bytes
        size_t size;       //  How many
        const char *type;  //  Media type
    } types[] = { { "\x89PNG\r\n\x1a\n", 8, "image/png" }, { "\xff\xd8\xff", 3, "image/jpeg" },
        { "GIF87a", 6, "image/gif" }, { "GIF89a", 6, "image/gif" } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (size >= types[i].size && memcmp (bytes, types[i].magic, types[i].size) == 0)
            return types[i].type;
    bool webp = size >= 12 && memcmp (bytes, "RIFF", 4) == 0 && memcmp (bytes + 8, "WEBP", 4) == 0;
    return webp ? "image/webp" : NULL;
}

static json_t *
s_words (const char *why)
{
    return json_sprintf ("[This image is not shown: %s.]", why);
}

//  An image as a data URL, or words; new
static json_t *
s_url (const unsigned char *bytes, size_t size)
{
    const char *type = s_type (bytes, size);
    if (!type)
        return s_words ("it is no PNG, JPEG, GIF or WebP");
    if (size > AGENT_PHOTO_MAX)
        return s_words ("it is too large");
    char *url = (char *) malloc (HEAD_MAX + size / 3 * 4 + 8);
    if (!url)
        abort ();
    int head = snprintf (url, HEAD_MAX, "data:%s;base64,", type);
    argos_base64_encode (bytes, size, url + head);
    json_t *image = json_string_nocheck (url);
    free (url);
    return image;
}

//  The image takes its place, when there is room
static void
s_show (turn_t *self, const char *blob, json_t *image)
{
    int64_t size =
        argos_messages_is_image (image) ? (int64_t) json_string_length (image) / 4 * 3 : 0;
    bool room = self->image_bytes + size <= ALL_MAX;
    self->image_bytes += room ? size : 0;
    json_object_set_new (
        self->images, blob, room ? json_incref (image) : s_words ("there are newer ones"));
}

static void
s_keep (agent_t *self, const char *blob, json_t *image)
{
    if (!self->photos)
        self->photos = json_object ();
    json_object_set (self->photos, blob, image);
    if (json_object_size (self->photos) > PHOTOS_MAX)
        json_object_del (self->photos, json_object_iter_key (json_object_iter (self->photos)));
}

//  The fetching goes on, unless the turn does not wait for it any more
static bool
s_is_current (const s_ticket_t *self)
{
    const turn_t *turn = self->turn;
    return self->epoch == turn->epoch && turn->fetching && turn->state == ARGOS_TURN_LOADING;
}

static void
s_end (s_ticket_t *self, json_t *image)
{
    turn_t *turn = self->turn;
    if (self->large)
        s_keep (turn->agent, self->blob, image);
    if (s_is_current (self)) {
        s_show (turn, self->blob, image);
        s_next (turn);
    }
    json_decref (image);
    free (self);
    turn_unref (turn);
}

static void
s_on_smaller (void *arg, const unsigned char *bytes, size_t size)
{
    s_end ((s_ticket_t *) arg,
        bytes ? s_url (bytes, size) : s_words ("it is too large, and can't be made smaller"));
}

//  Of one that is too large only the beginning, which says whether it is an image

static void
s_read (s_ticket_t *self, int fd, size_t size)
{
    size_t wanted = size < AGENT_PHOTO_MAX ? size : AGENT_PHOTO_MAX;
    unsigned char *bytes = (unsigned char *) malloc (wanted + 1);
    if (!bytes)
        abort ();
    bool whole = pread (fd, bytes, wanted, 0) == (ssize_t) wanted;
    s_end (self, whole ? s_url (bytes, size) : s_words ("it could not be read"));
    free (bytes);
}

//  A large file: a photo is made smaller, of anything else its kind and its size are told

static void
s_reduce (s_ticket_t *self, int fd, size_t size)
{
    unsigned char head[ARGOS_JPEG_HEAD];
    bool photo = pread (fd, head, sizeof head, 0) == (ssize_t) sizeof head &&
                 argos_jpeg_is (head, sizeof head);
    int own = photo ? fcntl (fd, F_DUPFD_CLOEXEC, 0) : -1;
    self->large = photo || size > AGENT_PHOTO_MAX;
    if (own >= 0)
        agent_shrink (self->turn->agent, own, size, s_on_smaller, self);
    else
        s_read (self, fd, size);
}

static void
s_on_image (void *arg, const char *problem, const char *blob, int fd, int64_t size)
{
    s_ticket_t *self = (s_ticket_t *) arg;
    if (*problem) {
        argos_log (ARGOS_LOG_WARN, self->turn->agent->name, "image", "blob=%s problem=\"%s\"", blob,
            problem);
        s_end (self, s_words ("it is too large, or could not be fetched"));
    }
    else if (s_is_current (self) && size > LARGE)
        s_reduce (self, fd, (size_t) size);
    else if (s_is_current (self))
        s_read (self, fd, (size_t) size);
    else
        s_end (self, s_words ("it is not waited for"));
    if (fd >= 0)
        close (fd);
}

//  What comes after this is not waited for any more
static void
s_done (turn_t *self)
{
    json_decref (self->fetching);
    self->fetching = NULL;
    turn_acquire (self, self->fetched);
}

//  Fetches the next one, unless it is kept; or there is no more
static void
s_next (turn_t *self)
{
    size_t left = json_array_size (self->fetching);
    const mail_t *mail = turn_own_mail (self);
    const json_t *blob = NULL;
    json_t *kept;
    for (; left && !(mail && mail->own); left--) {
        blob = json_array_get (self->fetching, left - 1);
        kept = json_object_get (self->agent->photos, json_string_value (blob));
        if (!kept)
            break;
        s_show (self, json_string_value (blob), kept);
        json_array_remove (self->fetching, left - 1);
    }
    if (!left || (mail && mail->own)) {
        s_done (self);
        return;
    }
    s_ticket_t *ticket = (s_ticket_t *) calloc (1, sizeof *ticket);
    if (!ticket)
        abort ();
    ticket->turn = self;
    ticket->epoch = self->epoch;
    snprintf (ticket->blob, sizeof ticket->blob, "%s", json_string_value (blob));
    json_array_remove (self->fetching, left - 1);
    self->refs++;
    argos_media_get (self->agent->peer, ticket->blob, SOURCE_MAX, s_on_image, ticket);
}

//  Puts an image on the list, unless it is there or can't be shown
static void
s_want (turn_t *self, const json_t *attachment)
{
    json_t *blob = json_object_get (attachment, "blob");
    const char *name = json_string_value (blob);
    const char *kind = json_string_value (json_object_get (attachment, "kind"));
    if (!name || !kind || strcmp (kind, "image") != 0 || json_object_get (self->images, name))
        return;
    if (json_integer_value (json_object_get (attachment, "size")) > SOURCE_MAX)
        json_object_set_new (self->images, name, s_words ("it is too large"));
    else if (json_array_size (self->fetching) >= IMAGES_MAX)
        json_object_set_new (self->images, name, s_words ("there are newer ones"));
    else {
        json_object_set_new (self->images, name, json_null ());
        json_array_insert (self->fetching, 0, blob);
    }
}

void
turn_fetch_images (turn_t *self, argos_turn_event_t event)
{
    if (self->images || turn_knows_blind (self)) {
        turn_acquire (self, event);
        return;
    }
    self->fetched = event;
    self->images = json_object ();
    self->fetching = json_array ();
    for (size_t i = json_array_size (self->rows); i > 0; i--) {
        const json_t *files = json_object_get (json_array_get (self->rows, i - 1), "attachments");
        for (size_t j = json_array_size (files); j > 0; j--)
            s_want (self, json_array_get (files, j - 1));
    }
    s_next (self);
}

void
turn_skip_images (turn_t *self)
{
    if (self->fetching)
        s_done (self);
}

bool
turn_has_images (const turn_t *self)
{
    const char *blob;
    json_t *image;
    json_object_foreach (self->images, blob, image)
        if (argos_messages_is_image (image))
            return true;
    return false;
}

json_t *
turn_images (const turn_t *self)
{
    if (!(self->adjust & ARGOS_ADJUST_IMAGES))
        return json_incref (self->images);
    const char *blob;
    json_t *image, *words = json_object ();
    json_object_foreach (self->images, blob, image)
        json_object_set_new (words, blob, s_words ("the model does not take it"));
    return words;
}
