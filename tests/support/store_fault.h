//  store_fault - what the tests of the store's faults share: a store over fault_vfs, its rows by
//  SQL.
//
//  A function fails the test at hand when something is not as it says.

#ifndef STORE_FAULT_H
#define STORE_FAULT_H

#include "store_kit.h"

#define FAULT_HOLDER "agent/1" //  Who has the leases of fault_say

//  A store in a file of its own, without a fault set. The caller's: kit_destroy.
kit_t *fault_kit (void);

//  All that the store does when nothing waits.
void fault_chores (kit_t *kit);

//  SQL behind the store's back.
void fault_exec (kit_t *kit, const char *sql);

//  The database is whole.
void fault_sound (kit_t *kit);

//  So many messages of one text into a session, under a lease of its own.
void fault_say (kit_t *kit, const char *session, const char *role, const char *text, int count);

#endif
