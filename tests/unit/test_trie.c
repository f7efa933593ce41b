//  test_trie - the trie of patterns against a matcher that tries each pattern in turn.

#include "argos_trie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES 10000 //  Names that are looked up
#define ROOM 64     //  Patterns of a set
#define TEXT 64     //  Bytes of a name

static uint64_t s_state; //  Of the generator

static unsigned
s_random (unsigned below)
{
    s_state = s_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned) (s_state >> 33) % below;
}

//  Up to five segments of a small alphabet, so that much fits.

static void
s_name (char target[TEXT], bool pattern)
{
    static const char *const segments[] = { "a", "b", "ab", "c", "*", ">" };
    unsigned count = 1 + s_random (5);
    target[0] = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned which = s_random (pattern ? 6 : 4);
        if (which == 5 && i + 1 < count)
            which = 4;
        size_t size = strlen (target);
        snprintf (target + size, TEXT - size, "%s%s", i ? "." : "", segments[which]);
    }
}

//  Letter by letter, without segments: `*` eats up to the next dot, `>` what is left.

static bool
s_naive (const char *pattern, const char *name) //  NOLINT(misc-no-recursion)
{
    if (*pattern == '>')
        return *name != 0;
    if (*pattern == '*') {
        const char *rest = name;
        while (*rest && *rest != '.')
            rest++;
        return rest != name && s_naive (pattern + 1, rest);
    }
    if (*pattern != *name)
        return false;
    return *pattern == 0 || s_naive (pattern + 1, name + 1);
}

typedef struct {
    char text[TEXT]; //  The pattern
    bool there;      //  It is in the trie
    int found;       //  How often the match named it
} pattern_t;

static void
s_found (void *arg, void *value)
{
    (void) arg;
    ((pattern_t *) value)->found++;
}

//  A pattern of the set that may be there already, or none.

static pattern_t *
s_pattern (pattern_t *set, const char *text)
{
    for (int i = 0; i < ROOM; i++)
        if (set[i].there && strcmp (set[i].text, text) == 0)
            return &set[i];
    return NULL;
}

static void
s_change (argos_trie_t *trie, pattern_t *set)
{
    pattern_t *slot = &set[s_random (ROOM)];
    if (slot->there) {
        assert_ptr_equal (argos_trie_remove (trie, slot->text), slot);
        slot->there = false;
        assert_null (argos_trie_remove (trie, slot->text));
        return;
    }
    char text[TEXT];
    s_name (text, true);
    assert_true (argos_trie_is_valid (text));
    void **value = argos_trie_insert (trie, text);
    pattern_t *same = s_pattern (set, text);
    assert_ptr_equal (*value, same);
    if (same)
        return;
    memcpy (slot->text, text, sizeof text);
    slot->there = true;
    *value = slot;
}

static void
finds_what_a_naive_matcher_finds (void **state)
{
    (void) state;
    static pattern_t set[ROOM];
    argos_trie_t *trie = argos_trie_new ();
    long found = 0;
    s_state = 20261128;
    for (int i = 0; i < CASES; i++) {
        char name[TEXT];
        s_change (trie, set);
        s_name (name, false);
        size_t there = 0;
        for (int k = 0; k < ROOM; k++)
            set[k].found = 0;
        argos_trie_match (trie, name, s_found, NULL);
        for (int k = 0; k < ROOM; k++) {
            bool fits = set[k].there && s_naive (set[k].text, name);
            there += set[k].there;
            found += fits;
            if (set[k].found != fits ||
                (set[k].there && argos_trie_fits (set[k].text, name) != fits))
                fail_msg ("case %d: %s and %s: found %d times", i, set[k].text, name, set[k].found);
        }
        assert_int_equal (argos_trie_count (trie), there);
    }
    assert_true (found > CASES); //  The cases say something
    for (int k = 0; k < ROOM; k++)
        if (set[k].there)
            argos_trie_remove (trie, set[k].text);
    assert_int_equal (argos_trie_count (trie), 0);
    argos_trie_destroy (&trie);
}

static void
tells_patterns_from_names (void **state)
{
    (void) state;
    assert_true (argos_trie_is_pattern ("*"));
    assert_true (argos_trie_is_pattern ("run.*"));
    assert_true (argos_trie_is_pattern ("out.>"));
    assert_true (argos_trie_is_pattern ("a.*.b"));
    assert_false (argos_trie_is_pattern ("run.x"));
    assert_false (argos_trie_is_pattern ("run.x*"));
    assert_false (argos_trie_is_pattern ("a>b"));
    assert_true (argos_trie_is_valid ("out.>"));
    assert_true (argos_trie_is_valid ("*.*.x"));
    assert_false (argos_trie_is_valid ("out.>.x"));
    assert_false (argos_trie_is_valid ("out..x"));
    assert_false (argos_trie_is_valid ("out."));
    assert_false (argos_trie_is_valid (".out"));
    assert_false (argos_trie_is_valid (""));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (finds_what_a_naive_matcher_finds),
        cmocka_unit_test (tells_patterns_from_names),
    };
    return cmocka_run_group_tests_name ("trie", tests, NULL, NULL);
}
