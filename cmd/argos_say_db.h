//  argos_say_db - the line of `argos db`, and how far it is: argos does what needs the daemon,
//  argosd what needs the file.

#ifndef ARGOS_SAY_DB_H
#define ARGOS_SAY_DB_H

#include "argos_cli.h"

#include <stdbool.h>

#define DB_FILE "argos.db"  //  In the home
#define DB_FOLDER "backups" //  In the home
#define DB_LOOK "look"      //  Prefix of a copy there that is only looked at
#define DB_FRESH ".restore" //  Behind DB_FILE: what is to take its place

typedef struct {
    const char *verb;     //  check, backup, ...; finish is argosd's own
    const char *words[2]; //  What follows
    int count;            //  How many
    const char *file;     //  --file of a verb that only reads, NULL = the database
    bool own;             //  The file is a copy that was made for this: --look, argosd's own
    bool deep;            //  --deep
} argos_db_line_t;

//  Reads the line behind `db`. Returns CLI_OK, or the exit code after the error has been printed.
int argos_say_db_line (argos_cli_t *self, int argc, char **argv, argos_db_line_t *line);

//  Shows how far something is, on a terminal. done = total ends the line.
void argos_say_db_progress (const argos_cli_t *self, const char *what, int64_t done, int64_t total);

//  The name of a new file in HOME/backups: prefix, time and process; size bytes. Returns 0 or -1.
int argos_say_db_name (const char *prefix, char *name, size_t size);

#endif
