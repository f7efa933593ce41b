//  argos_source - what is read from the source of a message and from its platform's block of the
//  configuration. Pure.
//
//  A list is an array of strings and whole numbers (ids are often written without quotes); an entry
//  is compared byte for byte.

#ifndef ARGOS_SOURCE_H
#define ARGOS_SOURCE_H

#include <jansson.h>
#include <stdbool.h>

//  Who speaks: the lasting id (user_id_alt) where the platform has one, else user_id, else "".
//  Borrowed.
const char *argos_source_participant (const json_t *source);

//  Whether it is a chat of two; a source without chat_type is.
bool argos_source_is_direct (const json_t *source);

//  What the configuration says for source: platforms.<platform>.accounts.<account>.<chat
//  type>.<name>, else that without the chat type, else both without the account; NULL when it is
//  not set there. Borrowed.
const json_t *argos_source_setting (const json_t *config, const json_t *source, const char *name);

//  The same as a bool (absent: false) and as a text (absent: "").
bool argos_source_flag (const json_t *config, const json_t *source, const char *name);
const char *argos_source_word (const json_t *config, const json_t *source, const char *name);

//  Whether list (may be NULL) has that entry.
bool argos_list_has (const json_t *list, const char *entry);

//  Whether list (may be NULL) names who speaks: by `*`, by user_id or user_id_alt, or by what
//  stands before the `@` of one of them. Names for people are never looked at: anybody can take
//  any.
bool argos_list_names (const json_t *list, const json_t *source);

#endif
