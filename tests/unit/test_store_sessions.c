//  test_store_sessions - lives, lists, transcripts and usage of sessions.

#include "store_says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOLDER "agent/1" //  Who has the leases

static json_t *
s_get (kit_t *kit, const char *name)
{
    return json_object_get (kit->result, name);
}

static const char *
s_text (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

static int64_t
s_integer (const json_t *object, const char *name)
{
    return json_integer_value (json_object_get (object, name));
}

//  A member of a session, a text.

static const char *
s_of (kit_t *kit, const char *id, const char *name)
{
    says_read (kit, "session.get", "{'id':'%s'}", id);
    return s_text (s_get (kit, "session"), name);
}

static const char *
s_found (kit_t *kit, const char *text, const char *owner)
{
    says_read (kit, "session.resolve", *owner ? "{'text':'%s','owner':'%s'}" : "{'text':'%s'}",
        text, owner);
    return s_text (kit->result, "session_id");
}

//  ------------------------------------------------------------------------------------------------

static void
not_yours_is_not_there (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    assert_int_equal (
        says_write (kit, "session.create", "{'id':'abc1','owner':'ann','title':'Plan'}"), ARGOS_OK);
    static const struct {
        const char *type; //  Operation
        const char *body; //  Members behind the id
        bool write;       //  Else a read
    } cases[] = { { "session.load", "", false }, { "session.lineage", "", false },
        { "usage.get", "", false }, { "session.rename", ",'title':'x'", true },
        { "session.reopen", "", true }, { "session.update", ",'hidden':true", true },
        { "session.home", ",'home':'core'", true }, { "session.delete", "", true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char foreign[256], absent[256];
        char reason[sizeof kit->ans->reason];
        argos_err_t code;
        snprintf (foreign, sizeof foreign, "{'id':'abc1','owner':'bob'%s}", cases[i].body);
        snprintf (absent, sizeof absent, "{'id':'none','owner':'bob'%s}", cases[i].body);
        code = cases[i].write ? says_write (kit, cases[i].type, "%s", foreign)
                              : says_read (kit, cases[i].type, "%s", foreign);
        assert_int_equal (code, ARGOS_NOT_FOUND);
        snprintf (reason, sizeof reason, "%s", kit->ans->reason);
        code = cases[i].write ? says_write (kit, cases[i].type, "%s", absent)
                              : says_read (kit, cases[i].type, "%s", absent);
        assert_int_equal (code, ARGOS_NOT_FOUND);
        assert_string_equal (reason, kit->ans->reason);
    }
    says_read (kit, "session.get", "{'id':'abc1','owner':'bob'}");
    assert_true (json_is_null (s_get (kit, "session")));
    assert_string_equal (s_found (kit, "abc1", "bob"), "");
    assert_string_equal (s_found (kit, "abc", "bob"), "");
    assert_string_equal (s_found (kit, "Plan", "bob"), "");
    assert_string_equal (s_found (kit, "abc", "ann"), "abc1");
    assert_string_equal (s_found (kit, "Plan", "ann"), "abc1");
    says_read (kit, "session.list", "{'owner':'bob'}");
    assert_int_equal (json_array_size (s_get (kit, "sessions")), 0);
    says_read (kit, "session.list", "{'owner':'ann'}");
    assert_int_equal (json_array_size (s_get (kit, "sessions")), 1);
    assert_int_equal (
        says_write (kit, "session.ensure", "{'id':'abc1','owner':'bob'}"), ARGOS_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        assert_int_equal (says_write (kit, "session.create",
                              "{'id':'b','owner':'bob','parent':'%s'}", i ? "none" : "abc1"),
            ARGOS_NOT_FOUND);
        assert_string_equal (kit->ans->reason, "no such parent");
    }
    //  Neither is a relative of another owner, which an import may bring
    says_write (kit, "session.import",
        "{'id':'bobs','session':{'started_at':1,'owner':'bob','parent':'abc1',"
        "'kind':'compression'}}");
    says_read (kit, "session.lineage", "{'id':'bobs','owner':'bob'}");
    assert_int_equal (json_array_size (s_get (kit, "ancestors")), 0);
    assert_string_equal (s_text (kit->result, "root"), "bobs");
    says_read (kit, "session.lineage", "{'id':'abc1','owner':'ann'}");
    assert_int_equal (json_array_size (s_get (kit, "children")), 0);
    assert_string_equal (s_text (kit->result, "tip"), "abc1");
    says_read (kit, "session.lineage", "{'id':'abc1'}");
    assert_int_equal (json_array_size (s_get (kit, "children")), 1);
    assert_string_equal (s_text (kit->result, "tip"), "bobs");
    kit_free (kit);
}

static void
ensure_fills_in_only_what_is_not_known (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
#define SOURCE(platform)                                                                           \
    "'source':{'platform':'" platform "','account':'a','chat_type':'dm','user_id':'u'}"
    assert_int_equal (says_write (kit, "session.ensure", "{'id':'s'}"), ARGOS_OK);
    assert_int_equal (
        says_write (kit, "session.ensure", "{'id':'s'," SOURCE ("cli") ",'model':'m'}"), 0);
    assert_string_equal (s_of (kit, "s", "owner"), "cli:a:u");
    assert_int_equal (
        says_write (kit, "session.ensure", "{'id':'s'," SOURCE ("telegram") ",'model':'n'}"), 0);
    assert_string_equal (s_of (kit, "s", "platform"), "cli");
    assert_string_equal (s_of (kit, "s", "model"), "m");
    assert_int_equal (
        says_write (kit, "session.create", "{'id':'t','parent':'none'}"), ARGOS_NOT_FOUND);
    assert_int_equal (
        says_write (kit, "session.create", "{'id':'t','kind':'branch'}"), ARGOS_INVALID);
    kit_free (kit);
}

static void
the_first_reason_wins_unless_it_was_an_accident (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s'}");
    assert_int_equal (
        says_turn (kit, "s", "session.close", "{'id':'s','reason':'agent_close'}"), ARGOS_OK);
    assert_int_equal (
        says_turn (kit, "s", "session.close", "{'id':'s','reason':'ws_orphan_reap'}"), ARGOS_OK);
    assert_string_equal (s_of (kit, "s", "end_reason"), "agent_close");
    int64_t at = kit->now++;
    says_turn (kit, "s", "session.close", "{'id':'s','reason':'session_reset'}");
    assert_string_equal (s_of (kit, "s", "end_reason"), "session_reset");
    assert_int_equal (s_integer (s_get (kit, "session"), "ended_at"), at);
    says_turn (kit, "s", "session.close", "{'id':'s','reason':'daily'}");
    assert_string_equal (s_of (kit, "s", "end_reason"), "session_reset");
    assert_int_equal (says_write (kit, "session.reopen", "{'id':'s'}"), ARGOS_OK);
    assert_string_equal (s_of (kit, "s", "end_reason"), "");
    kit_free (kit);
}

static void
a_branch_has_the_messages_up_to_its_point (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'a','owner':'ann','title':'Plan'}");
    says_turn (kit, "a", "session.append",
        "{'session_id':'a','messages':[{'role':'user','content':' one\\n two "
        "'},{'role':'assistant',"
        "'content':'x','tool_calls':[{'id':'c'}]},{'role':'user','content':'three'}]}");
    assert_string_equal (s_of (kit, "a", "preview"), "one two");
    assert_int_equal (s_integer (s_get (kit, "session"), "tool_call_count"), 1);
    assert_int_equal (
        says_write (kit, "session.branch", "{'id':'b','from':'a','upto':2}"), ARGOS_OK);
    assert_string_equal (s_of (kit, "b", "title"), "Plan #2");
    assert_string_equal (s_of (kit, "b", "owner"), "ann");
    assert_int_equal (s_integer (s_get (kit, "session"), "message_count"), 2);
    assert_string_equal (s_of (kit, "b", "preview"), "one two");
    assert_int_equal (says_write (kit, "session.branch", "{'id':'b','from':'a'}"), ARGOS_CONFLICT);
    assert_int_equal (
        says_write (kit, "session.branch", "{'id':'c','from':'a','owner':'bob'}"), ARGOS_NOT_FOUND);
    kit_free (kit);
}

static void
what_is_taken_back_can_come_again (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
#define TWO(n)                                                                                     \
    "{'session_id':'s','messages':[{'role':'user','content':'q','client_id':'" n "'}"              \
    ",{'role':'assistant','content':'a'}]}"
    says_write (kit, "session.create", "{'id':'s'}");
    says_turn (kit, "s", "session.append", TWO ("1"));
    says_turn (kit, "s", "session.append", TWO ("2"));
    assert_int_equal (says_turn (kit, "s", "session.rewind", "{'session_id':'s'}"), ARGOS_INVALID);
    assert_int_equal (says_turn (kit, "s", "session.rewind", "{'session_id':'s','message_id':2}"),
        ARGOS_NOT_FOUND);
    int64_t seq = kit_send (kit, "work", "turn", "s", NULL, NULL);
    assert_int_equal (
        says_write (kit, "session.rewind", "{'session_id':'s','message_id':3}"), ARGOS_DENIED);
    kit_done (kit, HOLDER, seq, kit_lease (kit, seq, HOLDER), 1, seq);
    says_read (kit, "session.load", "{'id':'s','last':1}");
    assert_int_equal (s_integer (json_array_get (s_get (kit, "messages"), 0), "id"), 3);
    says_read (kit, "session.load", "{'id':'s','last':5}");
    assert_int_equal (json_array_size (s_get (kit, "messages")), 2);
    //  Nothing runs or waits there: no lease is needed
    assert_int_equal (
        says_write (kit, "session.rewind", "{'session_id':'s','message_id':3}"), ARGOS_OK);
    says_read (kit, "session.load", "{'id':'s'}");
    assert_int_equal (json_array_size (s_get (kit, "messages")), 2);
    says_read (kit, "session.load", "{'id':'s','inactive':true}");
    assert_int_equal (json_array_size (s_get (kit, "messages")), 4);
    assert_int_equal (
        says_turn (kit, "s", "session.rewind", "{'session_id':'s','restore':true}"), ARGOS_OK);
    assert_int_equal (says_turn (kit, "s", "session.rewind", "{'session_id':'s','restore':true}"),
        ARGOS_CONFLICT);
    s_of (kit, "s", "id");
    assert_int_equal (s_integer (s_get (kit, "session"), "message_count"), 4);
    says_turn (kit, "s", "session.rewind", "{'session_id':'s','message_id':1}");
    assert_string_equal (s_of (kit, "s", "preview"), "");
    says_turn (kit, "s", "session.append",
        "{'session_id':'s','messages':[{'role':'user','content':'new'}]}");
    assert_int_equal (says_turn (kit, "s", "session.rewind", "{'session_id':'s','restore':true}"),
        ARGOS_CONFLICT);
    assert_int_equal (says_turn (kit, "s", "session.replace",
                          "{'session_id':'s','compact':true,'messages':[{'role':'system',"
                          "'content':'sum'}]}"),
        ARGOS_OK);
    says_read (kit, "session.load", "{'id':'s'}");
    assert_int_equal (json_array_size (s_get (kit, "messages")), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages WHERE compacted = 1"), 1);
    says_turn (kit, "s", "session.replace", "{'session_id':'s','messages':[]}");
    says_read (kit, "session.load", "{'id':'s'}");
    assert_int_equal (json_array_size (s_get (kit, "messages")), 0);
    assert_int_equal (
        says_turn (kit, "none", "session.replace", "{'session_id':'none','messages':[]}"),
        ARGOS_NOT_FOUND);
    kit_free (kit);
}

static void
a_message_is_added_once_for_its_client_id (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s'}");
    for (int i = 0; i < 3; i++)
        assert_int_equal (says_turn (kit, "s", "session.append",
                              "{'session_id':'s','messages':[{'role':'user','content':'%d',"
                              "'client_id':'x'},{'role':'user','content':'%d'}]}",
                              i, i),
            ARGOS_OK);
    s_of (kit, "s", "id");
    assert_int_equal (s_integer (s_get (kit, "session"), "message_count"), 4);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 4);
    kit_free (kit);
}

//  What it folds, and what was taken back, gives up the client ids that it has.

static void
a_new_transcript_is_whole (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s'}");
    says_turn (kit, "s", "session.append",
        "{'session_id':'s','messages':[{'role':'user','content':'one','client_id':'1'},"
        "{'role':'user','content':'two','client_id':'2'},"
        "{'role':'user','content':'three','client_id':'3'}]}");
    int64_t taken = kit_number (kit, "SELECT max (id) FROM messages");
    assert_int_equal (says_write (kit, "session.rewind", "{'session_id':'s','message_id':%lld}",
                          (long long) taken),
        ARGOS_OK);
    static const char *const compact[] = { "true", "false" };
    for (int i = 0; i < 2; i++) {
        assert_int_equal (says_turn (kit, "s", "session.replace",
                              "{'session_id':'s','compact':%s,'messages':"
                              "[{'role':'system','content':'sum'},"
                              "{'role':'user','content':'two','client_id':'2'},"
                              "{'role':'user','content':'three','client_id':'3'}]}",
                              compact[i]),
            ARGOS_OK);
        says_read (kit, "session.load", "{'id':'s'}");
        assert_int_equal (json_array_size (s_get (kit, "messages")), 3);
        s_of (kit, "s", "id");
        assert_int_equal (s_integer (s_get (kit, "session"), "message_count"), 3);
    }
    assert_int_equal (says_turn (kit, "s", "session.replace",
                          "{'session_id':'s','messages':[{'role':'user','content':'a',"
                          "'client_id':'x'},{'role':'user','content':'b','client_id':'x'}]}"),
        ARGOS_INVALID);
    says_read (kit, "session.load", "{'id':'s'}");
    assert_int_equal (json_array_size (s_get (kit, "messages")), 3);
    kit_free (kit);
}

static void
a_session_with_work_is_not_deleted (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'a'}");
    says_write (kit, "session.create", "{'id':'k','parent':'a','kind':'delegate'}");
    says_write (kit, "session.create", "{'id':'l','parent':'k','kind':'delegate'}");
    says_write (kit, "session.create", "{'id':'b','parent':'a'}");
    says_turn (kit, "l", "session.append",
        "{'session_id':'l','messages':[{'role':'user','content':'x'}]}");
    says_write (kit, "usage.add", "{'session_id':'a','model':'m'}");
    int64_t seq = kit_send (kit, "work", "turn", "l", NULL, NULL);
    assert_int_equal (says_write (kit, "session.delete", "{'id':'a'}"), ARGOS_CONFLICT);
    says_write (kit, "session.prune", "{'before':9007199254740992}");
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 3); //  b went
    kit_done (kit, HOLDER, seq, kit_lease (kit, seq, HOLDER), 1, seq);
    assert_int_equal (says_write (kit, "session.delete", "{'id':'a'}"), ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM session_usage"), 0);
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 0);
    kit_free (kit);
}

