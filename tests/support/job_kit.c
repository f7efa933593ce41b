//  job_kit - see the header. What is unexpected fails the test that asks.

#include "job_kit.h"

#include <stdlib.h>
#include <string.h>

argos_jobs_t kit_table;

int
kit_setup (void **state)
{
    (void) state;
    kit_table = (argos_jobs_t){ .limits = { .tracked = 64,
                                    .per_session = 32,
                                    .per_owner = 48,
                                    .rounds = 12,
                                    .keep_ms = 1800000 } };
    return 0;
}

int
kit_teardown (void **state)
{
    (void) state;
    argos_jobs_clear (&kit_table);
    return 0;
}

argos_job_t *
kit_add (const char *id, const char *session, const char *owner)
{
    argos_job_t *job = argos_job_new (id, session, owner, NULL, "make all");
    job->started = true;
    job->started_at = 1000;
    argos_jobs_add (&kit_table, job);
    return job;
}

void
kit_end (argos_job_t *job, const char *record, int64_t now)
{
    argos_job_end_t end;
    argos_job_end_read (record, &end);
    argos_job_finish (job, &end, now);
}

void
kit_assert_has (char *text, const char *part)
{
    if (!strstr (text, part))
        fail_msg ("no \"%s\" in \"%s\"", part, text);
    free (text);
}

const char *
kit_output (const json_t *result)
{
    return json_string_value (json_object_get (result, "output"));
}

void
kit_assert_output (json_t *result, const char *part)
{
    assert_non_null (kit_output (result));
    if (!strstr (kit_output (result), part))
        fail_msg ("no \"%s\" in \"%s\"", part, kit_output (result));
    assert_true (json_is_null (json_object_get (result, "error")));
    assert_int_equal (json_integer_value (json_object_get (result, "exit_code")), 0);
    json_decref (result);
}

char *
kit_last_words (void *arg, const argos_job_t *job)
{
    (void) arg;
    (void) job;
    return strdup ("the last words");
}

void
kit_assert_member (json_t *object, const char *name, const char *value)
{
    char *text = json_dumps (json_object_get (object, name), JSON_ENCODE_ANY);
    assert_non_null (text);
    assert_string_equal (text, value);
    free (text);
}
