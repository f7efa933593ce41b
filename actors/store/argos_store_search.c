//  argos_store_search - finding messages by their words, and the indexer behind it.
//
//  Invariants: a write costs nothing for search: rows are indexed in slices when nothing waits.
//  What is not indexed yet is put into an index of its own in memory by each search, so that it
//  finds the same words either way. A search goes from the newest messages back, range by range,
//  until 500 hits are found, which are ranked, newer ones better, or BUDGET_NS is used up, or more
//  is not indexed than it may take: then the result says `partial` and where the next search goes
//  on. A beginning (`word*`) is looked up as the words that begin so; when they are too many the
//  messages themselves are, from the newest back: there will be enough of them. An index that is
//  damaged is made anew from the texts; until then the texts are looked through.
//
//  Limits: 500 rows or 64 KiB of a slice; TAIL_MAX rows that are not indexed for each search. A
//  beginning with Chinese, Japanese or Korean characters is looked up in one range, which takes as
//  long as it is common.

#include "argos_store_priv.h"
#include "argos_store_query.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLICE_ROWS 500             //  Rows of a slice
#define SLICE_BYTES 65536          //  Characters of a slice
#define BEHIND 32                  //  Rows that are worth a slice, which costs a commit
#define TAIL_MAX 5000              //  Rows that are not indexed
#define ENOUGH 500                 //  Hits that are ranked
#define RANGE 4096                 //  Messages of the first range
#define BROAD 256                  //  The same when they are looked through
#define QUICK_NS INT64_C (1500000) //  After a range that was quicker a wider one follows
#define BUDGET_NS 12000000         //  Of a search
#define HITS_MAX 100               //  Of a page
#define INDEXED "indexed"          //  Name of the mark in meta

//  A hit that is to be shown

typedef struct {
    int64_t id;  //  Message
    double rank; //  Smaller is better
    bool tail;   //  In the index in memory
} hit_t;

typedef struct {
    argos_store_t *store;       //  Ours
    const json_t *body;         //  What was asked
    argos_store_query_t *query; //  Cleaned
    int64_t mark;               //  Last message that is indexed
    int64_t low, high;          //  Messages looked at: behind low, up to high
    int64_t next;               //  Where it goes on: messages before it, 0 = all were looked at
    size_t found;               //  Hits so far
    int64_t limit;              //  Hits wanted
    char *spelled;              //  Query without beginnings, NULL = as it is
    bool broad;                 //  A beginning has too many words
    size_t count;               //  Hits
    hit_t hits[HITS_MAX];       //  By rank
} search_t;

static int64_t
s_mark (argos_store_t *self)
{
    return argos_store_number (self, 0, ARGOS_SQL_META_GET, "s", INDEXED);
}

//  ------------------------------------------------------------------------------------------------
//  The indexer

//  The last row of the next slice; the mark when there is none. Whether there are more behind it.

static int64_t
s_slice_end (argos_store_t *self, int64_t mark, int *ret_rows, bool *ret_more)
{
    int64_t end = mark, bytes = 0;
    int rows = 0;
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_TEXT_SIZES, "i", mark);
    bool more = stmt != NULL;
    while (more && rows < SLICE_ROWS && bytes < SLICE_BYTES) {
        end = argos_sql_int (stmt, 0);
        bytes += argos_sql_int (stmt, 1);
        rows++;
        more = argos_store_next (self, stmt);
    }
    argos_store_end (self, ARGOS_SQL_TEXT_SIZES);
    *ret_rows = rows;
    *ret_more = more;
    return end;
}

//  Whether what has failed is an index of search: it holds nothing that is not elsewhere. The
//  failure is dealt with then.

bool
argos_store_search_damaged (argos_store_t *self)
{
    if (argos_store_fault (self) != ARGOS_FAULT_INDEX)
        return false;
    self->failed = 0;
    self->index_damaged = true;
    self->indexed_all = false;
    return true;
}

//  The same for a transaction of the indexer, which is undone.

static bool
s_undone (argos_store_t *self)
{
    bool damaged = argos_store_search_damaged (self);
    if (damaged && argos_store_in_transaction (self))
        argos_store_exec (self, "ROLLBACK");
    return damaged;
}

//  Both indexes empty; the indexer begins with the first message. The rows that FTS5 has made are
//  put back by hand first: it does not empty what it can't read.

