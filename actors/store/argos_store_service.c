//  argos_store_service - the declared services.
//
//  Invariant: the table in memory is the one of the database; after a transaction that was undone
//  it is read anew. Limits: the broker's.

#include "argos_store_priv.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct argos_store_service {
    UT_hash_handle hh;             //  By name
    bool paused;                   //  Nothing of it is handed out
    char name[ARGOS_NAME_MAX + 1]; //  Name
};

bool
argos_store_has_service (const argos_store_t *self, const char *name)
{
    argos_store_service_t *service = NULL;
    HASH_FIND_STR (self->services, name, service);
    return service != NULL;
}

static void
s_remember (argos_store_t *self, const char *name, bool paused)
{
    argos_store_service_t *service = calloc (1, sizeof *service);
    if (!service)
        abort ();
    argos_store_text_copy (service->name, name, sizeof service->name);
    service->paused = paused;
    HASH_ADD_STR (self->services, name, service);
}

//  Declares a service; a repeat changes nothing.

int
argos_store_add_service (argos_store_t *self, const char *name)
{
    if (argos_store_has_service (self, name))
        return 0;
    self->services_dirty = true;
    if (argos_store_run (self, ARGOS_SQL_SERVICE_ADD, "si", name, self->now) != 0)
        return -1;
    s_remember (self, name, false);
    return 0;
}

//  Reads the services anew: at start, and after a transaction that was undone.

int
argos_store_load_services (argos_store_t *self)
{
    argos_store_free_services (self);
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SERVICE_ALL, "");
    while (stmt) {
        char name[ARGOS_NAME_MAX + 1];
        argos_store_text (stmt, 0, name, sizeof name);
        s_remember (self, name, argos_sql_int (stmt, 1) != 0);
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_SERVICE_ALL);
    self->services_dirty = false;
    return self->failed ? -1 : 0;
}

void
argos_store_free_services (argos_store_t *self)
{
    argos_store_service_t *service = self->services;
    HASH_CLEAR (hh, self->services); //  Frees the table only
    while (service) {
        argos_store_service_t *next = service->hh.next;
        free (service);
        service = next;
    }
}

void
argos_store_service_rows (
    argos_store_t *self, void (*fn) (void *arg, const argos_storage_row_t *row), void *arg)
{
    argos_storage_row_t entry = { .seq = 0 };
    for (const argos_store_service_t *service = self->services; service;
         service = service->hh.next) {
        memcpy (entry.service, service->name, sizeof entry.service);
        entry.paused = service->paused;
        fn (arg, &entry);
    }
}

static bool
s_pause (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    argos_store_service_t *service = NULL;
    HASH_FIND_STR (self->services, req->name, service);
    if (!service)
        return argos_store_refuse (ans, ARGOS_NO_SERVICE, "no such service");
    self->services_dirty = true;
    service->paused = req->change == ARGOS_SERVICE_PAUSE;
    argos_store_run (
        self, ARGOS_SQL_SERVICE_PAUSE, "si", (const char *) req->name, (int64_t) service->paused);
    return true;
}

static bool
s_drop (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    argos_store_service_t *service = NULL;
    HASH_FIND_STR (self->services, req->name, service);
    if (!service)
        return argos_store_refuse (ans, ARGOS_NO_SERVICE, "no such service");
    if (argos_store_number (self, 0, ARGOS_SQL_SERVICE_ROW, "s", (const char *) req->name))
        return argos_store_refuse (ans, ARGOS_BUSY, "the service has messages");
    self->services_dirty = true;
    argos_store_run (self, ARGOS_SQL_SERVICE_DROP, "s", (const char *) req->name);
    HASH_DEL (self->services, service);
    free (service);
    return true;
}

bool
argos_store_service (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    if (!argos_name_valid (req->name))
        return argos_store_refuse (ans, ARGOS_INVALID, "the name of the service is not valid");
    switch (req->change) {
    case ARGOS_SERVICE_DECLARE:
        argos_store_add_service (self, req->name);
        return true;
    case ARGOS_SERVICE_PAUSE:
    case ARGOS_SERVICE_RESUME:
        return s_pause (self, req, ans);
    case ARGOS_SERVICE_DROP:
        return s_drop (self, req, ans);
    }
    return argos_store_refuse (ans, ARGOS_INVALID, "no such change of a service");
}
