//  test_store_properties - 10,000 seeded cases of what must hold whatever comes: titles, lineages,
//  fencing, texts. Each has a small model beside it that says what the store must answer.
//
//  The seeds are fixed; a failure names its case.

#include "store_kit.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TITLES 2500   //  Cases of titles
#define LINEAGES 1500 //  Cases of lineages
#define FENCES 3500   //  Cases of fencing
#define TEXTS 2500    //  Cases of texts
#define PEOPLE 24     //  Sessions with titles
#define NODES 60      //  Sessions of a lineage
#define HOPS 100      //  Steps that a lineage is followed
#define LINE 20       //  Texts of one append

#define FFFD "\xef\xbf\xbd"

//  A part of a text: as it is written in JSON, and what it is

typedef struct {
    const char *written; //  Between the quotes
    const char *is;      //  What comes back
} piece_t;

static unsigned s_seed;

static size_t
s_dice (size_t sides)
{
    return (size_t) rand_r (&s_seed) % sides;
}

//  Puts more behind a text that has room for it.

static void
s_add (char *text, const char *more)
{
    memcpy (text + strlen (text), more, strlen (more) + 1);
}

static const char *
s_result (const kit_t *kit, const char *name)
{
    const char *text = json_string_value (json_object_get (kit->result, name));
    return text ? text : "";
}

//  ------------------------------------------------------------------------------------------------
//  Titles

typedef struct {
    char title[512];    //  Cleaned, "" = none
    int64_t started_at; //  Any: the clock goes where it likes
} person_t;

static const piece_t s_title_pieces[] = { { "a", "a" }, { "b", "b" }, { "%", "%" }, { "_", "_" },
    { "*", "*" }, { "?", "?" }, { "[a]", "[a]" }, { " ", " " }, { "\\t\\n", " " },
    { "\xe2\x80\x8b", "" }, { "\\u202e", "" }, { "\xe6\x97\xa5", "\xe6\x97\xa5" }, { "#", "#" },
    { " #2", " #2" }, { " #", " #" }, { "\\u0000", FFFD }, { "\\ud800", FFFD }, { "'", "'" },
    { "\\\\", "\\" }, { "A", "A" } };

//  Blanks become one, none at the ends.

static void
s_collapse (char *text)
{
    size_t put = 0;
    for (size_t at = 0; text[at]; at++)
        if (text[at] != ' ' || (put > 0 && text[put - 1] != ' '))
            text[put++] = text[at];
    if (put > 0 && text[put - 1] == ' ')
        put--;
    text[put] = 0;
}

static void
s_random_title (char *written, char *is)
{
    *written = *is = 0;
    for (size_t n = s_dice (4) + 1; n > 0; n--) {
        const piece_t *piece =
            &s_title_pieces[s_dice (sizeof s_title_pieces / sizeof *s_title_pieces)];
        s_add (written, piece->written);
        s_add (is, piece->is);
    }
    s_collapse (is);
}

//  The number at the end of a title, 0 = none; *ret_base is what is before.

static long
s_split (const char *title, size_t *ret_base)
{
    const char *mark = strrchr (title, '#');
    *ret_base = strlen (title);
    if (!mark || mark < title + 2 || mark[-1] != ' ' || !mark[1])
        return 0;
    for (const char *digit = mark + 1; *digit; digit++)
        if (*digit < '0' || *digit > '9')
            return 0;
    long number = strtol (mark + 1, NULL, 10);
    if (number > 0)
        *ret_base = (size_t) (mark - title) - 1;
    return number;
}

static void
s_next_title (const person_t *people, const char *title, char *target, size_t size)
{
    size_t base, other;
    long newest = 0;
    s_split (title, &base);
    for (int i = 0; i < PEOPLE; i++) {
        const char *have = people[i].title;
        long number = s_split (have, &other);
        if (strlen (have) == base && strncmp (have, title, base) == 0)
            number = 1;
        else if (other != base || strncmp (have, title, base) != 0)
            number = 0;
        newest = number > newest ? number : newest;
    }
    if (newest)
        snprintf (target, size, "%.*s #%ld", (int) base, title, newest + 1);
    else
        snprintf (target, size, "%.*s", (int) base, title);
}

