//  The command step of the gateway: for each command what it reads and which parts it makes, who
//  may use it, what happens while a turn runs, and how one is asked for.

#include "argos_command.h"
#include "argos_confirm.h"
#include "argos_gateway.h"
#include "argos_incoming.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define OPEN "'gateway':{'allow_all_users':true}" //  Who may speak is not what this is about
#define SESSION "'id':'s1','title':'Plan','message_count':4,'version':9,'started_at':1"
#define ROUTE "{'route':{'key':'k','session_id':'s1','version':3},'session':{" SESSION "}}"
#define EMPTY                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':3},'session':{'id':'s1','message_count':0,"   \
    "'version':1}}"
#define NOTHING "{'route':null,'session':null}"
#define RUNS "{'messages':[{'type':'turn.request','leased':true}]}"
#define WAITS "{'messages':[{'type':'turn.request','leased':true},{'type':'turn.request'}]}"
#define FREE "{'messages':[]}"
#define SAID                                                                                       \
    "{'messages':[{'id':7,'role':'user','content':'again'},{'id':3,'role':'user','content':'once'" \
    "}]}"
#define LIST                                                                                       \
    "{'sessions':[{'id':'s1','title':'Plan','message_count':4},{'id':'s0','preview':'old','"       \
    "message_count':2}]}"
#define TARGET "{'session':{'id':'s0','title':'Old','message_count':2}}"
#define NO_CONFIRM "{'record':{'version':2,'value':{'chat':{'confirm':false}}}}"

#define TURN "run.create expect turn.request out.state"

//  What each command makes of these facts

