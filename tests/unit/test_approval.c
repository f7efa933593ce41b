//  The judge of tool calls. The lists are in tests/unit/approval/cases.txt, by the numbers of the
//  acceptance text: 154 and 155 (floor), 157 and 171 (sudo), 158 to 172 (patterns), and evasions.
//  Here: 156, 157 (with a password), 162 (keys), 175 (unattended, mode), 173 (what can't be read),
//  paths and patches.

#include "argos_approval.h"
#include "argos_cmdline.h"
#include "argos_plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOME "/home/user"
#define STATE "/home/user/.argos"

static argos_approval_policy_t *s_policy;

static argos_approval_call_t
s_call (const json_t *arguments)
{
    return (argos_approval_call_t){
        .tool = "terminal", .arguments = arguments, .home = HOME, .state = STATE
    };
}

//  What is judged of a command under the other settings of call.

static argos_approval_t
s_judge (argos_approval_call_t call, const char *command)
{
    argos_approval_t ret;
    json_t *arguments = json_object ();
    json_object_set_new_nocheck (arguments, "command", json_string_nocheck (command));
    call.arguments = arguments;
    argos_approval_judge (s_policy, &call, &ret);
    json_decref (arguments);
    return ret;
}

//  The escapes of a line of the file, in place. A NUL can't be in a C string: it is another
//  control.

static void
s_unescape (char *text)
{
    static const char names[] = "ne0", signs[] = "\n\x1b\x01";
    char *out = text;
    for (char *in = text; *in; in++) {
        const char *name = in[0] == '\\' && in[1] ? strchr (names, in[1]) : NULL;
        if (in[0] == '\\' && in[1] == 'x' && (in[2] == '9' || in[2] == '0')) {
            char digits[] = { in[2], in[3], 0 };
            *out++ = (char) strtol (digits, NULL, 16);
            in += 3;
        }
        else if (name) {
            *out++ = signs[name - names];
            in++;
        }
        else
            *out++ = *in;
    }
    *out = '\0';
}

static void
every_case_of_the_list_is_judged_as_it_says (void **state)
{
    (void) state;
    char path[1024], line[4096], verdict[16], key[64];
    snprintf (path, sizeof path, "%s/tests/unit/approval/cases.txt", getenv ("ARGOS_SOURCE"));
    FILE *file = fopen (path, "r");
    assert_non_null (file);
    int count = 0, wrong = 0;
    while (fgets (line, sizeof line, file)) {
        int at = 0;
        line[strcspn (line, "\n")] = '\0';
        if (*line == '#' || sscanf (line, "%15s %63s %n", verdict, key, &at) != 2)
            continue;
        s_unescape (line + at);
        argos_approval_t got = s_judge (s_call (NULL), line + at);
        const char *name = got.verdict == ARGOS_APPROVAL_ALLOW ? "allow"
                           : got.verdict == ARGOS_APPROVAL_ASK ? "ask"
                                                               : "floor";
        count++;
        if (strcmp (name, verdict) == 0 && strcmp (*got.key ? got.key : "-", key) == 0)
            continue;
        wrong++;
        print_error ("%s: %s %s, not %s %s\n", line + at, name, got.key, verdict, key);
    }
    fclose (file);
    assert_true (count > 350);
    assert_int_equal (wrong, 0);
}

//  156

static void
nothing_but_a_sandbox_bypasses_the_floor (void **state)
{
    (void) state;
    argos_approval_call_t call = s_call (NULL);
    json_t *grants = json_pack ("[s,s]", "delete_system", "delete_recursive");
    const argos_approval_call_t calls[] = {
        { .tool = "terminal", .home = HOME, .yolo = true },
        { .tool = "terminal", .home = HOME, .mode = ARGOS_APPROVAL_OFF },
        { .tool = "terminal", .home = HOME, .unattended = true, .unattended_allows = true },
        { .tool = "terminal", .home = HOME, .grants = grants },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        argos_approval_t got = s_judge (calls[i], "rm -rf /");
        assert_int_equal (got.verdict, ARGOS_APPROVAL_DENY);
        assert_true (got.floor);
        assert_int_equal (s_judge (calls[i], "rm -rf build").verdict, ARGOS_APPROVAL_ALLOW);
    }
    call.contained = true;
    assert_int_equal (s_judge (call, "rm -rf /").verdict, ARGOS_APPROVAL_ALLOW);
    assert_true (argos_approval_count (s_policy, true) < 20);
    assert_true (argos_approval_count (s_policy, false) > 30);
    json_decref (grants);
}

