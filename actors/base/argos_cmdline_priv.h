//  argos_cmdline_priv - what the files of argos_cmdline share. Not for users.
//
//  argos_cmdline_lex reads a text, argos_cmdline_word makes words of it and writes a word as rules
//  see it, argos_cmdline makes lines of the words.

#ifndef ARGOS_CMDLINE_PRIV_H
#define ARGOS_CMDLINE_PRIV_H

#include "argos_cmdline.h"

#define CMDLINE_WORDS 512 //  Words of one command
#define CMDLINE_VARS 32   //  Variables that are remembered
#define CMDLINE_DEPTH 8   //  Nested texts
#define CMDLINE_MADE 8    //  Files made programs that are remembered
#define CMDLINE_GAP 0x1F  //  A blank inside a word

typedef struct {
    char *data;        //  Bytes, terminated; NULL = none yet
    size_t size, room; //  In use; allocated
} cmdline_buf_t;

typedef struct {
    char *text;  //  Without quotes
    bool quoted; //  It had some: no keyword, nothing to expand
    char sign;   //  It is the target of a redirection: > or <, H = here-string, h = -document
} cmdline_word_t;

typedef struct {
    char name[64]; //  Variable
    char *value;   //  What the text sets it to
} cmdline_var_t;

//  What all nested texts share

typedef struct {
    const argos_cmdline_rules_t *rules; //  Borrowed
    argos_cmdline_t *out;               //  Lines
    cmdline_var_t vars[CMDLINE_VARS];   //  Variables
    size_t var_count;                   //  How many
    char *cwd;                          //  Where it is, NULL = unknown
    char made[CMDLINE_MADE][64];        //  Names of files that chmod has made programs
    size_t made_count;                  //  How many
    size_t work;                        //  Bytes read: texts, values, what pipes bring
} cmdline_state_t;

//  One text

typedef struct {
    cmdline_state_t *state;              //  Shared
    const char *data;                    //  Text
    size_t size, at;                     //  Its length, place
    int depth;                           //  How deep nested
    size_t here_from, here_to;           //  At that newline go on there: behind here-documents
    cmdline_buf_t word;                  //  Word under construction
    bool in_word, quoted;                //  There is one; it had quotes
    char sign;                           //  The next word is the target of this redirection
    cmdline_word_t words[CMDLINE_WORDS]; //  Of the command under construction
    size_t count;                        //  How many
    cmdline_buf_t line;                  //  Commands of the pipeline before it
    cmdline_buf_t raw;                   //  The same with their prefixes
    cmdline_buf_t last;                  //  The pipeline before
    bool prefixed;                       //  raw differs from line
    char *feed; //  What the command before in the pipeline writes, NULL = unknown
    char *here; //  What this command reads, NULL = unknown
} cmdline_text_t;

//  argos_cmdline.c
//  The text of a nested shell.
void cmdline_text (cmdline_state_t *state, const char *data, size_t size, int depth);
//  Whether so many bytes more may be read; beyond the limit they set overflow.
bool cmdline_may_read (cmdline_state_t *state, size_t size);
//  The words make a command; end is what stands behind it: | & ; or 0.
void cmdline_command (cmdline_text_t *self, char end);
void cmdline_add (cmdline_buf_t *buf, const char *data, size_t size);
void cmdline_set (cmdline_state_t *state, const char *name, size_t size, const char *value);
const char *cmdline_get (const cmdline_state_t *state, const char *name, size_t size);

void cmdline_add_str (cmdline_buf_t *buf, const char *text);
//  One line more.
void cmdline_emit (cmdline_state_t *state, const char *line);
//  A word NAME=value.
void cmdline_assign (cmdline_state_t *state, const char *word);
//  The name of the command behind its path.
const char *cmdline_base (const char *word);
bool cmdline_is_one_of (const char *word, const char *const *list, size_t count);
#define CMDLINE_IS_ONE_OF(word, list) cmdline_is_one_of (word, list, sizeof (list) / sizeof *(list))

//  argos_cmdline_hand.c
//  Reads what the command that begins with word number start hands to a shell.
void cmdline_hand (cmdline_text_t *self, size_t start);
//  What it writes into the pipe, new (free); NULL = not known.
char *cmdline_writes (cmdline_text_t *self, size_t start);

//  argos_cmdline_lex.c
//  Reads the whole text.
void cmdline_lex (cmdline_text_t *self);

//  argos_cmdline_word.c
//  What has been read since the last word becomes one, or the words that its braces make.
void cmdline_end_word (cmdline_text_t *self);
//  Appends a word; base = it names a command, path = it is a path also without a slash.
void cmdline_render (
    const cmdline_state_t *state, const char *word, bool base, bool path, cmdline_buf_t *out);
//  Whether the word is NAME=value.
bool cmdline_is_assignment (const char *word);
//  What printf or echo -e make of backslashes, in place.
void cmdline_unescape (char *text);

#endif
