//  argos_signature - what an agent is built of, as 16 hex digits.
//
//  Pure. Two turns with the same signature may share one agent: the system prompt and the schemas
//  of the tools have the same bytes. How much the model is to think is not part of it, and neither
//  is anything else that is set anew at each turn.

#ifndef ARGOS_SIGNATURE_H
#define ARGOS_SIGNATURE_H

#include <jansson.h>
#include <stdint.h>

#define ARGOS_SIGNATURE_SIZE 17 //  With its end
#define ARGOS_SHA256_SIZE 65    //  Of a whole SHA-256, in hex, with its end

//  The first 16 digits of SHA-256 over the canonical JSON of these members of profile, in order:
//  model, key_hash, base_url, provider, requested_provider, api_mode, capabilities (sorted),
//  toolsets (sorted), prompt, keys (sorted by name), user_id, user_id_alt, skip_context. What is
//  absent or null is empty; other members are not looked at. profile may be NULL.
void argos_signature (const json_t *profile, char target[static ARGOS_SIGNATURE_SIZE]);

//  Member key_hash: of the whole key, never of its beginning. NULL and "" make "".
void argos_signature_key (const char *key, char target[static ARGOS_SHA256_SIZE]);

//  Member keys: the settings that shape an agent, each present, null when it is not set; and the
//  generation of the tool registry. settings may be NULL or anything. New.
json_t *argos_signature_keys (const json_t *settings, int64_t generation);

//  The hash of a frozen prompt: of its bytes in the order in which they are sent.
void argos_signature_prompt (const json_t *prompt, char target[static ARGOS_SHA256_SIZE]);

#endif
