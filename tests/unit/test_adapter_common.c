//  test_adapter_common - rate, back-off, the guard of addresses, the lock of a credential.

#include "argos_backoff.h"
#include "argos_http_client.h"
#include "argos_rate.h"
#include "argos_token_lock.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void
test_rate_holds_one_bucket (void **state)
{
    (void) state;
    argos_rate_t *rate = argos_rate_new ();
    argos_rate_hold (rate, "a", 5000);
    assert_int_equal (argos_rate_due (rate, "a", 1000), 5000);
    assert_int_equal (argos_rate_due (rate, "b", 1000), 1000);
    argos_rate_hold (rate, "a", 3000);
    assert_int_equal (argos_rate_due (rate, "a", 1000), 5000); //  The later one stays
    assert_int_equal (argos_rate_due (rate, "a", 5000), 5000);
    argos_rate_take (rate, "b", 1500, 1000);
    assert_int_equal (argos_rate_due (rate, "b", 1001), 2500);
    argos_rate_destroy (&rate);
    argos_rate_destroy (&rate);
}

static void
test_rate_forgets_what_holds_nothing (void **state)
{
    (void) state;
    argos_rate_t *rate = argos_rate_new ();
    char name[16];
    for (int i = 0; i < 4096; i++) {
        snprintf (name, sizeof name, "%d", i);
        argos_rate_hold (rate, name, 100);
    }
    argos_rate_hold (rate, "kept", 9000); //  Full: it is not remembered
    assert_int_equal (argos_rate_due (rate, "kept", 50), 50);
    argos_rate_take (rate, "kept", 10, 200);
    argos_rate_hold (rate, "kept", 9000);
    assert_int_equal (argos_rate_due (rate, "kept", 200), 9000);
    argos_rate_destroy (&rate);
}

static void
test_backoff_grows_and_is_forgotten (void **state)
{
    (void) state;
    argos_backoff_t backoff = { 0 };
    int64_t whole = 1000, now = 1000000;
    for (int i = 0; i < 40; i++) {
        int64_t wait_ms = argos_backoff_failed (&backoff, now, (uint32_t) i * 7919);
        assert_in_range (wait_ms, whole / 2, whole);
        argos_backoff_good (&backoff, now += wait_ms); //  Only just: no success
        whole = whole * 2 > 60000 ? 60000 : whole * 2;
    }
    argos_backoff_good (&backoff, now + 60000);
    assert_in_range (argos_backoff_failed (&backoff, now + 60001, 0), 500, 1000);
}

static bool
s_public (int family, const char *text)
{
    unsigned char address[16];
    assert_int_equal (inet_pton (family, text, address), 1);
    return argos_http_address_public (address, family == AF_INET ? 4 : 16);
}

static void
test_only_public_addresses (void **state)
{
    (void) state;
    static const char *const v4[] = { "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.9.9",
        "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
        "192.0.2.1", "198.18.0.1", "203.0.113.5" };
    static const char *const v6[] = { "::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1" };
    for (size_t i = 0; i < sizeof v4 / sizeof *v4; i++)
        assert_false (s_public (AF_INET, v4[i]));
    for (size_t i = 0; i < sizeof v6 / sizeof *v6; i++)
        assert_false (s_public (AF_INET6, v6[i]));
    assert_true (s_public (AF_INET, "149.154.167.220"));
    assert_true (s_public (AF_INET, "172.32.0.1"));
    assert_true (s_public (AF_INET6, "2001:67c:4e8:f004::9"));
    assert_true (s_public (AF_INET6, "::ffff:149.154.167.220"));
}

static void
test_a_token_has_one_owner (void **state)
{
    (void) state;
    char token[64], reason[256] = "", pid[32];
    snprintf (token, sizeof token, "%ld:secret", (long) getpid ());
    snprintf (pid, sizeof pid, "process %ld", (long) getpid ());
    int fd = argos_token_lock ("test", token, reason, sizeof reason);
    assert_true (fd >= 0);
    assert_int_equal (argos_token_lock ("test", token, reason, sizeof reason), -1);
    assert_non_null (strstr (reason, pid));
    assert_null (strstr (reason, "secret"));
    int other = argos_token_lock ("other", token, reason, sizeof reason);
    assert_true (other >= 0);
    close (other);
    close (fd);
    fd = argos_token_lock ("test", token, reason, sizeof reason);
    assert_true (fd >= 0);
    close (fd);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_rate_holds_one_bucket),
        cmocka_unit_test (test_rate_forgets_what_holds_nothing),
        cmocka_unit_test (test_backoff_grows_and_is_forgotten),
        cmocka_unit_test (test_only_public_addresses),
        cmocka_unit_test (test_a_token_has_one_owner) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
