//  test_store_handoff - rows of handoffs: the public cases, compare-and-set, leases, what is bound
//  at the end and given back.

#include "store_says.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

//  The three columns of the session in the file, as one text

static const char *
s_columns (kit_t *kit)
{
    static char text[64];
    sqlite3_stmt *stmt = NULL;
    assert_int_equal (sqlite3_prepare_v2 (kit->store->db,
                          "SELECT handoff_state, handoff_platform, handoff_error FROM sessions"
                          " WHERE id = 's'",
                          -1, &stmt, NULL),
        SQLITE_OK);
    assert_int_equal (sqlite3_step (stmt), SQLITE_ROW);
    const char *columns[3];
    for (int i = 0; i < 3; i++) {
        columns[i] = (const char *) sqlite3_column_text (stmt, i);
        if (!columns[i])
            columns[i] = "-";
    }
    snprintf (text, sizeof text, "%.20s %.20s %.20s", columns[0], columns[1], columns[2]);
    sqlite3_finalize (stmt);
    return text;
}

//  The triple of the answer as JSON, in the same order

static const char *
s_triple (kit_t *kit, const char *session)
{
    static char text[2048];
    assert_int_equal (says_read (kit, "handoff.state", "{'session_id':'%s'}", session), ARGOS_OK);
    char *json = json_dumps (says_get (kit, "handoff"), JSON_COMPACT | JSON_ENCODE_ANY);
    snprintf (text, sizeof text, "%s", json);
    free (json);
    return text;
}

static argos_err_t
s_request (kit_t *kit, const char *session, const char *platform)
{
    return says_write (
        kit, "handoff.request", "{'session_id':'%s','platform':'%s'}", session, platform);
}

//  One step of the handoff of the session as it stands now

static argos_err_t
s_step (kit_t *kit, const char *session, const char *type, const char *members)
{
    assert_int_equal (says_read (kit, "handoff.state", "{'session_id':'%s'}", session), ARGOS_OK);
    return says_as (kit, "handoff", type, "{'id':%lld,'epoch':%lld%s}",
        (long long) says_number (kit, "row.id"), (long long) says_number (kit, "row.epoch"),
        members);
}

static size_t
s_pending (kit_t *kit)
{
    assert_int_equal (says_read (kit, "handoff.list", "{}"), ARGOS_OK);
    return json_array_size (says_get (kit, "handoffs"));
}

static kit_t *
s_kit (void)
{
    kit_t *kit = kit_new (false);
    assert_int_equal (says_write (kit, "session.create", "{'id':'s','owner':'ann'}"), ARGOS_OK);
    return kit;
}

//  ------------------------------------------------------------------------------------------------
//  The public cases. The two on the command are in its own tests.

static void
columns_exist (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    assert_string_equal (s_columns (kit), "- - -");
    kit_free (kit);
}

static void
a_request_is_pending (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    assert_string_equal (s_triple (kit, "s"), "{\"state\":null,\"platform\":null,\"error\":null}");
    assert_int_equal (s_request (kit, "s", "telegram"), ARGOS_OK);
    assert_string_equal (
        s_triple (kit, "s"), "{\"state\":\"pending\",\"platform\":\"telegram\",\"error\":null}");
    assert_string_equal (s_columns (kit), "pending telegram -");
    kit_free (kit);
}

static void
a_request_is_refused_while_one_is_in_flight (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    assert_int_equal (s_request (kit, "s", "telegram"), ARGOS_CONFLICT);
    assert_int_equal (s_request (kit, "s", "discord"), ARGOS_CONFLICT);
    assert_int_equal (s_step (kit, "s", "handoff.claim", ""), ARGOS_OK);
    assert_int_equal (s_request (kit, "s", "discord"), ARGOS_CONFLICT);
    assert_string_equal (s_columns (kit), "running telegram -");
    kit_free (kit);
}