//  NOLINTBEGIN(bugprone-suspicious-missing-comma): texts that are put together
static const struct {
    const char *text;               //  Said
    const char *facts[ARGOS_FACTS]; //  Read
    const char *types;              //  Parts expected
    const char *words;              //  In the answer
} s_rows[] = {
#define F(name, value) [ARGOS_FACT_##name] = value
    { "/start", { F (ROUTE, ROUTE) }, "", "" },
    { "/new", { F (ROUTE, NOTHING) }, "expect session.create route.bind record.put deliver.request",
        "✨" },
    { "/new Trip", { F (ROUTE, EMPTY) }, "expect route.reset record.put deliver.request",
        ": Trip" },
    { "/reset", { F (ROUTE, ROUTE), F (SETTING, NO_CONFIRM) },
        "expect route.reset record.put deliver.request", "✨" },
    { "/new", { F (ROUTE, ROUTE) }, "record.put deliver.request", "`approve`" },
    { "/resume", { F (ROUTE, ROUTE), F (LIST, LIST) }, "deliver.request", "2. old `s0` (2)" },
    { "/resume", { F (ROUTE, ROUTE), F (LIST, "{'sessions':[]}") }, "deliver.request",
        "no sessions" },
    { "/resume 2",
        { F (ROUTE, ROUTE), F (LIST, LIST), F (LINEAGE, "{'tip':'s0'}"), F (TARGET, TARGET) },
        "expect route.switch deliver.request", "session s0 Old (2 messages)" },
    { "/resume 9", { F (ROUTE, ROUTE), F (LIST, LIST) }, "deliver.request", "no session \"9\"" },
    { "/resume <Old>",
        { F (ROUTE, NOTHING), F (RESOLVED, "{'session_id':'s0'}"), F (LINEAGE, "{'tip':'s0'}"),
            F (TARGET, TARGET) },
        "expect session.reopen route.bind deliver.request", "session s0 Old" },
    { "/resume hers", { F (ROUTE, ROUTE), F (RESOLVED, "{'session_id':null}") }, "deliver.request",
        "no session \"hers\"" },
    { "/resume Plan",
        { F (ROUTE, ROUTE), F (RESOLVED, "{'session_id':'s1'}"), F (LINEAGE, "{'tip':'s1'}"),
            F (TARGET, "{'session':{" SESSION "}}") },
        "deliver.request", "you are in" },
    { "/sessions", { F (ROUTE, ROUTE), F (LIST, LIST) }, "deliver.request",
        "Plan `s1` (4) ← here" },
    { "/sessions all", { F (ROUTE, ROUTE), F (LIST, LIST) }, "deliver.request", "· old `s0`" },
    { "/sessions search x",
        { F (ROUTE, ROUTE), F (SEARCH, "{'hits':[{'snippet':'an x','session_id':'s0'}]}") },
        "deliver.request", "an x `s0`" },
    { "/sessions search x", { F (ROUTE, ROUTE), F (SEARCH, "{'hits':[]}") }, "deliver.request",
        "found for \"x\"." },
    { "/sessions search x", { F (ROUTE, ROUTE), F (SEARCH, "{'hits':[],'next':7}") },
        "deliver.request", "in the newest messages" },
    { "/title", { F (ROUTE, ROUTE) }, "deliver.request", "called \"Plan\"" },
    { "/title", { F (ROUTE, EMPTY) }, "deliver.request", "no title" },
    { "/title New one", { F (ROUTE, ROUTE) }, "session.rename deliver.request", "\"New one\"" },
    { "/title x", { F (ROUTE, NOTHING) }, "deliver.request", "no session yet" },
    { "/branch", { F (ROUTE, ROUTE) }, "expect session.branch expect route.switch deliver.request",
        "copy of session s1" },
    { "/fork Copy", { F (ROUTE, ROUTE) },
        "expect session.branch expect route.switch deliver.request", "copy of session s1" },
    { "/branch", { F (ROUTE, NOTHING) }, "deliver.request", "no session yet" },
    { "/retry", { F (ROUTE, ROUTE), F (SAID, SAID) }, "expect expect session.rewind expect " TURN,
        "" },
    { "/retry", { F (ROUTE, ROUTE), F (SAID, FREE) }, "deliver.request",
        "No previous message to retry." },
    { "/undo", { F (ROUTE, ROUTE), F (SAID, SAID), F (SETTING, NO_CONFIRM) },
        "expect expect session.rewind deliver.request", "Took back 2 of" },
    { "/undo 2", { F (ROUTE, ROUTE), F (SAID, SAID) }, "record.put deliver.request", "`always`" },
    { "/undo x", { F (ROUTE, ROUTE), F (SETTING, NO_CONFIRM) }, "deliver.request", "Usage: /undo" },
    { "/undo", { F (ROUTE, EMPTY), F (SAID, FREE) }, "deliver.request", "no message of yours" },
    { "/compress", { F (ROUTE, ROUTE) }, "session.compress", "" },
    { "/stop", { F (ROUTE, ROUTE), F (LANE, RUNS) }, "turn.stop deliver.request", "⚡ Stopped" },
    { "/stop", { F (ROUTE, ROUTE), F (LANE, FREE) }, "deliver.request", "Nothing is running" },
    { "/queue more", { F (ROUTE, ROUTE), F (LANE, WAITS) }, "expect " TURN " deliver.request",
        "number 2" },
    { "/q more", { F (ROUTE, ROUTE), F (LANE, FREE) }, "expect " TURN, "" },
    { "/plan", { F (ROUTE, ROUTE) }, "deliver.request", "Usage: /plan" },
    { "/queue", { F (ROUTE, ROUTE) }, "deliver.request", "Usage: /queue" },
    { "/steer left", { F (ROUTE, ROUTE), F (LANE, RUNS) }, "expect " TURN " deliver.request",
        "⏩ Steer queued: \"left\"" },
    { "/steer left", { F (ROUTE, ROUTE), F (LANE, FREE) }, "expect " TURN, "" },
    { "/approve", { F (ROUTE, ROUTE) }, "deliver.request", "Nothing is waiting" },
    { "/deny no", { F (ROUTE, ROUTE) }, "deliver.request", "Nothing is waiting" },
    { "/background", { F (ROUTE, ROUTE) }, "deliver.request", "Usage: /background" },
    { "/agents",
        { F (ROUTE, ROUTE), F (RUNS, "{'runs':[{'run_id':'run_1','state':'running','created_at':1,"
                                     "'session_id':'s1'},{'run_id':'run_2','state':'failed'}]}") },
        "deliver.request", "`run_1` running" },
    { "/tasks", { F (ROUTE, ROUTE), F (RUNS, "{'runs':[]}") }, "deliver.request", "Nothing runs" },
    { "/status", { F (ROUTE, ROUTE), F (LANE, WAITS), F (AGENT, "{'kind':'openai','model':'m'}") },
        "deliver.request", "Running: yes, queued: 1\nProvider: openai, model m" },
    { "/sethome", { F (ROUTE, ROUTE) }, "record.put deliver.request daemon.home",
        "✅ Home channel set" },
    { "/set-home", { F (ROUTE, ROUTE) }, "record.put deliver.request daemon.home",
        "✅ Home channel set" },
    { "/restart", { F (ROUTE, ROUTE) }, "deliver.request daemon.restart", "♻ Restarting gateway" },
    { "/model", { F (ROUTE, ROUTE), F (AGENT, "{'model':'m'}") }, "deliver.request", "session: m" },
    { "/model big", { F (ROUTE, ROUTE) }, "record.put deliver.request", "uses model big" },
    { "/model big", { F (ROUTE, NOTHING) },
        "expect session.create route.bind record.put record.put deliver.request",
        "uses model big" },
    { "/model big --global", { F (ROUTE, ROUTE) }, "deliver.request", "provider.model" },
    { "/model two words", { F (ROUTE, ROUTE) }, "deliver.request", "no blanks" },
    { "/model reset", { F (ROUTE, ROUTE) }, "record.put deliver.request", "configured model" },
    { "/reasoning", { F (ROUTE, ROUTE) }, "deliver.request", "by itself" },
    { "/reasoning high", { F (ROUTE, ROUTE) }, "record.put deliver.request", "level high" },
    { "/reasoning loud", { F (ROUTE, ROUTE) }, "deliver.request", "Usage: /reasoning" },
    { "/reasoning reset", { F (ROUTE, ROUTE) }, "record.put deliver.request", "by itself" },
    { "/verbose", { F (ROUTE, ROUTE) }, "record.put deliver.request", "chat: new" },
    { "/verbose",
        { F (ROUTE, ROUTE),
            F (SETTING, "{'record':{'version':1,'value':{'chat':{'verbose':'log'}}}}") },
        "record.put deliver.request", "chat: off" },
    { "/yolo", { F (ROUTE, ROUTE) }, "record.put deliver.request", "nothing asks" },
    { "/yolo",
        { F (ROUTE, ROUTE),
            F (SETTING, "{'record':{'version':1,'value':{'session':'s1','of':{'yolo':true}}}}") },
        "record.put deliver.request", "asks before" },
    { "/usage", { F (ROUTE, ROUTE), F (USAGE, "{'usage':[{'model':'m','calls':2}]}") },
        "deliver.request", "m: 2 calls" },
    { "/usage", { F (ROUTE, NOTHING) }, "deliver.request", "no session yet" },
    { "/whoami", { F (ROUTE, ROUTE) }, "deliver.request", "User: ann\nTier: unrestricted" },
    { "/commands", { F (ROUTE, ROUTE) }, "deliver.request", "page 1 of 2" },
    { "/commands 2", { F (ROUTE, ROUTE) }, "deliver.request", "page 2 of 2" },
    { "/commands 3", { F (ROUTE, ROUTE) }, "deliver.request", "There are 2 pages" },
    { "/help", { F (ROUTE, ROUTE) }, "deliver.request", "`/background" },
    { "/version", { F (ROUTE, ROUTE) }, "deliver.request", "argos " },
    { "/v", { F (ROUTE, ROUTE) }, "deliver.request", "argos " },
    { "/handoff telegram", { F (ROUTE, ROUTE) }, "deliver.request", "no command /handoff" },
    { "/quit", { F (ROUTE, ROUTE) }, "deliver.request", "no command /quit" },
    { "/frobnicate", { F (ROUTE, ROUTE) }, "deliver.request", "no command /frobnicate" },
};
//  NOLINTEND(bugprone-suspicious-missing-comma)

