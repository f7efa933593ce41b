//  argos_asked - what a message does to the questions of its session.
//
//  Invariant: a question is settled with the version that was read, in the commit that tells the
//  turn. Pure. Limits: a page of records of a session (200, 512 KiB); 16 settled by one message.

#include "argos_asked.h"

#include "argos_command.h"
#include "argos_commands.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_question.h"
#include "argos_say.h"
#include "argos_source.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BIT(name) ARGOS_FACT_BIT (ARGOS_FACT_##name)
#define PAGE 200        //  Records of a session that are looked at
#define SETTLE_MAX 16   //  Questions that one message settles: a commit has 64 parts
#define WORDS_MAX 280   //  Characters of the reason of a denial
#define TEXT_MAX 16384  //  Bytes of an answer
#define FASTER_MS 60000 //  An answer of somebody else is news for so long
#define APPROVAL "approval"
#define CLARIFY "clarify"
#define DENY "deny"

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

static const json_t *
s_source (const argos_gateway_case_t *gateway)
{
    return json_object_get (gateway->body, "source");
}

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
//  Questions

//  A record, and what it says

typedef struct {
    const json_t *record;      //  As it was read; NULL = there is none
    argos_question_t question; //  Its value
} asked_t;

static int64_t
s_at (const json_t *record)
{
    return json_integer_value (json_object_get (record, "updated_at"));
}

//  Whether it waits for an answer still.

static bool
s_is_open (const argos_gateway_case_t *gateway, const argos_question_t *question)
{
    return strcmp (question->state, "open") == 0 && question->deadline > gateway->wall;
}

//  Whether who speaks may answer. People have two ids on some platforms.

static argos_question_verdict_t
s_check (const argos_gateway_case_t *gateway, const argos_question_t *question, const char *choice)
{
    const char *lasting = argos_json_text (s_source (gateway), "user_id_alt");
    const char *user = argos_json_text (s_source (gateway), "user_id");
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
    const char *any = strcmp (question->kind, CLARIFY) == 0 ? NULL : argos_json_text (first, "id");
    return s_check (gateway, question, any) == ARGOS_QUESTION_STRANGER;
}

//  Whether a question of a task was asked in this chat.

static bool
s_is_here (const argos_gateway_case_t *gateway, const argos_question_t *question)
{
    static const char *const names[] = { "platform", "account", "chat_id", "thread_id" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp (argos_json_text (question->source, names[i]),
                argos_json_text (s_source (gateway), names[i])) != 0)
            return false;
    return true;
}

//  All records: those of the session, then those of tasks of this chat. New.

static json_t *
s_records (const argos_gateway_case_t *gateway)
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

//  Whether it is one of the session, not of a task.

static bool
s_is_own (const argos_gateway_case_t *gateway, const argos_question_t *question)
{
    char session[ARGOS_SESSION_ID_MAX + 1];
    argos_gateway_session (gateway, session);
    return strcmp (question->session_id, session) == 0;
}

//  The oldest open question asked behind `after` (record NULL = from the first); kind NULL = any,
//  mine = only those that who speaks may answer.

static asked_t
s_next (const argos_gateway_case_t *gateway, const char *kind, bool mine, const json_t *after)
{
    asked_t best = { .record = NULL };
    size_t index;
    json_t *record, *records = s_records (gateway);
    bool behind = !after;
    //  Of the same moment they come in order of their keys, as they are listed
    json_array_foreach (records, index, record) {
        argos_question_t question;
        bool later =
            !after || s_at (record) > s_at (after) || (s_at (record) == s_at (after) && behind);
        behind = behind || record == after;
        if (record == after || !later ||
            !argos_question_read (&question, json_object_get (record, "value")) ||
            !s_is_open (gateway, &question) || (kind && strcmp (question.kind, kind) != 0) ||
            (mine && s_is_stranger (gateway, &question)))
            continue;
        if (!best.record || s_at (record) < s_at (best.record))
            best = (asked_t){ .record = record, .question = question };
    }
    json_decref (records); //  The facts have them
    return best;
}

//  The question of that id, open or not.

static asked_t
s_named (const argos_gateway_case_t *gateway, const char *id)
{
    asked_t found = { .record = NULL };
    size_t index;
    json_t *record, *records = s_records (gateway);
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
        asked = s_next (gateway, NULL, false, asked.record);
    while (asked.record && !s_is_own (gateway, &asked.question));
    return asked.record ? asked.question.run_id : "";
}

bool
argos_asked_since (const argos_gateway_case_t *gateway, int64_t at)
{
    for (asked_t asked = s_next (gateway, APPROVAL, false, NULL); asked.record;
         asked = s_next (gateway, APPROVAL, false, asked.record))
        if (s_at (asked.record) > at)
            return true;
    return false;
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
    const char *by = argos_source_participant (s_source (gateway));
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
    asked_t asked = s_next (gateway, NULL, false, NULL);
    for (int i = 0; asked.record && i < SETTLE_MAX; i++) {
        json_t *value = argos_question_settle (
            json_object_get (asked.record, "value"), "cancelled", NULL, NULL, NULL);
        if (value)
            s_put (&asked, value, parts);
        asked = s_next (gateway, NULL, false, asked.record);
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
    json_t *record, *last = NULL, *records = s_records (gateway);
    json_array_foreach (records, index, record)
        if (strcmp (argos_json_text (json_object_get (record, "value"), "state"), "answered") ==
                0 &&
            (!last || s_at (record) > s_at (last)))
            last = record;
    json_decref (records);
    if (s_next (gateway, APPROVAL, false, NULL).record)
        argos_cmd_say (gateway, parts, SAY_NOT_YOURS);
    else if (last && gateway->wall - s_at (last) < FASTER_MS &&
             strcmp (argos_json_text (json_object_get (last, "value"), "by"),
                 argos_source_participant (s_source (gateway))) != 0)
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
    asked_t asked = s_next (gateway, APPROVAL, true, NULL);
    for (; asked.record && count < SETTLE_MAX && (all || !count);
         asked = s_next (gateway, APPROVAL, true, asked.record)) {
        offered = s_check (gateway, &asked.question, choice) == ARGOS_QUESTION_TAKE;
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
    asked_t asked = s_named (gateway, id);
    bool approval = asked.record && strcmp (asked.question.kind, APPROVAL) == 0;
    argos_question_verdict_t verdict =
        asked.record ? s_check (gateway, &asked.question, option) : ARGOS_QUESTION_CLOSED;
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
    return s_is_own (gateway, question) == own &&
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
        asked = s_next (gateway, CLARIFY, true, NULL);
        while (asked.record && !s_takes (gateway, &asked.question, own))
            asked = s_next (gateway, CLARIFY, true, asked.record);
    }
    if (!asked.record)
        return false;
    const char *choice = argos_question_match (&asked.question, text);
    s_answer (gateway, &asked, choice, choice ? NULL : text, 0, parts);
    if (!s_is_own (gateway, &asked.question))
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
    if (choice && s_next (gateway, APPROVAL, true, NULL).record && s_may (gateway, choice)) {
        s_decide (gateway, choice, false, "", parts);
        return true;
    }
    return s_clarify (gateway, parts);
}
