//  Pages of the web: what they say, and which addresses may be asked for one (E12).

#include "argos_address.h"
#include "argos_asks.h"
#include "argos_html.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool
s_is_public (const char *text)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    if (inet_pton (AF_INET, text, &in.sin_addr) == 1)
        return argos_address_is_public ((struct sockaddr *) &in);
    assert_int_equal (inet_pton (AF_INET6, text, &in6.sin6_addr), 1);
    return argos_address_is_public ((struct sockaddr *) &in6);
}

static void
only_public_addresses_are_everybodys (void **state)
{
    (void) state;
    static const char *const closed[] = { "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1",
        "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1",
        "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
        "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "2001::1",
        "2002:7f00:1::", "2002:c0a8:101::" };
    static const char *const open[] = { "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1",
        "172.15.0.1", "172.32.0.1", "192.167.255.255", "192.169.0.1", "223.255.255.255",
        "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "2002:0808:0808::" };
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (s_is_public (closed[i]))
            fail_msg ("%s is taken for public", closed[i]);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (!s_is_public (open[i]))
            fail_msg ("%s is not taken for public", open[i]);
    assert_false (argos_address_is_public (&(struct sockaddr){ .sa_family = AF_UNIX }));
}

static void
a_page_becomes_what_it_says (void **state)
{
    (void) state;
    static const struct {
        const char *html, *wanted; //  Page; markdown
    } cases[] = {
        { "", "" },
        { "plain", "plain" },
        { "<h1>Title</h1><p>One  two\nthree</p><p>four", "# Title\n\nOne two three\n\nfour" },
        { "<ul><li>a</li><li>b</li></ul>", "- a\n- b" },
        { "see <a href=\"https://x.org/?a=1\">this <b>page</b></a>.",
            "see [this **page**](https://x.org/?a=1)." },
        { "<a href=javascript:x>no</a>", "no" },
        { "a&amp;b &lt;c&gt; &#65;&#x42; &nbsp;x &unknown; &", "a&b <c> AB  x &unknown; &" },
        { "<script>var x = '</p>';</script><style>p{}</style>text", "text" },
        { "<!-- <p>no</p> -->yes", "yes" },
        { "<pre>a\n  b</pre>c", "```\na\n  b\n```\n\nc" },
        { "<table><tr><td>1</td><td>2</td></tr></table>", "| 1 | 2" },
        { "a < b and c > d", "a < b and c > d" },
        { "<p", "" },
        { "x<br>y<br/>z", "x\ny\nz" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = argos_html_text (cases[i].html, strlen (cases[i].html));
        const char *from = text + strspn (text, " ");
        if (strcmp (from, cases[i].wanted) != 0)
            fail_msg ("%s: %s", cases[i].html, text);
        free (text);
    }
    char *title = argos_html_title ("<html><head><title>A &amp; B</title></head>", 43);
    assert_string_equal (title, "A & B");
    free (title);
    title = argos_html_title ("no title", 8);
    assert_string_equal (title, "");
    free (title);
}

//  E.12 8

static void
todos_are_replaced_or_laid_over_by_their_ids (void **state)
{
    (void) state;
    char reason[200];
    json_t *old = json_loads ("[{\"id\":\"1\",\"content\":\"a\",\"status\":\"pending\"},"
                              "{\"id\":\"2\",\"content\":\"b\",\"status\":\"pending\"}]",
        0, NULL);
    json_t *given = json_loads ("[{\"id\":\"2\",\"content\":\"b\",\"status\":\"completed\"},"
                                "{\"id\":\"3\",\"content\":\"c\",\"status\":\"in_progress\"},"
                                "{\"id\":\"3\",\"content\":\"d\",\"status\":\"pending\"}]",
        0, NULL);
    json_t *merged = argos_asks_todo (old, given, true, reason, sizeof reason);
    json_t *replaced = argos_asks_todo (old, given, false, reason, sizeof reason);
    assert_int_equal (json_array_size (merged), 3);
    assert_int_equal (json_array_size (replaced), 2);
    const json_t *last = json_array_get (merged, 2); //  Of one id the last one counts
    assert_string_equal (json_string_value (json_object_get (last, "content")), "d");
    assert_int_equal (json_array_size (old), 2);
    json_t *wrong = json_loads ("[{\"id\":\"1\",\"content\":\"a\",\"status\":\"done\"}]", 0, NULL);
    assert_null (argos_asks_todo (old, wrong, true, reason, sizeof reason));
    assert_non_null (strstr (reason, "status"));
    json_decref (old);
    json_decref (given);
    json_decref (merged);
    json_decref (replaced);
    json_decref (wrong);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (only_public_addresses_are_everybodys),
        cmocka_unit_test (a_page_becomes_what_it_says),
        cmocka_unit_test (todos_are_replaced_or_laid_over_by_their_ids),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
