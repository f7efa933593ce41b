//  argos_fact - what the gateway reads before it decides: one row for each kind of fact.
//
//  A new fact is a value here and a row in argos_fact.c. Pure: the shell asks the question and puts
//  the answer into the case.

#ifndef ARGOS_FACT_H
#define ARGOS_FACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

//  They are asked in this order, so a question may depend on what stands before it; one that
//  depends on the message alone is asked beside others.

typedef enum {
    ARGOS_FACT_ROUTE,           //  route.get of the session key
    ARGOS_FACT_SESSION,         //  session.get of the id that the message names
    ARGOS_FACT_QUESTION,        //  record.get of what this chat was asked
    ARGOS_FACT_SETTING,         //  record.get of what was set in this chat
    ARGOS_FACT_LANE,            //  lane.list of service turn, key = the session
    ARGOS_FACT_ASKED,           //  record.list of the questions of the session
    ARGOS_FACT_ASKED_TASKS,     //  record.list of the questions of background tasks
    ARGOS_FACT_TOLD,            //  record.get: whether this platform was told about /sethome
    ARGOS_FACT_HOME,            //  record.get of the home of this platform
    ARGOS_FACT_ACK,             //  record.get: whether this chat was told what its messages do
    ARGOS_FACT_AGENT,           //  agent.status
    ARGOS_FACT_LIST,            //  session.list of who speaks
    ARGOS_FACT_RESOLVED,        //  session.resolve of what /resume names
    ARGOS_FACT_LINEAGE,         //  session.lineage of that one
    ARGOS_FACT_TARGET,          //  session.get of where it goes on
    ARGOS_FACT_SEARCH,          //  session.search of what /sessions looks for
    ARGOS_FACT_SAID,            //  session.load of what was said last
    ARGOS_FACT_USAGE,           //  usage.get of the session
    ARGOS_FACT_KEPT,            //  agent.list
    ARGOS_FACT_RUNS,            //  run.list of the sender
    ARGOS_FACT_JOBS,            //  job.list of the session
    ARGOS_FACT_TASKS,           //  run.list: what this conversation has asked for in the background
    ARGOS_FACT_PAIRED,          //  record.get: the operator's approval of who speaks
    ARGOS_FACT_PAIRING_PENDING, //  record.get: codes that wait on this platform
    ARGOS_FACT_PAIRING_RATE,    //  record.get: when who speaks has asked last
    ARGOS_FACT_PAIRING_LOCK,    //  record.get: wrong codes of this platform
    ARGOS_FACT_HOOK,            //  hook.command: what hooks say about the command (argos_hook_word)
    ARGOS_FACT_EXEC,            //  tool.call of a quick command: it has run (argos_exec)
    ARGOS_FACTS                 //  How many there are
} argos_fact_t;

#define ARGOS_FACT_BIT(fact) (1U << (fact))

struct argos_gateway_case;

typedef struct {
    const char *type; //  Of the request
    const char *to;   //  Whom it goes to
    int64_t ttl_ms;   //  Patience with the answer, msec
    bool optional;    //  No answer is an answer: the fact is NULL then
    bool alone;       //  The question depends on the message only, and asking changes nothing
    //  The body, new, the caller's; NULL = there is nothing to ask in this case, the fact is NULL
    json_t *(*question) (const struct argos_gateway_case *self);
} argos_fact_row_t;

//  The row of a fact. Static.
const argos_fact_row_t *argos_fact_row (argos_fact_t fact);

//  The first fact of the set `needs` (bits) that the case has not read and that can be asked while
//  those of `asked` have no answer yet; ARGOS_FACTS = none. Those that can't be asked at all are
//  marked as read. *ret_body is the question, new, the caller's.
argos_fact_t argos_fact_next (
    struct argos_gateway_case *self, unsigned needs, unsigned asked, json_t **ret_body);

//  What was answered before (NULL = nothing) and now as one, new. *ret_more: it is not all, and the
//  question is to be asked again, with this as the fact.
json_t *argos_fact_join (argos_fact_t fact, const json_t *before, json_t *answer, bool *ret_more);

#endif