//  Who is meant by a title: the newest of those with something behind ` #`, else the one that has
//  it. -1 = nobody.

static int
s_resolved (const person_t *people, const char *title)
{
    int found = -1;
    size_t size = strlen (title);
    for (int i = 0; i < PEOPLE; i++) {
        const char *have = people[i].title;
        bool numbered = strncmp (have, title, size) == 0 && strncmp (have + size, " #", 2) == 0 &&
                        have[size + 2];
        if (numbered && (found < 0 || people[i].started_at >= people[found].started_at))
            found = i;
    }
    for (int i = 0; i < PEOPLE && found < 0; i++)
        if (strcmp (people[i].title, title) == 0)
            found = i;
    return found;
}

static void
s_title_case (kit_t *kit, person_t *people, int number)
{
    char written[256], is[256], body[512], wanted[512];
    size_t who = s_dice (PEOPLE);
    s_random_title (written, is);
    bool taken = false;
    for (size_t i = 0; i < PEOPLE; i++)
        taken = taken || (i != who && *is && strcmp (people[i].title, is) == 0);
    snprintf (body, sizeof body, "{\"id\":\"~%02zu\",\"title\":\"%s\"}", who, written);
    argos_err_t code = kit_write (kit, "g", "session.rename", body);
    if (code != (taken ? ARGOS_CONFLICT : ARGOS_OK))
        fail_msg ("case %d: %s: %s", number, body, kit->ans->reason);
    if (!taken)
        snprintf (people[who].title, sizeof people[who].title, "%s", is);
    snprintf (body, sizeof body, "{\"id\":\"~%02zu\"}", who);
    kit_read (kit, "session.get", body);
    const char *have =
        json_string_value (json_object_get (json_object_get (kit->result, "session"), "title"));
    assert_string_equal (have ? have : "", people[who].title);
    if (!*is)
        return;
    s_next_title (people, is, wanted, sizeof wanted);
    snprintf (body, sizeof body, "{\"title\":\"%s\",\"owner\":\"ann\"}", written);
    assert_int_equal (kit_read (kit, "session.title", body), ARGOS_OK);
    if (strcmp (s_result (kit, "title"), wanted) != 0)
        fail_msg ("case %d: after %s: %s, not %s", number, is, s_result (kit, "title"), wanted);
    int found = s_resolved (people, is);
    snprintf (wanted, sizeof wanted, "~%02d", found);
    snprintf (body, sizeof body, "{\"text\":\"%s\",\"owner\":\"ann\"}", written);
    assert_int_equal (kit_read (kit, "session.resolve", body), ARGOS_OK);
    if (strcmp (s_result (kit, "session_id"), found < 0 ? "" : wanted) != 0)
        fail_msg ("case %d: %s is %s, not %s", number, is, s_result (kit, "session_id"), wanted);
}

static void
titles (void **state)
{
    (void) state;
    person_t people[PEOPLE] = { { .started_at = 0 } };
    kit_t *kit = kit_new (false);
    int64_t now = kit->now;
    s_seed = 3;
    for (int i = 0; i < PEOPLE; i++) {
        char body[64];
        people[i].started_at = kit->now = now + (int64_t) s_dice (5) * 1000;
        snprintf (body, sizeof body, "{\"id\":\"~%02d\",\"owner\":\"ann\"}", i);
        assert_int_equal (kit_write (kit, "g", "session.create", body), ARGOS_OK);
    }
    for (int i = 0; i < TITLES; i++)
        s_title_case (kit, people, i);
    kit_free (kit);
}

//  ------------------------------------------------------------------------------------------------
//  Lineages

typedef struct {
    int parent;         //  -1 = none
    bool compression;   //  Kind
    bool folded;        //  Ended by compression
    bool live;          //  Not ended
    int64_t started_at; //  And last active then
} node_t;

//  Where it goes on: as the store must order the children.

static int
s_better (const node_t *nodes, int one, int other)
{
    const node_t *a = &nodes[one], *b = &nodes[other];
    if (a->folded != b->folded)
        return a->folded;
    if (a->live != b->live)
        return a->live;
    if (a->started_at != b->started_at)
        return a->started_at > b->started_at;
    return one > other;
}

