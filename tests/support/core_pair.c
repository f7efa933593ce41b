//  core_pair - see core_pair.h.

#include "core_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include <cmocka.h>

static argos_sim_role_t
s_role (uint64_t conn)
{
    return conn < 100 ? ARGOS_ROLE_LOCAL : ARGOS_ROLE_CORE;
}

json_t *
pair_hello (uint64_t conn, const char *name, int64_t instance, const char *leases)
{
    char body[CORE_TEXT];
    snprintf (body, sizeof body,
        "{\"name\":\"%s\",\"instance\":%lld,\"protocol\":1,\"leases\":[%s]}", name,
        (long long) instance, leases);
    core_send (conn, "{\"type\":\"hello\",\"id\":\"h\"}", body);
    const argos_sim_msg_t *msg = core_expect (conn, "welcome");
    assert_string_equal (argos_sim_text (msg->header, "re"), "h");
    return json_object_get (msg->body, "leases");
}

void
pair_serve (uint64_t conn, const char *service, int slots)
{
    char body[CORE_TEXT];
    snprintf (body, sizeof body, "{\"service\":\"%s\",\"slots\":%d}", service, slots);
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

void
pair_begin (int slots)
{
    pair_hello (1, "worker", 10, "");
    pair_serve (1, "work", slots);
    pair_hello (2, "sender", 10, "");
}

int64_t
pair_accepted (uint64_t conn, const char *re)
{
    const argos_sim_msg_t *msg = core_expect (conn, "accepted");
    assert_string_equal (argos_sim_text (msg->header, "re"), re);
    return argos_sim_int (msg->body, "seq");
}

int64_t
pair_put (const char *id, const char *key, const char *more)
{
    core_sendf (2, "{\"text\":\"x\"}",
        "{\"type\":\"job\",\"id\":\"%s\",\"to\":\"service:work\",\"key\":\"%s\",\"durable\":true%"
        "s}",
        id, key, more);
    return pair_accepted (2, id);
}

pair_lease_t
pair_leased (uint64_t conn, const char *id)
{
    const argos_sim_msg_t *msg = core_expect (conn, "job");
    assert_string_equal (argos_sim_text (msg->header, "id"), id);
    pair_lease_t lease = { argos_sim_int (msg->meta, "seq"), argos_sim_int (msg->meta, "lease"),
        argos_sim_int (msg->meta, "attempt") };
    return lease;
}

void
pair_commit_with (uint64_t conn, const char *word, pair_lease_t lease, int n, const char *more,
    const argos_sim_part_t *parts, size_t count)
{
    char header[CORE_TEXT];
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"c%d\",\"seq\":%lld,\"lease\":%lld,\"n\":%d%s}", word, n,
        (long long) lease.seq, (long long) lease.lease, n, more);
    argos_sim_net_commit (core_kit_net, conn, s_role (conn), header, parts, count);
    argos_sim_net_settle (core_kit_net);
}

void
pair_commit (uint64_t conn, const char *word, pair_lease_t lease, int n)
{
    pair_commit_with (conn, word, lease, n, "", NULL, 0);
}

void
pair_release (uint64_t conn, pair_lease_t lease, const char *body)
{
    core_sendf (conn, body, "{\"type\":\"release\",\"id\":\"r\",\"seq\":%lld,\"lease\":%lld}",
        (long long) lease.seq, (long long) lease.lease);
}
