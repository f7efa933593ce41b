//  test_roles - every message type by every role, against the real core: who may send what, alone
//  and as a part of a commit.
//
//  Invariant: tests/contract/roles.json names for each type of schema/ that a peer can send the
//  roles that may; the core refuses it to all others with `denied`, whether sent alone or in a
//  commit, and with a `re` that belongs to nobody. A type or a role without a line fails: a new one
//  has to be thought about. $ARGOS_ROLES_PRINT=1 prints what the core does now, for a review.

#include "argos_access.h"
#include "argos_sim_net.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const s_roles[] = { "core", "adapter", "worker", "tool", "client", "observer",
    "operator" };

#define ROLES (sizeof s_roles / sizeof s_roles[0])
#define Z85 "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static argos_sim_net_t *s_net;

//  One key of each role; a peer each, connection 1 and so on. They are for platform p, account a.

static void
s_hello_all (void)
{
    json_t *keys = json_array ();
    for (size_t i = 0; i < ROLES; i++)
        json_array_append_new (
            keys, json_pack ("{s:s+,s:s,s:s,s:s,s:s}", "name", "k-", s_roles[i], "role", s_roles[i],
                      "public", Z85, "platform", "p", "account", "a"));
    char *text = json_dumps (keys, 0);
    argos_core_keys (s_net->core, text, strlen (text));
    free (text);
    json_decref (keys);
}

static void
s_frames (size_t role, const char *const *texts, size_t count)
{
    argos_frame_t *frames[8];
    char name[64];
    snprintf (name, sizeof name, "k-%s", s_roles[role]);
    argos_who_t who = { ARGOS_VIA_TCP, name };
    for (size_t i = 0; i < count; i++)
        frames[i] = argos_frame_new (texts[i], strlen (texts[i]));
    argos_core_clock (s_net->core, s_net->mono, s_net->wall);
    argos_core_message (s_net->core, role + 1, &who, frames, count);
    for (size_t i = 0; i < count; i++)
        argos_frame_unref (&frames[i]);
    argos_sim_net_settle (s_net);
}

//  The code that answers `id`: "" when it was not refused.

static void
s_code (size_t role, const char *id, char code[static 40])
{
    argos_sim_msg_t *msg;
    *code = 0;
    while ((msg = argos_sim_net_recv (s_net, role + 1))) {
        if (strcmp (argos_sim_text (msg->header, "re"), id) == 0 &&
            strcmp (argos_sim_text (msg->header, "type"), "refused") == 0)
            snprintf (code, 40, "%s", argos_sim_text (msg->body, "code"));
        argos_sim_msg_destroy (&msg);
    }
}

static int
s_set_up (void **state)
{
    (void) state;
    s_net = argos_sim_net_new ("memory");
    s_hello_all ();
    for (size_t role = 0; role < ROLES; role++) {
        char body[200], code[40];
        snprintf (body, sizeof body, "{\"name\":\"%s%s\",\"instance\":1,\"protocol\":1}",
            role ? "k-" : "any@k-", s_roles[role]);
        const char *const hello[] = { "AR1", "{\"type\":\"hello\",\"id\":\"h\"}", "", body };
        s_frames (role, hello, 4);
        s_code (role, "h", code);
        assert_string_equal (code, "");
    }
    return 0;
}

static int
s_tear_down (void **state)
{
    (void) state;
    argos_sim_net_destroy (&s_net);
    return 0;
}

//  ------------------------------------------------------------------------------------------------

//  The address of a type, from its x-to; NULL when it is no peer's to send to one.

static const char *
s_address (const json_t *schema)
{
    static char address[128];
    const char *to = json_string_value (json_object_get (schema, "x-to"));
    if (!to || (strncmp (to, "actor:", 6) != 0 && strncmp (to, "service:", 8) != 0 &&
                   strncmp (to, "topic:", 6) != 0 && strcmp (to, "store") != 0))
        return NULL;
    size_t size = 0;
    //  <platform> becomes p, <account> a: those of the keys
    for (; *to && size < sizeof address - 1; to++) {
        if (*to == '<') {
            address[size++] = to[1];
            to = strchr (to, '>');
            assert_non_null (to);
        }
        else
            address[size++] = *to;
    }
    address[size] = 0;
    return address;
}

//  How the core takes it: "denied", or something else.

