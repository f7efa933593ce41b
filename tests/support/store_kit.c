//  store_kit - helpers of the store's tests.
//
//  Invariant: a kit owns everything that it hands out. Failures of the kit itself end the test.

#include "store_kit.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define T0 1700000000000 //  Where time begins
#define ROOM 1073741824  //  Bytes free, so that the store does not find that there are too few

static void
s_open (kit_t *kit)
{
    char reason[256];
    kit->store = argos_store_new (kit->path, kit->now, reason);
    if (!kit->store)
        fprintf (stderr, "store: %s\n", reason);
    assert (kit->store);
}

static void
s_declare (kit_t *kit, const char *service)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_SERVICE, 0);
    snprintf (req->name, sizeof req->name, "%s", service);
    assert (kit_do (kit, req)->code == ARGOS_OK);
}

//  In memory where there is room for it: what these tests ask of a disk they say themselves.

static const char *
s_place (void)
{
    struct statvfs info;
    if (statvfs ("/dev/shm", &info) == 0 && access ("/dev/shm", W_OK) == 0 &&
        info.f_bavail * info.f_frsize > ROOM)
        return "/dev/shm";
    return "/tmp";
}

kit_t *
kit_new (bool on_disk)
{
    char reason[256];
    int rc = argos_schema_init (reason);
    assert (rc == 0);
    kit_t *kit = calloc (1, sizeof *kit);
    assert (kit);
    kit->now = T0;
    snprintf (kit->path, sizeof kit->path, ":memory:");
    if (on_disk) {
        snprintf (kit->dir, sizeof kit->dir, "%s/argos-store-XXXXXX", s_place ());
        assert (mkdtemp (kit->dir));
        snprintf (kit->path, sizeof kit->path, "%s/argos.db", kit->dir);
    }
    s_open (kit);
    s_declare (kit, "gateway");
    s_declare (kit, "turn");
    s_declare (kit, "deliver.t");
    return kit;
}

static void
s_remove (const kit_t *kit, const char *suffix)
{
    char path[128];
    snprintf (path, sizeof path, "%s%s", kit->path, suffix);
    unlink (path);
}

void
kit_free (kit_t *kit)
{
    argos_storage_ans_destroy (&kit->ans);
    json_decref (kit->result);
    argos_store_destroy (&kit->store);
    if (*kit->dir) {
        s_remove (kit, "");
        s_remove (kit, "-wal");
        s_remove (kit, "-ballast");
        rmdir (kit->dir);
    }
    free (kit);
    argos_schema_term ();
}

void
kit_reopen (kit_t *kit)
{
    argos_store_destroy (&kit->store);
    s_open (kit);
}

argos_storage_ans_t *
kit_do (kit_t *kit, argos_storage_req_t *req)
{
    char reason[256];
    argos_storage_ans_destroy (&kit->ans);
    req->now = kit->now;
    int rc = argos_store_batch (kit->store, &req, &kit->ans, 1, reason);
    assert (rc == 0 && kit->ans);
    argos_storage_req_destroy (&req);
    return kit->ans;
}

void
kit_part (argos_storage_req_t *req, size_t index, const char *header, const char *body)
{
    req->parts[index].header = argos_frame_new (header, strlen (header));
    req->parts[index].body = body ? argos_frame_new (body, strlen (body)) : NULL;
}

int64_t
kit_send (kit_t *kit, const char *id, const char *service, const char *key, const char *members,
    const char *body)
{
    return kit_send_type (kit, "t.msg", id, service, key, members, body);
}

int64_t
kit_send_type (kit_t *kit, const char *type, const char *id, const char *service, const char *key,
    const char *members, const char *body)
{
    char header[2048];
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "telegram.main");
    snprintf (req->id, sizeof req->id, "%s", id);
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"%s\",\"to\":\"service:%s\",\"key\":\"%s\",\"durable\":true%"
        "s}",
        type, id, service, key, members ? members : "");
    kit_part (req, 0, header, body);
    kit_do (kit, req);
    return kit->ans->code == ARGOS_OK ? kit->ans->seq : 0;
}

argos_storage_req_t *
kit_commit (
    kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n, bool done, size_t parts)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, parts);
    (void) kit;
    snprintf (req->holder, sizeof req->holder, "%s", holder);
    snprintf (req->from, sizeof req->from, "%.*s", (int) strcspn (holder, "/"), holder);
    req->seq = seq;
    req->lease = lease;
    req->n = n;
    req->done = done;
    return req;
}

int64_t
kit_lease (kit_t *kit, int64_t seq, const char *holder)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_LEASE, 0);
    req->seq = seq;
    snprintf (req->holder, sizeof req->holder, "%s", holder);
    kit_do (kit, req);
    return kit->ans->code == ARGOS_OK ? kit->ans->lease : 0;
}

argos_err_t
kit_done (kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n, int64_t seen)
{
    argos_storage_req_t *req = kit_commit (kit, holder, seq, lease, n, true, 0);
    req->seen = seen;
    return kit_do (kit, req)->code;
}

argos_err_t
kit_commit_empty (kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n)
{
    return kit_do (kit, kit_commit (kit, holder, seq, lease, n, false, 0))->code;
}

argos_err_t
kit_release (kit_t *kit, int64_t seq, int64_t lease, int strikes, bool clean, const char *reject)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_RELEASE, 0);
    req->seq = seq;
    req->lease = lease;
    req->strikes = strikes;
    req->clean = clean;
    snprintf (req->reject, sizeof req->reject, "%s", reject ? reject : "");
    return kit_do (kit, req)->code;
}

static void
s_store_part (argos_storage_req_t *req, const char *type, const char *body)
{
    char header[256];
    snprintf (header, sizeof header, "{\"type\":\"%s\",\"to\":\"store\",\"durable\":true}", type);
    kit_part (req, 0, header, body);
}

argos_err_t
kit_write (kit_t *kit, const char *from, const char *type, const char *body)
{
    static int count = 0;
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "%s", from);
    snprintf (req->id, sizeof req->id, "w%d", ++count);
    s_store_part (req, type, body);
    return kit_do (kit, req)->code;
}

argos_err_t
kit_write_leased (kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n,
    const char *type, const char *body)
{
    argos_storage_req_t *req = kit_commit (kit, holder, seq, lease, n, false, 1);
    s_store_part (req, type, body);
    return kit_do (kit, req)->code;
}

argos_err_t
kit_read (kit_t *kit, const char *type, const char *body)
{
    char header[256];
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_READ, 1);
    snprintf (req->from, sizeof req->from, "telegram.main@edge");
    snprintf (header, sizeof header, "{\"type\":\"%s\",\"id\":\"r1\",\"to\":\"store\"}", type);
    kit_part (req, 0, header, body);
    kit_do (kit, req);
    json_decref (kit->result);
    kit->result = NULL;
    if (kit->ans->code == ARGOS_OK)
        kit->result =
            json_loadb (kit->ans->parts[0].body->data, kit->ans->parts[0].body->size, 0, NULL);
    return kit->ans->code;
}

int64_t
kit_number (kit_t *kit, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2 (kit->store->db, sql, -1, &stmt, NULL);
    assert (rc == SQLITE_OK);
    rc = sqlite3_step (stmt);
    int64_t number = rc == SQLITE_ROW ? sqlite3_column_int64 (stmt, 0) : -1;
    sqlite3_finalize (stmt);
    return number;
}
