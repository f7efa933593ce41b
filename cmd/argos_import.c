//  argos_import - see the header; and `argos import hermes PATH`.
//
//  Invariant: a session goes in pieces of at most PIECE_MESSAGES or PIECE_BYTES, the last of which
//  makes it visible; one that is there already is left alone, with all its lines. So the same file
//  twice changes nothing, and a file that was cut off goes on. One of which a piece is refused is
//  left out as a whole. Characters that don't exist come as U+FFFD, as in any write of the store.
//  Another program's database is read by argosd, as a command, into such lines. Limits: a line that
//  is no JSON ends the import.

#include "argos_import.h"

#include "argos_json.h"
#include "argos_json_get.h"
#include "argos_say_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_MESSAGES 200 //  Of one operation
#define PIECE_BYTES 262144 //  Bytes of them, about
#define NAME_SIZE 32       //  Of the file of the lines

//  The session at hand

typedef struct {
    argos_cli_t *cli;              //  Ours
    argos_import_report_t *report; //  To be filled
    json_t *session;               //  Its row, NULL = none is at hand
    json_t *messages;              //  That wait
    size_t bytes;                  //  Of them
    json_int_t first;              //  Place of the first of them
    int64_t sent;                  //  Messages of the pieces that were taken
    argos_err_t refused;           //  The last operation, ARGOS_OK = it was not
    bool leave;                    //  It is there, or was refused: its lines are read past
    bool failed;                   //  The daemon is gone, or the line is none
} import_t;

static argos_err_t
s_ask (import_t *self, const char *type, json_t *body)
{
    argos_loop_part_t part = { .type = type, .to = "store", .durable = true, .body = body };
    return argos_cli_send (self->cli, &part);
}

//  Sends one operation. Returns whether it was accepted.

static bool
s_send (import_t *self, const char *what, const char *id, const char *type, json_t *body)
{
    argos_err_t code = self->refused = s_ask (self, type, body);
    if (code == ARGOS_OK)
        return true;
    if (code == ARGOS_CONFLICT)
        self->report->present++;
    else if (code == ARGOS_INVALID || code == ARGOS_TOO_BIG || code == ARGOS_NOT_FOUND)
        argos_import_skip (self->report, what, id, self->cli->reason);
    else {
        argos_cli_fail (self->cli, "import", code);
        self->failed = true;
    }
    return false;
}

//  ------------------------------------------------------------------------------------------------
//  Sessions

//  A piece was refused: those before it go too, as nobody would ever see them. A conflict is none
//  of ours: somebody else has made the session whole.

static void
s_undo (import_t *self, const char *id)
{
    if (self->sent == 0 || self->refused == ARGOS_CONFLICT)
        return;
    argos_err_t code = s_ask (self, "session.delete", json_pack ("{s:s}", "id", id));
    if (code != ARGOS_OK && code != ARGOS_NOT_FOUND) {
        argos_cli_fail (self->cli, "import", code);
        self->failed = true;
    }
}

//  The messages that wait go; with the row when it is the last piece.

static void
s_piece (import_t *self, bool last)
{
    const char *id = argos_json_text (self->session, "id");
    size_t count = json_array_size (self->messages);
    if (!self->leave && !self->failed) {
        json_t *body = json_pack ("{s:s, s:I}", "id", id, "first", self->first);
        if (count)
            json_object_set (body, "messages", self->messages);
        if (last) {
            json_t *row = json_copy (self->session), *usage = json_object_get (row, "usage");
            if (json_array_size (usage))
                json_object_set (body, "usage", usage);
            json_object_del (row, "usage");
            json_object_set_new (body, "session", row);
        }
        self->leave = !s_send (self, "session", id, "session.import", body);
        if (!self->leave)
            self->sent += (int64_t) count;
        else if (!self->failed)
            s_undo (self, id);
        if (last && !self->leave) {
            self->report->sessions++;
            self->report->messages += self->sent;
        }
    }
    self->first += (json_int_t) count;
    self->bytes = 0;
    json_array_clear (self->messages);
}

static void
s_end_session (import_t *self)
{
    if (self->session)
        s_piece (self, true);
    json_decref (self->session);
    self->session = NULL;
}

static void
s_begin_session (import_t *self, json_t *session)
{
    s_end_session (self);
    self->session = json_incref (session);
    self->first = 0;
    self->sent = 0;
    self->leave = false;
}

static void
s_message (import_t *self, json_t *message, size_t size)
{
    if (json_array_size (self->messages) >= PIECE_MESSAGES ||
        (self->bytes && self->bytes + size > PIECE_BYTES))
        s_piece (self, false);
    json_object_del (message, "id");
    json_array_append (self->messages, message);
    self->bytes += size;
}

//  ------------------------------------------------------------------------------------------------
//  Routes

//  Only one that leads nowhere yet: what people use now is not moved.