static void
each_command_makes_these_parts (void **state)
{
    (void) state;
    bool seen[ARGOS_COMMAND_COUNT] = { false };
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char types[512], name[ARGOS_COMMAND_NAME_MAX + 1];
        gate_t self;
        gate_say (&self, GATE_OPEN, "test", s_rows[i].text);
        assert_true (gate_read (&self, s_rows[i].facts) >= 1);
        json_t *parts = argos_gateway_decide (&self.gateway);
        gate_types (parts, types, sizeof types);
        if (strcmp (types, s_rows[i].types) != 0 || !strstr (gate_told (parts), s_rows[i].words))
            fail_msg ("%s made %s\n%s", s_rows[i].text, types, gate_told (parts));
        argos_incoming_command (s_rows[i].text, name, NULL);
        if (argos_commands_find (name))
            seen[argos_commands_id (argos_commands_find (name))] = true;
        gate_end (&self, parts);
    }
    for (size_t i = 0; i < ARGOS_COMMAND_COUNT; i++)
        assert_int_equal (
            argos_command_is_handled ((argos_command_id_t) i), !argos_commands_row (i)->cli_only);
    for (size_t i = 0; i < ARGOS_COMMAND_COUNT; i++)
        if (!seen[i])
            fail_msg ("no row for /%s", argos_commands_row (i)->name);
}

