//  argos_intent - what a message may be about.
//
//  Invariant: what is not understood offers everything: a tool is left out only when something else
//  was asked for. Limits: 128 words of a message are looked at, 31 letters of each.

#include "argos_intent.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 128 //  Of a message
#define WORD_SIZE 32  //  Bytes of one, terminated
#define TURNS 3       //  That a query joins
#define TRAILING 2    //  Words behind a greeting

//  Lists of words end with NULL

static const char *const s_bg[] = { "background", "bg", NULL };
static const char *const s_job_task[] = { "job", "jobs", "task", "tasks", NULL };
static const char *const s_job[] = { "job", "jobs", NULL };
static const char *const s_verb[] = { "kill", "stop", "cancel", "terminate", "check", "tail",
    "show", "list", NULL };
static const char *const s_state[] = { "output", "status", "done", "finished", "running", NULL };

//  Two words close to each other, in this order

static const struct {
    const char *const *first;     //  One of these
    size_t gap;                   //  Characters between the two, at most
    const char *const *second;    //  And one of these
    argos_intent_domain_t domain; //  Are about that
    bool jobs;                    //  And about background jobs
} s_pairs[] = {
    { s_bg, 1, s_job_task, ARGOS_INTENT_FILES, true },
    { s_verb, 16, s_job, ARGOS_INTENT_FILES, true },
    { s_job, 16, s_state, ARGOS_INTENT_FILES, true },
};

//  Single words

static const struct {
    argos_intent_domain_t domain; //  Are about that
    const char *const words[20];  //  Any of these
} s_words[] = {
    { ARGOS_INTENT_FILES,
        { "file", "files", "folder", "folders", "directory", "path", "script", "code", "repo",
            "repository", "shell", "terminal", "command", "compile", "git", "attachment", NULL } },
    { ARGOS_INTENT_WEB, { "web", "website", "url", "http", "https", "google", "browse", "browser",
                            "internet", "online", "news", "weather", NULL } },
    { ARGOS_INTENT_MEMORY, { "remember", "forget", "memory", "recall", "earlier", NULL } },
    { ARGOS_INTENT_MESSAGES, { "message", "dm", "tell", "notify", NULL } },
    { ARGOS_INTENT_SCHEDULE,
        { "remind", "reminder", "schedule", "cron", "daily", "weekly", "tomorrow", NULL } },
};

//  The tools of each domain

static const char *const s_tools[ARGOS_INTENT_DOMAINS][16] = {
    [ARGOS_INTENT_FILES] = { "terminal", "manage_bg_jobs", "process", "attachment", "read_file",
        "write_file", "patch", "search_files", "execute_code", NULL },
    [ARGOS_INTENT_WEB] = { "web_search", "web_extract", "browser", NULL },
    [ARGOS_INTENT_MEMORY] = { "memory", "session_search", NULL },
    [ARGOS_INTENT_MESSAGES] = { "send_message", NULL },
    [ARGOS_INTENT_SCHEDULE] = { "cronjob", NULL },
};

static const char *const s_job_tools[] = { "manage_bg_jobs", "process", NULL };

static const char *const s_greetings[] = { "hi", "hello", "hey", "yo", "thanks", "thx", "thank",
    "bye", "goodbye", "morning", "evening", "cheers", "lol", "nice", "cool", "great", NULL };

//  A short assent or a choice, as the whole message

static const char *const s_assents[] = { "yes", "y", "yep", "yeah", "ok", "okay", "sure", "do it",
    "go ahead", "go on", "continue", "please do", "proceed", "no", "1", "2", "3", "a", "b", "c",
    "the first", "the second", "both", NULL };

//  ------------------------------------------------------------------------------------------------
//  Words

typedef struct {
    char text[WORD_SIZE]; //  In lower case
    size_t from, to;      //  Where it is
} word_t;

typedef struct {
    word_t list[WORDS_MAX]; //  They
    size_t count;           //  How many
} words_t;

static bool
s_in (const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp (word, *list) == 0)
            return true;
    return false;
}

static bool
s_is_letter (char c)
{
    return isalnum ((unsigned char) c) || ((unsigned char) c & 0x80) || c == '_';
}

static void
s_split (words_t *self, const char *text)
{
    self->count = 0;
    for (size_t i = 0; text[i] && self->count < WORDS_MAX;) {
        if (!s_is_letter (text[i])) {
            i++;
            continue;
        }
        word_t *word = &self->list[self->count++];
        size_t length = 0;
        for (word->from = i; s_is_letter (text[i]); i++)
            if (length < WORD_SIZE - 1)
                word->text[length++] = (char) tolower ((unsigned char) text[i]);
        word->text[length] = 0;
        word->to = i;
    }
}

static bool
s_has_pair (const words_t *words, const char *const *first, size_t gap, const char *const *second)
{
    for (size_t i = 0; i < words->count; i++) {
        if (!s_in (words->list[i].text, first))
            continue;
        for (size_t j = i + 1; j < words->count; j++)
            if (words->list[j].from - words->list[i].to <= gap &&
                s_in (words->list[j].text, second))
                return true;
    }
    return false;
}

