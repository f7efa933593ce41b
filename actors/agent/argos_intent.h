//  argos_intent - what a message may be about, so that a request offers the tools for that and not
//  all there are. Pure.
//
//  Domains are rows of a table: words, and pairs of words close to each other. A greeting offers
//  none; what fits no domain offers all; "yes" and the like is about what was said before.

#ifndef ARGOS_INTENT_H
#define ARGOS_INTENT_H

#include <jansson.h>
#include <stdbool.h>

#define ARGOS_INTENT_QUERY 600 //  Characters of a query

typedef enum {
    ARGOS_INTENT_FILES,    //  Files, commands, background jobs
    ARGOS_INTENT_WEB,      //  Pages and searches
    ARGOS_INTENT_MEMORY,   //  What was said, what is to be kept in mind
    ARGOS_INTENT_MESSAGES, //  To others
    ARGOS_INTENT_SCHEDULE, //  Later, and again
    ARGOS_INTENT_DOMAINS   //  How many there are
} argos_intent_domain_t;

typedef struct {
    bool low_signal;   //  Needs no tools at all
    bool continuation; //  Goes on with what was said before
    bool jobs;         //  Is about background jobs: their tools are offered too
    unsigned domains;  //  Bits of argos_intent_domain_t
    char query[ARGOS_INTENT_QUERY * 4 + 1]; //  What was looked at
} argos_intent_t;

//  Reads the newest message of a conversation: rows of {role, content}, oldest first.
void argos_intent_read (argos_intent_t *self, const json_t *rows);

//  The same of one text that stands alone.
void argos_intent_read_text (argos_intent_t *self, const char *text);

//  Whether the tools of a domain hold that one.
bool argos_intent_has_tool (argos_intent_domain_t domain, const char *tool);

//  Those of the tools (rows with a name) that are to be offered, new. A tool of no domain always
//  is, unless nothing is.
json_t *argos_intent_tools (const argos_intent_t *self, const json_t *tools);

#endif
