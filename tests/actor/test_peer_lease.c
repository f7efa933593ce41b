//  test_peer_lease - argos_peer against a scripted broker: leases, numbered commits, side messages.

#include "schema_group.h"
#include "script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
test_commits_of_a_lease_are_numbered_and_one_at_a_time (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t answer = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    script_give_lease (self, 12, 7);
    argos_lease_t *lease = self->lease;
    assert_int_equal (argos_lease_seq (lease), 12);
    assert_int_equal (argos_lease_attempt (lease), 2);
    assert_string_equal (argos_lease_key (lease), "k\"1");
    argos_lease_set_data (lease, self);
    assert_ptr_equal (argos_lease_data (lease), self);
    for (int n = 1; n <= 2; n++) {
        assert_int_equal (
            argos_lease_commit (lease, NULL, 0, NULL, 0, script_answer, &answer), ARGOS_OK);
        assert_int_equal (
            argos_lease_commit (lease, NULL, 0, NULL, 0, script_answer, &answer), ARGOS_BUSY);
        script_wire_t commit = script_expect (self, "commit");
        assert_int_equal (script_head_int (&commit, "seq"), 12);
        assert_int_equal (script_head_int (&commit, "lease"), 7);
        assert_int_equal (script_head_int (&commit, "n"), n);
        if (n == 2) //  Refused: the number stays
            script_refuse (self, script_head (&commit, "id"), "conflict");
        else
            script_word (self, "accepted", script_head (&commit, "id"), "{\"n\":1}");
        script_wire_free (&commit);
        script_until (self, &answer.count, n);
    }
    assert_int_equal (answer.code, ARGOS_CONFLICT);
    assert_int_equal (answer.part, 1);
    int64_t take[2] = { 20, 21 };
    assert_int_equal (argos_lease_done (lease, NULL, 0, take, 2, script_answer, &answer), ARGOS_OK);
    script_wire_t done = script_expect (self, "done");
    assert_int_equal (script_head_int (&done, "n"), 2);
    assert_int_equal (script_head_int (&done, "seen"), 0);
    assert_int_equal (json_array_size (json_object_get (done.header, "take")), 2);
    script_word (self, "accepted", script_head (&done, "id"), "{\"n\":2}");
    script_wire_free (&done);
    script_until (self, &answer.count, 3);
    assert_int_equal (self->losts, 0);
    script_end (self);
}

static void
test_mail_goes_to_its_lease_and_done_names_it (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t answer = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    script_give_lease (self, 12, 7);
    script_send_to (self,
        "{\"type\":\"test.steer\",\"id\":\"x\",\"to\":\"service:test\",\"key\":\"k\",\"durable\":"
        "true,\"side\":true}",
        "{\"from\":\"gateway\",\"seq\":15,\"lease\":7,\"mail\":12,\"hops\":0,\"cause\":\"\",\"at\":"
        "1}",
        "{}");
    script_until (self, &self->mails, 1);
    assert_int_equal (self->last_seq, 15);
    assert_int_equal (
        argos_lease_done (self->lease, NULL, 0, NULL, 0, script_answer, &answer), ARGOS_OK);
    script_wire_t done = script_expect (self, "done");
    assert_int_equal (script_head_int (&done, "seen"), 15);
    script_refuse (self, script_head (&done, "id"), "mail");
    script_wire_free (&done);
    script_until (self, &answer.count, 1);
    assert_int_equal (answer.code, ARGOS_MAIL);
    assert_int_equal (
        argos_lease_done (self->lease, NULL, 0, NULL, 0, script_answer, &answer), ARGOS_OK);
    done = script_expect (self, "done");
    assert_int_equal (script_head_int (&done, "n"), 1);
    script_refuse (self, script_head (&done, "id"), "fenced");
    script_wire_free (&done);
    script_until (self, &answer.count, 2);
    assert_int_equal (answer.code, ARGOS_FENCED);
    assert_int_equal (self->losts, 1);
    script_end (self);
}

