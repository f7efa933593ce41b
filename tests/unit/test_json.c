//  test_json - our reading and writing of JSON against jansson's: the same values, the same bytes.

#include "argos_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MUTATIONS 200000 //  Of the good texts
#define LONGEST 400      //  Bytes of one of them

//  Read without jansson

static const char *const s_good[] = { "{}", "[]", " { \"a\" : [ 1 , -2 , 0 ] }\r\n\t",
    "{\"a\":true,\"b\":false,\"c\":null,\"d\":\"\"}",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u001f\"]", "[999999999999999999,-999999999999999999,-0]",
    "{\"\xc3\xa4\":\"\xe2\x82\xac \xf0\x9f\x90\x95\",\"\":{\"x\":[[[{}]]]}}",
    "[\"\x7f\",\"a\\u007fb\"]",
    "[\"all of this is plain, and so on\",\"so is this, up to\\nhere, then more of it\"]",
    "[\"12345678\",\"1234567\",\"123456789\",\"12345678\\\"12345678\",\"1234567\\\\12345678\"]",
    "{\"plain for long, then \xc3\xa4 and on\":\"the last bytes of it: \xf0\x9f\x90\x95\"}",
    "{\"list\":[{\"role\":\"user\",\"text\":\"one\\ntwo\"},{\"role\":\"tool\",\"text\":null}]}" };

//  Left to jansson, which takes some and refuses others

static const char *const s_rest[] = { "", "1", "null", "\"x\"", "[1.5]", "[1e3]", "[-]", "[01]",
    "[1000000000000000000]", "[99999999999999999999]", "[\"\\u00e4\"]", "[\"\\ud83d\\udc15\"]",
    "[\"\\ud83d\"]", "[\"\\u0000\"]", "[\"\\x\"]", "[\"\\u12\"]", "[\"\\", "[\"a",
    "{\"a\":1,\"a\":2}", "{\"\\n\":1}", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{,}", "[}", "{]",
    "[1]x", "[1 2]", "[tru]", "[\"\xff\"]", "[\"\xc0\x80\"]", "[\"\xed\xa0\x80\"]",
    "[\"\xe2\x82\"]", "{\"\xff\":1}", "[\"\n\"]", "[\"\x01\"]", "\xef\xbb\xbf{}" };

#define COUNT(array) (sizeof (array) / sizeof *(array))

static void
s_same_dump (const json_t *value)
{
    char *wanted = json_dumps (value, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t size = 0;
    char *got = argos_json_dumps (value, &size);
    assert_non_null (got);
    assert_string_equal (got, wanted);
    assert_int_equal (size, strlen (wanted));
    free (wanted);
    free (got);
}

//  Whether it was read without jansson

static bool
s_same_load (const char *text, size_t size)
{
    json_t *wanted = json_loadb (text, size, JSON_REJECT_DUPLICATES, NULL);
    json_t *plain = argos_json_load_plain (text, size);
    json_t *got = argos_json_load (text, size, JSON_REJECT_DUPLICATES, NULL);
    bool was_plain = plain != NULL;
    if (plain && !json_equal (plain, wanted))
        fail_msg ("read otherwise: %.*s", (int) size, text);
    assert_int_equal (got != NULL, wanted != NULL);
    if (wanted) {
        assert_true (json_equal (got, wanted));
        s_same_dump (got);
    }
    json_decref (plain);
    json_decref (got);
    json_decref (wanted);
    return was_plain;
}

static void
test_good (void **state)
{
    (void) state;
    for (size_t i = 0; i < COUNT (s_good); i++)
        assert_true (s_same_load (s_good[i], strlen (s_good[i])));
}

static void
test_rest (void **state)
{
    (void) state;
    for (size_t i = 0; i < COUNT (s_rest); i++)
        assert_false (s_same_load (s_rest[i], strlen (s_rest[i])));
}

//  A byte is changed, lost or doubled, or the text is cut, at places that are always the same

static void
test_mutations (void **state)
{
    (void) state;
    static const char bytes[] = "{}[],:\"\\/0123456789-+.eEtfnu \n\x01\x7f\x80\xc3\xff";
    uint32_t random = 1;
    for (int i = 0; i < MUTATIONS; i++) {
        const char *good = s_good[(size_t) i % COUNT (s_good)];
        char text[LONGEST];
        size_t size = strlen (good);
        memcpy (text, good, size + 1);
        for (int change = 0; change <= i % 3; change++) {
            random = random * 1664525U + 1013904223U;
            size_t at = (random >> 8) % (size + 1);
            char byte = bytes[(random >> 24) % sizeof bytes];
            if (at == size || random >> 30 == 0) {
                memmove (text + at + 1, text + at, size - at);
                size++;
            }
            text[at] = byte;
            if (random >> 28 == 15)
                size = at;
        }
        s_same_load (text, size);
    }
}

static void
test_depth (void **state)
{
    (void) state;
    char text[2 * (ARGOS_JSON_LEVELS + 1)];
    size_t levels = ARGOS_JSON_LEVELS;
    memset (text, '[', levels);
    memset (text + levels, ']', levels);
    assert_true (s_same_load (text, 2 * levels));
    levels++;
    memset (text, '[', levels);
    memset (text + levels, ']', levels);
    assert_false (s_same_load (text, 2 * levels));
}

static void
test_dump (void **state)
{
    (void) state;
    char all[128];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char) i;
    json_t *value =
        json_pack ("{s:o, s:f, s:I, s:[f,f], s:{}}", "all", json_stringn (all, sizeof all), "real",
            1.25, "least", (json_int_t) INT64_MIN, "reals", 1.0, -1e300, "none");
    assert_non_null (value);
    s_same_dump (value);
    json_t *array = json_array ();
    for (int i = 0; i < 1000; i++)
        json_array_append (array, value);
    s_same_dump (array);
    json_decref (array);
    json_decref (value);
}

static int
s_full (const char *data, size_t size, void *arg)
{
    (void) data;
    size_t *room = arg;
    if (size > *room)
        return -1;
    *room -= size;
    return 0;
}

//  A reader that has had enough ends it, wherever that is

static void
test_dump_ends (void **state)
{
    (void) state;
    json_t *value = json_pack ("{s:[i,s,b,n,f], s:s}", "a", 1, "x\n", 1, 1.5, "b", "\x01y");
    char *text = json_dumps (value, JSON_COMPACT);
    size_t size = strlen (text);
    for (size_t room = 0; room <= size; room++) {
        size_t left = room;
        assert_int_equal (argos_json_dump (value, s_full, &left), room == size ? 0 : -1);
    }
    assert_null (argos_json_dumps (NULL, NULL));
    free (text);
    json_decref (value);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_good), cmocka_unit_test (test_rest),
        cmocka_unit_test (test_mutations), cmocka_unit_test (test_depth),
        cmocka_unit_test (test_dump), cmocka_unit_test (test_dump_ends) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
