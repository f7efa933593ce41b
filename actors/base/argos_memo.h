//  argos_memo - what an agent has noted of one person, for the conversations to come: notes of its
//  own (`memory`) and what it knows of the person (`user`). Pure.
//
//  The record of a person is {"memory":[texts],"user":[texts]}. It is of who speaks, never of all:
//  what one person has said does not reach the prompt of another.

#ifndef ARGOS_MEMO_H
#define ARGOS_MEMO_H

#include <jansson.h>
#include <stdbool.h>

#define ARGOS_MEMO_SPACE "memory"   //  Space of the records
#define ARGOS_MEMO_KEY_SIZE 513     //  Of a key, with its end
#define ARGOS_MEMO_NOTES_MAX 2200   //  Characters of `memory`, with what stands between the entries
#define ARGOS_MEMO_PERSON_MAX 1375  //  Of `user`
#define ARGOS_MEMO_ENTRIES_MAX 1000 //  More of one kind is no record of ours

//  The key of who speaks by the source of a message: platform, account and person, else chat.
//  Returns 0, or -1 when there is nobody.
int argos_memo_key (const json_t *source, char target[static ARGOS_MEMO_KEY_SIZE]);

//  Does what the arguments of the tool say: action add, replace or remove, target memory or user,
//  content, old_text. value is that of the record, NULL = there is none; it is not changed. The
//  record as it is to be, new; NULL when nothing changes. *ret_result is what the model gets, new:
//  with "error" when it could not be done; nothing is done to a record that is not of this form.
json_t *argos_memo_apply (const json_t *value, const json_t *arguments, json_t **ret_result);

//  The system prompt with what the record holds behind it, new; system itself (a new reference or
//  copy) when it holds nothing. An entry that tries to give orders is named, not told.
json_t *argos_memo_prompt (const char *system, const json_t *value);

//  Why a text is not noted, static; NULL = it may be. Orders to a model, secrets carried away,
//  characters that nobody sees.
const char *argos_memo_problem (const char *text);

#endif