static int
s_tip (const node_t *nodes, int node)
{
    for (int step = 0; step < HOPS; step++) {
        int next = -1;
        for (int i = 0; i < NODES; i++)
            if (nodes[i].parent == node && nodes[i].compression &&
                (next < 0 || s_better (nodes, i, next)))
                next = i;
        if (next < 0)
            break;
        node = next;
    }
    return node;
}

static int
s_ancestors (const node_t *nodes, int node)
{
    int count = 0;
    while (count < HOPS && nodes[node].parent >= 0) {
        node = nodes[node].parent;
        count++;
    }
    return count;
}

static void
s_set_node (kit_t *kit, const node_t *nodes, int i)
{
    char sql[512], parent[16];
    snprintf (parent, sizeof parent, "'n%02d'", nodes[i].parent);
    snprintf (sql, sizeof sql,
        "UPDATE sessions SET parent = %s, kind = '%s', ended_at = %s, end_reason = %s,"
        " started_at = %lld, last_activity_at = %lld WHERE id = 'n%02d'",
        nodes[i].parent < 0 ? "NULL" : parent, nodes[i].compression ? "compression" : "branch",
        nodes[i].live ? "NULL" : "5",
        nodes[i].live     ? "NULL"
        : nodes[i].folded ? "'compression'"
                          : "'idle'",
        (long long) nodes[i].started_at, (long long) nodes[i].started_at, i);
    assert_int_equal (sqlite3_exec (kit->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void
lineages (void **state)
{
    (void) state;
    node_t nodes[NODES];
    char body[64], wanted[16];
    kit_t *kit = kit_new (false);
    s_seed = 5;
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (node_t){ .parent = -1, .live = true, .started_at = 1 };
        snprintf (body, sizeof body, "{\"id\":\"n%02d\"}", i);
        assert_int_equal (kit_write (kit, "g", "session.create", body), ARGOS_OK);
        s_set_node (kit, nodes, i);
    }
    for (int i = 0; i < LINEAGES; i++) {
        int changed = (int) s_dice (NODES), asked = (int) s_dice (NODES);
        //  Any parent: chains and cycles, which no operation makes but a file may have
        nodes[changed].parent = (int) s_dice (NODES + 20) - 20;
        if (nodes[changed].parent < 0)
            nodes[changed].parent = -1;
        if (i % 3 == 0)
            nodes[changed].parent = changed - 1;
        nodes[changed].compression = s_dice (4) > 0;
        nodes[changed].live = s_dice (2) > 0;
        nodes[changed].folded = !nodes[changed].live && s_dice (2) > 0;
        nodes[changed].started_at = 1 + (int64_t) s_dice (4);
        s_set_node (kit, nodes, changed);
        snprintf (body, sizeof body, "{\"id\":\"n%02d\"}", asked);
        assert_int_equal (kit_read (kit, "session.lineage", body), ARGOS_OK);
        snprintf (wanted, sizeof wanted, "n%02d", s_tip (nodes, asked));
        if (strcmp (s_result (kit, "tip"), wanted) != 0)
            fail_msg (
                "case %d: the tip of %d is %s, not %s", i, asked, s_result (kit, "tip"), wanted);
        assert_int_equal (json_array_size (json_object_get (kit->result, "ancestors")),
            s_ancestors (nodes, asked));
        if (i % 20 == 0)
            assert_int_equal (kit_read (kit, "session.list", "{\"limit\":100}"), ARGOS_OK);
    }
    kit_free (kit);
}

//  A chain of more than 100 is followed for 100 steps, up and down.

static void
a_long_lineage (void **state)
{
    (void) state;
    char body[128];
    kit_t *kit = kit_new (false);
    kit_write (kit, "g", "session.create", "{\"id\":\"c0\"}");
    for (int i = 1; i <= HOPS + 30; i++) {
        snprintf (body, sizeof body, "{\"id\":\"c%d\",\"parent\":\"c%d\",\"kind\":\"compression\"}",
            i, i - 1);
        assert_int_equal (kit_write (kit, "g", "session.create", body), ARGOS_OK);
    }
    kit_read (kit, "session.lineage", "{\"id\":\"c0\"}");
    assert_string_equal (s_result (kit, "tip"), "c100");
    kit_read (kit, "session.lineage", "{\"id\":\"c130\"}");
    assert_string_equal (s_result (kit, "root"), "c30");
    kit_free (kit);
}

//  ------------------------------------------------------------------------------------------------
//  Fencing: three workers that may believe what they like

#define WORKERS 3

typedef struct {
    int64_t seq;           //  The message
    int64_t lease;         //  In force, 0 = none
    size_t holder;         //  Worker
    int64_t n;             //  Commits under it
    int64_t rows;          //  Messages of the transcript
    int64_t mine[WORKERS]; //  Lease that each worker believes in, 0 = none
    int64_t next[WORKERS]; //  And its next number
} lane_t;

static const char *
s_worker (size_t worker)
{
    static const char *const names[WORKERS] = { "agent/1", "agent/2", "agent.1/1" };
    return names[worker];
}

static void
s_fence_lease (kit_t *kit, lane_t *lane, size_t worker)
{
    int64_t lease = kit_lease (kit, lane->seq, s_worker (worker));
    assert_true ((lease != 0) == (lane->lease == 0));
    if (!lease)
        return;
    lane->lease = lane->mine[worker] = lease;
    lane->holder = worker;
    lane->n = 0;
    lane->next[worker] = 1;
}

static void
s_fence_commit (kit_t *kit, lane_t *lane, size_t worker)
{
    static const char body[] =
        "{\"session_id\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    if (!lane->mine[worker])
        return;
    int64_t n = lane->next[worker] + (s_dice (4) == 0 ? (int64_t) s_dice (3) - 1 : 0);
    bool held = lane->lease == lane->mine[worker] && lane->holder == worker;
    bool repeat = held && n == lane->n, good = held && n == lane->n + 1;
    argos_err_t code = kit_write_leased (
        kit, s_worker (worker), lane->seq, lane->mine[worker], n, "session.append", body);
    assert_int_equal (code, repeat || good ? ARGOS_OK : ARGOS_FENCED);
    assert_int_equal (kit->ans->repeat, repeat);
    if (!good)
        return;
    lane->n = n;
    lane->next[worker] = n + 1;
    lane->rows++;
}

static void
s_fence_release (kit_t *kit, lane_t *lane, size_t worker)
{
    bool held = lane->lease && lane->lease == lane->mine[worker];
    if (!lane->mine[worker])
        return;
    argos_err_t code = kit_release (kit, lane->seq, lane->mine[worker], 0, true, NULL);
    assert_true ((code == ARGOS_OK) == held);
    if (held)
        lane->lease = 0;
}

//  The worker is gone: another instance says hello, and what the first one held is free.

static void
s_fence_hello (kit_t *kit, lane_t *lane, size_t worker)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_HELLO, 0);
    snprintf (req->holder, sizeof req->holder, "other/9");
    snprintf (req->name, sizeof req->name, "%.*s", (int) strcspn (s_worker (worker), "/"),
        s_worker (worker));
    assert_int_equal (kit_do (kit, req)->code, ARGOS_OK);
    if (lane->lease && strncmp (s_worker (lane->holder), s_worker (worker),
                           strcspn (s_worker (worker), "/") + 1) == 0)
        lane->lease = 0;
}

