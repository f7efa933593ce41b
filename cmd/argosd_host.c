//  argosd_host - see the header.

#include "argosd_host.h"

#include "argos_schema.h"

#include <locale.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;              //  First word
    argos_cli_command_t *function; //  What it does
} commands[] = {
    { "db", argosd_command_db },
    { "import", argosd_command_import },
    { "keys", argosd_command_keys },
    { "config", argosd_command_config },
    { "doctor", argosd_command_doctor },
    { "node", argosd_command_node },
    { "provider", argosd_command_provider },
    { "adapter-check", argosd_command_adapter_check },
    { "setup", argosd_command_setup },
};

static argos_cli_command_t *
s_find (const char *word)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp (commands[i].name, word) == 0)
            return commands[i].function;
    return NULL;
}

bool
argosd_host_knows (const char *word)
{
    return s_find (word) != NULL;
}

int
argosd_host (int argc, char **argv)
{
    static argos_cli_t cli = { .signal_fd = -1 };
    char reason[256] = "a library can't be initialised";
    const char *home = NULL;
    argos_cli_command_t *function = s_find (argv[0]);
    int left = argos_cli_options (&cli, argc, argv, &home);
    if (left < 0)
        return argos_cli_usage (&cli, "--home needs a folder");
    if (argos_cli_find (&cli, home) != 0)
        return argos_cli_usage (&cli, "%s", cli.reason);
    setlocale (LC_CTYPE, "");
    umask (0077);
    json_object_seed (0);
    if (sodium_init () < 0 || argos_schema_init (reason) != 0)
        return argos_cli_error (&cli, CLI_FAILED, "internal", "%s", reason);
    int rc = argos_cli_end (function (&cli, left - 1, argv + 1));
    argos_schema_term ();
    return rc;
}
