//  argos_http_client_priv - what the files of argos_http_client share.

#ifndef ARGOS_HTTP_CLIENT_PRIV_H
#define ARGOS_HTTP_CLIENT_PRIV_H

#include "argos_curl.h"
#include "argos_http_client.h"

//  A file of a multipart body

typedef struct {
    int fd;           //  Borrowed
    curl_off_t place; //  What is read next
} argos_http_file_t;

struct argos_http_call {
    argos_http_client_t *client;      //  Whose
    CURL *easy;                       //  Handle
    curl_mime *mime;                  //  Parts, NULL = none
    argos_http_file_t *files;         //  One for each part; NULL = none
    struct curl_slist *headers;       //  Of the request
    argos_http_fn *fn;                //  Told at the end
    void *arg;                        //  Its argument
    char *body;                       //  Of the request, NULL = none
    size_t body_size, body_place;     //  Its bytes, and what has been given of it
    char *answer;                     //  Body of the answer, NULL = nothing yet
    size_t answer_size, answer_max;   //  Its bytes, and the limit
    int answer_fd;                    //  Where it goes instead, 0 = nowhere
    bool too_big, refused;            //  Why we have ended it ourselves
    char *secret;                     //  Masked in sentences, NULL = nothing
    char curl_error[CURL_ERROR_SIZE]; //  Libcurl's sentence
    argos_http_call_t *prev, *next;   //  In the list
};

struct argos_http_client {
    argos_curl_t curl;        //  Its transfers
    argos_http_call_t *calls; //  In order of their beginning
    size_t count;             //  How many
};

//  Libcurl's callbacks (argos_http_client_data.c)
size_t argos_http_on_body (char *buffer, size_t size, size_t count, void *arg);
size_t argos_http_on_file (char *buffer, size_t size, size_t count, void *arg);
int argos_http_on_seek (void *arg, curl_off_t offset, int origin);
size_t argos_http_on_data (char *data, size_t size, size_t count, void *arg);
curl_socket_t argos_http_on_open (void *arg, curlsocktype purpose, struct curl_sockaddr *address);

#endif
