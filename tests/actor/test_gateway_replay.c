//  Whatever a platform does with its events (twice, out of order, all of them again) and whenever a
//  gateway dies, each event makes exactly one turn. The real store, the real decisions; everything
//  by chance comes from one seed, ARGOS_SEED.

#include "argos_gateway.h"
#include "argos_incoming.h"
#include "store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENTS 2500 //  Different ones
#define SENDS 7500  //  As a platform sends them; then it sends all of them again
#define CHATS 40    //  In which they are said
#define HOLDER "gateway/1"
#define AGENT "agent/1"

typedef enum {
    MAKES_TURN,   //  Text of somebody who may
    MAKES_ANSWER, //  A command
    MAKES_NOTHING //  Of somebody who may not
} kind_t;

typedef struct {
    kit_t *kit;                    //  The store
    json_t *config;                //  Who may speak
    argos_gateway_policy_t policy; //  Of it
    json_t *turns;                 //  {run id: how often}
    uint64_t random;               //  State of the generator
    int lost, again;               //  Gateways that died, decisions on old facts
} world_t;

static uint64_t
s_random (world_t *self, uint64_t below)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random % below;
}

//  What an event is follows from its number.

static kind_t
s_kind (int event)
{
    return event % 23 == 0 ? MAKES_ANSWER : event % 7 == 0 ? MAKES_NOTHING : MAKES_TURN;
}

static void
s_send (world_t *self, int event)
{
    char header[256], body[512];
    int chat = event % CHATS;
    static const char *const texts[] = { "hello", "/new", "hello" };
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "test.main");
    snprintf (req->id, sizeof req->id, "main:%d:%d", chat, event);
    //  Two lanes of a chat: an adapter that keeps no order
    snprintf (header, sizeof header,
        "{\"type\":\"message.inbound\",\"id\":\"%s\",\"to\":\"service:gateway\",\"key\":\"%d.%d\","
        "\"durable\":true}",
        req->id, chat, event / CHATS % 2);
    snprintf (body, sizeof body,
        "{\"source\":{\"platform\":\"test\",\"account\":\"main\",\"chat_type\":\"%s\",\"chat_id\":"
        "\"%d\",\"user_id\":\"%s\"},\"text\":\"%s\",\"message_id\":\"%d\"}",
        chat % 3 ? "dm" : "group", chat, s_kind (event) == MAKES_NOTHING ? "stranger" : "friend",
        texts[s_kind (event) == MAKES_ANSWER], event);
    kit_part (req, 0, header, body);
    assert_int_equal (kit_do (self->kit, req)->code, ARGOS_OK);
}

//  ---------------------------------------------------------------------------------------------
//  The gateway

typedef struct {
    int64_t seq, lease;         //  Of the message in hand
    int64_t n;                  //  Commits under it
    json_t *body;               //  Of it
    char id[ARGOS_ID_MAX + 1];  //  Of it
    json_t *read[ARGOS_FACTS];  //  What has been read
    argos_gateway_case_t facts; //  What is decided on
} job_t;

static void
s_forget (job_t *job)
{
    for (size_t i = 0; i < ARGOS_FACTS; i++) {
        json_decref (job->read[i]);
        job->facts.fact[i] = job->read[i] = NULL;
    }
    job->facts.have = 0;
}

//  Lease row seq. Returns false when another one of its lane is before it.

static bool
s_lease (world_t *self, job_t *job, int64_t seq)
{
    *job = (job_t){ .seq = seq, .lease = kit_lease (self->kit, seq, HOLDER) };
    if (!job->lease)
        return false;
    const argos_frame_t *body = self->kit->ans->parts[0].body;
    const argos_frame_t *header = self->kit->ans->parts[0].header;
    json_t *head = json_loadb (header->data, header->size, 0, NULL);
    json_t *said = json_loadb (body->data, body->size, 0, NULL);
    snprintf (job->id, sizeof job->id, "%s", json_string_value (json_object_get (head, "id")));
    json_decref (head);
    job->body = argos_incoming_event (said);
    json_decref (said);
    job->facts = (argos_gateway_case_t){ .policy = &self->policy,
        .from = "test.main",
        .id = job->id,
        .body = job->body,
        .wall = self->kit->now,
        .entropy = s_random (self, UINT64_MAX) };
    return true;
}

