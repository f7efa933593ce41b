//  argos_approval - may this call of a tool run, must somebody be asked, or never? Pure.
//
//  The rules are data (schema/approval.json): a hard floor that nothing bypasses, patterns that
//  need somebody's approval, and paths. They are matched against what a shell would run
//  (argos_cmdline), not against the text, so quotes, escapes and look-alikes change nothing.
//
//  The agent judges before it calls; the tool judges again, with mode off: only the floor is left
//  then.

#ifndef ARGOS_APPROVAL_H
#define ARGOS_APPROVAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_APPROVAL_KEY_MAX 63   //  Bytes of a pattern's key
#define ARGOS_APPROVAL_TEXT_MAX 255 //  Bytes of a sentence

typedef struct argos_approval_policy argos_approval_policy_t;

typedef enum {
    ARGOS_APPROVAL_MANUAL, //  Somebody is asked
    ARGOS_APPROVAL_SMART,  //  A model is asked first (argos_approval_smart)
    ARGOS_APPROVAL_OFF     //  Nobody is asked
} argos_approval_mode_t;

typedef enum {
    ARGOS_APPROVAL_ALLOW, //  Run it
    ARGOS_APPROVAL_ASK,   //  key and text say for what
    ARGOS_APPROVAL_DENY   //  Don't; text says why
} argos_approval_verdict_t;

typedef struct {
    const char *tool;           //  Name
    const json_t *arguments;    //  Object; borrowed
    argos_approval_mode_t mode; //  approvals.mode
    bool yolo;                  //  The session asks for nothing
    bool unattended;            //  Nobody can be asked (a schedule, a delegate): denied instead
    bool unattended_allows;     //  ... but allowed by the settings
    bool contained;             //  It runs in a sandbox that may be broken: no rule at all
    bool sudo_password;         //  sudo has a password of ours
    const json_t *grants;       //  Array of keys that were granted; NULL = none; borrowed
    const char *home, *state;   //  Home directory, folder of Argos; NULL = unknown
    const char *workdir;        //  Where the tool works; NULL = unknown
} argos_approval_call_t;

typedef struct {
    argos_approval_verdict_t verdict;       //  See above
    bool floor;                             //  Denied by the floor: no approval helps
    char key[ARGOS_APPROVAL_KEY_MAX + 1];   //  Of the pattern; what a grant is stored under
    char text[ARGOS_APPROVAL_TEXT_MAX + 1]; //  For people and for the model
} argos_approval_t;

//  The policy of a JSON text, of the built-in schema/approval.json when it is NULL: that is
//  compiled for the first call that is judged. For one thread. self: process numbers of Argos
//  itself as an expression, such as "12|13", which must not be killed; NULL = not known. The
//  caller's, or NULL with a sentence in problem (size bytes).
argos_approval_policy_t *argos_approval_policy_new (
    const char *json, const char *self, char *problem, size_t size);

//  NULL-safe, idempotent.
void argos_approval_policy_destroy (argos_approval_policy_t **self_p);

//  Fills *ret. Of several patterns the first that was not granted is told, so that an answer never
//  covers more than what was shown.
void argos_approval_judge (
    const argos_approval_policy_t *self, const argos_approval_call_t *call, argos_approval_t *ret);

//  Whether nobody may write this path (absolute, or beginning with ~), whatever was approved; then
//  *ret says why. home and state as above.
bool argos_approval_path (const argos_approval_policy_t *self, const char *path, const char *home,
    const char *state, argos_approval_t *ret);

//  Whether nobody may read this path: keys, passwords, secrets of Argos. Likewise.
bool argos_approval_secret (const argos_approval_policy_t *self, const char *path, const char *home,
    const char *state, argos_approval_t *ret);

//  How many patterns the floor has, and how many need approval.
size_t argos_approval_count (const argos_approval_policy_t *self, bool floor);

//  The mode of a setting; anything that is no mode is manual.
argos_approval_mode_t argos_approval_mode (const char *text);

//  What a model has answered in mode smart: its first word APPROVE, DENY or ESCALATE; what can't be
//  read is ASK.
argos_approval_verdict_t argos_approval_smart (const char *text);

#endif
