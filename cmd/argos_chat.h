//  argos_chat - the state of one chat, shared by the files that talk (argos_chat.c) and show
//  (argos_chat_show.c).

#ifndef ARGOS_CHAT_H
#define ARGOS_CHAT_H

#include "argos_cli.h"
#include "argos_term.h"

#define CHAT_RUN_ID_SIZE 37 //  run_, 32 hex digits, and the end

typedef struct chat chat_t;
typedef struct chat_run chat_run_t;

//  A message that has been sent and whose answer has not been shown to the end

struct chat_run {
    chat_t *chat;                  //  Ours
    char run_id[CHAT_RUN_ID_SIZE]; //  Its run
    char message_id[80];           //  Id of the message
    bool command;                  //  Begins with a slash: a notice is its answer
    bool help;                     //  It asks for help
    bool asked;                    //  The send has not been answered
    bool asks;                     //  Its question is shown, the person's answer has not been sent
    bool over;                     //  Shown to the end; freed once it is not `asked`
    int64_t segment;               //  Segment that is shown
    char *shown;                   //  What was shown of it
    size_t size, room;             //  Used and allocated
    char *ending;                  //  The run has ended with this text; the delivery is to come
    bool failed;                   //  It ended as a failure
    char *notice;                  //  Said of it last while it was going on
    chat_run_t *next;              //  In order of sending
};

struct chat {
    argos_cli_t *cli;   //  Ours
    argos_term_t *term; //  Keyboard and screen
    char name[48];      //  Of the chat
    char user[64];      //  Who types
    char service[64];   //  Its deliveries
    chat_run_t *runs;   //  Waiting for answers
    uint64_t sent;      //  Messages sent
    int64_t started;    //  Wall msec, part of the ids
    bool lost;          //  The daemon is gone; said so
    bool asking;        //  Ctrl-C asked for a run's row
    int64_t interrupt;  //  Time of the last Ctrl-C that could do nothing more, 0 = none
    char *handoff;      //  What was typed to hand it over; ours, NULL = nothing
    void *handing;      //  The handoff that is under way, NULL = none
    bool leaving;       //  End as soon as nothing is waited for
    int rc;             //  Exit code
};

//  argos_chat_show.c: entries of a run's topic, and deliveries.
void argos_chat_entry (chat_run_t *run, const argos_loop_msg_t *msg);

//  Shows what of the answer has not been shown. run NULL: an answer nobody waits for here.
void argos_chat_answer (
    chat_t *self, chat_run_t *run, const char *kind, const char *text, bool again);

//  Whether the entry is a question that any text answers: its delivery is a notice like others.
bool argos_chat_is_open (const argos_loop_msg_t *msg);

//  What can be chosen, below the text of a question.
void argos_chat_options (chat_t *self, const json_t *body);

//  Whether the line answers a question that stands; then who asked is waited for again.
bool argos_chat_replies (chat_t *self, const char *text);

//  A text of a body, borrowed; "" when there is none.
const char *argos_chat_text (const json_t *body, const char *name);

//  Says who answers here.
void argos_chat_introduce (chat_t *self);

//  argos_chat_handoff.c: whether the line is /handoff; and doing it. Returns whether the
//  conversation has gone.
bool argos_chat_is_handoff (const char *line);
bool argos_chat_handoff (chat_t *self);

//  One event of --json. Steals body.
void argos_chat_event (chat_t *self, const char *type, const char *run_id, json_t *body);

#endif
