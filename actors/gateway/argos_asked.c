//  argos_asked - what a message does to the questions of its session.
//
//  Invariant: a question is settled with the version that was read, in the commit that tells the
//  turn. Pure. Limit: 16 settled by one message.

#include "argos_asked_priv.h"

#include "argos_command.h"
#include "argos_commands.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_say.h"
#include "argos_source.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BIT(name) ARGOS_FACT_BIT (ARGOS_FACT_##name)
#define SETTLE_MAX 16   //  Questions that one message settles: a commit has 64 parts
#define WORDS_MAX 280   //  Characters of the reason of a denial
#define TEXT_MAX 16384  //  Bytes of an answer
#define FASTER_MS 60000 //  An answer of somebody else is news for so long
#define DENY "deny"

//  What was said; what we have made ourselves, and what has files, is no answer.

static const char *
s_said (const argos_gateway_case_t *gateway)
{
    if (json_is_true (json_object_get (gateway->body, "internal")) ||
        json_array_size (json_object_get (gateway->body, "attachments")))
        return "";
    return argos_json_text (gateway->body, "text");
}

//  ------------------------------------------------------------------------------------------------
//  Settling

static void
s_put (const asked_t *asked, json_t *value, json_t *parts)
{
    argos_parts_store_new (parts, "record.put",
        argos_question_put (
            value, json_integer_value (json_object_get (asked->record, "version"))));
    json_decref (value);
}

//  The answer: the record, and the word to the turn. number tells several of one message apart.

static void
s_answer (const argos_gateway_case_t *gateway, const asked_t *asked, const char *choice,
    const char *text, int number, json_t *parts)
{
    char prefix[16], id[64], cut[TEXT_MAX + 1];
    const char *by = argos_source_participant (asked_source (gateway));
    argos_parts_cut (text ? text : "", cut, sizeof cut);
    text = text ? cut : NULL;
    by = *by ? by : "somebody";
    json_t *value = argos_question_settle (
        json_object_get (asked->record, "value"), "answered", choice, text, by);
    if (!value)
        return; //  Its record would be too large: the deadline will close it
    s_put (asked, value, parts);
    snprintf (prefix, sizeof prefix, "qa%d", number);
    argos_cmd_id (gateway, prefix, id);
    argos_parts_turn_new (parts, "question.answer", id, asked->question.session_id, true,
        argos_question_answer (asked->question.id, choice, text, by));
}

void
argos_asked_cancel (const argos_gateway_case_t *gateway, json_t *parts)
{
    asked_t asked = asked_next (gateway, NULL, false, NULL);
    for (int i = 0; asked.record && i < SETTLE_MAX; i++) {
        json_t *value = argos_question_settle (
            json_object_get (asked.record, "value"), "cancelled", NULL, NULL, NULL);
        if (value)
            s_put (&asked, value, parts);
        asked = asked_next (gateway, NULL, false, asked.record);
    }
}

//  ------------------------------------------------------------------------------------------------
//  /approve and /deny

//  Whether who speaks may use the command that the choice stands for, as a button or a word does.

static bool
s_may (const argos_gateway_case_t *gateway, const char *choice)
{
    const char *command = strcmp (choice, DENY) == 0 ? DENY : "approve";
    return argos_command_is_offered (gateway, argos_commands_find (command));
}

static void
s_tell (const argos_gateway_case_t *gateway, const char *choice, int count, json_t *parts)
{
    static const struct {
        const char *choice, *scope; //  What was chosen, and how far it goes
    } scopes[] = { { "session", " for this session" }, { "always", " for good" } };
    const char *scope = "";
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (strcmp (choice, scopes[i].choice) == 0)
            scope = scopes[i].scope;
    char several[32] = "";
    if (count > 1)
        snprintf (several, sizeof several, " (%d)", count);
    if (strcmp (choice, DENY) == 0)
        argos_cmd_say (gateway, parts, SAY_DENIED, several);
    else
        argos_cmd_say (gateway, parts, SAY_APPROVED, scope, several);
}

//  Nothing that who speaks may answer is open: why.

