//  Pairing: the numbers, the order of things, and that nothing of a code is kept. The records are
//  kept here as the store keeps them.

#include "argos_pairing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BEGIN 1764288000000 //  Msec since 1970
#define SEEDS 2000          //  Of the property

typedef struct {
    json_t *records;    //  {"space key": record}
    int64_t wall;       //  The time
    json_int_t version; //  Last one given
    uint64_t random;    //  State of a small generator
} world_t;

static void
s_begin (world_t *self)
{
    *self = (world_t){ .records = json_object (), .wall = BEGIN, .random = 88172645463325252u };
}

static void
s_end (world_t *self)
{
    json_decref (self->records);
}

static uint64_t
s_random (world_t *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random;
}

static json_t *
s_get (world_t *self, const char *space, const char *key)
{
    char place[400];
    snprintf (place, sizeof place, "%s %s", space, key);
    json_t *record = json_object_get (self->records, place);
    const json_t *until = json_object_get (record, "expires_at");
    bool over = until && json_integer_value (until) <= self->wall;
    return json_pack ("{s:O?}", "record", over ? NULL : record);
}

//  Do the writes, as one commit. They are freed.

static void
s_write (world_t *self, json_t *writes)
{
    size_t index;
    json_t *body;
    json_array_foreach (writes, index, body) {
        const char *space = json_string_value (json_object_get (body, "space"));
        const char *key = json_string_value (json_object_get (body, "key"));
        const json_t *expected = json_object_get (body, "version");
        json_t *now = s_get (self, space, key), *value = json_object_get (body, "value");
        json_t *until = json_object_get (body, "expires_at");
        json_int_t version =
            json_integer_value (json_object_get (json_object_get (now, "record"), "version"));
        if (expected)
            assert_int_equal (version, json_integer_value (expected));
        json_decref (now);
        char place[400];
        snprintf (place, sizeof place, "%s %s", space, key);
        json_object_del (self->records, place);
        if (!value)
            continue;
        json_t *record =
            json_pack ("{s:s, s:O, s:I}", "key", key, "value", value, "version", ++self->version);
        if (until)
            json_object_set (record, "expires_at", until);
        json_object_set_new (self->records, place, record);
    }
    json_decref (writes);
}

typedef struct {
    argos_pairing_t facts; //  What a decision is made on
    json_t *read[4];       //  What it borrows
} facts_t;

static facts_t
s_read (world_t *self, const char *platform, const char *user)
{
    char key[ARGOS_PAIRING_KEY_SIZE];
    facts_t facts;
    argos_pairing_key (platform, user, key);
    facts.read[0] = s_get (self, ARGOS_PAIRING_PENDING, platform);
    facts.read[1] = s_get (self, ARGOS_PAIRING_RATE, key);
    facts.read[2] = s_get (self, ARGOS_PAIRING_RATE, platform);
    facts.read[3] = s_get (self, ARGOS_PAIRING_APPROVED, key);
    facts.facts = (argos_pairing_t){ .pending = facts.read[0],
        .rate = facts.read[1],
        .lock = facts.read[2],
        .approved = facts.read[3],
        .wall = self->wall };
    return facts;
}

static void
s_forget (facts_t *facts)
{
    for (size_t i = 0; i < 4; i++)
        json_decref (facts->read[i]);
}

//  Somebody writes; his code goes to code.

static argos_pairing_say_t
s_ask (world_t *self, const char *platform, const char *user, char *code)
{
    unsigned char random[ARGOS_PAIRING_RANDOM];
    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (unsigned char) (s_random (self) >> 24);
    json_t *source = json_pack ("{s:s, s:s, s:s, s:s, s:s}", "platform", platform, "account",
        "main", "chat_id", "c", "user_id", user, "user_name", "Ann");
    json_t *writes = json_array ();
    facts_t facts = s_read (self, platform, user);
    argos_pairing_say_t say = argos_pairing_ask (&facts.facts, source, random, code, writes);
    s_forget (&facts);
    s_write (self, writes);
    json_decref (source);
    return say;
}

//  The operator approves; who it was goes to user (256 bytes).

