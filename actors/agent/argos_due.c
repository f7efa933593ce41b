//  argos_due - many timers behind one: a binary heap of things that are due.
//
//  Invariant: nodes[i]->place == i + 1, and no node is due before its parent.

#include "argos_due.h"

#include <stdlib.h>

static void
s_put (argos_due_t *self, size_t at, argos_due_node_t *node)
{
    self->nodes[at] = node;
    node->place = at + 1;
}

static void
s_up (argos_due_t *self, size_t at)
{
    argos_due_node_t *node = self->nodes[at];
    while (at && self->nodes[(at - 1) / 2]->due_ms > node->due_ms) {
        s_put (self, at, self->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    s_put (self, at, node);
}

static void
s_down (argos_due_t *self, size_t at)
{
    argos_due_node_t *node = self->nodes[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= self->count)
            break;
        if (child + 1 < self->count && self->nodes[child + 1]->due_ms < self->nodes[child]->due_ms)
            child++;
        if (self->nodes[child]->due_ms >= node->due_ms)
            break;
        s_put (self, at, self->nodes[child]);
        at = child;
    }
    s_put (self, at, node);
}

static void
s_remove (argos_due_t *self, argos_due_node_t *node)
{
    size_t at = node->place - 1;
    node->place = 0;
    argos_due_node_t *last = self->nodes[--self->count];
    if (last == node)
        return;
    s_put (self, at, last);
    s_up (self, at);
    s_down (self, last->place - 1);
}

void
argos_due_clear (argos_due_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->nodes[i]->place = 0;
    free (self->nodes);
    *self = (argos_due_t){ 0 };
}

void
argos_due_set (argos_due_t *self, argos_due_node_t *node, int64_t due_ms)
{
    if (node->place)
        s_remove (self, node);
    if (due_ms < 0)
        return;
    if (self->count == self->room) {
        size_t room = self->room ? self->room * 2 : 64;
        argos_due_node_t **nodes =
            (argos_due_node_t **) realloc (self->nodes, room * sizeof (void *));
        if (!nodes)
            abort ();
        self->nodes = nodes;
        self->room = room;
    }
    node->due_ms = due_ms;
    self->nodes[self->count] = node;
    s_up (self, self->count++);
}

int64_t
argos_due_first (const argos_due_t *self)
{
    return self->count ? self->nodes[0]->due_ms : -1;
}

argos_due_node_t *
argos_due_pop (argos_due_t *self, int64_t now)
{
    if (!self->count || self->nodes[0]->due_ms > now)
        return NULL;
    argos_due_node_t *node = self->nodes[0];
    s_remove (self, node);
    return node;
}
