//  argos_store_rank - how well a message fits a query: argos_rank (index), a function of SQL.
//
//  Invariant: BM25 with all phrases of the same weight; less is better, as with SQLite's own. That
//  one counts for each phrase all the messages that have it, which takes a tenth of a second for a
//  common word among a million. Limit: the first 16 phrases of a query count.

#include "argos_store_priv.h"

#include <sqlite3.h>

#define PHRASES_MAX 16 //  Of a query
#define K1 1.2         //  How soon a repeated word counts no more
#define B 0.75         //  How much the length of a text counts

//  The length of this text in those of an average one; negative on failure.

static double
s_length (const Fts5ExtensionApi *api, Fts5Context *fts, int *ret_rc)
{
    sqlite3_int64 rows = 0, words = 0;
    int own = 0;
    *ret_rc = api->xRowCount (fts, &rows);
    if (*ret_rc == SQLITE_OK)
        *ret_rc = api->xColumnTotalSize (fts, -1, &words);
    if (*ret_rc == SQLITE_OK)
        *ret_rc = api->xColumnSize (fts, -1, &own);
    return words > 0 ? (double) own * (double) rows / (double) words : 1;
}

static void
s_rank (const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *context, int count,
    sqlite3_value **values)
{
    double found[PHRASES_MAX] = { 0 }, score = 0;
    int instances = 0, rc;
    (void) count;
    (void) values;
    double length = s_length (api, fts, &rc);
    if (rc == SQLITE_OK)
        rc = api->xInstCount (fts, &instances);
    for (int i = 0; i < instances && rc == SQLITE_OK; i++) {
        int phrase = 0, column, offset;
        rc = api->xInst (fts, i, &phrase, &column, &offset);
        if (phrase < PHRASES_MAX)
            found[phrase]++;
    }
    for (int i = 0; i < PHRASES_MAX; i++)
        score += found[i] * (K1 + 1) / (found[i] + K1 * (1 - B + B * length));
    if (rc == SQLITE_OK)
        sqlite3_result_double (context, -score);
    else
        sqlite3_result_error_code (context, rc);
}

int
argos_store_rank_init (argos_store_t *self)
{
    fts5_api *api = NULL;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2 (self->db, "SELECT fts5 (?1)", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_pointer (stmt, 1, &api, "fts5_api_ptr", NULL);
    if (rc == SQLITE_OK)
        sqlite3_step (stmt);
    sqlite3_finalize (stmt);
    if (!api)
        return -1;
    rc = api->xCreateFunction (api, "argos_rank", NULL, s_rank, NULL);
    return rc == SQLITE_OK ? 0 : -1;
}
