//  test_store_ops - the operations of the store, dead letters.

#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define W1 "agent/1"
#define RUN "run_0123456789abcdef0123456789abcdef"

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

static void
a_transcript_is_written_only_under_the_lease_of_its_lane (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    const char *append =
        "{\"session_id\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}";
    const char *close = "{\"id\":\"s\",\"reason\":\"r\"}";
    kit_write (kit, "gateway", "session.create", "{\"id\":\"s\"}");
    assert_int_equal (kit_write (kit, "gateway", "session.append", append), ARGOS_DENIED);
    assert_int_equal (kit_write (kit, "gateway", "session.close", close), ARGOS_DENIED);
    int64_t other = kit_send (kit, "o", "turn", "s2", NULL, NULL);
    int64_t wrong = kit_send (kit, "w", "gateway", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, other, W1);
    assert_int_equal (
        kit_write_leased (kit, W1, other, lease, 1, "session.append", append), ARGOS_DENIED);
    lease = kit_lease (kit, wrong, W1);
    assert_int_equal (
        kit_write_leased (kit, W1, wrong, lease, 1, "session.append", append), ARGOS_DENIED);
    int64_t seq = kit_send (kit, "m", "turn", "s", NULL, NULL);
    lease = kit_lease (kit, seq, W1);
    assert_int_equal (
        kit_write_leased (kit, W1, seq, lease, 1, "session.append", append), ARGOS_OK);
    kit_read (kit, "session.get", "{\"id\":\"s\"}");
    assert_int_equal (s_integer (s_get (kit, "session"), "message_count"), 1);
    assert_int_equal (s_integer (s_get (kit, "session"), "version"), 2);
    assert_int_equal (kit_write_leased (kit, W1, seq, lease, 2, "session.close", close), ARGOS_OK);
    assert_int_equal (kit_write_leased (kit, W1, seq, lease, 3, "session.close",
                          "{\"id\":\"s\",\"reason\":\"later\"}"),
        ARGOS_OK);
    kit_read (kit, "session.get", "{\"id\":\"s\"}");
    assert_string_equal (s_text (s_get (kit, "session"), "end_reason"), "r");
    assert_int_equal (s_integer (s_get (kit, "session"), "ended_at"), kit->now);
    kit_read (kit, "session.get", "{\"id\":\"none\"}");
    assert_true (json_is_null (s_get (kit, "session")));
    assert_int_equal (kit_read (kit, "session.load", "{\"id\":\"none\"}"), ARGOS_NOT_FOUND);
    kit_free (kit);
}

static void
a_transcript_comes_back_in_pages_as_it_was_written (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_write (kit, "gateway", "session.create",
        "{\"id\":\"s\",\"source\":{\"platform\":\"cli\",\"account\":\"a\",\"chat_type\":\"dm\"}}");
    assert_int_equal (
        kit_write (kit, "gateway", "session.create", "{\"id\":\"s\"}"), ARGOS_CONFLICT);
    int64_t seq = kit_send (kit, "m", "turn", "s", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, W1);
    assert_int_equal (
        kit_write_leased (kit, W1, seq, lease, 1, "session.append",
            "{\"session_id\":\"s\",\"messages\":["
            "{\"role\":\"user\",\"content\":\"\"},"
            "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\"}],"
            "\"run_id\":\"" RUN "\",\"finish_reason\":\"tool_calls\"},"
            "{\"role\":\"tool\",\"content\":\"\\u00e9\",\"tool_call_id\":\"c\"}]}"),
        ARGOS_OK);
    kit_read (kit, "session.load", "{\"id\":\"s\"}");
    json_t *messages = s_get (kit, "messages");
    assert_int_equal (json_array_size (messages), 3);
    assert_true (json_is_false (s_get (kit, "more")));
    assert_true (json_is_string (json_object_get (json_array_get (messages, 0), "content")));
    json_t *second = json_array_get (messages, 1);
    assert_true (json_is_null (json_object_get (second, "content")));
    assert_int_equal (json_array_size (json_object_get (second, "tool_calls")), 1);
    assert_string_equal (s_text (second, "run_id"), RUN);
    assert_string_equal (s_text (second, "finish_reason"), "tool_calls");
    assert_string_equal (s_text (json_array_get (messages, 2), "content"), "\xc3\xa9");
    int64_t after = 0;
    for (int i = 0; i < 3; i++) {
        char body[128];
        snprintf (body, sizeof body, "{\"id\":\"s\",\"after\":%lld,\"limit_bytes\":1}",
            (long long) after);
        kit_read (kit, "session.load", body);
        assert_int_equal (json_array_size (s_get (kit, "messages")), 1);
        assert_int_equal (json_is_true (s_get (kit, "more")), i < 2);
        after = s_integer (json_array_get (s_get (kit, "messages"), 0), "id");
    }
    kit_free (kit);
}

