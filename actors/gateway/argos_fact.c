//  argos_fact - what the gateway reads before it decides.
//
//  Invariant: a question depends on the message only (`alone`), or also on facts that stand before
//  its own in the table, and then it waits until they have been read. Pure.

#include "argos_fact.h"

#include "argos_asked.h"
#include "argos_busy.h"
#include "argos_cmd.h"
#include "argos_edited.h"
#include "argos_exec.h"
#include "argos_first.h"
#include "argos_gateway.h"
#include "argos_hook_word.h"
#include "argos_json_get.h"
#include "argos_pairing.h"
#include "argos_source.h"

#define STORE_TTL_MS 10000 //  Patience with the store
#define JOBS_MAX 20        //  Newest background jobs of a session
#define TASKS_MAX 100      //  Newest tasks of a conversation
#define AGENT_TTL_MS 1000  //  Patience with the agent, for /status
#define EXEC_TTL_MS 40000  //  With a quick command, which has 30 s
#define HOOK_TTL_MS 6000   //  With all hooks, which have 5 s; no answer is allow

static json_t *
s_route (const argos_gateway_case_t *self)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    if (argos_route_key (
            json_object_get (self->body, "source"), &self->policy->route, key, sizeof key) != 0)
        return NULL;
    return json_pack ("{s:s}", "key", key);
}

static json_t *
s_session (const argos_gateway_case_t *self)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_named (self, session);
    return *session ? json_pack ("{s:s}", "id", session) : NULL;
}

//  What the route says already need not be asked: an empty lane is the common case. The bodies say
//  whose a turn is, which matters where several share a session.

static json_t *
s_lane (const argos_gateway_case_t *self)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_named (self, session);
    if (!*session && json_is_true (json_object_get (self->fact[ARGOS_FACT_ROUTE], "idle")))
        return NULL;
    argos_gateway_session (self, session);
    bool shared =
        argos_route_is_shared (json_object_get (self->body, "source"), &self->policy->route);
    return *session ? json_pack ("{s:s, s:s, s:b}", "service", "turn", "key", session, "brief",
                          !argos_edited_is (self) && !shared)
                    : NULL;
}

static json_t *
s_tasks (const argos_gateway_case_t *self)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    if (argos_route_key (
            json_object_get (self->body, "source"), &self->policy->route, key, sizeof key) != 0)
        return NULL;
    return json_pack ("{s:s, s:i}", "origin", key, "limit", TASKS_MAX);
}

//  A record of the platform, or of who speaks there.

static json_t *
s_pairing (const argos_gateway_case_t *self, const char *space, bool of_user)
{
    const json_t *source = json_object_get (self->body, "source");
    const char *platform = argos_json_text (source, "platform");
    char key[ARGOS_PAIRING_KEY_SIZE];
    argos_pairing_key (platform, argos_source_participant (source), key);
    return json_pack ("{s:s, s:s}", "space", space, "key", of_user ? key : platform);
}

static json_t *
s_paired (const argos_gateway_case_t *self)
{
    return s_pairing (self, ARGOS_PAIRING_APPROVED, true);
}

static json_t *
s_pending (const argos_gateway_case_t *self)
{
    return s_pairing (self, ARGOS_PAIRING_PENDING, false);
}

static json_t *
s_rate (const argos_gateway_case_t *self)
{
    return s_pairing (self, ARGOS_PAIRING_RATE, true);
}

static json_t *
s_lock (const argos_gateway_case_t *self)
{
    return s_pairing (self, ARGOS_PAIRING_RATE, false);
}

static json_t *
s_jobs (const argos_gateway_case_t *self)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_session (self, session);
    return *session ? json_pack ("{s:s, s:i}", "session_id", session, "limit", JOBS_MAX) : NULL;
}

static json_t *
s_nothing (const argos_gateway_case_t *self)
{
    (void) self;
    return json_object ();
}

