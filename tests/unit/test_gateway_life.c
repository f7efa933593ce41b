//  How long a session lives: the policy of a chat, its days over changes of the clock, the verdict.

#include "argos_life.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MINUTE_MS 60000L
#define HOUR_MS (60 * MINUTE_MS)

//  Msec since 1970 of a time by UTC, written as 2026-03-29 01:00.

static int64_t
s_utc (const char *text)
{
    struct tm when = { .tm_isdst = 0 };
    assert_non_null (strptime (text, "%Y-%m-%d %H:%M", &when));
    return (int64_t) timegm (&when) * 1000;
}

static void
s_zone (const char *zone)
{
    setenv ("TZ", zone, 1);
    tzset ();
}

//  Rules written out, so that no file of the machine is needed
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"
#define LORD_HOWE "LHST-10:30LHDT-11,M10.1.0,M4.1.0"
#define KATHMANDU "NPT-5:45"

static void
a_day_begins_once_whatever_the_clock_does (void **state)
{
    (void) state;
    static const struct {
        const char *zone;                 //  Where
        int hour;                         //  The day begins at
        const char *now, *latest, *first; //  By UTC
    } rows[] = {
        { "UTC0", 4, "2026-01-10 12:00", "2026-01-10 04:00", "2026-01-11 04:00" },
        { "UTC0", 4, "2026-01-10 04:00", "2026-01-10 04:00", "2026-01-11 04:00" },
        { "UTC0", 4, "2026-01-10 03:59", "2026-01-09 04:00", "2026-01-10 04:00" },
        { "UTC0", 0, "2026-01-01 00:00", "2026-01-01 00:00", "2026-01-02 00:00" },
        { "UTC0", 23, "2026-01-01 00:00", "2025-12-31 23:00", "2026-01-01 23:00" },
        { KATHMANDU, 4, "2026-01-10 00:00", "2026-01-09 22:15", "2026-01-10 22:15" },
        //  Spring, 2026-03-29 02:00 becomes 03:00: a day of 23 hours
        { BERLIN, 4, "2026-03-29 01:30", "2026-03-28 03:00", "2026-03-29 02:00" },
        { BERLIN, 4, "2026-03-29 02:00", "2026-03-29 02:00", "2026-03-30 02:00" },
        //  The hour that is left out
        { BERLIN, 2, "2026-03-29 00:59", "2026-03-28 01:00", "2026-03-29 01:00" },
        { BERLIN, 2, "2026-03-29 01:00", "2026-03-29 01:00", "2026-03-30 00:00" },
        { BERLIN, 3, "2026-03-29 01:00", "2026-03-29 01:00", "2026-03-30 01:00" },
        //  Autumn, 2026-10-25 03:00 becomes 02:00: the hour that is there twice
        { BERLIN, 2, "2026-10-25 00:30", "2026-10-25 00:00", "2026-10-26 01:00" },
        { BERLIN, 2, "2026-10-25 01:30", "2026-10-25 00:00", "2026-10-26 01:00" },
        { BERLIN, 3, "2026-10-25 01:30", "2026-10-24 01:00", "2026-10-25 02:00" },
        { BERLIN, 4, "2026-10-25 03:00", "2026-10-25 03:00", "2026-10-26 03:00" },
        { BERLIN, 0, "2026-10-25 12:00", "2026-10-24 22:00", "2026-10-25 23:00" },
        { NEW_YORK, 1, "2026-11-01 05:30", "2026-11-01 05:00", "2026-11-02 06:00" },
        { NEW_YORK, 1, "2026-11-01 06:30", "2026-11-01 05:00", "2026-11-02 06:00" },
        { NEW_YORK, 2, "2026-03-08 07:00", "2026-03-08 07:00", "2026-03-09 06:00" },
        { LORD_HOWE, 2, "2026-10-03 15:30", "2026-10-03 15:30", "2026-10-04 15:00" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s_zone (rows[i].zone);
        int64_t now = s_utc (rows[i].now);
        if (argos_life_hour (rows[i].hour, now, false) != s_utc (rows[i].latest) ||
            argos_life_hour (rows[i].hour, now, true) != s_utc (rows[i].first))
            fail_msg ("row %zu: %s at %s", i, rows[i].zone, rows[i].now);
    }
}

//  Over two years, hour by hour: never more than 25 hours back, and always the same day once.

static void
no_day_is_left_out_or_begins_twice (void **state)
{
    (void) state;
    static const char *const zones[] = { "UTC0", BERLIN, NEW_YORK, LORD_HOWE, KATHMANDU };
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        s_zone (zones[i]);
        int64_t start = s_utc ("2026-01-01 12:00"), end = s_utc ("2028-01-01 12:00");
        int days = 0;
        int64_t latest = argos_life_hour (2, start, false);
        for (int64_t now = start; now < end; now += 30 * MINUTE_MS) {
            int64_t moment = argos_life_hour (2, now, false);
            assert_true (moment <= now && now - moment < 25 * HOUR_MS);
            assert_true (argos_life_hour (2, now, true) > now);
            assert_true (moment >= latest);
            days += moment > latest;
            latest = moment;
        }
        assert_int_equal (days, 730);
    }
}

