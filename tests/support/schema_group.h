//  schema_group - the main of a test program whose tests need the schemas and czmq without its
//  signal handlers.

#ifndef SCHEMA_GROUP_H
#define SCHEMA_GROUP_H

#include "argos_schema.h"

#include <czmq.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

//  Runs the tests of an array between setup and teardown (NULL = none); what main returns.
#define SCHEMA_GROUP(name, tests, setup, teardown)                                                 \
    schema_group_run (name, tests, sizeof (tests) / sizeof *(tests), setup, teardown)

static inline int
schema_group_run (const char *name, const struct CMUnitTest *tests, size_t count,
    CMFixtureFunction setup, CMFixtureFunction teardown)
{
    char reason[256];
    zsys_handler_set (NULL);
    if (argos_schema_init (reason) != 0) {
        fprintf (stderr, "%s\n", reason);
        return 1;
    }
    int rc = _cmocka_run_group_tests (name, tests, count, setup, teardown);
    argos_schema_term ();
    return rc;
}

#endif