static void
pruning_takes_what_the_list_has_shown (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t start = kit->now;
    for (int i = 0; i < 5; i++, kit->now += 10)
        says_write (kit, "session.create",
            "{'id':'s%d','source':{'platform':'%s','account':'a','chat_type':'dm'}}", i,
            i == 1 ? "cli" : "http");
    says_write (kit, "session.update", "{'id':'s0','archived':true}");
    char bounds[128];
    snprintf (bounds, sizeof bounds, "%lld,'platform':'http'", (long long) start + 35);
    says_read (kit, "session.list", "{'prunable_before':%s}", bounds);
    assert_int_equal (json_array_size (s_get (kit, "sessions")), 2);
    assert_string_equal (s_text (json_array_get (s_get (kit, "sessions"), 0), "id"), "s2");
    says_write (kit, "session.prune", "{'before':%s,'limit':1}", bounds);
    says_read (kit, "session.list", "{'prunable_before':%s}", bounds);
    assert_int_equal (json_array_size (s_get (kit, "sessions")), 1);
    says_write (kit, "session.prune", "{'before':%s}", bounds);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 3);
    kit_free (kit);
}

//  Old sessions that stay are not in the way of those that can go: one has work in the lane of a
//  delegate of a delegate, one has too many delegates.

static void
pruning_goes_past_what_has_to_stay (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    for (int i = 0; i < 100; i++) {
        says_write (kit, "session.create", "{'id':'a%d'}", i);
        says_write (kit, "session.create", "{'id':'k%d','parent':'a%d','kind':'delegate'}", i, i);
        says_write (kit, "session.create", "{'id':'l%d','parent':'k%d','kind':'delegate'}", i, i);
        char lane[16], id[16];
        snprintf (lane, sizeof lane, "l%d", i);
        snprintf (id, sizeof id, "work%d", i);
        kit_send (kit, id, "turn", lane, NULL, NULL);
    }
    says_write (kit, "session.create", "{'id':'many'}");
    for (int i = 0; i < ARGOS_STORE_FAMILY_MAX; i++)
        says_write (kit, "session.create", "{'id':'m%d','parent':'many','kind':'delegate'}", i);
    kit->now += 10;
    says_write (kit, "session.create", "{'id':'free'}");
    says_write (kit, "session.create", "{'id':'helper','parent':'free','kind':'delegate'}");
    int64_t before = kit_number (kit, "SELECT count (*) FROM sessions");
    says_read (kit, "session.list", "{'prunable_before':9007199254740992,'limit':100}");
    assert_int_equal (json_array_size (s_get (kit, "sessions")), 1);
    says_write (kit, "session.prune", "{'before':9007199254740992}");
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), before - 2);
    says_read (kit, "session.list", "{'prunable_before':9007199254740992,'limit':100}");
    assert_int_equal (json_array_size (s_get (kit, "sessions")), 0);
    says_write (kit, "session.delete", "{'id':'m0'}"); //  Few enough now
    says_write (kit, "session.prune", "{'before':9007199254740992}");
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 300);
    kit_free (kit);
}