static void
s_tell_none (const argos_gateway_case_t *gateway, json_t *parts)
{
    size_t index;
    json_t *record, *last = NULL, *records = asked_records (gateway);
    json_array_foreach (records, index, record)
        if (strcmp (argos_json_text (json_object_get (record, "value"), "state"), "answered") ==
                0 &&
            (!last || asked_at (record) > asked_at (last)))
            last = record;
    json_decref (records);
    if (asked_next (gateway, ASKED_APPROVAL, false, NULL).record)
        argos_cmd_say (gateway, parts, SAY_NOT_YOURS);
    else if (last && gateway->wall - asked_at (last) < FASTER_MS &&
             strcmp (argos_json_text (json_object_get (last, "value"), "by"),
                 argos_source_participant (asked_source (gateway))) != 0)
        argos_cmd_say (gateway, parts, SAY_FASTER);
    else
        argos_cmd_say (gateway, parts, SAY_NOTHING_PENDING);
}

//  Answers the oldest approval, or all of them.

static void
s_decide (const argos_gateway_case_t *gateway, const char *choice, bool all, const char *reason,
    json_t *parts)
{
    int count = 0;
    bool offered = true;
    asked_t asked = asked_next (gateway, ASKED_APPROVAL, true, NULL);
    for (; asked.record && count < SETTLE_MAX && (all || !count);
         asked = asked_next (gateway, ASKED_APPROVAL, true, asked.record)) {
        offered = asked_check (gateway, &asked.question, choice) == ARGOS_QUESTION_TAKE;
        if (offered)
            s_answer (gateway, &asked, choice, *reason ? reason : NULL, count++, parts);
        else if (!all)
            break;
    }
    if (count)
        s_tell (gateway, choice, count, parts);
    else if (!offered)
        argos_cmd_say (gateway, parts, SAY_NOT_OFFERED, choice);
    else
        s_tell_none (gateway, parts);
}

//  Takes a word off the beginning of text, when it is that one.

static bool
s_take (const char **text, const char *word)
{
    size_t length = strlen (word);
    if (strncasecmp (*text, word, length) != 0 || ((*text)[length] && (*text)[length] != ' '))
        return false;
    *text += length;
    *text += strspn (*text, " \t\r\n");
    return true;
}

void
argos_cmd_approve (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    bool all = s_take (&arguments, "all");
    const char *choice = s_take (&arguments, "session")  ? "session"
                         : s_take (&arguments, "always") ? "always"
                                                         : "once";
    if (*arguments)
        argos_cmd_say (gateway, parts, SAY_USAGE, "approve", "[all] [session|always]");
    else
        s_decide (gateway, choice, all, "", parts);
}

void
argos_cmd_deny (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char reason[4 * WORDS_MAX + 1];
    bool all = s_take (&arguments, "all");
    argos_parts_cut (arguments, reason, argos_parts_bytes (arguments, WORDS_MAX) + 1);
    s_decide (gateway, DENY, all, reason, parts);
}

//  ------------------------------------------------------------------------------------------------
//  Buttons, words and texts

//  What a plain word means while an approval waits; NULL = nothing.

static const char *
s_word (const char *text)
{
    static const struct {
        const char *word, *choice; //  What is said, and what it chooses
    } words[] = { { "yes", "once" }, { "y", "once" }, { "ok", "once" }, { "okay", "once" },
        { "approve", "once" }, { "approved", "once" }, { "allow", "once" }, { "go ahead", "once" },
        { "do it", "once" }, { "confirm", "once" }, { "sure", "once" }, { "always", "always" },
        { "no", DENY }, { "n", DENY }, { "deny", DENY }, { "denied", DENY }, { "cancel", DENY },
        { "reject", DENY }, { "don't", DENY }, { "nope", DENY } };
    text += strspn (text, " \t\r\n");
    size_t length = strlen (text);
    while (length && strchr (" \t\r\n.!", text[length - 1]))
        length--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen (words[i].word) == length && strncasecmp (words[i].word, text, length) == 0)
            return words[i].choice;
    return NULL;
}

static bool
s_is_button (const char *text)
{
    char question[ARGOS_QUESTION_ID], option[ARGOS_QUESTION_OPTION];
    return argos_question_split (text, question, option);
}

//  A button answers its own question, or nothing: never the newer one.

