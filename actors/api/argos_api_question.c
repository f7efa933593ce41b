//  argos_api_question - questions of a run, answered by the id of the run: POST .../approval and
//  POST .../clarify; what a run waits for; and answers in the place of clients that can't be asked.
//
//  A question is a record (argos_question.h). It is answered by one commit with the version that
//  was read, so who was faster wins and the other one is told. Questions are looked for by run,
//  never by session: two runs of one session do not answer each other's. Limit: the first 200
//  records of a session.

#include "argos_api_priv.h"

#include "argos_question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define S_REQUEST_MAX 256 //  Bytes of a request_id
#define S_ANSWER_MAX 8192 //  Bytes of an answer

//  What is to be answered, and how

typedef struct {
    argos_api_t *api;                   //  Owner
    argos_http_req_t *req;              //  To be answered, NULL = nobody waits
    char run_id[ARGOS_API_RUN_ID_SIZE]; //  Whose questions
    char session[257];                  //  Its session
    bool clarify;                       //  A clarify, else an approval
    bool all;                           //  All of them
    char request_id[S_REQUEST_MAX + 1]; //  That one, "" = the oldest
    char choice[33];                    //  Approval: the option
    char *text;                         //  Clarify: what is answered
    bool any_kind;                      //  Of either kind: nobody can be asked
    size_t pending, resolved;           //  Commits in flight; accepted
    argos_err_t trouble;                //  Of a commit, ARGOS_OK = none
} s_reply_t;

static void
s_free (s_reply_t *self)
{
    free (self->text);
    free (self);
}

static void
s_error (argos_http_req_t *req, unsigned status, const char *code, const char *message)
{
    argos_http_error (req, status, "invalid_request_error", code, NULL, message);
}

//  Whether a record is a question of that run, read into *question.

static bool
s_is_of_run (const json_t *record, const char *run_id, argos_question_t *question)
{
    return argos_question_read (question, json_object_get (record, "value")) &&
           strcmp (question->run_id, run_id) == 0;
}

static bool
s_is_open (const argos_question_t *question, int64_t now)
{
    return strcmp (question->state, "open") == 0 && now < question->deadline;
}

static void
s_ask_records (argos_api_t *api, const char *session, argos_peer_answer_fn *fn, void *arg)
{
    char prefix[260];
    (void) snprintf (prefix, sizeof prefix, "%s/", session);
    argos_api_read (api, "record.list",
        json_pack ("{s:s,s:s,s:i}", "space", ARGOS_QUESTION_SPACE, "prefix", prefix, "limit", 200),
        fn, arg);
}

//  --------------------------------------------------------------------------
//  The answer

static void
s_settled (s_reply_t *self)
{
    const char *object =
        self->clarify ? "hermes.run.clarify_response" : "hermes.run.approval_response";
    if (!self->req)
        ;
    else if (self->resolved == 0 && self->trouble == ARGOS_CONFLICT)
        s_error (self->req, 409, self->clarify ? "clarify_not_pending" : "approval_not_pending",
            "Somebody else has answered.");
    else if (self->resolved == 0)
        argos_api_unavailable (self->req, self->trouble);
    else {
        json_t *body = json_pack ("{s:s,s:s,s:I}", "object", object, "run_id", self->run_id,
            "resolved", (json_int_t) self->resolved);
        if (!self->clarify)
            (void) json_object_set_new (body, "choice", json_string (self->choice));
        if (*self->request_id)
            (void) json_object_set_new (body, "request_id", json_string (self->request_id));
        argos_http_json (self->req, 200, body);
    }
    s_free (self);
}

static void
s_on_commit (void *arg, const argos_peer_answer_t *answer)
{
    s_reply_t *self = arg;
    if (answer->code == ARGOS_OK)
        self->resolved++;
    else
        self->trouble = answer->code;
    if (--self->pending == 0)
        s_settled (self);
}