static void
s_route (import_t *self, const json_t *route)
{
    json_t *reply = NULL;
    const char *key = argos_json_text (route, "key");
    argos_err_t code =
        argos_cli_ask (self->cli, "store", "route.get", json_pack ("{s:s}", "key", key), &reply);
    bool there = json_is_object (json_object_get (reply, "route"));
    json_decref (reply);
    if (code != ARGOS_OK) {
        argos_cli_fail (self->cli, "import", code);
        self->failed = true;
    }
    else if (there)
        self->report->present++;
    else {
        json_t *body = json_pack (
            "{s:s, s:s}", "key", key, "session_id", argos_json_text (route, "session_id"));
        json_t *source = json_object_get (route, "source");
        if (json_is_object (source))
            json_object_set (body, "source", source);
        if (s_send (self, "route", key, "route.bind", body))
            self->report->routes++;
    }
}

//  ------------------------------------------------------------------------------------------------
//  Lines

static void
s_line (import_t *self, const char *text, size_t size, int64_t number)
{
    json_t *line = argos_json_load_mended (text, size, 0, NULL), *part;
    if ((part = json_object_get (line, "session")) && *argos_json_text (part, "id"))
        s_begin_session (self, part);
    else if ((part = json_object_get (line, "message")) && self->session)
        s_message (self, part, size);
    else if ((part = json_object_get (line, "route"))) {
        s_end_session (self);
        s_route (self, part);
    }
    else if ((part = json_object_get (line, "skipped")))
        argos_import_skip (self->report, argos_json_text (part, "what"),
            argos_json_text (part, "id"), argos_json_text (part, "why"));
    else {
        argos_cli_error (self->cli, CLI_FAILED, "invalid",
            "line %lld is no session, message or route", (long long) number);
        self->failed = true;
    }
    json_decref (line);
}

int
argos_import_lines (argos_cli_t *cli, FILE *file, int64_t total, argos_import_report_t *report)
{
    import_t self = { .cli = cli, .report = report, .messages = json_array () };
    char *text = NULL;
    size_t room = 0;
    ssize_t size;
    int64_t number = 0, done = 0;
    if (!report->skipped)
        report->skipped = json_array ();
    while (!self.failed && !cli->interrupted && (size = getline (&text, &room, file)) > 0) {
        number++;
        done += size;
        if (strspn (text, " \t\r\n") < (size_t) size)
            s_line (&self, text, (size_t) size, number);
        argos_say_db_progress (cli, "import", done, total);
    }
    if (!self.failed && ferror (file)) {
        argos_cli_error (
            cli, CLI_FAILED, "internal", "the file can't be read: %s", strerror (errno));
        self.failed = true;
    }
    if (!self.failed && !cli->interrupted)
        s_end_session (&self);
    json_decref (self.session);
    json_decref (self.messages);
    free (text);
    return self.failed || cli->interrupted ? CLI_FAILED : CLI_OK;
}

//  ------------------------------------------------------------------------------------------------
//  argos import

//  A file for the lines of argosd, which opens it by the name in `to`. In its folder it has none
//  any more, so that it is gone with us, however we end. NULL with errno.

static FILE *
s_make_file (const argos_cli_t *self, char to[static NAME_SIZE])
{
    char path[PATH_MAX + 64];
    snprintf (path, sizeof path, "%s/run/import.%ld", self->home, (long) getpid ());
    unlink (path); //  Of one with our pid that was killed in between
    int fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return NULL;
    unlink (path);
    snprintf (to, NAME_SIZE, "/proc/self/fd/%d", fd);
    fcntl (fd, F_SETFD, 0); //  argosd gets it
    return fdopen (fd, "r");
}

static int
s_import_file (argos_cli_t *self, FILE *file)
{
    argos_import_report_t report = { .sessions = 0 };
    fseek (file, 0, SEEK_END);
    int64_t total = ftell (file);
    rewind (file);
    int rc = argos_import_lines (self, file, total, &report);
    if (rc == CLI_OK)
        argos_import_print (self, &report);
    json_decref (report.skipped);
    return rc;
}

int
argos_command_import (argos_cli_t *self, int argc, char **argv)
{
    char word[] = "import", to[] = "--to", name[NAME_SIZE], dry[] = "--dry-run";
    bool dry_run = argc == 3 && (strcmp (argv[1], dry) == 0 || strcmp (argv[2], dry) == 0);
    if (argc < 2 || argc > 3 || strcmp (argv[0], "hermes") != 0 || (argc == 3 && !dry_run))
        return argos_cli_usage (self, "import takes: hermes PATH, and perhaps --dry-run");
    char *from = argc == 3 && strcmp (argv[1], dry) == 0 ? argv[2] : argv[1];
    if (dry_run) {
        char *words[] = { word, argv[0], from, dry };
        return argos_cli_become (self, 4, words);
    }
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    FILE *file = s_make_file (self, name);
    if (!file)
        return argos_cli_error (
            self, CLI_FAILED, "internal", "%s/run can't be used: %s", self->home, strerror (errno));
    char *words[] = { word, argv[0], from, to, name };
    rc = argos_cli_run (self, 5, words);
    if (rc == CLI_OK)
        rc = s_import_file (self, file);
    fclose (file);
    return rc;
}
