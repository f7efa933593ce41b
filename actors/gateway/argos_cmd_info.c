//  argos_cmd_info - the commands that show something: start, status, whoami, usage, agents, help,
//  commands, version.
//
//  Invariant: nothing changes but the answer. Pure.

#include "argos_asked.h"
#include "argos_cmd.h"
#include "argos_command.h"
#include "argos_header.h"
#include "argos_job.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_say.h"
#include "argos_text.h"
#include "argos_tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE_SIZE 2048 //  Bytes of a line, terminated
#define TEXT_MAX 16384 //  Bytes of an answer
#define AGENTS_MAX 12  //  Turns that are shown
#define PAGE 20        //  Commands of a page
#define PAGE_SMALL 15  //  where screens are small

static const json_t *
s_source (const argos_gateway_case_t *gateway)
{
    return json_object_get (gateway->body, "source");
}

static long long
s_integer (const json_t *object, const char *name)
{
    return (long long) json_integer_value (json_object_get (object, name));
}

//  A platform says that a person has opened the chat; there is nothing to do, and nothing to say.

void
argos_cmd_start (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) gateway;
    (void) arguments;
    (void) parts;
}

//  ------------------------------------------------------------------------------------------------
//  Status

//  One line about who answers the turns.

static void
s_provider (const json_t *agent, char *target, size_t size)
{
    if (!agent) {
        snprintf (target, size, "unknown (the agent does not answer)");
        return;
    }
    static const struct {
        const char *member, *before; //  What of the answer, and what stands in front of it
    } shown[] = { { "kind", "" }, { "model", ", model " }, { "base_url", ", " },
        { "problem", "; problem: " } };
    char value[256];
    size_t length = 0;
    *target = 0;
    for (size_t i = 0; i < sizeof shown / sizeof *shown && length < size; i++) {
        const char *text = json_string_value (json_object_get (agent, shown[i].member));
        if (!text)
            continue;
        argos_parts_cut (text, value, sizeof value);
        length +=
            (size_t) snprintf (target + length, size - length, "%s%s", shown[i].before, value);
    }
    if (json_is_true (json_object_get (agent, "rehearsal")) && length < size)
        snprintf (target + length, size - length,
            " (rehearsal: this is no model, it only repeats what it is sent)");
}

//  A moment as people read it, UTC, to target (32 bytes); "never" for 0.

static void
s_when (int64_t msec, char *target)
{
    time_t seconds = (time_t) (msec / 1000);
    struct tm when;
    if (!msec || !gmtime_r (&seconds, &when) || !strftime (target, 32, "%Y-%m-%d %H:%M UTC", &when))
        snprintf (target, 32, "never");
}

void
argos_cmd_status (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char id[ARGOS_SESSION_ID_MAX + 1], provider[1536], begun[32], last[32], about[LINE_SIZE] = "";
    const json_t *session = argos_cmd_session (gateway);
    const char *title = argos_json_text (session, "title");
    const char *model = json_string_value (argos_cmd_setting (gateway, "model"));
    int running, queued;
    (void) arguments;
    argos_gateway_session (gateway, id);
    argos_cmd_count (gateway, &running, &queued);
    const char *state = running                      ? "yes"
                        : *argos_asked_run (gateway) ? "waits for an answer of yours"
                                                     : "no";
    s_provider (gateway->fact[ARGOS_FACT_AGENT], provider, sizeof provider);
    if (session) {
        s_when (s_integer (session, "started_at"), begun);
        s_when (s_integer (session, "last_activity_at"), last);
        snprintf (about, sizeof about, "%s%s\nBegun: %s, last activity: %s\nMessages: %lld%s%s",
            *title ? "\nTitle: " : "", title, begun, last, s_integer (session, "message_count"),
            model ? "\nModel of this session: " : "", model ? model : "");
    }
    argos_cmd_say (gateway, parts, "Session: %s%s\nRunning: %s, queued: %d\nProvider: %s",
        *id ? id : "none yet", about, state, queued, provider);
}