static void
while_a_turn_runs_the_table_says_what_is_done (void **state)
{
    (void) state;
    const argos_commands_row_t *row;
    const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, RUNS), F (SAID, SAID) };
    for (size_t i = 0; (row = argos_commands_row (i)); i++) {
        char text[64];
        gate_t self;
        if (row->cli_only)
            continue;
        snprintf (text, sizeof text, "/%s", row->name);
        gate_say (&self, GATE_OPEN, "test", text);
        gate_read (&self, facts);
        json_t *parts = argos_gateway_decide (&self.gateway);
        bool refused = strstr (gate_told (parts), "⏳ Agent is running") != NULL;
        assert_int_equal (refused, row->busy == ARGOS_COMMANDS_REJECT);
        if (refused)
            assert_int_equal (json_array_size (parts), 1);
        gate_end (&self, parts);
    }
}

static void
users_get_what_is_listed_and_what_everybody_has (void **state)
{
    (void) state;
    const argos_commands_row_t *row;
    const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE) };
    for (size_t i = 0; (row = argos_commands_row (i)); i++) {
        char text[64];
        gate_t self;
        if (row->cli_only)
            continue;
        snprintf (text, sizeof text, "/%s", row->aliases[0] ? row->aliases[0] : row->name);
        gate_say (&self, GATE_OPEN, "test", text);
        self.policy.config =
            gate_own (&self, "{" OPEN ",'platforms':{'test':{'allow_admin_from':['bob'],'"
                             "user_allowed_commands':['title']}}}");
        gate_read (&self, facts);
        json_t *parts = argos_gateway_decide (&self.gateway);
        bool may = row->everybody || strcmp (row->name, "title") == 0;
        assert_int_equal (strstr (gate_told (parts), "⛔") == NULL, may);
        if (!may)
            assert_int_equal (json_array_size (parts), 1);
        if (strcmp (row->name, "help") == 0) {
            assert_non_null (strstr (gate_told (parts), "`/title"));
            assert_null (strstr (gate_told (parts), "`/new"));
        }
        gate_end (&self, parts);
    }
}

#define QUICK                                                                                      \
    "{" OPEN ",'quick_commands':{'s':{'type':'alias','target':'/status'},"                         \
    "'t':{'type':'alias','target':'/title One','description':'one'},"                              \
    "'u':{'type':'alias','target':'/t'},'disk':{'type':'exec','command':'df'},"                    \
    "'loop':{'type':'alias','target':'/loop'}},"                                                   \
    "'platforms':{'gated':{'allow_admin_from':['bob'],'user_allowed_commands':['s','t','title']}}" \
    "}"

