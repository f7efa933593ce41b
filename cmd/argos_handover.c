//  argos_handover - see the header; and `argos handoff`.
//
//  Invariant: a request that nobody has taken is called off by compare-and-set before it is given
//  up, so that it can't be done later behind our back. One that somebody has taken is left alone.
//  When, says argos_handover_step.

#include "argos_handover.h"

#include "argos_cli_asked.h"
#include "argos_handover_step.h"
#include "argos_json_get.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 5000 //  The state is read again when nothing was heard
#define TOPIC "handoff.events"

bool
argos_handover_words (argos_handover_t *self, char *word)
{
    size_t size = strcspn (word, ":");
    const char *target = word[size] ? word + size + 1 : NULL;
    if (size < 2 || size >= sizeof self->platform || (target && !*target))
        return false;
    for (size_t i = 0; i < size; i++)
        self->platform[i] =
            (char) (word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 'a' - 'A' : word[i]);
    self->platform[size] = 0;
    self->target = target;
    return strspn (self->platform, "abcdefghijklmnopqrstuvwxyz0123456789_") == size;
}

static int __attribute__ ((format (printf, 2, 3)))
s_failed (argos_handover_t *self, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    if (self->cli->interrupted)
        snprintf (self->why, sizeof self->why, "interrupted");
    else
        vsnprintf (self->why, sizeof self->why, format, args); // NOLINT(clang-analyzer-valist.*)
    va_end (args);
    return CLI_FAILED;
}

static int
s_ask (argos_handover_t *self, const char *to, const char *type, json_t *body, json_t **ret_reply)
{
    if (argos_cli_ask (self->cli, to, type, body, ret_reply) == ARGOS_OK)
        return CLI_OK;
    return s_failed (self, "%s", self->cli->reason);
}

//  ------------------------------------------------------------------------------------------------
//  Before it is asked for

//  An adapter of the platform has to be here.

static int
s_check_adapter (argos_handover_t *self)
{
    json_t *reply = NULL, *row;
    char prefix[48], others[512] = "";
    size_t index;
    bool live = false;
    int rc = s_ask (self, "actor:broker", "broker.status", NULL, &reply);
    snprintf (prefix, sizeof prefix, "deliver.%s.", self->platform);
    json_array_foreach (json_object_get (reply, "services"), index, row) {
        const char *name = argos_json_text (row, "name");
        bool works = json_integer_value (json_object_get (row, "workers")) > 0;
        if (works && strncmp (name, prefix, strlen (prefix)) == 0)
            live = true;
        else if (works && strncmp (name, "deliver.", 8) == 0 &&
                 strncmp (name, "deliver.local.", 14) != 0)
            snprintf (others + strlen (others), sizeof others - strlen (others), " %.*s",
                (int) strcspn (name + 8, "."), name + 8);
    }
    json_decref (reply);
    if (rc == CLI_OK && !live) {
        snprintf (self->why, sizeof self->why, "the platform %s is not active here (active:%s)",
            self->platform, *others ? others : " none");
        rc = CLI_FAILED;
    }
    return rc;
}

static int
s_check_home (argos_handover_t *self)
{
    json_t *reply = NULL, *settings = NULL;
    if (self->target)
        return CLI_OK;
    int rc = s_ask (self, "store", "record.get",
        json_pack ("{s:s, s:s}", "space", "home", "key", self->platform), &reply);
    bool found = json_is_object (json_object_get (reply, "record"));
    if (rc == CLI_OK && !found) {
        rc = s_ask (self, "actor:broker", "config.get", NULL, &settings);
        const json_t *platforms =
            json_object_get (json_object_get (settings, "settings"), "platforms");
        const json_t *platform = json_object_get (platforms, self->platform);
        found = json_is_object (json_object_get (platform, "home_channel"));
    }
    json_decref (reply);
    json_decref (settings);
    if (rc == CLI_OK && !found)
        rc = s_failed (self,
            "%s has no home channel: say /sethome in the chat that is to be it, or name a chat",
            self->platform);
    return rc;
}

//  The session: its title; one that was never stored is made with the request.

