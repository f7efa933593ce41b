//  argos_question - a question of a running turn to people: an approval or a clarify. Pure.
//
//  A question is a record in the space `question`, key "<session id>/<question id>". The agent puts
//  it in the commit that records the tool call, with a prompt for the chat and a `question.asked`
//  on the topic of the run, and parks. Who answers (gateway, API) does it by ONE commit: the record
//  with the version that was read, state `answered`, and a durable side message `question.answer`
//  to service:turn with the session as key; a conflict means that somebody was faster. The agent
//  takes the message in the commit that uses it, so an answer counts once. Without one until the
//  deadline it is a denial (approval) or no answer (clarify).
//
//  An option of a prompt has the id "<question id>:<option id>", so that a button of an old
//  question never answers a newer one: give what came back to argos_question_split first.

#ifndef ARGOS_QUESTION_H
#define ARGOS_QUESTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_QUESTION_SPACE "question"
#define ARGOS_QUESTION_ID 15           //  "q_" and 12 hex digits, terminated
#define ARGOS_QUESTION_KEY 513         //  Key of the record, terminated
#define ARGOS_QUESTION_HASH 65         //  SHA-256 in hex, terminated
#define ARGOS_QUESTION_TEXT_MAX 4096   //  Bytes of what is shown
#define ARGOS_QUESTION_OPTIONS 8       //  Options at most
#define ARGOS_QUESTION_OPTION 33       //  Id of an option, terminated
#define ARGOS_QUESTION_VALUE_MAX 32768 //  Bytes of a record as JSON
#define ARGOS_QUESTION_END_MAX 2048    //  Of these, kept for its end: who, and which option

//  One that is read; all borrowed from the value.
typedef struct {
    const char *id;         //  "q_..."
    const char *kind;       //  "approval" or "clarify"
    const char *session_id; //  Whose lane waits
    const char *run_id;     //  Which run has asked
    const char *call_id;    //  For which tool call
    const char *tool;       //  Which tool; NULL = none
    const char *text;       //  What is shown
    const char *hash;       //  Of the exact action; NULL = none
    const char *grant;      //  Pattern that `session` and `always` would allow; NULL = none
    const json_t *options;  //  [{"id","label"}], [] = an open question
    const json_t *allowed;  //  User ids that may answer; NULL = who may speak in that chat
    const json_t *source;   //  Chat of the turn
    int64_t deadline;       //  Msec since 1970
    const char *state;      //  "open", "answered", "expired", "cancelled"
    const char *choice;     //  Option that was chosen; NULL = none
    const char *answer;     //  Text that was given; NULL = none
    const char *by;         //  User id, or what has answered; NULL = nobody
} argos_question_t;

typedef enum {
    ARGOS_QUESTION_TAKE,     //  It may be answered so
    ARGOS_QUESTION_CLOSED,   //  It was answered, cancelled, or has expired
    ARGOS_QUESTION_LATE,     //  Its deadline is over
    ARGOS_QUESTION_STRANGER, //  Who answers is not among those who may
    ARGOS_QUESTION_NO_CHOICE //  That is none of its options
} argos_question_verdict_t;

//  Id of the question that a call asks; always the same for the same call.
void argos_question_id (const char *run_id, const char *call_id, char target[ARGOS_QUESTION_ID]);

//  Key of its record.
void argos_question_key (
    const char *session_id, const char *question_id, char target[ARGOS_QUESTION_KEY]);

//  Hash of an action: tool and arguments, whatever the order of their members.
void argos_question_hash (
    const char *tool, const json_t *arguments, char target[ARGOS_QUESTION_HASH]);

//  A new open question from its members; tool, hash, grant, allowed and options
//  may be NULL. The text is
//  cut at ARGOS_QUESTION_TEXT_MAX. Returns the value, the caller's; NULL when it has more options
//  than ARGOS_QUESTION_OPTIONS, or is too large for a record: it always has room for an end without
//  a text.
json_t *argos_question_new (const argos_question_t *members);

//  The four options of an approval, new; with `once` and `deny` only when only_once is set.
json_t *argos_question_approval_options (bool only_once);

//  Reads a value. Returns false when it is none of a question.
bool argos_question_read (argos_question_t *self, const json_t *value);

//  What comes back of a prompt: writes the two ids. Returns false (and touches nothing) when the
//  text is no such id.
bool argos_question_split (
    const char *text, char question_id[ARGOS_QUESTION_ID], char option_id[ARGOS_QUESTION_OPTION]);

//  The option that a text means: its id, its label in any case, or its number from 1 when it is a
//  clarify. Returns the id, borrowed; NULL = none of them.
const char *argos_question_match (const argos_question_t *self, const char *text);

//  Whether `by` may answer it now (msec since 1970) with that option. choice NULL = with a text,
//  which a clarify alone takes.
argos_question_verdict_t argos_question_check (
    const argos_question_t *self, const char *by, const char *choice, int64_t now);

//  The value in another state: "answered" with choice or text and by, or "expired" or "cancelled".
//  Each may be NULL. Returns a new value; NULL when the text makes it too large.
json_t *argos_question_settle (
    const json_t *value, const char *state, const char *choice, const char *text, const char *by);

//  Bodies, new: record.put (version as it was read, 0 = there is none yet), question.answer,
//  deliver.request with op prompt (buttons; an open question is an ordinary message),
//  question.asked and question.closed. The value must be one that argos_question_read takes.
json_t *argos_question_put (const json_t *value, int64_t version);
json_t *argos_question_answer (
    const char *question_id, const char *choice, const char *text, const char *by);
json_t *argos_question_prompt (const json_t *value, const char *reply_to);
json_t *argos_question_asked (const json_t *value);
json_t *argos_question_closed (const json_t *value);

#endif