static void
says_home (kit_t *kit, const char *id, const char *expected)
{
    says_read (kit, "session.get", "{'id':'%s'}", id);
    const char *home = json_string_value (json_object_get (s_get (kit, "session"), "home"));
    if (expected)
        assert_string_equal (home, expected);
    else
        assert_null (home);
}

//  The first node that claims a session is its home, and that of all that comes of it.

static void
a_session_has_one_home (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'before'}");
    says_write (kit, "session.create", "{'id':'a'}");
    says_home (kit, "a", NULL);
    assert_int_equal (says_write (kit, "session.home", "{'id':'a','home':'edge'}"), ARGOS_OK);
    assert_int_equal (says_write (kit, "session.home", "{'id':'a','home':'core'}"), ARGOS_CONFLICT);
    assert_int_equal (says_write (kit, "session.home", "{'id':'a'}"), ARGOS_CONFLICT);
    assert_int_equal (says_write (kit, "session.home", "{'id':'a','home':'edge'}"), ARGOS_OK);
    says_home (kit, "a", "edge");
    says_write (kit, "session.ensure", "{'id':'child','parent':'a','kind':'delegate'}");
    says_write (kit, "session.branch", "{'id':'copy','from':'a'}");
    says_home (kit, "child", "edge");
    says_home (kit, "copy", "edge");
    says_home (kit, "before", NULL);
    assert_int_equal (
        says_write (kit, "session.home", "{'id':'a','home':'core','move':true}"), ARGOS_OK);
    says_home (kit, "a", "core");
    says_home (kit, "child", "edge");
    assert_int_equal (says_write (kit, "session.home", "{'id':'a','move':true}"), ARGOS_OK);
    says_home (kit, "a", NULL);
    assert_int_equal (
        says_write (kit, "session.home", "{'id':'none','home':'core'}"), ARGOS_NOT_FOUND);
    kit_free (kit);
}

