//  argos_daemon_actor - see the header.
//
//  Invariant: the owner answers each RELOAD once and in order, so the oldest that waits is the one
//  that is answered.

#include "argos_daemon_actor.h"

#include "argos_actor.h"
#include "argos_config.h"
#include "argos_header.h"
#include "argos_hook_event.h"
#include "argos_log.h"
#include "argos_parts.h"
#include "argos_shell.h"

#include <inttypes.h>
#include <string.h>

#define NAME "daemon"
#define WAITING_MAX 16 //  Requests that wait for the owner

typedef struct {
    char from[ARGOS_NAME_MAX + 1]; //  Who asked, "" = we have
    char id[ARGOS_ID_MAX + 1];     //  With which id
} asker_t;

typedef struct {
    zsock_t *pipe;                //  To the owner
    char *home;                   //  Folder of the settings
    argos_shell_t *shell;         //  The loop
    bool ready;                   //  READY has been said
    int64_t looping_until;        //  No more restarts before, wall msec
    int64_t begun;                //  Of this process, wall msec
    json_t *platforms;            //  That are configured
    asker_t waiting[WAITING_MAX]; //  Oldest first
    size_t count;                 //  How many
} daemon_t;

//  A chat that can't be told is told nothing: the restart is done anyway.

static void
s_on_restart_done (void *arg, const argos_peer_answer_t *answer)
{
    (void) arg;
    if (answer->code != ARGOS_OK)
        argos_log (ARGOS_LOG_WARN, NAME, "not told", "code=%s reason=\"%s\"",
            argos_err_name (answer->code), answer->reason);
}

//  Has the settings read again. False: too many wait for that, and it will be done for them.

static bool
s_reload (daemon_t *self, const char *from, const char *id)
{
    if (self->count == WAITING_MAX || zstr_send (self->pipe, ARGOS_DAEMON_RELOAD) != 0)
        return false;
    asker_t *asker = &self->waiting[self->count++];
    snprintf (asker->from, sizeof asker->from, "%s", from);
    snprintf (asker->id, sizeof asker->id, "%s", id);
    return true;
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    daemon_t *self = ctx;
    if (*msg->re || strcmp (msg->type, "config.reload") != 0)
        return;
    if (!s_reload (self, msg->from, msg->id))
        argos_peer_reply (argos_shell_peer (self->shell), msg, "error",
            json_pack ("{s:s, s:s}", "code", "busy", "message", "the daemon is busy"));
}

//  Tells the chat that asked, in the done.

static void
s_restart_done (daemon_t *self, const argos_peer_msg_t *msg, const char *kind, const char *text)
{
    char id[ARGOS_ID_MAX + 1];
    json_t *parts = json_array (), *source = json_object_get (msg->body, "source");
    argos_peer_part_t part = { 0 };
    snprintf (id, sizeof id, "restart_%" PRId64, msg->seq);
    if (source)
        argos_parts_deliver (parts, source, id, kind, text,
            json_string_value (json_object_get (msg->body, "reply_to")));
    const json_t *deliver = json_array_get (parts, 0);
    if (deliver)
        part = (argos_peer_part_t){ .type = "deliver.request",
            .to = json_string_value (json_object_get (deliver, "to")),
            .id = json_string_value (json_object_get (deliver, "id")),
            .key = json_string_value (json_object_get (deliver, "key")),
            .durable = true,
            .body = json_incref (json_object_get (deliver, "body")) };
    argos_log (ARGOS_LOG_INFO, NAME, "restart", "said=\"%s\"", text);
    argos_lease_done (msg->lease, &part, deliver ? 1 : 0, NULL, 0, s_on_restart_done, self);
    json_decref (parts);
}

//  The done of what changes nothing in the store; when it is lost the same is written again.

static void
s_on_home_done (void *arg, const argos_peer_answer_t *answer)
{
    (void) arg;
    (void) answer;
}

//  Writes the home of a platform into local.yaml.

