//  test_store_blob - files by their content: pieces, hashes, limits, references, pruning, the
//  migration.

#include "store_kit.h"

#include "argos_embedded.h"

#include <setjmp.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RUN "run_0123456789abcdef0123456789abcdef"
#define PIECE ((size_t) 262144)
#define HOUR_MS 3600000LL
#define DAY_MS (24 * HOUR_MS)

//  A file whose bytes follow from its seed

typedef struct {
    unsigned char *bytes; //  Ours
    size_t size;          //  Of them
    char id[80];          //  sha256:...
} file_t;

static file_t
s_file (size_t size, unsigned seed)
{
    file_t file = { .bytes = malloc (size ? size : 1), .size = size };
    assert_non_null (file.bytes);
    for (size_t i = 0; i < size; i++)
        file.bytes[i] = (unsigned char) ((i * 2654435761u + seed) >> 13);
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256 (hash, file.bytes, size);
    memcpy (file.id, "sha256:", sizeof "sha256:");
    sodium_bin2hex (file.id + 7, sizeof file.id - 7, hash, sizeof hash);
    return file;
}

//  Body of blob.put for these bytes; the caller's.

static char *
s_body (const file_t *file, size_t whole, size_t offset, size_t size)
{
    size_t room = sodium_base64_ENCODED_LEN (size, sodium_base64_VARIANT_ORIGINAL);
    char *data = malloc (room), *body = malloc (room + 256);
    assert_true (data && body);
    sodium_bin2base64 (data, room, file->bytes + offset, size, sodium_base64_VARIANT_ORIGINAL);
    snprintf (body, room + 256,
        "{\"blob\":\"%s\",\"size\":%zu,\"offset\":%zu,\"data\":\"%s\",\"name\":\"f.bin\"}",
        file->id, whole, offset, data);
    free (data);
    return body;
}

static argos_err_t
s_put (kit_t *kit, const char *from, const file_t *file, size_t offset, size_t size)
{
    char *body = s_body (file, file->size, offset, size);
    argos_err_t code = kit_write (kit, from, "blob.put", body);
    free (body);
    return code;
}

//  The whole file from offset on, in pieces.

static void
s_send (kit_t *kit, const char *from, const file_t *file, size_t offset)
{
    do {
        size_t size = file->size - offset < PIECE ? file->size - offset : PIECE;
        assert_int_equal (s_put (kit, from, file, offset, size), ARGOS_OK);
        offset += size;
    } while (offset < file->size);
}

//  How much is there, -1 = nothing of it.

static int64_t
s_have (kit_t *kit, const file_t *file, bool *ret_complete)
{
    char body[128];
    snprintf (body, sizeof body, "{\"blob\":\"%s\"}", file->id);
    assert_int_equal (kit_read (kit, "blob.stat", body), ARGOS_OK);
    const json_t *blob = json_object_get (kit->result, "blob");
    if (ret_complete)
        *ret_complete = json_is_true (json_object_get (blob, "complete"));
    return json_is_null (blob) ? -1 : json_integer_value (json_object_get (blob, "have"));
}

static argos_err_t
s_get (kit_t *kit, const file_t *file, size_t offset, size_t limit)
{
    char body[160];
    snprintf (body, sizeof body, "{\"blob\":\"%s\",\"offset\":%zu,\"limit\":%zu}", file->id, offset,
        limit);
    return kit_read (kit, "blob.get", body);
}

static void
s_assert_bytes (kit_t *kit, const file_t *file, size_t offset, size_t limit)
{
    static unsigned char bytes[PIECE];
    size_t size = 0;
    assert_int_equal (s_get (kit, file, offset, limit), ARGOS_OK);
    const json_t *data = json_object_get (kit->result, "data");
    assert_int_equal (
        sodium_base642bin (bytes, sizeof bytes, json_string_value (data), json_string_length (data),
            NULL, &size, NULL, sodium_base64_VARIANT_ORIGINAL),
        0);
    size_t wanted = offset >= file->size ? 0 : file->size - offset;
    wanted = wanted > limit ? limit : wanted;
    assert_int_equal (size, wanted);
    assert_memory_equal (bytes, file->bytes + offset, size);
    assert_int_equal (
        json_is_true (json_object_get (kit->result, "more")), offset + wanted < file->size);
}

static void
s_chores (kit_t *kit)
{
    while (argos_store_chore (kit->store, kit->now))
        continue;
}

