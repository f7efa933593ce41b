//  argos_parts - makes the parts that the gateway commits (see argos_gateway.h). Pure.

#ifndef ARGOS_PARTS_H
#define ARGOS_PARTS_H

#include "argos_gateway.h"

#define ARGOS_DIGEST_SIZE 33 //  32 hex digits, terminated

//  The first 32 hex digits of SHA-256 (base name of from, NUL, id): the same for the same message,
//  at every attempt.
void argos_parts_digest (const char *from, const char *id, char *target);

//  A store operation. body is stolen.
void argos_parts_store_new (json_t *parts, const char *type, json_t *body);

//  A durable message to service `turn` in the lane of a session; side means urgent too. body is
//  stolen.
void argos_parts_turn_new (
    json_t *parts, const char *type, const char *id, const char *session, bool side, json_t *body);

//  The turn.request among the parts (borrowed), NULL = there is none.
json_t *argos_parts_request (const json_t *parts);

//  A message to the chat of source. Nothing is added when the source has no deliver service (see
//  argos_parts_service).
void argos_parts_deliver (json_t *parts, const json_t *source, const char *id, const char *kind,
    const char *text, const char *reply_to);

//  The run has failed: its row, and the last entry of its topic. task is that of its turn.request,
//  NULL = it is none.
void argos_parts_failed (json_t *parts, const char *run, const json_t *task, const char *reason);

//  What becomes of a run, for the adapter of source (argos_out): state queued or done; reply_to and
//  delivery may be NULL. Nothing is added when the source has no deliver service.
void argos_parts_out (json_t *parts, const json_t *source, const char *reply_to, const char *run,
    const char *state, const char *delivery);

//  Name of the service that delivers to source, to target (65 bytes). Returns false, with "", for
//  the API, whose answer is the run itself, and when platform and account make no valid name.
bool argos_parts_service (const json_t *source, char *target);

//  How many bytes the first `count` characters of a text have, or all of them when they are fewer.
size_t argos_parts_bytes (const char *text, size_t count);

//  Copy text to target, at most size - 1 bytes, never half a character.
void argos_parts_cut (const char *text, char *target, size_t size);

#endif
