//  argos_agent_ask - the parts of a commit that ask people, and those that settle a question.
//
//  Pure. Invariant: a question is put with the call that it is for, and settled with what follows
//  from the answer: the result, or the permission to run it.

#include "argos_agent_priv.h"
#include "argos_question.h"

#include <stdio.h>
#include <string.h>

void
parts_ask (parts_t *self, const turn_t *turn)
{
    for (size_t i = 0; i < turn->tool_count; i++) {
        const json_t *question = turn->tools[i].question;
        char id[80];
        if (!question || turn->tools[i].settled)
            continue;
        parts_store (self, "record.put", argos_question_put (question, 0));
        parts_entry (self, turn->run_id, "question.asked", false, argos_question_asked (question));
        snprintf (id, sizeof id, "%s.%s", turn->run_id,
            json_string_value (json_object_get (question, "id")));
        parts_chat (self, turn->body, id, argos_question_prompt (question, NULL));
    }
}

//  "session" and "always" allow the same pattern from now on
static void
s_grant (parts_t *self, const turn_t *turn, const tool_t *tool)
{
    argos_question_t verdict;
    char key[513];
    if (!tool->allowed || !argos_question_read (&verdict, tool->verdict) || !verdict.grant ||
        !verdict.choice || strcmp (verdict.choice, "once") == 0)
        return;
    bool always = strcmp (verdict.choice, "always") == 0;
    int length = snprintf (key, sizeof key, "%s/%s", always ? "*" : turn->session, verdict.grant);
    if (length < (int) sizeof key)
        parts_store (self, "record.put",
            json_pack ("{s:s, s:s, s:{s:s, s:s*}}", "space", "grant", "key", key, "value",
                "question_id", verdict.id, "by", verdict.by));
}

//  An answered record is ours alone from now on; one that expires may be answered at this moment
static void
s_settle (parts_t *self, const turn_t *turn, const tool_t *tool)
{
    json_t *put = argos_question_put (tool->verdict, tool->version);
    if (json_object_get (tool->verdict, "used"))
        json_object_del (put, "version");
    parts_store (self, "record.put", put);
    parts_entry (
        self, turn->run_id, "question.closed", false, argos_question_closed (tool->verdict));
    s_grant (self, turn, tool);
    if (tool->allowed)
        parts_started (self, turn, tool);
}

void
parts_settle (parts_t *self, const turn_t *turn)
{
    for (size_t i = 0; i < turn->tool_count; i++)
        if (turn->tools[i].settling && turn->tools[i].batch)
            parts_delegate_settle (self, turn, &turn->tools[i]);
        else if (turn->tools[i].settling)
            s_settle (self, turn, &turn->tools[i]);
}

void
parts_drop_questions (parts_t *self, const turn_t *turn)
{
    parts_delegate_drop (self, turn);
    for (size_t i = 0; i < turn->tool_count; i++) {
        const tool_t *tool = &turn->tools[i];
        if (!tool->question || tool->settled)
            continue;
        json_t *dropped = argos_question_settle (tool->question, "cancelled", NULL, NULL, NULL);
        json_t *put = argos_question_put (dropped, 0);
        json_object_del (put, "version");
        parts_store (self, "record.put", put);
        parts_entry (self, turn->run_id, "question.closed", false, argos_question_closed (dropped));
        json_decref (dropped);
    }
}
