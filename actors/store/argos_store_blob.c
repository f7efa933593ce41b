//  argos_store_blob - files by their content: sent in pieces, read in pieces, kept while a run
//  needs them.
//
//  Invariants: a blob is complete only after its bytes have had its hash. The state of the hash is
//  kept with the row, so that a piece costs what it has, not what was sent before. An incomplete
//  one belongs to its sender: nobody else can spoil it. Age is uptime, so that no jump of a clock
//  removes anything. Limits: those of argos_store_blobs_t; a piece is at most 256 KiB; a slice of
//  pruning looks at 64 rows or removes 4 pieces.

#include "argos_base64.h"
#include "argos_store_priv.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MAX 262144  //  Bytes of a piece
#define SIZE_LEAST 4096   //  Bytes that the smallest blob counts in the total
#define SLICE_ROWS 64     //  Rows looked at by a slice of pruning
#define WALK_MS 600000    //  Uptime between two walks
#define TOTAL "blobs"     //  Name of the total in meta
#define TEXT_MAX 256      //  Bytes of a media type or a name, terminated
#define DAY_MS 86400000LL //  Default of how long one is kept that nobody needs

//  A blob as its row says

typedef struct {
    int64_t number;                 //  0 = there is none
    int64_t size, have;             //  Bytes of all, and of what is there
    bool complete;                  //  All is there and has the hash
    crypto_hash_sha256_state state; //  After what is there, unless complete
    char media_type[TEXT_MAX];      //  "" = not known
    char name[TEXT_MAX];            //  "" = not known
} blob_t;

void
argos_store_set_blobs (argos_store_t *self, const argos_store_blobs_t *limits)
{
    self->blobs = *limits;
}

void
argos_store_blob_defaults (argos_store_blobs_t *limits)
{
    *limits = (argos_store_blobs_t){
        .max_bytes = 64 * ARGOS_STORE_MIB, .total_bytes = 4096 * ARGOS_STORE_MIB, .keep_ms = DAY_MS
    };
}

//  The one of this sender, "" = the complete one.

static blob_t
s_find (argos_store_t *self, const char *id, const char *sender)
{
    blob_t blob = { .number = 0 };
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_BLOB_FIND, "ss", id, sender);
    if (stmt) {
        const void *state = argos_sql_bytes (stmt, 5);
        blob.number = argos_sql_int (stmt, 0);
        blob.size = argos_sql_int (stmt, 1);
        blob.have = argos_sql_int (stmt, 2);
        argos_store_text (stmt, 3, blob.media_type, sizeof blob.media_type);
        argos_store_text (stmt, 4, blob.name, sizeof blob.name);
        blob.complete = !state;
        //  A state of another build fits nothing; then the hash will not fit either
        if (state && argos_sql_size (stmt, 5) == sizeof blob.state)
            memcpy (&blob.state, state, sizeof blob.state);
    }
    argos_store_end (self, ARGOS_SQL_BLOB_FIND);
    return blob;
}

//  The complete one if there is one, else what this sender has sent of it.

static blob_t
s_find_any (argos_store_t *self, const char *id, const char *sender)
{
    blob_t blob = s_find (self, id, "");
    return blob.number || self->failed ? blob : s_find (self, id, sender);
}

//  The total of all sizes goes up or down.

static int64_t
s_counted (int64_t size)
{
    return size > SIZE_LEAST ? size : SIZE_LEAST;
}

static void
s_count (argos_store_t *self, int64_t by)
{
    int64_t total = argos_store_number (self, 0, ARGOS_SQL_META_GET, "s", TOTAL);
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", TOTAL, total + by);
}

//  The row goes at once, its pieces later, a slice at a time.

static void
s_drop (argos_store_t *self, int64_t number, int64_t size)
{
    argos_store_run (self, ARGOS_SQL_BLOB_DROP, "i", number);
    argos_store_run (self, ARGOS_SQL_BLOB_TRASH, "i", number);
    self->trash_empty = false;
    s_count (self, -s_counted (size));
}

//  ------------------------------------------------------------------------------------------------
//  Sending

//  Makes the row. False is a refusal.

static bool
s_begin (argos_store_t *self, argos_store_unit_t *unit, const char *id, int64_t size, blob_t *blob)
{
    argos_storage_ans_t *ans = unit->ans;
    if (size > self->blobs.max_bytes)
        return argos_store_refuse (ans, ARGOS_TOO_BIG, "a file of that size is not taken");
    int64_t total = argos_store_number (self, 0, ARGOS_SQL_META_GET, "s", TOTAL);
    if (total + s_counted (size) > self->blobs.total_bytes)
        return argos_store_refuse (ans, ARGOS_BUSY, "all files together have reached their limit");
    crypto_hash_sha256_init (&blob->state);
    blob->size = size;
    argos_store_run (self, ARGOS_SQL_BLOB_ADD, "ssiieeb", id, (const char *) unit->sender, size,
        self->uptime, argos_store_member (unit->body, "media_type"),
        argos_store_member (unit->body, "name"), (const void *) &blob->state, sizeof blob->state);
    blob->number = argos_store_last_number (self);
    s_count (self, s_counted (size));
    return true;
}

