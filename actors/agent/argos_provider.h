//  argos_provider - calls of a model over HTTP: libcurl multi inside the caller's loop.
//
//  Any number of calls at once in one thread; connections are reused; nothing blocks. The caller
//  polls argos_provider_fd (an epoll descriptor), calls argos_provider_turn when it is readable or
//  when argos_provider_due has come. A call ends exactly once: by on_end, or by argos_call_abort.
//
//  Limits: 16 MiB of an answer; 30 s to connect; 180 s without a data event, longer for long
//  conversations (no limit on local hosts).
//  There is no limit for a whole call: an answer may be long.

#ifndef ARGOS_PROVIDER_H
#define ARGOS_PROVIDER_H

#include "argos_answer.h"
#include "argos_config.h"
#include "argos_messages.h"
#include "argos_provider_error.h"

typedef struct argos_provider argos_provider_t;
typedef struct argos_call argos_call_t;

//  Who is called. Plain strings, so that it can be copied.

typedef struct {
    argos_provider_kind_t kind; //  Wire; rehearsal speaks the OpenAI one
    char base_url[512];         //  Without a slash at its end
    char model[129];            //  Model
    char key[4097];             //  Secret, "" = none is sent
    char problem[512];          //  Why no call can succeed, "" = none
    int64_t stall_ms;           //  Longest time without a data event; 0 = 180 s, off near by
    int64_t connect_ms;         //  Longest time to connect; 0 = 30 s
} argos_provider_settings_t;

//  What a call tells. All are called from argos_provider_turn only.

typedef struct {
    //  New text may be at the end of answer->text (up to answer->visible it is for the user). Once
    //  for each piece that was read from the socket.
    void (*on_text) (void *arg, const argos_answer_t *answer);
    //  It has ended and is freed after this. kind FAILED, CUT and EMPTY come with error, else error
    //  is NULL. answer is settled; borrowed.
    void (*on_end) (void *arg, argos_answer_t *answer, argos_answer_kind_t kind,
        const argos_provider_error_t *error);
} argos_call_handlers_t;

//  Fills *settings from the configuration (all but the address of the rehearsal provider, which has
//  one only when it runs). Strings that are too long become a problem.
void argos_provider_settings_init (
    argos_provider_settings_t *settings, const argos_config_provider_t *config);

//  Copies settings. NULL when the host gives no descriptor. curl_global_init is the program's duty.
argos_provider_t *argos_provider_new (const argos_provider_settings_t *settings);

//  Aborts what is open without a word. NULL-safe, idempotent.
void argos_provider_destroy (argos_provider_t **self_p);

int argos_provider_fd (const argos_provider_t *self);

//  When argos_provider_turn wants to be called by itself, monotonic msec; -1 = never.
int64_t argos_provider_due (const argos_provider_t *self);

//  Serves what is ready and due. now is monotonic msec; wall is msec since 1970 (Retry-After).
void argos_provider_turn (argos_provider_t *self, int64_t now, int64_t wall);

//  Begins a call; it ends through handlers. request->model NULL takes the configured one. seed
//  makes missing tool call ids. Never calls back from within. The call is owned by the provider;
//  the handle is valid until on_end or abort.
argos_call_t *argos_provider_call (argos_provider_t *self, const argos_request_t *request,
    const char *seed, const argos_call_handlers_t *handlers, void *arg, int64_t now);

//  Ends it at once, without a word: the connection is closed when the answer was not complete.
//  *call_p may be NULL.
void argos_call_abort (argos_call_t **call_p);

//  When its newest data event came, monotonic msec; at first when it began.
int64_t argos_call_data_ms (const argos_call_t *call);

//  Whether a host name of a URL is near by (this machine, a private network, the host of a
//  container): there a model may be silent for as long as it likes.
bool argos_provider_is_local (const char *host);

//  How long a call may be without a data event, msec; 0 = as long as it likes. What is set holds,
//  near by nothing does; a long request (bytes of its body) may think for longer, and an answer in
//  one piece is silent until it is there, but not for so long.
int64_t argos_provider_stall_ms (int64_t set_ms, bool local, size_t body_size, bool whole);

//  Calls in flight.
size_t argos_provider_calls (const argos_provider_t *self);

#endif