static void
a_policy_is_looked_for_from_the_closest_place (void **state)
{
    (void) state;
    json_t *config = gate_json ("{'session_reset':{'mode':'idle','idle_minutes':60},"
                                "'reset_by_type':{'group':{'mode':'daily','at_hour':6}},"
                                "'platforms':{'telegram':{'session_reset':{'mode':'both'},"
                                "'group':{'session_reset':{'idle_minutes':5}}},"
                                "'slack':{'session_reset':{'mode':'none','notify':false}}}}");
    static const struct {
        const char *platform, *type; //  Of the chat
        bool idle, daily;            //  Rules
        int64_t minutes;             //  Of idleness
        int hour;                    //  Of the day
        bool notify;                 //  People are told
    } rows[] = {
        { "discord", "dm", true, false, 60, 4, true },
        { "discord", "group", false, true, 60, 6, true },
        { "telegram", "dm", true, true, 60, 4, true },
        { "telegram", "group", true, true, 5, 6, true },
        { "slack", "dm", false, false, 60, 4, false },
        { "api_server", "dm", true, false, 60, 4, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        argos_life_policy_t policy;
        json_t *source =
            json_pack ("{s:s, s:s}", "platform", rows[i].platform, "chat_type", rows[i].type);
        argos_life_policy (config, source, &policy);
        assert_int_equal (policy.idle, rows[i].idle);
        assert_int_equal (policy.daily, rows[i].daily);
        assert_int_equal (policy.idle_ms, rows[i].minutes * MINUTE_MS);
        assert_int_equal (policy.at_hour, rows[i].hour);
        assert_int_equal (policy.notify, rows[i].notify);
        argos_life_policy (NULL, source, &policy);
        assert_false (policy.idle || policy.daily);
        json_decref (source);
    }
    json_decref (config);
}

static void
the_verdict (void **state)
{
    (void) state;
    //  Now is 2026-01-10 12:00; the session was touched so many minutes before
    static const struct {
        const char *mode;    //  Of the policy
        int minutes;         //  Since the last activity
        const char *route;   //  More members
        const char *session; //  More members
        const char *reason;  //  Expected
    } rows[] = {
        { "none", 100000, "", "", "" },
        { "idle", 60, "", "", "" },
        { "idle", 61, "", "", "idle" },
        { "daily", 479, "", "", "" },
        { "daily", 481, "", "", "daily" },
        { "both", 30, "", "", "" },
        { "both", 61, "", "", "idle" },
        { "both", 490, "", "", "daily" }, //  3:50: its day is over before the hour is
        { "both", 600, "", "", "idle" },
        //  Suspended comes first, and does not ask the policy
        { "none", 1, ",'suspended':true", "", "suspended" },
        { "idle", 1000, ",'suspended':true", "", "suspended" },
        //  Interrupted: the policy first, then whether it is fresh
        { "none", 1, ",'resume_reason':'restart_timeout','resume_at':-3600000", "", "" },
        { "none", 1, ",'resume_reason':'restart_timeout','resume_at':-3600001", "",
            "resume_pending_expired" },
        { "idle", 61, ",'resume_reason':'restart_timeout','resume_at':-3600001", "", "idle" },
        //  Ended already: by a rule, by a person
        { "none", 1, "", ",'ended_at':1,'end_reason':'idle'", "idle" },
        { "none", 1, "", ",'ended_at':1,'end_reason':'daily'", "daily" },
        { "idle", 1000, "", ",'ended_at':1,'end_reason':'session_reset'", "" },
    };
    s_zone ("UTC0");
    int64_t now = s_utc ("2026-01-10 12:00");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf (text, sizeof text, "{'route':{'key':'k'%s},'session':{'id':'s'%s}}",
            rows[i].route, rows[i].session);
        json_t *result = gate_json (text);
        json_t *route = json_object_get (result, "route");
        json_t *mark = json_object_get (route, "resume_at");
        if (mark)
            json_integer_set (mark, now + json_integer_value (mark));
        json_object_set_new (json_object_get (result, "session"), "last_activity_at",
            json_integer (now - rows[i].minutes * MINUTE_MS));
        json_object_set_new (route, "updated_at", json_integer (5));
        json_t *config =
            json_pack ("{s:{s:s, s:i}}", "session_reset", "mode", rows[i].mode, "idle_minutes", 60);
        argos_life_policy_t policy;
        argos_life_policy (config, NULL, &policy);
        const char *reason = argos_life_reason (argos_life (&policy, result, now));
        if (strcmp (reason, rows[i].reason) != 0)
            fail_msg ("row %zu: %s", i, reason);
        json_decref (config);
        json_decref (result);
    }
}