#define EMPTY(index)                                                                               \
    "DELETE FROM " index "_data; DELETE FROM " index "_idx; DELETE FROM " index "_docsize;"        \
    "INSERT INTO " index "_data VALUES (1, x''), (10, x'00000000000000');"                         \
    "INSERT INTO " index " (" index ") VALUES ('delete-all');"

static bool
s_renew (argos_store_t *self)
{
    argos_store_exec (self, "BEGIN IMMEDIATE");
    argos_store_exec (self, EMPTY ("message_words") EMPTY ("message_trigrams"));
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", INDEXED, (int64_t) 0);
    argos_store_exec (self, "COMMIT");
    self->index_damaged = false;
    return !self->failed;
}

bool
argos_store_index_messages (argos_store_t *self)
{
    if (self->index_damaged)
        return s_renew (self);
    if (self->indexed_all && self->messages_behind < BEHIND)
        return false;
    int rows;
    bool more;
    int64_t mark = s_mark (self), end = s_slice_end (self, mark, &rows, &more);
    //  With nothing behind this slice the next one waits until it is worth its commit
    self->indexed_all = !more;
    if (end == mark)
        self->messages_behind = 0;
    if (end == mark || self->failed)
        return false;
    argos_store_exec (self, "BEGIN IMMEDIATE");
    argos_store_run (self, ARGOS_SQL_WORDS_ADD, "ii", mark, end);
    argos_store_run (self, ARGOS_SQL_TRIGRAMS_ADD, "ii", mark, end);
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", INDEXED, end);
    argos_store_exec (self, "COMMIT");
    if (self->failed)
        self->indexed_all = false;
    self->messages_behind -= rows < self->messages_behind ? rows : self->messages_behind;
    return s_undone (self) || !self->failed;
}

bool
argos_store_trash_prune (argos_store_t *self)
{
    if (!self->messages_dropped || self->index_damaged)
        return false;
    int64_t mark = s_mark (self);
    argos_store_exec (self, "BEGIN IMMEDIATE");
    argos_store_run (self, ARGOS_SQL_WORDS_DROP, "i", mark);
    argos_store_run (self, ARGOS_SQL_TRIGRAMS_DROP, "i", mark);
    argos_store_run (self, ARGOS_SQL_TRASHED_DROP, "");
    bool more = !self->failed && argos_store_changed (self);
    argos_store_exec (self, "COMMIT");
    if (s_undone (self))
        return true;
    self->messages_dropped = more;
    return more;
}

//  ------------------------------------------------------------------------------------------------
//  Searching

static void
s_add_hit (search_t *self, int64_t id, double rank, bool tail)
{
    size_t at = self->count;
    for (size_t i = 0; i < self->count; i++)
        if (self->hits[i].id == id)
            return;
    while (at > 0 && self->hits[at - 1].rank > rank)
        at--;
    if (at >= (size_t) self->limit)
        return;
    if (self->count < (size_t) self->limit)
        self->count++;
    memmove (self->hits + at + 1, self->hits + at, (self->count - at - 1) * sizeof *self->hits);
    self->hits[at] = (hit_t){ .id = id, .rank = rank, .tail = tail };
}

//  Runs a query for hits: id, rank. The first parameter is its text.

static void
s_hits (search_t *self, argos_sql_t sql, const char *text, int64_t low, int64_t high, bool tail)
{
    argos_store_t *store = self->store;
    const json_t *body = self->body;
    argos_sql_row_t *stmt =
        argos_store_query (store, sql, "seeeeiiiii", text, argos_store_member (body, "session_id"),
            argos_store_member (body, "platform"), argos_store_member (body, "role"),
            argos_store_member (body, "owner"), argos_store_integer (body, "since", 0),
            argos_store_integer (body, "until", INT64_MAX), store->now, low, high);
    while (stmt) {
        self->found++;
        s_add_hit (self, argos_sql_int (stmt, 0), argos_sql_real (stmt, 1), tail);
        if (!argos_store_next (store, stmt))
            break;
    }
    argos_store_end (store, sql);
}

//  Some messages into the index in memory, alone.

