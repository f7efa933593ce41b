//  argos_signature - see the header.
//
//  Invariant: the same members in whatever order, with whatever else beside them, make the same
//  digits; a change of one of them makes others. Limits: none but those of the message it came in.

#include "argos_signature.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static void
s_digest (const char *text, char target[static ARGOS_SHA256_SIZE])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256 (hash, (const unsigned char *) text, strlen (text));
    sodium_bin2hex (target, ARGOS_SHA256_SIZE, hash, sizeof hash);
}

void
argos_signature_key (const char *key, char target[static ARGOS_SHA256_SIZE])
{
    *target = 0;
    if (key && *key)
        s_digest (key, target);
}

static json_t *
s_text (const json_t *profile, const char *name)
{
    json_t *value = json_object_get (profile, name);
    return json_is_string (value) ? json_incref (value) : json_string ("");
}

static int
s_compare (const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strcmp (*left, *right);
}

static json_t *
s_sorted (const json_t *profile, const char *name)
{
    const json_t *list = json_object_get (profile, name);
    size_t index, count = 0, size = json_array_size (list);
    json_t *value, *sorted = json_array ();
    const char **texts = calloc (size + 1, sizeof *texts);
    if (!texts)
        abort ();
    json_array_foreach (list, index, value)
        if (json_is_string (value))
            texts[count++] = json_string_value (value);
    qsort (texts, count, sizeof *texts, s_compare);
    for (size_t i = 0; i < count; i++)
        json_array_append_new (sorted, json_string (texts[i]));
    free (texts);
    return sorted;
}

void
argos_signature (const json_t *profile, char target[static ARGOS_SIGNATURE_SIZE])
{
    static const char *const first[] = { "model", "key_hash", "base_url", "provider",
        "requested_provider", "api_mode" };
    char digest[ARGOS_SHA256_SIZE];
    json_t *keys = json_object_get (profile, "keys"), *parts = json_array ();
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        json_array_append_new (parts, s_text (profile, first[i]));
    json_array_append_new (parts, s_sorted (profile, "capabilities"));
    json_array_append_new (parts, s_sorted (profile, "toolsets"));
    json_array_append_new (parts, s_text (profile, "prompt"));
    json_array_append_new (parts, json_is_object (keys) ? json_incref (keys) : json_object ());
    json_array_append_new (parts, s_text (profile, "user_id"));
    json_array_append_new (parts, s_text (profile, "user_id_alt"));
    json_array_append_new (
        parts, json_boolean (json_is_true (json_object_get (profile, "skip_context"))));
    char *text = json_dumps (parts, JSON_COMPACT | JSON_SORT_KEYS);
    s_digest (text ? text : "", digest);
    free (text);
    json_decref (parts);
    memcpy (target, digest, ARGOS_SIGNATURE_SIZE - 1);
    target[ARGOS_SIGNATURE_SIZE - 1] = 0;
}

json_t *
argos_signature_keys (const json_t *settings, int64_t generation)
{
    static const struct {
        const char *section; //  Of the settings
        const char *name;    //  There
    } rows[] = {
        { "model", "context_length" },
        { "model", "max_tokens" },
        { "compression", "enabled" },
        { "compression", "threshold" },
        { "compression", "target_ratio" },
        { "compression", "protect_last_n" },
        { "agent", "disabled_toolsets" },
        { "checkpoints", "enabled" },
        { "checkpoints", "max_snapshots" },
        { "checkpoints", "max_total_size_mb" },
        { "checkpoints", "max_file_size_mb" },
        { "memory", "provider" },
    };
    json_t *keys = json_object ();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        json_t *value = json_object_get (json_object_get (settings, rows[i].section), rows[i].name);
        snprintf (name, sizeof name, "%s.%s", rows[i].section, rows[i].name);
        json_object_set_new (keys, name, value ? json_incref (value) : json_null ());
    }
    json_object_set_new (keys, "tools.generation", json_integer (generation));
    return keys;
}

void
argos_signature_prompt (const json_t *prompt, char target[static ARGOS_SHA256_SIZE])
{
    char *text = json_dumps (prompt, JSON_COMPACT);
    s_digest (text ? text : "", target);
    free (text);
}
