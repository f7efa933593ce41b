//  argos_ask - see argos_ask.h.
//
//  Invariant: an answer depends on the request and on what was read only. Pure. Limits: a page of
//  100 people.

#include "argos_ask.h"

#include "argos_gate.h"
#include "argos_json_get.h"
#include "argos_pairing.h"
#include "argos_send.h"
#include "argos_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *
s_get (json_t **ret_body, const char *space, const char *key)
{
    *ret_body = json_pack ("{s:s, s:s}", "space", space, "key", key);
    return "record.get";
}

//  A record of what an operator has done, or tried.

static void
s_audit (const argos_ask_t *self, const char *event, const char *user, json_t *writes)
{
    char key[64];
    snprintf (key, sizeof key, "%013" PRId64 ".%016" PRIx64, self->wall, self->entropy);
    json_t *value = json_pack ("{s:s, s:s, s:s}", "event", event, "from", self->from, "platform",
        argos_json_text (self->body, "platform"));
    if (user)
        json_object_set_new (value, "user_id", json_string (user));
    json_array_append_new (
        writes, json_pack ("{s:s, s:s, s:o, s:I}", "space", ARGOS_GATE_AUDIT, "key", key, "value",
                    value, "expires_at", (json_int_t) self->wall + ARGOS_GATE_KEEP_MS));
}

//  ---------------------------------------------------------------------------------------------
//  pairing.list

static const char *
s_list_question (const argos_ask_t *self, size_t index, json_t **ret_body)
{
    json_t *after = json_object_get (self->body, "after");
    if (index > 1)
        return NULL;
    *ret_body =
        json_pack ("{s:s}", "space", index == 0 ? ARGOS_PAIRING_PENDING : ARGOS_PAIRING_APPROVED);
    if (index == 1 && after)
        json_object_set (*ret_body, "after", after);
    return "record.list";
}

static argos_err_t
s_list_answer (
    const argos_ask_t *self, json_t **ret_reply, json_t *writes, char reason[ARGOS_ASK_REASON])
{
    (void) writes;
    *reason = 0; //  Nothing can go wrong
    json_t *pending = json_array (), *approved = json_array (), *record;
    size_t index;
    if (!json_object_get (self->body, "after"))
        json_array_foreach (json_object_get (self->read[0], "records"), index, record)
            argos_pairing_pending (record, self->wall, pending);
    json_array_foreach (json_object_get (self->read[1], "records"), index, record) {
        const char *key = argos_json_text (record, "key");
        json_t *row = json_copy (json_object_get (record, "value"));
        json_object_set_new (row, "platform", json_stringn (key, strcspn (key, ":")));
        json_array_append_new (approved, row);
    }
    *ret_reply = json_pack ("{s:o, s:o}", "pending", pending, "approved", approved);
    json_t *next = json_object_get (self->read[1], "next");
    if (next)
        json_object_set (*ret_reply, "next", next);
    return ARGOS_OK;
}

//  ---------------------------------------------------------------------------------------------
//  pairing.approve, pairing.revoke, pairing.clear

//  Codes of the platform, then its wrong ones.

static const char *
s_codes_question (const argos_ask_t *self, size_t index, json_t **ret_body)
{
    if (index > 1)
        return NULL;
    return s_get (ret_body, index == 0 ? ARGOS_PAIRING_PENDING : ARGOS_PAIRING_RATE,
        argos_json_text (self->body, "platform"));
}

static argos_err_t
s_approve_answer (
    const argos_ask_t *self, json_t **ret_reply, json_t *writes, char reason[ARGOS_ASK_REASON])
{
    const argos_pairing_t facts = {
        .pending = self->read[0], .lock = self->read[1], .wall = self->wall
    };
    const char *platform = argos_json_text (self->body, "platform");
    argos_err_t code = argos_pairing_approve (
        &facts, platform, argos_json_text (self->body, "code"), self->from, ret_reply, writes);
    if (code == ARGOS_BUSY)
        snprintf (reason, ARGOS_ASK_REASON,
            "too many wrong codes: %.32s is locked for an hour, or until it is cleared", platform);
    else if (code != ARGOS_OK)
        snprintf (reason, ARGOS_ASK_REASON, "no code like that waits on %.32s", platform);
    const char *user = *ret_reply ? argos_json_text (*ret_reply, "user_id") : NULL;
    if (code != ARGOS_BUSY)
        s_audit (self, user ? "approved" : "wrong_code", user, writes);
    return code;
}

//  Codes of the platform, then the approval of the user.

static const char *
s_user_question (const argos_ask_t *self, size_t index, json_t **ret_body)
{
    char key[ARGOS_PAIRING_KEY_SIZE];
    const char *platform = argos_json_text (self->body, "platform");
    argos_pairing_key (platform, argos_json_text (self->body, "user_id"), key);
    if (index > 1)
        return NULL;
    return index == 0 ? s_get (ret_body, ARGOS_PAIRING_PENDING, platform)
                      : s_get (ret_body, ARGOS_PAIRING_APPROVED, key);
}

static argos_err_t
s_revoke_answer (
    const argos_ask_t *self, json_t **ret_reply, json_t *writes, char reason[ARGOS_ASK_REASON])
{
    const argos_pairing_t facts = {
        .pending = self->read[0], .approved = self->read[1], .wall = self->wall
    };
    const char *platform = argos_json_text (self->body, "platform");
    const char *user = argos_json_text (self->body, "user_id");
    argos_err_t code = argos_pairing_revoke (&facts, platform, user, writes);
    if (code != ARGOS_OK) {
        snprintf (reason, ARGOS_ASK_REASON, "that user of %.32s is not paired", platform);
        return code;
    }
    s_audit (self, "revoked", user, writes);
    *ret_reply = json_pack ("{s:s}", "user_id", user);
    return ARGOS_OK;
}

static argos_err_t
s_clear_answer (
    const argos_ask_t *self, json_t **ret_reply, json_t *writes, char reason[ARGOS_ASK_REASON])
{
    *reason = 0; //  Nothing can go wrong
    const argos_pairing_t facts = {
        .pending = self->read[0], .lock = self->read[1], .wall = self->wall
    };
    size_t count = argos_pairing_clear (&facts, argos_json_text (self->body, "platform"), writes);
    if (json_array_size (writes))
        s_audit (self, "cleared", NULL, writes);
    *ret_reply = json_pack ("{s:I}", "count", (json_int_t) count);
    return ARGOS_OK;
}

//  ---------------------------------------------------------------------------------------------
//  The table

static const argos_ask_row_t s_table[] = {
    { "channel.send", "channel.send.result", true, argos_send_question, argos_send_answer },
    { "channel.list", "channel.list.result", true, argos_channels_question, argos_channels_answer },
    { "channel.alias", "channel.alias.result", true, argos_channels_question, argos_alias_answer },
    { "pairing.list", "pairing.list.result", false, s_list_question, s_list_answer },
    { "pairing.approve", "pairing.result", false, s_codes_question, s_approve_answer },
    { "pairing.revoke", "pairing.result", false, s_user_question, s_revoke_answer },
    { "pairing.clear", "pairing.result", false, s_codes_question, s_clear_answer },
};

const argos_ask_row_t *
argos_ask_find (const char *type)
{
    for (size_t i = 0; i < sizeof s_table / sizeof *s_table; i++)
        if (strcmp (s_table[i].type, type) == 0)
            return &s_table[i];
    return NULL;
}
