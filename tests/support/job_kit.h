//  job_kit - what the tests of jobs share: a table, jobs in it and their ends, and looks at
//  answers.

#ifndef JOB_KIT_H
#define JOB_KIT_H

#include "argos_jobs_tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RUN_1 "run_11111111111111111111111111111111"

//  The table of the test that runs

extern argos_jobs_t kit_table;

//  Before and after each test: an empty table with the limits of the defaults.
int kit_setup (void **state);
int kit_teardown (void **state);

#define KIT_TEST(name) cmocka_unit_test_setup_teardown (name, kit_setup, kit_teardown)

//  A job that runs, in the table, which owns it.
argos_job_t *kit_add (const char *id, const char *session, const char *owner);

//  Its end, as argos-job would have written it down.
void kit_end (argos_job_t *job, const char *record, int64_t now);

//  Fails unless the text has that part; frees it.
void kit_assert_has (char *text, const char *part);

//  What a tool says, borrowed.
const char *kit_output (const json_t *result);

//  Fails unless a tool has said that part and no error; lets the result go.
void kit_assert_output (json_t *result, const char *part);

//  Fails unless the member is there with that value, as JSON.
void kit_assert_member (json_t *object, const char *name, const char *value);

//  For a list of jobs: the same last words of each.
char *kit_last_words (void *arg, const argos_job_t *job);

#endif
