//  argos_sendfile - files that a text names become attachments of a delivery.
//
//  Invariant: of each message every file is either an attachment or named in the notice; both are
//  parts of the done that consumes it. Limits: 16 files of a message, 64 MiB a file.

#include "argos_sendfile.h"

#include "argos_log.h"
#include "argos_media.h"
#include "argos_node.h"
#include "argos_reply.h"
#include "argos_setting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#define FILE_MAX 67108864  //  Bytes of a file
#define ATTEMPTS_MAX 3     //  Leases until a file that can't be stored is given up
#define AGAIN_MS 2000      //  Pause before a message is tried again
#define NAME_MAX_BYTES 255 //  Of the name of a file

typedef struct job {
    argos_sendfile_t *files; //  Whose
    argos_lease_t *lease;    //  NULL once it is lost
    json_t *body;            //  file.send
    char *id;                //  Of the message
    size_t index;            //  The file that is being put
    int fd;                  //  It, -1 = none
    json_t *attachments;     //  Of what has been put
    json_t *refused;         //  Sentences about the others
    int64_t attempt;         //  Of the lease
    struct job *prev, *next; //  In the list
} job_t;

struct argos_sendfile {
    argos_peer_t *peer;         //  To the broker
    char home[PATH_MAX];        //  Folder of the daemon, without links
    char user[PATH_MAX];        //  Home of its user, likewise; "" = none
    char node[ARGOS_NODE_SIZE]; //  Where that is
    bool stopping;              //  The peer is going away: send nothing more
    json_t *allowed;            //  Folders that are open; NULL = none
    bool strict;                //  Only those are
    job_t *jobs;                //  In hand
};

static void s_job_go (job_t *self);

argos_sendfile_t *
argos_sendfile_new (argos_peer_t *peer, const char *files, const char *node)
{
    argos_sendfile_t *self = calloc (1, sizeof *self);
    char path[PATH_MAX];
    if (!self)
        abort ();
    self->peer = peer;
    snprintf (self->node, sizeof self->node, "%s", node);
    snprintf (path, sizeof path, "%s/..", files);
    const char *user = getenv ("HOME");
    //  The folder may not be there yet: then its name without the last word
    if (!realpath (path, self->home)) {
        snprintf (self->home, sizeof self->home, "%s", files);
        char *slash = strrchr (self->home, '/');
        if (slash)
            *slash = 0;
    }
    if (!user || !realpath (user, self->user))
        *self->user = 0;
    return self;
}

static void
s_job_destroy (job_t **self_p)
{
    job_t *self = *self_p;
    DL_DELETE (self->files->jobs, self);
    if (self->fd >= 0)
        close (self->fd);
    json_decref (self->body);
    json_decref (self->attachments);
    json_decref (self->refused);
    free (self->id);
    free (self);
    *self_p = NULL;
}

void
argos_sendfile_destroy (argos_sendfile_t **self_p)
{
    argos_sendfile_t *self = *self_p;
    job_t *job, *next;
    if (!self)
        return;
    DL_FOREACH_SAFE (self->jobs, job, next)
        s_job_destroy (&job);
    json_decref (self->allowed);
    free (self);
    *self_p = NULL;
}

void
argos_sendfile_stop (argos_sendfile_t *self)
{
    self->stopping = true;
}

void
argos_sendfile_settings (argos_sendfile_t *self, const json_t *config)
{
    json_decref (self->allowed);
    self->allowed =
        json_deep_copy (argos_setting (config, NULL, NULL, "gateway.media_delivery_allow_dirs"));
    self->strict = argos_setting_bool (config, NULL, NULL, "gateway.strict");
}

//  ------------------------------------------------------------------------------------------------
//  One file

//  Opens the file that a path names, as it may leave. Returns a descriptor, or -1 with a problem
//  (static). real has PATH_MAX bytes.

