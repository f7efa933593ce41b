//  argos_inbox - see the header.
//
//  Invariant: at most one commit and one download are under way; an entry whose lane has an earlier
//  one that is not ready is not stored; the cursor that is stored is that of an entry before which
//  nothing is missing.

#include "argos_inbox.h"

#include "argos_log.h"
#include "argos_media.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define BATCH_MAX 20      //  Messages of a commit
#define FILE_MAX 33554432 //  Bytes of a file
#define FILE_MS 60000     //  Patience with one
#define TRIES_MAX 2       //  Of one
#define FILES_MAX 16      //  Of a message
#define TEXT_MAX 262144   //  Bytes of a text

struct argos_inbox_entry {
    char *lane;                       //  What has to stay in order
    char *tag;                        //  Told with its end
    json_t *cursor;                   //  NULL = none
    json_t *message;                  //  NULL = not known yet, or nothing
    json_t *files;                    //  Still to be fetched
    bool ready;                       //  It is known what it says
    bool storing;                     //  In the commit that is under way
    bool stored;                      //  It is over, and waits for those before it
    argos_inbox_entry_t *prev, *next; //  In the list
};

struct argos_inbox {
    argos_inbox_config_t config;   //  What it was made with
    argos_inbox_entry_t *entries;  //  In order
    bool storing;                  //  A commit is under way
    argos_inbox_entry_t *fetching; //  Whose file is being fetched, NULL = none
    argos_http_call_t *call;       //  Its download, NULL = it is being put
    int fd;                        //  Where it goes, -1 = nowhere
    int tries;                     //  Of this file
};

static void s_go (argos_inbox_t *self);

argos_inbox_t *
argos_inbox_new (const argos_inbox_config_t *config)
{
    argos_inbox_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->config = *config;
    self->fd = -1;
    return self;
}

static void
s_free (argos_inbox_t *self, argos_inbox_entry_t *entry)
{
    DL_DELETE (self->entries, entry);
    free (entry->lane);
    free (entry->tag);
    json_decref (entry->cursor);
    json_decref (entry->message);
    json_decref (entry->files);
    free (entry);
}

void
argos_inbox_destroy (argos_inbox_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_inbox_t *self = *self_p;
    argos_http_call_abort (&self->call);
    while (self->entries)
        s_free (self, self->entries);
    if (self->fd >= 0)
        close (self->fd);
    free (self);
    *self_p = NULL;
}

static char *
s_copy (const char *text)
{
    char *copy = strdup (text ? text : "");
    if (!copy)
        abort ();
    return copy;
}

argos_inbox_entry_t *
argos_inbox_add (argos_inbox_t *self, const char *lane, json_t *cursor, const char *tag)
{
    argos_inbox_entry_t *entry = calloc (1, sizeof *entry);
    if (!entry)
        abort ();
    entry->lane = s_copy (lane);
    entry->tag = s_copy (tag);
    entry->cursor = cursor;
    DL_APPEND (self->entries, entry);
    return entry;
}

void
argos_inbox_ready (argos_inbox_t *self, argos_inbox_entry_t *entry, json_t *message, json_t *files)
{
    entry->ready = true;
    entry->message = message;
    entry->files = message && json_array_size (files) ? json_incref (files) : NULL;
    json_decref (files);
    s_go (self);
}

bool
argos_inbox_has (const argos_inbox_t *self, const char *id)
{
    argos_inbox_entry_t *entry = NULL;
    DL_FOREACH (self->entries, entry) {
        const char *known = json_string_value (json_object_get (entry->message, "id"));
        if (known && strcmp (known, id) == 0)
            return true;
    }
    return false;
}

size_t
argos_inbox_count (const argos_inbox_t *self)
{
    size_t count = 0;
    argos_inbox_entry_t *entry = NULL;
    DL_COUNT (self->entries, entry, count);
    return count;
}

//  ------------------------------------------------------------------------------------------------
//  Files

static const char *
s_member (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

static const json_t *
s_file (const argos_inbox_t *self)
{
    return json_array_get (self->fetching->files, 0);
}

static void
s_file_over (argos_inbox_t *self)
{
    json_array_remove (self->fetching->files, 0);
    if (self->fd >= 0)
        close (self->fd);
    self->fd = -1;
    self->tries = 0;
    self->fetching = NULL;
}

//  The message says that a file of it could not be had
static void
s_file_missing (argos_inbox_t *self, const char *problem)
{
    if (++self->tries < TRIES_MAX && *problem) {
        self->fetching = NULL;
        return;
    }
    json_t *body = json_object_get (self->fetching->message, "body");
    const char *text = s_member (body, "text");
    const char *name = s_member (s_file (self), "name");
    argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->config.adapter), "file not fetched",
        "name=\"%.100s\" reason=\"%s\"", name, problem);
    if (strlen (text) + 300 < TEXT_MAX)
        json_object_set_new (body, "text",
            json_sprintf (
                "%s%s[the file \"%.200s\" could not be fetched]", text, *text ? "\n" : "", name));
    s_file_over (self);
}