//  157

static void
sudo_may_read_a_password_that_is_ours (void **state)
{
    (void) state;
    argos_approval_call_t call = s_call (NULL);
    assert_true (s_judge (call, "sudo -S ls").floor);
    call.yolo = true;
    assert_true (s_judge (call, "sudo -S ls").floor);
    call.sudo_password = true;
    assert_int_equal (s_judge (call, "sudo -S ls").verdict, ARGOS_APPROVAL_ALLOW);
}

//  162: keys are their own, the older shared one grants both

static void
a_grant_covers_its_pattern_and_no_other (void **state)
{
    (void) state;
    argos_approval_call_t call = s_call (NULL);
    const char *deletes = "find . -delete", *runs = "find . -exec rm {} +";
    const char *both = "find . -delete; rm -r x";
    json_t *one = json_pack ("[s]", "find_delete"), *old = json_pack ("[s]", "find");
    call.grants = one;
    assert_int_equal (s_judge (call, deletes).verdict, ARGOS_APPROVAL_ALLOW);
    assert_int_equal (s_judge (call, runs).verdict, ARGOS_APPROVAL_ASK);
    //  Of two patterns the one that is not granted is asked for
    assert_string_equal (s_judge (call, both).key, "delete_recursive");
    call.grants = old;
    assert_int_equal (s_judge (call, deletes).verdict, ARGOS_APPROVAL_ALLOW);
    assert_int_equal (s_judge (call, runs).verdict, ARGOS_APPROVAL_ALLOW);
    json_decref (one);
    json_decref (old);
}

//  175

static void
where_nobody_can_be_asked_it_is_denied (void **state)
{
    (void) state;
    argos_approval_call_t call = s_call (NULL);
    call.unattended = true;
    argos_approval_t got = s_judge (call, "rm -r x");
    assert_int_equal (got.verdict, ARGOS_APPROVAL_DENY);
    assert_false (got.floor);
    call.unattended_allows = true;
    assert_int_equal (s_judge (call, "rm -r x").verdict, ARGOS_APPROVAL_ALLOW);
    assert_int_equal (argos_approval_mode ("off"), ARGOS_APPROVAL_OFF);
    assert_int_equal (argos_approval_mode ("false"), ARGOS_APPROVAL_OFF);
    assert_int_equal (argos_approval_mode ("smart"), ARGOS_APPROVAL_SMART);
    assert_int_equal (argos_approval_mode ("none of these"), ARGOS_APPROVAL_MANUAL);
    assert_int_equal (argos_approval_mode (NULL), ARGOS_APPROVAL_MANUAL);
}

static void
what_a_model_says_is_read_or_escalated (void **state)
{
    (void) state;
    assert_int_equal (argos_approval_smart ("APPROVE"), ARGOS_APPROVAL_ALLOW);
    assert_int_equal (argos_approval_smart (" **approve**: harmless"), ARGOS_APPROVAL_ALLOW);
    assert_int_equal (argos_approval_smart ("DENY."), ARGOS_APPROVAL_DENY);
    assert_int_equal (argos_approval_smart ("ESCALATE"), ARGOS_APPROVAL_ASK);
    assert_int_equal (argos_approval_smart ("APPROVED"), ARGOS_APPROVAL_ASK);
    assert_int_equal (argos_approval_smart ("I would approve"), ARGOS_APPROVAL_ASK);
    assert_int_equal (argos_approval_smart (""), ARGOS_APPROVAL_ASK);
    assert_int_equal (argos_approval_smart (NULL), ARGOS_APPROVAL_ASK);
}

//  What is too long, or nested too deep, is asked for, never let through