static const argos_fact_row_t s_table[ARGOS_FACTS] = {
    [ARGOS_FACT_ROUTE] = { "route.get", "store", STORE_TTL_MS, false, true, s_route },
    [ARGOS_FACT_SESSION] = { "session.get", "store", STORE_TTL_MS, false, true, s_session },
    [ARGOS_FACT_QUESTION] = { "record.get", "store", STORE_TTL_MS, false, true,
        argos_cmd_ask_question },
    [ARGOS_FACT_SETTING] = { "record.get", "store", STORE_TTL_MS, false, true,
        argos_cmd_ask_setting },
    [ARGOS_FACT_LANE] = { "lane.list", "store", STORE_TTL_MS, false, false, s_lane },
    [ARGOS_FACT_ASKED] = { "record.list", "store", STORE_TTL_MS, false, false,
        argos_cmd_ask_asked },
    [ARGOS_FACT_ASKED_TASKS] = { "record.list", "store", STORE_TTL_MS, false, false,
        argos_cmd_ask_asked_tasks },
    [ARGOS_FACT_TOLD] = { "record.get", "store", STORE_TTL_MS, false, true, argos_first_ask_told },
    [ARGOS_FACT_HOME] = { "record.get", "store", STORE_TTL_MS, false, true, argos_first_ask_home },
    [ARGOS_FACT_ACK] = { "record.get", "store", STORE_TTL_MS, false, true, argos_busy_ask_ack },
    [ARGOS_FACT_AGENT] = { "agent.status", "actor:agent", AGENT_TTL_MS, true, true, s_nothing },
    [ARGOS_FACT_LIST] = { "session.list", "store", STORE_TTL_MS, false, false, argos_cmd_ask_list },
    [ARGOS_FACT_RESOLVED] = { "session.resolve", "store", STORE_TTL_MS, true, false,
        argos_cmd_ask_resolve },
    [ARGOS_FACT_LINEAGE] = { "session.lineage", "store", STORE_TTL_MS, true, false,
        argos_cmd_ask_lineage },
    [ARGOS_FACT_TARGET] = { "session.get", "store", STORE_TTL_MS, true, false,
        argos_cmd_ask_target },
    [ARGOS_FACT_SEARCH] = { "session.search", "store", STORE_TTL_MS, true, false,
        argos_cmd_ask_search },
    [ARGOS_FACT_SAID] = { "session.load", "store", STORE_TTL_MS, true, false, argos_cmd_ask_said },
    [ARGOS_FACT_USAGE] = { "usage.get", "store", STORE_TTL_MS, true, false, argos_cmd_ask_usage },
    [ARGOS_FACT_TASKS] = { "run.list", "store", STORE_TTL_MS, false, true, s_tasks },
    [ARGOS_FACT_PAIRED] = { "record.get", "store", STORE_TTL_MS, false, true, s_paired },
    [ARGOS_FACT_PAIRING_PENDING] = { "record.get", "store", STORE_TTL_MS, false, true, s_pending },
    [ARGOS_FACT_PAIRING_RATE] = { "record.get", "store", STORE_TTL_MS, false, true, s_rate },
    [ARGOS_FACT_PAIRING_LOCK] = { "record.get", "store", STORE_TTL_MS, false, true, s_lock },
    [ARGOS_FACT_HOOK] = { "hook.command", "actor:hooks", HOOK_TTL_MS, true, false,
        argos_hook_question },
    [ARGOS_FACT_KEPT] = { "agent.list", "actor:cache", AGENT_TTL_MS, true, true, s_nothing },
    [ARGOS_FACT_JOBS] = { "job.list", "service:job", AGENT_TTL_MS, true, false, s_jobs },
    [ARGOS_FACT_EXEC] = { "tool.call", "service:tool.terminal", EXEC_TTL_MS, true, false,
        argos_exec_question },
    [ARGOS_FACT_RUNS] = { "run.list", "store", STORE_TTL_MS, false, true, argos_cmd_ask_runs },
};

const argos_fact_row_t *
argos_fact_row (argos_fact_t fact)
{
    return &s_table[fact];
}

argos_fact_t
argos_fact_next (argos_gateway_case_t *self, unsigned needs, unsigned asked, json_t **ret_body)
{
    *ret_body = NULL;
    const unsigned missing = needs & ~self->have & ~asked;
    for (int fact = 0; fact < ARGOS_FACTS; fact++) {
        if (!(missing & ARGOS_FACT_BIT (fact)) || (asked && !s_table[fact].alone))
            continue;
        *ret_body = s_table[fact].question (self);
        if (*ret_body)
            return (argos_fact_t) fact;
        self->have |= ARGOS_FACT_BIT (fact);
    }
    return ARGOS_FACTS;
}

json_t *
argos_fact_join (argos_fact_t fact, const json_t *before, json_t *answer, bool *ret_more)
{
    *ret_more = false;
    if (fact == ARGOS_FACT_SEARCH)
        return argos_cmd_search_join (before, answer, ret_more);
    return json_incref (answer);
}