//  The hash does not fit: what is there is worthless. As a refusal undoes all that its request has
//  done, it is noted, and dropped behind the batch.

static bool
s_spoiled (argos_store_t *self, argos_store_unit_t *unit, int64_t number)
{
    if (self->spoiled_count < ARGOS_STORE_SPOILED_MAX)
        self->spoiled[self->spoiled_count++] = number;
    return argos_store_refuse (
        unit->ans, ARGOS_INVALID, "the bytes don't have that hash; send them anew from the start");
}

static bool
s_is_spoiled (const argos_store_t *self, int64_t number)
{
    for (size_t i = 0; i < self->spoiled_count; i++)
        if (self->spoiled[i] == number)
            return true;
    return false;
}

void
argos_store_drop_spoiled (argos_store_t *self)
{
    if (self->spoiled_count == 0)
        return;
    argos_store_exec (self, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < self->spoiled_count; i++) {
        int64_t size = argos_store_number (self, -1, ARGOS_SQL_BLOB_PARTIAL, "i", self->spoiled[i]);
        if (size >= 0)
            s_drop (self, self->spoiled[i], size);
    }
    argos_store_exec (self, "COMMIT");
    self->spoiled_count = 0;
}

//  Adds the bytes to the hash and to the rows; the last ones decide.

static bool
s_append (argos_store_t *self, argos_store_unit_t *unit, const char *id, blob_t *blob,
    const unsigned char *bytes, size_t size)
{
    crypto_hash_sha256_update (&blob->state, bytes, size);
    if (size)
        argos_store_run (
            self, ARGOS_SQL_CHUNK_ADD, "iib", blob->number, blob->have, (const void *) bytes, size);
    blob->have += (int64_t) size;
    if (blob->have < blob->size) {
        argos_store_run (self, ARGOS_SQL_BLOB_GROW, "iiib", blob->number, blob->have, self->uptime,
            (const void *) &blob->state, sizeof blob->state);
        return true;
    }
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256_final (&blob->state, hash);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    if (strcmp (hex, strchr (id, ':') + 1) != 0)
        return s_spoiled (self, unit, blob->number);
    argos_store_run (self, ARGOS_SQL_BLOB_COMPLETE, "ii", blob->number, self->uptime);
    return true;
}

static bool
s_put (argos_store_t *self, argos_store_unit_t *unit, const unsigned char *bytes, size_t size)
{
    const char *id = argos_store_member (unit->body, "blob");
    int64_t whole = argos_store_integer (unit->body, "size", 0);
    int64_t offset = argos_store_integer (unit->body, "offset", 0);
    argos_storage_ans_t *ans = unit->ans;
    if (offset + (int64_t) size > whole || (size == 0 && whole > 0))
        return argos_store_refuse (ans, ARGOS_INVALID, "the piece is empty, or beyond the size");
    blob_t blob = s_find_any (self, id, unit->sender);
    if (blob.number && blob.size != whole)
        return argos_store_refuse (ans, ARGOS_CONFLICT, "it has been begun with another size");
    if (s_is_spoiled (self, blob.number))
        return argos_store_refuse (ans, ARGOS_BUSY, "it is being dropped; send it again");
    if (blob.complete && blob.number) {
        argos_store_run (self, ARGOS_SQL_BLOB_TOUCH, "ii", blob.number, self->uptime);
        return true;
    }
    if (offset < blob.have)
        return true;
    if (offset > blob.have)
        return argos_store_refuse (
            ans, ARGOS_CONFLICT, "something is missing before this piece; ask blob.stat");
    if (!blob.number && !s_begin (self, unit, id, whole, &blob))
        return false;
    return self->failed ? false : s_append (self, unit, id, &blob, bytes, size);
}

bool
argos_store_blob_put (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *data = json_object_get (unit->body, "data");
    unsigned char *bytes = malloc (PIECE_MAX);
    if (!bytes)
        abort ();
    long size =
        argos_base64_decode (json_string_value (data), json_string_length (data), bytes, PIECE_MAX);
    bool kept;
    if (size >= 0)
        kept = s_put (self, unit, bytes, (size_t) size);
    else
        kept = argos_store_refuse (
            unit->ans, ARGOS_INVALID, "data: expected base64 of at most 262144 bytes");
    free (bytes);
    return kept;
}

//  ------------------------------------------------------------------------------------------------
//  Reading

bool
argos_store_blob_stat (argos_store_t *self, argos_store_unit_t *unit)
{
    blob_t blob = s_find_any (self, argos_store_member (unit->body, "blob"), unit->sender);
    json_t *shown = NULL;
    if (blob.number) {
        shown = json_pack ("{s:I, s:I, s:b}", "size", (json_int_t) blob.size, "have",
            (json_int_t) blob.have, "complete", blob.complete);
        if (*blob.media_type)
            json_object_set_new (shown, "media_type", json_string (blob.media_type));
        if (*blob.name)
            json_object_set_new (shown, "name", json_string (blob.name));
    }
    unit->result = json_pack ("{s:o?}", "blob", shown);
    return true;
}