static void
what_can_not_be_read_whole_is_asked_for (void **state)
{
    (void) state;
    static char text[200000];
    char *at = text;
    for (int i = 0; i < 300; i++)
        at = stpcpy (at, "ls;");
    stpcpy (at, "reboot");
    assert_string_equal (s_judge (s_call (NULL), text).key, "unreadable");
    at = text;
    for (int i = 0; i < 20; i++)
        at = stpcpy (at, "$(");
    assert_string_equal (s_judge (s_call (NULL), text).key, "unreadable");
    at = stpcpy (text, "echo");
    for (int i = 0; i < 600; i++)
        at = stpcpy (at, " x");
    assert_string_equal (s_judge (s_call (NULL), text).key, "unreadable");
    //  A long text for one program is no problem
    at = stpcpy (text, "echo '");
    memset (at, 'x', 100000);
    stpcpy (at + 100000, "'; rm -rf /");
    assert_string_equal (s_judge (s_call (NULL), text).key, "delete_system");
}

//  Values and pipes multiply a text: what they bring counts as if it had been written.

static void
a_text_that_multiplies_ends_soon (void **state)
{
    (void) state;
    static char text[600000];
    char *at = stpcpy (text, "a=");
    memset (at, 'x', 4000);
    at = stpcpy (at + 4000, "; echo \"");
    for (int i = 0; i < 200000; i++)
        at = stpcpy (at, "$a");
    stpcpy (at, "\"");
    assert_string_equal (s_judge (s_call (NULL), text).key, "unreadable");
    at = stpcpy (text, "echo ");
    memset (at, 'x', 300000);
    at += 300000;
    for (int i = 0; i < 40000; i++)
        at = stpcpy (at, " | cat");
    assert_string_equal (s_judge (s_call (NULL), text).key, "unreadable");
    //  Strings for a terminal that never end
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy (text + i, "\x1b]", 3);
    char *plain = argos_plain_text (text, strlen (text));
    assert_string_equal (plain, "");
    free (plain);
    assert_int_equal (s_judge (s_call (NULL), "echo $'\\UFFFFFFFF'").verdict, ARGOS_APPROVAL_ALLOW);
}

//  E7, #104059

static void
some_paths_are_written_by_no_tool (void **state)
{
    (void) state;
    static const char *const denied[] = { "/etc/passwd", "/etc/shadow", "/etc/sudoers",
        "/etc/sudoers.d/x", "/etc/systemd/system/x.service", "~/.ssh/config",
        HOME "/.ssh/authorized_keys", "~/.aws/credentials", "~/.gnupg/x", "~/.kube/config",
        "~/.netrc", "~/.bashrc", "~/.zshrc", "~/.profile", "~/.npmrc", "~/.pypirc", "/boot/vmlinuz",
        "/private/etc/hosts", "/private/var/x", STATE "/argos.yaml", STATE "/local.yaml",
        STATE "/.env", STATE "/api-key", STATE "/keys/x", STATE "/hooks/x", STATE "/argos.db",
        "/tmp/../etc/passwd", "//etc//passwd", "/dev/sda", "/proc/sys/x", "/usr/bin/ls" };
    static const char *const allowed[] = { "/tmp/x", HOME "/project/main.c", "~/notes.txt",
        STATE "/files/s/x", "/home/user/etc/passwd", "/var/tmp/x", "/opt/x" };
    argos_approval_t ret;
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        if (!argos_approval_path (s_policy, denied[i], HOME, STATE, &ret))
            fail_msg ("%s is not denied", denied[i]);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (argos_approval_path (s_policy, allowed[i], HOME, STATE, &ret))
            fail_msg ("%s is denied: %s", allowed[i], ret.text);
}

//  A path may have 4,095 bytes, most of which mean nothing, and bytes that are no UTF-8.

static void
a_long_path_is_judged_as_well (void **state)
{
    (void) state;
    char text[4096];
    argos_approval_t ret;
    memset (text, '/', 3000);
    stpcpy (text + 3000, "etc/passwd");
    assert_true (argos_approval_path (s_policy, text, HOME, STATE, &ret));
    char *at = stpcpy (text, "rm -rf ");
    memset (at, '/', 3000);
    stpcpy (at + 3000, "etc");
    assert_string_equal (s_judge (s_call (NULL), text).key, "delete_system");
    at = stpcpy (text, "/etc/"); //  The cut for the rules is in the middle of a character
    for (int i = 0; i < 900; i++)
        at = stpcpy (at, "é");
    assert_true (argos_approval_path (s_policy, text, HOME, STATE, &ret));
    assert_true (argos_approval_path (s_policy, "/tmp/\xff/authorized_keys", HOME, STATE, &ret));
    assert_true (argos_approval_secret (s_policy, "/tmp/\xff/id_rsa", HOME, STATE, &ret));
}