//  One question is answered. Returns false when it is said that the answer is too long for it.

static bool
s_commit (s_reply_t *self, const json_t *record, const argos_question_t *question)
{
    bool approval = strcmp (question->kind, "approval") == 0;
    const char *user = json_string_value (json_object_get (question->source, "user_id"));
    const char *by = user ? user : ARGOS_API_NAME;
    const char *chosen = approval ? self->choice : argos_question_match (question, self->text);
    const char *text = approval || chosen ? NULL : self->text;
    json_t *value =
        argos_question_settle (json_object_get (record, "value"), "answered", chosen, text, by);
    if (!value) {
        if (self->req)
            s_error (self->req, 400, "invalid_clarify_answer", "The answer is too long.");
        return false;
    }
    int64_t version = json_integer_value (json_object_get (record, "version"));
    char id[64];
    (void) snprintf (id, sizeof id, "%s.api", question->id);
    const argos_peer_part_t parts[] = {
        { .type = "record.put", .to = "store", .body = argos_question_put (value, version) },
        { .type = "question.answer",
            .to = "service:turn",
            .id = id,
            .key = self->session,
            .durable = true,
            .side = true,
            .urgent = true,
            .body = argos_question_answer (question->id, chosen, text, by) },
    };
    json_decref (value);
    self->pending++;
    argos_err_t code =
        argos_peer_commit (argos_shell_peer (self->api->shell), NULL, parts, 2, s_on_commit, self);
    if (code != ARGOS_OK)
        s_on_commit (self, &(argos_peer_answer_t){ .code = code, .reason = "", .part = -1 });
    return true;
}

//  --------------------------------------------------------------------------
//  Which ones

//  A question that is not to be answered now: why, or that it was answered so already.

static void
s_refuse (s_reply_t *self, const json_t *records)
{
    size_t index;
    json_t *record;
    argos_question_t question;
    json_array_foreach (records, index, record) {
        if (!s_is_of_run (record, self->run_id, &question) || !*self->request_id ||
            strcmp (question.id, self->request_id) != 0 || !question.choice ||
            strcmp (question.choice, self->choice) != 0)
            continue;
        argos_http_json (self->req, 200,
            json_pack ("{s:s,s:s,s:s,s:s,s:i,s:b}", "object", "hermes.run.approval_response",
                "run_id", self->run_id, "choice", self->choice, "request_id", self->request_id,
                "resolved", 0, "already", 1));
        return;
    }
    s_error (self->req, 409, self->clarify ? "clarify_not_pending" : "approval_not_pending",
        "There is no such question that waits for an answer.");
}

//  Whether this one is meant.

static bool
s_is_meant (const s_reply_t *self, const argos_question_t *question)
{
    bool approval = strcmp (question->kind, "approval") == 0;
    if (!self->any_kind && approval == self->clarify)
        return false;
    return !*self->request_id || strcmp (question->id, self->request_id) == 0;
}

//  Whether it can be answered like that; else it is said.

static bool
s_check (const s_reply_t *self, const argos_question_t *question)
{
    bool approval = strcmp (question->kind, "approval") == 0;
    const char *user = json_string_value (json_object_get (question->source, "user_id"));
    argos_question_verdict_t verdict = argos_question_check (question, user ? user : ARGOS_API_NAME,
        approval ? self->choice : argos_question_match (question, self->text), argos_shell_wall ());
    if (verdict == ARGOS_QUESTION_TAKE)
        return true;
    if (!self->req)
        return false;
    if (verdict == ARGOS_QUESTION_NO_CHOICE)
        s_error (self->req, 400,
            self->clarify ? "invalid_clarify_answer" : "invalid_approval_choice",
            "That is none of the choices of this question.");
    else if (verdict == ARGOS_QUESTION_STRANGER)
        s_error (self->req, 403, "not_allowed", "Somebody else has to answer this question.");
    else
        s_error (self->req, 409, self->clarify ? "clarify_not_pending" : "approval_not_pending",
            "This question does not wait any more.");
    return false;
}