static void
after_a_failure_it_can_be_asked_for_again (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    assert_int_equal (s_step (kit, "s", "handoff.fail", ",'error':'no home'"), ARGOS_OK);
    assert_string_equal (s_columns (kit), "failed telegram no home");
    assert_int_equal (s_request (kit, "s", "discord"), ARGOS_OK);
    assert_string_equal (s_columns (kit), "pending discord -");
    assert_int_equal (s_step (kit, "s", "handoff.claim", ""), ARGOS_OK);
    assert_int_equal (s_step (kit, "s", "handoff.complete", ""), ARGOS_OK);
    assert_int_equal (s_request (kit, "s", "telegram"), ARGOS_OK);
    kit_free (kit);
}

static void
the_list_holds_only_what_is_pending (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    static const char *const ids[] = { "a", "b", "c", "d" };
    for (size_t i = 0; i < 4; i++, kit->now++) {
        says_write (kit, "session.create", "{'id':'%s'}", ids[i]);
        s_request (kit, ids[i], i % 2 ? "discord" : "telegram");
    }
    s_step (kit, "a", "handoff.claim", "");
    s_step (kit, "c", "handoff.fail", ",'error':'x'");
    assert_int_equal (s_pending (kit), 2);
    assert_string_equal (json_string_value (json_object_get (
                             json_array_get (says_get (kit, "handoffs"), 0), "session_id")),
        "b");
    says_read (kit, "handoff.list", "{'platform':'telegram'}");
    assert_int_equal (json_array_size (says_get (kit, "handoffs")), 0);
    kit_free (kit);
}

static void
it_is_claimed_once (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    says_read (kit, "handoff.state", "{'session_id':'s'}");
    long long id = says_number (kit, "row.id"), epoch = says_number (kit, "row.epoch");
#define CLAIM "{'id':%lld,'epoch':%lld}", id, epoch
    assert_int_equal (says_as (kit, "one", "handoff.claim", CLAIM), ARGOS_OK);
    assert_int_equal (says_as (kit, "two", "handoff.claim", CLAIM), ARGOS_CONFLICT);
    assert_int_equal (s_step (kit, "s", "handoff.claim", ""), ARGOS_CONFLICT);
    says_read (kit, "handoff.state", "{'session_id':'s'}");
    assert_string_equal (says_text (kit, "row.claimed_by"), "one");
    kit_free (kit);
}

static void
the_end_clears_or_keeps_the_error (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    s_step (kit, "s", "handoff.claim", "");
    assert_int_equal (s_step (kit, "s", "handoff.complete", ""), ARGOS_OK);
    assert_string_equal (
        s_triple (kit, "s"), "{\"state\":\"completed\",\"platform\":\"telegram\",\"error\":null}");
    s_request (kit, "s", "telegram");
    s_step (kit, "s", "handoff.claim", "");
    assert_int_equal (s_step (kit, "s", "handoff.fail", ",'error':'no such chat'"), ARGOS_OK);
    assert_string_equal (s_triple (kit, "s"),
        "{\"state\":\"failed\",\"platform\":\"telegram\",\"error\":\"no such chat\"}");
    kit_free (kit);
}

//  A reason of a thousand characters is stored as the first 500, whatever their size.

static void
a_long_reason_is_cut (void **state)
{
    (void) state;
    static const char *const letters[] = { "x", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80" };
    for (size_t i = 0; i < 4; i++) {
        kit_t *kit = s_kit ();
        char members[4200] = ",'error':'";
        size_t size = strlen (letters[i]), at = strlen (members);
        for (size_t j = 0; j < 1000; j++, at += size)
            memcpy (members + at, letters[i], size + 1);
        memcpy (members + at, "'", 2);
        s_request (kit, "s", "telegram");
        assert_int_equal (s_step (kit, "s", "handoff.fail", members), ARGOS_OK);
        s_triple (kit, "s");
        assert_int_equal (strlen (says_text (kit, "handoff.error")), 500 * size);
        assert_int_equal (kit_number (kit, "SELECT length (handoff_error) FROM sessions"), 500);
        kit_free (kit);
    }
}

static void
what_is_not_there_is_null (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    assert_string_equal (s_triple (kit, "none"), "null");
    assert_true (json_is_null (says_get (kit, "row")));
    says_read (kit, "handoff.state", "{'session_id':'s','owner':'bob'}");
    assert_true (json_is_null (says_get (kit, "handoff")));
    assert_int_equal (s_request (kit, "none", "telegram"), ARGOS_NOT_FOUND);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 1);
    kit_free (kit);
}

