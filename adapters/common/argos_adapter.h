//  argos_adapter - what every chat platform's adapter has in common: one account of one platform as
//  an actor.
//
//  In:    leases of deliver.<platform>.<account>, requests thread.create, chat.info and probe,
//         topic:out.<platform>.<account> and topic:run.<id>; SETTINGS and $TERM from the owner
//  Out:   message.inbound and cursors as one commit, receipts, records of what is under way
//  Owner: the supervisor; READY also when the account can't work (no token, refused by the
//         platform): then it serves nothing and its probe says why
//
//  A platform fills argos_platform_t. It is told what to do by calls, does it with
//  argos_adapter_http (or sockets of its own) and answers later; nothing in it blocks. Everything
//  happens in one thread.
//
//  A delivery is a plan: a list of calls of the platform, made one after the other. Before a call
//  that is no harm twice nothing is written; before any other one the number of the call goes into
//  a record, so that a death in the middle is known to be one. What is done then is the platform's
//  idempotency: `native` repeats, `reconcile` asks what has become of it, `none` sends again and
//  says so, or reports that nobody knows (platforms.*.when_unknown).
//
//  Limits: 16 deliveries and 64 requests in hand; three tries of a call whose fate is not known.

#ifndef ARGOS_ADAPTER_H
#define ARGOS_ADAPTER_H

#include "argos_due.h"
#include "argos_http_client.h"
#include "argos_link.h"
#include "argos_media.h"
#include "argos_rate.h"
#include "argos_shell.h"

typedef struct argos_adapter argos_adapter_t;
typedef struct argos_delivery argos_delivery_t;
typedef struct argos_adapter_ask argos_adapter_ask_t;

typedef enum {
    ARGOS_SEND_NATIVE,    //  The same call twice is one message there
    ARGOS_SEND_RECONCILE, //  It can be asked what was sent
    ARGOS_SEND_NONE       //  Neither
} argos_send_t;

//  A file that is to be sent, in a temporary file without a name

typedef struct {
    int fd;           //  Open for reading
    int64_t size;     //  Bytes
    const char *kind; //  image, audio, video, document, voice
    const char *name; //  For people, never ""
    const char *type; //  As in HTTP, "" = not known
} argos_adapter_file_t;

//  What is to be delivered, as far as the platform needs it; "" = absent

struct argos_delivery {
    argos_adapter_t *adapter;      //  Whose
    const char *id;                //  Of the message: the seed of keys for idempotency
    const char *op;                //  send, edit, delete, react, prompt, media
    const char *kind;              //  answer, notice, error
    const char *chat_id;           //  Where
    const char *thread_id;         //  .
    const char *reply_to;          //  .
    const char *run_id;            //  The run that it comes from
    const char *text;              //  What
    const char *draft_id;          //  The message that shows the text of this run already
    const json_t *body;            //  All of it (deliver.request)
    argos_adapter_file_t *files;   //  Of its attachments
    size_t file_count;             //  How many
    size_t index;                  //  Number of the call that is being made
    const json_t *ids;             //  Array of ids that the calls before it have made
    struct argos_delivery_priv *x; //  Private
    argos_delivery_t *prev, *next; //  Private
};

//  A draft: the text of a run that is still being written

typedef struct {
    const char *chat_id, *thread_id, *reply_to; //  Where; "" = absent
    const char *run_id;                         //  Which run
    const char *answer_id;                      //  Id of the delivery that will have its answer
    const char *text;                           //  All of it so far
    const char *id;                             //  Of the message, "" = none has been sent yet
    bool unclear;                               //  Or perhaps one: nobody knows its id
    bool last;                                  //  Nothing more will be written
    void *handle;                               //  Private
} argos_draft_t;

