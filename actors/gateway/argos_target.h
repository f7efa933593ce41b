//  argos_target - from what people call a chat to where a message goes. Pure.
//
//  A list of targets has commas between them: `origin` (the chat that asks), `home` (the home of
//  the platform that asks, else the first one), `all` (every home), `<platform>` (its home), or
//  `<platform>[.<account>]:<chat>[:<thread>]`. A chat is an id, an alias, `#name`, `scope/name`, or
//  the beginning of one name only; an id that nobody has spoken from yet is taken as it is. An
//  alias may stand alone.

#ifndef ARGOS_TARGET_H
#define ARGOS_TARGET_H

#include "argos_gateway.h"

#define ARGOS_TARGETS_MAX 8                //  Targets of one list
#define ARGOS_TARGET_SPACE "channel"       //  Records of chats that somebody has spoken from
#define ARGOS_TARGET_ALIAS "channel.alias" //  Records of their aliases
#define ARGOS_TARGET_HOME "home"           //  Records of homes, by platform

//  What is known; all borrowed

typedef struct {
    const json_t *config; //  Settings: platforms.<p>.home_channel; NULL = none
    json_t *homes;        //  Records of ARGOS_TARGET_HOME, {"source"}
    json_t *channels;     //  Records of ARGOS_TARGET_SPACE, {"source","name"}
    json_t *aliases;      //  Records of ARGOS_TARGET_ALIAS, {"target"}
    json_t *origin;       //  Source of the chat that asks, NULL = none
} argos_target_book_t;

//  The sources that a list means, each once, new; a source of the directory is whole, any other has
//  no chat_type. NULL with a sentence in reason when one of them is nothing, or several things.
json_t *argos_target_resolve (
    const argos_target_book_t *book, const char *list, char *reason, size_t size);

//  The record of the chat of source: {"space","key","value"}, new. NULL for a platform that has no
//  chats.
json_t *argos_target_record (const json_t *source);

//  Whether an alias can have that name: a word that is no platform and none of ours.
bool argos_target_alias_valid (const char *alias);

#endif
