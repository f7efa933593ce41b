//  argos_agent_home - the node whose files, shells and processes the tools of a session work with.
//
//  Its name is in the row of the session. It is read once in a turn, when a call needs it. A
//  session that has none is claimed by the node that takes task.home; when somebody else was faster
//  the row says who. Invariant: a tool with the flag `host` is called at the home, or not at all.

#include "argos_agent_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
s_is_bound (const turn_t *self, const char *name)
{
    return agent_tool_flag (self->agent, name, "host");
}

//  ------------------------------------------------------------------------------------------------
//  Finding it

static argos_err_t
s_ask (turn_t *self, const char *to, const char *type, const char *member, argos_peer_answer_fn *fn)
{
    argos_peer_part_t part = {
        .type = type, .to = to, .body = json_pack ("{s:s}", member, self->session)
    };
    argos_err_t code = argos_peer_send (self->agent->peer, &part, fn, self);
    self->homing = code == ARGOS_OK;
    self->refs += self->homing;
    return code;
}

//  It is known, or why not: the turn goes on where it is by now. What it was asked for before a
//  stop or a reload is as good then.
static void
s_found (turn_t *self, const char *home, argos_err_t code)
{
    snprintf (self->home, sizeof self->home, "%s", home ? home : "");
    self->homeless = home ? ARGOS_OK : code;
    if (self->state == ARGOS_TURN_DECIDING)
        turn_decide (self);
    else if (self->state == ARGOS_TURN_TOOLING)
        turn_check_results (self);
}

static void s_on_row (void *arg, const argos_peer_answer_t *answer);

static void
s_on_claimed (void *arg, const argos_peer_answer_t *answer)
{
    turn_t *turn = (turn_t *) arg;
    const char *home = json_string_value (json_object_get (answer->body, "home"));
    argos_err_t code = answer->code;
    turn->homing = false;
    if (code == ARGOS_CONFLICT)
        code = s_ask (turn, "store", "session.get", "id", s_on_row);
    if (!turn->homing)
        s_found (turn, code == ARGOS_OK ? home : NULL, code);
    turn_unref (turn);
}

static void
s_on_row (void *arg, const argos_peer_answer_t *answer)
{
    turn_t *turn = (turn_t *) arg;
    const json_t *session = json_object_get (answer->body, "session");
    const char *home = json_string_value (json_object_get (session, "home"));
    argos_err_t code = answer->code;
    turn->homing = false;
    if (code == ARGOS_OK && !home)
        code = s_ask (turn, "service:tools", "task.home", "session_id", s_on_claimed);
    if (!turn->homing)
        s_found (turn, home, code);
    turn_unref (turn);
}

bool
turn_needs_home (turn_t *self, const char *name)
{
    bool needs = s_is_bound (self, name) || strcmp (name, "delegate_task") == 0;
    if (!needs || *self->home || self->homeless != ARGOS_OK)
        return false;
    if (!self->homing)
        self->homeless = s_ask (self, "store", "session.get", "id", s_on_row);
    return self->homing;
}

//  ------------------------------------------------------------------------------------------------
//  Using it

bool
turn_tool_address (const turn_t *self, const char *name, char *to, size_t size)
{
    bool bound = s_is_bound (self, name);
    snprintf (to, size, "service:tool.%s%s%s", name, bound ? "@" : "", bound ? self->home : "");
    return !bound || *self->home;
}

//  A call that may have run is told from one that has not
json_t *
turn_tool_refused (const turn_t *self, const char *name, const argos_peer_answer_t *answer)
{
    char error[512];
    const char *code = argos_err_name (answer->code);
    bool bound = s_is_bound (self, name);
    if (answer->sent && bound)
        snprintf (error, sizeof error,
            "The outcome of this call is unknown: no result came from the node %s, where it was "
            "sent (%s). It was not run again.",
            self->home, code);
    else if (answer->sent)
        snprintf (error, sizeof error,
            "The outcome of this call is unknown: no result came (%s). It was not run again.",
            code);
    else if (bound && *self->home)
        snprintf (error, sizeof error,
            "The node %s, where the files and processes of this task are, is not there or has not "
            "this tool (%s). It was not run, and is not run on another node. Somebody has to bring "
            "that node back, or to move the task (argos sessions home).",
            self->home, code);
    else
        snprintf (error, sizeof error, "The tool is not available (%s). It was not run.", code);
    return tool_result ("error", error);
}
