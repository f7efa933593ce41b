//  argos_http_priv - what the files of argos_http share; nobody else includes it.

#ifndef ARGOS_HTTP_PRIV_H
#define ARGOS_HTTP_PRIV_H

#include "argos_http.h"
#include "argos_http_ring.h"

#include <microhttpd.h>
#include <sodium.h>

#define ARGOS_HTTP_EXTRA_MAX 8 //  Further headers of one answer

//  Code and sentence of a 431
#define ARGOS_HTTP_TOO_LARGE                                                                       \
    "head_too_large", "The head of the request is larger than about 6000 bytes."

//  What a connection has to finish in a time

typedef enum {
    ARGOS_HTTP_FIRST_HEAD, //  Its first head
    ARGOS_HTTP_NEXT_HEAD,  //  Another one
    ARGOS_HTTP_BODY,       //  A body
    ARGOS_HTTP_WAITS       //  How many; nothing
} argos_http_wait_t;

typedef struct argos_http_conn {
    argos_http_t *http;     //  Owner
    int fd;                 //  Socket
    argos_http_wait_t wait; //  What it has to finish
    int64_t due;            //  Monotonic msec
    argos_http_req_t *req;  //  Of which the server library has to tell the end, or NULL
    struct argos_http_conn *prev, *next; //  Those that have to finish the same
} argos_http_conn_t;

//  What the epoll set knows of a socket whose end is looked for

typedef struct {
    argos_http_stream_t *stream; //  A stream, or
    argos_http_req_t *req;       //  a request that is answered later
    int fd;                      //  The socket, -1 = it is not in the set
} argos_http_hangup_t;

struct argos_http_req {
    argos_http_hangup_t hangup;           //  Its end is looked for
    void (*gone) (void *arg);             //  Called then
    void *gone_arg;                       //  For it
    argos_http_t *http;                   //  Owner
    struct MHD_Connection *connection;    //  Its connection
    const char *path;                     //  Form of its path in the table, NULL = none fits
    const argos_http_route_t *route;      //  Who handles it, NULL when it was answered before
    char *param;                          //  What the braces matched, or NULL
    char owner[ARGOS_HTTP_OWNER_MAX + 1]; //  Of its key
    unsigned scopes;                      //  Of its key
    const char *origin;            //  Allowed Origin header, or NULL; lives as long as the request
    char note[48];                 //  For the handler, when it is called again
    char *body;                    //  The body so far
    size_t size, capacity;         //  Bytes of body, and of its buffer
    uint64_t seen;                 //  Bytes of body received, kept or not
    struct MHD_Response *response; //  The answer, until it is queued
    unsigned status;               //  Its status
    bool too_long;                 //  Its target is
    bool bare;                     //  Nothing is left for more than the answer itself
    bool cramped;                  //  Nor for that
    bool begun;                    //  Its head has been looked at
    bool answered;                 //  The answer is made
    bool called;                   //  The handler has been called
    bool http10;                   //  The client speaks HTTP/1.0: no chunks
    bool suspended;                //  Waits for the answer, on the list of the owner
    struct {
        const char *name;          //  Header, static
        char *value;               //  Its value
    } extra[ARGOS_HTTP_EXTRA_MAX]; //  Further headers
    unsigned extra_count;          //  How many
    argos_http_req_t *prev, *next; //  Suspended requests
};

struct argos_http_stream {
    argos_http_t *http;                                    //  Owner
    struct MHD_Connection *connection;                     //  Its connection
    ssize_t (*fill) (void *arg, char *buffer, size_t max); //  Makes bytes
    void (*closed) (void *arg);                            //  Told at the end
    void *arg;                                             //  For both
    argos_http_hangup_t hangup;                            //  Its end is looked for
    bool suspended;                                        //  Has nothing to send
    bool dead;                                             //  The peer hung up, or we stop
    argos_http_stream_t *prev, *next;                      //  All streams
};

