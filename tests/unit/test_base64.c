//  test_base64 - both ways, and what is refused; libsodium says what is right.

#include "argos_base64.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
what_is_encoded_comes_back (void **state)
{
    (void) state;
    unsigned char bytes[300], back[300];
    char text[ARGOS_BASE64_SIZE (300)], wanted[ARGOS_BASE64_SIZE (300)];
    for (size_t size = 0; size <= sizeof bytes; size++) {
        randombytes_buf (bytes, sizeof bytes);
        argos_base64_encode (bytes, size, text);
        sodium_bin2base64 (wanted, sizeof wanted, bytes, size, sodium_base64_VARIANT_ORIGINAL);
        assert_string_equal (text, wanted);
        assert_int_equal (argos_base64_decode (text, strlen (text), back, size), size);
        assert_memory_equal (bytes, back, size);
        if (size)
            assert_int_equal (argos_base64_decode (text, strlen (text), back, size - 1), -1);
    }
}

static void
what_is_none_is_refused (void **state)
{
    (void) state;
    static const char *const rows[] = { "A", "AA", "AAA", "AAAAA", "=", "====", "A===", "AA=A",
        "AAA=AAAA", "A AA", "AA\n=", "AB==", "AAB=", "A-_A", "\xc3\xa4\xc3\xa4", "AA==AAAA" };
    unsigned char bytes[16];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal (argos_base64_decode (rows[i], strlen (rows[i]), bytes, sizeof bytes), -1);
    assert_int_equal (argos_base64_decode ("AAA\0", 4, bytes, sizeof bytes), -1);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (what_is_encoded_comes_back),
        cmocka_unit_test (what_is_none_is_refused),
    };
    return sodium_init () < 0 ? 1 : cmocka_run_group_tests (tests, NULL, NULL);
}