static int
s_check_session (argos_handover_t *self, json_t **ret_session)
{
    json_t *reply = NULL;
    int rc = s_ask (self, "store", "session.get", json_pack ("{s:s}", "id", self->session), &reply);
    *ret_session = json_incref (json_object_get (reply, "session"));
    const char *title = argos_json_text (*ret_session, "title");
    if (*title)
        snprintf (self->title, sizeof self->title, "%s", title);
    else
        snprintf (self->title, sizeof self->title, "%s", self->session);
    json_decref (reply);
    if (rc == CLI_OK && !json_is_object (*ret_session) && !self->key)
        rc = s_failed (self, "there is no session %s", self->session);
    return rc;
}

static int
s_check_idle (argos_handover_t *self)
{
    json_t *reply = NULL;
    int rc = s_ask (self, "store", "lane.list",
        json_pack ("{s:s, s:s, s:b}", "service", "turn", "key", self->session, "brief", 1), &reply);
    bool busy = rc == CLI_OK && json_array_size (json_object_get (reply, "messages"));
    json_t *asked = busy ? argos_cli_asked (self->cli, self->session) : NULL;
    if (asked && self->wait)
        self->say (
            self->ctx, "its turn waits for an answer to: %s", argos_cli_text (asked, "text"));
    else if (asked)
        rc = s_failed (self, "its turn waits for an answer; answer it, or /stop there: %s",
            argos_cli_text (asked, "text"));
    else if (busy && !self->wait)
        rc = s_failed (self, "a turn is running: try again when it is over");
    json_decref (asked);
    json_decref (reply);
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  The request

static int
s_request (argos_handover_t *self, bool stored)
{
    char cwd[PATH_MAX];
    argos_loop_part_t parts[5];
    size_t count = 0;
    if (!stored) {
        parts[count++] = (argos_loop_part_t){ .type = "expect",
            .to = "store",
            .body = json_pack ("{s:s, s:s, s:i}", "row", "route", "key", self->key, "version", 0) };
        parts[count++] = (argos_loop_part_t){ .type = "session.ensure",
            .to = "store",
            .body = json_pack ("{s:s, s:O}", "id", self->session, "source", self->source) };
        parts[count++] = (argos_loop_part_t){ .type = "route.bind",
            .to = "store",
            .body = json_pack ("{s:s, s:s, s:O}", "key", self->key, "session_id", self->session,
                "source", self->source) };
    }
    json_t *body =
        json_pack ("{s:s, s:s}", "session_id", self->session, "platform", self->platform);
    if (self->target)
        json_object_set_new (body, "target", json_string (self->target));
    if (self->wait)
        json_object_set_new (body, "claim_ms", json_integer (ARGOS_HANDOVER_WAIT_MS));
    if (getcwd (cwd, sizeof cwd))
        json_object_set_new (body, "cwd", json_string (cwd));
    parts[count++] = (argos_loop_part_t){ .type = "handoff.request", .to = "store", .body = body };
    parts[count++] = (argos_loop_part_t){ .type = "handoff.begin",
        .to = "service:handoff",
        .key = self->session,
        .durable = true,
        .body = json_pack ("{s:s}", "session_id", self->session) };
    argos_err_t code = argos_cli_commit (self->cli, parts, count);
    if (code == ARGOS_CONFLICT)
        return s_failed (self, "a handoff of %s is on its way already: wait for it", self->title);
    return code == ARGOS_OK ? CLI_OK : s_failed (self, "%s", self->cli->reason);
}

//  ------------------------------------------------------------------------------------------------
//  Waiting

void
argos_handover_entry (argos_handover_t *self, const char *topic, const argos_loop_msg_t *msg)
{
    if (!self || strcmp (topic, TOPIC) != 0 ||
        strcmp (argos_json_text (msg->body, "session_id"), self->session) != 0)
        return;
    self->heard = true;
    if (self->waiting)
        argos_loop_stop (self->cli->loop);
}

static void
s_on_tick (void *arg)
{
    argos_handover_t *self = arg;
    argos_loop_stop (self->cli->loop);
}

//  Until something is heard of it, or a while.

static void
s_pause (argos_handover_t *self)
{
    self->waiting = true;
    argos_loop_timer (self->cli->loop, argos_loop_now () + TICK_MS, s_on_tick, self);
    argos_loop_run (self->cli->loop);
    argos_loop_timer (self->cli->loop, -1, NULL, NULL);
    self->waiting = false;
}

//  Nobody has taken it. Returns CLI_FAILED when it is called off, -1 when somebody just has taken
//  it.

static int
s_call_off (argos_handover_t *self, const json_t *row)
{
    bool interrupted = self->cli->interrupted;
    const char *why = interrupted
                          ? "called off"
                          : "timed out waiting for the gateway: is argosd running with `handoff`?";
    argos_loop_part_t part = { .type = "handoff.fail",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:O, s:O, s:s, s:[s]}", "id", json_object_get (row, "id"), "epoch",
            json_object_get (row, "epoch"), "error", why, "states", "pending") };
    self->cli->interrupted = false;
    self->heard = true; //  What has become of it is looked at at once
    if (argos_cli_send (self->cli, &part) != ARGOS_OK)
        return -1;
    self->cli->interrupted = interrupted;
    snprintf (self->why, sizeof self->why, "%s", why);
    return CLI_FAILED;
}

