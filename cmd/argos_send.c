//  argos_send - `argos send` and `argos channels`: saying something in chats, and which there are.

#include "argos_cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATEWAY "actor:gateway"
#define TEXT_MAX 262144 //  Bytes of a text

//  A chat as it is written: platform.account:chat:thread. Borrowed until the next call.

static const char *
s_chat (const json_t *source)
{
    static char text[700];
    const char *thread = json_string_value (json_object_get (source, "thread_id"));
    snprintf (text, sizeof text, "%s.%s:%s%s%s", argos_cli_text (source, "platform"),
        argos_cli_text (source, "account"), argos_cli_text (source, "chat_id"), thread ? ":" : "",
        thread ? thread : "");
    return text;
}

//  All of stdin, new; NULL when it is too long or can't be read.

static char *
s_read_all (void)
{
    char *text = malloc (TEXT_MAX + 1);
    if (!text)
        abort ();
    size_t size = fread (text, 1, TEXT_MAX, stdin);
    text[size] = 0;
    if (ferror (stdin) || !feof (stdin) || strlen (text) != size) {
        free (text);
        return NULL;
    }
    while (size && text[size - 1] == '\n')
        text[--size] = 0;
    return text;
}

//  What was done, chat by chat. Returns the exit code: all have to be on their way.

static int
s_report (const argos_cli_t *self, json_t *reply)
{
    const json_t *sent = json_object_get (reply, "sent"),
                 *failed = json_object_get (reply, "failed");
    size_t index;
    json_t *row;
    int rc = json_array_size (failed) ? CLI_FAILED : CLI_OK;
    if (self->json) {
        argos_cli_print (json_incref (reply));
        return rc;
    }
    json_array_foreach (sent, index, row) {
        bool mirrored = json_is_true (json_object_get (row, "mirrored"));
        printf ("%s: on its way (%s), %s%s\n", s_chat (json_object_get (row, "source")),
            argos_cli_text (row, "delivery"), mirrored ? "noted in session " : "not noted: ",
            argos_cli_text (row, mirrored ? "session_id" : "why"));
    }
    json_array_foreach (failed, index, row)
        printf ("%s: left out, %s%s%s\n", s_chat (json_object_get (row, "source")),
            argos_cli_text (row, "reason"),
            json_object_get (row, "error") ? "; --force tries it: " : "",
            json_object_get (row, "error") ? argos_cli_text (row, "error") : "");
    return rc;
}

//  A file by its whole path, because it is opened elsewhere.

static bool
s_add_file (json_t *files, const char *name)
{
    char path[PATH_MAX];
    json_t *file = realpath (name, path) ? json_string (path) : NULL;
    return file && json_array_append_new (files, file) == 0;
}

//  The line, as far as it has options: these go to body, the others to words. Returns how many
//  words, or -1 after the usage has been printed.

static int
s_read_options (argos_cli_t *self, int argc, char **argv, json_t *body, const char **words)
{
    json_t *files = json_array ();
    int count = 0;
    bool good = true;
    for (int i = 0; i < argc && good; i++) {
        if (strcmp (argv[i], "--no-mirror") == 0)
            json_object_set_new (body, "mirror", json_false ());
        else if (strcmp (argv[i], "--force") == 0)
            json_object_set_new (body, "force", json_true ());
        else if (strcmp (argv[i], "--file") == 0)
            good = ++i < argc && s_add_file (files, argv[i]);
        else if (count < 2 && strncmp (argv[i], "--", 2) != 0)
            words[count++] = argv[i];
        else
            good = false;
    }
    if (json_array_size (files))
        json_object_set (body, "files", files);
    good = good && (count == 2 || (count == 1 && json_array_size (files)));
    json_decref (files);
    if (!good)
        argos_cli_usage (self, "send TARGET TEXT|- [--file FILE]... [--no-mirror] [--force], or "
                               "send TARGET --file FILE; each file has to be there");
    return good ? count : -1;
}

//  The request, new; NULL after what is wrong with the line has been printed.

static json_t *
s_read_line (argos_cli_t *self, int argc, char **argv)
{
    const char *words[2] = { NULL, "" };
    json_t *body = json_object ();
    int count = s_read_options (self, argc, argv, body, words);
    char *text = strcmp (words[1], "-") == 0 ? s_read_all () : strdup (words[1]);
    bool good = count > 0 && text && (*text || count == 1) &&
                json_object_set_new (body, "target", json_string (words[0])) == 0 &&
                json_object_set_new (body, "text", json_string (text)) == 0;
    if (!good && count > 0)
        argos_cli_usage (self, "send needs a text of at most %d bytes, in UTF-8", TEXT_MAX);
    free (text);
    if (good)
        return body;
    json_decref (body);
    return NULL;
}

int
argos_command_send (argos_cli_t *self, int argc, char **argv)
{
    json_t *reply = NULL, *body = s_read_line (self, argc, argv);
    if (!body)
        return CLI_USAGE;
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK) {
        json_decref (body);
        return rc;
    }
    argos_err_t code = argos_cli_ask (self, GATEWAY, "channel.send", body, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "send", code);
    rc = s_report (self, reply);
    json_decref (reply);
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  Channels

static void
s_print (const json_t *reply)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get (reply, "channels"), index, row) {
        const json_t *source = json_object_get (row, "source");
        if (!index)
            puts ("CHAT                                     KIND     SINCE               NAME");
        printf ("%-40s %-8s %-19s %s\n", s_chat (source), argos_cli_text (source, "chat_type"),
            argos_cli_time (json_integer_value (json_object_get (row, "at"))),
            argos_cli_text (row, "name"));
    }
    json_array_foreach (json_object_get (reply, "homes"), index, row)
        printf ("home: %s\n", s_chat (row));
    json_array_foreach (json_object_get (reply, "aliases"), index, row)
        printf ("alias: %s = %s\n", argos_cli_text (row, "alias"), argos_cli_text (row, "target"));
    if (!json_array_size (json_object_get (reply, "channels")))
        puts ("nobody has spoken yet");
}

static int
s_list (argos_cli_t *self)
{
    json_t *reply = NULL;
    argos_err_t code = argos_cli_ask (self, GATEWAY, "channel.list", NULL, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "channels list", code);
    if (self->json)
        argos_cli_print (json_incref (reply));
    else
        s_print (reply);
    json_decref (reply);
    return CLI_OK;
}

static int
s_alias (argos_cli_t *self, const char *alias, const char *target)
{
    json_t *reply = NULL, *body = json_pack ("{s:s}", "alias", alias);
    if (target)
        json_object_set_new (body, "target", json_string (target));
    argos_err_t code = argos_cli_ask (self, GATEWAY, "channel.alias", body, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "channels alias", code);
    if (self->json)
        argos_cli_print (json_incref (reply));
    else
        printf ("%s %s\n", argos_cli_text (reply, "alias"), target ? target : "is forgotten");
    json_decref (reply);
    return CLI_OK;
}

int
argos_command_channels (argos_cli_t *self, int argc, char **argv)
{
    bool list = argc == 0 || (argc == 1 && strcmp (argv[0], "list") == 0);
    bool alias = (argc == 2 || argc == 3) && strcmp (argv[0], "alias") == 0;
    if (!list && !alias)
        return argos_cli_usage (self, "channels [list], or channels alias NAME [TARGET]");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    return list ? s_list (self) : s_alias (self, argv[1], argc == 3 ? argv[2] : NULL);
}