static void
quick_commands_become_what_they_stand_for (void **state)
{
    (void) state;
    static const struct {
        const char *platform, *text; //  Said, where
        const char *words;           //  In the answer
    } rows[] = {
        { "test", "/s", "Session: s1" },
        { "test", "/t two", "\"One two\"" },
        { "test", "/u two", "\"One two\"" },
        { "test", "/disk", "/disk does not run" }, //  Without rules: test_gateway_exec,
        { "test", "/loop", "no command /loop" },
        { "test", "/help", "`/t` -- one" },
        { "gated", "/s", "⛔ /s" }, //  What it stands for is not allowed
        { "gated", "/t two", "\"One two\"" },
        { "gated", "/u two", "⛔ /u" }, //  It stands for what is allowed, but is not itself
        { "gated", "/disk", "⛔ /disk" },
    };
    const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE) };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gate_t self;
        gate_say (&self, GATE_OPEN, rows[i].platform, rows[i].text);
        self.policy.config = gate_own (&self, QUICK);
        gate_read (&self, facts);
        json_t *parts = argos_gateway_decide (&self.gateway);
        if (!strstr (gate_told (parts), rows[i].words))
            fail_msg ("%s: %s", rows[i].text, gate_told (parts));
        gate_end (&self, parts);
    }
}

#define ASKED(user)                                                                                \
    "{'record':{'version':5,'value':{'command':'new','arguments':'Trip','user':'" user "'}}}"

static void
a_destructive_command_is_done_when_it_was_confirmed (void **state)
{
    (void) state;
    static const struct {
        const char *text, *question; //  Said, and the record that waits
        const char *types, *words;   //  Parts and answer expected
    } rows[] = {
        { "approve", ASKED ("ann"), "record.put expect route.reset record.put deliver.request",
            ": Trip" },
        { "Yes!", ASKED ("ann"), "record.put expect route.reset record.put deliver.request",
            ": Trip" },
        { "/approve", ASKED ("ann"), "record.put expect route.reset record.put deliver.request",
            ": Trip" },
        { "always", ASKED ("ann"),
            "record.put record.put expect route.reset record.put deliver.request", ": Trip" },
        { "/approve always", ASKED ("ann"),
            "record.put record.put expect route.reset record.put deliver.request", ": Trip" },
        { "cancel", ASKED ("ann"), "record.put deliver.request", "/new is cancelled" },
        { "/deny", ASKED ("ann"), "record.put deliver.request", "/new is cancelled" },
        //  Somebody else's question, none, other words
        { "yes", ASKED ("bob"), "expect " TURN, "" },
        { "yes", "{'record':null}", "expect " TURN, "" },
        { "yes please", ASKED ("ann"), "expect " TURN, "" },
        { "/approve", ASKED ("bob"), "deliver.request", "Nothing is waiting" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (QUESTION, rows[i].question) };
        char types[512];
        gate_t self;
        gate_say (&self, GATE_OPEN, "test", rows[i].text);
        gate_read (&self, facts);
        json_t *parts = argos_gateway_decide (&self.gateway);
        gate_types (parts, types, sizeof types);
        if (strcmp (types, rows[i].types) != 0 || !strstr (gate_told (parts), rows[i].words))
            fail_msg ("%s made %s\n%s", rows[i].text, types, gate_told (parts));
        if (strncmp (types, "record.put", 10) == 0) {
            const json_t *body = json_object_get (json_array_get (parts, 0), "body");
            assert_int_equal (json_integer_value (json_object_get (body, "version")), 5);
            assert_null (json_object_get (body, "value"));
        }
        gate_end (&self, parts);
    }
}

static void
the_terminal_has_no_use_for_what_is_for_chats (void **state)
{
    (void) state;
    const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE) };
    gate_t self;
    gate_say (&self, GATE_OPEN, "local", "/sethome");
    gate_read (&self, facts);
    json_t *parts = argos_gateway_decide (&self.gateway);
    assert_non_null (strstr (gate_told (parts), "/sethome is for chats"));
    gate_end (&self, parts);
    gate_say (&self, GATE_OPEN, "local", "/help");
    gate_read (&self, facts);
    parts = argos_gateway_decide (&self.gateway);
    assert_null (strstr (gate_told (parts), "/sethome"));
    assert_non_null (strstr (gate_told (parts), "/background"));
    gate_end (&self, parts);
}

//  ------------------------------------------------------------------------------------------------
//  Ordinary messages: what was set, and the life of the session

static const json_t *
s_turn (const json_t *parts)
{
    size_t index;
    json_t *part;
    json_array_foreach (parts, index, part)
        if (strcmp (json_string_value (json_object_get (part, "type")), "turn.request") == 0)
            return json_object_get (part, "body");
    return NULL;
}

