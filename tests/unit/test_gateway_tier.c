//  Tiers of commands: who may use what, row by row.

#include "argos_tier.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define PLATFORM(block) "{'platforms':{'slack':{" block "}}}"
#define DM(user) "{'platform':'slack','chat_type':'dm','chat_id':'c','user_id':'" user "'}"
#define GROUP(user) "{'platform':'slack','chat_type':'group','chat_id':'c','user_id':'" user "'}"
#define BOTH                                                                                       \
    PLATFORM ("'allow_admin_from':['boss',7],'user_allowed_commands':['status','queue'],"          \
              "'group_allow_admin_from':['chief'],'group_user_allowed_commands':['stop']")

static const struct {
    const char *config, *source, *command; //  JSON, JSON, name
    argos_tier_t tier;                     //  Expected
    bool may;                              //  Expected
} s_rows[] = {
    //  No list of admins for this kind of chat: no gate
    { "{}", DM ("u"), "yolo", ARGOS_TIER_OPEN, true },
    { PLATFORM ("'allow_admin_from':[]"), DM ("u"), "yolo", ARGOS_TIER_OPEN, true },
    { PLATFORM ("'user_allowed_commands':['help']"), DM ("u"), "yolo", ARGOS_TIER_OPEN, true },
    { PLATFORM ("'allow_admin_from':['boss']"), GROUP ("u"), "yolo", ARGOS_TIER_OPEN, true },
    { PLATFORM ("'group_allow_admin_from':['boss']"), DM ("u"), "yolo", ARGOS_TIER_OPEN, true },
    { "{'platforms':{'line':{'allow_admin_from':['boss']}}}", DM ("u"), "yolo", ARGOS_TIER_OPEN,
        true },
    //  An admin may everything, in his kind of chat
    { BOTH, DM ("boss"), "yolo", ARGOS_TIER_ADMIN, true },
    { BOTH, DM ("7"), "yolo", ARGOS_TIER_ADMIN, true },
    { BOTH, GROUP ("boss"), "yolo", ARGOS_TIER_USER, false },
    { BOTH, GROUP ("chief"), "yolo", ARGOS_TIER_ADMIN, true },
    { BOTH, DM ("chief"), "yolo", ARGOS_TIER_USER, false },
    { PLATFORM ("'allow_admin_from':['*']"), DM ("u"), "yolo", ARGOS_TIER_ADMIN, true },
    //  Others: help, whoami, and what is listed there
    { BOTH, DM ("u"), "help", ARGOS_TIER_USER, true },
    { BOTH, DM ("u"), "whoami", ARGOS_TIER_USER, true },
    { BOTH, DM ("u"), "status", ARGOS_TIER_USER, true },
    { BOTH, DM ("u"), "queue", ARGOS_TIER_USER, true },
    { BOTH, DM ("u"), "stop", ARGOS_TIER_USER, false },
    { BOTH, DM ("u"), "background", ARGOS_TIER_USER, false },
    { BOTH, DM ("u"), "", ARGOS_TIER_USER, false },
    { BOTH, DM (""), "status", ARGOS_TIER_USER, true },
    { BOTH, GROUP ("u"), "stop", ARGOS_TIER_USER, true },
    { BOTH, GROUP ("u"), "status", ARGOS_TIER_USER, false },
    { PLATFORM ("'allow_admin_from':['boss']"), DM ("u"), "status", ARGOS_TIER_USER, false },
    //  A name is no identity, a thread is no chat of two
    { BOTH, "{'platform':'slack','chat_type':'dm','user_id':'u','user_name':'boss'}", "yolo",
        ARGOS_TIER_USER, false },
    { BOTH, "{'platform':'slack','chat_type':'thread','user_id':'chief'}", "yolo", ARGOS_TIER_ADMIN,
        true },
    { BOTH, "{'platform':'slack','chat_type':'dm','user_id':'u','user_id_alt':'boss'}", "yolo",
        ARGOS_TIER_ADMIN, true },
};

static void
every_row_of_the_tiers (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        json_t *config = gate_json (s_rows[i].config), *source = gate_json (s_rows[i].source);
        if (argos_tier (config, source) != s_rows[i].tier ||
            argos_tier_may (config, source, s_rows[i].command) != s_rows[i].may)
            fail_msg ("row %zu: %s by %s", i, s_rows[i].command, s_rows[i].source);
        json_decref (config);
        json_decref (source);
    }
}

static void
a_tier_has_a_word (void **state)
{
    (void) state;
    assert_string_equal (argos_tier_name (ARGOS_TIER_OPEN), "unrestricted");
    assert_string_equal (argos_tier_name (ARGOS_TIER_ADMIN), "admin");
    assert_string_equal (argos_tier_name (ARGOS_TIER_USER), "user");
    assert_true (argos_tier_may (NULL, NULL, "yolo"));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_row_of_the_tiers),
        cmocka_unit_test (a_tier_has_a_word),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
