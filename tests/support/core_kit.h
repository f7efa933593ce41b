//  core_kit - the broker core over the real store for unit tests: send a message, expect the next.
//
//  One net at a time, in core_kit_net. Connections below 100 are peers of this host, from 100 on
//  actors of the core. What comes is checked in order; grants of credit in between are let go. A
//  message that core_expect returns lives until the next one.

#ifndef ARGOS_TEST_CORE_KIT_H
#define ARGOS_TEST_CORE_KIT_H

#include "argos_sim_net.h"

#define CORE_TEXT 4600 //  Bytes of a header that is built here

extern argos_sim_net_t *core_kit_net;  //  Core, store, clocks
extern argos_sim_msg_t *core_kit_last; //  What came last; freed when the next one comes

//  For cmocka_unit_test_setup_teardown.
int core_kit_setup (void **state);
int core_kit_teardown (void **state);

//  A message from a connection, and everything that it leads to. body NULL = empty.
void core_send (uint64_t conn, const char *header, const char *body);
void core_sendf (uint64_t conn, const char *body, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

//  A session; credit for so many messages.
void core_hello (uint64_t conn, const char *name);
void core_grant (uint64_t conn, int messages);

//  The next message of the connection, which must be of that type (and code, and answer that id).
const argos_sim_msg_t *core_expect (uint64_t conn, const char *type);
const argos_sim_msg_t *core_expect_re (uint64_t conn, const char *type, const char *re);
void core_expect_refused (uint64_t conn, const char *re, const char *code);
void core_expect_nothing (uint64_t conn);

//  Serve a service: accepted; work that came before the answer stays to be expected.
void core_serve (uint64_t conn, const char *service, int slots, int weight);

//  A durable message of type job, accepted; more is further members of the header. Returns its seq.
int64_t core_put (
    uint64_t conn, const char *id, const char *service, const char *key, const char *more);

//  A lease that a worker got

typedef struct {
    int64_t seq, lease, attempt; //  As in meta
} core_lease_t;

//  The next message must be that job (id NULL = any), leased. And the done of one, as its first
//  commit; its answer is to be expected.
core_lease_t core_leased (uint64_t conn, const char *id);
void core_done (uint64_t conn, core_lease_t lease);

#endif
