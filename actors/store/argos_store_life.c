//  argos_store_life - sessions come, are changed, copied and go.
//
//  Invariants: a parent exists when its child is made, so that lineages have no cycles; a session
//  with work in its lane is not deleted; its messages leave sight in the same transaction and the
//  file a slice at a time. Limits: ARGOS_STORE_COPY_MAX messages for a copy, about as many for one
//  pruning.

#include "argos_store_priv.h"

#include <stdio.h>
#include <string.h>

#define PRUNE_MAX 100 //  Sessions that one operation prunes

void
argos_store_session_owner (const json_t *body, const argos_store_session_t *parent,
    char target[static ARGOS_STORE_OWNER_MAX])
{
    const char *given = argos_store_member (body, "owner");
    const json_t *source = json_object_get (body, "source");
    const char *user = argos_store_member (source, "user_id_alt");
    if (!*user)
        user = argos_store_member (source, "user_id");
    if (!*user)
        user = argos_store_member (source, "chat_id");
    if (*given || (parent && *parent->owner) || !source)
        argos_store_text_copy (
            target, *given || !parent ? given : parent->owner, ARGOS_STORE_OWNER_MAX);
    else
        snprintf (target, ARGOS_STORE_OWNER_MAX, "%s:%s:%s",
            argos_store_member (source, "platform"), argos_store_member (source, "account"), user);
}

//  Makes the row. False is a refusal; *ret_made says whether there was none before.

static bool
s_make (argos_store_t *self, argos_store_unit_t *unit, bool *ret_made)
{
    const json_t *body = unit->body;
    const char *parent_id = argos_store_member (body, "parent");
    const char *kind = argos_store_member (body, "kind");
    argos_store_session_t parent, session = { .kind = "" };
    size_t count;
    if (!*kind)
        kind = *parent_id ? "branch" : "root";
    if (strcmp (kind, "root") != 0 && !*parent_id)
        return argos_store_refuse (unit->ans, ARGOS_INVALID, "kind: it needs a parent");
    //  Nobody continues somebody else's
    if (*parent_id &&
        !argos_store_session_find (self, parent_id, argos_store_member (body, "owner"), &parent))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such parent");
    argos_store_session_owner (body, *parent_id ? &parent : NULL, session.owner);
    argos_store_text_copy (session.id, argos_store_member (body, "id"), sizeof session.id);
    if (!argos_store_title_clean (argos_store_member (body, "title"), session.title, &count))
        return argos_store_refuse (unit->ans, ARGOS_INVALID, "a title has at most 100 characters");
    argos_store_run (self, ARGOS_SQL_SESSION_ADD, "sjeissei", (const char *) session.id,
        json_object_get (body, "source"), parent_id, self->now, (const char *) session.owner, kind,
        argos_store_member (body, "model"),
        (int64_t) json_is_true (json_object_get (body, "hidden")));
    *ret_made = !self->failed && argos_store_changed (self);
    argos_store_unstamp (self);
    //  Behind the row: whose title it may take follows from the parent in it
    if (*ret_made && *session.title) {
        if (!argos_store_title_take (self, unit, &session, session.title))
            return false;
        argos_store_run (self, ARGOS_SQL_SESSION_TITLE, "sss", (const char *) session.id,
            (const char *) session.title, "user");
    }
    if (*ret_made && strcmp (kind, "compression") == 0)
        argos_store_run (self, ARGOS_SQL_SESSION_CONTINUED, "s", parent_id);
    return true;
}

bool
argos_store_session_create (argos_store_t *self, argos_store_unit_t *unit)
{
    bool made = false;
    if (!s_make (self, unit, &made))
        return false;
    if (!self->failed && !made)
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "a session of that id exists");
    return true;
}

