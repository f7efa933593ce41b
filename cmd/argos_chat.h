//  argos_chat - the state of one chat, shared by the files that talk (argos_chat.c), wait
//  (argos_chat_run.c) and show (argos_chat_show.c).

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
    bool picks;                    //  It asks for a list to pick from
    bool asked;                    //  The send has not been answered
    bool asks;                     //  Its question is shown, the person's answer has not been sent
    bool approval;                 //  and the question is an approval: not any text answers it
    bool maybe;                    //  Typed at one: it may be what answers it
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
    bool listing;       //  The person's sessions are asked for
    bool picking;       //  They have been listed: a number is one of them
    json_t *sessions;   //  The latest of them, NULL = not known
    json_t *placing;    //  Places to hand over to that are being asked for, NULL = none are
    json_t *places;     //  Those that are known, words of /handoff; NULL = none
    char tool[48];      //  Works for us, "" = none
    int rc;             //  Exit code
};

//  argos_chat_run.c

//  One more that is waited for: of a message to be sent (run_id NULL makes one), or one that goes
//  on already.
chat_run_t *argos_chat_run_new (chat_t *self, const char *run_id);
void argos_chat_run_free (chat_run_t *run);

//  Its answer has been shown: it is not waited for any more.
void argos_chat_run_over (chat_run_t *run);

//  The one with that id, NULL = none.
chat_run_t *argos_chat_run_find (chat_t *self, const char *run_id);

//  The one whose message this answers. A notice without a run answers a command; an error without
//  one, the message that was refused. NULL = none.
chat_run_t *argos_chat_run_answered (chat_t *self, const char *reply_to, const char *kind);

//  Says in the line at the bottom what is waited for. NULL: no tool.
void argos_chat_working (chat_t *self, const char *tool);

//  The prompt stands, and plain lines are read, while nothing is waited for but the person, or an
//  approval is; leaving waits for all else, too.
void argos_chat_settle (chat_t *self);

//  argos_chat_show.c: entries of a run's topic, and deliveries.
void argos_chat_entry (chat_run_t *run, const argos_loop_msg_t *msg);

//  Shows what of the answer has not been shown. run NULL: an answer nobody waits for here.
void argos_chat_answer (
    chat_t *self, chat_run_t *run, const char *kind, const char *text, bool again);

//  Whether the entry is a question that any text answers: its delivery is a notice like others.
bool argos_chat_is_open (const argos_loop_msg_t *msg);

//  What can be chosen, below the text of a question; of an approval the text says it. Returns
//  whether it is one.
bool argos_chat_options (chat_t *self, const json_t *body);

//  Whether the line of that run answers a question that stands; then who asked is waited for again.
//  Of a plain word at an approval only the end of the question tells.
bool argos_chat_replies (chat_t *self, chat_run_t *run, const char *text);

//  The question of this run is closed: what may have answered it has.
void argos_chat_closed (chat_run_t *run);

//  A text of a body, borrowed; "" when there is none.
const char *argos_chat_text (const json_t *body, const char *name);

//  Says who answers here.
void argos_chat_introduce (chat_t *self);

//  Shows the question that its turn has put before we came, if it is still open.
void argos_chat_asked (chat_t *self);

//  argos_chat_pick.c: asks for the person's sessions, and for platforms and chats, for the
//  completion of a line by argos_chat_complete.
void argos_chat_list (chat_t *self);
void argos_chat_place (chat_t *self);
bool argos_chat_complete (void *ctx, const char *line, size_t index, char *target);

//  Whether the line asks for a list to pick from; the list has been shown; and the line as it is
//  meant by who may be picking: its own, or target.
bool argos_chat_picks (const char *line);
void argos_chat_pick (chat_t *self, const char *list);
const char *argos_chat_picked (chat_t *self, const char *line, char *target, size_t room);

//  argos_chat_handoff.c: whether the line is /handoff; and doing it. Returns whether the
//  conversation has gone.
bool argos_chat_is_handoff (const char *line);
bool argos_chat_handoff (chat_t *self);

//  One event of --json. Steals body.
void argos_chat_event (chat_t *self, const char *type, const char *run_id, json_t *body);

#endif
