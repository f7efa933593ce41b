//  test_store_salvage - what is saved of a damaged database: all that can be read, told row by row,
//  and never at the cost of the damaged file.

#include "argos_base64.h"
#include "argos_store_file.h"
#include "store_says.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096        //  Bytes of a page of the database
#define SESSIONS 30      //  Of a store
#define MESSAGES 600     //  Of a store
#define ROUNDS 12        //  Of random damage, unless ARGOS_SALVAGES says otherwise
#define BLOB_SIZE 100000 //  Bytes of the blob

typedef struct {
    kit_t *kit;                                            //  The store, closed
    char *bytes;                                           //  The damaged file
    size_t size;                                           //  Its bytes
    char fresh[128];                                       //  The new one
    argos_store_salvage_t tables[ARGOS_STORE_SALVAGE_MAX]; //  What was said
    size_t count;                                          //  How many
} self_t;

static void
s_put_blob (kit_t *kit)
{
    static unsigned char bytes[BLOB_SIZE];
    static char data[ARGOS_BASE64_SIZE (BLOB_SIZE)], body[ARGOS_BASE64_SIZE (BLOB_SIZE) + 256];
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char) (i / 1000 + 128);
    crypto_hash_sha256 (hash, bytes, sizeof bytes);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    argos_base64_encode (bytes, sizeof bytes, data);
    snprintf (body, sizeof body,
        "{\"blob\":\"sha256:%s\",\"size\":%d,\"offset\":0,\"data\":\"%s\"}", hex, BLOB_SIZE, data);
    assert_int_equal (kit_write (kit, "g", "blob.put", body), ARGOS_OK);
}

//  A store with sessions, messages, a queue, records and a blob, closed.

static self_t
s_new (void)
{
    self_t self = { .kit = kit_new (true) };
    kit_t *kit = self.kit;
    sqlite3_exec (kit->store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    for (int i = 0; i < SESSIONS; i++)
        says_write (kit, "session.create", "{'id':'s%d','title':'t%d','owner':'me'}", i, i);
    for (int i = 0; i < MESSAGES; i += 10) {
        char body[4096] = "";
        for (int k = 0; k < 10; k++)
            snprintf (body + strlen (body), sizeof body - strlen (body),
                "%s{'role':'user','content':'word%dx and some more, %0*d'}", k ? "," : "", i + k,
                150, 0);
        char session[16];
        snprintf (session, sizeof session, "s%d", i / 10 % SESSIONS);
        assert_int_equal (says_turn (kit, session, "session.append",
                              "{'session_id':'%s','messages':[%s]}", session, body),
            ARGOS_OK);
        says_write (kit, "record.put", "{'space':'x','key':'k%d','value':{'n':%d}}", i, i);
    }
    for (int i = 0; i < 100; i++) {
        char id[32];
        snprintf (id, sizeof id, "m%d", i);
        assert_int_not_equal (kit_send (kit, id, "turn", "lane", "", "{}"), 0);
    }
    s_put_blob (kit);
    assert_int_equal (says_write (kit, "route.bind",
                          "{'key':'k','session_id':'s7','source':{'platform':'tg','account':'m','"
                          "chat_type':'dm','"
                          "chat_id':'5'}}"),
        ARGOS_OK);
    while (argos_store_chore (kit->store, kit->now)) {
    }
    argos_store_destroy (&kit->store);
    snprintf (self.fresh, sizeof self.fresh, "%s/fresh.db", kit->dir);
    struct stat info;
    assert_int_equal (stat (kit->path, &info), 0);
    self.size = (size_t) info.st_size;
    self.bytes = malloc (self.size);
    int fd = open (kit->path, O_RDONLY | O_CLOEXEC);
    assert_int_equal (read (fd, self.bytes, self.size), self.size);
    close (fd);
    return self;
}

static void
s_free (self_t *self)
{
    unlink (self->fresh);
    free (self->bytes);
    kit_free (self->kit);
}

static void
s_table (void *arg, const argos_store_salvage_t *table)
{
    self_t *self = arg;
    self->tables[self->count++] = *table;
}

static const argos_store_salvage_t *
s_said (const self_t *self, const char *name)
{
    size_t i = 0;
    while (i < self->count && strcmp (self->tables[i].name, name) != 0)
        i++;
    if (i == self->count)
        fail_msg ("nothing was said of %s", name);
    return &self->tables[i];
}

static void
s_write (const char *path, const char *bytes, size_t size)
{
    int fd = open (path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal (write (fd, bytes, size), size);
    close (fd);
}

//  Writes the damaged file, salvages it, and sees that it was left as it is, with nothing beside
//  it.

static int
s_salvage (self_t *self, const char *bytes, char *reason)
{
    static char after[4 * 1024 * 1024];
    char work[160];
    self->count = 0;
    s_write (self->kit->path, bytes, self->size);
    int rc = argos_store_file_salvage (self->kit->path, self->fresh, NULL, self, s_table, reason);
    int fd = open (self->kit->path, O_RDONLY | O_CLOEXEC);
    assert_int_equal (read (fd, after, sizeof after), self->size);
    close (fd);
    assert_memory_equal (after, bytes, self->size);
    snprintf (work, sizeof work, "%s.work", self->fresh);
    assert_int_not_equal (access (work, F_OK), 0);
    return rc;
}

//  The new file is a store: whole, and opened in the place of the other.

static void
s_open (self_t *self)
{
    char reason[ARGOS_STORE_FILE_REASON];
    char *aside = NULL;
    kit_t *kit = self->kit;
    assert_int_equal (argos_store_file_settle (self->fresh, reason), 0);
    int rc =
        argos_store_file_restore (self->fresh, kit->path, kit->now, NULL, NULL, &aside, reason);
    if (rc != 0)
        fprintf (stderr, "%s\n", reason);
    assert_int_equal (rc, 0);
    unlink (aside);
    free (aside);
    kit->store = argos_store_new (kit->path, kit->now, reason);
    assert_non_null (kit->store);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM pragma_integrity_check"
                                       " WHERE integrity_check <> 'ok'"),
        0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages WHERE session_id NOT IN"
                                       " (SELECT id FROM sessions)"),
        0);
}

