//  test_store_search - queries as people type them, complete results, what is gone is not found.

#include "argos_store_query.h"
#include "store_says.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOLDER "agent/1"

static void
a_query_is_cleaned (void **state)
{
    (void) state;
    static const struct {
        const char *given;       //  As typed
        argos_query_kind_t kind; //  How it is answered
        const char *text;        //  For MATCH
    } cases[] = { { "hello AND", ARGOS_QUERY_WORDS, "hello" }, { "***", ARGOS_QUERY_NONE, NULL },
        { "deploy*", ARGOS_QUERY_WORDS, "deploy*" }, { "*deploy**", ARGOS_QUERY_WORDS, "deploy*" },
        { "C++", ARGOS_QUERY_WORDS, "C" }, { "chat-send", ARGOS_QUERY_WORDS, "\"chat-send\"" },
        { "\"chat-send\"", ARGOS_QUERY_WORDS, "\"chat-send\"" },
        { "my-app.config.ts", ARGOS_QUERY_WORDS, "\"my-app.config.ts\"" },
        { "a AND OR b", ARGOS_QUERY_NONE, NULL },
        { "or a NOT b and", ARGOS_QUERY_WORDS, "a NOT b" },
        { "title:x (y)", ARGOS_QUERY_WORDS, "title x y" },
        { "say \"x y", ARGOS_QUERY_WORDS, "say x y" },
        { "say \"x y\" now", ARGOS_QUERY_WORDS, "say \"x y\" now" },
        { "don't; DROP/TABLE", ARGOS_QUERY_WORDS, "\"don't;\" \"DROP/TABLE\"" },
        { "", ARGOS_QUERY_NONE, NULL }, { " \t", ARGOS_QUERY_NONE, NULL },
        { "日本語", ARGOS_QUERY_TRIGRAMS, "\"日本語\"" }, { "日本", ARGOS_QUERY_PLAIN, NULL },
        { "日本語 OR 中文字", ARGOS_QUERY_TRIGRAMS, "\"日本語\" OR \"中文字\"" },
        { "日本語 中文", ARGOS_QUERY_PLAIN, NULL },
        { "한국어", ARGOS_QUERY_TRIGRAMS, "\"한국어\"" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        argos_store_query_t *query = argos_store_query_new (cases[i].given);
        if (query->kind != cases[i].kind)
            fail_msg ("%s: kind %d", cases[i].given, (int) query->kind);
        if (cases[i].text)
            assert_string_equal (query->text, cases[i].text);
        argos_store_query_destroy (&query);
    }
}

static size_t
s_hits (kit_t *kit, const char *text, const char *members)
{
    char body[512];
    json_t *quoted = json_string (text);
    char *dumped = json_dumps (quoted, JSON_ENCODE_ANY);
    snprintf (body, sizeof body, "{\"text\":%s%s}", dumped, members);
    free (dumped);
    json_decref (quoted);
    if (kit_read (kit, "session.search", body) != ARGOS_OK)
        fail_msg ("%s: %s", text, sqlite3_errmsg (kit->store->db));
    return json_array_size (json_object_get (kit->result, "hits"));
}

static void
s_say (kit_t *kit, const char *session, const char *text)
{
    static int serial = 0;
    char id[32], body[512];
    snprintf (id, sizeof id, "say-%d", serial++);
    snprintf (body, sizeof body,
        "{\"session_id\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":"
        "\"%s\"}]}",
        session, text);
    int64_t seq = kit_send (kit, id, "turn", session, NULL, NULL);
    int64_t lease = kit_lease (kit, seq, HOLDER);
    assert_int_equal (
        kit_write_leased (kit, HOLDER, seq, lease, 1, "session.append", body), ARGOS_OK);
    kit_done (kit, HOLDER, seq, lease, 2, seq);
}

static void
s_work (kit_t *kit)
{
    while (argos_store_chore (kit->store, kit->now))
        continue;
}

static void
results_are_complete_while_the_indexer_lags (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    kit_write (kit, "g", "session.create", "{\"id\":\"s\",\"owner\":\"ann\"}");
    s_say (kit, "s", "the deployment of chat-send was late");
    s_say (kit, "s", "日本語の文章 and 中文");
    for (int i = 0; i < 70; i++) {
        if (i == 20)
            s_work (kit); //  Some are indexed, some are not
        s_say (kit, "s", i == 69 ? "deployment again" : "something else");
        assert_int_equal (s_hits (kit, "deploy*", ""), i == 69 ? 2 : 1);
    }
    assert_true (kit_number (kit, "SELECT value FROM meta WHERE name = 'indexed'") < 72);
    assert_int_equal (s_hits (kit, "日本語", ""), 1);
    assert_int_equal (s_hits (kit, "日本", ""), 1);
    s_work (kit);
    kit_reopen (kit);
    s_work (kit);
    assert_int_equal (kit_number (kit, "SELECT value FROM meta WHERE name = 'indexed'"), 72);
    assert_int_equal (s_hits (kit, "deploy*", ""), 2);
    assert_int_equal (s_hits (kit, "日本語", ""), 1);
    assert_int_equal (s_hits (kit, "中文", ""), 1);
    assert_int_equal (s_hits (kit, "\"chat send\"", ""), 1);
    const char *snippet = json_string_value (
        json_object_get (json_array_get (json_object_get (kit->result, "hits"), 0), "snippet"));
    assert_string_equal (snippet, "the deployment of >>>chat-send<<< was late");
    assert_int_equal (s_hits (kit, "deployment", ",\"owner\":\"bob\""), 0);
    assert_int_equal (s_hits (kit, "deployment", ",\"owner\":\"ann\",\"role\":\"user\""), 2);
    assert_int_equal (s_hits (kit, "deployment", ",\"role\":\"tool\""), 0);
    assert_int_equal (s_hits (kit, "something", ",\"limit\":5"), 5);
    kit_free (kit);
}

static void
what_is_gone_is_not_found (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    for (int i = 0; i < 2; i++) {
        char body[64];
        snprintf (body, sizeof body, "{\"id\":\"s%d\"}", i);
        kit_write (kit, "g", "session.create", body);
        s_say (kit, i ? "s1" : "s0", "needle 日本語");
    }
    s_work (kit);
    s_work (kit);
    kit_write (kit, "g", "session.delete", "{\"id\":\"s0\"}");
    assert_int_equal (s_hits (kit, "needle", ""), 1);
    s_work (kit);
    assert_int_equal (s_hits (kit, "needle", ""), 1);
    assert_int_equal (s_hits (kit, "日本語", ""), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), 1);
    char *error = NULL;
    assert_int_equal (
        sqlite3_exec (kit->store->db,
            "INSERT INTO message_words (message_words, rank) VALUES ('integrity-check', 1)", NULL,
            NULL, &error),
        SQLITE_OK);
    sqlite3_free (error);
    kit_free (kit);
}

