//  argos_telegram_priv - what the files of the Telegram adapter share.

#ifndef ARGOS_TELEGRAM_PRIV_H
#define ARGOS_TELEGRAM_PRIV_H

#include "argos_backoff.h"
#include "argos_log.h"
#include "argos_telegram.h"
#include "argos_tg_error.h"
#include "argos_tg_read.h"

#define TG_BATCH_MAX 50    //  Updates at a time
#define TG_CONFLICTS_MAX 5 //  Then whoever fetches our updates is there to stay

typedef struct telegram telegram_t;
typedef struct tg_call tg_call_t;
typedef struct tg_batch tg_batch_t;
typedef struct tg_webhook tg_webhook_t;

//  The answer of the Bot API; borrowed for the call

typedef struct {
    const argos_http_answer_t *http; //  How far it came
    bool ok;                         //  It was done
    const json_t *result;            //  Of an ok
    argos_tg_error_t error;          //  Else, when there was an answer
    const char *why;                 //  A sentence, "" = none
    int64_t wait_ms;                 //  Of ARGOS_TG_WAIT
    int64_t migrated;                //  Of ARGOS_TG_MIGRATED: the new id
} tg_answer_t;

typedef void (tg_fn) (void *arg, const tg_answer_t *answer);

struct telegram {
    argos_adapter_t *adapter;    //  Whose
    char *token;                 //  Secret
    char base[520];              //  Address of the API, without a slash at its end
    int64_t id;                  //  Of the bot, 0 = not known yet
    char username[64];           //  Of the bot
    bool topics;                 //  Its private chats have topics
    json_t *aliases;             //  {new id of a chat: the first one}
    json_t *targets;             //  {the first id of a chat: the newest}
    argos_adapter_timer_t timer; //  What is next: begin, poll, or look at a held batch
    argos_backoff_t backoff;     //  Of begin and poll
    int conflicts;               //  In a row
    int64_t offset;              //  Of the next poll, 0 = from the beginning
    int64_t offset_at;           //  When it was stored, msec since 1970
    int64_t held_since;          //  Since when a batch is held open, 0 = none is
    int64_t held_last;           //  Its last update
    bool running;                //  Updates are fetched
    bool no_previews;            //  The server knows none: drafts are messages
    bool closing;                //  The end has begun
    tg_call_t *calls;            //  All calls under way
    tg_batch_t *batches;         //  All batches that are being stored
    tg_webhook_t *webhook;       //  NULL = polling
};

//  argos_telegram_api.c: one call; params is stolen. files (indices of parts) as argos_http_part_t.
//  flags: once, and a timeout (0 = 30 s).
bool tg_api (telegram_t *self, const char *method, json_t *params, bool once, int64_t timeout_ms,
    tg_fn *fn, void *arg);
bool tg_upload (telegram_t *self, const char *method, json_t *params,
    const argos_http_part_t *files, size_t count, tg_fn *fn, void *arg);
void tg_calls_free (telegram_t *self);
argos_http_call_t *tg_download (
    telegram_t *self, const char *path, int fd, int64_t max, argos_http_fn *fn, void *arg);
json_t *tg_chat (const telegram_t *self, const char *chat_id); //  As it is called now, new
void tg_migrated (telegram_t *self, int64_t old_chat, int64_t new_chat);

//  argos_telegram_poll.c
void tg_begin (telegram_t *self);
void tg_poll (void *arg);
void tg_fail (
    telegram_t *self, const tg_answer_t *answer, const char *what, void (*again) (void *));

//  argos_telegram_batch.c: reads updates (borrowed) and stores them; fn is told then, and says true
//  when the batch is to be forgotten instead, because more may come.
void tg_batch (telegram_t *self, const json_t *updates, bool final,
    void (*fn) (void *arg, int64_t last, bool held), void *arg);
void tg_batches_free (telegram_t *self);

//  argos_telegram_plan.c
json_t *tg_plan (void *self, const argos_delivery_t *delivery, char *error, size_t size);
json_t *tg_pieces (const char *text, size_t limit); //  Of Markdown: [{"text","entities"?}], new
json_t *tg_cut (const char *text, size_t limit);    //  Of a text as it is shown: [{"text"}], new
void tg_put_reply (telegram_t *self, const char *chat_id, const char *thread_id,
    const char *reply_to, size_t index, json_t *params);
size_t tg_half (const char *text); //  Units of about a half of it

//  argos_telegram_send.c
void tg_deliver (void *self, argos_delivery_t *delivery, json_t *call, bool again);
json_t *tg_ids (const json_t *result); //  Of the messages that a call has made: texts, new

//  argos_telegram_draft.c
void tg_draft (void *self, const argos_draft_t *draft);

//  argos_telegram_webhook.c: NULL with a sentence.
tg_webhook_t *tg_webhook_new (
    telegram_t *self, int port, const char *secret, char *reason, size_t size);
void tg_webhook_destroy (tg_webhook_t **self_p);

#endif
