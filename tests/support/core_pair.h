//  core_pair - a worker and a sender at the broker core, for unit tests: on top of core_kit.
//
//  The worker of service `work` is connection 1, the sender is connection 2.

#ifndef ARGOS_TEST_CORE_PAIR_H
#define ARGOS_TEST_CORE_PAIR_H

#include "core_kit.h"

#define PAIR_TEST(name) cmocka_unit_test_setup_teardown (name, core_kit_setup, core_kit_teardown)

//  A lease that a worker got

typedef struct {
    int64_t seq, lease, attempt; //  As in meta
} pair_lease_t;

//  A session of that instance, which names leases (the inside of a JSON list). What the welcome
//  says of them, borrowed until the next message.
json_t *pair_hello (uint64_t conn, const char *name, int64_t instance, const char *leases);

//  Serve a service: accepted; work that came before the answer stays to be expected.
void pair_serve (uint64_t conn, const char *service, int slots);

//  Both of them.
void pair_begin (int slots);

//  The next message must be the answer to that id. Its seq.
int64_t pair_accepted (uint64_t conn, const char *re);

//  A durable message of type job from the sender, accepted; more is further members of the header.
//  Its seq.
int64_t pair_put (const char *id, const char *key, const char *more);

//  The next message must be that job, leased.
pair_lease_t pair_leased (uint64_t conn, const char *id);

//  Commit n or done (the word) under a lease, with id c<n>; the answer is to be expected. more is
//  further members of the header.
void pair_commit_with (uint64_t conn, const char *word, pair_lease_t lease, int n, const char *more,
    const argos_sim_part_t *parts, size_t count);
void pair_commit (uint64_t conn, const char *word, pair_lease_t lease, int n);

//  Give a lease back, with id r; body says how.
void pair_release (uint64_t conn, pair_lease_t lease, const char *body);

#endif
