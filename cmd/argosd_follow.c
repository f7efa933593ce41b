//  argosd_follow - see the header.
//
//  Invariant: what is written is what the core says, but where the core is: that the ticket has
//  said, and it has proved right. Limit: a snapshot is one message.

#include "argosd_follow.h"

#include "argos_actor.h"
#include "argos_config.h"
#include "argos_log.h"
#include "argos_shell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "follow"
#define TOPIC "config.snapshot"

typedef struct {
    argosd_follow_t *config;       //  What we were started with
    zsock_t *pipe;                 //  To the owner
    argos_shell_t *shell;          //  Our loop
    char name[ARGOS_NAME_MAX + 1]; //  Our own
    json_t *stored;                //  As node.json is
    json_t *heard;                 //  Newest settings of the core; NULL = none yet
    bool caught_up;                //  What comes is news
    bool told;                     //  READY has been said
} follow_t;

static json_t *
s_load (const argosd_home_t *home)
{
    char path[PATH_MAX + 16];
    snprintf (path, sizeof path, "%s/" ARGOS_CONFIG_NODE, home->path);
    json_t *stored = json_load_file (path, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object (stored))
        return stored;
    json_decref (stored);
    return NULL;
}

int
argosd_follow_open (argosd_follow_t *self, const argosd_home_t *home, char *reason, size_t size)
{
    *self = (argosd_follow_t){ .home = home };
    if (!argosd_home_has (home, ARGOS_CONFIG_NODE))
        return 0;
    json_t *stored = s_load (home);
    const char *node = json_string_value (json_object_get (stored, "node"));
    bool good = node && argos_config_node_name (node);
    if (good)
        memcpy (self->node, node, strlen (node) + 1);
    else
        snprintf (reason, size, "%s/" ARGOS_CONFIG_NODE " is not what `argosd join` has made",
            home->path);
    json_decref (stored);
    return good ? 0 : -1;
}

//  ------------------------------------------------------------------------------------------------
//  The actor

//  The settings as they are stored here: what runs on us is as the core says, else as it was; where
//  the core is, as it was.

static json_t *
s_compose (const follow_t *self)
{
    const char *node = self->config->node;
    const json_t *was = json_object_get (json_object_get (self->stored, "nodes"), node);
    json_t *settings = json_deep_copy (self->heard);
    json_t *nodes = json_object_get (settings, "nodes");
    if (!json_is_object (nodes)) {
        nodes = json_object ();
        json_object_set_new (settings, "nodes", nodes);
    }
    if (json_object_size (nodes) == 0)
        json_object_set_new (nodes, "core", json_pack ("{s:[s]}", "actors", "core"));
    json_t *now = json_object_get (nodes, node);
    if (!now)
        json_object_set_new (nodes, node, json_deep_copy (was));
    else
        json_object_set (now, "broker", json_object_get (was, "broker"));
    json_object_set_new (settings, "node", json_string (node));
    return settings;
}

//  Puts the settings into node.json, unless this node can't use them. Returns whether it has.

static bool
s_store (const follow_t *self, const json_t *settings)
{
    const argosd_home_t *home = self->config->home;
    char reason[512], *text = json_dumps (settings, JSON_COMPACT);
    char *before = json_dumps (self->stored, JSON_COMPACT);
    int rc = argosd_home_put (home, ARGOS_CONFIG_NODE, text);
    snprintf (reason, sizeof reason, "%s", strerror (errno));
    if (rc == 0) {
        argos_config_t *config = argos_config_load (home->path, NULL, NULL, reason, sizeof reason);
        rc = config ? 0 : -1;
        argos_config_destroy (&config);
        if (rc != 0)
            argosd_home_put (home, ARGOS_CONFIG_NODE, before);
    }
    if (rc != 0)
        argos_log (ARGOS_LOG_ERROR, NAME, "settings", "of=core taken=no reason=\"%s\"", reason);
    free (before);
    free (text);
    return rc == 0;
}

//  The core has spoken.

static void
s_take (follow_t *self)
{
    json_t *settings = s_compose (self);
    bool same = json_equal (settings, self->stored);
    if ((same && self->config->known) || (!same && !s_store (self, settings))) {
        json_decref (settings);
        return;
    }
    json_decref (self->stored);
    self->stored = settings;
    argos_log (ARGOS_LOG_INFO, NAME, "settings", "of=core taken=%s", same ? "as-before" : "yes");
    self->config->known = true;
    kill (getpid (), ARGOSD_FOLLOW_SIGNAL);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    follow_t *self = ctx;
    (void) new_store;
    if (!self->told)
        argos_actor_ready (self->pipe, true);
    self->told = true;
}

//  Until the first `end` they may be old ones: the last one counts.

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    follow_t *self = ctx;
    (void) topic;
    if (strcmp (msg->type, TOPIC) != 0)
        return;
    json_decref (self->heard);
    self->heard = json_incref (json_object_get (msg->body, "settings"));
    if (self->caught_up)
        s_take (self);
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    follow_t *self = ctx;
    (void) topic;
    (void) n;
    (void) closed;
    if (self->heard && !self->caught_up)
        s_take (self);
    else if (!self->heard)
        argos_log (
            ARGOS_LOG_WARN, NAME, "no settings", "reason=\"the core tells none: it is older\"");
    self->caught_up = true;
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    follow_t *self = ctx;
    argos_log (ARGOS_LOG_ERROR, NAME, "ended by the broker", "code=%s reason=\"%s\"",
        argos_err_name (code), reason);
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

void
argosd_follow_actor (zsock_t *pipe, void *config)
{
    follow_t self = { .config = config, .pipe = pipe };
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_entry = s_on_entry,
                                     .on_end = s_on_end,
                                     .on_final = s_on_final } };
    argos_link_apply (&self.config->link, "argosd", &peer, self.name);
    self.stored = s_load (self.config->home);
    self.shell = argos_shell_new (pipe, &peer);
    if (self.shell && self.stored) {
        argos_peer_subscribe (argos_shell_peer (self.shell), TOPIC, 0);
        argos_shell_run (self.shell);
    }
    if (!self.told)
        argos_actor_ready (pipe, false);
    argos_shell_destroy (&self.shell);
    json_decref (self.stored);
    json_decref (self.heard);
}