static void
s_set_domains (argos_intent_t *self, const words_t *words)
{
    for (size_t i = 0; i < sizeof s_pairs / sizeof *s_pairs; i++)
        if (s_has_pair (words, s_pairs[i].first, s_pairs[i].gap, s_pairs[i].second)) {
            self->domains |= 1U << s_pairs[i].domain;
            self->jobs = self->jobs || s_pairs[i].jobs;
        }
    for (size_t i = 0; i < sizeof s_words / sizeof *s_words; i++)
        for (size_t j = 0; j < words->count; j++)
            if (s_in (words->list[j].text, s_words[i].words))
                self->domains |= 1U << s_words[i].domain;
}

//  Whether nothing is asked for: nothing is said, or a greeting.

static bool
s_is_casual (const words_t *words)
{
    if (!words->count)
        return true;
    return s_in (words->list[0].text, s_greetings) && words->count <= 1 + TRAILING;
}

static bool
s_is_assent (const words_t *words)
{
    char text[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < words->count && used + WORD_SIZE + 2 < sizeof text; i++)
        used += (size_t) snprintf (
            text + used, sizeof text - used, "%s%s", i ? " " : "", words->list[i].text);
    return words->count && words->count <= 3 && s_in (text, s_assents);
}

//  ------------------------------------------------------------------------------------------------
//  Messages

static const char *
s_content (const json_t *row, const char *role)
{
    const char *own = json_string_value (json_object_get (row, "role"));
    const char *content = json_string_value (json_object_get (row, "content"));
    return own && strcmp (own, role) == 0 ? content : NULL;
}

//  Adds a text to the query, as far as there is room.

static void
s_add (argos_intent_t *self, const char *text)
{
    size_t used = strlen (self->query), length = 0;
    int room = ARGOS_INTENT_QUERY;
    for (const char *c = self->query; *c; c++)
        room -= ((unsigned char) *c & 0xC0) != 0x80;
    for (; text[length] && used + length + 5 < sizeof self->query; length++)
        if (((unsigned char) text[length] & 0xC0) != 0x80 && room-- <= 1)
            break;
    snprintf (self->query + used, sizeof self->query - used, "%s%.*s", used ? "\n" : "",
        (int) length, text);
}

void
argos_intent_read_text (argos_intent_t *self, const char *text)
{
    words_t words;
    *self = (argos_intent_t){ .query = "" };
    s_add (self, text);
    s_split (&words, text);
    s_set_domains (self, &words);
    self->continuation = !self->domains && s_is_assent (&words);
    self->low_signal = !self->continuation && !self->domains && s_is_casual (&words);
}

//  Whether the answer before was a question.

static bool
s_was_asked (const json_t *rows)
{
    for (size_t i = json_array_size (rows); i-- > 0;) {
        const char *said = s_content (json_array_get (rows, i), "assistant");
        if (!said || !*said)
            continue;
        size_t length = strlen (said);
        while (length && isspace ((unsigned char) said[length - 1]))
            length--;
        return length && said[length - 1] == '?';
    }
    return false;
}

void
argos_intent_read (argos_intent_t *self, const json_t *rows)
{
    const char *turns[TURNS];
    size_t count = 0;
    for (size_t i = json_array_size (rows); i-- > 0 && count < TURNS;) {
        const char *said = s_content (json_array_get (rows, i), "user");
        if (said)
            turns[count++] = said;
    }
    argos_intent_read_text (self, count ? turns[0] : "");
    words_t words;
    s_split (&words, count ? turns[0] : "");
    if (!self->domains && words.count && words.count <= 4 && s_was_asked (rows)) {
        self->continuation = true;
        self->low_signal = false;
    }
    if (!self->continuation || count < 2)
        return;
    //  About what was said before: the oldest first
    self->query[0] = 0;
    while (count)
        s_add (self, turns[--count]);
    s_split (&words, self->query);
    s_set_domains (self, &words);
}

//  ------------------------------------------------------------------------------------------------
//  Tools

bool
argos_intent_has_tool (argos_intent_domain_t domain, const char *tool)
{
    return s_in (tool, s_tools[domain]);
}

static bool
s_offers (const argos_intent_t *self, const char *tool)
{
    bool known = false;
    for (int domain = 0; domain < ARGOS_INTENT_DOMAINS; domain++) {
        bool has = argos_intent_has_tool ((argos_intent_domain_t) domain, tool);
        if (has && (self->domains & 1U << domain))
            return true;
        known = known || has;
    }
    return !known || (self->jobs && s_in (tool, s_job_tools));
}

json_t *
argos_intent_tools (const argos_intent_t *self, const json_t *tools)
{
    json_t *list = json_array ();
    size_t index;
    json_t *tool;
    json_array_foreach (tools, index, tool) {
        const char *name = json_string_value (json_object_get (tool, "name"));
        if (!self->low_signal && (!self->domains || !name || s_offers (self, name)))
            json_array_append (list, tool);
    }
    return list;
}