static bool
s_is_denied (size_t role, const char *type, const char *address, bool durable, bool part)
{
    char header[300], code[40];
    static int number;
    char id[32];
    snprintf (id, sizeof id, "x%d", ++number);
    if (part) {
        char word[64];
        snprintf (word, sizeof word, "{\"type\":\"commit\",\"id\":\"%s\"}", id);
        snprintf (header, sizeof header, "{\"type\":\"%s\",\"to\":\"%s\",\"durable\":true}", type,
            address);
        const char *const frames[] = { "AR1", word, "", "", header, "{}" };
        s_frames (role, frames, 6);
    }
    else {
        snprintf (header, sizeof header, "{\"type\":\"%s\",\"id\":\"%s\",\"to\":\"%s\"%s}", type,
            id, address, durable ? ",\"durable\":true" : "");
        const char *const frames[] = { "AR1", header, "", "{}" };
        s_frames (role, frames, 4);
    }
    s_code (role, id, code);
    return strcmp (code, "denied") == 0;
}

static bool
s_is_listed (const json_t *roles, const char *role)
{
    const json_t *name;
    size_t index;
    json_array_foreach (roles, index, name)
        if (strcmp (json_string_value (name), role) == 0)
            return true;
    return false;
}

//  One type by all roles. Returns the number of cells that are not as expected.

static int
s_walk_type (const char *type, const json_t *schema, const json_t *expected, bool print)
{
    const char *address = s_address (schema);
    int wrong = 0;
    bool write = strcmp (argos_sim_text (schema, "x-store"), "write") == 0;
    bool durable = json_is_true (json_object_get (schema, "x-durable")) || write;
    if (!address)
        return 0;
    if (!expected && !print)
        fail_msg ("%s has no line in tests/contract/roles.json", type);
    if (print)
        printf ("  \"%s\": [", type);
    for (size_t role = 0; role < ROLES; role++) {
        bool denied = s_is_denied (role, type, address, durable, false);
        bool may = s_is_listed (expected, s_roles[role]);
        if (print && !denied)
            printf ("\"%s\" ", s_roles[role]);
        if (!print && may == denied) {
            print_message ("%s to %s by %s: %s\n", type, address, s_roles[role],
                denied ? "denied, and should not be" : "not denied, and should be");
            wrong++;
        }
        //  In a commit nothing is allowed that is not allowed alone
        if (denied && strncmp (address, "actor:", 6) != 0 &&
            !s_is_denied (role, type, address, true, true)) {
            print_message ("%s by %s: denied alone, not in a commit\n", type, s_roles[role]);
            wrong++;
        }
    }
    if (print)
        printf ("],\n");
    return wrong;
}

static void
test_every_type_by_every_role (void **state)
{
    (void) state;
    const char *source = getenv ("ARGOS_SOURCE");
    char path[4096];
    json_error_t error;
    struct dirent **names;
    int wrong = 0, types = 0;
    bool print = getenv ("ARGOS_ROLES_PRINT") != NULL;
    assert_non_null (source);
    snprintf (path, sizeof path, "%s/tests/contract/roles.json", source);
    json_t *expected = json_load_file (path, JSON_REJECT_DUPLICATES, &error);
    if (!expected && !print)
        fail_msg ("%s:%d: %s", path, error.line, error.text);
    snprintf (path, sizeof path, "%s/schema", source);
    int count = scandir (path, &names, NULL, alphasort);
    assert_true (count > 0);
    for (int i = 0; i < count; i++) {
        size_t length = strlen (names[i]->d_name), suffix = strlen (".schema.json");
        if (length > suffix && strcmp (names[i]->d_name + length - suffix, ".schema.json") == 0) {
            char type[256];
            snprintf (path, sizeof path, "%s/schema/%s", source, names[i]->d_name);
            snprintf (type, sizeof type, "%.*s", (int) (length - suffix), names[i]->d_name);
            json_t *schema = json_load_file (path, 0, &error);
            assert_non_null (schema);
            if (json_object_get (schema, "x-from")) {
                wrong += s_walk_type (type, schema, json_object_get (expected, type), print);
                types++;
            }
            json_decref (schema);
        }
        free (names[i]);
    }
    free (names);
    assert_true (types > 50);
    json_decref (expected);
    assert_int_equal (wrong, 0);
}

static void
test_the_roles_are_all_here (void **state)
{
    (void) state;
    char reason[ARGOS_REASON_MAX];
    argos_access_t *access = argos_access_new (NULL, NULL, reason);
    assert_non_null (access);
    assert_int_equal (argos_access_count (access), ROLES + 1); //  And the union for ipc
    for (size_t i = 0; i < ROLES; i++)
        assert_non_null (argos_access_role (access, s_roles[i]));
    argos_access_destroy (&access);
}