static void
routes_and_sessions_have_versions_to_expect (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_read (kit, "route.get", "{\"key\":\"r\"}");
    assert_true (json_is_null (s_get (kit, "route")));
    assert_int_equal (
        kit_write (kit, "g", "expect", "{\"row\":\"route\",\"key\":\"r\",\"version\":0}"),
        ARGOS_OK);
    kit_write (kit, "g", "session.create", "{\"id\":\"s\"}");
    kit_write (kit, "g", "route.bind",
        "{\"key\":\"r\",\"session_id\":\"s\",\"source\":{\"platform\":\"cli\",\"account\":\"a\","
        "\"chat_type\":\"dm\"}}");
    kit_write (kit, "g", "route.bind", "{\"key\":\"r\",\"session_id\":\"s\"}");
    kit_read (kit, "route.get", "{\"key\":\"r\"}");
    assert_int_equal (s_integer (s_get (kit, "route"), "version"), 2);
    assert_string_equal (
        s_text (json_object_get (s_get (kit, "route"), "source"), "platform"), "cli");
    assert_string_equal (s_text (s_get (kit, "session"), "id"), "s");
    static const struct {
        const char *body; //  Of the expectation
        argos_err_t code; //  Expected
    } cases[] = {
        { "{\"row\":\"route\",\"key\":\"r\",\"version\":2}", ARGOS_OK },
        { "{\"row\":\"route\",\"key\":\"r\",\"version\":1}", ARGOS_CONFLICT },
        { "{\"row\":\"session\",\"id\":\"s\",\"version\":1}", ARGOS_OK },
        { "{\"row\":\"session\",\"id\":\"s\",\"version\":0}", ARGOS_CONFLICT },
        { "{\"row\":\"lane\",\"service\":\"turn\",\"key\":\"k\",\"max\":2}", ARGOS_OK },
        { "{\"row\":\"lane\",\"service\":\"turn\",\"key\":\"k\",\"max\":1}", ARGOS_CONFLICT },
        { "{\"row\":\"what\"}", ARGOS_INVALID },
    };
    kit_send (kit, "m", "turn", "k", NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal (kit_write (kit, "g", "expect", cases[i].body), cases[i].code);
    kit_free (kit);
}

static const char *
s_run_state (kit_t *kit)
{
    kit_read (kit, "run.get", "{\"run_id\":\"" RUN "\"}");
    return s_text (s_get (kit, "run"), "state");
}

static void
the_state_of_a_run_comes_from_its_lane_until_it_is_finished (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    assert_string_equal (s_run_state (kit), "");
    assert_true (json_is_null (s_get (kit, "run")));
    assert_int_equal (
        kit_write (kit, "api", "run.create", "{\"run_id\":\"" RUN "\",\"model\":\"m\"}"), ARGOS_OK);
    assert_int_equal (
        kit_write (kit, "api", "run.create", "{\"run_id\":\"" RUN "\"}"), ARGOS_CONFLICT);
    assert_string_equal (s_run_state (kit), "queued");
    assert_string_equal (s_text (s_get (kit, "run"), "owner"), "api");
    assert_int_equal (kit_write (kit, "gateway", "run.bind",
                          "{\"run_id\":\"" RUN "\",\"session_id\":\"s\",\"kind\":\"background\"}"),
        ARGOS_OK);
    assert_int_equal (
        kit_write (kit, "gateway", "run.bind", "{\"run_id\":\"" RUN "\",\"session_id\":\"s\"}"),
        ARGOS_OK);
    int64_t seq = kit_send (kit, RUN, "turn", "s", NULL, NULL);
    assert_string_equal (s_run_state (kit), "queued");
    assert_string_equal (s_text (s_get (kit, "run"), "kind"), "background");
    int64_t lease = kit_lease (kit, seq, W1);
    assert_string_equal (s_run_state (kit), "running");
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "api");
    snprintf (req->id, sizeof req->id, "other");
    kit_part (req, 0,
        "{\"type\":\"turn.stop\",\"to\":\"service:turn\",\"key\":\"s\",\"durable\":true,"
        "\"side\":true}",
        "{\"run_id\":\"run_00000000000000000000000000000000\",\"reason\":\"x\"}");
    int64_t other = kit_do (kit, req)->seq;
    assert_string_equal (s_run_state (kit), "running"); //  That stop is another run's
    req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "api");
    snprintf (req->id, sizeof req->id, "stop");
    kit_part (req, 0,
        "{\"type\":\"turn.stop\",\"to\":\"service:turn\",\"key\":\"s\",\"durable\":true,"
        "\"side\":true}",
        "{\"reason\":\"x\"}");
    int64_t stop = kit_do (kit, req)->seq;
    assert_string_equal (s_run_state (kit), "stopping");
    req = kit_commit (kit, W1, seq, lease, 1, true, 2);
    req->take[0] = stop;
    req->take[1] = other;
    req->take_count = 2;
    kit_part (req, 0, "{\"type\":\"run.finish\",\"to\":\"store\"}",
        "{\"run_id\":\"" RUN "\",\"state\":\"cancelled\",\"error\":\"stopped\","
        "\"usage\":{\"input_tokens\":1}}");
    kit_part (req, 1,
        "{\"type\":\"run.cancelled\",\"to\":\"topic:run." RUN "\",\"durable\":true,\"last\":true}",
        "{}");
    req->parts[1].number = 5;
    req->any_topic = true;
    assert_int_equal (kit_do (kit, req)->code, ARGOS_OK);
    assert_string_equal (s_run_state (kit), "cancelled");
    assert_string_equal (s_text (s_get (kit, "run"), "last_event"), "run.cancelled");
    assert_string_equal (s_text (s_get (kit, "run"), "error"), "stopped");
    assert_int_equal (s_integer (json_object_get (s_get (kit, "run"), "usage"), "input_tokens"), 1);
    //  A finished run stays as it is
    assert_int_equal (kit_write (kit, "gateway", "run.finish",
                          "{\"run_id\":\"" RUN "\",\"state\":\"failed\",\"error\":\"late\"}"),
        ARGOS_OK);
    assert_string_equal (s_run_state (kit), "cancelled");
    assert_string_equal (s_text (s_get (kit, "run"), "error"), "stopped");
    kit_free (kit);
}