static argos_err_t
s_approve (world_t *self, const char *platform, const char *code, char *user)
{
    json_t *writes = json_array (), *who = NULL;
    facts_t facts = s_read (self, platform, "");
    argos_err_t rc = argos_pairing_approve (&facts.facts, platform, code, "argos.1", &who, writes);
    s_forget (&facts);
    s_write (self, writes);
    const char *id = json_string_value (json_object_get (who, "user_id"));
    assert_int_equal (id != NULL, rc == ARGOS_OK);
    snprintf (user, 256, "%s", id ? id : "");
    json_decref (who);
    return rc;
}

static argos_err_t
s_revoke (world_t *self, const char *platform, const char *user)
{
    json_t *writes = json_array ();
    facts_t facts = s_read (self, platform, user);
    argos_err_t rc = argos_pairing_revoke (&facts.facts, platform, user, writes);
    s_forget (&facts);
    s_write (self, writes);
    return rc;
}

static bool
s_is_approved (world_t *self, const char *platform, const char *user)
{
    facts_t facts = s_read (self, platform, user);
    bool approved = argos_pairing_is_approved (facts.facts.approved);
    s_forget (&facts);
    return approved;
}

static void
a_code_makes_a_stranger_known (void **state)
{
    (void) state;
    world_t self;
    char code[ARGOS_PAIRING_CODE_SIZE], small[ARGOS_PAIRING_CODE_SIZE], user[256];
    s_begin (&self);
    assert_false (s_is_approved (&self, "slack", "u"));
    assert_int_equal (s_ask (&self, "slack", "u", code), ARGOS_PAIRING_CODE);
    assert_int_equal (strlen (code), 8);
    assert_int_equal (strspn (code, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"), 8);
    for (size_t i = 0; i <= 8; i++)
        small[i] = code[i] >= 'A' ? (char) (code[i] | 0x20) : code[i];
    assert_int_equal (s_approve (&self, "line", code, user), ARGOS_NOT_FOUND);
    assert_int_equal (s_approve (&self, "slack", small, user), ARGOS_OK);
    assert_string_equal (user, "u");
    assert_true (s_is_approved (&self, "slack", "u"));
    assert_false (s_is_approved (&self, "line", "u"));
    assert_false (s_is_approved (&self, "slack", "v"));
    //  Once only
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_NOT_FOUND);
    //  For ever, until it is taken back
    self.wall += INT64_C (400) * 86400000;
    assert_true (s_is_approved (&self, "slack", "u"));
    assert_int_equal (s_revoke (&self, "slack", "u"), ARGOS_OK);
    assert_false (s_is_approved (&self, "slack", "u"));
    assert_int_equal (s_revoke (&self, "slack", "u"), ARGOS_NOT_FOUND);
    s_end (&self);
}

static void
nothing_of_a_code_is_kept (void **state)
{
    (void) state;
    world_t self;
    char code[ARGOS_PAIRING_CODE_SIZE];
    s_begin (&self);
    s_ask (&self, "slack", "u", code);
    char *kept = json_dumps (self.records, 0);
    assert_null (strstr (kept, code));
    assert_non_null (strstr (kept, "\"hash\""));
    free (kept);
    //  Nor told to who lists
    json_t *list = json_array (), *result = s_get (&self, ARGOS_PAIRING_PENDING, "slack");
    argos_pairing_pending (json_object_get (result, "record"), self.wall, list);
    kept = json_dumps (list, 0);
    assert_int_equal (json_array_size (list), 1);
    assert_null (strstr (kept, "hash"));
    assert_null (strstr (kept, "salt"));
    assert_non_null (strstr (kept, "\"name\": \"Ann\""));
    free (kept);
    json_decref (list);
    json_decref (result);
    s_end (&self);
}

static void
a_code_counts_for_an_hour (void **state)
{
    (void) state;
    static const struct {
        int64_t later;  //  Msec
        argos_err_t rc; //  Expected
    } rows[] = { { 0, ARGOS_OK }, { 3599999, ARGOS_OK }, { 3600000, ARGOS_NOT_FOUND },
        { 36000000, ARGOS_NOT_FOUND } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world_t self;
        char code[ARGOS_PAIRING_CODE_SIZE], user[256];
        s_begin (&self);
        s_ask (&self, "slack", "u", code);
        self.wall += rows[i].later;
        assert_int_equal (s_approve (&self, "slack", code, user), rows[i].rc);
        s_end (&self);
    }
}

static void
one_request_of_a_user_in_ten_minutes (void **state)
{
    (void) state;
    world_t self;
    char first[ARGOS_PAIRING_CODE_SIZE], code[ARGOS_PAIRING_CODE_SIZE], user[256];
    s_begin (&self);
    assert_int_equal (s_ask (&self, "slack", "u", first), ARGOS_PAIRING_CODE);
    self.wall += 599999;
    assert_int_equal (s_ask (&self, "slack", "u", code), ARGOS_PAIRING_LATER);
    assert_string_equal (code, "");
    assert_int_equal (s_ask (&self, "slack", "u", code), ARGOS_PAIRING_SILENT);
    assert_int_equal (s_ask (&self, "slack", "v", code), ARGOS_PAIRING_CODE);
    assert_int_equal (s_ask (&self, "line", "u", code), ARGOS_PAIRING_CODE);
    self.wall += 1;
    //  A new code takes the place of the old one
    assert_int_equal (s_ask (&self, "slack", "u", code), ARGOS_PAIRING_CODE);
    assert_string_not_equal (code, first);
    assert_int_equal (s_approve (&self, "slack", first, user), ARGOS_NOT_FOUND);
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_OK);
    s_end (&self);
}