static void
s_read (world_t *self, job_t *job)
{
    json_t *question;
    argos_fact_t fact;
    while ((fact = argos_fact_next (
                &job->facts, argos_gateway_needs (&job->facts), 0, &question)) != ARGOS_FACTS) {
        job->facts.have |= ARGOS_FACT_BIT (fact);
        if (fact == ARGOS_FACT_HOOK) { //  No hook has a say here
            json_decref (question);
            continue;
        }
        char *text = json_dumps (question, JSON_COMPACT);
        assert_int_equal (kit_read (self->kit, argos_fact_row (fact)->type, text), ARGOS_OK);
        free (text);
        json_decref (question);
        job->facts.fact[fact] = job->read[fact] = json_incref (self->kit->result);
    }
}

//  One done with what was decided; entries of topics are the broker's, and left out.

static argos_err_t
s_done (world_t *self, job_t *job, const json_t *parts)
{
    size_t count = 0, index;
    json_t *part;
    json_array_foreach (parts, index, part)
        count += strncmp (json_string_value (json_object_get (part, "to")), "topic:", 6) != 0;
    argos_storage_req_t *req =
        kit_commit (self->kit, HOLDER, job->seq, job->lease, job->n + 1, true, count);
    count = 0;
    json_array_foreach (parts, index, part) {
        if (strncmp (json_string_value (json_object_get (part, "to")), "topic:", 6) == 0)
            continue;
        json_t *header = json_copy (part);
        json_object_del (header, "body");
        json_object_set_new (header, "durable", json_true ());
        char *head = json_dumps (header, JSON_COMPACT);
        char *body = json_dumps (json_object_get (part, "body"), JSON_COMPACT);
        kit_part (req, count++, head, body);
        free (head);
        free (body);
        json_decref (header);
    }
    return kit_do (self->kit, req)->code;
}

static void s_work (world_t *self, int chat, int lane, int depth);

//  Decide and commit, again while the facts are old. Returns whether it was committed: a gateway
//  may die in front of it.

static bool
s_decide (world_t *self, job_t *job, int chat, int lane, int depth)
{
    for (;;) {
        s_read (self, job);
        if (depth == 0 && s_random (self, 4) == 0)
            s_work (self, chat, !lane, 1); //  Another gateway is faster
        if (s_random (self, 20) == 0)
            return false;
        json_t *parts = argos_gateway_decide (&job->facts);
        argos_err_t code = s_done (self, job, parts);
        if (code == ARGOS_OK && s_random (self, 20) == 0)
            assert_int_equal (s_done (self, job, parts), ARGOS_OK); //  The answer was lost
        json_decref (parts);
        if (code == ARGOS_OK)
            return true;
        assert_int_equal (code, ARGOS_CONFLICT);
        self->again++;
        s_forget (job);
    }
}

//  Take the first message of a lane, if there is one, and see it through, or die on the way.

static void
s_work (world_t *self, int chat, int lane, int depth)
{
    char sql[160];
    job_t job;
    snprintf (sql, sizeof sql,
        "SELECT ifnull (min (seq), 0) FROM queue WHERE service = 'gateway' AND key = '%d.%d'", chat,
        lane);
    int64_t seq = kit_number (self->kit, sql);
    if (!seq || !s_lease (self, &job, seq))
        return;
    if (!s_decide (self, &job, chat, lane, depth)) {
        self->lost++;
        assert_int_equal (kit_release (self->kit, job.seq, job.lease, 0, false, NULL), ARGOS_OK);
    }
    s_forget (&job);
    json_decref (job.body);
}

//  The agent: every turn is counted and done.

