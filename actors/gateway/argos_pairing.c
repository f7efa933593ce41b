//  argos_pairing - see argos_pairing.h.
//
//  Invariant: a code is never stored, only its salted hash, and every comparison takes the same
//  time whatever is wrong. Pure. Limits: those of the header; three codes of a platform, however
//  many ask.

#include "argos_pairing.h"

#include "argos_json_get.h"
#include "argos_source.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define CODE_CHARS (ARGOS_PAIRING_CODE_SIZE - 1)
#define SALT_BYTES (ARGOS_PAIRING_RANDOM - CODE_CHARS)
#define SALT_SIZE (2 * SALT_BYTES + 1)               //  In hex, terminated
#define HASH_SIZE (2 * crypto_hash_sha256_BYTES + 1) //  In hex, terminated

//  32 characters, without those that look like others: five bits each
static const char s_alphabet[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

//  ---------------------------------------------------------------------------------------------
//  Records

void
argos_pairing_key (const char *platform, const char *user, char *target)
{
    snprintf (target, ARGOS_PAIRING_KEY_SIZE, "%s:%s", platform, user);
}

//  The value of a result of record.get that still counts, NULL when there is none. *ret_version
//  (may be NULL) is what to expect of the row when it is written.

static const json_t *
s_value (const argos_pairing_t *self, const json_t *result, json_int_t *ret_version)
{
    const json_t *record = json_object_get (result, "record");
    const json_t *until = json_object_get (record, "expires_at");
    if (ret_version)
        *ret_version = json_integer_value (json_object_get (record, "version"));
    if (until && json_integer_value (until) <= self->wall)
        return NULL;
    return json_object_get (record, "value");
}

//  A body of record.put; value is stolen, NULL = delete; until 0 = for ever.

static void
s_put_new (json_t *writes, const char *space, const char *key, json_int_t version, json_t *value,
    int64_t until)
{
    json_t *body = json_pack ("{s:s, s:s, s:I}", "space", space, "key", key, "version", version);
    if (value)
        json_object_set_new (body, "value", value);
    if (until)
        json_object_set_new (body, "expires_at", json_integer (until));
    json_array_append_new (writes, body);
}

bool
argos_pairing_is_approved (const json_t *result)
{
    return json_is_object (json_object_get (json_object_get (result, "record"), "value"));
}

//  Those that wait with a code that still counts, but for `without` (may be NULL). A new array.

static json_t *
s_waiting (const argos_pairing_t *self, const char *without)
{
    json_t *left = json_array ();
    size_t index;
    json_t *entry;
    json_array_foreach (
        json_object_get (s_value (self, self->pending, NULL), "waiting"), index, entry) {
        int64_t at = json_integer_value (json_object_get (entry, "at"));
        if (at + ARGOS_PAIRING_LIFE_MS > self->wall &&
            (!without || strcmp (argos_json_text (entry, "user_id"), without) != 0))
            json_array_append (left, entry);
    }
    return left;
}

//  The list as it shall be from now on; waiting is stolen.

static void
s_put_waiting (const argos_pairing_t *self, json_t *writes, const char *platform, json_t *waiting)
{
    json_int_t version;
    s_value (self, self->pending, &version);
    bool empty = !json_array_size (waiting);
    json_t *value = empty ? NULL : json_pack ("{s:o}", "waiting", waiting);
    if (empty)
        json_decref (waiting);
    s_put_new (writes, ARGOS_PAIRING_PENDING, platform, version, value,
        empty ? 0 : self->wall + ARGOS_PAIRING_LIFE_MS);
}

static bool
s_is_locked (const argos_pairing_t *self)
{
    return json_is_true (json_object_get (s_value (self, self->lock, NULL), "locked"));
}

//  ---------------------------------------------------------------------------------------------
//  Codes

//  Hash of salt and code, both as text, to target.

static void
s_hash (const char *salt, const char *code, char *target)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init (&state);
    crypto_hash_sha256_update (&state, (const unsigned char *) salt, strlen (salt));
    crypto_hash_sha256_update (&state, (const unsigned char *) code, strlen (code));
    crypto_hash_sha256_final (&state, hash);
    sodium_bin2hex (target, HASH_SIZE, hash, sizeof hash);
}

