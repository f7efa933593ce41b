//  argos_asked_find - which questions wait for an answer, and for whose.
//
//  Invariant: what is found is borrowed from the facts. Pure. Limits: a page of records of a
//  session (200, 512 KiB), and one of those of tasks.

#include "argos_asked_priv.h"

#include "argos_json_get.h"

#include <string.h>

#define PAGE 200 //  Records of a session that are looked at

json_t *
argos_cmd_ask_asked (const argos_gateway_case_t *gateway)
{
    char session[ARGOS_SESSION_ID_MAX + 1], prefix[ARGOS_QUESTION_KEY];
    argos_gateway_session (gateway, session);
    argos_question_key (session, "", prefix);
    return *session ? json_pack ("{s:s, s:s, s:i}", "space", ARGOS_QUESTION_SPACE, "prefix", prefix,
                          "limit", PAGE)
                    : NULL;
}

//  Tasks have sessions called bg_..., and their questions are asked in the chat they come from.

json_t *
argos_cmd_ask_asked_tasks (const argos_gateway_case_t *gateway)
{
    (void) gateway;
    return json_pack (
        "{s:s, s:s, s:i}", "space", ARGOS_QUESTION_SPACE, "prefix", "bg_", "limit", PAGE);
}

const json_t *
asked_source (const argos_gateway_case_t *gateway)
{
    return json_object_get (gateway->body, "source");
}

int64_t
asked_at (const json_t *record)
{
    return json_integer_value (json_object_get (record, "updated_at"));
}

//  Whether it waits for an answer still.

static bool
s_is_open (const argos_gateway_case_t *gateway, const argos_question_t *question)
{
    return strcmp (question->state, "open") == 0 && question->deadline > gateway->wall;
}

argos_question_verdict_t
asked_check (
    const argos_gateway_case_t *gateway, const argos_question_t *question, const char *choice)
{
    const char *lasting = argos_json_text (asked_source (gateway), "user_id_alt");
    const char *user = argos_json_text (asked_source (gateway), "user_id");
    argos_question_verdict_t verdict =
        argos_question_check (question, *lasting ? lasting : user, choice, gateway->wall);
    return verdict == ARGOS_QUESTION_STRANGER
               ? argos_question_check (question, user, choice, gateway->wall)
               : verdict;
}

static bool
s_is_stranger (const argos_gateway_case_t *gateway, const argos_question_t *question)
{
    const json_t *first = json_array_get (question->options, 0);
    const char *any =
        strcmp (question->kind, ASKED_CLARIFY) == 0 ? NULL : argos_json_text (first, "id");
    return asked_check (gateway, question, any) == ARGOS_QUESTION_STRANGER;
}

//  Whether a question of a task was asked in this chat.

static bool
s_is_here (const argos_gateway_case_t *gateway, const argos_question_t *question)
{
    static const char *const names[] = { "platform", "account", "chat_id", "thread_id" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp (argos_json_text (question->source, names[i]),
                argos_json_text (asked_source (gateway), names[i])) != 0)
            return false;
    return true;
}

json_t *
asked_records (const argos_gateway_case_t *gateway)
{
    json_t *records = json_array (), *record;
    size_t index;
    argos_question_t question;
    json_array_extend (records, json_object_get (gateway->fact[ARGOS_FACT_ASKED], "records"));
    json_array_foreach (
        json_object_get (gateway->fact[ARGOS_FACT_ASKED_TASKS], "records"), index, record)
        if (argos_question_read (&question, json_object_get (record, "value")) &&
            s_is_here (gateway, &question))
            json_array_append (records, record);
    return records;
}

bool
asked_is_own (const argos_gateway_case_t *gateway, const argos_question_t *question)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_session (gateway, session);
    return strcmp (question->session_id, session) == 0;
}

asked_t
asked_next (const argos_gateway_case_t *gateway, const char *kind, bool mine, const json_t *after)
{
    asked_t best = { .record = NULL };
    size_t index;
    json_t *record, *records = asked_records (gateway);
    bool behind = !after;
    //  Of the same moment they come in order of their keys, as they are listed
    json_array_foreach (records, index, record) {
        argos_question_t question;
        bool later = !after || asked_at (record) > asked_at (after) ||
                     (asked_at (record) == asked_at (after) && behind);
        behind = behind || record == after;
        if (record == after || !later ||
            !argos_question_read (&question, json_object_get (record, "value")) ||
            !s_is_open (gateway, &question) || (kind && strcmp (question.kind, kind) != 0) ||
            (mine && s_is_stranger (gateway, &question)))
            continue;
        if (!best.record || asked_at (record) < asked_at (best.record))
            best = (asked_t){ .record = record, .question = question };
    }
    json_decref (records); //  The facts have them
    return best;
}

asked_t
asked_named (const argos_gateway_case_t *gateway, const char *id)
{
    asked_t found = { .record = NULL };
    size_t index;
    json_t *record, *records = asked_records (gateway);
    json_array_foreach (records, index, record) {
        argos_question_t question;
        if (argos_question_read (&question, json_object_get (record, "value")) &&
            strcmp (question.id, id) == 0)
            found = (asked_t){ .record = record, .question = question };
    }
    json_decref (records);
    return found;
}

const char *
argos_asked_run (const argos_gateway_case_t *gateway)
{
    asked_t asked = { .record = NULL };
    do
        asked = asked_next (gateway, NULL, false, asked.record);
    while (asked.record && !asked_is_own (gateway, &asked.question));
    return asked.record ? asked.question.run_id : "";
}

bool
argos_asked_since (const argos_gateway_case_t *gateway, int64_t at)
{
    for (asked_t asked = asked_next (gateway, ASKED_APPROVAL, false, NULL); asked.record;
         asked = asked_next (gateway, ASKED_APPROVAL, false, asked.record))
        if (asked_at (asked.record) > at)
            return true;
    return false;
}
