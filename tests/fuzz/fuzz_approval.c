//  fuzz_approval - a command, as the judge of tool calls reads it.
//
//  Holds: the plain text is not longer than the text, the lines are within their bounds, and what
//  is denied by the floor stays denied with a harmless command in front of it.

#include "argos_approval.h"
#include "argos_cmdline.h"
#include "argos_plain.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static argos_approval_t
s_judge (const argos_approval_policy_t *policy, const char *command)
{
    argos_approval_t ret;
    json_t *arguments = json_object ();
    json_object_set_new_nocheck (arguments, "command", json_string_nocheck (command));
    argos_approval_call_t call = {
        .tool = "terminal", .arguments = arguments, .home = "/home/user"
    };
    argos_approval_judge (policy, &call, &ret);
    json_decref (arguments);
    return ret;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static argos_approval_policy_t *policy;
    char problem[200];
    if (!policy)
        policy = argos_approval_policy_new (NULL, NULL, problem, sizeof problem);
    FUZZ_CHECK (policy);
    if (size > 4096)
        return 0;
    char *text = malloc (size + 16);
    if (!text)
        return 0;
    memcpy (text, "true\n", 5);
    memcpy (text + 5, data, size);
    text[size + 5] = '\0';
    char *plain = argos_plain_text (text + 5, size);
    FUZZ_CHECK (strlen (plain) <= size && !strchr (plain, '\x1b'));
    argos_cmdline_rules_t rules = { .home = "/home/user", .workdir = "/tmp" };
    argos_cmdline_t lines;
    argos_cmdline_read (plain, strlen (plain), &rules, &lines);
    FUZZ_CHECK (lines.count <= ARGOS_CMDLINE_LINES && lines.size <= ARGOS_CMDLINE_SIZE);
    bool overflow = lines.overflow;
    argos_cmdline_clear (&lines);
    free (plain);
    argos_approval_t alone = s_judge (policy, text + 5), behind = s_judge (policy, text);
    FUZZ_CHECK (!alone.floor || behind.floor || overflow || alone.verdict == ARGOS_APPROVAL_DENY);
    FUZZ_CHECK (!alone.floor || overflow || behind.verdict != ARGOS_APPROVAL_ALLOW);
    free (text);
    return 0;
}
