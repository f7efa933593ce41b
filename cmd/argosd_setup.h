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