static void
fencing (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    lane_t lane = { .seq = 0 };
    s_seed = 7;
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    for (int i = 0; i < FENCES; i++) {
        size_t worker = s_dice (WORKERS), what = s_dice (8);
        if (i % 100 == 0) {
            char id[32];
            if (lane.lease)
                assert_int_equal (kit_done (kit, s_worker (lane.holder), lane.seq, lane.lease,
                                      lane.n + 1, lane.seq),
                    ARGOS_OK);
            else if (lane.seq)
                kit_release (kit, lane.seq, kit_lease (kit, lane.seq, "x/1"), 0, false, "over");
            snprintf (id, sizeof id, "m%d", i);
            lane.seq = kit_send (kit, id, "turn", "s", NULL, NULL);
            lane.lease = 0;
        }
        if (what < 2)
            s_fence_lease (kit, &lane, worker);
        else if (what < 6)
            s_fence_commit (kit, &lane, worker);
        else if (what == 6)
            s_fence_release (kit, &lane, worker);
        else if (s_dice (3) == 0)
            s_fence_hello (kit, &lane, worker);
        assert_int_equal (
            kit_number (kit, "SELECT message_count FROM sessions WHERE id = 's'"), lane.rows);
    }
    assert_true (lane.rows > FENCES / 20);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"), lane.rows);
    kit_free (kit);
}