bool
argos_store_session_ensure (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *id = argos_store_member (body, "id");
    char owner[ARGOS_STORE_OWNER_MAX];
    argos_store_session_t session;
    bool made = false;
    if (!argos_store_session_find (self, id, "", &session))
        return s_make (self, unit, &made);
    argos_store_session_owner (body, NULL, owner);
    if (*session.owner && *argos_store_member (body, "owner") && strcmp (session.owner, owner) != 0)
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    argos_store_run (self, ARGOS_SQL_SESSION_FILL, "sjes", id, json_object_get (body, "source"),
        argos_store_member (body, "model"), (const char *) owner);
    return true;
}

bool
argos_store_session_reopen (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_session_t session;
    if (!argos_store_session_need (self, unit, &session))
        return false;
    argos_store_run (self, ARGOS_SQL_SESSION_REOPEN, "s", (const char *) session.id);
    return true;
}

bool
argos_store_session_update (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_session_t session;
    if (!argos_store_session_need (self, unit, &session))
        return false;
    static const char *const names[] = { "hidden", "archived" };
    static const argos_sql_t sql[] = { ARGOS_SQL_SESSION_HIDE, ARGOS_SQL_SESSION_ARCHIVE };
    argos_store_run (self, ARGOS_SQL_SESSION_MODEL, "se", (const char *) session.id,
        argos_store_member (unit->body, "model"));
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
        const json_t *value = json_object_get (unit->body, names[i]);
        if (value)
            argos_store_run (
                self, sql[i], "si", (const char *) session.id, (int64_t) json_is_true (value));
    }
    return true;
}

//  Where the tools of a session work. Without `move` the first one stays: of several that claim it
//  at the same time one succeeds.

bool
argos_store_session_home (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_session_t session;
    if (!argos_store_session_need (self, unit, &session))
        return false;
    argos_store_run (self, ARGOS_SQL_SESSION_HOME, "sei", (const char *) session.id,
        argos_store_member (unit->body, "home"),
        (int64_t) json_is_true (json_object_get (unit->body, "move")));
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "the session has another home");
    return true;
}

//  The title of a branch: as given, else the next of the lineage. False is a refusal.

static bool
s_branch_title (argos_store_t *self, argos_store_unit_t *unit, argos_store_session_t *branch,
    const argos_store_session_t *from)
{
    size_t count;
    if (!argos_store_title_clean (argos_store_member (unit->body, "title"), branch->title, &count))
        return argos_store_refuse (unit->ans, ARGOS_INVALID, "a title has at most 100 characters");
    if (*branch->title)
        return argos_store_title_take (self, unit, branch, branch->title);
    if (*from->title)
        argos_store_title_next (self, from->owner, from->title, branch->title);
    return true;
}

bool
argos_store_session_branch (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    argos_store_session_t from, branch = { .kind = "branch" };
    if (!argos_store_session_find (
            self, argos_store_member (body, "from"), argos_store_member (body, "owner"), &from))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    if (from.message_count > ARGOS_STORE_COPY_MAX)
        return argos_store_refuse (
            unit->ans, ARGOS_TOO_BIG, "a session of more than 20000 messages is not copied");
    argos_store_text_copy (branch.id, argos_store_member (body, "id"), sizeof branch.id);
    memcpy (branch.owner, from.owner, sizeof branch.owner);
    if (!s_branch_title (self, unit, &branch, &from))
        return false;
    argos_store_unstamp (self);
    argos_store_run (self, ARGOS_SQL_SESSION_BRANCH, "ssiee", (const char *) from.id,
        (const char *) branch.id, self->now, (const char *) branch.title,
        !*branch.title                        ? ""
        : *argos_store_member (body, "title") ? "user"
                                              : "branch");
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "a session of that id exists");
    argos_store_run (self, ARGOS_SQL_MESSAGE_COPY, "ssi", (const char *) from.id,
        (const char *) branch.id, argos_store_integer (body, "upto", 0));
    self->messages_behind += from.message_count;
    argos_store_session_recount (self, branch.id);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Going

//  The session and its delegates, and theirs; NULL when one has work in its lane, or there are too
//  many.

