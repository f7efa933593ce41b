//  argos_broker_load - see the header.
//
//  Invariant: the store reads the next page of the index while this one is taken in; at most one
//  request is on its way. Limits: those of the store's pages.

#include "argos_broker_load.h"

#include "argos_storage_wire.h"

#include <stdio.h>

//  Returns 0, or -1 when the store takes nothing.

static int
s_ask (void *store, argos_storage_op_t op, int64_t seq, const char *name, int64_t wall)
{
    argos_storage_req_t *req = argos_storage_req_new (op, 0);
    req->now = wall;
    req->seq = seq;
    snprintf (req->name, sizeof req->name, "%s", name);
    int rc = argos_storage_req_send (store, req);
    argos_storage_req_destroy (&req);
    return rc;
}

//  Waits for what was asked. NULL when it doesn't come.

static argos_storage_ans_t *
s_await (void *store)
{
    argos_storage_ans_t *ans = argos_storage_ans_recv (store, 0);
    if (ans && ans->code != ARGOS_OK)
        argos_storage_ans_destroy (&ans);
    return ans;
}

//  Asks for the page behind this one, if there is one. Returns 0 or -1 as above.

static int
s_ask_next (void *store, const argos_storage_ans_t *page, int64_t wall)
{
    int64_t after = 0;
    for (size_t i = 0; i < page->row_count; i++)
        if (page->rows[i].seq > after)
            after = page->rows[i].seq;
    return page->more ? s_ask (store, ARGOS_ST_INDEX, after, "", wall) : 0;
}

argos_core_t *
argos_broker_load (void *store, const argos_core_config_t *limits, const argos_core_io_t *io,
    int64_t mono, int64_t wall)
{
    argos_core_t *core = NULL;
    bool more = true;
    int rc = s_ask (store, ARGOS_ST_INDEX, 0, "", wall);
    while (more) {
        argos_storage_ans_t *page = rc == 0 ? s_await (store) : NULL;
        if (!page) {
            argos_core_destroy (&core);
            return NULL;
        }
        rc = s_ask_next (store, page, wall);
        if (!core) {
            argos_core_config_t config = *limits;
            config.store_id = page->owner;
            config.boot = page->boot;
            core = argos_core_new (&config, io, mono, wall);
        }
        for (size_t i = 0; i < page->row_count; i++)
            argos_core_load (core, &page->rows[i]);
        more = page->more;
        argos_storage_ans_destroy (&page);
    }
    return core;
}

int
argos_broker_declare (void *store, argos_core_t *core, const char *const *services, int64_t wall)
{
    for (const char *const *name = services; name && *name; name++) {
        int rc = s_ask (store, ARGOS_ST_SERVICE, 0, *name, wall);
        argos_storage_ans_t *ans = rc == 0 ? s_await (store) : NULL;
        if (!ans)
            return -1;
        argos_storage_ans_destroy (&ans);
        argos_core_declare (core, *name);
    }
    return 0;
}
