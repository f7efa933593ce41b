//  argos_dc_read - what an event of Discord's gateway says to the agent. Pure.
//
//  A place is the channel, and the thread in it: chat_id is the channel (of a thread: its parent),
//  thread_id the thread. A thread that is made of a message has the id of that message.

#ifndef ARGOS_DC_READ_H
#define ARGOS_DC_READ_H

#include <jansson.h>
#include <stdbool.h>

typedef struct {
    const char *account;    //  Ours
    const char *id;         //  Of our user
    const json_t *settings; //  The snapshot
    const json_t *channels; //  {id: channel} as far as they are known
    const json_t *roles;    //  {id of a guild: id of the role that is ours alone}
    const json_t *threads;  //  {id of a thread in which we take part}
    const char *place;      //  Of the event in the stream: what tells a reaction from the next
} argos_dc_who_t;

typedef struct {
    const char *why; //  It is not for us: a word; NULL = it is
    bool new_thread; //  A thread is to be made of the message first
    json_t *message; //  {"id","key","body"}, new; NULL = none
    json_t *files;   //  [{"url","kind","name","media_type"?}], new; NULL = none
} argos_dc_in_t;

//  The id of the channel that has to be known before this event is read; "" = it is known.
const char *argos_dc_read_needs (const json_t *event, const argos_dc_who_t *who);

//  MESSAGE_CREATE.
void argos_dc_read_message (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in);

//  MESSAGE_UPDATE: the new text of a message that was read.
void argos_dc_read_edit (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in);

//  MESSAGE_REACTION_ADD; _REMOVE with a member `removed`: true.
void argos_dc_read_reaction (const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in);

//  INTERACTION_CREATE: a slash command or a button.
void argos_dc_read_interaction (
    const json_t *event, const argos_dc_who_t *who, argos_dc_in_t *ret_in);

//  The source of a message becomes that of the channel: the thread could not be made.
void argos_dc_read_flat (json_t *message, const argos_dc_who_t *who);

//  A name for the thread of a message: its first 80 characters, without mentions. New.
char *argos_dc_thread_name (const char *text);

bool argos_dc_is_thread (const json_t *channel);

#endif
