//  argos_handover - hand a session over to a platform, for `argos handoff` and for /handoff in the
//  chat.

#ifndef ARGOS_HANDOVER_H
#define ARGOS_HANDOVER_H

#include "argos_cli.h"

//  One handoff that is asked for, and waited for

typedef struct {
    argos_cli_t *cli;   //  Connected
    char session[257];  //  What is handed over
    char platform[33];  //  Where to
    const char *target; //  Chat there, NULL = its home
    const char *key;    //  Route that leads to it; NULL = not known
    json_t *source;     //  With a key: makes a session that is not stored yet
    bool wait;          //  For a turn that runs, instead of refusing
    void (*say) (void *ctx, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
    void *ctx;       //  Handed to say
    bool waiting;    //  For an entry; see argos_handover_entry
    bool heard;      //  One has come since the last look
    char title[257]; //  Of the session, or its id
    char why[1024];  //  It has failed
} argos_handover_t;

//  Splits PLATFORM[:TARGET] (changed). Returns false when it is none.
bool argos_handover_words (argos_handover_t *self, char *word);

//  Asks for it and waits until it is over: prints its lines by say. CLI_OK: the session goes on
//  there, and nothing is to be said here any more. Else it is still ours, unless it says so, and
//  why tells the reason.
int argos_handover_run (argos_handover_t *self);

//  To be called with each entry that comes meanwhile.
void argos_handover_entry (argos_handover_t *self, const char *topic, const argos_loop_msg_t *msg);

#endif