static void
three_codes_of_a_platform_at_a_time (void **state)
{
    (void) state;
    world_t self;
    char codes[3][ARGOS_PAIRING_CODE_SIZE], code[ARGOS_PAIRING_CODE_SIZE], user[256];
    s_begin (&self);
    for (size_t i = 0; i < 3; i++) {
        snprintf (user, sizeof user, "u%zu", i);
        assert_int_equal (s_ask (&self, "slack", user, codes[i]), ARGOS_PAIRING_CODE);
        self.wall += 60000;
    }
    assert_int_equal (s_ask (&self, "slack", "u3", code), ARGOS_PAIRING_LATER);
    assert_int_equal (s_ask (&self, "slack", "u3", code), ARGOS_PAIRING_SILENT);
    assert_int_equal (s_ask (&self, "slack", "u4", code), ARGOS_PAIRING_LATER);
    assert_int_equal (s_ask (&self, "line", "u4", code), ARGOS_PAIRING_CODE);
    //  One is approved: there is room for one
    assert_int_equal (s_approve (&self, "slack", codes[1], user), ARGOS_OK);
    assert_string_equal (user, "u1");
    assert_int_equal (s_ask (&self, "slack", "u5", code), ARGOS_PAIRING_CODE);
    assert_int_equal (s_ask (&self, "slack", "u6", code), ARGOS_PAIRING_LATER);
    //  One has expired: there is room for one
    self.wall = BEGIN + ARGOS_PAIRING_LIFE_MS;
    assert_int_equal (s_ask (&self, "slack", "u7", code), ARGOS_PAIRING_CODE);
    assert_int_equal (s_ask (&self, "slack", "u8", code), ARGOS_PAIRING_LATER);
    assert_int_equal (s_approve (&self, "slack", codes[0], user), ARGOS_NOT_FOUND);
    assert_int_equal (s_approve (&self, "slack", codes[2], user), ARGOS_OK);
    //  All are dropped
    json_t *writes = json_array ();
    facts_t facts = s_read (&self, "slack", "");
    assert_int_equal (argos_pairing_clear (&facts.facts, "slack", writes), 2);
    s_forget (&facts);
    s_write (&self, writes);
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_NOT_FOUND);
    s_end (&self);
}

