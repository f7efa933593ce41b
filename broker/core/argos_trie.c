//  argos_trie - one node per segment of a pattern; a name walks down three ways at most: its own
//  segment, `*`, and `>`.
//
//  Invariant: a node without children and without a pattern is freed at once, so the size follows
//  the patterns that are there. Limits: names as long as addresses (DEPTH_MAX segments at most), so
//  that the walk, which goes both the literal and the `*` way, is bounded by the patterns.

#include "argos_trie.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

typedef struct node node_t;

struct node {
    node_t *parent;    //  NULL = the root
    node_t *children;  //  By segment, wildcards among them
    bool taken;        //  A pattern ends here
    void *value;       //  Its value
    size_t size;       //  Bytes of the segment
    UT_hash_handle hh; //  In the parent's children
    char segment[];    //  Not terminated
};

struct argos_trie {
    node_t *root; //  Has no segment
    size_t count; //  Patterns
};

argos_trie_t *
argos_trie_new (void)
{
    argos_trie_t *self = calloc (1, sizeof *self);
    assert (self);
    self->root = calloc (1, sizeof *self->root);
    assert (self->root);
    return self;
}

//  Frees the children of a node, the deepest first.

static void
s_free_children (node_t *top)
{
    node_t *node = top;
    for (;;) {
        while (node->children)
            node = node->children;
        if (node == top)
            return;
        node_t *parent = node->parent;
        HASH_DEL (parent->children, node);
        free (node);
        node = parent;
    }
}

void
argos_trie_destroy (argos_trie_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    s_free_children ((*self_p)->root);
    free ((*self_p)->root);
    free (*self_p);
    *self_p = NULL;
}

size_t
argos_trie_count (const argos_trie_t *self)
{
    return self->count;
}

//  ------------------------------------------------------------------------------------------------
//  Segments

static size_t
s_size (const char *segment)
{
    return strcspn (segment, ".");
}

//  The segment behind this one of that size, NULL = there is none

static const char *
s_next (const char *segment, size_t size)
{
    return segment[size] ? segment + size + 1 : NULL;
}

static bool
s_is (const char *segment, size_t size, char wildcard)
{
    return size == 1 && *segment == wildcard;
}

bool
argos_trie_is_pattern (const char *text)
{
    for (const char *at = text; at;) {
        size_t size = s_size (at);
        if (s_is (at, size, '*') || s_is (at, size, '>'))
            return true;
        at = s_next (at, size);
    }
    return false;
}

bool
argos_trie_is_valid (const char *text)
{
    for (const char *at = text; at;) {
        size_t size = s_size (at);
        const char *next = s_next (at, size);
        if (size == 0 || (s_is (at, size, '>') && next))
            return false;
        at = next;
    }
    return true;
}

bool
argos_trie_fits (const char *pattern, const char *name)
{
    while (pattern && name) {
        size_t wanted = s_size (pattern), size = s_size (name);
        if (s_is (pattern, wanted, '>') && !s_next (pattern, wanted))
            return true;
        if (!s_is (pattern, wanted, '*') && (wanted != size || memcmp (pattern, name, size) != 0))
            return false;
        pattern = s_next (pattern, wanted);
        name = s_next (name, size);
    }
    return !pattern && !name;
}

//  ------------------------------------------------------------------------------------------------
//  Patterns

static node_t *
s_child (const node_t *node, const char *segment, size_t size)
{
    node_t *child;
    HASH_FIND (hh, node->children, segment, size, child);
    return child;
}

static node_t *
s_child_made (node_t *node, const char *segment, size_t size)
{
    node_t *child = s_child (node, segment, size);
    if (child)
        return child;
    child = calloc (1, sizeof *child + size);
    assert (child);
    child->parent = node;
    child->size = size;
    memcpy (child->segment, segment, size);
    HASH_ADD_KEYPTR (hh, node->children, child->segment, size, child);
    return child;
}

void **
argos_trie_insert (argos_trie_t *self, const char *pattern)
{
    node_t *node = self->root;
    for (const char *at = pattern; at;) {
        size_t size = s_size (at);
        node = s_child_made (node, at, size);
        at = s_next (at, size);
    }
    self->count += !node->taken;
    node->taken = true;
    return &node->value;
}

void *
argos_trie_remove (argos_trie_t *self, const char *pattern)
{
    node_t *node = self->root;
    for (const char *at = pattern; at && node;) {
        size_t size = s_size (at);
        node = s_child (node, at, size);
        at = s_next (at, size);
    }
    if (!node || !node->taken)
        return NULL;
    void *value = node->value;
    node->taken = false;
    node->value = NULL;
    self->count--;
    while (node->parent && !node->taken && !node->children) {
        node_t *parent = node->parent;
        HASH_DEL (parent->children, node);
        free (node);
        node = parent;
    }
    return value;
}

//  What a walk carries

typedef struct {
    void (*fn) (void *arg, void *value); //  Called for each value
    void *arg;                           //  Its argument
} walk_t;

//  As deep as the name has segments; an address bounds those.

static void
s_match (const node_t *node, const char *name, const walk_t *walk) //  NOLINT(misc-no-recursion)
{
    if (!name) {
        if (node->taken)
            walk->fn (walk->arg, node->value);
        return;
    }
    size_t size = s_size (name);
    const char *rest = s_next (name, size);
    const node_t *same = s_child (node, name, size), *one = s_child (node, "*", 1);
    const node_t *more = s_child (node, ">", 1);
    if (more && more->taken)
        walk->fn (walk->arg, more->value);
    if (same && same != one && same != more)
        s_match (same, rest, walk);
    if (one)
        s_match (one, rest, walk);
}

void
argos_trie_match (
    const argos_trie_t *self, const char *name, void (*fn) (void *arg, void *value), void *arg)
{
    const walk_t walk = { fn, arg };
    if (self->count)
        s_match (self->root, name, &walk);
}
