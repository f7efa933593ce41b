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
        bool spaced;        //  Of a file, not of a folder
        size_t max;         //  Bytes at most
        const char *wanted; //  Made of it
        bool same;          //  It is the same
    } rows[] = {
        { "report.pdf", true, 100, "report.pdf", true },
        { "my report.pdf", true, 100, "my report.pdf", true },
        { "my report.pdf", false, 100, "my_report.pdf", false },
        { "gr\xc3\xbc\xc3\x9f", true, 100, "gr\xc3\xbc\xc3\x9f", true },
        { "gr\xc3\xbc\xc3\x9f", true, 5, "gr\xc3\xbc", false },
        { "gr\xc3\xbc\xc3\x9f", false, 100, "gr____", false },
        { "..", true, 100, "_.", false },
        { ".", false, 100, "_", false },
        { ".bashrc", true, 100, "_bashrc", false },
        { "../../etc/passwd", true, 100, "_._.._etc_passwd", false },
        { "a/b\\c\nd\x7f", true, 100, "a_b_c_d_", false },
        { "", true, 100, "_", false },
        { "20260101_120000_ab12cd34", false, 64, "20260101_120000_ab12cd34", true },
        { "abcdef", false, 3, "abc", false },
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
