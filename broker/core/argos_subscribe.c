//  argos_subscribe - the words subscribe and unsubscribe, by name and by pattern.
//
//  Invariant: a pattern has a subscription on each topic in memory that fits it and that its
//  session may read, joined when the topic appears; these don't keep the topic. Each subscription
//  of a session has entries of its own. Limits: READS_MAX topics and PATTERNS_MAX patterns of one
//  session.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define READS_MAX 1024  //  Topics of one session, by name
#define PATTERNS_MAX 64 //  Patterns of one session

//  By its name, not by a pattern that it fits.

static subscription_t *
s_find (session_t *session, const topic_t *topic)
{
    subscription_t *sub;
    DL_FOREACH2 (session->subscriptions, sub, snext)
        if (sub->topic == topic && !sub->pattern)
            return sub;
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Patterns

static pattern_t *
s_find_pattern (session_t *session, const char *text)
{
    pattern_t *pattern;
    DL_FOREACH2 (session->patterns, pattern, snext)
        if (strcmp (pattern->text, text) == 0)
            return pattern;
    return NULL;
}

void
argos_subscribe_free_pattern (pattern_t *pattern)
{
    session_t *session = pattern->session;
    argos_core_t *self = session->core;
    subscription_t *sub, *next;
    DL_FOREACH_SAFE2 (session->subscriptions, sub, next, snext)
        if (sub->pattern == pattern)
            argos_reader_free (sub);
    pattern_t **list = (pattern_t **) argos_trie_insert (self->patterns, pattern->text);
    DL_DELETE (*list, pattern);
    if (!*list)
        argos_trie_remove (self->patterns, pattern->text);
    DL_DELETE2 (session->patterns, pattern, sprev, snext);
    free (pattern);
}

//  What comes from now on is the pattern's. A pattern may fit more than its reader may read.

static void
s_join (pattern_t *pattern, topic_t *topic)
{
    if (!argos_session_may_read (pattern->session, topic->name, false))
        return;
    subscription_t *sub = argos_reader_new (pattern->session, topic, pattern);
    sub->live = topic->counter;
    sub->ended = true;
}

static void
s_join_all (void *arg, void *value)
{
    pattern_t *pattern, *list = value;
    DL_FOREACH (list, pattern)
        s_join (pattern, arg);
}

void
argos_subscribe_join (topic_t *topic)
{
    argos_trie_match (topic->core->patterns, topic->name, s_join_all, topic);
}

void
argos_subscribe_part (topic_t *topic)
{
    while (topic->subscriptions)
        argos_reader_drop (topic->subscriptions);
}

static pattern_t *
s_new_pattern (session_t *session, const argos_header_t *header)
{
    argos_core_t *self = session->core;
    pattern_t *pattern = calloc (1, sizeof *pattern);
    assert (pattern);
    pattern->session = session;
    memcpy (pattern->id, header->id, sizeof pattern->id);
    memcpy (pattern->text, header->name, sizeof pattern->text);
    pattern_t **list = (pattern_t **) argos_trie_insert (self->patterns, pattern->text);
    DL_APPEND (*list, pattern);
    DL_APPEND2 (session->patterns, pattern, sprev, snext);
    topic_t *topic, *next;
    HASH_ITER (hh, self->topics, topic, next)
        if (!topic->closed && argos_trie_fits (pattern->text, topic->name))
            s_join (pattern, topic);
    return pattern;
}

//  ------------------------------------------------------------------------------------------------
//  Words

//  Returns ARGOS_OK, or what is wrong with a subscribe and a sentence.

static argos_err_t
s_check (const session_t *session, const argos_header_t *header, json_int_t from,
    const char **ret_reason)
{
    bool pattern = argos_trie_is_pattern (header->name);
    int patterns;
    const pattern_t *each;
    *ret_reason = "subscribe goes to a topic, with an id";
    if (!header->id[0] || header->to != ARGOS_TO_TOPIC)
        return ARGOS_INVALID;
    *ret_reason = "a pattern has no empty segment and > only at its end; it reads what is live";
    if (pattern && (!argos_trie_is_valid (header->name) || from != 0))
        return ARGOS_INVALID;
    *ret_reason = "this role may not read that topic";
    if (!argos_session_may_read (session, header->name, pattern))
        return ARGOS_DENIED;
    *ret_reason = "at most 1024 topics and 64 patterns";
    DL_COUNT2 (session->patterns, each, patterns, snext);
    return session->reads >= READS_MAX || patterns >= PATTERNS_MAX ? ARGOS_BUSY : ARGOS_OK;
}

static void
s_read_pattern (session_t *session, const argos_header_t *header)
{
    pattern_t *pattern = s_find_pattern (session, header->name);
    if (pattern)
        argos_subscribe_free_pattern (pattern);
    pattern = s_new_pattern (session, header);
    argos_reader_say_end (session, pattern->id, -1, false);
}

static void
s_read_topic (session_t *session, const argos_header_t *header, int64_t from)
{
    topic_t *topic = argos_topic_get (session->core, header->name);
    subscription_t *sub = s_find (session, topic);
    if (sub)
        argos_reader_drop (sub); //  Read anew; the topic stays, since the new one follows
    sub = argos_reader_new (session, topic, NULL);
    sub->next = from;
    memcpy (sub->id, header->id, sizeof sub->id);
    if (!argos_topic_known (topic) && !topic->asking)
        argos_topic_look (topic);
    argos_reader_pump (sub);
}

void
argos_subscribe_begin (session_t *session, const argos_header_t *header, argos_frame_t *frame)
{
    argos_core_t *self = session->core;
    const char *reason = NULL;
    json_t *body = argos_core_body (self, session->conn, header, frame);
    if (!body)
        return;
    json_int_t from = json_integer_value (json_object_get (body, "from"));
    json_decref (body);
    argos_err_t code = s_check (session, header, from, &reason);
    if (code != ARGOS_OK)
        argos_core_refuse (self, session->conn, header->id, code, reason, -1, false);
    else if (argos_trie_is_pattern (header->name))
        s_read_pattern (session, header);
    else
        s_read_topic (session, header, from);
}

void
argos_subscribe_end (session_t *session, const argos_header_t *header)
{
    topic_t *topic;
    HASH_FIND_STR (session->core->topics, header->name, topic);
    subscription_t *sub = topic ? s_find (session, topic) : NULL;
    pattern_t *pattern = s_find_pattern (session, header->name);
    if (sub)
        argos_reader_free (sub);
    if (pattern)
        argos_subscribe_free_pattern (pattern);
    if (header->id[0])
        argos_core_word (session->core, session->conn, "accepted", header->id, "{}");
}

void
argos_subscribe_leave (session_t *session)
{
    subscription_t *sub, *next;
    while (session->patterns) //  NOLINTNEXTLINE(clang-analyzer-unix.Malloc): taken out when freed
        argos_subscribe_free_pattern (session->patterns);
    DL_FOREACH_SAFE2 (session->subscriptions, sub, next, snext)
        argos_reader_free (sub);
}