//  The one that waits with that code, NULL when nobody does. Borrowed. All are looked at.

static const json_t *
s_find (const json_t *waiting, const char *code)
{
    char given[ARGOS_PAIRING_CODE_SIZE] = "", hash[HASH_SIZE];
    const json_t *found = NULL;
    size_t index, length = strlen (code);
    json_t *entry;
    for (size_t i = 0; length == CODE_CHARS && i < length; i++)
        given[i] = (char) toupper ((unsigned char) code[i]);
    json_array_foreach (waiting, index, entry) {
        const char *kept = argos_json_text (entry, "hash");
        s_hash (argos_json_text (entry, "salt"), given, hash);
        if (strlen (kept) == HASH_SIZE - 1 && sodium_memcmp (kept, hash, HASH_SIZE - 1) == 0)
            found = entry;
    }
    return found;
}

//  ---------------------------------------------------------------------------------------------
//  Strangers

//  Say once that it is too much, then nothing until the pause is over.

static argos_pairing_say_t
s_later (const argos_pairing_t *self, const char *key, json_t *writes)
{
    json_int_t version;
    const json_t *rate = s_value (self, self->rate, &version);
    const json_t *until =
        rate ? json_object_get (json_object_get (self->rate, "record"), "expires_at") : NULL;
    if (json_is_true (json_object_get (rate, "told")))
        return ARGOS_PAIRING_SILENT;
    s_put_new (writes, ARGOS_PAIRING_RATE, key, version, json_pack ("{s:b}", "told", 1),
        until ? json_integer_value (until) : self->wall + ARGOS_PAIRING_PAUSE_MS);
    return ARGOS_PAIRING_LATER;
}

//  Copy a member that is there.

static void
s_copy (json_t *entry, const json_t *source, const char *from, const char *to)
{
    json_t *value = json_object_get (source, from);
    if (json_is_string (value))
        json_object_set (entry, to, value);
}

//  The entry of a stranger, and his code.

static json_t *
s_entry_new (const argos_pairing_t *self, const json_t *source, const char *user,
    const unsigned char *random, char *code)
{
    char salt[SALT_SIZE], hash[HASH_SIZE];
    for (size_t i = 0; i < CODE_CHARS; i++)
        code[i] = s_alphabet[random[i] % 32]; //  A power of two: none comes more often
    code[CODE_CHARS] = 0;
    sodium_bin2hex (salt, sizeof salt, random + CODE_CHARS, SALT_BYTES);
    s_hash (salt, code, hash);
    json_t *entry = json_pack ("{s:s, s:s, s:s, s:I}", "user_id", user, "salt", salt, "hash", hash,
        "at", (json_int_t) self->wall);
    s_copy (entry, source, "user_name", "name");
    s_copy (entry, source, "account", "account");
    s_copy (entry, source, "chat_id", "chat_id");
    return entry;
}

argos_pairing_say_t
argos_pairing_ask (const argos_pairing_t *self, const json_t *source, const unsigned char *random,
    char *code, json_t *writes)
{
    char key[ARGOS_PAIRING_KEY_SIZE];
    const char *platform = argos_json_text (source, "platform");
    const char *user = argos_source_participant (source);
    json_int_t version;
    *code = 0;
    argos_pairing_key (platform, user, key);
    if (s_value (self, self->rate, &version) || s_is_locked (self))
        return s_later (self, key, writes);
    json_t *waiting = s_waiting (self, user);
    if (json_array_size (waiting) >= ARGOS_PAIRING_PENDING_MAX) {
        json_decref (waiting);
        return s_later (self, key, writes);
    }
    json_array_append_new (waiting, s_entry_new (self, source, user, random, code));
    s_put_waiting (self, writes, platform, waiting);
    s_put_new (writes, ARGOS_PAIRING_RATE, key, version, json_pack ("{s:b}", "told", 0),
        self->wall + ARGOS_PAIRING_PAUSE_MS);
    return ARGOS_PAIRING_CODE;
}

//  ---------------------------------------------------------------------------------------------
//  The operator

//  A wrong code: count it, and lock with the last one.