static void
s_home (daemon_t *self, const argos_peer_msg_t *msg)
{
    char path[96], reason[512] = "";
    const char *platform = json_string_value (json_object_get (msg->body, "platform"));
    json_t *home = json_object_get (msg->body, "home");
    snprintf (path, sizeof path, "platforms.%.32s.home_channel", platform ? platform : "");
    if (argos_config_set (self->home, path, json_incref (home), reason, sizeof reason) != 0)
        argos_log (ARGOS_LOG_WARN, NAME, "not written", "setting=%s reason=\"%s\"", path, reason);
    else
        s_reload (self, "", "");
    argos_lease_done (msg->lease, NULL, 0, NULL, 0, s_on_home_done, self);
}

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    daemon_t *self = ctx;
    const char *run = json_string_value (json_object_get (msg->body, "run_id"));
    if (strcmp (msg->type, "daemon.home") == 0)
        s_home (self, msg);
    else if (msg->attempt > 1 || msg->at < self->begun)
        s_restart_done (self, msg, "notice", "♻ Gateway restarted successfully");
    else if (argos_shell_wall () < self->looping_until)
        s_restart_done (self, msg, "error",
            "There have been three restarts within a minute: not another one now");
    else {
        argos_log (ARGOS_LOG_INFO, NAME, "restart", "from=%s", msg->from);
        zstr_sendx (self->pipe, ARGOS_DAEMON_RESTART, run ? run : "", NULL);
    }
}

static void
s_reloaded (daemon_t *self, zmsg_t *msg)
{
    zframe_t *frame = zmsg_next (msg);
    json_t *body =
        frame ? json_loadb ((const char *) zframe_data (frame), zframe_size (frame), 0, NULL)
              : NULL;
    if (!body || !self->count) {
        json_decref (body);
        return;
    }
    if (*self->waiting[0].from)
        argos_peer_reply_to (argos_shell_peer (self->shell), self->waiting[0].from,
            self->waiting[0].id, "config.reload.result", body);
    else
        json_decref (body);
    self->count--;
    memmove (self->waiting, self->waiting + 1, self->count * sizeof *self->waiting);
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    zframe_t *word = zmsg_first (msg);
    if (word && zframe_streq (word, ARGOS_DAEMON_RELOADED))
        s_reloaded (arg, msg);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    daemon_t *self = ctx;
    if (self->ready)
        return;
    json_t *event = argos_hook_event_new ("gateway:startup", NULL);
    json_object_set (event, "platforms", self->platforms);
    argos_peer_part_t part = { .type = ARGOS_HOOK_EVENT, .to = ARGOS_HOOK_TOPIC, .body = event };
    argos_peer_publish (argos_shell_peer (self->shell), NULL, &part);
    argos_actor_ready (self->pipe, true);
    self->ready = true;
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) code;
    daemon_t *self = ctx;
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

void
argos_daemon_actor (zsock_t *pipe, void *config)
{
    static const char *const types[] = { "daemon.restart", "daemon.home", NULL };
    const argos_daemon_config_t *settings = config;
    daemon_t self = { .pipe = pipe,
        .looping_until = settings->looping_until,
        .home = strdup (settings->home ? settings->home : ""),
        .begun = argos_shell_wall (),
        .platforms = json_deep_copy (settings->platforms) };
    char name[ARGOS_NAME_MAX + 1];
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_request = s_on_request,
                                     .on_lease = s_on_lease,
                                     .on_final = s_on_final } };
    argos_link_apply (&settings->link, NAME, &peer, name);
    self.shell = argos_shell_new (pipe, &peer);
    if (self.shell) {
        argos_shell_on_command (self.shell, s_on_command, &self);
        argos_peer_serve (argos_shell_peer (self.shell), NAME, 1, types);
        argos_shell_run (self.shell);
    }
    if (!self.ready)
        argos_actor_ready (pipe, false);
    argos_shell_destroy (&self.shell);
    json_decref (self.platforms);
    free (self.home);
}
