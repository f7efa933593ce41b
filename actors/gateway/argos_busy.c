//  argos_busy - what a message does while a turn of its session runs.
//
//  Invariant: whatever the mode, the text is one durable turn.request; the mode decides only how it
//  meets the turn that runs. Pure. Limits: a message with files, or of our own making, neither
//  steers nor interrupts, where several share a session only who asked, or an admin, interrupts,
//  and nobody a turn whose work others do meanwhile; one acknowledgement in 30 s.

#include "argos_busy.h"

#include "argos_asked.h"
#include "argos_cmd.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_say.h"
#include "argos_setting.h"
#include "argos_source.h"
#include "argos_tier.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ACK_MS 30000 //  Between two acknowledgements in a chat

static const char *
s_source (const argos_gateway_case_t *self, const char *name)
{
    return json_string_value (json_object_get (json_object_get (self->body, "source"), name));
}

static bool
s_is_chat (const argos_gateway_case_t *self)
{
    return !argos_platform_find (s_source (self, "platform"))->by_run;
}

//  The turn that is leased, NULL = none is.

static const json_t *
s_leased (const argos_gateway_case_t *self)
{
    size_t index;
    json_t *message;
    json_array_foreach (json_object_get (self->fact[ARGOS_FACT_LANE], "messages"), index, message)
        if (json_is_true (json_object_get (message, "leased")) &&
            strcmp (argos_json_text (message, "type"), "turn.request") == 0)
            return message;
    return NULL;
}

//  The turn that is at work: leased, or waiting for an answer of people, or parked while others
//  work for it (delegates) or until the model can be asked again.

static const json_t *
s_running (const argos_gateway_case_t *self)
{
    const json_t *running = s_leased (self);
    const char *waits = argos_asked_run (self);
    size_t index;
    json_t *message;
    json_array_foreach (json_object_get (self->fact[ARGOS_FACT_LANE], "messages"), index, message) {
        bool parked = !*waits && json_is_true (json_object_get (message, "parked")) &&
                      strcmp (argos_json_text (message, "type"), "turn.request") == 0;
        if (!running &&
            (parked || (*waits && strcmp (argos_json_text (message, "id"), waits) == 0)))
            running = message;
    }
    return running;
}

unsigned
argos_busy_needs (const argos_gateway_case_t *self)
{
    if (!s_is_chat (self))
        return 0;
    return ARGOS_FACT_BIT (ARGOS_FACT_LANE) |
           (s_running (self) ? ARGOS_FACT_BIT (ARGOS_FACT_ACK) : 0);
}

//  Whether the turn at work may be ended by who speaks now: his own, or he is an admin. Whose it is
//  is asked where several share the session only. What others do for it is not thrown away.

static bool
s_may_interrupt (const argos_gateway_case_t *self)
{
    const json_t *source = json_object_get (self->body, "source");
    const json_t *theirs = json_object_get (json_object_get (s_running (self), "body"), "source");
    if (!s_leased (self) && !*argos_asked_run (self))
        return false;
    return !argos_route_is_shared (source, &self->policy->route) ||
           argos_tier (self->policy->config, source) == ARGOS_TIER_ADMIN ||
           strcmp (argos_source_participant (theirs), argos_source_participant (source)) == 0;
}

argos_busy_t
argos_busy_mode (const argos_gateway_case_t *self)
{
    static const struct {
        const char *name;  //  As it is set
        argos_busy_t mode; //  What it means
    } modes[] = { { "steer", ARGOS_BUSY_STEER }, { "interrupt", ARGOS_BUSY_INTERRUPT } };
    if (!s_is_chat (self) || !s_running (self))
        return ARGOS_BUSY_IDLE;
    const char *name = argos_setting_text (self->policy->config, s_source (self, "platform"),
        s_source (self, "chat_type"), "display.busy_input_mode");
    if (!name || json_array_size (json_object_get (self->body, "attachments")) ||
        json_is_true (json_object_get (self->body, "internal")))
        return ARGOS_BUSY_QUEUE;
    argos_busy_t mode = ARGOS_BUSY_QUEUE;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp (modes[i].name, name) == 0)
            mode = modes[i].mode;
    //  Who waits for people takes nothing in: the text would wake it for nothing
    if ((mode == ARGOS_BUSY_STEER && !s_leased (self)) ||
        (mode == ARGOS_BUSY_INTERRUPT && !s_may_interrupt (self)))
        mode = ARGOS_BUSY_QUEUE;
    return mode;
}