static void
s_fill (search_t *self, int64_t low, int64_t high)
{
    argos_store_t *store = self->store;
    bool trigrams = self->query->kind == ARGOS_QUERY_TRIGRAMS;
    argos_store_exec (
        store, trigrams ? "CREATE VIRTUAL TABLE IF NOT EXISTS temp.tail_trigrams USING fts5"
                          " (content, tokenize = 'trigram'); DELETE FROM tail_trigrams"
                        : "CREATE VIRTUAL TABLE IF NOT EXISTS temp.tail_words USING fts5 (content);"
                          " DELETE FROM tail_words");
    argos_store_run (
        store, trigrams ? ARGOS_SQL_TAIL_TRIGRAMS : ARGOS_SQL_TAIL_WORDS, "ii", low, high);
}

//  What is not indexed yet, as much of the newest as may be. The next search goes on before it when
//  that is not all.

static void
s_fill_tail (search_t *self)
{
    int64_t from = self->high - self->mark > TAIL_MAX ? self->high - TAIL_MAX : self->mark;
    s_fill (self, from, self->high);
    if (from > self->mark && from > self->low)
        self->next = from + 1;
}

static const char *
s_text (const search_t *self)
{
    return self->spelled ? self->spelled : self->query->text;
}

//  The hits of one range. Any of the words when there is no index for them.

static void
s_search_range (search_t *self, int64_t low, int64_t high)
{
    if (self->broad) {
        s_fill (self, low, high);
        s_hits (self, ARGOS_SQL_FIND_TAIL_WORDS, self->query->text, low, high, true);
        return;
    }
    if (self->query->kind != ARGOS_QUERY_PLAIN) {
        bool trigrams = self->query->kind == ARGOS_QUERY_TRIGRAMS;
        s_hits (self, trigrams ? ARGOS_SQL_FIND_TRIGRAMS : ARGOS_SQL_FIND_WORDS, s_text (self), low,
            high, false);
        return;
    }
    for (size_t i = 0; i < self->query->count; i++) {
        const argos_store_word_t *word = &self->query->words[i];
        char text[256];
        if (argos_store_query_is_operator (self->query, i) || word->size >= sizeof text)
            continue;
        memcpy (text, word->text, word->size);
        text[word->size] = 0;
        s_hits (self, ARGOS_SQL_FIND_PLAIN, text, low, high, false);
    }
}