struct argos_http {
    struct MHD_Daemon *daemon; //  The server
    int epoll;                 //  Its epoll descriptor and the sockets of the streams, for hang-ups
    int bell;                  //  eventfd in that set: something has been resumed
    bool rung;                 //  It was rung and has not been heard yet
    int port;                  //  Bound port
    int head_ms;               //  Msec to the first head
    bool loopback;             //  Bound to loopback
    bool unauthenticated;      //  Loopback peers need no key
    argos_http_ring_t *ring;   //  The keys
    char **origins;            //  Allowed origins, NULL-terminated, or NULL
    const argos_http_route_t *routes; //  The table
    size_t route_count;               //  How many
    uint64_t (*counts)[6];            //  Answers by route (the last: none) and first digit
    uint64_t id_base, id_count;       //  Of request ids: random, and how many there were
    unsigned stream_count;            //  Open streams
    void *ctx;                        //  For the handlers
    bool tls;                         //  Nothing is in clear
    argos_http_conn_t *conns[ARGOS_HTTP_WAITS]; //  Connections that have to finish something
    argos_http_req_t *waiting;                  //  Suspended requests
    argos_http_stream_t *streams;               //  Open streams
};

//  argos_http_req.c: what the server library calls: for the first line of a request (cls = owner;
//  returns the request), for its head and the pieces of its body, at its end.
void *argos_http_req_new (void *cls, const char *target, struct MHD_Connection *connection);
enum MHD_Result argos_http_req_access (void *cls, struct MHD_Connection *connection,
    const char *url, const char *method, const char *version, const char *data, size_t *size,
    void **req_p);
void argos_http_req_completed (void *cls, struct MHD_Connection *connection, void **req_p,
    enum MHD_RequestTerminationCode code);

//  Ends it; the server library has forgotten it.
void argos_http_req_destroy (argos_http_req_t **self_p);

//  argos_http_reply.c: writes an error to the socket, past the server library, which has no memory
//  left for it and closes next. Nothing over TLS.
void argos_http_refuse (
    const argos_http_conn_t *conn, unsigned status, const char *code, const char *message);

//  argos_http_target.c: take the target of the first line, as it was sent: path and param are set,
//  or too_long.
void argos_http_target (argos_http_req_t *req, const char *target);

//  The checks before a handler: each returns true when the request may go on, else it has been
//  answered.
bool argos_http_check_framing (argos_http_req_t *req, const char *method, const char *version);
bool argos_http_check_origin (argos_http_req_t *req, const char *method);
bool argos_http_check_route (argos_http_req_t *req, const char *method);
bool argos_http_check_auth (argos_http_req_t *req, const char *method, const char *url);

//  Let a suspended connection go on. The server does not notice by itself: the bell makes the loop
//  run it.
void argos_http_resume (argos_http_t *self, struct MHD_Connection *connection);

//  argos_http_conn.c: the server library tells of a connection (cls = owner); which one it is; what
//  it has to finish from now on; those that are late go; msec until the next is, -1 = none.
//  Connections may be NULL.
void argos_http_conn_notify (void *cls, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code);
argos_http_conn_t *argos_http_conn_of (struct MHD_Connection *connection);
void argos_http_conn_wait (argos_http_conn_t *self, argos_http_wait_t wait);
void argos_http_conn_tick (argos_http_t *http);
int64_t argos_http_conn_timeout (const argos_http_t *http);

//  argos_http_listen.c: a listening socket, or -1 with a sentence in reason (256 bytes); port and
//  loopback of self are set. The server around it. Returns 0, or -1 with a reason.
int argos_http_listen (argos_http_t *self, const argos_http_config_t *config, char *reason);
bool argos_http_is_loopback (const struct sockaddr *address);

//  Look for the end of a connection, or no longer.
void argos_http_look (
    argos_http_t *self, struct MHD_Connection *connection, argos_http_hangup_t *hangup);
void argos_http_look_away (argos_http_t *self, argos_http_hangup_t *hangup);

//  Hand the answer that was made to the server.
enum MHD_Result argos_http_queue (argos_http_req_t *req);

#endif
