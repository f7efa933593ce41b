//  argos_due - many timers behind one: a binary heap of things that are due.
//
//  Pure. A node belongs to its owner and is in at most one heap; all calls cost O(log n).

#ifndef ARGOS_DUE_H
#define ARGOS_DUE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t due_ms; //  When, monotonic msec
    size_t place;   //  Place in the heap from 1, 0 = in none
    void *owner;    //  Whose timer it is
} argos_due_node_t;

typedef struct {
    argos_due_node_t **nodes; //  The heap; nodes[0] is the first one due
    size_t count;             //  Nodes in it
    size_t room;              //  Pointers allocated
} argos_due_t;

//  Frees the heap, not the nodes.
void argos_due_clear (argos_due_t *self);

//  Puts the node in, or moves it; due_ms < 0 takes it out.
void argos_due_set (argos_due_t *self, argos_due_node_t *node, int64_t due_ms);

//  When the first one is due, -1 = the heap is empty.
int64_t argos_due_first (const argos_due_t *self);

//  Takes out and returns the first node that is due at now, or NULL.
argos_due_node_t *argos_due_pop (argos_due_t *self, int64_t now);

#endif
