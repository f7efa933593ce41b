//  argos_life - when a session is over.
//
//  Invariant: each day has exactly one moment at which it begins, whatever its clock does, so a
//  session is never reset twice for one day and never lives through two. Pure, but for the rules
//  of the local time, which the process has from its start. Limits: a time zone changes its offset
//  once within two days.

#include "argos_life.h"

#include "argos_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400              //  Seconds of a day, by UTC
#define IDLE_MINUTES 1440        //  Default
#define IDLE_MINUTES_MAX 5256000 //  Ten years
#define AT_HOUR 4                //  Default

//  ------------------------------------------------------------------------------------------------
//  The policy

//  The setting of that path, session_reset and a name; NULL when no place has it.

static const json_t *
s_setting (const json_t *config, const json_t *source, const char *path)
{
    const char *platform = json_string_value (json_object_get (source, "platform"));
    const char *type = json_string_value (json_object_get (source, "chat_type"));
    const json_t *own =
        platform ? json_object_get (json_object_get (config, "platforms"), platform) : NULL;
    const json_t *value =
        type ? argos_setting (json_object_get (own, type), NULL, NULL, path) : NULL;
    if (!value)
        value = argos_setting (own, NULL, NULL, path);
    if (!value && type)
        value = json_object_get (json_object_get (json_object_get (config, "reset_by_type"), type),
            strchr (path, '.') + 1);
    return value ? value : argos_setting (config, NULL, NULL, path);
}

static int64_t
s_number (const json_t *value, int64_t otherwise, int64_t max)
{
    int64_t number = json_is_integer (value) ? json_integer_value (value) : otherwise;
    return number < 0 || number > max ? otherwise : number;
}

//  Whether people of this platform are told at all.

static bool
s_told (const json_t *config, const json_t *source)
{
    static const char *const silent[] = { "api_server", "webhook" };
    const char *platform = json_string_value (json_object_get (source, "platform"));
    const json_t *excluded = s_setting (config, source, "session_reset.notify_exclude_platforms");
    size_t index;
    json_t *name;
    if (!platform)
        return false;
    json_array_foreach (excluded, index, name)
        if (json_is_string (name) && strcmp (json_string_value (name), platform) == 0)
            return false;
    for (size_t i = 0; !excluded && i < sizeof silent / sizeof *silent; i++)
        if (strcmp (silent[i], platform) == 0)
            return false;
    return true;
}

void
argos_life_policy (const json_t *config, const json_t *source, argos_life_policy_t *ret_policy)
{
    const char *mode = json_string_value (s_setting (config, source, "session_reset.mode"));
    bool both = mode && strcmp (mode, "both") == 0;
    *ret_policy = (argos_life_policy_t){ .idle = both || (mode && strcmp (mode, "idle") == 0),
        .daily = both || (mode && strcmp (mode, "daily") == 0),
        .idle_ms = s_number (s_setting (config, source, "session_reset.idle_minutes"), IDLE_MINUTES,
                       IDLE_MINUTES_MAX) *
                   60000,
        .at_hour =
            (int) s_number (s_setting (config, source, "session_reset.at_hour"), AT_HOUR, 23),
        .notify = !json_is_false (s_setting (config, source, "session_reset.notify")) &&
                  s_told (config, source) };
}

//  ------------------------------------------------------------------------------------------------
//  Local time

static int64_t
s_offset (int64_t seconds)
{
    struct tm when;
    time_t at = (time_t) seconds;
    return localtime_r (&at, &when) ? (int64_t) when.tm_gmtoff : 0;
}

//  The moment at which the local clock first shows `wanted` (seconds since 1970 as the clock has
//  them), or jumps over it.

static int64_t
s_moment (int64_t wanted)
{
    int64_t before = wanted - s_offset (wanted - DAY_S), after = wanted - s_offset (wanted + DAY_S);
    int64_t first = before < after ? before : after, second = before < after ? after : before;
    if (first + s_offset (first) == wanted)
        return first;
    if (second + s_offset (second) == wanted)
        return second;
    return before; //  There is no such time that day: by the clock of before the jump
}

int64_t
argos_life_hour (int at_hour, int64_t now, bool next)
{
    int64_t seconds = now / 1000, clock = seconds + s_offset (seconds);
    int64_t wanted = clock - clock % DAY_S + (int64_t) at_hour * 3600 + DAY_S,
            moment = s_moment (wanted);
    //  From tomorrow backwards: today's may still be ahead, and a clock set back shows today again
    for (int i = 0; i < 3; i++) {
        int64_t earlier = s_moment (wanted - DAY_S);
        if (earlier <= seconds && seconds < moment)
            return (next ? moment : earlier) * 1000;
        wanted -= DAY_S;
        moment = earlier;
    }
    return moment * 1000;
}

//  ------------------------------------------------------------------------------------------------
//  The verdict