void
argos_cmd_whoami (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const json_t *source = s_source (gateway);
    const char *user = argos_json_text (source, "user_id");
    argos_tier_t tier = argos_tier (gateway->policy->config, source);
    (void) arguments;
    argos_cmd_say (gateway, parts, "Platform: %s (%s)\nChat: %s, %s\nUser: %s\nTier: %s%s",
        argos_json_text (source, "platform"), argos_json_text (source, "account"),
        argos_json_text (source, "chat_id"), argos_json_text (source, "chat_type"),
        *user ? user : "(not known)", argos_tier_name (tier),
        tier == ARGOS_TIER_USER ? "; /help lists what you may use" : "");
}

void
argos_cmd_usage (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const json_t *session = argos_cmd_session (gateway);
    const json_t *usage = json_object_get (gateway->fact[ARGOS_FACT_USAGE], "usage");
    size_t index;
    json_t *line;
    (void) arguments;
    if (!session) {
        argos_cmd_say (gateway, parts, SAY_NO_SESSION);
        return;
    }
    argos_text_t text;
    char row[LINE_SIZE];
    argos_text_init (&text, TEXT_MAX);
    snprintf (row, sizeof row, "Tokens of this session: %lld in, %lld out; cost: $%.4f",
        s_integer (session, "input_tokens"), s_integer (session, "output_tokens"),
        json_number_value (json_object_get (session, "cost_usd")));
    argos_text_add (&text, row, strlen (row));
    json_array_foreach (usage, index, line) {
        snprintf (row, sizeof row, "\n· %.128s: %lld calls, %lld in, %lld out",
            argos_json_text (line, "model"), s_integer (line, "calls"),
            s_integer (line, "input_tokens"), s_integer (line, "output_tokens"));
        argos_text_add (&text, row, strlen (row));
    }
    argos_cmd_say (gateway, parts, "%s", argos_text_str (&text));
    argos_text_clear (&text);
}

//  What the cache says, as a line; "" = it is not there.

static const char *
s_kept (const argos_gateway_case_t *gateway, char target[static LINE_SIZE])
{
    const json_t *list = gateway->fact[ARGOS_FACT_KEPT];
    *target = 0;
    if (json_object_get (list, "cached"))
        snprintf (target, LINE_SIZE, "\nAgents kept: %lld of %lld, found again %lld times",
            s_integer (list, "cached"), s_integer (list, "max"), s_integer (list, "hits"));
    return target;
}

//  The background jobs of the session, each in a line.

static void
s_add_jobs (const argos_gateway_case_t *gateway, argos_text_t *text)
{
    static const char head[] = "\n\nBackground jobs:";
    const json_t *list = json_object_get (gateway->fact[ARGOS_FACT_JOBS], "jobs");
    size_t index;
    json_t *row;
    if (json_array_size (list))
        argos_text_add (text, head, sizeof head - 1);
    json_array_foreach (list, index, row) {
        argos_job_t *job = argos_job_load (row);
        char *line = job ? argos_job_line (job, gateway->wall) : NULL;
        if (line) {
            argos_text_add (text, "\n", 1);
            argos_text_add (text, line, strlen (line));
        }
        free (line);
        argos_job_destroy (&job);
    }
}

void
argos_cmd_agents (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char session[ARGOS_SESSION_ID_MAX + 1], row[LINE_SIZE];
    size_t index, shown = 0;
    json_t *run;
    argos_text_t text;
    (void) arguments;
    argos_gateway_session (gateway, session);
    argos_text_init (&text, TEXT_MAX);
    json_array_foreach (json_object_get (gateway->fact[ARGOS_FACT_RUNS], "runs"), index, run) {
        static const char *const over[] = { "completed", "failed", "cancelled" };
        const char *state = argos_json_text (run, "state");
        bool ended = false;
        for (size_t i = 0; i < sizeof over / sizeof *over; i++)
            ended = ended || strcmp (state, over[i]) == 0;
        if (ended || shown >= AGENTS_MAX)
            continue;
        snprintf (row, sizeof row, "%s· `%.36s` %s for %lld s%s", shown ? "\n" : "",
            argos_json_text (run, "run_id"), state,
            ((long long) gateway->wall - s_integer (run, "created_at")) / 1000,
            strcmp (argos_json_text (run, "session_id"), session) == 0 ? " ← here" : "");
        argos_text_add (&text, row, strlen (row));
        shown++;
    }
    if (!shown)
        argos_text_add (&text, SAY_AGENTS_NONE, strlen (SAY_AGENTS_NONE));
    s_kept (gateway, row);
    argos_text_add (&text, row, strlen (row));
    s_add_jobs (gateway, &text);
    argos_cmd_say (gateway, parts, "%s", argos_text_str (&text));
    argos_text_clear (&text);
}

