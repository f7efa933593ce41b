//  argosd_check_cases - what `argos adapter-check` asks of a program, case by case.
//
//  Invariant: each case begins with a program that has just been started and a core that knows
//  nothing, so a fault shows in the case that is about it. A case ends with an ordinary delivery
//  where "and goes on" is part of what is asked.

#include "argos_schema.h"
#include "argosd_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_MS 600   //  What must not come within this time has not come
#define SLOW_MS 3000  //  A core that is slow to answer a commit
#define DRAIN_MS 4000 //  Patience with four pings
#define BIG_BYTES 262144
#define DEEP_LEVELS 200000 //  No reader that calls itself goes so deep

static bool
s_is_adapter (const check_t *self)
{
    return strncmp (self->service, "deliver.", 8) == 0;
}

//  An ordinary message is done.

static int
s_goes_on (check_t *self)
{
    char why[sizeof self->reason];
    if (argos_check_ends (self, argos_check_lease (self, NULL, NULL), false, NULL) == 0)
        return 0;
    snprintf (why, sizeof why, "%s", self->reason);
    return argos_check_fail (self, "afterwards: %.400s", why);
}

//  An adapter serves with no slots before its platform is there, and with some then.

static int
s_slots (check_t *self)
{
    int64_t deadline = argos_check_now () + CHECK_WAIT_MS;
    while (json_integer_value (json_object_get (self->serve, "slots")) < 1) {
        check_msg_t msg;
        if (argos_check_now () >= deadline)
            return argos_check_fail (self, "it serves with no slots");
        int rc = argos_check_next (self, &msg, argos_check_now () + 20);
        argos_check_msg_clear (&msg);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int
s_hello (check_t *self)
{
    char expected[140];
    if (argos_check_up (self) != 0)
        return -1;
    if (self->instance <= 0)
        return argos_check_fail (self,
            "instance is %lld; it is a number that grows with each start",
            (long long) self->instance);
    //  What it speaks: one version, or from the oldest to the newest
    const json_t *range = json_object_get (self->hello, "protocols");
    json_int_t newest = json_integer_value (json_object_get (self->hello, "protocol"));
    json_int_t oldest = range ? json_integer_value (json_array_get (range, 0)) : newest;
    newest = range ? json_integer_value (json_array_get (range, 1)) : newest;
    if (oldest > 1 || newest < 1)
        return argos_check_fail (self, "it does not speak version 1 of the protocol");
    if (json_array_size (json_object_get (self->hello, "leases")) > 0)
        return argos_check_fail (self, "a program that has just started can't hold leases");
    if (s_slots (self) != 0)
        return -1;
    snprintf (expected, sizeof expected, "deliver.%s.%s", self->platform, self->account);
    const json_t *told = json_object_get (self->serve, "capabilities");
    const char *platform = json_string_value (json_object_get (told, "platform"));
    if (s_is_adapter (self) && platform && strcmp (self->service, expected) == 0 &&
        strcmp (platform, self->platform) != 0)
        return argos_check_fail (
            self, "its capabilities are those of %s, not of %s", platform, self->platform);
    return 0;
}

//  The receipt of an adapter's done

static int
s_has_receipt (check_t *self, const json_t *parts)
{
    size_t i;
    json_t *part;
    char reason[256] = "";
    json_array_foreach (parts, i, part) {
        const char *type = json_string_value (json_object_get (part, "type"));
        if (strcmp (type, "receipt.put") != 0 || !json_is_true (json_object_get (part, "store")))
            continue;
        if (argos_schema_check (type, json_object_get (part, "body"), reason, sizeof reason) ==
            ARGOS_OK)
            return 0;
        return argos_check_fail (self, "receipt.put: %s", reason);
    }
    return argos_check_fail (self, "the done of a delivery carries no receipt.put to the store");
}

//  Waits for a done that the case itself answers; its id in id (ARGOS_ID_MAX + 1).

static int
s_await_done (check_t *self, check_lease_t *lease, char *id, bool receipt)
{
    int64_t deadline = argos_check_now () + CHECK_WAIT_MS;
    for (;;) {
        check_msg_t msg;
        int rc = argos_check_next (self, &msg, deadline);
        bool done = rc > 0 && strcmp (msg.header.type, "done") == 0;
        bool released = rc > 0 && strcmp (msg.header.type, "release") == 0;
        bool other = rc > 0 && !done && !released && strcmp (msg.header.type, "commit") == 0;
        if (done) {
            memcpy (id, msg.header.id, sizeof msg.header.id);
            rc = !msg.header.has_seen ? argos_check_fail (self, "done without seen")
                 : receipt            ? s_has_receipt (self, msg.parts)
                                      : 0;
        }
        else if (other) { //  A step before the last one
            char body[64];
            snprintf (body, sizeof body, "{\"n\":%lld}", (long long) lease->n++);
            argos_check_word (self, "accepted", msg.header.id, body);
            argos_check_settle (self);
        }
        argos_check_msg_clear (&msg);
        if (done || rc < 0)
            return rc;
        if (rc == 0)
            return argos_check_fail (
                self, "the message was not done in %d s", CHECK_WAIT_MS / 1000);
        if (released)
            return argos_check_fail (self, "the message was released instead of done");
    }
}

static int
s_deliver (check_t *self)
{
    char id[ARGOS_ID_MAX + 1];
    if (argos_check_up (self) != 0)
        return -1;
    self->quiet = true;
    check_lease_t *lease = argos_check_lease (self, NULL, NULL);
    if (s_await_done (self, lease, id, s_is_adapter (self)) != 0)
        return -1;
    argos_check_word (self, "accepted", id, "{\"n\":1}");
    lease->seq = 0;
    self->quiet = false;
    return s_goes_on (self);
}

//  The lease ended unseen, and the message comes again under another: that one counts.

static int
s_duplicate (check_t *self)
{
    char id[ARGOS_ID_MAX + 1];
    if (argos_check_up (self) != 0)
        return -1;
    self->quiet = true;
    check_lease_t *lease = argos_check_lease (self, NULL, NULL);
    if (s_await_done (self, lease, id, false) != 0)
        return -1;
    argos_check_word (self, "refused", id, "{\"code\":\"fenced\",\"sent\":false}");
    self->quiet = false;
    argos_check_lease_again (self, lease, NULL, NULL, 2);
    return argos_check_ends (self, lease, false, NULL) == 0 ? s_goes_on (self) : -1;
}

static int
s_crash (check_t *self)
{
    char id[ARGOS_ID_MAX + 1];
    if (argos_check_up (self) != 0)
        return -1;
    self->quiet = true;
    check_lease_t *lease = argos_check_lease (self, NULL, NULL);
    if (s_await_done (self, lease, id, false) != 0)
        return -1;
    int64_t before = self->instance;
    argos_check_kill (self);
    self->quiet = false;
    json_decref (self->serve);
    self->serve = NULL;
    if (argos_check_start (self) != 0 || argos_check_up (self) != 0)
        return -1;
    if (self->instance <= before)
        return argos_check_fail (self, "its instance after a crash is %lld, not above %lld",
            (long long) self->instance, (long long) before);
    argos_check_lease_again (self, lease, NULL, NULL, 2);
    return argos_check_ends (self, lease, false, NULL);
}

static int
s_credit (check_t *self)
{
    char id[ARGOS_ID_MAX + 1];
    check_msg_t msg;
    self->window = 1;
    if (argos_check_up (self) != 0)
        return -1;
    if (json_integer_value (json_object_get (self->serve, "slots")) < 2)
        self->ping_ms = 0; //  One at a time: the second follows the first
    self->quiet = true;
    check_lease_t *first = argos_check_lease (self, NULL, NULL);
    if (s_await_done (self, first, id, false) != 0)
        return -1;
    argos_check_word (self, "accepted", id, "{\"n\":1}");
    first->seq = 0;
    check_lease_t *second = argos_check_lease (self, NULL, NULL);
    int rc = argos_check_next (self, &msg, argos_check_now () + HOLD_MS);
    bool counted = rc > 0 && strcmp (msg.header.type, "release") != 0;
    argos_check_msg_clear (&msg);
    if (rc < 0)
        return rc;
    if (counted)
        return argos_check_fail (self, "it sent more than the window of one message");
    self->quiet = false;
    argos_check_word (self, "credit", NULL, "{\"messages\":100,\"bytes\":4194304}");
    return argos_check_ends (self, second, false, NULL);
}

//  Nothing to do: it stays alive by pings, and is there afterwards.

static int
s_drain (check_t *self)
{
    self->ping_ms = 200;
    if (argos_check_up (self) != 0)
        return -1;
    int64_t end = argos_check_now () + DRAIN_MS;
    self->pings = 0;
    while (self->pings < 4) {
        check_msg_t msg;
        int64_t now = argos_check_now ();
        int rc = argos_check_next (self, &msg, now + 50 < end ? now + 50 : end);
        bool bye = rc > 0 && strcmp (msg.header.type, "bye") == 0;
        argos_check_msg_clear (&msg);
        if (rc < 0)
            return rc;
        if (bye)
            return argos_check_fail (self, "it left because it had nothing to do");
        if (now >= end)
            return argos_check_fail (self,
                "%d pings in %d s without work; one each %lld ms is asked "
                "for",
                self->pings, DRAIN_MS / 1000, (long long) self->ping_ms);
    }
    return s_goes_on (self);
}

//  Reads until it serves again and has repeated its done, which is then accepted.

static int
s_comes_back (check_t *self, int64_t instance)
{
    int64_t deadline = argos_check_now () + CHECK_WAIT_MS;
    int hellos = self->hellos;
    bool again = false;
    while (!again || !self->serve) {
        check_msg_t msg;
        int64_t now = argos_check_now ();
        int rc = argos_check_next (self, &msg, now + 20);
        if (rc > 0 && strcmp (msg.header.type, "done") == 0) {
            again = true;
            argos_check_word (self, "accepted", msg.header.id, "{\"n\":1}");
        }
        argos_check_msg_clear (&msg);
        if (rc < 0)
            return rc;
        if (self->hellos > hellos && self->instance == instance && !again &&
            json_array_size (json_object_get (self->hello, "leases")) != 1)
            return argos_check_fail (self, "its hello after the cut does not list its lease");
        if (now >= deadline)
            return argos_check_fail (self, self->hellos == hellos
                                               ? "no hello came after the connection was cut"
                                           : again ? "it does not serve again after the cut"
                                                   : "what was not answered was not sent again");
    }
    return 0;
}

static int
s_reconnect (check_t *self)
{
    char id[ARGOS_ID_MAX + 1];
    if (argos_check_up (self) != 0)
        return -1;
    self->quiet = true;
    check_lease_t *lease = argos_check_lease (self, NULL, NULL);
    if (s_await_done (self, lease, id, false) != 0)
        return -1;
    int64_t instance = self->instance;
    json_decref (self->serve);
    self->serve = NULL;
    if (argos_check_cut (self) != 0)
        return -1;
    if (s_comes_back (self, instance) != 0)
        return -1;
    if (self->instance != instance)
        return argos_check_fail (self, "a new connection is no new instance");
    lease->seq = 0;
    self->quiet = false;
    return s_goes_on (self);
}

//  The largest text that there is: done, or released with a reject; and what it sends that is too
//  big is refused, which it survives.

static int
s_oversize (check_t *self)
{
    char id[ARGOS_ID_MAX + 1];
    if (argos_check_up (self) != 0)
        return -1;
    json_t *body = json_deep_copy (self->body);
    char *text = malloc (BIG_BYTES + 1);
    if (!text)
        abort ();
    memset (text, 'x', BIG_BYTES);
    text[BIG_BYTES] = '\0';
    json_object_set_new (body, "text", json_string (text));
    free (text);
    char *big = json_dumps (body, JSON_COMPACT);
    json_decref (body);
    check_lease_t *lease = argos_check_lease (self, NULL, big);
    free (big);
    if (argos_check_ends (self, lease, true, NULL) != 0)
        return -1;
    self->quiet = true;
    lease = argos_check_lease (self, NULL, NULL);
    if (s_await_done (self, lease, id, false) != 0)
        return -1;
    argos_check_word (self, "refused", id, "{\"code\":\"too_big\",\"sent\":false,\"part\":0}");
    self->quiet = false;
    lease->seq = 0; //  What it does with that one is its own affair
    check_lease_t *left = &self->held[3];
    *left = (check_lease_t){ .seq = self->seq, .lease = self->lease, .n = 1 };
    return s_goes_on (self);
}

//  The answer to a commit is slow: it is waited for, and nothing is said twice.

static int
s_slow (check_t *self)
{
    char id[ARGOS_ID_MAX + 1];
    check_msg_t msg;
    if (argos_check_up (self) != 0)
        return -1;
    self->quiet = true;
    check_lease_t *lease = argos_check_lease (self, NULL, NULL);
    if (s_await_done (self, lease, id, false) != 0)
        return -1;
    int rc = argos_check_next (self, &msg, argos_check_now () + SLOW_MS);
    argos_check_msg_clear (&msg);
    if (rc < 0)
        return rc;
    if (rc > 0)
        return argos_check_fail (
            self, "it repeated a commit, or gave the message back, on a living connection");
    argos_check_word (self, "accepted", id, "{\"n\":1}");
    lease->seq = 0;
    self->quiet = false;
    return s_goes_on (self);
}

static int
s_bad (check_t *self)
{
    static char deep[DEEP_LEVELS + 1];
    static const struct {
        const char *type, *body, *what; //  type NULL: the usual one
    } bad[] = {
        { "check.unknown", "{}", "a message of an unknown type" },
        { NULL, "{\"text\":", "a body that is no JSON" },
        { NULL, "[]", "a body that is no object" },
        { NULL, deep, "a body that is nested too deep" },
    };
    memset (deep, '[', DEEP_LEVELS);
    if (argos_check_up (self) != 0)
        return -1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool rejected;
        check_lease_t *lease = argos_check_lease (self, bad[i].type, bad[i].body);
        if (argos_check_ends (self, lease, true, &rejected) != 0)
            return -1;
        if (!rejected)
            return argos_check_fail (self, "%s has to be released with a reject", bad[i].what);
    }
    return s_goes_on (self);
}

const check_case_t argos_check_cases[] = {
    { "hello", "says hello, serves, tells its capabilities", false, s_hello },
    { "deliver", "does a message, with a receipt when it is an adapter", false, s_deliver },
    { "duplicate", "does a message again under its second lease", false, s_duplicate },
    { "crash", "is killed, comes back as a newer instance, gets the message again", true, s_crash },
    { "credit", "obeys its send window", false, s_credit },
    { "drain", "without work stays, and pings", false, s_drain },
    { "reconnect", "cut off: hello with its leases, and what was not answered again", false,
        s_reconnect },
    { "oversize", "survives the largest text, and being refused for size", false, s_oversize },
    { "slow", "waits for a slow answer without repeating itself", false, s_slow },
    { "bad", "rejects what it can't read, and goes on", false, s_bad },
};
const size_t argos_check_case_count = sizeof argos_check_cases / sizeof *argos_check_cases;
