//  argosd_setup - what `argos setup` and its platforms share.

#ifndef ARGOSD_SETUP_H
#define ARGOSD_SETUP_H

#include "argosd_host.h"

typedef struct {
    const char *account;  //  Which account of ours
    const char *base_url; //  Where the API is; NULL = at its usual place
    const char *token;    //  What was typed
    const char *second;   //  The second secret, "" = the platform has one only
    char user_name[128];  //  Filled by the check: who we are there
} argosd_setup_t;

//  Tries the token. Returns CLI_OK, or the exit code after it has said what is wrong and what to
//  do.
typedef int (argosd_setup_fn) (argos_cli_t *self, argosd_setup_t *setup);

argosd_setup_fn argosd_setup_telegram;
argosd_setup_fn argosd_setup_discord;
argosd_setup_fn argosd_setup_slack;

#define ARGOSD_SETUP_TEXT 1024 //  Bytes of what is typed

//  argosd_setup_first.c: `argos setup` without a platform. argv are its options.
int argosd_setup_first (argos_cli_t *self, int argc, char **argv);

//  A line of stdin without its end and without blanks around it; at a terminal behind the prompt,
//  and secret ones are not shown. Returns false at the end of input.
bool argosd_setup_read (const char *prompt, bool secret, char text[static ARGOSD_SETUP_TEXT + 1]);

//  Writes secrets/NAME of the home, whole or not at all, 0600. Returns 0, or -1 with errno.
int argosd_setup_secret (argos_cli_t *self, const char *name, const char *secret);

//  Asks for the account `main` of that platform, tries it and writes it down. Returns the exit
//  code; CLI_USAGE without a word when there is no such platform.
int argosd_setup_platform (argos_cli_t *self, const char *platform);

//  What a platform has answered

typedef struct {
    int status;      //  Of HTTP, 0 = no answer
    json_t *body;    //  New, NULL = no JSON
    char error[300]; //  Why there is no answer
} argosd_setup_answer_t;

//  POSTs {} there (GETs it, with get) and waits. secret is masked in the error.
void argosd_setup_call (const char *url, const char *const *headers, const char *secret, bool get,
    argosd_setup_answer_t *ret_answer);

#endif