static void
s_drain (world_t *self)
{
    int64_t seq;
    while ((seq = kit_number (self->kit,
                "SELECT ifnull (min (seq), 0) FROM queue WHERE service = 'turn'")) != 0) {
        int64_t lease = kit_lease (self->kit, seq, AGENT);
        assert_true (lease > 0);
        const argos_frame_t *header = self->kit->ans->parts[0].header;
        json_t *head = json_loadb (header->data, header->size, 0, NULL);
        const char *type = json_string_value (json_object_get (head, "type"));
        const char *id = json_string_value (json_object_get (head, "id"));
        if (strcmp (type, "turn.request") == 0)
            json_object_set_new (self->turns, id,
                json_integer (json_integer_value (json_object_get (self->turns, id)) + 1));
        json_decref (head);
        int64_t seen = kit_number (self->kit, "SELECT max (seq) FROM queue"); //  Stops too
        assert_int_equal (kit_done (self->kit, AGENT, seq, lease, 1, seen), ARGOS_OK);
    }
}

static void
s_finish (world_t *self)
{
    while (kit_number (self->kit, "SELECT count (*) FROM queue WHERE service = 'gateway'"))
        for (int i = 0; i < 2 * CHATS; i++) {
            s_work (self, i / 2, i % 2, 0);
            s_drain (self);
        }
}

//  ---------------------------------------------------------------------------------------------
//  The test

static void
s_begin (world_t *self)
{
    const char *seed = getenv ("ARGOS_SEED");
    *self = (world_t){ .kit = kit_new (false),
        .turns = json_object (),
        .random = seed ? strtoull (seed, NULL, 10) : 20261128 };
    self->config = json_pack ("{s:{s:{s:[s]}}}", "platforms", "test", "allowed_users", "friend");
    argos_gateway_policy_init (&self->policy);
    self->policy.config = self->config;
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_SERVICE, 0);
    snprintf (req->name, sizeof req->name, "deliver.test.main");
    assert_int_equal (kit_do (self->kit, req)->code, ARGOS_OK);
}

static void
s_end (world_t *self)
{
    json_decref (self->turns);
    json_decref (self->config);
    kit_free (self->kit);
}

//  Every event at least once, the others at random, all of it in any order.

static void
s_shuffle (world_t *self, int *sends)
{
    for (int i = 0; i < SENDS; i++)
        sends[i] = i < EVENTS ? i : (int) s_random (self, EVENTS);
    for (int i = SENDS - 1; i > 0; i--) {
        int j = (int) s_random (self, (uint64_t) i + 1), kept = sends[i];
        sends[i] = sends[j];
        sends[j] = kept;
    }
}

static void
s_assert_once (const world_t *self, size_t expected)
{
    const char *id;
    json_t *count;
    assert_int_equal (json_object_size (self->turns), expected);
    json_object_foreach (self->turns, id, count)
        assert_int_equal (json_integer_value (count), 1);
}

static void
each_event_makes_exactly_one_turn (void **state)
{
    (void) state;
    static int sends[SENDS];
    world_t self;
    size_t expected = 0;
    s_begin (&self);
    s_shuffle (&self, sends);
    for (int i = 0; i < EVENTS; i++)
        expected += s_kind (i) == MAKES_TURN;
    for (int i = 0; i < SENDS; i++) {
        self.kit->now++;
        s_send (&self, sends[i]);
        if (s_random (&self, 3))
            s_work (&self, (int) s_random (&self, CHATS), (int) s_random (&self, 2), 0);
        s_drain (&self);
    }
    s_finish (&self);
    s_assert_once (&self, expected);
    int64_t runs = kit_number (self.kit, "SELECT count (*) FROM runs");
    assert_int_equal (runs, expected);
    //  The platform begins anew, backwards: nothing happens
    int64_t rows = kit_number (self.kit, "SELECT count (*) FROM queue");
    for (int i = EVENTS - 1; i >= 0; i--)
        s_send (&self, i);
    assert_int_equal (kit_number (self.kit, "SELECT count (*) FROM queue"), rows);
    s_assert_once (&self, expected);
    //  It was as hard as it was meant to be
    assert_true (self.lost > 50 && self.again > 5);
    assert_true (kit_number (self.kit, "SELECT count (*) FROM records WHERE space = 'audit'") > 0);
    s_end (&self);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (each_event_makes_exactly_one_turn) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