static void
s_on_records (void *arg, const argos_peer_answer_t *answer)
{
    s_reply_t *self = arg;
    size_t index;
    json_t *record, *records = json_object_get (answer->body, "records");
    argos_question_t question;
    int64_t now = argos_shell_wall ();
    bool refused = answer->code != ARGOS_OK || self->api->stopping;
    if (refused && self->req)
        argos_api_unavailable (self->req, answer->code == ARGOS_OK ? ARGOS_GONE : answer->code);
    //  pending is held until all are sent, so no commit frees it meanwhile.
    //  NOLINTBEGIN(clang-analyzer-unix.Malloc)
    self->pending = 1;
    json_array_foreach (records, index, record) {
        if (refused || !s_is_of_run (record, self->run_id, &question) ||
            !s_is_open (&question, now) || !s_is_meant (self, &question))
            continue;
        refused = !s_check (self, &question) || !s_commit (self, record, &question);
        if (refused)
            self->req = NULL; //  It is answered; what was committed before goes on alone
        if (!self->all)
            break;
    }
    bool none = !refused && self->pending == 1 && self->resolved == 0 && !self->trouble;
    if (none && self->req)
        s_refuse (self, records);
    if (none || (refused && self->pending == 1 && self->resolved == 0))
        s_free (self);
    else if (--self->pending == 0)
        s_settled (self);
    //  NOLINTEND(clang-analyzer-unix.Malloc)
}

static void
s_on_run (void *arg, const argos_peer_answer_t *answer)
{
    s_reply_t *self = arg;
    const json_t *row = argos_api_row (answer, self->req);
    const char *session = json_string_value (json_object_get (row, "session_id"));
    bool over = row && argos_api_row_terminal (row);
    if (answer->code == ARGOS_OK && row && session && !over) {
        (void) snprintf (self->session, sizeof self->session, "%s", session);
        s_ask_records (self->api, self->session, s_on_records, self);
        return;
    }
    if (!self->req)
        ;
    else if (answer->code != ARGOS_OK)
        argos_api_unavailable (self->req, answer->code);
    else if (!row)
        argos_api_no_run (self->req);
    else if (over)
        s_error (self->req, 409, self->clarify ? "clarify_not_active" : "approval_not_active",
            "The run is over.");
    else
        s_refuse (self, NULL);
    s_free (self);
}

//  --------------------------------------------------------------------------
//  Requests

//  The choice of an approval: any case, with other words for once. False = none of them.

static bool
s_read_choice (s_reply_t *self, const json_t *root)
{
    static const char *const words[][2] = { { "once", "once" }, { "session", "session" },
        { "always", "always" }, { "deny", "deny" }, { "approve", "once" }, { "approved", "once" },
        { "allow", "once" }, { "denied", "deny" }, { "reject", "deny" } };
    const char *text = json_string_value (json_object_get (root, "choice"));
    size_t blank = text ? strspn (text, " \t\r\n") : 0;
    size_t size = text ? strcspn (text + blank, " \t\r\n") : 0;
    for (size_t i = 0; size && i < sizeof words / sizeof *words; i++)
        if (strlen (words[i][0]) == size && strncasecmp (words[i][0], text + blank, size) == 0) {
            (void) snprintf (self->choice, sizeof self->choice, "%s", words[i][1]);
            return true;
        }
    return false;
}

static bool
s_read_text (s_reply_t *self, const json_t *root)
{
    const json_t *answer = json_object_get (root, "answer");
    if (json_string_length (answer) == 0 || json_string_length (answer) > S_ANSWER_MAX)
        return false;
    self->text = strdup (json_string_value (answer));
    return self->text != NULL;
}

