//  argos_trie - patterns of dotted names, found by the names that fit them.
//
//  A name is segments between dots. In a pattern the segment `*` stands for exactly one segment,
//  and `>`, which is the last, for one or more. A segment that only contains one of these
//  characters means itself. Pure; one thread.

#ifndef ARGOS_TRIE_H
#define ARGOS_TRIE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct argos_trie argos_trie_t;

//  A new empty trie; the caller's. The patterns are freed with it, their values are not.
argos_trie_t *argos_trie_new (void);
void argos_trie_destroy (argos_trie_t **self_p);

//  Whether the text has a wildcard, so that it is no name; and whether such a text is well formed
//  (no empty segment, `>` only at its end).
bool argos_trie_is_pattern (const char *text);
bool argos_trie_is_valid (const char *text);

//  Whether the name fits the pattern (a pattern without wildcards fits itself only).
bool argos_trie_fits (const char *pattern, const char *name);

//  The place for the value of a pattern, NULL at first; made when it is not there. Borrowed until
//  the pattern is removed.
void **argos_trie_insert (argos_trie_t *self, const char *pattern);

//  Takes a pattern out. Returns its value, NULL when it was not there.
void *argos_trie_remove (argos_trie_t *self, const char *pattern);

//  Calls fn for the value of each pattern that the name fits, each once, in no order. fn must not
//  change the trie.
void argos_trie_match (
    const argos_trie_t *self, const char *name, void (*fn) (void *arg, void *value), void *arg);

//  How many patterns it has.
size_t argos_trie_count (const argos_trie_t *self);

#endif