static void
what_was_set_comes_with_the_turns_of_its_session (void **state)
{
    (void) state;
    static const struct {
        const char *session;           //  For which it was set
        const char *model, *reasoning; //  Of the turn, "" = none
    } rows[] = { { "s1", "big", "high" }, { "s0", "", "" } };
    for (size_t i = 0; i < 2; i++) {
        char setting[256];
        gate_t self;
        snprintf (setting, sizeof setting,
            "{'record':{'version':1,'value':{'session':'%s','of':{'model':'big','reasoning':'high'}"
            "}}}",
            rows[i].session);
        const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (SETTING, setting) };
        gate_say (&self, GATE_OPEN, "test", "hello");
        gate_read (&self, facts);
        json_t *parts = argos_gateway_decide (&self.gateway);
        const char *model = json_string_value (json_object_get (s_turn (parts), "model"));
        const char *level = json_string_value (json_object_get (s_turn (parts), "reasoning"));
        assert_string_equal (model ? model : "", rows[i].model);
        assert_string_equal (level ? level : "", rows[i].reasoning);
        gate_end (&self, parts);
    }
}

#define IDLE "{" OPEN ",'session_reset':{'mode':'idle','idle_minutes':60}}"
#define OLD                                                                                        \
    "{'route':{'key':'k','session_id':'s1','version':3,'updated_at':1},'session':{" SESSION "}}"
#define STOPPED                                                                                    \
    "{'route':{'key':'k','session_id':'s1','version':3,'suspended':true},'session':{" SESSION "}}"
#define MARKED                                                                                     \
    "{'route':{'key':'k','session_id':'s1','version':3,'resume_reason':'restart_timeout',"         \
    "'resume_at':1764288000000},'session':{" SESSION "}}"

#define BEGUN                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':3,'reset_reason':'idle','reset_at':5,"        \
    "'updated_at':1764287990000},'session':{'id':'s1','message_count':0,'version':1}}"
#define FRESH                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':3,'updated_at':1764287990000},'session':"     \
    "{" SESSION "}}"

