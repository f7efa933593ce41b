//  argos_tg_read - what an update of the Bot API is to us: a message, a button, a group with a new
//  id, or nothing. Pure.

#ifndef ARGOS_TG_READ_H
#define ARGOS_TG_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

//  Who reads it

typedef struct {
    const char *account;    //  Our account
    int64_t id;             //  Of the bot
    const char *username;   //  Of the bot, without @
    bool topics;            //  Its private chats have topics
    const json_t *settings; //  The snapshot: platforms.telegram decides what in groups is for us
    const json_t *aliases;  //  {new chat id: the id that it had at first}; NULL = none
} argos_tg_who_t;

typedef enum {
    ARGOS_TG_NOTHING,  //  It is none of ours; why says so
    ARGOS_TG_MESSAGE,  //  message, and files that belong to it
    ARGOS_TG_BUTTON,   //  message is what was chosen; query has to be answered
    ARGOS_TG_MIGRATION //  old_chat has become new_chat
} argos_tg_kind_t;

//  What it is

typedef struct {
    argos_tg_kind_t kind;       //  .
    const char *why;            //  Of NOTHING: one word for the log; static
    json_t *message;            //  {"id","key","body"} as argos_adapter_store takes it, new
    json_t *files;              //  [{"file_id","size","kind","name","media_type"}], new; or NULL
    const char *group;          //  Album that it is a part of, "" = none; borrowed from the update
    const char *query;          //  Id of the query of a button; borrowed
    int64_t chat, message_id;   //  Of a button's message
    bool loose;                 //  A part of an album that addresses nobody by itself
    bool whole;                 //  A text so long that its client may have cut it here
    bool edited;                //  It was said before, and has another text now
    int64_t old_chat, new_chat; //  Of a migration
} argos_tg_in_t;

//  Reads an update. The caller clears *ret_in.
void argos_tg_read (const json_t *update, const argos_tg_who_t *who, argos_tg_in_t *ret_in);

//  Frees what is in it. Idempotent.
void argos_tg_in_clear (argos_tg_in_t *self);

//  Whether `next` is one message with `first`: a part of the same album, or what follows a text
//  that was cut; then it is folded into first, and `next` is cleared.
bool argos_tg_join (argos_tg_in_t *first, argos_tg_in_t *next);

//  Whether something may still come that belongs to it. What is loose when nothing more comes is
//  not for us.
bool argos_tg_open (const argos_tg_in_t *self);

#endif
