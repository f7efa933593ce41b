//  Quick commands of the shell: what runs, what doesn't, and what is said of it.

#include "argos_approval.h"
#include "argos_gateway.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define CONFIG                                                                                     \
    "{'gateway':{'allow_all_users':true},'quick_commands':{'disk':{'type':'exec','command':'df "   \
    "-h'},'wipe':{'type':'exec','command':'rm -rf /'},'push':{'type':'exec','command':'git push "  \
    "--force'},'none':{'type':'exec'},'d':{'type':'alias','target':'/disk'}},'approvals':{'mode'"  \
    ":'manual'},'platforms':{'gated':{'allow_admin_from':['bob'],'user_allowed_commands':['d']}}}"
#define ROUTE "{'route':null,'session':null}"

static const struct {
    const char *platform, *text; //  What is said, where
    int64_t attempt;             //  Of the lease
    const char *hook, *result;   //  What hooks say; what the tool answers, NULL = nothing
    const char *line, *words;    //  What is run, "" = nothing; what is said
} s_rows[] = {
    { "test", "/disk", 1, NULL, "{'output':'42 %','exit_code':0}", "df -h", "42 %" },
    { "test", "/DISK", 1, NULL, "{'output':'','exit_code':0}", "df -h", "✅ Done." },
    { "test", "/disk", 1, NULL, "{'output':'no','exit_code':3}", "df -h", "ended with 3\nno" },
    { "test", "/disk", 1, NULL, "{'output':'','error':'timed out'}", "df -h", "failed: timed out" },
    { "test", "/disk", 1, NULL, NULL, "df -h", "Nobody knows whether /disk has run" },
    { "test", "/disk", 2, NULL, NULL, "", "Nobody knows whether /disk has run" },
    { "test", "/disk now", 1, NULL, NULL, "", "/disk takes no words" },
    { "test", "/wipe", 1, NULL, NULL, "", "/wipe does not run" },
    { "test", "/push", 1, NULL, NULL, "", "/push does not run" },
    { "test", "/none", 1, NULL, NULL, "", "/none does not run: it has no command" },
    { "test", "/disk", 1, "{'decision':'deny','message':'not today'}", NULL, "", "not today" },
    { "test", "/d", 1, NULL, "{'output':'42 %','exit_code':0}", "df -h", "42 %" },
    { "test", "/d now", 1, NULL, NULL, "", "/d takes no words" },
    { "test", "/d", 1, "{'decision':'deny','message':'not today'}", NULL, "", "not today" },
    { "gated", "/disk", 1, NULL, NULL, "", "⛔ /disk" },
    { "gated", "/d", 1, NULL, NULL, "", "⛔ /d" },
};

static void
a_command_of_the_shell_runs_once_if_it_needs_no_approval (void **state)
{
    (void) state;
    char problem[256];
    argos_approval_policy_t *rules =
        argos_approval_policy_new (NULL, NULL, problem, sizeof problem);
    assert_non_null (rules);
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        gate_t self;
        char line[64] = "";
        const char *facts[ARGOS_FACTS] = { [ARGOS_FACT_ROUTE] = ROUTE,
            [ARGOS_FACT_HOOK] = s_rows[i].hook,
            [ARGOS_FACT_EXEC] = s_rows[i].result };
        gate_say (&self, CONFIG, s_rows[i].platform, s_rows[i].text);
        self.policy.approval = rules;
        self.gateway.attempt = s_rows[i].attempt;
        for (;;) {
            json_t *question;
            argos_fact_t fact =
                argos_fact_next (&self.gateway, argos_gateway_needs (&self.gateway), 0, &question);
            if (fact == ARGOS_FACTS)
                break;
            if (fact == ARGOS_FACT_EXEC)
                snprintf (line, sizeof line, "%s",
                    json_string_value (
                        json_object_get (json_object_get (question, "arguments"), "command")));
            json_decref (question);
            gate_fact (&self, fact, facts[fact]);
        }
        json_t *parts = argos_gateway_decide (&self.gateway);
        if (strcmp (line, s_rows[i].line) != 0 || !strstr (gate_told (parts), s_rows[i].words))
            fail_msg ("row %zu ran \"%s\": %s", i, line, gate_told (parts));
        assert_int_equal (json_array_size (parts), 1);
        gate_end (&self, parts);
    }
    argos_approval_policy_destroy (&rules);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_command_of_the_shell_runs_once_if_it_needs_no_approval),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