static int
s_open (const argos_sendfile_t *self, const char *path, char *real, const char **ret_problem)
{
    char full[PATH_MAX];
    struct stat about;
    bool tilde = strncmp (path, "~/", 2) == 0;
    int length =
        snprintf (full, sizeof full, "%s%s", tilde ? self->user : "", path + (tilde ? 1 : 0));
    *ret_problem = "there is no such file";
    if (length < 0 || (size_t) length >= sizeof full || !realpath (full, real))
        return -1;
    *ret_problem =
        argos_reply_path_problem (real, self->home, self->user, self->allowed, self->strict);
    if (*ret_problem)
        return -1;
    //  What is opened is what was checked: the last word may be no link any more
    int fd = open (real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *ret_problem = fd < 0 ? "it can't be read" : NULL;
    if (fd >= 0 && (fstat (fd, &about) != 0 || !S_ISREG (about.st_mode)))
        *ret_problem = "it is no file";
    else if (fd >= 0 && about.st_size > FILE_MAX)
        *ret_problem = "it is larger than 64 MiB";
    else if (fd >= 0 && about.st_size == 0)
        *ret_problem = "it is empty";
    if (!*ret_problem)
        return fd;
    if (fd >= 0)
        close (fd);
    return -1;
}

static const json_t *
s_file (const job_t *self)
{
    return json_array_get (json_object_get (self->body, "files"), self->index);
}

static void
s_refuse (job_t *self, const char *problem)
{
    const char *path = json_string_value (json_object_get (s_file (self), "path"));
    json_array_append_new (self->refused, json_sprintf ("%s (%s)", path ? path : "?", problem));
}

static void
s_on_put (void *arg, const char *problem, const char *blob, int fd, int64_t size)
{
    job_t *self = arg;
    char name[NAME_MAX_BYTES + 1];
    (void) fd;
    close (self->fd);
    self->fd = -1;
    if (!self->lease || self->files->stopping) {
        s_job_destroy (&self);
        return;
    }
    if (*problem && self->attempt < ATTEMPTS_MAX) {
        //  The store has no room, or can't be reached: that may pass
        argos_log (ARGOS_LOG_WARN, "tools", "file not stored", "reason=\"%s\"", problem);
        argos_lease_release (&self->lease, AGAIN_MS, true, NULL);
        s_job_destroy (&self);
        return;
    }
    if (*problem) {
        s_refuse (self, "it can't be stored");
        self->index++;
        s_job_go (self);
        return;
    }
    const char *path = json_string_value (json_object_get (s_file (self), "path"));
    const char *slash = path ? strrchr (path, '/') : NULL;
    snprintf (name, sizeof name, "%s", slash && slash[1] ? slash + 1 : "file");
    json_t *attachment = json_pack ("{s:s, s:O, s:o?, s:s, s:I}", "blob", blob, "kind",
        json_object_get (s_file (self), "kind"), "name", json_string (name), "media_type",
        argos_reply_media_type (name), "size", (json_int_t) size);
    if (attachment)
        json_array_append_new (self->attachments, attachment);
    else
        s_refuse (self, "its name can't be sent");
    self->index++;
    s_job_go (self);
}

//  ------------------------------------------------------------------------------------------------
//  The end

//  A delivery to the chat of the message.

static argos_peer_part_t
s_delivery (const job_t *self, const char *to, const char *id, const char *kind, json_t *text)
{
    static const char *const copied[] = { "chat_id", "thread_id", "reply_to", "run_id" };
    json_t *body = json_pack ("{s:s, s:o}", "kind", kind, "text", text);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (json_object_get (self->body, copied[i]))
            json_object_set (body, copied[i], json_object_get (self->body, copied[i]));
    return (argos_peer_part_t){ .type = "deliver.request",
        .to = to,
        .id = id,
        .key = json_string_value (json_object_get (self->body, "key")),
        .durable = true,
        .body = body };
}

//  What was refused, one a line, cut to what a message can have.

static json_t *
s_sentence (const job_t *self)
{
    char text[4096] = "⚠️ Not sent:";
    size_t index, length = strlen (text);
    json_t *line;
    json_array_foreach (self->refused, index, line) {
        int more =
            snprintf (text + length, sizeof text - length, "\n%.1200s", json_string_value (line));
        if (more < 0 || length + (size_t) more >= sizeof text)
            break;
        length += (size_t) more;
    }
    text[length] = 0;
    json_t *made = json_string (text);
    return made ? made : json_string ("⚠️ A file was not sent.");
}

static void
s_on_done (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    bool over =
        answer->code == ARGOS_OK || answer->code == ARGOS_FENCED || answer->code == ARGOS_GONE;
    if (self->lease && !over && !self->files->stopping) {
        argos_log (ARGOS_LOG_WARN, "tools", "files not delivered", "code=%s reason=\"%s\"",
            argos_err_name (answer->code), answer->reason ? answer->reason : "");
        argos_lease_release (&self->lease, AGAIN_MS, false, NULL);
    }
    s_job_destroy (&self);
}

static void
s_job_done (job_t *self)
{
    argos_peer_part_t parts[3];
    char to[ARGOS_TO_MAX + 1], media[ARGOS_ID_MAX + 1], refused[ARGOS_ID_MAX + 1];
    size_t count = 0, index;
    json_t *attachment, *blobs = json_array ();
    const char *run = json_string_value (json_object_get (self->body, "run_id"));
    snprintf (
        to, sizeof to, "service:%s", json_string_value (json_object_get (self->body, "service")));
    snprintf (media, sizeof media, "%.120s.media", self->id);
    snprintf (refused, sizeof refused, "%.120s.left", self->id);
    json_array_foreach (self->attachments, index, attachment)
        json_array_append (blobs, json_object_get (attachment, "blob"));
    if (run && json_array_size (blobs))
        parts[count++] = (argos_peer_part_t){ .type = "blob.ref",
            .to = "store",
            .body = json_pack ("{s:s, s:O}", "run_id", run, "blobs", blobs) };
    json_decref (blobs);
    if (json_array_size (self->attachments)) {
        parts[count] = s_delivery (self, to, media, "answer", json_string (""));
        json_object_set_new (parts[count].body, "op", json_string ("media"));
        json_object_set (parts[count].body, "attachments", self->attachments);
        count++;
    }
    if (json_array_size (self->refused))
        parts[count++] = s_delivery (self, to, refused, "notice", s_sentence (self));
    argos_err_t code = argos_lease_done (self->lease, parts, count, NULL, 0, s_on_done, self);
    if (code != ARGOS_OK)
        s_on_done (self, &(argos_peer_answer_t){ .code = code, .part = -1 });
}

//  The next file, else the end.

static void
s_job_go (job_t *self)
{
    char real[PATH_MAX];
    const char *problem;
    for (; s_file (self); self->index++) {
        const char *path = json_string_value (json_object_get (s_file (self), "path"));
        path = path ? path : "";
        self->fd = s_open (self->files, path, real, &problem);
        if (self->fd < 0) {
            s_refuse (self, problem);
            continue;
        }
        const char *slash = strrchr (path, '/');
        argos_media_put (self->files->peer, self->fd, slash && slash[1] ? slash + 1 : NULL,
            argos_reply_media_type (path), s_on_put, self);
        return;
    }
    s_job_done (self);
}

//  ------------------------------------------------------------------------------------------------
//  The home of the session

//  On to the node that has the files, in the commit that ends this message.

static void
s_send_on (job_t *self, const char *home)
{
    char name[ARGOS_NAME_MAX + 1], to[ARGOS_TO_MAX + 1];
    json_t *body = json_copy (self->body);
    argos_node_service (ARGOS_SENDFILE_SERVICE, home, name);
    snprintf (to, sizeof to, "service:%s", name);
    json_object_del (body, "session_id");
    argos_peer_part_t part = { .type = ARGOS_SENDFILE_TYPE,
        .to = to,
        .id = self->id,
        .key = json_string_value (json_object_get (self->body, "key")),
        .durable = true,
        .body = body };
    argos_err_t code = argos_lease_done (self->lease, &part, 1, NULL, 0, s_on_done, self);
    if (code != ARGOS_OK)
        s_on_done (self, &(argos_peer_answer_t){ .code = code, .part = -1 });
}

static void
s_on_session (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    const char *home =
        json_string_value (json_object_get (json_object_get (answer->body, "session"), "home"));
    if (!self->lease || self->files->stopping)
        s_job_destroy (&self);
    else if (answer->code != ARGOS_OK) {
        argos_lease_release (&self->lease, AGAIN_MS, true, NULL);
        s_job_destroy (&self);
    }
    else if (home && strcmp (home, self->files->node) != 0)
        s_send_on (self, home);
    else
        s_job_go (self);
}

static void
s_find_home (job_t *self)
{
    argos_peer_part_t part = { .type = "session.get",
        .to = "store",
        .body = json_pack ("{s:O}", "id", json_object_get (self->body, "session_id")) };
    argos_err_t code = argos_peer_send (self->files->peer, &part, s_on_session, self);
    if (code != ARGOS_OK)
        s_on_session (self, &(argos_peer_answer_t){ .code = code });
}

void
argos_sendfile_lease (argos_sendfile_t *self, const argos_peer_msg_t *msg)
{
    job_t *job = calloc (1, sizeof *job);
    if (!job)
        abort ();
    job->files = self;
    job->lease = msg->lease;
    job->attempt = msg->attempt;
    job->body = json_incref (msg->body);
    job->id = strdup (msg->id);
    job->fd = -1;
    job->attachments = json_array ();
    job->refused = json_array ();
    DL_APPEND (self->jobs, job);
    if (json_object_get (msg->body, "session_id"))
        s_find_home (job);
    else
        s_job_go (job);
}

void
argos_sendfile_lost (argos_sendfile_t *self, argos_lease_t *lease)
{
    job_t *job;
    DL_FOREACH (self->jobs, job)
        if (job->lease == lease)
            job->lease = NULL; //  It goes when what is outstanding is answered
}