static void
test_a_lease_ended_by_others_is_lost_at_once (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t answer = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    script_give_lease (self, 12, 7);
    assert_int_equal (
        argos_lease_commit (self->lease, NULL, 0, NULL, 0, script_answer, &answer), ARGOS_OK);
    script_send_to (
        self, "{\"type\":\"refused\",\"seq\":12,\"lease\":6}", "{}", "{\"code\":\"fenced\"}");
    script_send_to (
        self, "{\"type\":\"refused\",\"seq\":12,\"lease\":7}", "{}", "{\"code\":\"fenced\"}");
    script_until (self, &self->losts, 1);
    assert_int_equal (answer.count, 1);
    assert_int_equal (answer.code, ARGOS_FENCED);
    script_end (self);
}

static void
test_the_verdicts_of_a_welcome (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t done = { .count = 0 }, lost = { .count = 0 }, valid = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    script_give_lease (self, 1, 11);
    argos_lease_done (self->lease, NULL, 0, NULL, 0, script_answer, &done);
    script_give_lease (self, 2, 12);
    argos_lease_commit (self->lease, NULL, 0, NULL, 0, script_answer, &lost);
    script_give_lease (self, 3, 13);
    argos_lease_commit (self->lease, NULL, 0, NULL, 0, script_answer, &valid);
    script_give_lease (self, 4, 14);
    argos_lease_release (&self->lease, 5000, true, NULL);
    assert_null (self->lease);
    const char *const sent[] = { "done", "commit", "commit", "release" };
    for (int i = 0; i < 4; i++) {
        script_wire_t wire = script_expect (self, sent[i]);
        script_wire_free (&wire);
    }
    script_refuse (self, "", "no_session");
    script_wire_t hello = script_hello (self);
    json_t *list = json_object_get (hello.body, "leases");
    assert_int_equal (json_array_size (list), 4);
    script_word (self, "welcome", script_head (&hello, "id"),
        "{\"store\":\"s1\",\"boot\":2,\"lease_ms\":15000,\"ping_ms\":0,"
        "\"window\":{\"messages\":100,\"bytes\":100000},\"leases\":["
        "{\"seq\":1,\"lease\":11,\"state\":\"done\"},{\"seq\":2,\"lease\":12,\"state\":\"lost\"},"
        "{\"seq\":3,\"lease\":13,\"state\":\"valid\"},{\"seq\":4,\"lease\":14,\"state\":\"valid\"}]"
        "}");
    script_wire_free (&hello);
    script_until (self, &self->welcomes, 2);
    assert_int_equal (done.code, ARGOS_OK);
    assert_int_equal (done.count, 1);
    assert_int_equal (lost.code, ARGOS_FENCED);
    assert_int_equal (lost.count, 1);
    assert_int_equal (self->losts, 1);
    assert_int_equal (valid.count, 0);
    script_wire_t commit = script_expect (self, "commit");
    assert_int_equal (script_head_int (&commit, "seq"), 3);
    script_word (self, "accepted", script_head (&commit, "id"), "{\"n\":1}");
    script_wire_free (&commit);
    script_wire_t release = script_expect (self, "release");
    assert_int_equal (script_head_int (&release, "lease"), 14);
    assert_int_equal (json_integer_value (json_object_get (release.body, "delay_ms")), 5000);
    script_word (self, "accepted", script_head (&release, "id"), "{}");
    script_wire_free (&release);
    script_until (self, &valid.count, 1);
    script_end (self);
}