static void
a_session_ends_by_itself_once (void **state)
{
    (void) state;
    static const struct {
        const char *config, *route, *lane; //  Read
        const char *types;                 //  Expected
        int64_t not_before;                //  Of the next one, 0 = none
    } rows[] = {
        { IDLE, OLD, FREE, "expect route.reset record.put session.expire", GATE_WALL_MS + 3600001 },
        { IDLE, OLD, RUNS, "session.expire", GATE_WALL_MS + 60000 },
        { IDLE, FRESH, FREE, "session.expire", 1764287990000 + 3600001 },
        { "{" OPEN "}", OLD, FREE, "", 0 },
        { IDLE, BEGUN, FREE, "session.expire", 1764287990000 + 3600001 },
        { IDLE, "{'route':{'version':3},'session':{'id':'s2','message_count':4}}", FREE, "", 0 },
        { IDLE, "{'route':{'version':3},'session':{'id':'s1','message_count':0}}", FREE, "", 0 },
        { IDLE, "{'route':{'version':3},'session':{'id':'s1','message_count':4,'ended_at':5}}",
            FREE, "", 0 },
        { IDLE, NOTHING, FREE, "", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *facts[ARGOS_FACTS] = { F (ROUTE, rows[i].route), F (LANE, rows[i].lane) };
        char types[512];
        gate_t self;
        gate_say (&self, GATE_OPEN, "test", "");
        json_t *body = json_deep_copy (self.gateway.body);
        json_object_set_new (body, "session", json_string ("s1"));
        self.owned[self.owned_count++] = body;
        self.gateway.body = body;
        self.gateway.type = "session.expire";
        self.policy.config = gate_own (&self, rows[i].config);
        gate_read (&self, facts);
        json_t *parts = argos_gateway_decide (&self.gateway);
        gate_types (parts, types, sizeof types);
        if (strcmp (types, rows[i].types) != 0)
            fail_msg ("row %zu made %s", i, types);
        const json_t *last = json_array_get (parts, json_array_size (parts) - 1);
        assert_int_equal (
            json_integer_value (json_object_get (last, "not_before")), rows[i].not_before);
        gate_end (&self, parts);
    }
}

static void
a_session_that_is_over_begins_anew_and_says_so (void **state)
{
    (void) state;
    static const struct {
        const char *config, *route, *lane; //  Read
        const char *types, *words;         //  Expected
        bool told;                         //  The model is told, too
    } rows[] = {
        { IDLE, OLD, FREE,
            "expect route.reset record.put session.expire route.resume deliver.request " TURN, "◐",
            true },
        { IDLE, OLD, RUNS, "expect " TURN, "", false },
        { "{" OPEN "}", OLD, FREE, "expect " TURN, "", false },
        { "{" OPEN "}", STOPPED, FREE,
            "expect route.reset record.put route.resume deliver.request " TURN, "stopped", true },
        { "{" OPEN "}", MARKED, FREE, "expect route.resume " TURN, "", false },
        { IDLE, BEGUN, FREE, "expect route.resume deliver.request " TURN, "◐", true },
        { IDLE, BEGUN, RUNS, "expect " TURN, "", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *facts[ARGOS_FACTS] = { F (ROUTE, rows[i].route), F (LANE, rows[i].lane) };
        char types[512];
        gate_t self;
        gate_say (&self, GATE_OPEN, "test", "hello");
        self.policy.config = gate_own (&self, rows[i].config);
        gate_read (&self, facts);
        json_t *parts = argos_gateway_decide (&self.gateway);
        gate_types (parts, types, sizeof types);
        if (strcmp (types, rows[i].types) != 0 || !strstr (gate_told (parts), rows[i].words))
            fail_msg ("row %zu made %s\n%s", i, types, gate_told (parts));
        const json_t *turn = s_turn (parts);
        assert_int_equal (json_object_get (turn, "instructions") != NULL, rows[i].told);
        assert_int_equal (json_is_true (json_object_get (turn, "new_session")), rows[i].told);
        gate_end (&self, parts);
    }
}

//  A search that was cut off is asked for again from there, until there is enough or nothing is
//  left, or it was tried often.

static void
a_search_that_was_cut_off_goes_on (void **state)
{
    (void) state;
    static const struct {
        const char *answer; //  Of the store
        size_t hits;        //  Joined
        bool more;          //  It is asked again
    } steps[] = { { "{\"hits\":[],\"partial\":true,\"next\":90}", 0, true },
        { "{\"hits\":[1,2],\"partial\":true,\"next\":80}", 2, true },
        { "{\"hits\":[3],\"partial\":false}", 3, false },
        { "{\"hits\":[4,5,6,7,8,9,0],\"partial\":true,\"next\":7}", 10, false } };
    json_t *joined = NULL;
    bool more = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        json_t *answer = json_loads (steps[i].answer, 0, NULL), *before = joined;
        joined = argos_fact_join (ARGOS_FACT_SEARCH, before, answer, &more);
        assert_int_equal (json_array_size (json_object_get (joined, "hits")), steps[i].hits);
        assert_int_equal (more, steps[i].more);
        assert_ptr_equal (json_object_get (joined, "next"), json_object_get (answer, "next"));
        json_decref (before);
        json_decref (answer);
    }
    json_decref (joined);
    joined = NULL;
    int searches = 0;
    for (more = true; more; searches++) {
        json_t *answer = json_pack ("{s:[], s:i}", "hits", "next", 5), *before = joined;
        joined = argos_fact_join (ARGOS_FACT_SEARCH, before, answer, &more);
        json_decref (before);
        json_decref (answer);
    }
    assert_int_equal (searches, 100);
    json_decref (joined);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_command_makes_these_parts),
        cmocka_unit_test (while_a_turn_runs_the_table_says_what_is_done),
        cmocka_unit_test (users_get_what_is_listed_and_what_everybody_has),
        cmocka_unit_test (quick_commands_become_what_they_stand_for),
        cmocka_unit_test (a_destructive_command_is_done_when_it_was_confirmed),
        cmocka_unit_test (the_terminal_has_no_use_for_what_is_for_chats),
        cmocka_unit_test (what_was_set_comes_with_the_turns_of_its_session),
        cmocka_unit_test (a_session_ends_by_itself_once),
        cmocka_unit_test (a_session_that_is_over_begins_anew_and_says_so),
        cmocka_unit_test (a_search_that_was_cut_off_goes_on),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