//  The names of tools, what they were called with, and the beginning of what they said

//  What the user has taken back is hidden, what a summary stands for is not; both whether it is
//  indexed or not.

static void
what_was_taken_back_is_not_found (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    static const char *const words[] = { "secret", "日本語", "日本" };
    for (int indexed = 0; indexed < 2; indexed++) {
        char id[16];
        snprintf (id, sizeof id, "s%d", indexed);
        says_write (kit, "session.create", "{'id':'%s'}", id);
        s_say (kit, id, "old secret 日本語");
        says_turn (kit, id, "session.replace",
            "{'session_id':'%s','compact':true,'messages':[{'role':'user','content':'sum'}]}", id);
        s_say (kit, id, "new secret 日本語");
        if (indexed)
            s_work (kit);
        char members[40];
        snprintf (members, sizeof members, ",\"session_id\":\"%s\"", id);
        for (int i = 0; i < 3; i++)
            assert_int_equal (s_hits (kit, words[i], members), 2);
        int64_t taken = kit_number (kit, "SELECT max (id) FROM messages WHERE content LIKE 'new%'");
        assert_int_equal (says_write (kit, "session.rewind",
                              "{'session_id':'%s','message_id':%lld}", id, (long long) taken),
            ARGOS_OK);
        for (int i = 0; i < 3; i++)
            assert_int_equal (s_hits (kit, words[i], members), 1);
        assert_int_equal (
            kit_number (kit, "SELECT ifnull (max (value), 0) FROM meta WHERE name = 'indexed'") >=
                taken,
            indexed);
    }
    kit_free (kit);
}

//  A search in somebody else's session is answered as one in a session that is not there.