static void
runs_are_listed_newest_first (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    char body[160];
    for (int i = 0; i < 5; i++) {
        snprintf (body, sizeof body, "{\"run_id\":\"run_%032x\",\"owner\":\"%s\"}", i,
            i % 2 ? "odd" : "even");
        assert_int_equal (kit_write (kit, "api", "run.create", body), ARGOS_OK);
    }
    kit_read (kit, "run.list", "{}");
    assert_int_equal (json_array_size (s_get (kit, "runs")), 5);
    kit_read (kit, "run.list", "{\"limit\":1}");
    assert_int_equal (json_array_size (s_get (kit, "runs")), 1);
    snprintf (body, sizeof body, "run_%032x", 4);
    assert_string_equal (s_text (json_array_get (s_get (kit, "runs"), 0), "run_id"), body);
    kit_read (kit, "run.list", "{\"owner\":\"odd\"}");
    assert_int_equal (json_array_size (s_get (kit, "runs")), 2);
    kit_free (kit);
}

static void
dead_letters_are_listed_shown_dropped_and_redriven (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq[2];
    for (int i = 0; i < 2; i++) {
        seq[i] = kit_send (kit, i ? "b" : "a", "turn", "k", NULL, "{\"text\":\"hi\"}");
        kit_release (kit, seq[i], kit_lease (kit, seq[i], W1), 7, false, "invalid");
    }
    int64_t waiting = kit_send (kit, "c", "turn", "k", NULL, NULL);
    kit_read (kit, "dead.list", "{}");
    assert_int_equal (json_array_size (s_get (kit, "dead")), 2);
    json_t *first = json_array_get (s_get (kit, "dead"), 0);
    assert_string_equal (s_text (first, "id"), "b");
    assert_string_equal (s_text (first, "code"), "invalid");
    assert_string_equal (s_text (first, "from"), "telegram.main");
    assert_int_equal (s_integer (first, "strikes"), 7);
    char body[64];
    snprintf (body, sizeof body, "{\"seq\":%d}", (int) seq[0]);
    kit_read (kit, "dead.show", body);
    json_t *dead = s_get (kit, "dead");
    assert_string_equal (s_text (json_object_get (dead, "body"), "text"), "hi");
    assert_string_equal (s_text (json_object_get (dead, "header"), "type"), "t.msg");
    assert_int_equal (kit_write (kit, "cli", "dead.redrive", body), ARGOS_OK);
    assert_int_equal (kit->ans->row_count, 1);
    argos_storage_row_t row = kit->ans->rows[0];
    assert_true (row.seq > waiting);
    assert_string_equal (row.service, "turn");
    assert_string_equal (row.key, "k");
    assert_int_equal (row.strikes, 0);
    assert_int_equal (kit_write (kit, "cli", "dead.redrive", body), ARGOS_NOT_FOUND);
    kit_read (kit, "dead.show", body);
    assert_true (json_is_null (s_get (kit, "dead")));
    assert_int_equal (kit_lease (kit, row.seq, W1), 0); //  At the tail
    kit_done (kit, W1, waiting, kit_lease (kit, waiting, W1), 1, 0);
    assert_true (kit_lease (kit, row.seq, W1) > 0);
    snprintf (body, sizeof body, "{\"seq\":%d}", (int) seq[1]);
    assert_int_equal (kit_write (kit, "cli", "dead.drop", body), ARGOS_OK);
    assert_int_equal (kit_write (kit, "cli", "dead.drop", body), ARGOS_NOT_FOUND);
    //  The sender's id of the redriven one is kept as long as it lives
    kit->now += 40 * 86400000LL;
    kit->store->prune_at = 0;
    while (argos_store_chore (kit->store, kit->now))
        continue;
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen WHERE id = 'a'"), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM seen WHERE id = 'b'"), 0);
    kit_free (kit);
}

