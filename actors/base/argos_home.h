//  argos_home - the home of a platform, where goes what has no chat of its own. Pure.
//
//  It is said in two places: by `/sethome`, as a record (space `home`, key = platform, value
//  {"source","over"}), and in the settings (platforms.<p>.home_channel, which the environment is
//  laid over). Who has said it last wins: the record counts as long as the settings say what it
//  says, or what they said when it was made (`over`); else somebody has set them since.

#ifndef ARGOS_HOME_H
#define ARGOS_HOME_H

#include <jansson.h>
#include <stdbool.h>

//  What the settings say: a source with platform, chat_id, thread_id? and chat_name?, ids as texts;
//  new. NULL = nothing.
json_t *argos_home_set (const json_t *settings, const char *platform);

//  Whether two sources of a platform are one chat and thread.
bool argos_home_same (const json_t *one, const json_t *other);

//  The value of the record for /sethome in the chat of source; new.
json_t *argos_home_value (const json_t *settings, const json_t *source);

//  The home: the source of the record, whole, or what the settings say; new. NULL = there is none.
//  value is that of the record (NULL = none).
json_t *argos_home (const json_t *settings, const char *platform, const json_t *value);

#endif
