//  core_kit - see core_kit.h.

#include "core_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include <cmocka.h>

argos_sim_net_t *core_kit_net;
argos_sim_msg_t *core_kit_last;

int
core_kit_setup (void **state)
{
    (void) state;
    core_kit_net = argos_sim_net_new ("memory");
    return 0;
}

int
core_kit_teardown (void **state)
{
    (void) state;
    argos_sim_msg_destroy (&core_kit_last);
    argos_sim_net_destroy (&core_kit_net);
    return 0;
}

void
core_send (uint64_t conn, const char *header, const char *body)
{
    argos_sim_net_send (
        core_kit_net, conn, conn < 100 ? ARGOS_ROLE_LOCAL : ARGOS_ROLE_CORE, header, body);
    argos_sim_net_settle (core_kit_net);
}

void
core_sendf (uint64_t conn, const char *body, const char *format, ...)
{
    char header[CORE_TEXT];
    va_list args;
    va_start (args, format);
    vsnprintf (header, sizeof header, format, args);
    va_end (args);
    core_send (conn, header, body);
}

//  The next message that is no grant of credit, NULL = none

static const argos_sim_msg_t *
s_next (uint64_t conn)
{
    argos_sim_msg_destroy (&core_kit_last);
    while ((core_kit_last = argos_sim_net_recv (core_kit_net, conn)) &&
           strcmp (argos_sim_text (core_kit_last->header, "type"), "credit") == 0)
        argos_sim_msg_destroy (&core_kit_last);
    return core_kit_last;
}

static const char *
s_text (const argos_sim_msg_t *msg)
{
    static char text[8192];
    snprintf (text, sizeof text, "nothing");
    if (!msg)
        return text;
    size_t size = json_dumpb (msg->header, text, sizeof text - 1, 0);
    size = size < sizeof text - 2 ? size : sizeof text - 2;
    text[size++] = ' ';
    size_t more = json_dumpb (msg->body, text + size, sizeof text - 1 - size, 0);
    text[more < sizeof text - 1 - size ? size + more : size] = 0;
    return text;
}

const argos_sim_msg_t *
core_expect (uint64_t conn, const char *type)
{
    const argos_sim_msg_t *msg = s_next (conn);
    if (!msg || strcmp (argos_sim_text (msg->header, "type"), type) != 0)
        fail_msg ("connection %d: wanted %s, got %s", (int) conn, type, s_text (msg));
    return msg;
}

const argos_sim_msg_t *
core_expect_re (uint64_t conn, const char *type, const char *re)
{
    const argos_sim_msg_t *msg = core_expect (conn, type);
    assert_string_equal (argos_sim_text (msg->header, "re"), re);
    return msg;
}

void
core_expect_refused (uint64_t conn, const char *re, const char *code)
{
    const argos_sim_msg_t *msg = core_expect_re (conn, "refused", re);
    if (strcmp (argos_sim_text (msg->body, "code"), code) != 0)
        fail_msg ("wanted refused %s, got %s", code, s_text (msg));
}

void
core_expect_nothing (uint64_t conn)
{
    const argos_sim_msg_t *msg = s_next (conn);
    if (msg)
        fail_msg ("connection %d: wanted nothing, got %s", (int) conn, s_text (msg));
}

void
core_hello (uint64_t conn, const char *name)
{
    char body[256];
    snprintf (body, sizeof body, "{\"name\":\"%s\",\"instance\":1,\"protocol\":1}", name);
    core_send (conn, "{\"type\":\"hello\",\"id\":\"h\"}", body);
    core_expect_re (conn, "welcome", "h");
}

void
core_grant (uint64_t conn, int messages)
{
    char body[128];
    snprintf (body, sizeof body, "{\"messages\":%d,\"bytes\":1073741824}", messages);
    core_send (conn, "{\"type\":\"credit\"}", body);
}

void
core_serve (uint64_t conn, const char *service, int slots, int weight)
{
    char body[256];
    snprintf (body, sizeof body, "{\"service\":\"%s\",\"slots\":%d,\"weight\":%d}", service, slots,
        weight);
    core_send (conn, "{\"type\":\"serve\",\"id\":\"s\"}", body);
    //  Work may come before the answer when the service was known
    argos_sim_msg_t *msg;
    DL_FOREACH (core_kit_net->sent, msg)
        if (msg->conn == conn && strcmp (argos_sim_text (msg->header, "re"), "s") == 0)
            break;
    assert_non_null (msg);
    assert_string_equal (argos_sim_text (msg->header, "type"), "accepted");
    DL_DELETE (core_kit_net->sent, msg);
    argos_sim_msg_destroy (&msg);
}

int64_t
core_put (uint64_t conn, const char *id, const char *service, const char *key, const char *more)
{
    core_sendf (conn, "{\"text\":\"x\"}",
        "{\"type\":\"job\",\"id\":\"%s\",\"to\":\"service:%s\",\"key\":\"%s\",\"durable\":true%s}",
        id, service, key, more);
    return argos_sim_int (core_expect_re (conn, "accepted", id)->body, "seq");
}

core_lease_t
core_leased (uint64_t conn, const char *id)
{
    const argos_sim_msg_t *msg = core_expect (conn, "job");
    if (id)
        assert_string_equal (argos_sim_text (msg->header, "id"), id);
    return (core_lease_t){ argos_sim_int (msg->meta, "seq"), argos_sim_int (msg->meta, "lease"),
        argos_sim_int (msg->meta, "attempt") };
}

void
core_done (uint64_t conn, core_lease_t lease)
{
    core_sendf (conn, "", "{\"type\":\"done\",\"id\":\"d\",\"seq\":%lld,\"lease\":%lld,\"n\":1}",
        (long long) lease.seq, (long long) lease.lease);
}
