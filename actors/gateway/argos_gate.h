//  argos_gate - the first step of a decision: who may not speak gets no further. Pure.
//
//  Of such a message remains a record of the space `audit`, and for a stranger in a chat of two,
//  where the settings say so, a pairing code. No session, no run, no turn, no other answer.

#ifndef ARGOS_GATE_H
#define ARGOS_GATE_H

#include "argos_gateway.h"

#define ARGOS_GATE_AUDIT "audit"                //  Space of the records
#define ARGOS_GATE_KEEP_MS INT64_C (2592000000) //  A record stays for 30 days

//  Whether this peer may say what it says: a platform that has an owner (argos_platform) belongs to
//  that one alone, and `internal` events come from our own actors. Else the message is rejected as
//  denied.
bool argos_gate_trusts (const argos_gateway_case_t *self);

//  The facts that it takes to know whether the message goes on, bits.
unsigned argos_gate_needs (const argos_gateway_case_t *self);

//  Whether the message goes on, once these facts have been read.
bool argos_gate_passes (const argos_gateway_case_t *self);

//  All that remains of a message that does not; offer false: not even a code. New parts, the
//  caller's.
json_t *argos_gate_parts (const argos_gateway_case_t *self, bool offer);

#endif
