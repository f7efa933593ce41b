//  argos_store_topic - topics and their kept entries.
//
//  Invariant: the complete number of an entry is its number within this start plus 2^32 for each
//  start since the topic was made, so that none is used twice. A closed topic takes no more
//  entries. Limits: a page has 64 entries or 256 KiB, but at least one entry.

#include "argos_store_priv.h"

#include "argos_buggify.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_ENTRIES 64   //  Entries of a page
#define PAGE_BYTES 262144 //  Bytes of a page
#define TRIM_EVERY 64     //  Entries of bounded topics between two looks
#define BOOT_SHIFT 32     //  Numbers of one start

//  A topic as its row says

typedef struct {
    int64_t id;                     //  Row, 0 = there is none
    char owner[ARGOS_NAME_MAX + 1]; //  Base name of who made it, may write to it
    int64_t boot;                   //  Start in which it was made
    bool closed;                    //  Nothing follows
    int64_t newest;                 //  Newest kept number, -1 = none
} topic_t;

static topic_t
s_find (argos_store_t *self, const char *name)
{
    topic_t topic = { .newest = -1 };
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_TOPIC_GET, "s", name);
    if (stmt) {
        topic.id = argos_sql_int (stmt, 0);
        argos_store_text (stmt, 1, topic.owner, sizeof topic.owner);
        topic.boot = argos_sql_int (stmt, 2);
        topic.closed = argos_sql_int (stmt, 3) != 0;
        topic.newest = argos_sql_int (stmt, 4);
    }
    argos_store_end (self, ARGOS_SQL_TOPIC_GET);
    return topic;
}

static topic_t
s_find_or_make (argos_store_t *self, const char *name, const char *owner)
{
    topic_t topic = s_find (self, name);
    if (topic.id || self->failed)
        return topic;
    argos_store_run (self, ARGOS_SQL_TOPIC_ADD, "ssii", name, owner, self->info.boot, self->now);
    topic.id = argos_store_last_number (self);
    topic.boot = self->info.boot;
    argos_store_text_copy (topic.owner, owner, sizeof topic.owner);
    return topic;
}

//  A topic that belongs to owner, whoever asked for it first.

int
argos_store_topic_make (argos_store_t *self, const char *name, const char *owner)
{
    return argos_store_run (
        self, ARGOS_SQL_TOPIC_OWN, "ssii", name, owner, self->info.boot, self->now);
}

bool
argos_store_topic (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    topic_t topic =
        *req->owner ? s_find_or_make (self, req->name, req->owner) : s_find (self, req->name);
    if (!topic.id)
        return argos_store_refuse (ans, ARGOS_NOT_FOUND, "no such topic");
    memcpy (ans->owner, topic.owner, sizeof ans->owner);
    ans->boot = topic.boot;
    ans->number = topic.newest;
    ans->closed = topic.closed;
    return true;
}

//  A topic that tells how things are, not what was said, keeps its newest entries only; looked at
//  now and then.

static void
s_trim (argos_store_t *self, int64_t topic, const char *name)
{
    static const struct {
        const char *prefix; //  Of the topic
        int64_t entries;    //  That are kept
    } bounded[] = { { "out.", 1024 } };
    for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++)
        if (strncmp (name, bounded[i].prefix, strlen (bounded[i].prefix)) == 0 &&
            ++self->bounded_entries % TRIM_EVERY == 0)
            argos_store_run (self, ARGOS_SQL_JOURNAL_TRIM, "ii", topic, bounded[i].entries);
}

//  A kept entry as a part of a commit

bool
argos_store_entry (argos_store_t *self, argos_store_unit_t *unit)
{
    const argos_storage_part_t *part = &unit->req->parts[unit->part];
    topic_t topic = s_find_or_make (self, unit->header->name, unit->sender);
    argos_storage_part_t *answer = &unit->ans->parts[unit->part];
    memcpy (answer->from, topic.owner, sizeof answer->from);
    if (!self->failed && !unit->req->any_topic && strcmp (topic.owner, unit->sender) != 0)
        return argos_store_refuse (unit->ans, ARGOS_DENIED, "the topic belongs to another");
    //  Our own actors may be late for a run that has ended, with what else is in their commit
    if (!self->failed && topic.closed && !unit->req->trusted)
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "the topic is closed");
    if (self->failed || topic.closed)
        return true;
    int64_t number = part->number + ((self->info.boot - topic.boot) << BOOT_SHIFT);
    const argos_frame_t *body = part->body;
    argos_store_run (self, ARGOS_SQL_JOURNAL_ADD, "iissibb", topic.id, number,
        (const char *) unit->header->type, (const char *) unit->req->from, self->now,
        part->header->data, part->header->size, body && body->size ? body->data : NULL,
        body ? body->size : (size_t) 0);
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (
            unit->ans, ARGOS_CONFLICT, "an entry of that number is there already");
    s_trim (self, topic.id, unit->header->name);
    if (unit->header->last)
        argos_store_run (self, ARGOS_SQL_TOPIC_CLOSE, "ii", topic.id, self->now);
    answer->number = number;
    answer->at = self->now;
    return true;
}

//  The entry that stmt stands on, into part; its size.

static size_t
s_read_entry (argos_sql_row_t *stmt, argos_storage_part_t *part)
{
    part->number = argos_sql_int (stmt, 0);
    argos_store_text (stmt, 1, part->from, sizeof part->from);
    part->at = argos_sql_int (stmt, 2);
    part->header = argos_store_frame (stmt, 3);
    part->body = argos_store_frame (stmt, 4);
    return (part->header ? part->header->size : 0) + (part->body ? part->body->size : 0);
}

bool
argos_store_journal (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    topic_t topic = s_find (self, req->name);
    if (!topic.id)
        return argos_store_refuse (ans, ARGOS_NOT_FOUND, "no such topic");
    memcpy (ans->owner, topic.owner, sizeof ans->owner);
    ans->boot = topic.boot;
    ans->number = topic.newest;
    ans->closed = topic.closed;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_JOURNAL_PAGE, "ii", topic.id, req->number);
    if (!stmt)
        return true;
    ans->parts = calloc (PAGE_ENTRIES, sizeof *ans->parts);
    if (!ans->parts)
        abort ();
    size_t bytes = 0;
    do {
        if (ans->part_count == PAGE_ENTRIES || bytes >= PAGE_BYTES ||
            (ans->part_count > 0 && ARGOS_BUGGIFY ("store.page"))) {
            ans->more = true;
            break;
        }
        bytes += s_read_entry (stmt, &ans->parts[ans->part_count++]);
    } while (argos_store_next (self, stmt));
    argos_store_end (self, ARGOS_SQL_JOURNAL_PAGE);
    return true;
}
