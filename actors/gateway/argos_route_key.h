//  argos_route_key - which conversation a message belongs to: a pure function of its source.
//
//  Escapes: in every id (chat, thread, participant, and the platform's name) `%` becomes %25 and
//  `:` becomes %3A, so that an id can never look like two. One shape keeps its colons: a webhook
//  delivery, whose chat id is `webhook:<route>:<delivery>` and whose user id is `webhook:<route>`,
//  without a thread. There the four colons of the shape stand as they are, and route and delivery
//  are escaped as any other id. No other source has five components behind its chat type, so
//  nothing else can make that key. The second of two dots becomes %2E: a key never has `..` in it,
//  and as it begins with `agent:` it is neither an absolute path nor one with a drive.
//
//  Limits of the form, which is fixed by what it has to be compatible with: an absent component
//  leaves no trace, so a group message in thread 7 that is shared by everybody and one by user 7
//  outside of any thread have the same key. Platforms number the two differently; whoever must be
//  sure compares the source that is kept beside the route. A key is never parsed back.

#ifndef ARGOS_ROUTE_KEY_H
#define ARGOS_ROUTE_KEY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_ROUTE_KEY_MAX 1024    //  Bytes of a key
#define ARGOS_ROUTE_RECORD_SIZE 513 //  Of the key of its records, terminated

typedef struct {
    const char *profile;     //  NULL or "" = main; else the profile that this gateway serves
    bool per_user;           //  In a group everybody has a session of his own (default true)
    bool per_user_in_thread; //  In a thread as well (default false: a thread is shared)
} argos_route_policy_t;

//  The defaults of above.
void argos_route_policy_init (argos_route_policy_t *policy);

//  Writes the key of source (an object as in message.inbound, checked by its schema) to target,
//  which has size bytes, at least ARGOS_ROUTE_KEY_MAX + 1. A key that would be longer ends in `%~`
//  and a SHA-256 of the whole, which no escaped id contains. Returns 0, or -1 when source is no
//  object or target too small; then target is "".
int argos_route_key (
    const json_t *source, const argos_route_policy_t *policy, char *target, size_t size);

//  The key of the records of a conversation (settings, questions), from the key of its route: the
//  same, or a hash when that is too long.
void argos_route_record (const char *key, char target[static ARGOS_ROUTE_RECORD_SIZE]);

//  Whether several people speak in the session of source: its key does not name who speaks, and it
//  is no chat of two.
bool argos_route_is_shared (const json_t *source, const argos_route_policy_t *policy);

//  The lane of what is sent to the chat of source, inside its deliver service: chat and thread,
//  escaped as above and joined by a colon; the participant when there is no chat, "-" when there is
//  nothing. Same limits and return.
int argos_route_lane (const json_t *source, char *target, size_t size);

#endif