static void
not_yours_is_answered_as_not_there (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s','owner':'ann'}");
    for (int i = 0; i < 40; i++)
        s_say (kit, "s", "marmalade");
    s_work (kit);
    char *answers[2];
    for (int i = 0; i < 2; i++) {
        says_read (kit, "session.search", "{'text':'marmalade','owner':'bob','session_id':'%s'}",
            i ? "none" : "s");
        answers[i] = json_dumps (kit->result, JSON_SORT_KEYS);
    }
    assert_string_equal (answers[0], answers[1]);
    free (answers[0]);
    free (answers[1]);
    assert_int_equal (s_hits (kit, "marmalade", ",\"owner\":\"ann\",\"session_id\":\"s\""), 20);
    kit_free (kit);
}

static void
calls_of_tools_are_found (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    int64_t seq = kit_send (kit, "m", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, HOLDER);
    assert_int_equal (
        kit_write_leased (kit, HOLDER, seq, lease, 1, "session.append",
            "{\"session_id\":\"s\",\"messages\":[{\"role\":\"assistant\",\"content\":\"let me "
            "see\","
            "\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":"
            "\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"/etc/hostname\\\"}\"}}]},"
            "{\"role\":\"tool\",\"content\":\"argos-box\",\"tool_name\":\"read_file\"}]}"),
        ARGOS_OK);
    for (int indexed = 0; indexed < 2; indexed++) {
        assert_int_equal (s_hits (kit, "read_file", ""), 2);
        assert_int_equal (s_hits (kit, "read_file", ",\"role\":\"tool\""), 1);
        assert_int_equal (s_hits (kit, "hostname", ""), 1);
        assert_int_equal (s_hits (kit, "argos-box", ""), 1);
        assert_int_equal (s_hits (kit, "function", ""), 0);
        kit->store->messages_behind = 100;
        s_work (kit);
    }
    kit_free (kit);
}

//  A search of very many goes from the newest back, and says where it goes on.

static void
a_search_goes_on_before_a_message (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    kit_write (kit, "g", "session.create", "{\"id\":\"t\"}");
    for (int i = 0; i < 12; i++)
        s_say (kit, i < 6 ? "s" : "t", "needle");
    for (int indexed = 0; indexed < 2; indexed++) {
        assert_int_equal (s_hits (kit, "needle", ""), 12);
        assert_int_equal (s_hits (kit, "needle", ",\"before\":4"), 3);
        assert_int_equal (s_hits (kit, "needle", ",\"before\":10,\"session_id\":\"t\""), 3);
        assert_int_equal (s_hits (kit, "needle", ",\"session_id\":\"s\""), 6);
        assert_int_equal (s_hits (kit, "needle", ",\"session_id\":\"nobody\""), 0);
        kit->store->messages_behind = 100;
        s_work (kit);
    }
    kit_free (kit);
}

//  Seeded: no query is an error, whatever its bytes.

static void
no_query_fails (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    static const char *const pieces[] = { "a", "AND", "or", "NOT", "\"", "*", " ", "-", "x.y", "^",
        "(", ")", "NEAR", ":", "日", "日本語", "'", "+", "\\", "\xc3\xa9" };
    unsigned seed = 11;
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    s_say (kit, "s", "a x.y NEAR 日本語");
    for (int i = 0; i < 600; i++) {
        char text[256] = " ";
        size_t size = 1;
        for (int n = rand_r (&seed) % 9; n > 0; n--) {
            const char *piece = pieces[(size_t) rand_r (&seed) % (sizeof pieces / sizeof *pieces)];
            size += (size_t) snprintf (
                text + size, sizeof text - size, "%s%s", piece, rand_r (&seed) % 2 ? " " : "");
        }
        s_hits (kit, text, "");
    }
    kit_free (kit);
}

//  How many hits a query has, on all its pages; how many of them are shown with marks.

static size_t
s_count (kit_t *kit, const char *body)
{
    size_t count = 0, index;
    int64_t before = 0;
    json_t *hit;
    do {
        if (before)
            says_read (
                kit, "session.search", "{%s,'limit':100,'before':%lld}", body, (long long) before);
        else
            says_read (kit, "session.search", "{%s,'limit':100}", body);
        json_array_foreach (says_get (kit, "hits"), index, hit)
            count += strstr (json_string_value (json_object_get (hit, "snippet")), ">>>") != NULL;
        before = says_number (kit, "next");
    } while (before);
    return count;
}