typedef struct {
    const char *name;  //  Of the platform
    argos_send_t send; //  What the platform knows of repeated sends
    int typing_ms;     //  How long its typing mark lasts; 0 = it has none
    int draft_ms;      //  Shortest time between two edits of a draft; 0 = it has none
    int64_t file_max;  //  Bytes of a file that can be sent

    //  Members of `capabilities` of serve (platform and account are added), new.
    json_t *(*capabilities) (void);

    //  The platform's own memory, after the settings were read. NULL with a sentence in reason: it
    //  can't work with these.
    void *(*open) (argos_adapter_t *adapter, char *reason, size_t size);
    void (*close) (void **self_p);

    //  The broker has welcomed us for the first time; the platform calls argos_adapter_serve when
    //  it is ready.
    void (*start) (void *self);

    //  The plan of a delivery: an array of calls, new. What is in a call is the platform's affair,
    //  but for `once` (bool: it must not happen twice) and `bucket` (text: of argos_rate). NULL
    //  with a sentence in error ("unsupported") when it can't be done.
    json_t *(*plan) (void *self, const argos_delivery_t *delivery, char *error, size_t size);

    //  Make this call; answer by one of argos_delivery_sent ... _replace, exactly once, now or
    //  later. again: it may have been made before, so say so (only of `none`).
    void (*call) (void *self, argos_delivery_t *delivery, json_t *call, bool again);

    //  Ask whether this call was made (only of `reconcile`): answer by argos_delivery_found. NULL
    //  of others.
    void (*find) (void *self, argos_delivery_t *delivery, json_t *call);

    //  Ask for a draft of this delivery's run that was perhaps sent: answer by
    //  argos_delivery_draft. NULL = nobody could tell.
    void (*find_draft) (void *self, argos_delivery_t *delivery);

    //  Show that we are writing. NULL = nothing.
    void (*typing) (void *self, const char *chat_id, const char *thread_id);

    //  Send or edit a draft: answer by argos_adapter_drafted, or argos_adapter_draft_lost, with the
    //  handle. NULL = no drafts.
    void (*draft) (void *self, const argos_draft_t *draft);

    //  A request: answer by argos_adapter_answer, exactly once.
    void (*ask) (void *self, argos_adapter_ask_t *ask, const char *type, const json_t *body);

    //  There are new settings. NULL = it reads them when it needs them.
    void (*settings) (void *self);
} argos_platform_t;

typedef struct {
    argos_link_t link;            //  To the broker
    const argos_platform_t *kind; //  Which platform; static
    const char *account;          //  Which account
    const char *home;             //  Folder of this instance: secrets are read from there
    const json_t *settings;       //  The snapshot; borrowed until READY
} argos_adapter_config_t;

//  The actor; config is an argos_adapter_config_t.
void argos_adapter_actor (zsock_t *pipe, void *config);

//  ------------------------------------------------------------------------------------------------
//  For the platform

const char *argos_adapter_platform (const argos_adapter_t *self);
const char *argos_adapter_account (const argos_adapter_t *self);
const char *argos_adapter_name (const argos_adapter_t *self); //  For the log
argos_shell_t *argos_adapter_shell (argos_adapter_t *self);
argos_peer_t *argos_adapter_peer (argos_adapter_t *self);
argos_rate_t *argos_adapter_rate (argos_adapter_t *self);

//  A key of this account: platforms.<platform>.accounts.<account>.<path>, then
//  platforms.<platform>.<path> (path a leaf). own: the second only for the account main. NULL = set
//  nowhere. Borrowed until the next SETTINGS.
const json_t *argos_adapter_setting (const argos_adapter_t *self, const char *path, bool own);

//  The whole snapshot. Borrowed likewise.
const json_t *argos_adapter_settings (const argos_adapter_t *self);

//  The secret that this key names, checked, new (argos_secret_free); locked: no other peer of this
//  host has it. NULL with a sentence.
char *argos_adapter_secret (
    argos_adapter_t *self, const char *path, bool locked, char *reason, size_t size);

//  Take deliveries; told again whenever something has changed.
void argos_adapter_serve (argos_adapter_t *self);

//  It can't work: nothing is served, the log says why, and so does a probe. NULL = it works again
//  (serve follows).
void argos_adapter_problem (argos_adapter_t *self, const char *problem);
const char *argos_adapter_problem_now (const argos_adapter_t *self); //  "" = none