static void
test_another_store_makes_the_peer_forget (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_welcome (self, "s1", 0, 100, "[]");
    assert_false (self->new_store);
    script_give_lease (self, 1, 11);
    argos_peer_subscribe (self->peer, "topic:news", 5);
    script_wire_t subscribe = script_expect (self, "subscribe");
    assert_string_equal (script_head (&subscribe, "to"), "topic:news");
    script_wire_free (&subscribe);
    script_send_to (self, "{\"type\":\"test.item\",\"to\":\"topic:news\"}",
        "{\"from\":\"a\",\"topic\":\"news\",\"n\":9,\"at\":1,\"kept\":true}", "{}");
    script_until (self, &self->entries, 1);
    script_refuse (self, "", "no_session");
    script_welcome (self, "s2", 0, 100, "[{\"seq\":1,\"lease\":11,\"state\":\"valid\"}]");
    assert_true (self->new_store);
    assert_int_equal (self->losts, 1);
    subscribe = script_expect (self, "subscribe");
    assert_int_equal (json_integer_value (json_object_get (subscribe.body, "from")), 5);
    script_wire_free (&subscribe);
    script_end (self);
}

//  The core starts anew, with this number, and the lease is still valid.

static void
s_new_boot (script_t *self, int boot)
{
    char body[200];
    script_refuse (self, "", "no_session");
    script_wire_t hello = script_hello (self);
    snprintf (body, sizeof body,
        "{\"store\":\"s1\",\"boot\":%d,\"lease_ms\":15000,\"ping_ms\":0,\"window\":{"
        "\"messages\":100,\"bytes\":100000},\"leases\":[{\"seq\":1,\"lease\":11,\"state\":"
        "\"valid\"}]}",
        boot);
    int welcomes = self->welcomes;
    script_word (self, "welcome", script_head (&hello, "id"), body);
    script_wire_free (&hello);
    script_until (self, &self->welcomes, welcomes + 1);
}

static void
s_expect_both (script_t *self)
{
    script_wire_t commit = script_expect (self, "commit");
    assert_int_equal (script_head_int (&commit, "n"), 1);
    script_wire_free (&commit);
    script_wire_t sent = script_expect (self, "test.word");
    script_wire_free (&sent);
}

static void
test_what_the_core_dies_of_is_given_up (void **state)
{
    (void) state;
    script_t *self = script_begin ();
    script_answer_t commit = { .count = 0 }, word = { .count = 0 };
    script_welcome (self, "s1", 0, 100, "[]");
    script_give_lease (self, 1, 11);
    argos_lease_commit (self->lease, NULL, 0, NULL, 0, script_answer, &commit);
    argos_peer_part_t part = { .type = "test.word",
        .to = "service:test",
        .key = "k",
        .durable = true,
        .body = json_object () };
    argos_peer_send (self->peer, &part, script_answer, &word);
    s_expect_both (self);
    s_new_boot (self, 2);
    s_expect_both (self);
    for (int cut = 0; cut < 5; cut++) { //  Lost connections to the same start don't count
        s_new_boot (self, 2);
        s_expect_both (self);
    }
    s_new_boot (self, 3);
    s_expect_both (self);
    assert_int_equal (commit.count + word.count + self->losts, 0);
    s_new_boot (self, 4);
    assert_int_equal (commit.count, 1);
    assert_int_equal (commit.code, ARGOS_FENCED);
    assert_true (commit.sent);
    assert_int_equal (self->losts, 1);
    assert_int_equal (word.count, 1);
    assert_int_equal (word.code, ARGOS_GONE);
    assert_true (word.sent);
    script_wire_t release = script_expect (self, "release");
    assert_int_equal (script_head_int (&release, "lease"), 11);
    assert_false (json_is_true (json_object_get (release.body, "clean")));
    script_word (self, "accepted", script_head (&release, "id"), "{}");
    script_wire_free (&release);
    script_end (self);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_commits_of_a_lease_are_numbered_and_one_at_a_time),
        cmocka_unit_test (test_mail_goes_to_its_lease_and_done_names_it),
        cmocka_unit_test (test_a_lease_ended_by_others_is_lost_at_once),
        cmocka_unit_test (test_the_verdicts_of_a_welcome),
        cmocka_unit_test (test_another_store_makes_the_peer_forget),
        cmocka_unit_test (test_what_the_core_dies_of_is_given_up),
    };
    return SCHEMA_GROUP ("peer_lease", tests, NULL, NULL);
}