void
argos_cmd_version (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    (void) arguments;
    argos_cmd_say (gateway, parts, "%s", ARGOS_BUILD);
}

//  ------------------------------------------------------------------------------------------------
//  Help

//  Whether b is a only written with - instead of _ or the other way round.

static bool
s_same (const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return !*a && !*b;
}

static void
s_help_row (const argos_commands_row_t *row, char *target)
{
    int length = snprintf (target, LINE_SIZE, "`/%s%s%s` -- %s", row->name,
        *row->arguments ? " " : "", row->arguments, row->description);
    for (size_t i = 0; i < ARGOS_COMMANDS_ALIASES && row->aliases[i]; i++)
        if (!(i && s_same (row->aliases[i - 1], row->aliases[i])))
            length += snprintf (
                target + length, (size_t) (LINE_SIZE - length), " (alias: `/%s`)", row->aliases[i]);
}

//  Line number `index` of what this person may use here: commands, then those of the configuration.
//  False behind the last.

static bool
s_help_line (const argos_gateway_case_t *gateway, size_t index, char *target)
{
    const argos_commands_row_t *row;
    const json_t *config = gateway->policy->config;
    size_t found = 0;
    for (size_t i = 0; (row = argos_commands_row (i)); i++)
        if (argos_command_is_offered (gateway, row) && found++ == index) {
            s_help_row (row, target);
            return true;
        }
    const char *name;
    json_t *quick;
    json_object_foreach (json_object_get (config, "quick_commands"), name, quick)
        if (argos_tier_may (config, s_source (gateway), name) && found++ == index) {
            const char *description = argos_json_text (quick, "description");
            snprintf (target, LINE_SIZE, "`/%s` -- %s", name,
                *description ? description : argos_json_text (quick, "target"));
            return true;
        }
    return false;
}

//  Lines from `first` on, `count` of them at most.

static void
s_help (const argos_gateway_case_t *gateway, size_t first, size_t count, argos_text_t *text)
{
    char line[LINE_SIZE];
    for (size_t i = 0; i < count && s_help_line (gateway, first + i, line); i++) {
        if (i)
            argos_text_add (text, "\n", 1);
        argos_text_add (text, line, strlen (line));
    }
}

void
argos_cmd_help (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    argos_text_t text;
    (void) arguments;
    argos_text_init (&text, TEXT_MAX);
    s_help (gateway, 0, SIZE_MAX, &text);
    argos_cmd_say (gateway, parts, "%s", argos_text_str (&text));
    argos_text_clear (&text);
}

void
argos_cmd_commands (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char line[LINE_SIZE];
    const char *platform = argos_json_text (s_source (gateway), "platform");
    size_t page = strcmp (platform, "telegram") == 0 ? PAGE_SMALL : PAGE, lines = 0;
    int number = *arguments ? argos_cmd_number (arguments) : 1;
    while (s_help_line (gateway, lines, line))
        lines++;
    size_t pages = (lines + page - 1) / page;
    if (number < 1 || (size_t) number > pages) {
        argos_cmd_say (
            gateway, parts, "There are %zu pages: `/commands 1` to `/commands %zu`.", pages, pages);
        return;
    }
    argos_text_t text;
    argos_text_init (&text, TEXT_MAX);
    s_help (gateway, ((size_t) number - 1) * page, page, &text);
    argos_cmd_say (
        gateway, parts, "Commands, page %d of %zu\n%s", number, pages, argos_text_str (&text));
    argos_text_clear (&text);
}