static void
s_fail (const argos_pairing_t *self, const char *platform, json_t *writes)
{
    json_int_t version;
    const json_t *lock = s_value (self, self->lock, &version);
    json_int_t failed = json_integer_value (json_object_get (lock, "failed")) + 1;
    json_t *value =
        json_pack ("{s:I, s:b}", "failed", failed, "locked", failed >= ARGOS_PAIRING_FAILED_MAX);
    s_put_new (
        writes, ARGOS_PAIRING_RATE, platform, version, value, self->wall + ARGOS_PAIRING_LOCK_MS);
}

argos_err_t
argos_pairing_approve (const argos_pairing_t *self, const char *platform, const char *code,
    const char *by, json_t **ret_user, json_t *writes)
{
    *ret_user = NULL;
    if (s_is_locked (self))
        return ARGOS_BUSY;
    json_t *waiting = s_waiting (self, NULL);
    const json_t *found = s_find (waiting, code);
    if (!found) {
        json_decref (waiting);
        s_fail (self, platform, writes);
        return ARGOS_NOT_FOUND;
    }
    char key[ARGOS_PAIRING_KEY_SIZE];
    json_t *user = json_pack ("{s:s}", "user_id", argos_json_text (found, "user_id"));
    s_copy (user, found, "name", "name");
    argos_pairing_key (platform, argos_json_text (user, "user_id"), key);
    s_put_waiting (self, writes, platform, s_waiting (self, argos_json_text (user, "user_id")));
    json_t *grant = json_copy (user);
    json_object_set_new (grant, "at", json_integer (self->wall));
    json_object_set_new (grant, "by", json_string (by));
    json_array_append_new (writes,
        json_pack ("{s:s, s:s, s:o}", "space", ARGOS_PAIRING_APPROVED, "key", key, "value", grant));
    json_int_t version; //  A right code ends the count of wrong ones
    if (s_value (self, self->lock, &version))
        s_put_new (writes, ARGOS_PAIRING_RATE, platform, version, NULL, 0);
    json_decref (waiting);
    *ret_user = user;
    return ARGOS_OK;
}

argos_err_t
argos_pairing_revoke (
    const argos_pairing_t *self, const char *platform, const char *user, json_t *writes)
{
    char key[ARGOS_PAIRING_KEY_SIZE];
    json_int_t version;
    bool approved = s_value (self, self->approved, &version) != NULL;
    json_t *before = s_waiting (self, NULL), *after = s_waiting (self, user);
    bool pending = json_array_size (before) != json_array_size (after);
    json_decref (before);
    argos_pairing_key (platform, user, key);
    if (approved)
        s_put_new (writes, ARGOS_PAIRING_APPROVED, key, version, NULL, 0);
    if (pending)
        s_put_waiting (self, writes, platform, after);
    else
        json_decref (after);
    return approved || pending ? ARGOS_OK : ARGOS_NOT_FOUND;
}

size_t
argos_pairing_clear (const argos_pairing_t *self, const char *platform, json_t *writes)
{
    json_int_t version;
    json_t *waiting = s_waiting (self, NULL);
    size_t count = json_array_size (waiting);
    json_decref (waiting);
    if (s_value (self, self->pending, &version))
        s_put_new (writes, ARGOS_PAIRING_PENDING, platform, version, NULL, 0);
    if (s_value (self, self->lock, &version))
        s_put_new (writes, ARGOS_PAIRING_RATE, platform, version, NULL, 0);
    return count;
}

void
argos_pairing_pending (const json_t *record, int64_t wall, json_t *list)
{
    json_t *result = json_pack ("{s:O}", "record", record);
    const argos_pairing_t self = { .pending = result, .wall = wall };
    json_t *waiting = s_waiting (&self, NULL), *entry;
    size_t index;
    json_array_foreach (waiting, index, entry) {
        json_int_t at = json_integer_value (json_object_get (entry, "at"));
        json_t *row = json_pack ("{s:O, s:O, s:I, s:I}", "platform",
            json_object_get (record, "key"), "user_id", json_object_get (entry, "user_id"), "at",
            at, "expires_at", at + ARGOS_PAIRING_LIFE_MS);
        s_copy (row, entry, "name", "name");
        json_array_append_new (list, row);
    }
    json_decref (waiting);
    json_decref (result);
}
