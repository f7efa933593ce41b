//  argos_completion - `argos completion bash|zsh|fish`: a script for a shell, made of the table of
//  the commands' words, so that it knows what this program knows. Pure but for stdout.

#include "argos_completion.h"

#include "argos_say_words.h"

#include <stdio.h>
#include <string.h>

//  ------------------------------------------------------------------------------------------------

//  The command is the first word that is no option of all commands, nor its value.

static void
s_bash (void)
{
    puts ("#  argos completion bash: source it, or put it into /etc/bash_completion.d\n"
          "_argos ()\n"
          "{\n"
          "    local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\" at=1\n"
          "    COMPREPLY=()\n"
          "    [ \"${COMP_WORDS[COMP_CWORD - 1]}\" = --home ] && return\n"
          "    while [ \"$at\" -lt \"$COMP_CWORD\" ]; do\n"
          "        case \"${COMP_WORDS[at]}\" in\n"
          "        --home) at=$((at + 2)) ;;\n"
          "        -*) at=$((at + 1)) ;;\n"
          "        *) break ;;\n"
          "        esac\n"
          "    done\n"
          "    [ \"$at\" -lt \"$COMP_CWORD\" ] && case \"${COMP_WORDS[at]}\" in");
    for (size_t i = 0; argos_say_words (i); i++)
        printf ("    %s) words=\"%s\" ;;\n", argos_say_words (i)->name, argos_say_words (i)->words);
    fputs ("    esac\n    [ \"$at\" -lt \"$COMP_CWORD\" ] || words=\"", stdout);
    for (size_t i = 0; argos_say_words (i); i++)
        printf ("%s%s", i ? " " : "", argos_say_words (i)->name);
    puts ("\"\n"
          "    COMPREPLY=($(compgen -W \"$words --home --json\" -- \"$word\"))\n"
          "}\n"
          "complete -o default -F _argos argos");
}

//  As a file of $fpath it is the body of _argos itself, and is asked at once

static void
s_zsh (void)
{
    puts ("#compdef argos\n"
          "#  argos completion zsh: put it as _argos into a folder of $fpath, or source it\n"
          "_argos ()\n"
          "{\n"
          "    local -a words_of\n"
          "    local -i at=2\n"
          "    [[ \"${words[CURRENT - 1]}\" = --home ]] && { _files -/; return }\n"
          "    while (( at < CURRENT )); do\n"
          "        case \"${words[at]}\" in\n"
          "        --home) (( at += 2 )) ;;\n"
          "        -*) (( at += 1 )) ;;\n"
          "        *) break ;;\n"
          "        esac\n"
          "    done\n"
          "    if (( at >= CURRENT )); then");
    fputs ("        words_of=(", stdout);
    for (size_t i = 0; argos_say_words (i); i++)
        printf ("%s%s", i ? " " : "", argos_say_words (i)->name);
    puts (")\n"
          "    else\n"
          "        case \"${words[at]}\" in");
    for (size_t i = 0; argos_say_words (i); i++)
        printf ("        %s) words_of=(%s) ;;\n", argos_say_words (i)->name,
            argos_say_words (i)->words);
    puts ("        esac\n"
          "    fi\n"
          "    compadd -- $words_of --home --json || _files\n"
          "}\n"
          "if [[ \"${funcstack[1]}\" = _argos ]]; then\n"
          "    _argos \"$@\"\n"
          "else\n"
          "    compdef _argos argos\n"
          "fi");
}

static void
s_fish (void)
{
    puts ("#  argos completion fish: put it as argos.fish into ~/.config/fish/completions\n"
          "complete -c argos -l json -d 'one JSON document'\n"
          "complete -c argos -l home -r -d 'the folder of argosd'");
    for (size_t i = 0; argos_say_words (i); i++) {
        const argos_say_words_t *row = argos_say_words (i);
        printf ("complete -c argos -f -n __fish_use_subcommand -a %s\n", row->name);
        if (*row->words)
            printf ("complete -c argos -n '__fish_seen_subcommand_from %s' -a '%s'\n", row->name,
                row->words);
    }
}

bool
argos_completion (const char *shell)
{
    static const struct {
        const char *shell;       //  Which
        void (*function) (void); //  Writes it
    } shells[] = { { "bash", s_bash }, { "zsh", s_zsh }, { "fish", s_fish } };
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp (shells[i].shell, shell) == 0) {
            shells[i].function ();
            return true;
        }
    return false;
}
