//  argos_say_provider - see the header.

#include "argos_say_provider.h"

#include <stdio.h>
#include <string.h>

void
argos_say_provider (
    const argos_cli_t *self, const json_t *agent, bool ok, const char *text, int64_t took_ms)
{
    if (self->json) {
        argos_cli_print (json_pack ("{s:b,s:O,s:s,s:I}", "ok", ok, "agent", agent,
            ok ? "answer" : "error", text, "took_ms", (json_int_t) took_ms));
        return;
    }
    printf ("provider  %s, model %s%s\n", argos_cli_text (agent, "kind"),
        argos_cli_text (agent, "model"),
        json_is_true (json_object_get (agent, "rehearsal")) ? " (rehearsal: no model is configured)"
                                                            : "");
    printf ("%s", ok ? "answer    " : "failed    ");
    argos_cli_write (text, strlen (text));
    printf ("\ntook      %lld ms\n", (long long) took_ms);
}