//  So many hours of uptime pass.

static void
s_pass (kit_t *kit, int hours)
{
    for (int i = 0; i < hours; i++) {
        kit->now += HOUR_MS;
        s_chores (kit);
    }
}

static void
a_file_goes_in_by_pieces_and_comes_out_the_same (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    file_t file = s_file (3 * PIECE + 1000, 1);
    bool complete;
    assert_int_equal (s_have (kit, &file, NULL), -1);
    assert_int_equal (s_get (kit, &file, 0, PIECE), ARGOS_NOT_FOUND);
    assert_int_equal (s_put (kit, "telegram.main", &file, 0, 1000), ARGOS_OK);
    assert_int_equal (s_put (kit, "telegram.main", &file, 1000, PIECE), ARGOS_OK);
    assert_int_equal (s_have (kit, &file, &complete), PIECE + 1000);
    assert_false (complete);
    assert_int_equal (s_get (kit, &file, 0, PIECE), ARGOS_NOT_FOUND);
    s_send (kit, "telegram.main", &file, PIECE + 1000);
    assert_int_equal (s_have (kit, &file, &complete), (int64_t) file.size);
    assert_true (complete);
    s_assert_bytes (kit, &file, 0, PIECE);
    s_assert_bytes (kit, &file, 999, 2);
    s_assert_bytes (kit, &file, PIECE - 7, PIECE);
    s_assert_bytes (kit, &file, file.size - 5, PIECE);
    s_assert_bytes (kit, &file, file.size, PIECE);
    s_assert_bytes (kit, &file, file.size + 10, PIECE);
    free (file.bytes);
    kit_free (kit);
}

static void
an_empty_file_is_one_piece (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    file_t file = s_file (0, 1), other = s_file (10, 2);
    bool complete;
    assert_int_equal (s_put (kit, "a", &other, 0, 0), ARGOS_INVALID);
    assert_int_equal (s_put (kit, "a", &file, 0, 0), ARGOS_OK);
    assert_int_equal (s_have (kit, &file, &complete), 0);
    assert_true (complete);
    s_assert_bytes (kit, &file, 0, PIECE);
    free (file.bytes);
    free (other.bytes);
    kit_free (kit);
}

static void
a_repeat_changes_nothing_and_a_gap_is_refused (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    file_t file = s_file (2 * PIECE, 3);
    const char *from = "telegram.main";
    assert_int_equal (s_put (kit, from, &file, PIECE, PIECE), ARGOS_CONFLICT);
    assert_int_equal (s_put (kit, from, &file, 0, PIECE), ARGOS_OK);
    assert_int_equal (s_put (kit, from, &file, 0, PIECE), ARGOS_OK);
    assert_int_equal (s_put (kit, from, &file, PIECE + 1, 10), ARGOS_CONFLICT);
    assert_int_equal (s_have (kit, &file, NULL), PIECE);
    char *body = s_body (&file, 2 * PIECE + 1, PIECE, 10);
    assert_int_equal (kit_write (kit, from, "blob.put", body), ARGOS_CONFLICT); //  Another size
    free (body);
    body = s_body (&file, PIECE + 5, PIECE, 10);
    assert_int_equal (kit_write (kit, from, "blob.put", body), ARGOS_INVALID); //  Beyond it
    free (body);
    assert_int_equal (s_put (kit, from, &file, PIECE, PIECE), ARGOS_OK);
    assert_int_equal (s_put (kit, from, &file, 0, PIECE), ARGOS_OK);
    s_assert_bytes (kit, &file, PIECE, PIECE);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blob_chunks"), 2);
    free (file.bytes);
    kit_free (kit);
}

