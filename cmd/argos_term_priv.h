//  argos_term_priv - the terminal of the chat, shared by what reads (argos_term.c) and what writes
//  (argos_term_show.c).

#ifndef ARGOS_TERM_PRIV_H
#define ARGOS_TERM_PRIV_H

#include "argos_ink.h"
#include "argos_paste.h"
#include "argos_term.h"

struct argos_term {
    argos_loop_t *loop;               //  Loop
    argos_term_fn *fn;                //  Told of lines
    void *ctx;                        //  Its argument
    int fd;                           //  What is typed
    char *history;                    //  File, NULL = none
    bool interactive;                 //  A terminal, and libedit
    bool dumb;                        //  One that obeys nothing but the end of a line
    bool shown;                       //  Prompt stands; plain: lines are wanted
    bool mid_line;                    //  The cursor is not at the left
    bool ended;                       //  Nothing more comes
    bool watched;                     //  fd is in the loop
    char *input;                      //  Read and not yet told
    size_t size;                      //  Of it
    char *typed;                      //  Line that libedit has completed
    bool completed;                   //  libedit has completed a line (typed NULL: end of input)
    argos_paste_t paste;              //  What is pasted
    const char *keys;                 //  What libedit gets to read
    size_t keys_left;                 //  Bytes of it
    argos_term_complete_fn *complete; //  Completes a line, NULL = nothing does
    argos_ink_t *ink;                 //  Markdown in colours, NULL = as it is
    char work[64];                    //  What is done meanwhile, "" = nothing
    int64_t work_since;               //  Monotonic msec
    int ticker;                       //  Timer that shows it, -1 = none
    bool drawn;                       //  It stands in the line of the cursor
};

//  To the left, with nothing there.
void argos_term_clear (const argos_term_t *self);

#endif