//  Does what is next. Returns CLI_OK or CLI_FAILED when it is over, -1 while it is not.

static int
s_look (argos_handover_t *self, const json_t *row, argos_handover_view_t *view)
{
    view->state = argos_json_text (row, "state");
    view->interrupted = self->cli->interrupted;
    view->now = argos_loop_now ();
    const char *error = argos_json_text (row, "error");
    switch (argos_handover_step (view)) {
    case ARGOS_HANDOVER_DONE:
        return CLI_OK;
    case ARGOS_HANDOVER_FAILED:
        self->cli->interrupted = false; //  It has failed by itself
        return s_failed (self, "%s", *error ? error : "unknown error");
    case ARGOS_HANDOVER_CALL_OFF:
        return s_call_off (self, row);
    case ARGOS_HANDOVER_LEAVE:
        snprintf (self->why, sizeof self->why,
            "it is still under way; don't go on here before it is over");
        return CLI_FAILED;
    case ARGOS_HANDOVER_TAKEN:
        view->taken = view->said = view->now;
        self->say (self->ctx, "picked up; the conversation is being moved ...");
        return -1;
    case ARGOS_HANDOVER_STILL:
        view->said = view->now;
        self->say (self->ctx, "still %s (%lld s) ...", view->taken < 0 ? "waiting" : "at it",
            (long long) (view->now - view->asked) / 1000);
        return -1;
    case ARGOS_HANDOVER_SLEEP:
        break;
    }
    return -1;
}

//  One look at the row. *ret_again: a signal came meanwhile, so the next look is at once.

static int
s_see (argos_handover_t *self, argos_handover_view_t *view, bool *ret_again)
{
    json_t *reply = NULL;
    bool before = self->cli->interrupted;
    self->cli->interrupted = self->heard = false;
    argos_err_t code = argos_cli_ask (self->cli, "store", "handoff.state",
        json_pack ("{s:s}", "session_id", self->session), &reply);
    *ret_again = self->cli->interrupted && !before;
    self->cli->interrupted |= before;
    int rc = -1;
    if (code == ARGOS_OK)
        rc = s_look (self, json_object_get (reply, "row"), view);
    else if (self->cli->final || before || argos_loop_now () - view->asked > ARGOS_HANDOVER_DONE_MS)
        rc = s_failed (self, "%s", self->cli->reason);
    json_decref (reply);
    return rc;
}

static int
s_wait (argos_handover_t *self)
{
    int64_t now = argos_loop_now ();
    argos_handover_view_t view = { .wait = self->wait, .asked = now, .taken = -1, .said = now };
    int rc = -1;
    while (rc < 0) {
        bool again;
        rc = s_see (self, &view, &again);
        if (rc < 0 && !again && !self->heard)
            s_pause (self);
    }
    return rc;
}

