//  argos_agent_images - the images of a conversation, as a model gets them.
//
//  A row has its files by reference (`attachments`); the bytes are fetched while the turn is
//  loading and live as long as the turn. The newest come first; what is too much, too large or none
//  that providers read gets words in its place. Invariant: one file is on its way at a time; an
//  image that can't be had never stops a turn. Limits: IMAGES_MAX images of IMAGE_MAX, and ALL_MAX
//  together.

#include "argos_agent_priv.h"
#include "argos_base64.h"
#include "argos_media.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGES_MAX 8      //  Images of a request
#define IMAGE_MAX 3932160 //  Bytes of one: 5 MiB in base64, which is what providers take
#define ALL_MAX 8388608   //  Bytes of all
#define HEAD_MAX 32       //  Bytes in front of the data

typedef struct {
    turn_t *turn;   //  Holds a reference
    unsigned epoch; //  Of the turn when it was asked
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

//  A whole file as a data URL, or words; new
static json_t *
s_read (int fd, size_t size)
{
    unsigned char *bytes = (unsigned char *) malloc (size + 1);
    char *url = (char *) malloc (HEAD_MAX + size / 3 * 4 + 8);
    if (!bytes || !url)
        abort ();
    bool whole = pread (fd, bytes, size, 0) == (ssize_t) size;
    const char *type = whole ? s_type (bytes, size) : NULL;
    json_t *image = NULL;
    if (type) {
        int head = snprintf (url, HEAD_MAX, "data:%s;base64,", type);
        argos_base64_encode (bytes, size, url + head);
        image = json_string_nocheck (url);
    }
    else
        image = s_words (whole ? "it is no PNG, JPEG, GIF or WebP" : "it could not be read");
    free (bytes);
    free (url);
    return image;
}

static void
s_on_image (void *arg, const char *problem, const char *blob, int fd, int64_t size)
{
    s_ticket_t *ticket = (s_ticket_t *) arg;
    turn_t *turn = ticket->turn;
    bool current =
        ticket->epoch == turn->epoch && turn->fetching && turn->state == ARGOS_TURN_LOADING;
    free (ticket);
    if (current && !*problem) {
        json_object_set_new (turn->images, blob, s_read (fd, (size_t) size));
        turn->image_bytes += size;
    }
    else if (current) {
        argos_log (
            ARGOS_LOG_WARN, turn->agent->name, "image", "blob=%s problem=\"%s\"", blob, problem);
        json_object_set_new (
            turn->images, blob, s_words ("it is too large, or could not be fetched"));
    }
    if (fd >= 0)
        close (fd);
    if (current)
        s_next (turn);
    turn_unref (turn);
}

//  What comes after this is not waited for any more
static void
s_done (turn_t *self)
{
    json_decref (self->fetching);
    self->fetching = NULL;
    turn_acquire (self, self->fetched);
}

static void
s_next (turn_t *self)
{
    size_t left = json_array_size (self->fetching);
    const mail_t *mail = turn_own_mail (self);
    if (!left || (mail && mail->own)) {
        s_done (self);
        return;
    }
    s_ticket_t *ticket = (s_ticket_t *) malloc (sizeof *ticket);
    if (!ticket)
        abort ();
    *ticket = (s_ticket_t){ self, self->epoch };
    json_t *blob = json_incref (json_array_get (self->fetching, left - 1));
    json_array_remove (self->fetching, left - 1);
    int64_t room = ALL_MAX - self->image_bytes;
    self->refs++;
    argos_media_get (self->agent->peer, json_string_value (blob),
        room < IMAGE_MAX ? room : IMAGE_MAX, s_on_image, ticket);
    json_decref (blob);
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
    if (json_integer_value (json_object_get (attachment, "size")) > IMAGE_MAX)
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