static void
what_is_due_is_over_then_and_not_before (void **state)
{
    (void) state;
    static const char *const modes[] = { "idle", "daily", "both" };
    s_zone (BERLIN);
    for (size_t i = 0; i < 3; i++)
        for (int hours = 0; hours < 24 * 366; hours += 5) {
            int64_t touched = s_utc ("2026-01-01 00:07") + hours * HOUR_MS;
            json_t *config = json_pack (
                "{s:{s:s, s:i}}", "session_reset", "mode", modes[i], "idle_minutes", 600);
            json_t *result = json_pack ("{s:{s:I}, s:{s:s}}", "route", "updated_at",
                (json_int_t) touched, "session", "id", "s");
            argos_life_policy_t policy;
            argos_life_policy (config, NULL, &policy);
            int64_t due = argos_life_due (&policy, touched);
            assert_true (due > touched);
            assert_int_equal (argos_life (&policy, result, due - 1), ARGOS_LIFE_KEEP);
            assert_int_not_equal (argos_life (&policy, result, due), ARGOS_LIFE_KEEP);
            json_decref (config);
            json_decref (result);
        }
    argos_life_policy_t never;
    argos_life_policy (NULL, NULL, &never);
    assert_int_equal (argos_life_due (&never, 1), 0);
}

static void
people_are_told_why_when_something_was_lost (void **state)
{
    (void) state;
    static const struct {
        argos_life_t life; //  Verdict
        bool notify;       //  Policy
        int messages;      //  Of the session
        const char *words; //  In the notice, NULL = there is none
    } rows[] = {
        { ARGOS_LIFE_KEEP, true, 5, NULL },
        { ARGOS_LIFE_IDLE, true, 5, "nothing was said for 24 h" },
        { ARGOS_LIFE_IDLE, true, 0, NULL },
        { ARGOS_LIFE_IDLE, false, 5, NULL },
        { ARGOS_LIFE_DAILY, true, 5, "a new day begins at 4:00" },
        { ARGOS_LIFE_STALE, true, 5, "stopped or interrupted" },
        { ARGOS_LIFE_STALE, false, 5, NULL },
        { ARGOS_LIFE_SUSPENDED, false, 0, "stopped or interrupted" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        argos_life_policy_t policy;
        argos_life_policy (NULL, NULL, &policy);
        policy.notify = rows[i].notify;
        assert_int_equal (
            argos_life_notice (rows[i].life, &policy, rows[i].messages > 0, text, sizeof text),
            rows[i].words != NULL);
        if (rows[i].words) {
            assert_non_null (strstr (text, rows[i].words));
            assert_memory_equal (text, "◐", strlen ("◐"));
            assert_non_null (strstr (text, "/resume"));
        }
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_day_begins_once_whatever_the_clock_does),
        cmocka_unit_test (no_day_is_left_out_or_begins_twice),
        cmocka_unit_test (a_policy_is_looked_for_from_the_closest_place),
        cmocka_unit_test (the_verdict),
        cmocka_unit_test (what_is_due_is_over_then_and_not_before),
        cmocka_unit_test (people_are_told_why_when_something_was_lost),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