static void
a_patch_is_judged_by_each_of_its_paths (void **state)
{
    (void) state;
    argos_approval_t ret;
    json_t *good = json_pack ("{s:s, s:s}", "mode", "patch", "patch",
        "*** Begin Patch\n*** Update File: a.c\n@@\n-x\n+*** /etc/passwd\n*** End Patch\n");
    json_t *bad = json_pack ("{s:s, s:s}", "mode", "patch", "patch",
        "*** Begin Patch\n*** Update File: a.c\n@@\n-x\n+y\n*** Move to: /etc/passwd\n");
    argos_approval_call_t call = s_call (good);
    call.tool = "patch";
    argos_approval_judge (s_policy, &call, &ret);
    assert_int_equal (ret.verdict, ARGOS_APPROVAL_ALLOW);
    call.arguments = bad;
    argos_approval_judge (s_policy, &call, &ret);
    assert_true (ret.floor);
    call.arguments = NULL;
    argos_approval_judge (s_policy, &call, &ret);
    assert_int_equal (ret.verdict, ARGOS_APPROVAL_ALLOW);
    call.tool = "some_other";
    call.arguments = bad;
    argos_approval_judge (s_policy, &call, &ret);
    assert_int_equal (ret.verdict, ARGOS_APPROVAL_ALLOW);
    json_decref (good);
    json_decref (bad);
}

static void
the_place_of_work_counts (void **state)
{
    (void) state;
    argos_approval_call_t call = s_call (NULL);
    call.workdir = "/";
    assert_true (s_judge (call, "rm -rf *").floor);
    assert_true (s_judge (call, "rm -rf etc").floor);
    call.workdir = "/tmp/x";
    assert_int_equal (s_judge (call, "rm -rf *").verdict, ARGOS_APPROVAL_ASK);
    assert_true (s_judge (call, "rm -rf ../../etc").floor);
}

static void
rules_that_can_not_be_used_are_told (void **state)
{
    (void) state;
    static const char *const wrong[] = {
        "{", "[]", "{\"macros\":{},\"floor\":[{\"key\":\"a\",\"text\":\"b\",\"match\":[\"(\"]}]}",
        "{\"macros\":{},\"floor\":[{\"key\":\"a\",\"text\":\"b\"}]}",
        "{\"macros\":{},\"patterns\":[{\"text\":\"b\",\"match\":[\"x\"]}]}",
        "{\"macros\":{\"a\":\"<a><a>\"},\"floor\":[{\"key\":\"a\",\"text\":\"b\",\"match\":[1]}]}"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char problem[200] = "";
        assert_null (argos_approval_policy_new (wrong[i], NULL, problem, sizeof problem));
        assert_true (*problem);
    }
}

static int
s_begin (void **state)
{
    (void) state;
    char problem[200];
    s_policy = argos_approval_policy_new (NULL, "4242|4243", problem, sizeof problem);
    return s_policy ? 0 : -1;
}

static int
s_end (void **state)
{
    (void) state;
    argos_approval_policy_destroy (&s_policy);
    argos_approval_policy_destroy (&s_policy);
    return 0;
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_case_of_the_list_is_judged_as_it_says),
        cmocka_unit_test (nothing_but_a_sandbox_bypasses_the_floor),
        cmocka_unit_test (sudo_may_read_a_password_that_is_ours),
        cmocka_unit_test (a_grant_covers_its_pattern_and_no_other),
        cmocka_unit_test (where_nobody_can_be_asked_it_is_denied),
        cmocka_unit_test (what_a_model_says_is_read_or_escalated),
        cmocka_unit_test (what_can_not_be_read_whole_is_asked_for),
        cmocka_unit_test (a_text_that_multiplies_ends_soon),
        cmocka_unit_test (some_paths_are_written_by_no_tool),
        cmocka_unit_test (a_long_path_is_judged_as_well),
        cmocka_unit_test (a_patch_is_judged_by_each_of_its_paths),
        cmocka_unit_test (the_place_of_work_counts),
        cmocka_unit_test (rules_that_can_not_be_used_are_told),
    };
    return cmocka_run_group_tests (tests, s_begin, s_end);
}
