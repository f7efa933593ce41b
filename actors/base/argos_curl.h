//  argos_curl - the transfers of a libcurl multi handle inside of somebody's loop.
//
//  One thread; nothing blocks. The owner polls `fd` (an epoll set of libcurl's sockets) and calls
//  argos_curl_turn when it is readable, or when `due_ms` has come. curl_global_init is the
//  program's duty.

#ifndef ARGOS_CURL_H
#define ARGOS_CURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    CURLM *multi;   //  All transfers; NULL = cleared
    int fd;         //  epoll set of their sockets
    int64_t due_ms; //  When libcurl wants to be called by itself, monotonic msec; -1 = never
    int64_t now;    //  Time of the turn that runs; to be set before a handle is added, too
} argos_curl_t;

//  A transfer has ended: its CURLOPT_PRIVATE, and how. It may take its handle out of the multi.
typedef void (argos_curl_fn) (void *transfer, CURLcode code);

//  connections: idle ones that are kept, 0 = as libcurl does by itself. libcurl holds self, so it
//  must not move. Returns 0, or -1 when the host gives no descriptor; then it is clear.
int argos_curl_init (argos_curl_t *self, long connections);

//  The handles have to be out of it. Idempotent.
void argos_curl_clear (argos_curl_t *self);

//  Serves what is ready and due, and tells what has ended.
void argos_curl_turn (argos_curl_t *self, int64_t now, argos_curl_fn *fn);

#endif
