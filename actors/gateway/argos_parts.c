//  argos_parts - makes the parts that the gateway commits.
//
//  Invariant: every durable part has an id that depends on the message only, so that a second
//  attempt makes the same ids. Pure. Limits: those of docs/messages.md; texts are cut, never
//  refused.

#include "argos_parts.h"

#include "argos_header.h"
#include "argos_out.h"
#include "argos_platform.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define ERROR_SIZE 1024  //  Bytes of an error text, terminated
#define TEXT_SIZE 262144 //  Bytes of a text that is delivered
#define SERVICE_PREFIX "deliver."

void
argos_parts_digest (const char *from, const char *id, char *target)
{
    char base[ARGOS_NAME_MAX + 1];
    unsigned char hash[crypto_hash_sha256_BYTES];
    argos_name_base (from, base);
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init (&state);
    //  The terminator is the NUL between the two
    crypto_hash_sha256_update (&state, (const unsigned char *) base, strlen (base) + 1);
    crypto_hash_sha256_update (&state, (const unsigned char *) id, strlen (id));
    crypto_hash_sha256_final (&state, hash);
    sodium_bin2hex (target, ARGOS_DIGEST_SIZE, hash, (ARGOS_DIGEST_SIZE - 1) / 2);
}

size_t
argos_parts_bytes (const char *text, size_t count)
{
    size_t size = 0;
    for (; text[size]; size++)
        if (((unsigned char) text[size] & 0xC0) != 0x80 && !count--)
            break;
    return size;
}

void
argos_parts_cut (const char *text, char *target, size_t size)
{
    size_t length = strlen (text);
    if (length >= size) {
        length = size - 1;
        while (length && ((unsigned char) text[length] & 0xC0) == 0x80)
            length--;
    }
    memcpy (target, text, length);
    target[length] = 0;
}

void
argos_parts_store_new (json_t *parts, const char *type, json_t *body)
{
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:o}", "type", type, "to", "store", "body", body));
}

void
argos_parts_turn_new (
    json_t *parts, const char *type, const char *id, const char *session, bool side, json_t *body)
{
    json_t *part = json_pack ("{s:s, s:s, s:s, s:s, s:b, s:o}", "type", type, "to", "service:turn",
        "id", id, "key", session, "durable", 1, "body", body);
    if (side) {
        json_object_set_new (part, "side", json_true ());
        json_object_set_new (part, "urgent", json_true ());
    }
    json_array_append_new (parts, part);
}

json_t *
argos_parts_request (const json_t *parts)
{
    size_t index;
    json_t *part;
    json_array_foreach (parts, index, part) {
        const char *type = json_string_value (json_object_get (part, "type"));
        if (type && strcmp (type, "turn.request") == 0)
            return part;
    }
    return NULL;
}

bool
argos_parts_service (const json_t *source, char *target)
{
    const char *platform = json_string_value (json_object_get (source, "platform"));
    const char *account = json_string_value (json_object_get (source, "account"));
    *target = 0;
    if (!platform || !account || argos_platform_find (platform)->by_run)
        return false;
    int length = snprintf (target, ARGOS_NAME_MAX + 1, SERVICE_PREFIX "%s.%s", platform, account);
    if (length <= ARGOS_NAME_MAX && argos_name_valid (target))
        return true;
    *target = 0;
    return false;
}

//  Copy a member of the source to the body, when it is there.

static void
s_copy (json_t *body, const json_t *source, const char *name)
{
    json_t *value = json_object_get (source, name);
    if (json_is_string (value))
        json_object_set (body, name, value);
}

void
argos_parts_deliver (json_t *parts, const json_t *source, const char *id, const char *kind,
    const char *text, const char *reply_to)
{
    char service[ARGOS_NAME_MAX + 1], to[ARGOS_TO_MAX + 1], lane[ARGOS_ROUTE_KEY_MAX + 1];
    if (!argos_parts_service (source, service) || argos_route_lane (source, lane, sizeof lane) != 0)
        return;
    snprintf (to, sizeof to, "service:%s", service);
    char *cut = malloc (TEXT_SIZE);
    if (!cut)
        abort ();
    argos_parts_cut (text, cut, TEXT_SIZE);
    json_t *body = json_pack ("{s:s, s:s}", "kind", kind, "text", cut);
    free (cut);
    s_copy (body, source, "chat_id");
    s_copy (body, source, "thread_id");
    if (reply_to)
        json_object_set_new (body, "reply_to", json_string (reply_to));
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:s, s:b, s:o}", "type", "deliver.request", "to", to,
                   "id", id, "key", lane, "durable", 1, "body", body));
}

void
argos_parts_out (json_t *parts, const json_t *source, const char *reply_to, const char *run,
    const char *state, const char *delivery)
{
    char service[ARGOS_NAME_MAX + 1], to[ARGOS_TO_MAX + 1], id[ARGOS_ID_MAX + 1];
    if (!argos_parts_service (source, service) || argos_out_topic (service, to, sizeof to) != 0)
        return;
    snprintf (id, sizeof id, "%s.%s", run, state);
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:b, s:o}", "type", ARGOS_OUT_TYPE, "to", to, "id", id,
                   "durable", 1, "body", argos_out_body (source, reply_to, run, state, delivery)));
}

void
argos_parts_failed (json_t *parts, const char *run, const json_t *task, const char *reason)
{
    char to[ARGOS_TO_MAX + 1], id[ARGOS_ID_MAX + 1], error[ERROR_SIZE];
    snprintf (to, sizeof to, "topic:run.%s", run);
    argos_parts_cut (reason, error, sizeof error);
    argos_parts_store_new (parts, "run.finish",
        json_pack ("{s:s, s:s, s:s}", "run_id", run, "state", "failed", "error", error));
    if (task) {
        snprintf (id, sizeof id, "closed_%s", run);
        json_array_append_new (
            parts, json_pack ("{s:s, s:s, s:s, s:b, s:{s:O}}", "type", "agent.closed", "to", to,
                       "id", id, "durable", 1, "body", "task", json_object_get (task, "id")));
    }
    snprintf (id, sizeof id, "failed_%s", run);
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:b, s:b, s:{s:s}}", "type", "run.failed", "to", to,
                   "id", id, "durable", 1, "last", 1, "body", "error", error));
}