static void
s_on_put (void *arg, const char *problem, const char *blob, int fd, int64_t size)
{
    argos_inbox_t *self = arg;
    (void) fd;
    if (*problem) {
        s_file_missing (self, problem);
        s_go (self);
        return;
    }
    const json_t *file = s_file (self);
    json_t *body = json_object_get (self->fetching->message, "body");
    json_t *list = json_object_get (body, "attachments");
    if (!list)
        json_object_set_new (body, "attachments", list = json_array ());
    json_t *entry = json_pack ("{s:s,s:s,s:o,s:I}", "blob", blob, "kind", s_member (file, "kind"),
        "name", json_sprintf ("%.250s", s_member (file, "name")), "size", (json_int_t) size);
    if (*s_member (file, "media_type"))
        json_object_set_new (
            entry, "media_type", json_sprintf ("%.100s", s_member (file, "media_type")));
    if (json_array_size (list) < FILES_MAX)
        json_array_append (list, entry);
    json_decref (entry);
    s_file_over (self);
    s_go (self);
}

static void
s_on_fetched (void *arg, const argos_http_answer_t *answer)
{
    argos_inbox_t *self = arg;
    char problem[200] = "";
    self->call = NULL;
    if (answer->phase != ARGOS_HTTP_ANSWERED)
        snprintf (problem, sizeof problem, "%.190s", answer->error);
    else if (answer->status / 100 != 2)
        snprintf (problem, sizeof problem, "status %d", answer->status);
    //  A page to log in with instead of the file
    else if (strncmp (argos_http_answer_header (answer, "Content-Type"), "text/html", 9) == 0 &&
             strstr (s_member (s_file (self), "media_type"), "html") == NULL)
        snprintf (problem, sizeof problem, "a page came instead (is a right missing?)");
    if (*problem) {
        s_file_missing (self, problem);
        s_go (self);
        return;
    }
    const json_t *file = s_file (self);
    const char *type = s_member (file, "media_type");
    argos_media_put (argos_adapter_peer (self->config.adapter), self->fd, s_member (file, "name"),
        *type ? type : NULL, s_on_put, self);
}

//  Begins to; else why not
static const char *
s_fetch (argos_inbox_t *self)
{
    const char *url = s_member (s_file (self), "url");
    if (!self->config.file_allowed || !self->config.file_allowed (self->config.arg, url)) {
        return "its address is not one of the platform";
    }
    if (self->fd >= 0)
        close (self->fd);
    self->fd = argos_media_temporary ();
    argos_http_request_t request = { .url = url,
        .headers =
            self->config.file_headers ? self->config.file_headers (self->config.arg, url) : NULL,
        .answer_fd = self->fd,
        .answer_max = FILE_MAX,
        .timeout_ms = FILE_MS };
    if (self->fd >= 0)
        self->call = argos_adapter_http (self->config.adapter, &request, s_on_fetched, self);
    return self->call ? NULL : "there is no place for it";
}

static void
s_next_file (argos_inbox_t *self)
{
    argos_inbox_entry_t *entry = NULL;
    DL_FOREACH (self->entries, entry)
        while (!self->fetching && json_array_size (entry->files)) {
            self->fetching = entry;
            const char *problem = s_fetch (self);
            if (problem) {
                self->tries = TRIES_MAX;
                s_file_missing (self, problem);
            }
        }
}

//  ------------------------------------------------------------------------------------------------
//  The store

//  What is over leaves from the front; others wait there so that the cursor does not pass
static void
s_sweep (argos_inbox_t *self)
{
    while (self->entries && self->entries->stored)
        s_free (self, self->entries);
}

static void
s_over (argos_inbox_t *self, argos_inbox_entry_t *entry)
{
    entry->stored = true;
    entry->storing = false;
    if (self->config.fn)
        self->config.fn (self->config.arg, entry->tag);
}

static void
s_on_stored (void *arg)
{
    argos_inbox_t *self = arg;
    argos_inbox_entry_t *entry = NULL;
    self->storing = false;
    DL_FOREACH (self->entries, entry)
        if (entry->storing)
            s_over (self, entry);
    s_sweep (self);
    s_go (self);
}

//  Whether an earlier entry of the lane is still to come
static bool
s_blocked (const argos_inbox_t *self, const argos_inbox_entry_t *entry)
{
    for (const argos_inbox_entry_t *at = self->entries; at != entry; at = at->next)
        if (!at->stored && !at->storing && strcmp (at->lane, entry->lane) == 0)
            return true;
    return false;
}

static void
s_store (argos_inbox_t *self)
{
    argos_inbox_entry_t *entry = NULL;
    json_t *messages = json_array ();
    json_t *cursor = NULL;
    bool whole = true;
    DL_FOREACH (self->entries, entry) {
        bool goes = entry->ready && !json_array_size (entry->files) && !entry->stored &&
                    json_array_size (messages) < BATCH_MAX && !s_blocked (self, entry);
        entry->storing = goes;
        if (goes && entry->message)
            json_array_append (messages, entry->message);
        whole = whole && (goes || entry->stored);
        if (whole && entry->cursor)
            cursor = entry->cursor;
    }
    //  A cursor alone is not worth a commit: it goes with the next message
    if (json_array_size (messages) == 0) {
        json_decref (messages);
        DL_FOREACH (self->entries, entry)
            if (entry->storing)
                s_over (self, entry);
        s_sweep (self);
        return;
    }
    self->storing = true;
    bool named = cursor && self->config.cursor;
    argos_adapter_store (self->config.adapter, messages, named ? self->config.cursor : NULL,
        named ? json_incref (cursor) : NULL, s_on_stored, self);
}

static void
s_go (argos_inbox_t *self)
{
    s_next_file (self);
    if (!self->storing)
        s_store (self);
}