int
argos_handover_run (argos_handover_t *self)
{
    json_t *session = NULL;
    int rc = s_check_adapter (self);
    if (rc == CLI_OK)
        rc = s_check_home (self);
    if (rc == CLI_OK)
        rc = s_check_session (self, &session);
    if (rc == CLI_OK)
        rc = s_check_idle (self);
    argos_loop_subscribe (self->cli->loop, TOPIC, 0);
    bool requested = rc == CLI_OK;
    if (requested)
        rc = s_request (self, json_is_object (session));
    if (rc != CLI_OK && requested && self->cli->interrupted)
        rc = CLI_OK; //  It may have been stored: it is called off
    if (rc == CLI_OK) {
        self->say (self->ctx, "\"%s\" is to go on at %s%s%s; waiting for the gateway ...",
            self->title, self->platform, self->target ? ", chat " : "",
            self->target ? self->target : "");
        rc = s_wait (self);
    }
    argos_loop_unsubscribe (self->cli->loop, TOPIC);
    json_decref (session);
    if (rc == CLI_OK)
        self->say (self->ctx, "\"%s\" goes on at %s; `/resume %s` brings it back here", self->title,
            self->platform, self->title);
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  `argos handoff`

static void s_print (void *ctx, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

static void
s_print (void *ctx, const char *format, ...)
{
    const argos_handover_t *self = ctx;
    va_list args;
    if (self->cli->json)
        return;
    va_start (args, format);
    vprintf (format, args); // NOLINT(clang-analyzer-valist.*)
    va_end (args);
    putchar ('\n');
    fflush (stdout);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    argos_cli_welcome (((argos_handover_t *) ctx)->cli);
}

static void
s_on_entry (void *ctx, const char *topic, const argos_loop_msg_t *msg)
{
    argos_handover_entry (ctx, topic, msg);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_cli_final (((argos_handover_t *) ctx)->cli, code, reason);
}

//  The session that is meant: its id, the beginning of it, or its title.

static int
s_resolve (argos_handover_t *self, const char *text)
{
    json_t *reply = NULL;
    int rc = s_ask (self, "store", "session.resolve", json_pack ("{s:s}", "text", text), &reply);
    snprintf (self->session, sizeof self->session, "%s", argos_json_text (reply, "session_id"));
    bool ambiguous = json_is_true (json_object_get (reply, "ambiguous"));
    json_decref (reply);
    if (rc == CLI_OK && !*self->session)
        rc = s_failed (
            self, ambiguous ? "several sessions begin with %s" : "there is no session %s", text);
    return rc;
}

int
argos_command_handoff (argos_cli_t *self, int argc, char **argv)
{
    argos_handover_t handoff = { .cli = self, .say = s_print, .ctx = &handoff };
    char *words[2], name[32];
    int count = 0;
    for (int i = 0; i < argc; i++)
        if (strcmp (argv[i], "--wait") == 0)
            handoff.wait = true;
        else if (count < 2 && argv[i][0] != '-')
            words[count++] = argv[i];
        else
            count = 3;
    if (count != 2 || !argos_handover_words (&handoff, words[1]))
        return argos_cli_usage (self, "handoff SESSION PLATFORM[:CHAT] [--wait]");
    snprintf (name, sizeof name, "cmd.%d", (int) getpid ());
    argos_loop_handlers_t handlers = {
        .ctx = &handoff, .on_welcome = s_on_welcome, .on_entry = s_on_entry, .on_final = s_on_final
    };
    int rc = argos_cli_connect (self, name, &handlers);
    if (rc != CLI_OK)
        return rc;
    rc = s_resolve (&handoff, words[0]);
    if (rc == CLI_OK)
        rc = argos_handover_run (&handoff);
    if (rc != CLI_OK)
        return argos_cli_error (self, rc, "failed", "handoff: %s", handoff.why);
    if (self->json)
        argos_cli_print (json_pack ("{s:s, s:s, s:s}", "session_id", handoff.session, "platform",
            handoff.platform, "state", "completed"));
    return CLI_OK;
}
