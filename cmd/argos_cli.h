//  argos_cli - what the commands of `argos` share: where the daemon is, one peer, one answer at a
//  time.
//
//  A command is one function of argos_cli_command_t; it prints its result on stdout, what went
//  wrong on stderr, and returns the exit code.

#ifndef ARGOS_CLI_H
#define ARGOS_CLI_H

#include "argos_loop.h"

#include <limits.h>

#define CLI_OK 0        //  Done
#define CLI_FAILED 1    //  Refused, or it failed
#define CLI_USAGE 2     //  The command line is wrong
#define CLI_ELSEWHERE 3 //  argosd to argos: only the running daemon can do it
#define CLI_DOWN 69     //  No daemon is running, or it does not answer
#define CLI_SHOWN 256   //  Bytes of a name in a table

typedef struct {
    char home[PATH_MAX];         //  Folder of the daemon
    char endpoint[PATH_MAX + 8]; //  Of its broker
    bool json;                   //  --json: one JSON value (or one a line) instead of text
    argos_loop_t *loop;          //  Once connected
    int signal_fd;               //  SIGINT, SIGTERM, SIGHUP
    bool interrupted;            //  One of them has come
    bool signalled;         //  The same, also where on_signal takes it; since the last question
    bool welcome;           //  The broker has taken us in
    bool final;             //  and has thrown us out
    argos_err_t final_code; //  with this
    void (*on_signal) (void *ctx, int signal); //  The command's own way with signals, or NULL
    void *signal_ctx;                          //  Its argument
    char reason[512];                          //  Sentence of the last failure
} argos_cli_t;

//  An argosd whose core is elsewhere

typedef struct {
    long pid;         //  Its process
    char name[32];    //  Of the node, "-" = it has none
    char broker[256]; //  Where its core is
} cli_node_t;

typedef int (argos_cli_command_t) (argos_cli_t *self, int argc, char **argv);

//  argos_say.c, which is a part of argosd too

//  Takes --home and --json out of the line, wherever they stand behind argv[0]. Returns the words
//  that are left, or -1.
int argos_cli_options (argos_cli_t *self, int argc, char **argv, const char **ret_home);

//  Fills home and endpoint; home NULL: $ARGOS_HOME, else ~/.argos. Returns 0, or -1 with a sentence
//  in reason.
int argos_cli_find (argos_cli_t *self, const char *home);

//  Whether a daemon listens there at this moment.
bool argos_cli_is_listening (const argos_cli_t *self);

//  Whether an argosd runs on the home whose core is elsewhere, by what it has written into its
//  lock; else *ret_node is all zero.
bool argos_cli_elsewhere (const argos_cli_t *self, cli_node_t *ret_node);

//  Prints a failure (what was tried, why not), as JSON when asked for; returns CLI_FAILED.
int argos_cli_fail (const argos_cli_t *self, const char *what, argos_err_t code);

//  "argos: " and a sentence on stderr, or {"error":{"code","message"}} on stdout with --json.
//  Returns rc, the exit code.
int argos_cli_error (const argos_cli_t *self, int rc, const char *code, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));

//  The same for a wrong command line; returns CLI_USAGE.
int argos_cli_usage (const argos_cli_t *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

//  The exit code of a command that returned rc: a failure when stdout has not taken all of it, with
//  a sentence on stderr.
int argos_cli_end (int rc);

//  One line of JSON on stdout. Steals value.
void argos_cli_print (json_t *value);

//  A member of an object as text: strings without control characters, numbers as digits, "-" when
//  absent. Borrowed until the eighth next call.
const char *argos_cli_text (const json_t *object, const char *name);

//  The same, cut to so many bytes, between two characters.
const char *argos_cli_short (const json_t *object, const char *name, size_t size);

//  A time in msec since 1970 as local time, "-" for 0. Borrowed like the above.
const char *argos_cli_time (int64_t at);

//  Writes text with control characters (other than newline and tab) left out: a terminal obeys
//  some.
void argos_cli_write (const char *text, size_t size);

//  argos_cli.c

//  Connects as name and waits for the welcome. handlers NULL: none of its own; a command that has
//  some calls argos_cli_welcome and argos_cli_final from them. Returns CLI_OK, or the exit code
//  after the error has been printed.
int argos_cli_connect (argos_cli_t *self, const char *name, const argos_loop_handlers_t *handlers);
void argos_cli_welcome (argos_cli_t *self);
void argos_cli_final (argos_cli_t *self, argos_err_t code, const char *reason);

//  Connects under a name of this process.
int argos_cli_connect_plain (argos_cli_t *self);

//  Says bye. Idempotent.
void argos_cli_disconnect (argos_cli_t *self);

//  Sends a request (body is stolen, NULL = {}) and waits for its answer. *ret_reply is new, or
//  NULL. Returns ARGOS_OK, or a code with a sentence in reason.
argos_err_t argos_cli_ask (
    argos_cli_t *self, const char *to, const char *type, json_t *body, json_t **ret_reply);

//  The same for anything durable (key, side and urgent as in the part).
argos_err_t argos_cli_send (argos_cli_t *self, const argos_loop_part_t *part);

//  Several of them as one unit; at most 8.
argos_err_t argos_cli_commit (argos_cli_t *self, const argos_loop_part_t *parts, size_t count);

//  Random bytes as 2 * count digits; at most 64.
void argos_cli_random_hex (char *text, size_t count);

//  argos_host.c

//  A command that works on the home itself, or needs a library, is a command of the argosd beside
//  this program: argos links libargos only. words[0] is the command. Becomes it; returns the exit
//  code when that can't be.
int argos_cli_become (argos_cli_t *self, int count, char **words);

//  The same as a child, and its exit code; a signal to us is one to it.
int argos_cli_run (argos_cli_t *self, int count, char **words);

//  The commands
argos_cli_command_t argos_command_adapters;
argos_cli_command_t argos_command_agents;
argos_cli_command_t argos_command_chat;
argos_cli_command_t argos_command_jobs;
argos_cli_command_t argos_command_status;
argos_cli_command_t argos_command_run;
argos_cli_command_t argos_command_runs;
argos_cli_command_t argos_command_db;
argos_cli_command_t argos_command_dead, argos_command_deliveries, argos_command_send,
    argos_command_channels;
argos_cli_command_t argos_command_handoff;
argos_cli_command_t argos_command_import;
argos_cli_command_t argos_command_logs;
argos_cli_command_t argos_command_provider;
argos_cli_command_t argos_command_sessions;
argos_cli_command_t argos_command_top;
argos_cli_command_t argos_command_peers;
argos_cli_command_t argos_command_pairing;
argos_cli_command_t argos_command_services;
argos_cli_command_t argos_command_trace;
argos_cli_command_t argos_command_config;

#endif