static void
a_wrong_hash_drops_what_was_sent (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    file_t file = s_file (PIECE + 10, 4);
    file.bytes[5] ^= 1;
    assert_int_equal (s_put (kit, "a", &file, 0, PIECE), ARGOS_OK);
    assert_int_equal (s_put (kit, "a", &file, PIECE, 10), ARGOS_INVALID);
    assert_int_equal (s_have (kit, &file, NULL), -1);
    s_chores (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blob_chunks"), 0);
    assert_int_equal (kit_number (kit, "SELECT value FROM meta WHERE name = 'blobs'"), 0);
    file.bytes[5] ^= 1;
    s_send (kit, "a", &file, 0);
    s_assert_bytes (kit, &file, 0, PIECE);
    free (file.bytes);
    kit_free (kit);
}

//  Last pieces of two files, one good and one bad, in one transaction with another write

static void
a_wrong_hash_harms_nobody_in_its_batch (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    file_t bad = s_file (10, 5), good = s_file (20, 6);
    bad.bytes[0] ^= 1;
    const file_t *const files[] = { &good, &bad, &bad };
    argos_storage_req_t *requests[3];
    argos_storage_ans_t *answers[3];
    char reason[256];
    for (int i = 0; i < 3; i++) {
        char *body = s_body (files[i], files[i]->size, 0, files[i]->size);
        requests[i] = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
        snprintf (requests[i]->id, sizeof requests[i]->id, "b%d", i);
        snprintf (requests[i]->from, sizeof requests[i]->from, "a");
        requests[i]->now = kit->now;
        kit_part (
            requests[i], 0, "{\"type\":\"blob.put\",\"to\":\"store\",\"durable\":true}", body);
        free (body);
    }
    assert_int_equal (argos_store_batch (kit->store, requests, answers, 3, reason), 0);
    assert_int_equal (answers[0]->code, ARGOS_OK);
    assert_int_equal (answers[1]->code, ARGOS_INVALID);
    assert_int_equal (answers[2]->code, ARGOS_INVALID);
    for (int i = 0; i < 3; i++) {
        argos_storage_req_destroy (&requests[i]);
        argos_storage_ans_destroy (&answers[i]);
    }
    assert_int_equal (s_have (kit, &bad, NULL), -1);
    s_assert_bytes (kit, &good, 0, PIECE);
    free (bad.bytes);
    free (good.bytes);
    kit_free (kit);
}

static void
what_is_under_way_belongs_to_its_sender (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    file_t file = s_file (PIECE + 10, 7), evil = file;
    evil.bytes = malloc (evil.size);
    assert_non_null (evil.bytes);
    memset (evil.bytes, 'x', evil.size);
    assert_int_equal (s_put (kit, "evil", &evil, 0, PIECE), ARGOS_OK);
    assert_int_equal (s_have (kit, &file, NULL), -1); //  kit_read asks as telegram.main
    s_send (kit, "telegram.main", &file, 0);
    assert_int_equal (s_put (kit, "evil", &evil, PIECE, 10), ARGOS_OK); //  It is there already
    s_assert_bytes (kit, &file, 0, PIECE);
    free (file.bytes);
    free (evil.bytes);
    kit_free (kit);
}

static void
a_file_goes_on_after_a_restart (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    file_t file = s_file (3 * PIECE, 8);
    bool complete;
    assert_int_equal (s_put (kit, "telegram.main", &file, 0, PIECE), ARGOS_OK);
    kit_reopen (kit);
    int64_t have = s_have (kit, &file, &complete);
    assert_int_equal (have, PIECE);
    s_send (kit, "telegram.main.2@edge", &file, (size_t) have);
    kit_reopen (kit);
    s_assert_bytes (kit, &file, 2 * PIECE, PIECE);
    free (file.bytes);
    kit_free (kit);
}

static void
limits_hold (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    argos_store_blobs_t limits = { .max_bytes = 10000, .total_bytes = 12000, .keep_ms = HOUR_MS };
    argos_store_set_blobs (kit->store, &limits);
    file_t one = s_file (10000, 9), more = s_file (10001, 10), small = s_file (10, 11);
    assert_int_equal (s_put (kit, "a", &more, 0, 10), ARGOS_TOO_BIG);
    assert_int_equal (s_put (kit, "a", &one, 0, 10), ARGOS_OK); //  The whole counts from now on
    assert_int_equal (s_put (kit, "a", &small, 0, 10), ARGOS_BUSY);
    s_pass (kit, 3);
    assert_int_equal (s_put (kit, "a", &small, 0, 10), ARGOS_OK);
    kit->store->space_low = true;
    kit->store->path = strdup ("/nowhere"); //  No look at the disk
    kit->store->space_checked = kit->now;
    assert_int_equal (s_put (kit, "a", &one, 0, 10), ARGOS_NO_SPACE);
    free (kit->store->path);
    kit->store->path = NULL;
    kit->store->space_low = false;
    const char *const wrong[] = { "*", "YQ", "YQ=", "YQ==YQ==", "Y Q=" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char body[256];
        snprintf (body, sizeof body, "{\"blob\":\"%s\",\"size\":5,\"offset\":0,\"data\":\"%s\"}",
            one.id, wrong[i]);
        assert_int_equal (kit_write (kit, "a", "blob.put", body), ARGOS_INVALID);
    }
    free (one.bytes);
    free (more.bytes);
    free (small.bytes);
    kit_free (kit);
}

static void
what_a_run_needs_is_kept_as_long_as_the_run (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    file_t kept = s_file (6 * PIECE, 12), loose = s_file (9 * PIECE, 13), part = s_file (PIECE, 14);
    char body[256];
    s_send (kit, "a", &kept, 0);
    s_send (kit, "a", &loose, 0);
    assert_int_equal (s_put (kit, "a", &part, 0, 100), ARGOS_OK);
    kit_write (kit, "gateway", "run.create", "{\"run_id\":\"" RUN "\"}");
    snprintf (
        body, sizeof body, "{\"run_id\":\"" RUN "\",\"blobs\":[\"%s\",\"%s\"]}", kept.id, part.id);
    assert_int_equal (kit_write (kit, "gateway", "blob.ref", body), ARGOS_NOT_FOUND);
    snprintf (body, sizeof body, "{\"run_id\":\"" RUN "\",\"blobs\":[\"%s\"]}", kept.id);
    assert_int_equal (kit_write (kit, "gateway", "blob.ref", body), ARGOS_OK);
    assert_int_equal (kit_write (kit, "gateway", "blob.ref", body), ARGOS_OK);
    kit->now += 400 * DAY_MS; //  A clock that jumps ages nothing
    s_chores (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blobs"), 3);
    s_pass (kit, 26);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blobs"), 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blob_chunks"), 6);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blob_trash"), 0);
    assert_int_equal (kit_number (kit, "SELECT value FROM meta WHERE name = 'blobs'"), 6 * PIECE);
    s_assert_bytes (kit, &kept, 5 * PIECE, PIECE);
    kit_write (kit, "gateway", "run.finish", "{\"run_id\":\"" RUN "\",\"state\":\"completed\"}");
    kit->now += 40 * DAY_MS;
    kit->store->prune_at = 0;
    s_chores (kit);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blob_refs"), 0);
    s_pass (kit, 1);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blobs"), 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM blob_chunks"), 0);
    free (kept.bytes);
    free (loose.bytes);
    free (part.bytes);
    kit_free (kit);
}