static void
test_words_and_names_that_are_forged (void **state)
{
    (void) state;
    size_t client = 4;
    char code[40];
    //  A meta of its own
    const char *const meta[] = { "AR1", "{\"type\":\"a.b\",\"id\":\"m\",\"to\":\"actor:x\"}",
        "{\"from\":\"gateway\"}", "{}" };
    s_frames (client, meta, 4);
    s_code (client, "m", code);
    assert_string_equal (code, "invalid");
    //  A word of the broker
    const char *const word[] = { "AR1", "{\"type\":\"welcome\",\"id\":\"w\"}", "", "{}" };
    s_frames (client, word, 4);
    s_code (client, "w", code);
    assert_string_equal (code, "invalid");
    //  `from` in the header
    const char *const from[] = { "AR1",
        "{\"type\":\"a.b\",\"id\":\"f\",\"to\":\"actor:x\",\"from\":\"gateway\"}", "", "{}" };
    s_frames (client, from, 4);
    s_code (client, "f", code);
    assert_string_equal (code, "invalid");
    //  A reply to a request that it does not hold goes nowhere
    const char *const reply[] = { "AR1",
        "{\"type\":\"store.result\",\"id\":\"r\",\"re\":\"1\",\"to\":\"actor:gateway\"}", "",
        "{}" };
    s_frames (client, reply, 4);
    s_code (client, "r", code);
    assert_string_equal (code, "expired");
}

//  The adapter's key is for platform p and account a.

static void
test_a_message_of_another_platform (void **state)
{
    (void) state;
    static const char *const sources[][3] = { { "p", "a", "no_service" }, { "q", "a", "denied" },
        { "p", "b", "denied" } };
    size_t adapter = 1;
    for (size_t i = 0; i < 3; i++) {
        char header[200], body[300], id[8], code[40];
        snprintf (id, sizeof id, "i%zu", i);
        snprintf (header, sizeof header,
            "{\"type\":\"message.inbound\",\"id\":\"%s\",\"to\":\"service:gateway\",\"durable\":"
            "true}",
            id);
        snprintf (body, sizeof body,
            "{\"source\":{\"platform\":\"%s\",\"account\":\"%s\",\"chat_type\":\"dm\"},\"text\":"
            "\"x\"}",
            sources[i][0], sources[i][1]);
        const char *const frames[] = { "AR1", header, "", body };
        s_frames (adapter, frames, 4);
        s_code (adapter, id, code);
        assert_string_equal (code, sources[i][2]);
    }
}

//  Another name by the same connection, in a hello: each is refused, and the session stays.

static void
test_a_hello_under_a_name_that_is_not_ours (void **state)
{
    (void) state;
    static const char *const names[] = { "gateway", "k-worker", "k-clients", "x@k-core", "nobody" };
    size_t client = 4;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char body[200], code[40];
        snprintf (body, sizeof body, "{\"name\":\"%s\",\"instance\":2,\"protocol\":1}", names[i]);
        const char *const hello[] = { "AR1", "{\"type\":\"hello\",\"id\":\"h\"}", "", body };
        s_frames (client, hello, 4);
        s_code (client, "h", code);
        assert_string_equal (code, "denied");
    }
    const char *const status[] = { "AR1",
        "{\"type\":\"broker.status\",\"id\":\"s\",\"to\":\"actor:broker\"}", "", "{}" };
    char code[40];
    s_frames (client, status, 4);
    s_code (client, "s", code);
    assert_string_equal (code, "");
}

static void
test_a_key_that_is_gone_ends_its_session (void **state)
{
    (void) state;
    size_t tool = 3;
    argos_sim_msg_t *msg;
    bool refused = false;
    argos_core_keys (s_net->core, "[]", 2);
    while ((msg = argos_sim_net_recv (s_net, tool + 1))) {
        refused = refused || strcmp (argos_sim_text (msg->body, "code"), "denied") == 0;
        argos_sim_msg_destroy (&msg);
    }
    assert_true (refused);
    char code[40];
    const char *const ping[] = { "AR1", "{\"type\":\"ping\",\"id\":\"p\"}", "", "" };
    s_frames (tool, ping, 4);
    s_code (tool, "p", code);
    assert_string_equal (code, "no_session");
    const char *const hello[] = { "AR1", "{\"type\":\"hello\",\"id\":\"h\"}", "",
        "{\"name\":\"k-tool\",\"instance\":3,\"protocol\":1}" };
    s_frames (tool, hello, 4);
    s_code (tool, "h", code);
    assert_string_equal (code, "denied");
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_the_roles_are_all_here),
        cmocka_unit_test (test_every_type_by_every_role),
        cmocka_unit_test (test_words_and_names_that_are_forged),
        cmocka_unit_test (test_a_message_of_another_platform),
        cmocka_unit_test (test_a_hello_under_a_name_that_is_not_ours),
        cmocka_unit_test (test_a_key_that_is_gone_ends_its_session),
    };
    return cmocka_run_group_tests (tests, s_set_up, s_tear_down);
}