static void
five_wrong_codes_lock_a_platform_for_an_hour (void **state)
{
    (void) state;
    world_t self;
    char code[ARGOS_PAIRING_CODE_SIZE], other[ARGOS_PAIRING_CODE_SIZE], user[256];
    static const char *const wrong[] = { "", "AAAAAAAA", "AAAAAAA", "AAAAAAAAA", "ÄÄÄÄ" };
    s_begin (&self);
    s_ask (&self, "slack", "u", code);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal (s_approve (&self, "slack", wrong[i], user), ARGOS_NOT_FOUND);
    assert_int_equal (s_ask (&self, "slack", "v", other), ARGOS_PAIRING_CODE);
    assert_int_equal (s_approve (&self, "slack", wrong[4], user), ARGOS_NOT_FOUND);
    //  Locked: the right one does not help, and nobody gets another
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_BUSY);
    assert_int_equal (s_ask (&self, "slack", "w", other), ARGOS_PAIRING_LATER);
    assert_int_equal (s_ask (&self, "line", "w", other), ARGOS_PAIRING_CODE);
    assert_int_equal (s_approve (&self, "line", other, user), ARGOS_OK);
    self.wall += ARGOS_PAIRING_LOCK_MS - 1;
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_BUSY);
    self.wall += 1;
    assert_int_equal (s_ask (&self, "slack", "u", code), ARGOS_PAIRING_CODE);
    assert_int_equal (s_approve (&self, "slack", "AAAAAAAA", user), ARGOS_NOT_FOUND);
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_OK);
    //  A right one ends the count, and so does clear
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 4; i++)
            assert_int_equal (s_approve (&self, "slack", "AAAAAAAA", user), ARGOS_NOT_FOUND);
        json_t *writes = json_array ();
        facts_t facts = s_read (&self, "slack", "");
        argos_pairing_clear (&facts.facts, "slack", writes);
        s_forget (&facts);
        s_write (&self, writes);
    }
    assert_int_equal (s_approve (&self, "slack", "AAAAAAAA", user), ARGOS_NOT_FOUND);
    s_end (&self);
}

static void
who_is_refused_can_ask_again (void **state)
{
    (void) state;
    world_t self;
    char code[ARGOS_PAIRING_CODE_SIZE], user[256];
    s_begin (&self);
    s_ask (&self, "slack", "u", code);
    assert_int_equal (s_revoke (&self, "slack", "u"), ARGOS_OK); //  What he waits with
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_NOT_FOUND);
    self.wall += ARGOS_PAIRING_PAUSE_MS;
    assert_int_equal (s_ask (&self, "slack", "u", code), ARGOS_PAIRING_CODE);
    assert_int_equal (s_approve (&self, "slack", code, user), ARGOS_OK);
    s_end (&self);
}

//  Whatever strangers, the operator and time do: a user is approved exactly when the last thing
//  that the operator did with him, by a code of his that counted, was to approve; never more than
//  three codes count; and never two of a user.

static void
whatever_happens_only_approval_lets_in (void **state)
{
    (void) state;
    world_t self;
    bool approved[6] = { false };
    char codes[6][ARGOS_PAIRING_CODE_SIZE] = { "" }, user[256], id[8];
    s_begin (&self);
    for (int i = 0; i < SEEDS; i++) {
        size_t who = s_random (&self) % 6;
        snprintf (id, sizeof id, "u%zu", who);
        switch (s_random (&self) % 6) {
        case 0:
        case 1: {
            char code[ARGOS_PAIRING_CODE_SIZE];
            if (s_ask (&self, "slack", id, code) == ARGOS_PAIRING_CODE)
                memcpy (codes[who], code, sizeof code);
            break;
        }
        case 2:
            if (s_approve (&self, "slack", codes[who], user) == ARGOS_OK) {
                assert_string_equal (user, id);
                approved[who] = true;
            }
            break;
        case 3:
            if (s_random (&self) % 4 == 0) {
                s_revoke (&self, "slack", id);
                approved[who] = false;
            }
            break;
        default:
            self.wall += (int64_t) (s_random (&self) % 900000);
        }
        for (size_t j = 0; j < 6; j++) {
            snprintf (id, sizeof id, "u%zu", j);
            assert_int_equal (s_is_approved (&self, "slack", id), approved[j]);
        }
        json_t *list = json_array (), *result = s_get (&self, ARGOS_PAIRING_PENDING, "slack");
        argos_pairing_pending (json_object_get (result, "record"), self.wall, list);
        assert_true (json_array_size (list) <= ARGOS_PAIRING_PENDING_MAX);
        json_decref (list);
        json_decref (result);
    }
    s_end (&self);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_code_makes_a_stranger_known),
        cmocka_unit_test (nothing_of_a_code_is_kept),
        cmocka_unit_test (a_code_counts_for_an_hour),
        cmocka_unit_test (one_request_of_a_user_in_ten_minutes),
        cmocka_unit_test (three_codes_of_a_platform_at_a_time),
        cmocka_unit_test (five_wrong_codes_lock_a_platform_for_an_hour),
        cmocka_unit_test (who_is_refused_can_ask_again),
        cmocka_unit_test (whatever_happens_only_approval_lets_in),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