static void
a_lane_can_be_listed (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t first = kit_send (kit, "a", "turn", "k", NULL, "{\"text\":\"hi\"}");
    int64_t second = kit_send (kit, "b", "turn", "k", ",\"side\":true", NULL);
    kit_send (kit, "c", "turn", "k", NULL, NULL);
    kit_lease (kit, first, W1);
    char body[96];
    snprintf (body, sizeof body, "{\"service\":\"turn\",\"key\":\"k\",\"upto\":%d}", (int) second);
    kit_read (kit, "lane.list", body);
    assert_int_equal (json_array_size (s_get (kit, "messages")), 2);
    json_t *head = json_array_get (s_get (kit, "messages"), 0);
    assert_true (json_is_true (json_object_get (head, "leased")));
    assert_string_equal (s_text (json_object_get (head, "body"), "text"), "hi");
    assert_true (
        json_is_true (json_object_get (json_array_get (s_get (kit, "messages"), 1), "side")));
    kit_free (kit);
}

static void
cursors_belong_to_the_account (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_read (kit, "cursor.get", "{\"name\":\"offset\"}");
    assert_true (json_is_null (s_get (kit, "value")));
    kit_write (kit, "telegram.main.2", "cursor.put", "{\"name\":\"offset\",\"value\":{\"a\":[1]}}");
    kit_write (kit, "telegram.other", "cursor.put", "{\"name\":\"offset\",\"value\":7}");
    kit_read (kit, "cursor.get", "{\"name\":\"offset\"}"); //  As telegram.main@edge
    assert_int_equal (json_array_size (json_object_get (s_get (kit, "value"), "a")), 1);
    kit_free (kit);
}