//  A beginning finds what its words find: of few words, and of more than are looked up one by one.

static void
beginnings_find_all_their_words (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s','owner':'me'}");
    says_write (kit, "session.create", "{'id':'t'}");
    for (int i = 0; i < 600; i += 50) {
        char body[8000] = "";
        for (int k = i; k < i + 50; k++)
            snprintf (body + strlen (body), sizeof body - strlen (body),
                "%s{'role':'user','content':'w%03d caf\u00e9%d %s'}", k > i ? "," : "", k, k % 20,
                k % 2 ? "odd" : "even");
        const char *session = i < 50 ? "t" : "s";
        assert_int_equal (says_turn (kit, session, "session.append",
                              "{'session_id':'%s','messages':[%s]}", session, body),
            ARGOS_OK);
    }
    for (int indexed = 0; indexed < 2; indexed++) {
        assert_int_equal (s_count (kit, "'text':'w01*'"), 10);
        assert_int_equal (s_count (kit, "'text':'W01* odd'"), 5);
        assert_int_equal (s_count (kit, "'text':'odd w01* OR w599'"), 6);
        assert_int_equal (s_count (kit, "'text':'w01* NOT odd'"), 5);
        assert_int_equal (s_count (kit, "'text':'CAF\u00c91* w1*'"), 55);
        assert_int_equal (s_count (kit, "'text':'nothing*'"), 0);
        assert_int_equal (s_count (kit, "'text':'w0* caf\u00e9-x*'"), 0);
        //  600 words begin so
        assert_int_equal (s_count (kit, "'text':'w*','session_id':'t'"), 50);
        assert_true (s_count (kit, "'text':'w* even','session_id':'t'") == 25);
        assert_true (s_count (kit, "'text':'w*','owner':'me'") >= 100);
        while (argos_store_chore (kit->store, kit->now)) {
        }
    }
    kit_free (kit);
}

//  More that is not indexed than a search takes: it says where the next one goes on, and none is
//  passed over, below it and from where it is begun.

static void
a_long_tail_is_searched_piece_by_piece (void **state)
{
    (void) state;
    enum { PIECES = 75, EACH = 140 };
    kit_t *kit = kit_new (false);
    for (int i = 0; i < PIECES; i++) {
        char body[EACH * 48] = "";
        for (int k = 0; k < EACH; k++)
            snprintf (body + strlen (body), sizeof body - strlen (body),
                "%s{'role':'user','content':'%s'}", k ? "," : "", k ? "straw" : "needle straw");
        assert_int_equal (says_write (kit, "session.import",
                              "{'id':'s','first':%d,'messages':[%s]}", i * EACH, body),
            ARGOS_OK);
        kit->store->messages_behind = 0; //  It would be indexed in between
    }
    says_write (kit, "session.import", "{'id':'s','session':{'started_at':1,'owner':'me'}}");
    for (int indexed = 0; indexed < 2; indexed++) {
        assert_int_equal (s_count (kit, "'text':'needle','owner':'me'"), PIECES);
        assert_int_equal (s_count (kit, "'text':'needle','session_id':'s'"), PIECES);
        assert_int_equal (s_count (kit, "'text':'eedle','owner':'me'"), 0);
        says_read (kit, "session.search", "{'text':'needle','owner':'nobody'}");
        if (!indexed) {
            assert_true (json_is_true (says_get (kit, "partial")));
            assert_true (says_number (kit, "next") > 0);
        }
        while (argos_store_chore (kit->store, kit->now)) {
        }
    }
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_query_is_cleaned),
        cmocka_unit_test (results_are_complete_while_the_indexer_lags),
        cmocka_unit_test (what_is_gone_is_not_found),
        cmocka_unit_test (what_was_taken_back_is_not_found),
        cmocka_unit_test (not_yours_is_answered_as_not_there),
        cmocka_unit_test (calls_of_tools_are_found),
        cmocka_unit_test (a_search_goes_on_before_a_message),
        cmocka_unit_test (no_query_fails),
        cmocka_unit_test (beginnings_find_all_their_words),
        cmocka_unit_test (a_long_tail_is_searched_piece_by_piece),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