//  An HTTP call in this actor's loop.
argos_http_call_t *argos_adapter_http (
    argos_adapter_t *self, const argos_http_request_t *request, argos_http_fn *fn, void *arg);

//  A timer of the platform: fn is called once when due_ms (argos_shell_now) has come; < 0 takes it
//  out. The node is the platform's, and out before it is freed.

typedef struct {
    argos_due_node_t node;  //  In the heap
    void (*fn) (void *arg); //  Called
    void *arg;              //  Its argument
} argos_adapter_timer_t;

void argos_adapter_timer (argos_adapter_t *self, argos_adapter_timer_t *timer, int64_t due_ms);

//  A number for jitter.
uint32_t argos_adapter_random (argos_adapter_t *self);

//  Messages in: an array of {"id","key","body"} (message.inbound), and a cursor (NULL = none), as
//  one commit. It is tried again until it is settled; a message that the broker refuses for good is
//  dropped with a line in the log, and the others are stored. fn is told then; at the end of the
//  actor it isn't. messages and value are stolen. At most 60 messages, 1.5 MB.
typedef void (argos_adapter_stored_fn) (void *arg);
void argos_adapter_store (argos_adapter_t *self, json_t *messages, const char *cursor,
    json_t *value, argos_adapter_stored_fn *fn, void *arg);

//  A cursor that was stored; value NULL = there is none. Asked again until the store answers.
typedef void (argos_adapter_cursor_fn) (void *arg, const json_t *value);
void argos_adapter_cursor (
    argos_adapter_t *self, const char *name, argos_adapter_cursor_fn *fn, void *arg);

//  Puts a file under its content (argos_media_put); at the end of the actor fn isn't told.
void argos_adapter_put (argos_adapter_t *self, int fd, const char *name, const char *media_type,
    argos_media_fn *fn, void *arg);

//  A record of this account in a space of the platform: written now (value stolen; NULL removes),
//  and all of them read (an object, key to value; asked again until the store answers).
void argos_adapter_keep (argos_adapter_t *self, const char *key, json_t *value);
typedef void (argos_adapter_kept_fn) (void *arg, json_t *values);
void argos_adapter_kept (argos_adapter_t *self, argos_adapter_kept_fn *fn, void *arg);

//  How a call ended. ids: an array of platform ids or one text; stolen. Errors are copied.
void argos_delivery_sent (argos_delivery_t *self, json_t *ids);
void argos_delivery_refused (argos_delivery_t *self, const char *error); //  For good
void argos_delivery_unsent (argos_delivery_t *self, const char *error);  //  Later: nothing was sent
void argos_delivery_later (argos_delivery_t *self, int64_t wait_ms);     //  The platform says when
void argos_delivery_unknown (argos_delivery_t *self, const char *error); //  Sent, or not
void argos_delivery_replace (argos_delivery_t *self, json_t *calls);     //  These instead; stolen
void argos_delivery_found (argos_delivery_t *self, json_t *ids); //  NULL = it was not made; stolen

//  The same by what HTTP says, when there was no answer (phase) or 5xx; true = it was settled so.
bool argos_delivery_http (argos_delivery_t *self, const argos_http_answer_t *answer);

//  The draft that was asked for: the id of its message, NULL = there is none.
void argos_delivery_draft (argos_delivery_t *self, const char *id);

//  How a draft ended: the id of its message ("" = it is shown without one, and goes by itself),
//  NULL = it failed; wait_ms > 0: nothing more of this kind before.
void argos_adapter_drafted (argos_adapter_t *self, void *handle, const char *id, int64_t wait_ms);

//  Nobody knows whether it is shown. The next one, and find_draft, are told so.
void argos_adapter_draft_lost (argos_adapter_t *self, void *handle);

//  Answers a request: type is `thread.create.result` ... or `error` with {"code","reason"}; body
//  stolen.
void argos_adapter_answer (argos_adapter_ask_t *ask, const char *type, json_t *body);
void argos_adapter_answer_error (argos_adapter_ask_t *ask, argos_err_t code, const char *reason);

#endif