//  A delivery to the lane k with that id and text, ended with this receipt. Returns its seq.

static int64_t
s_deliver (kit_t *kit, const char *id, const char *body, const char *receipt)
{
    int64_t seq = kit_send_type (kit, "deliver.request", id, "deliver.t", "k", NULL, body);
    int64_t lease = kit_lease (kit, seq, "telegram.main/1");
    assert_int_equal (
        kit_write_leased (kit, "telegram.main/1", seq, lease, 1, "receipt.put", receipt), ARGOS_OK);
    assert_int_equal (kit_done (kit, "telegram.main/1", seq, lease, 2, 0), ARGOS_OK);
    return seq;
}

static void
the_ledger_of_deliveries_keeps_what_was_not_sent (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    s_deliver (kit, "d1", "{\"kind\":\"answer\",\"text\":\"one\"}", "{\"state\":\"sent\"}");
    s_deliver (kit, "d2", "{\"kind\":\"notice\",\"text\":\"two\"}",
        "{\"state\":\"refused\",\"error\":\"forbidden: blocked by the user\"}");
    kit_send_type (kit, "deliver.request", "d3", "deliver.t", "k", NULL,
        "{\"kind\":\"answer\",\"text\":\"3\"}");
    kit_read (kit, "delivery.list", "{\"limit\":1}");
    json_t *row = json_array_get (s_get (kit, "deliveries"), 0);
    assert_string_equal (s_text (row, "id"), "d2");
    assert_string_equal (s_text (row, "preview"), "two");
    assert_string_equal (s_text (row, "error"), "forbidden: blocked by the user");
    assert_int_equal (json_integer_value (s_get (kit, "next")), 2);
    kit_read (kit, "delivery.list", "{\"after\":2}");
    row = json_array_get (s_get (kit, "deliveries"), 0);
    assert_string_equal (s_text (row, "id"), "d1");
    assert_string_equal (s_text (row, "state"), "sent");
    kit_read (kit, "delivery.list", "{\"state\":\"waiting\"}");
    row = json_array_get (s_get (kit, "deliveries"), 0);
    assert_string_equal (s_text (row, "id"), "d3");
    assert_string_equal (s_text (row, "preview"), "3");
    kit_read (kit, "delivery.show", "{\"id\":\"d2\"}");
    row = json_object_get (s_get (kit, "delivery"), "body");
    assert_string_equal (s_text (row, "text"), "two");
    kit_read (kit, "delivery.show", "{\"id\":\"d1\"}");
    assert_null (json_object_get (s_get (kit, "delivery"), "body"));
    kit_read (kit, "delivery.show", "{\"id\":\"d3\"}");
    assert_string_equal (s_text (s_get (kit, "delivery"), "state"), "waiting");
    kit_read (kit, "delivery.show", "{\"id\":\"d4\"}");
    assert_true (json_is_null (s_get (kit, "delivery")));
    kit_free (kit);
}

static void
a_chat_is_gone_until_it_takes_something_again (void **state)
{
    (void) state;
    static const struct {
        const char *receipt; //  The next one of the chat
        size_t gone;         //  Chats that are gone then
    } rows[] = { { "{\"state\":\"sent\"}", 0 },
        { "{\"state\":\"refused\",\"error\":\"unsupported\"}", 0 },
        { "{\"state\":\"refused\",\"error\":\"not_found\"}", 1 }, { "{\"state\":\"unknown\"}", 1 },
        { "{\"state\":\"refused\",\"error\":\"forbidden: kicked\"}", 1 },
        { "{\"state\":\"sent\"}", 0 } };
    kit_t *kit = kit_new (false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char id[8];
        snprintf (id, sizeof id, "d%zu", i);
        s_deliver (kit, id, "{\"kind\":\"answer\",\"text\":\"x\"}", rows[i].receipt);
        kit_read (
            kit, "delivery.list", "{\"state\":\"gone\",\"service\":\"deliver.t\",\"key\":\"k\"}");
        assert_int_equal (json_array_size (s_get (kit, "deliveries")), rows[i].gone);
    }
    kit_free (kit);
}