//  Bytes from offset to end, out of the pieces that have them. Returns how many.

static size_t
s_collect (argos_store_t *self, int64_t number, int64_t offset, int64_t end, unsigned char *target)
{
    int64_t got = offset;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_CHUNK_PAGE, "iii", number, offset - PIECE_MAX, end);
    while (stmt) {
        int64_t at = argos_sql_int (stmt, 0);
        const unsigned char *data = argos_sql_bytes (stmt, 1);
        int64_t stop = at + (int64_t) argos_sql_size (stmt, 1);
        if (stop > end)
            stop = end;
        if (at <= got && stop > got && data) {
            memcpy (target + (got - offset), data + (got - at), (size_t) (stop - got));
            got = stop;
        }
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_CHUNK_PAGE);
    return (size_t) (got - offset);
}

bool
argos_store_blob_get (argos_store_t *self, argos_store_unit_t *unit)
{
    int64_t offset = argos_store_integer (unit->body, "offset", 0);
    int64_t limit = argos_store_integer (unit->body, "limit", PIECE_MAX);
    blob_t blob = s_find (self, argos_store_member (unit->body, "blob"), "");
    if (!blob.number)
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such file, or not complete");
    int64_t end = offset >= blob.size ? offset : blob.size;
    if (end - offset > limit)
        end = offset + limit;
    unsigned char *bytes = malloc (PIECE_MAX);
    char *text = malloc (ARGOS_BASE64_SIZE (PIECE_MAX));
    if (!bytes || !text)
        abort ();
    size_t size = s_collect (self, blob.number, offset, end, bytes);
    bool whole = self->failed || size == (size_t) (end - offset);
    if (whole) {
        argos_base64_encode (bytes, size, text);
        unit->result = json_pack ("{s:s, s:b}", "data", text, "more", end < blob.size);
    }
    free (bytes);
    free (text);
    return whole || argos_store_refuse (unit->ans, ARGOS_INTERNAL, "pieces of it are missing");
}

bool
argos_store_blob_ref (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *run_id = argos_store_member (unit->body, "run_id");
    size_t index;
    json_t *id;
    json_array_foreach (json_object_get (unit->body, "blobs"), index, id) {
        blob_t blob = s_find (self, json_string_value (id), "");
        if (!blob.number)
            return argos_store_refuse (
                unit->ans, ARGOS_NOT_FOUND, "an attachment is not there, or not complete");
        argos_store_run (self, ARGOS_SQL_BLOB_REF, "si", run_id, blob.number);
    }
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Pruning

//  Removes some pieces of what has been dropped. Returns whether there was something.

static bool
s_empty_trash (argos_store_t *self)
{
    int64_t number = argos_store_number (self, 0, ARGOS_SQL_TRASH_FIRST, "");
    if (!number)
        return false;
    argos_store_run (self, ARGOS_SQL_CHUNK_DROP, "i", number);
    if (!self->failed && !argos_store_changed (self))
        argos_store_run (self, ARGOS_SQL_TRASH_DROP, "i", number);
    return true;
}

//  Looks at some rows and drops those that are old and that nobody needs. Returns whether the walk
//  goes on.

static bool
s_walk (argos_store_t *self)
{
    struct {
        int64_t number, size; //  As the row
    } old[SLICE_ROWS];
    size_t count = 0, rows = 0;
    argos_sql_row_t *stmt = argos_store_query (
        self, ARGOS_SQL_BLOB_WALK, "ii", self->blob_cursor, self->uptime - self->blobs.keep_ms);
    for (; stmt; rows++) {
        self->blob_cursor = argos_sql_int (stmt, 0);
        if (argos_sql_int (stmt, 2) != 0) {
            old[count].number = self->blob_cursor;
            old[count++].size = argos_sql_int (stmt, 1);
        }
        if (rows + 1 == SLICE_ROWS || !argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_BLOB_WALK);
    for (size_t i = 0; i < count; i++)
        s_drop (self, old[i].number, old[i].size);
    if (stmt && rows + 1 == SLICE_ROWS)
        return true;
    self->blob_cursor = 0;
    self->blob_walk_at = self->uptime + WALK_MS;
    return count > 0;
}

bool
argos_store_blob_prune (argos_store_t *self)
{
    bool due = self->uptime >= self->blob_walk_at;
    if (!due && self->trash_empty)
        return false;
    argos_store_exec (self, "BEGIN IMMEDIATE");
    bool more = s_empty_trash (self);
    if (!more && due)
        more = s_walk (self);
    self->trash_empty = !more;
    argos_store_exec (self, "COMMIT");
    return more && !self->failed;
}
