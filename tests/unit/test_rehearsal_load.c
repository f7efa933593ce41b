//  test_rehearsal_load - which tools are left out of a request, as a table.

#include "argos_rehearsal_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *body, *rest; //  The request, and what is read of it; NULL = it is none
} s_rows[] = {
    { "{\"a\":1,\"tools\":[{\"b\":[\"]}\\\"\"]}]}", "{\"a\":1}" },
    { "{\"a\":1,\"tools\":[]}", "{\"a\":1}" },
    //  In the middle, alone, deeper, or not as an array: as it is
    { "{\"a\":1,\"tools\":[1],\"b\":2}", "{\"a\":1,\"tools\":[1],\"b\":2}" },
    { "{\"tools\":[1]}", "{\"tools\":[1]}" },
    { "{\"m\":[{\"a\":1,\"tools\":[1]}]}", "{\"m\":[{\"a\":1,\"tools\":[1]}]}" },
    { "{\"a\":1,\"tools\":{}}", "{\"a\":1,\"tools\":{}}" },
    { "{\"a\":\",\\\"tools\\\":[1]\"}", "{\"a\":\",\\\"tools\\\":[1]\"}" },
    //  No JSON
    { "", NULL },
    { "{\"a\":1,\"tools\":[", NULL },
    { "{\"a\":1,\"tools\":[\"", NULL },
    { "{\"a\":1,\"tools\":[]", NULL },
    { "{\"a\":,\"tools\":[1]}", NULL },
};

static void
each_request_is_read_without_its_last_tools (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        json_t *value = argos_rehearsal_load (s_rows[i].body, strlen (s_rows[i].body));
        json_t *rest = s_rows[i].rest ? json_loads (s_rows[i].rest, 0, NULL) : NULL;
        if (value ? !json_equal (value, rest) : rest != NULL)
            fail_msg ("row %zu", i);
        json_decref (value);
        json_decref (rest);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (
        each_request_is_read_without_its_last_tools) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