static void
s_close (self_t *self)
{
    argos_store_destroy (&self->kit->store);
}

//  The page that has this text.

static size_t
s_page_of (const self_t *self, const char *text)
{
    const char *found = memmem (self->bytes, self->size, text, strlen (text));
    assert_non_null (found);
    return (size_t) (found - self->bytes) / PAGE;
}

static size_t
s_root (self_t *self, const char *name)
{
    char sql[128];
    sqlite3 *db = NULL;
    snprintf (sql, sizeof sql, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
    assert_int_equal (sqlite3_open (self->kit->path, &db), SQLITE_OK);
    int64_t root = argos_store_file_number (db, sql);
    sqlite3_close (db);
    assert_true (root > 1);
    return (size_t) root - 1;
}

static void
s_spoil (self_t *self, size_t page)
{
    memset (self->bytes + page * PAGE, 0x5a, PAGE);
}

//  ------------------------------------------------------------------------------------------------

static void
of_a_whole_one_nothing_is_lost (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON];
    self_t self = s_new ();
    assert_int_equal (s_salvage (&self, self.bytes, reason), 0);
    for (size_t i = 0; i < self.count; i++) {
        assert_int_equal (self.tables[i].lost, 0);
        assert_int_equal (self.tables[i].made, 0);
        assert_false (self.tables[i].more);
    }
    assert_int_equal (s_said (&self, "messages")->copied, MESSAGES);
    assert_int_equal (s_said (&self, "sessions")->copied, SESSIONS);
    s_open (&self);
    kit_t *kit = self.kit;
    assert_int_equal (says_read (kit, "session.load", "{'id':'s3'}"), ARGOS_OK);
    assert_int_equal (json_array_size (says_get (kit, "messages")), MESSAGES / SESSIONS);
    assert_int_equal (says_read (kit, "record.get", "{'space':'x','key':'k50'}"), ARGOS_OK);
    assert_int_equal (says_number (kit, "record.value.n"), 50);
    assert_int_equal (says_read (kit, "session.search", "{'text':'word77x'}"), ARGOS_OK);
    assert_int_equal (json_array_size (says_get (kit, "hits")), 1);
    //  Numbers go on where they were
    assert_true (kit_send (kit, "later", "turn", "lane", "", "{}") > MESSAGES / 10 + 100);
    s_free (&self);
}

static void
one_page_costs_its_own_rows (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON], text[32];
    self_t self = s_new ();
    size_t first = s_page_of (&self, "word201x"), second = s_page_of (&self, "word401x");
    s_spoil (&self, first);
    s_spoil (&self, second);
    assert_int_equal (s_salvage (&self, self.bytes, reason), 0);
    const argos_store_salvage_t *messages = s_said (&self, "messages");
    assert_false (messages->more);
    assert_in_range (messages->lost, 2, 50);
    assert_int_equal (messages->copied + messages->lost, MESSAGES);
    assert_int_equal (s_said (&self, "sessions")->copied, SESSIONS);
    s_open (&self);
    for (int i = 1; i < MESSAGES; i += 100) { //  Before, between and behind
        snprintf (text, sizeof text, "word%dx", i);
        says_read (self.kit, "session.search", "{'text':'%s'}", text);
        assert_int_equal (json_array_size (says_get (self.kit, "hits")), i != 201 && i != 401);
    }
    assert_int_equal (kit_number (self.kit, "SELECT sum (message_count) FROM sessions"),
        MESSAGES - messages->lost);
    s_free (&self);
}

//  Sessions of which only the messages are left are there again; whose they are is told by a route.

