//  argos - the public header of libargos: talk to an Argos broker from C.
//
//  One header, one library (libargos.a, with libczmq, libzmq, jansson, libsodium and libyaml behind
//  it). The peer does the work: argos_peer.h says how. Call argos_schema_init once before the first
//  peer: then bodies are checked before a handler sees them. clients/c/example_adapter.c is a
//  complete adapter.

#ifndef ARGOS_H
#define ARGOS_H

#include "argos_errors.h"
#include "argos_peer.h"
#include "argos_schema.h"

#endif
