//  argos_toolset - the tools that there are: ours (schema/tools.json) and those that other peers
//  offer. Pure.
//
//  A tool is an object: name, description, parameters (JSON Schema of an object), the flags
//  mutates (absent = true when it is not ours), admin_only, idempotent, parallel, close (wants
//  task.close), host (ours only: works with the files or processes of a host, so it is called at
//  the home of the task), and by: "agent" = the agent answers it itself, else the peer that has
//  offered it. Their order is that of the table for ours, then by name: what the model is told does
//  not change with who came first.

#ifndef ARGOS_TOOLSET_H
#define ARGOS_TOOLSET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_TOOLSET_SPACE "tool"         //  Space of the records of offers; key = name
#define ARGOS_TOOLSET_TOPIC "tool.offers"  //  Topic that tells of their changes
#define ARGOS_TOOLSET_MAX 64               //  Offers of others
#define ARGOS_TOOLSET_PARAMETERS_MAX 16384 //  Bytes of parameters as JSON

typedef struct argos_toolset argos_toolset_t;

//  Ours only. The caller's.
argos_toolset_t *argos_toolset_new (void);

//  NULL-safe, idempotent.
void argos_toolset_destroy (argos_toolset_t **self_p);

//  Replaces the offers of others by these: an array of records ({"key","value"}); what is no offer,
//  or bears the name of one of ours, is left out. Returns whether anything is other than before.
bool argos_toolset_load (argos_toolset_t *self, const json_t *records);

//  The tool of that name, borrowed until the next load; NULL = there is none.
const json_t *argos_toolset_find (const argos_toolset_t *self, const char *name);

//  A flag of a tool; false when it has none.
bool argos_toolset_flag (const json_t *tool, const char *flag);

//  What the model is told: [{"name","description","parameters"}], the same value until the next
//  load that changes something. Borrowed.
json_t *argos_toolset_told (const argos_toolset_t *self);

//  The names of all, with ", " between them. Borrowed likewise.
const char *argos_toolset_names (const argos_toolset_t *self);

//  A number that is another one whenever what the model is told is (53 bits of its hash).
json_int_t argos_toolset_generation (const argos_toolset_t *self);

//  How many offers of others there are.
size_t argos_toolset_offers (const argos_toolset_t *self);

//  Those of told (of any age) that who is no admin may see: a new array.
json_t *argos_toolset_limited (const argos_toolset_t *self, const json_t *told);

//  Why a call of that tool is not run in a turn of that kind; NULL = it is. Static.
const char *argos_toolset_refusal (
    const argos_toolset_t *self, const char *name, bool restricted, bool read_only);

//  Whether an offer (body of tool.offer, checked by its schema) can be taken, with a sentence in
//  reason (size bytes) when it can't.
bool argos_toolset_check (const json_t *offer, char *reason, size_t size);

//  The value of its record, new; by is who offers it.
json_t *argos_toolset_value (const json_t *offer, const char *by);

//  Arguments as the schema wants them, in place: strings become numbers or booleans where nothing
//  is lost, and arrays or objects when they are JSON of one (E3).
void argos_toolset_coerce (const json_t *parameters, json_t *arguments);

#endif