static void
sessions_come_back_from_their_messages (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON];
    self_t self = s_new ();
    s_spoil (&self, s_root (&self, "sessions"));
    assert_int_equal (s_salvage (&self, self.bytes, reason), 0);
    const argos_store_salvage_t *sessions = s_said (&self, "sessions");
    assert_int_equal (sessions->copied, 0);
    assert_int_equal (sessions->made, SESSIONS);
    assert_int_equal (sessions->lost, SESSIONS);
    s_open (&self);
    assert_int_equal (says_read (self.kit, "session.get", "{'id':'s7'}"), ARGOS_OK);
    assert_int_equal (says_number (self.kit, "session.message_count"), MESSAGES / SESSIONS);
    assert_true (says_number (self.kit, "session.last_activity_at") > 0);
    assert_string_equal (says_text (self.kit, "session.owner"), "tg:m:5"); //  A route tells it
    s_free (&self);
}

static void
a_table_without_its_root_is_counted (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON];
    self_t self = s_new ();
    s_spoil (&self, s_root (&self, "messages"));
    s_spoil (&self, s_root (&self, "meta")); //  Boot and leases follow from the rest
    assert_int_equal (s_salvage (&self, self.bytes, reason), 0);
    assert_int_equal (s_said (&self, "messages")->lost, MESSAGES);
    assert_true (s_said (&self, "meta")->more);
    s_open (&self);
    assert_int_equal (kit_number (self.kit, "SELECT sum (message_count) FROM sessions"), 0);
    int64_t seq = kit_send (self.kit, "new", "turn", "other", "", "{}");
    int64_t lease = kit_lease (self.kit, seq, "agent/1");
    assert_true (lease > MESSAGES / 10); //  As many turns have had one
    assert_int_equal (kit_done (self.kit, "agent/1", seq, lease, 1, seq), ARGOS_OK);
    s_free (&self);
}

static void
a_blob_has_its_hash_or_is_gone (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON];
    self_t self = s_new ();
    char text[64];
    memset (text, 128 + 50, sizeof text); //  Bytes of the middle of it
    const char *found = memmem (self.bytes, self.size, text, sizeof text);
    assert_non_null (found);
    self.bytes[found - self.bytes + 10] ^= 1; //  No page is damaged by that
    assert_int_equal (s_salvage (&self, self.bytes, reason), 0);
    assert_int_equal (s_said (&self, "blobs")->lost, 1);
    assert_int_equal (s_said (&self, "blobs")->copied, 0);
    s_open (&self);
    assert_int_equal (kit_number (self.kit, "SELECT count (*) FROM blob_chunks"), 0);
    s_free (&self);
}

//  Whatever pages are damaged: it ends, the file is left alone, and what comes of it is a store; no
//  message is missing that was not said to be.

static void
random_damage (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON];
    unsigned seed = 7;
    self_t self = s_new ();
    char *whole = malloc (self.size);
    memcpy (whole, self.bytes, self.size);
    const char *value = getenv ("ARGOS_SALVAGES");
    int rounds = value ? (int) strtol (value, NULL, 10) : ROUNDS, saved = 0;
    for (int round = 0; round < rounds; round++) {
        memcpy (self.bytes, whole, self.size);
        for (int i = rand_r (&seed) % 5; i >= 0; i--) {
            size_t page = 1 + (size_t) rand_r (&seed) % (self.size / PAGE - 1);
            size_t from = (size_t) rand_r (&seed) % PAGE;
            for (size_t k = from; k < PAGE && k < from + 200; k++)
                self.bytes[page * PAGE + k] = (char) rand_r (&seed);
            if (round % 3 == 0)
                s_spoil (&self, page);
        }
        if (s_salvage (&self, self.bytes, reason) != 0) {
            assert_true (*reason); //  Its schema could not be read
            assert_int_not_equal (access (self.fresh, F_OK), 0);
            continue;
        }
        saved++;
        const argos_store_salvage_t *messages = s_said (&self, "messages");
        if (!messages->more)
            assert_true (messages->copied + messages->lost >= MESSAGES);
        s_open (&self);
        s_close (&self);
    }
    assert_true (saved > rounds / 2);
    free (whole);
    s_free (&self);
}

static void
what_it_does_not_know_is_refused (void **state)
{
    (void) state;
    char reason[ARGOS_STORE_FILE_REASON];
    self_t self = s_new ();
    memset (self.bytes, 0, 100); //  The header
    assert_int_equal (s_salvage (&self, self.bytes, reason), -1);
    assert_non_null (strstr (reason, "restore a backup"));
    assert_int_not_equal (access (self.fresh, F_OK), 0);
    assert_int_equal (
        argos_store_file_salvage ("/nowhere/argos.db", self.fresh, NULL, &self, s_table, reason),
        -1);
    assert_non_null (strstr (reason, "No such file"));
    s_free (&self);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (of_a_whole_one_nothing_is_lost),
        cmocka_unit_test (one_page_costs_its_own_rows),
        cmocka_unit_test (sessions_come_back_from_their_messages),
        cmocka_unit_test (a_table_without_its_root_is_counted),
        cmocka_unit_test (a_blob_has_its_hash_or_is_gone),
        cmocka_unit_test (random_damage),
        cmocka_unit_test (what_it_does_not_know_is_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