static void
s_press (const argos_gateway_case_t *gateway, json_t *parts)
{
    char id[ARGOS_QUESTION_ID], option[ARGOS_QUESTION_OPTION];
    argos_question_split (s_said (gateway), id, option);
    asked_t asked = asked_named (gateway, id);
    bool approval = asked.record && strcmp (asked.question.kind, ASKED_APPROVAL) == 0;
    argos_question_verdict_t verdict =
        asked.record ? asked_check (gateway, &asked.question, option) : ARGOS_QUESTION_CLOSED;
    if (verdict == ARGOS_QUESTION_TAKE && approval && !s_may (gateway, option))
        argos_cmd_say (
            gateway, parts, SAY_ADMIN_ONLY, strcmp (option, DENY) == 0 ? DENY : "approve");
    else if (verdict == ARGOS_QUESTION_TAKE) {
        s_answer (gateway, &asked, option, NULL, 0, parts);
        if (approval)
            s_tell (gateway, option, 1, parts);
    }
    else if (verdict == ARGOS_QUESTION_STRANGER)
        argos_cmd_say (gateway, parts, SAY_NOT_YOURS);
    else if (verdict == ARGOS_QUESTION_CLOSED && asked.record &&
             strcmp (asked.question.state, "answered") == 0)
        argos_cmd_say (gateway, parts, SAY_FASTER);
    else if (verdict == ARGOS_QUESTION_NO_CHOICE)
        argos_cmd_say (gateway, parts, SAY_NOT_OFFERED, option);
    else
        argos_cmd_say (gateway, parts, SAY_CLOSED);
}

//  One of the session takes whatever is said, one of a task what it offers, or anything if nothing.

static bool
s_takes (const argos_gateway_case_t *gateway, const argos_question_t *question, bool own)
{
    return asked_is_own (gateway, question) == own &&
           (own || !json_array_size (question->options) ||
               argos_question_match (question, s_said (gateway)));
}

//  A text is what was meant by a clarify: one of its options, or what is said. The session's come
//  before those of tasks.

static bool
s_clarify (const argos_gateway_case_t *gateway, json_t *parts)
{
    const char *text = s_said (gateway);
    asked_t asked = { .record = NULL };
    if (!text[strspn (text, " \t\r\n")])
        return false;
    for (int own = 1; own >= 0 && !asked.record; own--) {
        asked = asked_next (gateway, ASKED_CLARIFY, true, NULL);
        while (asked.record && !s_takes (gateway, &asked.question, own))
            asked = asked_next (gateway, ASKED_CLARIFY, true, asked.record);
    }
    if (!asked.record)
        return false;
    const char *choice = argos_question_match (&asked.question, text);
    s_answer (gateway, &asked, choice, choice ? NULL : text, 0, parts);
    if (!asked_is_own (gateway, &asked.question))
        argos_cmd_say (gateway, parts, SAY_TASK_TOLD, asked.question.session_id);
    return true;
}

unsigned
argos_asked_needs (const argos_gateway_case_t *gateway)
{
    size_t index;
    json_t *message;
    if (!*s_said (gateway))
        return 0;
    if (s_is_button (s_said (gateway)))
        return BIT (ASKED) | BIT (ASKED_TASKS);
    //  The route knows whether the chat has tasks; without one a word may be meant for one still
    bool tasks = gateway->fact[ARGOS_FACT_ROUTE]
                     ? json_is_true (json_object_get (gateway->fact[ARGOS_FACT_ROUTE], "tasks"))
                     : s_word (s_said (gateway)) != NULL;
    unsigned task = tasks ? BIT (ASKED_TASKS) : 0;
    //  Only a turn asks, and while it waits it is in its lane
    json_array_foreach (
        json_object_get (gateway->fact[ARGOS_FACT_LANE], "messages"), index, message)
        if (strcmp (argos_json_text (message, "type"), "turn.request") == 0)
            return BIT (LANE) | BIT (ASKED) | task;
    return BIT (LANE) | task;
}

bool
argos_asked_step (const argos_gateway_case_t *gateway, json_t *parts)
{
    const char *text = s_said (gateway), *choice = s_word (text);
    if (s_is_button (text)) {
        s_press (gateway, parts);
        return true;
    }
    if (choice && asked_next (gateway, ASKED_APPROVAL, true, NULL).record &&
        s_may (gateway, choice)) {
        s_decide (gateway, choice, false, "", parts);
        return true;
    }
    return s_clarify (gateway, parts);
}