static bool
s_read_request_id (s_reply_t *self, const json_t *root)
{
    const json_t *id = json_object_get (root, "request_id");
    if (!id || json_is_null (id))
        return true;
    if (json_string_length (id) == 0 || json_string_length (id) > S_REQUEST_MAX)
        return false;
    (void) snprintf (self->request_id, sizeof self->request_id, "%s", json_string_value (id));
    return true;
}

//  Reads the body. False = answered.

static bool
s_read (s_reply_t *self)
{
    argos_run_problem_t problem;
    size_t size;
    const char *body = argos_http_body (self->req, &size);
    json_t *root = argos_run_request_root (body, size, &problem);
    bool good = false;
    if (!root)
        argos_api_refuse (self->req, &problem);
    else if (!s_read_request_id (self, root))
        s_error (self->req, 400,
            self->clarify ? "invalid_clarify_request" : "invalid_approval_request",
            "'request_id' must be a string of 1 to 256 bytes.");
    else if (self->clarify && !s_read_text (self, root))
        s_error (self->req, 400, "invalid_clarify_answer",
            "'answer' must be a string of 1 to 8192 bytes.");
    else if (!self->clarify && !s_read_choice (self, root))
        s_error (self->req, 400, "invalid_approval_choice",
            "'choice' must be once, session, always or deny.");
    else
        good = true;
    self->all =
        argos_content_flag (root, "all", false) || argos_content_flag (root, "resolve_all", false);
    json_decref (root);
    return good;
}

static s_reply_t *
s_new (argos_api_t *api, const char *run_id)
{
    s_reply_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->api = api;
    (void) snprintf (self->run_id, sizeof self->run_id, "%s", run_id);
    return self;
}

static void
s_handle (argos_api_t *api, argos_http_req_t *req, bool clarify)
{
    const char *run_id = argos_http_param (req);
    if (!argos_run_id_valid (run_id)) {
        argos_api_no_run (req);
        return;
    }
    s_reply_t *self = s_new (api, run_id);
    self->req = req;
    self->clarify = clarify;
    if (s_read (self))
        argos_api_read (api, "run.get", json_pack ("{s:s}", "run_id", run_id), s_on_run, self);
    else
        s_free (self);
}

void
argos_api_approval (void *ctx, argos_http_req_t *req)
{
    s_handle (ctx, req, false);
}

void
argos_api_clarify (void *ctx, argos_http_req_t *req)
{
    s_handle (ctx, req, true);
}

void
argos_api_decline (argos_api_t *api, const char *run_id)
{
    if (api->stopping)
        return;
    s_reply_t *self = s_new (api, run_id);
    self->any_kind = self->all = true;
    memcpy (self->choice, "deny", 5);
    self->text = strdup ("(Nobody can be asked: the client of this run only waits for the answer. "
                         "Go on by your own judgement.)");
    argos_api_read (api, "run.get", json_pack ("{s:s}", "run_id", run_id), s_on_run, self);
}

//  --------------------------------------------------------------------------
//  What a run waits for

static void
s_on_waits (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_call_t *call = arg;
    size_t index;
    json_t *record;
    argos_question_t question;
    json_t *status = call->row;
    int64_t now = argos_shell_wall ();
    call->row = NULL;
    json_array_foreach (json_object_get (answer->body, "records"), index, record) {
        json_t *asked = NULL;
        if (s_is_of_run (record, call->run_id, &question) && s_is_open (&question, now))
            asked = argos_question_asked (json_object_get (record, "value"));
        if (!asked || json_object_get (status, "approval"))
            continue;
        json_t *event = argos_event_translate ("question.asked", asked, call->run_id, now);
        (void) json_object_set_new (status, "approval", event);
        (void) json_object_set_new (status, "status", json_string ("waiting_for_approval"));
        json_decref (asked);
    }
    argos_http_json (call->req, 200, status);
    argos_api_call_destroy (&call);
}

void
argos_api_waits (argos_api_call_t *call, const char *session)
{
    s_ask_records (call->api, session, s_on_waits, call);
}
