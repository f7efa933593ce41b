//  argos_completion - `argos completion bash|zsh|fish`: a script for a shell, made of the table of
//  commands and of the help, so that it knows what this program knows.
//
//  The second words are those that stand behind `argos COMMAND` in the help: `peers drain|resume
//  NAME` has drain and resume, `runs [list]` has list. What is in capitals is a value. Pure but for
//  stdout.

#include "argos_completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 1024 //  Bytes of the words of one command

//  Adds one word to words, if it is none of its words yet and looks like one.

static void
s_add (char words[static WORDS_MAX], const char *from, size_t size)
{
    char padded[WORDS_MAX + 2], word[64];
    size_t used = strlen (words);
    if (!size || size + 3 > sizeof word || used + size + 2 > WORDS_MAX ||
        strspn (from, "abcdefghijklmnopqrstuvwxyz-") < size || strcmp (from, "-") == 0)
        return;
    snprintf (word, sizeof word, " %.*s ", (int) size, from);
    snprintf (padded, sizeof padded, " %s ", words);
    if (!strstr (padded, word))
        snprintf (words + used, WORDS_MAX - used, "%s%.*s", used ? " " : "", (int) size, from);
}

//  The words of what stands behind the command in one line of help, up to the explanation (two
//  spaces): the first group of alternatives, and all options.

static void
s_add_line (char words[static WORDS_MAX], const char *rest)
{
    const char *end = strstr (rest, "  ");
    size_t line = strcspn (rest, "\n");
    if (end && (size_t) (end - rest) < line)
        line = (size_t) (end - rest);
    for (size_t at = 0, count = 0; at < line; count++) {
        while (at < line && strchr (" [],", rest[at]))
            at++;
        size_t group = strcspn (rest + at, " ],\n"), from = at;
        bool option = rest[at] == '-';
        for (size_t i = at; i <= at + group && i <= line; i++)
            if (i == at + group || rest[i] == '|' || i == line) {
                if (count == 0 || option)
                    s_add (words, rest + from, i - from);
                from = i + 1;
            }
        at += group ? group : 1;
    }
}

void
argos_completion_words (const char *const *help, const char *command, char words[static WORDS_MAX])
{
    char start[80];
    size_t size = (size_t) snprintf (start, sizeof start, "argos %s ", command);
    *words = 0;
    for (; *help; help++)
        for (const char *line = *help; line && *line; line = strchr (line, '\n')) {
            line += *line == '\n';
            if (strncmp (line, start, size) == 0 && line[size] != ' ')
                s_add_line (words, line + size);
            if (!strchr (line, '\n'))
                break;
        }
}

//  ------------------------------------------------------------------------------------------------

static void
s_bash (const char *const *commands, const char *const *help)
{
    char words[WORDS_MAX];
    puts ("#  argos completion bash: source it, or put it into /etc/bash_completion.d\n"
          "_argos ()\n"
          "{\n"
          "    local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
          "    case \"${COMP_WORDS[1]}\" in");
    for (size_t i = 0; commands[i]; i++) {
        argos_completion_words (help, commands[i], words);
        printf ("    %s) words=\"%s\" ;;\n", commands[i], words);
    }
    fputs ("    esac\n    [ \"$COMP_CWORD\" -eq 1 ] && words=\"", stdout);
    for (size_t i = 0; commands[i]; i++)
        printf ("%s%s", i ? " " : "", commands[i]);
    puts ("\"\n"
          "    COMPREPLY=($(compgen -W \"$words --home --json\" -- \"$word\"))\n"
          "}\n"
          "complete -o default -F _argos argos");
}

static void
s_zsh (const char *const *commands, const char *const *help)
{
    char words[WORDS_MAX];
    puts ("#compdef argos\n"
          "#  argos completion zsh: put it as _argos into a folder of $fpath\n"
          "_argos ()\n"
          "{\n"
          "    local -a words_of\n"
          "    if (( CURRENT == 2 )); then");
    fputs ("        words_of=(", stdout);
    for (size_t i = 0; commands[i]; i++)
        printf ("%s%s", i ? " " : "", commands[i]);
    puts (")\n"
          "    else\n"
          "        case \"${words[2]}\" in");
    for (size_t i = 0; commands[i]; i++) {
        argos_completion_words (help, commands[i], words);
        printf ("        %s) words_of=(%s) ;;\n", commands[i], words);
    }
    puts ("        esac\n"
          "    fi\n"
          "    compadd -- $words_of --home --json || _files\n"
          "}\n"
          "compdef _argos argos");
}

static void
s_fish (const char *const *commands, const char *const *help)
{
    char words[WORDS_MAX];
    puts ("#  argos completion fish: put it as argos.fish into ~/.config/fish/completions\n"
          "complete -c argos -l json -d 'one JSON document'\n"
          "complete -c argos -l home -r -d 'the folder of argosd'");
    for (size_t i = 0; commands[i]; i++) {
        printf ("complete -c argos -f -n __fish_use_subcommand -a %s\n", commands[i]);
        argos_completion_words (help, commands[i], words);
        if (*words)
            printf ("complete -c argos -n '__fish_seen_subcommand_from %s' -a '%s'\n", commands[i],
                words);
    }
}

bool
argos_completion (const char *shell, const char *const *commands, const char *const *help)
{
    static const struct {
        const char *shell;                                                       //  Which
        void (*function) (const char *const *commands, const char *const *help); //  Writes it
    } shells[] = { { "bash", s_bash }, { "zsh", s_zsh }, { "fish", s_fish } };
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp (shells[i].shell, shell) == 0) {
            shells[i].function (commands, help);
            return true;
        }
    return false;
}
