//  argos_api_actor - the HTTP runs API: POST /v1/runs, run status, event streams (SSE), stop,
//  health.
//
//  In:    HTTP/1.1 on host:port; entries of topic run.<id>; answers of the broker; pipe: $TERM,
//  DRAIN (new runs get 503) Out:   commits [run.create, message.inbound], turn.stop, store reads;
//  pipe: READY | FAILED Timer: libmicrohttpd's own; 15 s of silence on a stream; 30 s until a log
//  without readers is dropped Owner: the supervisor. Limits: config.connection_limit connections,
//  10,000,000 bytes of body, 4096 events or 4 MiB of
//         retained events per watched run, 64 watched runs without a reader.

#ifndef ARGOS_API_ACTOR_H
#define ARGOS_API_ACTOR_H

#include "argos_link.h"

#include <czmq.h>

typedef struct {
    argos_link_t link;      //  To the broker; copied before READY
    const char *host;       //  Address to bind; NULL = 127.0.0.1
    int port;               //  0 = any free one; the log line "listening" names it
    const char *key;        //  Bearer key, at least 16 visible characters; NULL only with the next
    const char *home;       //  Whose http-keys.json counts; NULL = none
    const char *model_name; //  Offered by /v1/models; NULL or "" = argos
    bool allow_unauthenticated_loopback; //  Serve loopback peers without a key; only when bound to
                                         //  loopback
    const char *const *cors_origins; //  NULL-terminated list of allowed origins or "*"; NULL = none
    int max_concurrent_runs;         //  Executing runs before 429; 0 = no cap
    int run_retention_s;             //  How long a run is kept that has ended: told to clients
    bool direct_model_requests;      //  The model of a chat goes to the provider
    const char *tls_cert, *tls_key;  //  Files in PEM; both NULL = in clear
    bool allow_cleartext;            //  In clear also when others than loopback can connect
    int listen_fd;                   //  A socket that is bound already; 0 = none
    int64_t disconnect_grace_ms;     //  From a hang-up to the end of a chat's run
    int64_t keepalive_ms;            //  Silence on a stream before a comment; 0 = 15 s
    int connection_limit;            //  Open connections; 0 = 8192
} argos_api_config_t;

//  The actor function; everything in config is copied before READY. FAILED when the key is too
//  weak, the address can't be bound (the log says why) or the peer can't be made.
void argos_api_actor (zsock_t *pipe, void *config);

#endif
