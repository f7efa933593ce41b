//  argos_paste - tells what is pasted from what is typed, in the bytes of a terminal.
//
//  A terminal that was asked to (PASTE_ON) puts a mark before and behind a paste. Pure: bytes in,
//  bytes out.

#ifndef ARGOS_PASTE_H
#define ARGOS_PASTE_H

#include <stdbool.h>
#include <stddef.h>

#define PASTE_ON "\033[?2004h"  //  Asks the terminal for the marks
#define PASTE_OFF "\033[?2004l" //  No more of them
#define PASTE_MAX 262144        //  Bytes of one paste

typedef struct {
    char mark[8];  //  Start of what may be a mark
    size_t marked; //  Bytes of it
    bool inside;   //  Between the marks
    bool too_big;  //  The paste is larger than PASTE_MAX; the rest of it is dropped
    char *text;    //  The paste, PASTE_MAX bytes, made with the first one
    size_t size;   //  Of it
    bool after_cr; //  Its last byte was a CR, told as a newline
} argos_paste_t;

typedef enum {
    ARGOS_PASTE_NONE,  //  More has to come
    ARGOS_PASTE_TYPED, //  *ret_size bytes of ret_typed were typed
    ARGOS_PASTE_END    //  A paste is complete: text and size, until the next byte
} argos_paste_event_t;

//  One byte from the terminal. ret_typed has room for 8 bytes.
argos_paste_event_t argos_paste_feed (
    argos_paste_t *self, char byte, char ret_typed[static 8], size_t *ret_size);

//  Frees the text. Idempotent.
void argos_paste_clear (argos_paste_t *self);

#endif