//  A database of version 1 with a message in it

static void
a_database_of_version_1_is_migrated (void **state)
{
    (void) state;
    kit_t *kit = kit_new (true);
    sqlite3 *db = NULL;
    argos_store_destroy (&kit->store);
    unlink (kit->path);
    const argos_embedded_t *first = argos_embedded_find ("sql/0001_core.sql");
    assert_non_null (first);
    assert_int_equal (sqlite3_open (kit->path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, first->data, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal (
        sqlite3_exec (db,
            "PRAGMA user_version = 1; PRAGMA application_id = 1095911247;"
            "INSERT INTO services VALUES ('gateway', 1);"
            "INSERT INTO receipts (seq, sender, state, at) VALUES (1, 'a', 'sent', 1);",
            NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close (db);
    char reason[256];
    kit->store = argos_store_new (kit->path, kit->now, reason);
    assert_non_null (kit->store);
    assert_true (kit_number (kit, "PRAGMA user_version") >= 2);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM receipts"), 1);
    assert_true (argos_store_has_service (kit->store, "gateway"));
    file_t file = s_file (10, 15);
    s_send (kit, "a", &file, 0);
    s_assert_bytes (kit, &file, 0, PIECE);
    free (file.bytes);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_file_goes_in_by_pieces_and_comes_out_the_same),
        cmocka_unit_test (an_empty_file_is_one_piece),
        cmocka_unit_test (a_repeat_changes_nothing_and_a_gap_is_refused),
        cmocka_unit_test (a_wrong_hash_drops_what_was_sent),
        cmocka_unit_test (a_wrong_hash_harms_nobody_in_its_batch),
        cmocka_unit_test (what_is_under_way_belongs_to_its_sender),
        cmocka_unit_test (a_file_goes_on_after_a_restart),
        cmocka_unit_test (limits_hold),
        cmocka_unit_test (what_a_run_needs_is_kept_as_long_as_the_run),
        cmocka_unit_test (a_database_of_version_1_is_migrated),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
