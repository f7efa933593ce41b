//  argos_term - the keyboard and the screen of the chat: libedit on a terminal, plain lines
//  otherwise.
//
//  On a terminal a prompt stands while it is shown (argos_term_show); then libedit has the
//  keyboard, and what is printed goes above the prompt. While it is hidden the terminal is as the
//  shell left it; lines typed then are read as they are. Lines pasted together are told as one text
//  with newlines. Single-threaded.

#ifndef ARGOS_TERM_H
#define ARGOS_TERM_H

#include "argos_loop.h"

#define ARGOS_TERM_WORD 512 //  Bytes of a completion, terminated

typedef struct argos_term argos_term_t;

//  line is NULL at the end of input; borrowed for the call.
typedef void (argos_term_fn) (void *ctx, const char *line);

//  Line number `index` that what has been typed may become, to target, ARGOS_TERM_WORD bytes; false
//  behind the last.
typedef bool (argos_term_complete_fn) (void *ctx, const char *typed, size_t index, char *target);

//  plain: lines without prompt and history, even on a terminal. history is the file of earlier
//  lines.
argos_term_t *argos_term_new (
    argos_loop_t *loop, bool plain, const char *history, argos_term_fn *fn, void *ctx);
void argos_term_destroy (argos_term_t **self_p);

//  The tabulator completes a line by this, which is called with the ctx of lines; where nothing can
//  be completed it is a character.
void argos_term_complete (argos_term_t *self, argos_term_complete_fn *fn);

//  Whether there is a person at a terminal.
bool argos_term_is_interactive (const argos_term_t *self);

//  A prompt, and lines are told; plain: lines are told. Idempotent.
void argos_term_show (argos_term_t *self);

//  No prompt. On a terminal lines are still told, plain input waits.
void argos_term_hide (argos_term_t *self);

//  We were stopped, and others had the terminal: the prompt is drawn again.
void argos_term_resume (argos_term_t *self);

//  Gives the keyboard back for good; before the loop goes.
void argos_term_stop (argos_term_t *self);

//  A line at the bottom says what is done meanwhile, and for how long: no prompt stands and nothing
//  else has been written to that line. NULL = nothing is done. A terminal only; its timer runs no
//  longer than that.
void argos_term_work (argos_term_t *self, const char *what);

//  Text in Markdown as it comes (plain: as it is); it may end within a line, and break ends that.
void argos_term_text (argos_term_t *self, const char *text, size_t size);
void argos_term_break (argos_term_t *self);

//  The terminal itself has written something (the ^C of an interrupt).
void argos_term_echoed (argos_term_t *self);

//  A whole text in Markdown, on lines of its own.
void argos_term_say (argos_term_t *self, const char *text);

//  A line of its own begins at the left, as it is.
void argos_term_line (argos_term_t *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

#endif