static int64_t
s_clock (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool
s_has_star (const search_t *self)
{
    for (size_t i = 0; i < self->query->count; i++)
        if (self->query->words[i].star)
            return true;
    return false;
}

//  Ranges from high down to low, as wide as they are quick.

static void
s_search_back (search_t *self, int64_t high)
{
    int64_t start = s_clock (), began = start, width = self->broad ? BROAD : RANGE;
    if (s_has_star (self) && !self->spelled && !self->broad)
        width = INT64_MAX / 2;
    while (high > self->low && self->found < ENOUGH && !self->store->failed) {
        if (began - start > BUDGET_NS) {
            self->next = high + 1;
            return;
        }
        int64_t low = high - self->low > width ? high - width : self->low;
        s_search_range (self, low, high);
        high = low;
        int64_t now = s_clock ();
        if (now - began < QUICK_NS && width < INT64_MAX / 4)
            width *= 2;
        else if (now - began > 4 * QUICK_NS && width > RANGE / 8)
            width /= 4;
        began = now;
    }
}

static void
s_search_index (search_t *self)
{
    bool trigrams = self->query->kind == ARGOS_QUERY_TRIGRAMS;
    if (!trigrams && s_has_star (self)) {
        self->spelled = argos_store_prefix_text (self->store, self->query);
        self->broad = !self->spelled && !self->store->failed;
    }
    if (self->high > self->mark) {
        s_fill_tail (self);
        s_hits (self, trigrams ? ARGOS_SQL_FIND_TAIL_TRIGRAMS : ARGOS_SQL_FIND_TAIL_WORDS,
            self->query->text, self->low, self->high, true);
    }
    if (!self->next)
        s_search_back (self, self->high < self->mark ? self->high : self->mark);
}

//  With the index, or without it when it turns out to be damaged.

static void
s_search (search_t *self)
{
    if (self->query->kind == ARGOS_QUERY_NONE)
        return;
    if (self->query->kind != ARGOS_QUERY_PLAIN && !self->store->index_damaged) {
        s_search_index (self);
        if (!argos_store_search_damaged (self->store))
            return;
        self->count = self->found = 0;
        self->next = 0;
        self->broad = false;
    }
    self->query->kind = ARGOS_QUERY_PLAIN;
    s_search_back (self, self->high);
}

//  Which messages can be hits at all: those of the session, and before the one that was given.

static void
s_bounds (search_t *self, int64_t newest)
{
    const char *session = argos_store_member (self->body, "session_id");
    int64_t before = argos_store_integer (self->body, "before", INT64_MAX);
    argos_store_session_t found;
    self->high = newest;
    if (*session && !argos_store_session_find (
                        self->store, session, argos_store_member (self->body, "owner"), &found))
        self->high = 0; //  Somebody else's is answered as one that is not there, and as fast
    else if (*session) {
        argos_sql_row_t *stmt =
            argos_store_query (self->store, ARGOS_SQL_MESSAGE_RANGE, "s", session);
        self->low = stmt ? argos_sql_int (stmt, 0) - 1 : 0;
        self->high = stmt ? argos_sql_int (stmt, 1) : 0;
        argos_store_end (self->store, ARGOS_SQL_MESSAGE_RANGE);
    }
    if (self->high >= before)
        self->high = before - 1;
}

static json_t *
s_snippet (search_t *self, const hit_t *hit)
{
    static const argos_sql_t sql[2][2] = { { ARGOS_SQL_SNIPPET_WORDS,
                                               ARGOS_SQL_SNIPPET_TAIL_WORDS },
        { ARGOS_SQL_SNIPPET_TRIGRAMS, ARGOS_SQL_SNIPPET_TAIL_TRIGRAMS } };
    const argos_store_query_t *query = self->query;
    argos_sql_t which = query->kind == ARGOS_QUERY_PLAIN
                            ? ARGOS_SQL_SNIPPET_PLAIN
                            : sql[query->kind == ARGOS_QUERY_TRIGRAMS][hit->tail];
    char word[256] = "";
    if (query->words[0].size < sizeof word)
        memcpy (word, query->words[0].text, query->words[0].size);
    argos_sql_row_t *stmt = argos_store_query (self->store, which, "si",
        query->kind == ARGOS_QUERY_PLAIN ? (const char *) word
        : hit->tail                      ? query->text
                                         : s_text (self),
        hit->id);
    json_t *snippet = stmt ? argos_store_string (stmt, 0) : json_string ("");
    argos_store_end (self->store, which);
    return snippet;
}

static json_t *
s_show (search_t *self, const hit_t *hit)
{
    static const char *const names[] = { "session_id", "role", "title", "platform" };
    json_t *shown =
        json_pack ("{s:I, s:o}", "id", (json_int_t) hit->id, "snippet", s_snippet (self, hit));
    argos_sql_row_t *stmt = argos_store_query (self->store, ARGOS_SQL_HIT, "i", hit->id);
    for (int i = 0; stmt && i < 4; i++)
        if (!argos_sql_is_null (stmt, i))
            json_object_set_new (shown, names[i], argos_store_string (stmt, i));
    if (stmt)
        json_object_set_new (shown, "at", json_integer (argos_sql_int (stmt, 4)));
    argos_store_end (self->store, ARGOS_SQL_HIT);
    return shown;
}

bool
argos_store_session_search (argos_store_t *self, argos_store_unit_t *unit)
{
    search_t search = { .store = self, .body = unit->body, .mark = s_mark (self) };
    search.query = argos_store_query_new (argos_store_member (unit->body, "text"));
    search.limit = argos_store_integer (unit->body, "limit", 20);
    int64_t newest = argos_store_number (self, 0, ARGOS_SQL_MESSAGE_NEWEST, "");
    s_bounds (&search, newest);
    s_search (&search);
    json_t *hits = json_array ();
    for (size_t i = 0; i < search.count; i++) {
        //  Range after range was in memory: what is shown is brought back
        if (search.broad)
            s_fill (&search, search.hits[i].id - 1, search.hits[i].id);
        json_array_append_new (hits, s_show (&search, &search.hits[i]));
    }
    free (search.spelled);
    argos_store_query_destroy (&search.query);
    unit->result = json_pack ("{s:o, s:b}", "hits", hits, "partial", search.next != 0);
    if (search.next)
        json_object_set_new (unit->result, "next", json_integer (search.next));
    return true;
}
