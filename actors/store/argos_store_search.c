//  argos_store_search - finding messages by their words, and the indexer behind it.
//
//  Invariants: a write costs nothing for search: rows are indexed in slices when nothing waits.
//  What is not indexed yet is put into an index of its own in memory by each search, so that it
//  finds the same words either way. Of the hits the newest 2000 are ranked, newer ones better.
//  An index that is damaged is made anew from the texts; until then the texts are looked through.
//  Limits: 500 rows or 128 KiB of a slice; TAIL_MAX rows that are not indexed, or PLAIN_MAX rows
//  that are looked through without an index: what is older is not found, and `partial` says so.

#include "argos_store_priv.h"
#include "argos_store_query.h"

#include <string.h>

#define SLICE_ROWS 500     //  Rows of a slice
#define SLICE_BYTES 131072 //  Characters of a slice
#define BEHIND 32          //  Rows that are worth a slice, which costs a commit
#define TAIL_MAX 5000      //  Rows that are not indexed
#define PLAIN_MAX 100000   //  Rows looked through
#define HITS_MAX 100       //  Of a page
#define INDEXED "indexed"  //  Name of the mark in meta

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
    int64_t limit;              //  Hits wanted
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

//  The last row of the next slice; the mark when there is none.

static int64_t
s_slice_end (argos_store_t *self, int64_t mark)
{
    int64_t end = mark, bytes = 0;
    sqlite3_stmt *stmt = argos_store_query (self, ARGOS_SQL_TEXT_SIZES, "i", mark);
    for (int rows = 0; stmt && rows < SLICE_ROWS && bytes < SLICE_BYTES; rows++) {
        end = sqlite3_column_int64 (stmt, 0);
        bytes += sqlite3_column_int64 (stmt, 1);
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_TEXT_SIZES);
    return end;
}

//  Whether what has failed is an index of search: it holds nothing that is not elsewhere. The
//  failure is dealt with then.

static bool
s_damaged (argos_store_t *self)
{
    if (self->failed != SQLITE_CORRUPT_VTAB)
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
    bool damaged = s_damaged (self);
    if (damaged && !sqlite3_get_autocommit (self->db))
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
    int64_t mark = s_mark (self), end = s_slice_end (self, mark);
    self->indexed_all = end == mark;
    if (self->indexed_all)
        self->messages_behind = 0;
    if (self->indexed_all || self->failed)
        return false;
    argos_store_exec (self, "BEGIN IMMEDIATE");
    argos_store_run (self, ARGOS_SQL_WORDS_ADD, "ii", mark, end);
    argos_store_run (self, ARGOS_SQL_TRIGRAMS_ADD, "ii", mark, end);
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", INDEXED, end);
    argos_store_exec (self, "COMMIT");
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
s_hits (search_t *self, argos_sql_t sql, const char *text, int64_t from, bool tail)
{
    argos_store_t *store = self->store;
    const json_t *body = self->body;
    sqlite3_stmt *stmt =
        argos_store_query (store, sql, "seeeeiiii", text, argos_store_member (body, "session_id"),
            argos_store_member (body, "platform"), argos_store_member (body, "role"),
            argos_store_member (body, "owner"), argos_store_integer (body, "since", 0),
            argos_store_integer (body, "until", INT64_MAX), store->now, from);
    while (stmt) {
        s_add_hit (self, sqlite3_column_int64 (stmt, 0), sqlite3_column_double (stmt, 1), tail);
        if (!argos_store_next (store, stmt))
            break;
    }
    argos_store_end (store, sql);
}

//  What is not indexed yet, in memory. Returns whether all of it is there.

static bool
s_fill_tail (search_t *self, int64_t newest)
{
    argos_store_t *store = self->store;
    bool trigrams = self->query->kind == ARGOS_QUERY_TRIGRAMS;
    argos_store_exec (
        store, trigrams ? "CREATE VIRTUAL TABLE IF NOT EXISTS temp.tail_trigrams USING fts5"
                          " (content, tokenize = 'trigram'); DELETE FROM tail_trigrams"
                        : "CREATE VIRTUAL TABLE IF NOT EXISTS temp.tail_words USING fts5 (content);"
                          " DELETE FROM tail_words");
    int64_t from = newest - self->mark > TAIL_MAX ? newest - TAIL_MAX : self->mark;
    argos_store_run (store, trigrams ? ARGOS_SQL_TAIL_TRIGRAMS : ARGOS_SQL_TAIL_WORDS, "i", from);
    return from == self->mark;
}

static bool
s_search_index (search_t *self, int64_t newest)
{
    bool trigrams = self->query->kind == ARGOS_QUERY_TRIGRAMS, whole = true;
    s_hits (self, trigrams ? ARGOS_SQL_FIND_TRIGRAMS : ARGOS_SQL_FIND_WORDS, self->query->text, 0,
        false);
    if (newest > self->mark) {
        whole = s_fill_tail (self, newest);
        s_hits (self, trigrams ? ARGOS_SQL_FIND_TAIL_TRIGRAMS : ARGOS_SQL_FIND_TAIL_WORDS,
            self->query->text, 0, true);
    }
    return whole;
}

static bool s_search_plain (search_t *self, int64_t newest);

//  With the index, or without it when it turns out to be damaged.

static bool
s_search (search_t *self, int64_t newest)
{
    bool whole = true;
    if (self->query->kind == ARGOS_QUERY_NONE)
        return true;
    if (self->query->kind != ARGOS_QUERY_PLAIN && !self->store->index_damaged) {
        whole = s_search_index (self, newest);
        if (!s_damaged (self->store))
            return whole;
        self->count = 0;
    }
    self->query->kind = ARGOS_QUERY_PLAIN;
    return s_search_plain (self, newest);
}

//  Any of the words, the newest first.

static bool
s_search_plain (search_t *self, int64_t newest)
{
    int64_t from = newest > PLAIN_MAX ? newest - PLAIN_MAX : 0;
    for (size_t i = 0; i < self->query->count; i++) {
        const argos_store_word_t *word = &self->query->words[i];
        char text[256];
        if (argos_store_query_is_operator (self->query, i) || word->size >= sizeof text)
            continue;
        memcpy (text, word->text, word->size);
        text[word->size] = 0;
        s_hits (self, ARGOS_SQL_FIND_PLAIN, text, from, false);
    }
    return from == 0;
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
    sqlite3_stmt *stmt = argos_store_query (self->store, which, "si",
        query->kind == ARGOS_QUERY_PLAIN ? (const char *) word : query->text, hit->id);
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
    sqlite3_stmt *stmt = argos_store_query (self->store, ARGOS_SQL_HIT, "i", hit->id);
    for (int i = 0; stmt && i < 4; i++)
        if (sqlite3_column_type (stmt, i) != SQLITE_NULL)
            json_object_set_new (shown, names[i], argos_store_string (stmt, i));
    if (stmt)
        json_object_set_new (shown, "at", json_integer (sqlite3_column_int64 (stmt, 4)));
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
    bool whole = s_search (&search, newest);
    json_t *hits = json_array ();
    for (size_t i = 0; i < search.count; i++)
        json_array_append_new (hits, s_show (&search, &search.hits[i]));
    argos_store_query_destroy (&search.query);
    unit->result = json_pack ("{s:o, s:b}", "hits", hits, "partial", !whole);
    return true;
}