//  ------------------------------------------------------------------------------------------------
//  Texts: no byte and no escape makes a write fail; what exists comes back byte for byte, what does
//  not as U+FFFD

static const piece_t s_text_pieces[] = { { "plain ", "plain " }, { "\\n\\t\\r", "\n\t\r" },
    { "\\\"\\\\\\/", "\"\\/" }, { "\\u0001\\u001f\x7f", "\x01\x1f\x7f" },
    { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x95", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x95" },
    { "\\ud83d\\udc15", "\xf0\x9f\x90\x95" }, { "\\u65e5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac" },
    { "\\u0000", FFFD }, { "\\ud83d", FFFD }, { "\\udc15", FFFD }, { "\\ud83d\\ud83d", FFFD FFFD },
    { "\\udc15\\ud83d", FFFD FFFD }, { "\\ud83dx", FFFD "x" }, { "\xff\xfe", FFFD FFFD },
    { "\xc0\x80", FFFD FFFD }, { "\xed\xa0\xbd", FFFD FFFD FFFD }, { "\xe2\x82", FFFD FFFD },
    { "\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD }, { "%_*?'", "%_*?'" },
    { "\xef\xbf\xbd\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbf" }, { "\xe2\x80\xae", "\xe2\x80\xae" },
    { "{\\\"a\\\":[", "{\"a\":[" } };

static void
s_random_text (char *written, char *is)
{
    *written = *is = 0;
    size_t last = SIZE_MAX;
    for (size_t n = s_dice (7); n > 0; n--) {
        size_t which = s_dice (sizeof s_text_pieces / sizeof *s_text_pieces);
        //  Two halves side by side would be a whole
        if (last != SIZE_MAX && strncmp (s_text_pieces[which].written, "\\udc", 4) == 0)
            continue;
        s_add (written, s_text_pieces[which].written);
        s_add (is, s_text_pieces[which].is);
        last = which;
    }
}

static void
texts (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    char written[512], is[LINE][512], body[LINE * 640], load[64];
    s_seed = 9;
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    int64_t seq = kit_send (kit, "m", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, "agent/1");
    for (int i = 0; i < TEXTS / LINE; i++) {
        size_t at = (size_t) snprintf (body, sizeof body, "{\"session_id\":\"s\",\"messages\":[");
        for (int k = 0; k < LINE; k++) {
            s_random_text (written, is[k]);
            at += (size_t) snprintf (body + at, sizeof body - at,
                "%s{\"role\":\"user\",\"content\":\"%s\",\"tool_name\":\"%s\"}", k ? "," : "",
                written, k % 5 ? "t" : "\\ud800");
        }
        snprintf (body + at, sizeof body - at, "]}");
        if (kit_write_leased (kit, "agent/1", seq, lease, i + 1, "session.append", body) !=
            ARGOS_OK)
            fail_msg ("append %d: %s", i, kit->ans->reason);
        snprintf (load, sizeof load, "{\"id\":\"s\",\"after\":%d}", i * LINE);
        assert_int_equal (kit_read (kit, "session.load", load), ARGOS_OK);
        const json_t *messages = json_object_get (kit->result, "messages");
        assert_int_equal (json_array_size (messages), LINE);
        for (size_t k = 0; k < LINE; k++) {
            const json_t *message = json_array_get (messages, k);
            assert_string_equal (json_string_value (json_object_get (message, "content")), is[k]);
            if (k % 5 == 0)
                assert_string_equal (
                    json_string_value (json_object_get (message, "tool_name")), FFFD);
        }
    }
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (
        kit_read (kit, "session.search", "{\"text\":\"pl\\ud800ain \xff*\"}"), ARGOS_OK);
    assert_int_equal (kit_read (kit, "session.search", "{\"text\":\"plain\"}"), ARGOS_OK);
    assert_true (json_array_size (json_object_get (kit->result, "hits")) > 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (titles),
        cmocka_unit_test (lineages),
        cmocka_unit_test (a_long_lineage),
        cmocka_unit_test (fencing),
        cmocka_unit_test (texts),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
