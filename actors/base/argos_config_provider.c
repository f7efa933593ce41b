//  argos_config_provider - which provider answers, and with which key.
//
//  Invariant: a provider that is named in the file is never replaced by another. When its key can't
//  be had, the snapshot says why, and every turn ends with that sentence.

#include "argos_config_priv.h"
#include "argos_secret.h"
#include "argos_setting.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef argos_config_vendor_t vendor_t;

static const vendor_t s_vendors[] = {
    { "openai", ARGOS_PROVIDER_OPENAI, "OPENAI_API_KEY", "https://api.openai.com/v1",
        "gpt-4.1-mini" },
    { "openrouter", ARGOS_PROVIDER_OPENAI, "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1",
        "openrouter/auto" },
    { "anthropic", ARGOS_PROVIDER_ANTHROPIC, "ANTHROPIC_API_KEY", "https://api.anthropic.com",
        "claude-3-5-haiku-latest" },
};

#define VENDOR_COUNT (sizeof s_vendors / sizeof s_vendors[0])

const argos_config_vendor_t *
argos_config_vendor (size_t index)
{
    return index < VENDOR_COUNT ? &s_vendors[index] : NULL;
}

static void __attribute__ ((format (printf, 2, 3)))
s_set_problem (argos_config_memory_t *memory, const char *format, ...)
{
    va_list args;
    char cause[400];
    va_start (args, format);
    vsnprintf (cause, sizeof cause, format, args);
    va_end (args);
    free (memory->problem);
    if (asprintf (&memory->problem, "no provider credentials configured: %s", cause) < 0)
        abort ();
}

static void
s_read_key (argos_config_memory_t *memory, const char *home, const char *ref)
{
    char reason[400];
    memory->key = argos_secret_read (home, ref, reason, sizeof reason);
    if (!memory->key)
        s_set_problem (memory, "%s", reason);
}

//  The vendor whose defaults a block of the file gets: by its address, else the first of its kind

static const vendor_t *
s_vendor_of (argos_provider_kind_t kind, const char *base_url)
{
    const vendor_t *first = NULL;
    for (size_t at = 0; at < VENDOR_COUNT; at++) {
        if (s_vendors[at].kind != kind)
            continue;
        if (base_url &&
            strncmp (base_url, s_vendors[at].base_url, strlen (s_vendors[at].base_url)) == 0)
            return &s_vendors[at];
        if (!first)
            first = &s_vendors[at];
    }
    return first;
}

//  Without a file: the first vendor whose variable is set

static const vendor_t *
s_vendor_from_environment (void)
{
    for (size_t at = 0; at < VENDOR_COUNT; at++) {
        const char *value = getenv (s_vendors[at].variable);
        if (value && value[0])
            return &s_vendors[at];
    }
    return NULL;
}

static argos_provider_kind_t
s_kind (const json_t *block)
{
    const char *kind = json_string_value (json_object_get (block, "kind"));
    if (kind && strcmp (kind, "anthropic") == 0)
        return ARGOS_PROVIDER_ANTHROPIC;
    if (kind && strcmp (kind, "rehearsal") == 0)
        return ARGOS_PROVIDER_REHEARSAL;
    return ARGOS_PROVIDER_OPENAI;
}

//  Without the slash at its end, new
static char *
s_base_url_new (const char *base_url)
{
    char *copy = argos_config_must (strdup (base_url));
    size_t size = strlen (copy);
    while (size && copy[size - 1] == '/')
        copy[--size] = 0;
    return copy;
}

static void
s_set_vendor (argos_config_t *config, argos_config_memory_t *memory, const vendor_t *vendor,
    const json_t *block)
{
    const char *base_url = json_string_value (json_object_get (block, "base_url"));
    const char *model = json_string_value (json_object_get (block, "model"));
    const char *key = argos_setting_text (config->settings, NULL, NULL, "provider.key");
    char variable[64];
    config->provider.kind = vendor->kind;
    memory->base_url = s_base_url_new (base_url ? base_url : vendor->base_url);
    config->provider.model = model ? model : vendor->model;
    snprintf (variable, sizeof variable, "env:%s", vendor->variable);
    s_read_key (memory, config->home, key ? key : variable);
}

void
argos_config_provider (argos_config_t *config, argos_config_memory_t *memory, const json_t *block)
{
    const vendor_t *vendor = NULL;
    config->provider.configured = json_object_size (block) > 0;
    config->provider.kind = ARGOS_PROVIDER_REHEARSAL;
    config->provider.model = "rehearsal";
    if (!config->provider.configured)
        vendor = s_vendor_from_environment ();
    else if (s_kind (block) != ARGOS_PROVIDER_REHEARSAL)
        vendor =
            s_vendor_of (s_kind (block), json_string_value (json_object_get (block, "base_url")));
    if (vendor)
        s_set_vendor (config, memory, vendor, block);
    config->provider.base_url = memory->base_url ? memory->base_url : "";
    config->provider.key = memory->key ? memory->key : "";
    config->provider.problem = memory->problem ? memory->problem : "";
}

void
argos_config_fallbacks (argos_config_t *config, argos_config_memory_t *memory, const json_t *list)
{
    size_t i;
    json_t *block;
    json_array_foreach (list, i, block) {
        const char *base_url = json_string_value (json_object_get (block, "base_url"));
        const char *model = json_string_value (json_object_get (block, "model"));
        const char *key = json_string_value (json_object_get (block, "key"));
        const vendor_t *vendor = s_vendor_of (s_kind (block), base_url);
        char variable[64], reason[400];
        size_t at = config->fallback_count;
        if (at == ARGOS_FALLBACKS_MAX)
            return;
        config->fallback_count++;
        snprintf (variable, sizeof variable, "env:%s", vendor->variable);
        memory->fallback_urls[at] = s_base_url_new (base_url ? base_url : vendor->base_url);
        memory->fallback_keys[at] =
            argos_secret_read (config->home, key ? key : variable, reason, sizeof reason);
        if (!memory->fallback_keys[at] && asprintf (&memory->fallback_problems[at],
                                              "no provider credentials configured: %s", reason) < 0)
            abort ();
        config->fallbacks[at] = (argos_config_provider_t){ .kind = s_kind (block),
            .configured = true,
            .base_url = memory->fallback_urls[at],
            .model = model ? model : vendor->model,
            .key = memory->fallback_keys[at] ? memory->fallback_keys[at] : "",
            .problem = memory->fallback_problems[at] ? memory->fallback_problems[at] : "" };
    }
}