static json_t *
s_family (argos_store_t *self, const char *id)
{
    json_t *family = json_pack ("[s]", id);
    for (size_t i = 0; i < json_array_size (family); i++) {
        const char *member = json_string_value (json_array_get (family, i));
        if (json_array_size (family) > ARGOS_STORE_FAMILY_MAX ||
            argos_store_number (
                self, 0, ARGOS_SQL_LANE_COUNT, "ssi", "turn", member, (int64_t) 1)) {
            json_decref (family);
            return NULL;
        }
        argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_DELEGATES, "s", member);
        while (stmt) {
            json_array_append_new (family, argos_store_string (stmt, 0));
            if (!argos_store_next (self, stmt))
                break;
        }
        argos_store_end (self, ARGOS_SQL_SESSION_DELEGATES);
    }
    return family;
}

//  Whether it is there, also one that is only half imported: that has to go, too. What it continues
//  is in *ret_parent, "" for none.

static bool
s_is_there (argos_store_t *self, const char *id, const char *owner,
    char ret_parent[static ARGOS_STORE_SESSION_MAX])
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_CONTINUES, "se", id, owner);
    *ret_parent = 0;
    if (stmt)
        argos_store_text (stmt, 0, ret_parent, ARGOS_STORE_SESSION_MAX);
    argos_store_end (self, ARGOS_SQL_SESSION_CONTINUES);
    return stmt != NULL;
}

static void
s_drop (argos_store_t *self, const char *id)
{
    char parent[ARGOS_STORE_SESSION_MAX];
    if (!s_is_there (self, id, "", parent))
        return;
    argos_store_run (self, ARGOS_SQL_SESSION_DROP, "s", id);
    argos_store_run (self, ARGOS_SQL_SESSION_ORPHAN, "s", id);
    argos_store_run (self, ARGOS_SQL_USAGE_DROP, "s", id);
    argos_store_run (self, ARGOS_SQL_ROUTE_ORPHAN, "s", id);
    argos_store_run (self, ARGOS_SQL_HANDOFF_DROP, "s", id);
    argos_store_run (self, ARGOS_SQL_MESSAGE_TRASH, "s", id);
    if (*parent)
        argos_store_run (self, ARGOS_SQL_SESSION_CONTINUED, "s", (const char *) parent);
    self->messages_dropped = true;
}

//  Returns whether it went; false when it has work.

static bool
s_drop_family (argos_store_t *self, const char *id)
{
    json_t *family = s_family (self, id);
    //  From the last one on, so that no delegate becomes a root
    for (size_t i = json_array_size (family); i > 0; i--)
        s_drop (self, json_string_value (json_array_get (family, i - 1)));
    json_decref (family);
    return family != NULL;
}

bool
argos_store_session_delete (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "id");
    char parent[ARGOS_STORE_SESSION_MAX];
    if (!s_is_there (self, id, argos_store_member (unit->body, "owner"), parent))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    if (!s_drop_family (self, id))
        return argos_store_refuse (
            unit->ans, ARGOS_CONFLICT, "something waits in the lane of the session");
    return true;
}

bool
argos_store_session_prune (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    char ids[PRUNE_MAX][ARGOS_STORE_SESSION_MAX];
    int64_t messages = 0, limit = argos_store_integer (body, "limit", PRUNE_MAX);
    size_t count = 0;
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_PRUNABLE, "ieeii",
        argos_store_integer (body, "before", 0), argos_store_member (body, "platform"),
        argos_store_member (body, "owner"), limit < PRUNE_MAX ? limit : PRUNE_MAX,
        (int64_t) ARGOS_STORE_FAMILY_MAX);
    while (stmt && count < PRUNE_MAX && messages <= ARGOS_STORE_COPY_MAX) {
        argos_store_text (stmt, 0, ids[count++], ARGOS_STORE_SESSION_MAX);
        messages += argos_sql_int (stmt, 6);
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_SESSION_PRUNABLE);
    for (size_t i = 0; i < count && !self->failed; i++)
        s_drop_family (self, ids[i]);
    return true;
}