static int64_t
s_time (const json_t *object, const char *name)
{
    return json_integer_value (json_object_get (object, name));
}

int64_t
argos_life_touched (const json_t *result)
{
    int64_t bound = s_time (json_object_get (result, "route"), "updated_at");
    int64_t said = s_time (json_object_get (result, "session"), "last_activity_at");
    return bound > said ? bound : said;
}

static const char *const s_reasons[] = { [ARGOS_LIFE_KEEP] = "",
    [ARGOS_LIFE_SUSPENDED] = "suspended",
    [ARGOS_LIFE_STALE] = "resume_pending_expired",
    [ARGOS_LIFE_IDLE] = "idle",
    [ARGOS_LIFE_DAILY] = "daily" };

const char *
argos_life_reason (argos_life_t life)
{
    return s_reasons[life];
}

//  The rule of that name; KEEP when it is none.

static argos_life_t
s_rule (const char *reason)
{
    for (argos_life_t life = ARGOS_LIFE_SUSPENDED; reason && life <= ARGOS_LIFE_DAILY; life++)
        if (strcmp (reason, s_reasons[life]) == 0)
            return life;
    return ARGOS_LIFE_KEEP;
}

//  Which rule of the policy has ended it; of both, what came first.

static argos_life_t
s_expired (const argos_life_policy_t *policy, int64_t touched, int64_t now)
{
    int64_t idle = policy->idle ? touched + policy->idle_ms : INT64_MAX;
    int64_t daily = policy->daily ? argos_life_hour (policy->at_hour, touched, true) : INT64_MAX;
    if (now > idle && idle <= daily)
        return ARGOS_LIFE_IDLE;
    return now >= daily ? ARGOS_LIFE_DAILY : now > idle ? ARGOS_LIFE_IDLE : ARGOS_LIFE_KEEP;
}

argos_life_t
argos_life (const argos_life_policy_t *policy, const json_t *result, int64_t now)
{
    const json_t *route = json_object_get (result, "route");
    const json_t *session = json_object_get (result, "session");
    if (!json_is_object (route) || !json_is_object (session))
        return ARGOS_LIFE_KEEP;
    if (s_time (session, "ended_at"))
        return s_rule (json_string_value (json_object_get (session, "end_reason")));
    if (json_is_true (json_object_get (route, "suspended")))
        return ARGOS_LIFE_SUSPENDED;
    argos_life_t life = s_expired (policy, argos_life_touched (result), now);
    int64_t marked = s_time (route, "resume_at");
    if (life == ARGOS_LIFE_KEEP && marked && now - marked > ARGOS_LIFE_FRESH_MS)
        return ARGOS_LIFE_STALE;
    return life;
}

int64_t
argos_life_due (const argos_life_policy_t *policy, int64_t touched)
{
    int64_t idle = policy->idle ? touched + policy->idle_ms + 1 : 0;
    int64_t daily = policy->daily ? argos_life_hour (policy->at_hour, touched, true) : 0;
    return !idle || (daily && daily < idle) ? daily : idle;
}

argos_life_t
argos_life_begun (const json_t *result)
{
    const json_t *session = json_object_get (result, "session");
    if (!json_is_object (session) || s_time (session, "message_count"))
        return ARGOS_LIFE_KEEP;
    return s_rule (
        json_string_value (json_object_get (json_object_get (result, "route"), "reset_reason")));
}

const char *
argos_life_moved (const json_t *result)
{
    static const char mark[] = "handoff:";
    const json_t *route = json_object_get (result, "route");
    const char *reason = json_string_value (json_object_get (route, "resume_reason"));
    if (!json_is_true (json_object_get (route, "suspended")) || !reason ||
        strncmp (reason, mark, sizeof mark - 1) != 0)
        return NULL;
    return reason + sizeof mark - 1;
}

bool
argos_life_notice (
    argos_life_t life, const argos_life_policy_t *policy, bool lost, char *target, size_t size)
{
    char why[96];
    *target = 0;
    if (life == ARGOS_LIFE_KEEP || !(life == ARGOS_LIFE_SUSPENDED || (policy->notify && lost)))
        return false;
    int64_t minutes = policy->idle_ms / 60000;
    if (life == ARGOS_LIFE_IDLE && minutes % 60)
        snprintf (why, sizeof why, "nothing was said for %" PRId64 " min", minutes);
    else if (life == ARGOS_LIFE_IDLE)
        snprintf (why, sizeof why, "nothing was said for %" PRId64 " h", minutes / 60);
    else if (life == ARGOS_LIFE_DAILY)
        snprintf (why, sizeof why, "a new day begins at %d:00", policy->at_hour);
    else
        snprintf (why, sizeof why, "the one before was stopped or interrupted");
    snprintf (target, size,
        "◐ This is a new session: %s. What was said before is not known here; /resume goes on with "
        "an earlier session, `session_reset` in argos.yaml sets when this happens.",
        why);
    return true;
}