static void
the_whole_way_with_two_messages (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    says_turn (kit, "s", "session.append",
        "{'session_id':'s','messages':[{'role':'user','content':'hello'},"
        "{'role':'assistant','content':'hi'}]}");
    assert_int_equal (s_request (kit, "s", "telegram"), ARGOS_OK);
    assert_int_equal (s_pending (kit), 1);
    assert_int_equal (s_step (kit, "s", "handoff.claim", ""), ARGOS_OK);
    assert_int_equal (s_pending (kit), 0);
    says_read (kit, "session.load", "{'id':'s'}");
    assert_int_equal (json_array_size (says_get (kit, "messages")), 2);
    assert_int_equal (s_step (kit, "s", "handoff.complete", ""), ARGOS_OK);
    assert_string_equal (s_columns (kit), "completed telegram -");
    kit_free (kit);
}

//  ------------------------------------------------------------------------------------------------
//  More than the public ones

static void
a_platform_is_stored_small (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    assert_int_equal (s_request (kit, "s", " \\tTeleGram "), ARGOS_OK);
    assert_string_equal (s_columns (kit), "pending telegram -");
    static const char *const wrong[] = { "  ", "tele gram", "x", "1abc", "a-b",
        "t\xc3\xa9l\xc3\xa9" };
    says_write (kit, "session.create", "{'id':'t'}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal (s_request (kit, "t", wrong[i]), ARGOS_INVALID);
    kit_free (kit);
}

//  #98225: who gives up waiting, gives up only what nobody has claimed.

static void
who_gives_up_loses_to_a_claim (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    says_read (kit, "handoff.state", "{'session_id':'s'}");
    long long id = says_number (kit, "row.id"), epoch = says_number (kit, "row.epoch");
    assert_int_equal (says_as (kit, "gw", "handoff.claim", CLAIM), ARGOS_OK);
    assert_int_equal (
        says_as (kit, "cli", "handoff.fail",
            "{'id':%lld,'epoch':%lld,'error':'timed out','states':['pending']}", id, epoch),
        ARGOS_CONFLICT);
    assert_int_equal (
        says_as (kit, "cli", "handoff.fail",
            "{'id':%lld,'epoch':%lld,'error':'timed out','states':['pending']}", id, epoch + 1),
        ARGOS_CONFLICT);
    assert_int_equal (s_step (kit, "s", "handoff.complete", ""), ARGOS_OK);
    assert_int_equal (s_step (kit, "s", "handoff.fail", ",'error':'late'"), ARGOS_CONFLICT);
    assert_string_equal (s_columns (kit), "completed telegram -");
    kit_free (kit);
}

static void
a_lost_claim_comes_back_once (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    s_step (kit, "s", "handoff.claim", ",'lease_ms':1000");
    long long id = says_number (kit, "row.id");
    kit->now += 1000;
    says_write (kit, "handoff.expire", "{}");
    assert_string_equal (s_columns (kit), "running telegram -");
    s_step (kit, "s", "handoff.heartbeat", ",'lease_ms':2000");
    kit->now += 2000;
    says_write (kit, "handoff.expire", "{}");
    assert_string_equal (s_columns (kit), "running telegram -");
    kit->now++;
    says_write (kit, "handoff.expire", "{}");
    assert_string_equal (s_columns (kit), "pending telegram -");
    //  Who had it has lost it
    assert_int_equal (
        says_as (kit, "handoff", "handoff.complete", "{'id':%lld,'epoch':1}", id), ARGOS_CONFLICT);
    assert_int_equal (
        says_as (kit, "handoff", "handoff.heartbeat", "{'id':%lld,'epoch':1}", id), ARGOS_CONFLICT);
    assert_int_equal (s_step (kit, "s", "handoff.claim", ""), ARGOS_OK);
    says_as (kit, "other", "handoff.expire", "{'own':true}");
    assert_string_equal (s_columns (kit), "running telegram -");
    says_as (kit, "handoff", "handoff.expire", "{'own':true}");
    says_read (kit, "handoff.state", "{'session_id':'s'}");
    assert_string_equal (says_text (kit, "handoff.state"), "failed");
    kit_free (kit);
}

static void
what_was_sent_is_not_tried_again (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    s_step (kit, "s", "handoff.claim", "");
    assert_int_equal (s_step (kit, "s", "handoff.heartbeat", ",'sent':true"), ARGOS_OK);
    assert_int_equal (s_step (kit, "s", "handoff.heartbeat", ""), ARGOS_OK);
    says_as (kit, "handoff", "handoff.expire", "{'own':true}");
    says_read (kit, "handoff.state", "{'session_id':'s'}");
    assert_string_equal (says_text (kit, "handoff.state"), "failed");
    assert_non_null (strstr (says_text (kit, "handoff.error"), "again"));
    kit_free (kit);
}

static void
nobody_comes_in_time (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    says_write (
        kit, "handoff.request", "{'session_id':'s','platform':'telegram','claim_ms':60000}");
    kit->now += 60000;
    says_write (kit, "handoff.expire", "{}");
    assert_string_equal (s_columns (kit), "pending telegram -");
    kit->now++;
    says_write (kit, "handoff.expire", "{}");
    assert_string_equal (s_columns (kit), "failed telegram no gateway took it i");
    kit_free (kit);
}

static const char *
s_route (kit_t *kit, const char *key)
{
    says_read (kit, "route.get", "{'key':'%s'}", key);
    return says_text (kit, "route.session_id");
}

//  What is bound at the end is given back when the end was none.

static void
a_failed_end_restores_the_route (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    says_write (kit, "session.create", "{'id':'old'}");
    says_write (kit, "route.bind", "{'key':'k','session_id':'old'}");
    s_request (kit, "s", "telegram");
    s_step (kit, "s", "handoff.claim", "");
    assert_int_equal (s_step (kit, "s", "handoff.complete", ",'key':'k'"), ARGOS_OK);
    assert_string_equal (s_route (kit, "k"), "s");
    says_read (kit, "handoff.state", "{'session_id':'s'}");
    assert_string_equal (says_text (kit, "row.previous"), "old");
    assert_int_equal (
        s_step (kit, "s", "handoff.fail", ",'error':'not sent','states':['completed']"), ARGOS_OK);
    assert_string_equal (s_route (kit, "k"), "old");
    assert_int_equal (says_number (kit, "route.version"), 3);
    //  A route that was not there is not there
    s_request (kit, "s", "telegram");
    s_step (kit, "s", "handoff.claim", "");
    s_step (kit, "s", "handoff.complete", ",'key':'fresh'");
    assert_string_equal (s_route (kit, "fresh"), "s");
    s_step (kit, "s", "handoff.fail", ",'error':'not sent','states':['completed']");
    assert_string_equal (s_route (kit, "fresh"), "");
    //  One that was led elsewhere meanwhile stays
    s_request (kit, "s", "telegram");
    s_step (kit, "s", "handoff.claim", "");
    s_step (kit, "s", "handoff.complete", ",'key':'k'");
    says_write (kit, "session.create", "{'id':'third'}");
    says_write (kit, "route.bind", "{'key':'k','session_id':'third'}");
    s_step (kit, "s", "handoff.fail", ",'error':'not sent','states':['completed']");
    assert_string_equal (s_route (kit, "k"), "third");
    kit_free (kit);
}

static void
a_deleted_session_takes_its_handoff_along (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_request (kit, "s", "telegram");
    assert_int_equal (says_write (kit, "session.delete", "{'id':'s'}"), ARGOS_OK);
    assert_int_equal (s_pending (kit), 0);
    kit_free (kit);
}

//  A thousand steps of several gateways, each on what it saw last: at most one has it, no step
//  is half made, and what the session says is what the row says.

static void
interleavings_keep_one_owner (void **state)
{
    (void) state;
    enum { GATEWAYS = 3, SESSIONS = 4, STEPS = 1000 };
    static const char *const types[] = { "handoff.claim", "handoff.heartbeat", "handoff.complete",
        "handoff.fail" };
    struct {
        long long id, epoch; //  As it was seen last
    } seen[GATEWAYS][SESSIONS] = { { { 0, 0 } } };
    long long owner_epoch[SESSIONS] = { 0 };
    int owner[SESSIONS] = { -1, -1, -1, -1 };
    kit_t *kit = kit_new (false);
    srand (7);
    for (int s = 0; s < SESSIONS; s++)
        says_write (kit, "session.create", "{'id':'s%d'}", s);
    for (int step = 0; step < STEPS; step++) {
        int g = rand () % GATEWAYS, s = rand () % SESSIONS, what = rand () % 8;
        char name[8];
        snprintf (name, sizeof name, "g%d", g);
        kit->now += rand () % 3000;
        if (what == 0)
            says_write (kit, "handoff.request", "{'session_id':'s%d','platform':'telegram'}", s);
        else if (what == 1) {
            says_as (kit, name, "handoff.expire", "{'own':%s}", rand () % 8 ? "false" : "true");
            for (int i = 0; i < SESSIONS; i++) {
                says_read (kit, "handoff.state", "{'session_id':'s%d'}", i);
                if (owner[i] >= 0 && strcmp (says_text (kit, "handoff.state"), "running") != 0)
                    owner[i] = -1;
            }
        }
        else if (what < 4) {
            says_read (kit, "handoff.state", "{'session_id':'s%d'}", s);
            seen[g][s].id = says_number (kit, "row.id");
            seen[g][s].epoch = says_number (kit, "row.epoch");
        }
        else if (seen[g][s].id) {
            argos_err_t code = says_as (kit, name, types[what - 4],
                "{'id':%lld,'epoch':%lld,'error':'e'}", seen[g][s].id, seen[g][s].epoch);
            if (code == ARGOS_OK && what == 4) {
                assert_int_equal (owner[s], -1);
                owner[s] = g;
                owner_epoch[s] = ++seen[g][s].epoch;
            }
            else if (code == ARGOS_OK && owner[s] >= 0) {
                assert_int_equal (seen[g][s].epoch, owner_epoch[s]);
                owner[s] = what == 5 ? owner[s] : -1;
            }
        }
        if (step % 50 == 0)
            assert_int_equal (
                kit_number (kit,
                    "SELECT count (*) FROM sessions s LEFT JOIN handoffs h ON h.session_id = s.id"
                    " WHERE s.handoff_state IS NOT h.state OR s.handoff_error IS NOT h.error"
                    " OR s.handoff_platform IS NOT h.platform"
                    " OR (h.state = 'pending' AND h.claims > 1)"),
                0);
    }
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (columns_exist),
        cmocka_unit_test (a_request_is_pending),
        cmocka_unit_test (a_request_is_refused_while_one_is_in_flight),
        cmocka_unit_test (after_a_failure_it_can_be_asked_for_again),
        cmocka_unit_test (the_list_holds_only_what_is_pending),
        cmocka_unit_test (it_is_claimed_once),
        cmocka_unit_test (the_end_clears_or_keeps_the_error),
        cmocka_unit_test (a_long_reason_is_cut),
        cmocka_unit_test (what_is_not_there_is_null),
        cmocka_unit_test (the_whole_way_with_two_messages),
        cmocka_unit_test (a_platform_is_stored_small),
        cmocka_unit_test (who_gives_up_loses_to_a_claim),
        cmocka_unit_test (a_lost_claim_comes_back_once),
        cmocka_unit_test (what_was_sent_is_not_tried_again),
        cmocka_unit_test (nobody_comes_in_time),
        cmocka_unit_test (a_failed_end_restores_the_route),
        cmocka_unit_test (a_deleted_session_takes_its_handoff_along),
        cmocka_unit_test (interleavings_keep_one_owner),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
