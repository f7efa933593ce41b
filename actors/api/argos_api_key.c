//  argos_api_key - Idempotency-Key: one key of one owner on one route is one run, as long as the
//  run is kept.
//
//  The record of a key names its run and the fingerprint of what was asked for. It is written by
//  the commit that makes the run, under the condition that there is none, and goes with the run; so
//  of two posts that race one makes a run, and the other one is handled once more and meets it.
//  Invariant: the fingerprint is that of the body and the session key alone, whatever has happened
//  since; members in another order are the same body.

#include "argos_api_priv.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_NEW "new" //  Note of a request whose key has not been used

static void
s_hash_text (crypto_hash_sha256_state *state, const char *text, size_t size)
{
    (void) crypto_hash_sha256_update (state, (const unsigned char *) text, size);
}

static void
s_hash_end (crypto_hash_sha256_state *state, char target[static 65])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    (void) crypto_hash_sha256_final (state, digest);
    (void) sodium_bin2hex (target, 65, digest, sizeof digest);
}

static void
s_fingerprint (const argos_api_call_t *call, char target[static 65])
{
    crypto_hash_sha256_state state;
    size_t size;
    const char *body = argos_http_body (call->req, &size);
    json_t *root = json_loadb (body, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    char *text = root ? json_dumps (root, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
    (void) crypto_hash_sha256_init (&state);
    if (call->session_key)
        s_hash_text (&state, call->session_key, strlen (call->session_key));
    s_hash_text (&state, "", 1);
    s_hash_text (&state, text ? text : body, text ? strlen (text) : size);
    s_hash_end (&state, target);
    free (text);
    json_decref (root);
}

//  What a post with that key writes: a new reference.

static json_t *
s_record (const argos_api_call_t *call, const char *route, const char *key)
{
    char fingerprint[65], hex[65];
    crypto_hash_sha256_state state;
    (void) crypto_hash_sha256_init (&state);
    s_hash_text (&state, key, strlen (key));
    s_hash_end (&state, hex);
    s_fingerprint (call, fingerprint);
    json_t *name = json_sprintf ("%s/%s/%s", argos_http_owner (call->req), route, hex);
    return json_pack ("{s:s,s:o,s:i,s:s,s:{s:s,s:s}}", "space", ARGOS_API_KEY_SPACE, "key", name,
        "version", 0, "run_id", call->run_id, "value", "run_id", call->run_id, "fingerprint",
        fingerprint);
}

static void
s_on_record (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    const json_t *mine = json_object_get (call->key_record, "value");
    const json_t *value = json_object_get (json_object_get (answer->body, "record"), "value");
    const char *run = json_string_value (json_object_get (value, "run_id"));
    bool same =
        json_equal (json_object_get (mine, "fingerprint"), json_object_get (value, "fingerprint"));
    if (answer->code != ARGOS_OK)
        argos_api_unavailable (call->req, answer->code);
    else if (run && !same)
        argos_http_error (call->req, 409, "invalid_request_error", "idempotency_key_conflict", NULL,
            "This Idempotency-Key was used with another request.");
    else
        argos_http_again (call->req, run && argos_run_id_valid (run) ? run : S_NEW);
    argos_api_call_destroy (&call);
}

bool
argos_api_key (argos_api_call_t *call, const char *route, const char *key)
{
    const char *note = argos_http_note (call->req);
    call->keyed = true;
    call->repeat = argos_run_id_valid (note);
    if (call->repeat) {
        memcpy (call->run_id, note, ARGOS_API_RUN_ID_SIZE);
        return true;
    }
    argos_run_id_new (call->run_id);
    call->key_record = s_record (call, route, key);
    if (*note)
        return true;
    argos_api_call_t *look = argos_api_call_new (call->api, call->req);
    look->key_record = json_incref (call->key_record);
    argos_api_read (call->api, "record.get",
        json_pack ("{s:O,s:O}", "space", json_object_get (call->key_record, "space"), "key",
            json_object_get (call->key_record, "key")),
        s_on_record, look);
    return false;
}
