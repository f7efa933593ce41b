//  argos_provider_priv - the structs that the two files of the provider share. Not for users.

#ifndef ARGOS_PROVIDER_PRIV_H
#define ARGOS_PROVIDER_PRIV_H

#include "argos_curl.h"
#include "argos_due.h"
#include "argos_provider.h"
#include "argos_sse.h"
#include "argos_tool_memo.h"

#define PROVIDER_IDLE 64 //  Easy handles kept for the next calls

struct argos_provider {
    argos_provider_settings_t settings; //  Who is called
    argos_curl_t curl;                  //  Its transfers
    int64_t wall;                       //  Time of this turn, msec since 1970
    struct curl_slist *headers;         //  Headers of every request
    char url[640];                      //  Of every request
    char host[256];                     //  Host name in it
    char base[512];                     //  The base address without user and password, for people
    char path[640];                     //  Path of `url`, for people
    bool local;                         //  It runs near by
    argos_due_t stalls;                 //  When which call may have been silent for too long
    argos_call_t *calls;                //  In flight
    size_t count;                       //  How many
    CURL *idle[PROVIDER_IDLE];          //  Easy handles to be used again
    size_t idle_count;                  //  How many
    argos_tool_memo_t tools;            //  Text of the tools of the newest call
};

struct argos_call {
    argos_provider_t *provider;       //  Its provider
    CURL *easy;                       //  Transfer
    char *body;                       //  Request body; NULL = no longer needed
    size_t body_size;                 //  Its bytes
    argos_call_handlers_t handlers;   //  Who is told
    void *arg;                        //  With what
    char seed[129];                   //  Makes missing tool call ids
    argos_answer_t *answer;           //  So far
    argos_sse_t sse;                  //  Event reader
    argos_json_carry_t carry;         //  Half pairs between chunks
    argos_text_t plain;               //  Body that is no event stream
    size_t received;                  //  Bytes of the answer
    argos_due_node_t stall;           //  In the heap of the provider
    int64_t stall_ms;                 //  Longest time without a data event, 0 = no limit
    int64_t data_ms;                  //  Time of the last data event
    int64_t reset_ms;                 //  What its headers say of the limit
    int64_t retry_after_ms;           //  What the provider asked for
    bool plain_body;                  //  The answer is no event stream
    bool told_type;                   //  The kind of body has been decided
    bool too_big;                     //  Over the limit
    char curl_error[CURL_ERROR_SIZE]; //  libcurl's words
    argos_call_t *prev, *next;        //  In the list
};

//  argos_provider_read.c: libcurl's callbacks for a body and for a header line
size_t argos_call_on_data (char *data, size_t one, size_t count, void *arg);
size_t argos_call_on_header (char *data, size_t one, size_t count, void *arg);

//  What the ended transfer has brought. Fills *error unless it is an answer.
argos_answer_kind_t argos_call_judge (
    argos_call_t *call, CURLcode code, argos_provider_error_t *error);

#endif
