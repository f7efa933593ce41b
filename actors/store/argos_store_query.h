//  argos_store_query - what people type becomes a query that the index can't misunderstand.
//
//  Pure. Words are those between blanks; "…" is a phrase, a star at the end the beginning of a
//  word, AND, OR and NOT stand between two words. One operator that dangles at either end is left
//  out.

#ifndef ARGOS_STORE_QUERY_H
#define ARGOS_STORE_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#define ARGOS_STORE_WORDS_MAX 64 //  Words of a query; those behind are left out

typedef enum {
    ARGOS_QUERY_NONE,     //  Nothing can be found
    ARGOS_QUERY_WORDS,    //  By the index of words
    ARGOS_QUERY_TRIGRAMS, //  By the index of three characters: every word of CJK has three
    ARGOS_QUERY_PLAIN     //  By looking through the texts for any of the words
} argos_query_kind_t;

typedef struct {
    const char *text; //  First byte, in what was given
    size_t size;      //  Bytes
    bool phrase;      //  It was quoted
    bool star;        //  The beginning of a word
} argos_store_word_t;

typedef struct argos_store_query {
    argos_query_kind_t kind;                         //  How it is to be answered
    char *text;                                      //  For MATCH, when there is an index; ours
    size_t count;                                    //  Words
    argos_store_word_t words[ARGOS_STORE_WORDS_MAX]; //  In the text that was given
} argos_store_query_t;

//  Reads a query; new. The text has to live as long.
argos_store_query_t *argos_store_query_new (const char *text);
void argos_store_query_destroy (argos_store_query_t **self_p);

//  The query with an expression in place of some of its words (NULL = the word itself), new. It has
//  the kind ARGOS_QUERY_WORDS.
char *argos_store_query_spelled (
    const argos_store_query_t *self, char *const words[static ARGOS_STORE_WORDS_MAX]);

//  Whether that word is AND, OR or NOT.
bool argos_store_query_is_operator (const argos_store_query_t *self, size_t word);

#endif
