//  argos_sl_read - what an envelope of Slack's Socket Mode says to the agent. Pure.
//
//  A message and its mention are two events of one text: both have the same id here, made of app,
//  team, channel and time stamp. A thread is the time stamp of the message that it began with.

#ifndef ARGOS_SL_READ_H
#define ARGOS_SL_READ_H

#include <jansson.h>
#include <stdbool.h>

typedef struct {
    const char *account;    //  Ours
    const char *user;       //  Our user there
    const char *bot;        //  Our bot there
    const json_t *settings; //  The snapshot
    const json_t *threads;  //  {"channel:ts": true} in which we take part
    const json_t *names;    //  {user: name} as far as they are known
} argos_sl_who_t;

typedef struct {
    const char *why; //  It is not for us: a word; NULL = it is
    bool begins;     //  It begins a thread of ours
    json_t *message; //  {"id","key","body"}, new; NULL = none
    json_t *files;   //  [{"url","kind","name","media_type"?}], new; NULL = none
} argos_sl_in_t;

//  The channel of an envelope ("" = it has none), and the user whose name is to be known ("" =
//  nobody's).
const char *argos_sl_channel (const json_t *envelope);
const char *argos_sl_needs (const json_t *envelope, const argos_sl_who_t *who);

//  An envelope of type events_api, slash_commands or interactive.
void argos_sl_read (const json_t *envelope, const argos_sl_who_t *who, argos_sl_in_t *ret_in);

//  Slack's text as people read it: entities decoded, links as `label (address)`, without what calls
//  us. New.
char *argos_sl_text (const char *text, const char *user);

#endif