static void
a_receipt_belongs_to_the_delivery (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t seq = kit_send (kit, "d", "deliver.t", "k", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, "telegram.main/1");
    assert_int_equal (kit_write_leased (kit, "telegram.main/1", seq, lease, 1, "receipt.put",
                          "{\"state\":\"sent\",\"platform_ids\":[\"9\"]}"),
        ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT seq FROM receipts WHERE state = 'sent'"), seq);
    assert_int_equal (
        kit_write (kit, "telegram.main", "receipt.put", "{\"state\":\"maybe\"}"), ARGOS_INVALID);
    kit_read (kit, "receipt.get", "{\"id\":\"d\"}"); //  kit_send and kit_read have one name
    assert_string_equal (s_text (s_get (kit, "receipt"), "state"), "sent");
    assert_string_equal (s_text (s_get (kit, "receipt"), "op"), "send");
    assert_int_equal (
        json_array_size (json_object_get (s_get (kit, "receipt"), "platform_ids")), 1);
    seq = kit_send (kit, "e", "deliver.t", "k", NULL, NULL);
    kit_read (kit, "receipt.get", "{\"id\":\"e\"}");
    assert_true (json_is_null (s_get (kit, "receipt")));
    assert_int_equal (kit_done (kit, "telegram.main/1", seq - 1, lease, 2, 0), ARGOS_OK);
    lease = kit_lease (kit, seq, "telegram.main/1");
    kit_write_leased (kit, "telegram.main/1", seq, lease, 1, "receipt.put",
        "{\"state\":\"refused\",\"op\":\"react\",\"error\":\"unsupported\"}");
    kit_read (kit, "receipt.get", "{\"id\":\"e\"}");
    assert_string_equal (s_text (s_get (kit, "receipt"), "op"), "react");
    assert_string_equal (s_text (s_get (kit, "receipt"), "error"), "unsupported");
    kit_number (kit, "UPDATE receipts SET requester = 'other'");
    kit_read (kit, "receipt.get", "{\"id\":\"e\"}");
    assert_true (json_is_null (s_get (kit, "receipt"))); //  Not ours
    kit_free (kit);
}

static void
status_counts_what_is_there (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    kit_send (kit, "d", "turn", "k", NULL, NULL);
    assert_int_equal (kit_read (kit, "status.get", "{}"), ARGOS_OK);
    assert_int_equal (json_integer_value (s_get (kit, "queue")), 1);
    assert_int_equal (json_integer_value (s_get (kit, "boot")), 1);
    assert_int_equal (
        json_integer_value (s_get (kit, "schema")), kit_number (kit, "PRAGMA user_version"));
    assert_true (json_integer_value (s_get (kit, "bytes")) > 0);
    assert_string_equal (
        json_string_value (s_get (kit, "store")), argos_store_info (kit->store)->store_id);
    assert_int_equal (kit_read (kit, "no.such", "{}"), ARGOS_UNKNOWN_TYPE);
    assert_int_equal (kit_read (kit, "run.get", "{\"run_id\":1}"), ARGOS_INVALID);
    assert_true (strlen (kit->ans->reason) > 0);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_transcript_is_written_only_under_the_lease_of_its_lane),
        cmocka_unit_test (a_transcript_comes_back_in_pages_as_it_was_written),
        cmocka_unit_test (routes_and_sessions_have_versions_to_expect),
        cmocka_unit_test (the_state_of_a_run_comes_from_its_lane_until_it_is_finished),
        cmocka_unit_test (runs_are_listed_newest_first),
        cmocka_unit_test (dead_letters_are_listed_shown_dropped_and_redriven),
        cmocka_unit_test (a_lane_can_be_listed),
        cmocka_unit_test (cursors_belong_to_the_account),
        cmocka_unit_test (the_ledger_of_deliveries_keeps_what_was_not_sent),
        cmocka_unit_test (a_chat_is_gone_until_it_takes_something_again),
        cmocka_unit_test (a_receipt_belongs_to_the_delivery),
        cmocka_unit_test (status_counts_what_is_there),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