//  The run at work is to end, without a word of its own to the chat.

static void
s_interrupt (const argos_gateway_case_t *self, const char *session, json_t *parts)
{
    char id[64];
    argos_cmd_id (self, "int", id);
    argos_parts_turn_new (parts, "turn.stop", id, session, true,
        json_pack ("{s:s, s:s, s:b}", "run_id", argos_json_text (s_running (self), "id"), "reason",
            "interrupted by a new message", "quiet", 1));
}

bool
argos_busy_turn (
    const argos_gateway_case_t *self, const char *text, argos_busy_t mode, json_t *parts)
{
    argos_gateway_turn (self, text, false, parts);
    json_t *request = argos_parts_request (parts);
    if (!request)
        return false;
    bool side = mode == ARGOS_BUSY_STEER && s_leased (self);
    if (side) {
        json_object_set_new (request, "side", json_true ());
        json_object_set_new (request, "urgent", json_true ());
    }
    //  A session that began anew with this message has nothing that runs
    if (mode == ARGOS_BUSY_INTERRUPT &&
        !json_is_true (json_object_get (json_object_get (request, "body"), "new_session")))
        s_interrupt (self, argos_json_text (request, "key"), parts);
    return true;
}

//  ---------------------------------------------------------------------------------------------
//  Acknowledgements

json_t *
argos_busy_ask_ack (const argos_gateway_case_t *self)
{
    char key[ARGOS_CMD_KEY_SIZE];
    argos_cmd_key (self, key);
    return json_pack ("{s:s, s:s}", "space", "ack", "key", key);
}

//  Whether the chat is to be told; the record keeps the next one quiet.

static bool
s_may_tell (const argos_gateway_case_t *self, json_t *parts)
{
    char key[ARGOS_CMD_KEY_SIZE];
    const json_t *record = json_object_get (self->fact[ARGOS_FACT_ACK], "record");
    if (json_is_object (record) || json_is_true (json_object_get (self->body, "internal")) ||
        !argos_setting_bool (self->policy->config, s_source (self, "platform"),
            s_source (self, "chat_type"), "display.busy_ack_enabled"))
        return false;
    argos_cmd_key (self, key);
    argos_parts_store_new (parts, "record.put",
        json_pack ("{s:s, s:s, s:{}, s:i, s:I}", "space", "ack", "key", key, "value", "version", 0,
            "expires_at", (json_int_t) self->wall + ACK_MS));
    return true;
}

static void
s_tell (const argos_gateway_case_t *self, argos_busy_t mode, json_t *parts)
{
    int running, queued;
    argos_cmd_count (self, &running, &queued);
    int64_t age = self->wall - json_integer_value (json_object_get (s_running (self), "at"));
    if (mode == ARGOS_BUSY_INTERRUPT)
        argos_cmd_say (self, parts, SAY_INTERRUPTING, age > 0 ? age / 60000 : 0);
    else if (mode == ARGOS_BUSY_STEER)
        argos_cmd_say (self, parts, SAY_STEERING);
    else
        argos_cmd_say (self, parts, SAY_QUEUED, queued + 1);
}

void
argos_busy_step (const argos_gateway_case_t *self, const char *text, json_t *parts)
{
    argos_busy_t mode = argos_busy_mode (self);
    if (argos_busy_turn (self, text, mode, parts) && mode != ARGOS_BUSY_IDLE &&
        s_may_tell (self, parts))
        s_tell (self, mode, parts);
}