static void
pages_of_a_list_show_each_session_once (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    for (int i = 0; i < 25; i++) {
        kit->now += i % 3;
        says_write (kit, "session.create", "{'id':'s%d','hidden':%s}", i, i < 5 ? "true" : "false");
    }
    char after[128] = "";
    int seen = 0;
    int64_t last = INT64_MAX;
    do {
        says_read (kit, "session.list", "{'limit':7%s}", after);
        size_t index;
        json_t *session;
        json_array_foreach (s_get (kit, "sessions"), index, session) {
            assert_true (s_integer (session, "last_activity_at") <= last);
            last = s_integer (session, "last_activity_at");
            seen++;
        }
        const json_t *next = s_get (kit, "next");
        snprintf (after, sizeof after, ",'after':{'at':%lld,'id':'%s'}",
            (long long) s_integer (next, "at"), s_text (next, "id"));
    } while (s_get (kit, "next"));
    assert_int_equal (seen, 20);
    assert_int_equal (
        kit_number (kit, "SELECT count (*) FROM pragma_index_list ('sessions') WHERE name ="
                         " 'sessions_recent'"),
        1);
    kit_free (kit);
}

static void
usage_adds_up_by_model (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s','owner':'ann'}");
    for (int i = 0; i < 3; i++)
        assert_int_equal (says_write (kit, "usage.add",
                              "{'session_id':'s','model':'m','input_tokens':10,'output_tokens':1,"
                              "'estimated_usd':0.5%s}",
                              i == 2 ? ",'actual_usd':0.25" : ""),
            ARGOS_OK);
    says_write (kit, "usage.add", "{'session_id':'s','model':'n','task':'title'}");
    assert_int_equal (
        says_write (kit, "usage.add", "{'session_id':'none','model':'m'}"), ARGOS_NOT_FOUND);
    says_read (kit, "usage.get", "{'id':'s'}");
    const json_t *line = json_array_get (s_get (kit, "usage"), 0);
    assert_int_equal (json_array_size (s_get (kit, "usage")), 2);
    assert_int_equal (s_integer (line, "calls"), 3);
    assert_int_equal (s_integer (line, "input_tokens"), 30);
    assert_true (json_real_value (json_object_get (line, "estimated_usd")) == 1.5);
    assert_true (json_real_value (json_object_get (line, "actual_usd")) == 0.25);
    assert_true (json_real_value (json_object_get (line, "cost_usd")) == 1.25);
    assert_string_equal (s_of (kit, "s", "model"), "m");
    assert_int_equal (s_integer (s_get (kit, "session"), "input_tokens"), 30);
    says_read (kit, "session.stats", "{'owner':'ann'}");
    assert_int_equal (s_integer (kit->result, "sessions"), 1);
    assert_int_equal (json_array_size (s_get (kit, "models")), 2);
    //  The price where it is known, else the estimate: by session and by model
    assert_true (json_real_value (json_object_get (
                     json_array_get (s_get (kit, "models"), 0), "cost_usd")) == 1.25);
    assert_true (json_real_value (json_object_get (
                     json_array_get (s_get (kit, "platforms"), 0), "cost_usd")) == 1.25);
    says_read (kit, "session.stats", "{'owner':'bob'}");
    assert_int_equal (s_integer (kit->result, "sessions"), 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (not_yours_is_not_there),
        cmocka_unit_test (ensure_fills_in_only_what_is_not_known),
        cmocka_unit_test (the_first_reason_wins_unless_it_was_an_accident),
        cmocka_unit_test (a_branch_has_the_messages_up_to_its_point),
        cmocka_unit_test (what_is_taken_back_can_come_again),
        cmocka_unit_test (a_message_is_added_once_for_its_client_id),
        cmocka_unit_test (a_new_transcript_is_whole),
        cmocka_unit_test (a_session_with_work_is_not_deleted),
        cmocka_unit_test (pruning_takes_what_the_list_has_shown),
        cmocka_unit_test (pruning_goes_past_what_has_to_stay),
        cmocka_unit_test (a_session_has_one_home),
        cmocka_unit_test (pages_of_a_list_show_each_session_once),
        cmocka_unit_test (usage_adds_up_by_model),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
