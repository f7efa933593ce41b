//  test_fetch - names of files and folders out of texts that strangers have chosen.

#include "argos_fetch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
a_name_leads_nowhere (void **state)
{
    (void) state;
    static const struct {
        const char *text;   //  Given
        size_t max;         //  Bytes at most
        const char *wanted; //  Made of it
        bool spaced;        //  Of a file, not of a folder
        bool same;          //  It is the same
    } rows[] = {
        { "report.pdf", 100, "report.pdf", true, true },
        { "my report.pdf", 100, "my report.pdf", true, true },
        { "my report.pdf", 100, "my_report.pdf", false, false },
        { "gr\xc3\xbc\xc3\x9f", 100, "gr\xc3\xbc\xc3\x9f", true, true },
        { "gr\xc3\xbc\xc3\x9f", 5, "gr\xc3\xbc", true, false },
        { "gr\xc3\xbc\xc3\x9f", 100, "gr____", false, false },
        { "..", 100, "_.", true, false },
        { ".", 100, "_", false, false },
        { ".bashrc", 100, "_bashrc", true, false },
        { "../../etc/passwd", 100, "_._.._etc_passwd", true, false },
        { "a/b\\c\nd\x7f", 100, "a_b_c_d_", true, false },
        { "", 100, "_", true, false },
        { "20260101_120000_ab12cd34", 64, "20260101_120000_ab12cd34", false, true },
        { "abcdef", 3, "abc", false, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[101];
        bool same = argos_fetch_clean (rows[i].text, rows[i].spaced, rows[i].max, name);
        assert_string_equal (name, rows[i].wanted);
        assert_int_equal (same, rows[i].same);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (a_name_leads_nowhere) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
