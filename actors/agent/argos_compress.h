//  argos_compress - makes a conversation smaller: what is kept, what is summed up, what comes of
//  it. Pure.
//
//  The first messages and the newest ones stay as they are; what is between them becomes one
//  message with a summary that a model writes. Calls and their results stay together.

#ifndef ARGOS_COMPRESS_H
#define ARGOS_COMPRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_COMPRESS_HEAD 3  //  Messages at the begin that are kept
#define ARGOS_COMPRESS_TAIL 20 //  Messages at the end that are kept, when there is no hurry

//  What a list of rows costs, roughly: a token for four bytes.
int64_t argos_compress_tokens (const json_t *rows);

//  Finds the rows [*ret_from, *ret_to) that are to be summed up, so that at least `tail` stay
//  behind them. Returns false when that would be fewer than two rows, or less than a fifth of it
//  all.
bool argos_compress_split (const json_t *rows, size_t tail, size_t *ret_from, size_t *ret_to);

//  What the model that writes the summary is told (static), and the text that it sums up, with what
//  is to be kept in mind (focus may be NULL); new.
const char *argos_compress_system (void);
char *argos_compress_prompt (const json_t *rows, size_t from, size_t to, const char *focus);

//  The rows afterwards, in the form of session.replace; new. NULL when the summary is empty, or
//  they would not be smaller by a tenth. Old results of tools become shorter until the list fits.
json_t *argos_compress_apply (const json_t *rows, size_t from, size_t to, const char *summary);

#endif
