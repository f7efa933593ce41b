//  test_telegram - what updates and refusals of the Bot API are to us.

#include "argos_json.h"
#include "argos_tg_error.h"
#include "argos_tg_read.h"
#include "argos_tg_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *
s_json (const char *text)
{
    char copy[4096];
    size_t size = strlen (text);
    assert_true (size < sizeof copy);
    for (size_t i = 0; i <= size; i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    json_t *value = json_loads (copy, 0, NULL);
    assert_non_null (value);
    return value;
}

//  Of a group's message (without braces): why it is not for us, NULL = it is; its text in target.

static const char *
s_group (const char *settings, const char *message, char *target, size_t size)
{
    char text[3000];
    snprintf (text, sizeof text,
        "{'update_id':1,'message':{'message_id':5,'from':{'id':7,'first_name':'Ana'},"
        "'chat':{'id':-100,'type':'supergroup','title':'Lab'},%s}}",
        message);
    json_t *update = s_json (text), *all = s_json (settings);
    argos_tg_who_t who = { .account = "main", .id = 99, .username = "my_bot", .settings = all };
    argos_tg_in_t in;
    argos_tg_read (update, &who, &in);
    *target = 0;
    if (in.kind == ARGOS_TG_MESSAGE)
        snprintf (target, size, "%s",
            json_string_value (json_object_get (json_object_get (in.message, "body"), "text")));
    const char *why = in.kind == ARGOS_TG_MESSAGE ? NULL : in.why;
    argos_tg_in_clear (&in);
    json_decref (update);
    json_decref (all);
    return why;
}

static void
test_whom_a_group_addresses (void **state)
{
    (void) state;
    static const struct {
        const char *settings, *message, *why, *text;
    } rows[] = {
        { "{}", "'text':'hello'", "not_addressed", "" },
        { "{}",
            "'text':'mail my_bot@x "
            "@my_bot2','entities':[{'type':'mention','offset':14,'length':8}]",
            "not_addressed", "" },
        { "{}",
            "'text':'\U0001F44D\U0001F44D @My_Bot do','entities':[{'type':'mention','offset':5,"
            "'length':7}]",
            NULL, "\U0001F44D\U0001F44D  do" },
        { "{}",
            "'text':'Bo "
            "do','entities':[{'type':'text_mention','offset':0,'length':2,'user':{'id':99}}]",
            NULL, "do" },
        { "{}",
            "'text':'/status@my_bot "
            "now','entities':[{'type':'bot_command','offset':0,'length':14}]",
            NULL, "/status now" },
        { "{}",
            "'text':'/status@other now','entities':[{'type':'bot_command','offset':0,'length':13}]",
            "other_command", "" },
        { "{}", "'text':'/status','entities':[{'type':'bot_command','offset':0,'length':7}]", NULL,
            "/status" },
        { "{}", "'text':'/unheard_of','entities':[{'type':'bot_command','offset':0,'length':11}]",
            "not_addressed", "" },
        { "{}", "'text':'yes','reply_to_message':{'message_id':1,'from':{'id':99}}", NULL, "yes" },
        { "{}", "'text':'yes','reply_to_message':{'message_id':1,'from':{'id':98}}",
            "not_addressed", "" },
        { "{'platforms':{'telegram':{'require_mention':false}}}", "'text':'hello'", NULL, "hello" },
        { "{'platforms':{'telegram':{'free_response_chats':[-100]}}}", "'text':'hello'", NULL,
            "hello" },
        { "{'platforms':{'telegram':{'mention_patterns':['^argos[,:]','(']}}}",
            "'text':'Argos, hello'", NULL, "Argos, hello" },
        { "{'platforms':{'telegram':{'require_mention':false,'exclusive_mentions':true}}}",
            "'text':'@otherbot hi','entities':[{'type':'mention','offset':0,'length':9}]",
            "other_bot", "" },
        { "{'platforms':{'telegram':{'require_mention':false,'ignored_threads':['17']}}}",
            "'text':'hi','message_thread_id':17,'is_topic_message':true", "ignored_thread", "" },
        { "{'platforms':{'telegram':{'require_mention':false,'allowed_topics':['18']}}}",
            "'text':'hi','message_thread_id':17,'is_topic_message':true", "other_topic", "" },
        { "{'platforms':{'telegram':{'require_mention':false}}}", "'new_chat_title':'x'", "empty",
            "" },
        { "{'platforms':{'telegram':{'require_mention':false}}}",
            "'location':{'latitude':1.5,'longitude':-2}", NULL, "1.500000, -2.000000" },
        { "{'platforms':{'telegram':{'require_mention':false}}}",
            "'text':'x','entities':[{'type':'mention','offset':-4,'length':99999999999}]", NULL,
            "x" },
    };
    char text[256];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *why = s_group (rows[i].settings, rows[i].message, text, sizeof text);
        if (rows[i].why)
            assert_string_equal (why ? why : "", rows[i].why);
        else
            assert_null (why);
        assert_string_equal (text, rows[i].text);
    }
}

//  Of what Ana does in her chat: why it is nothing, "" = it is; id, edits, emoji in target.

static void
test_what_is_done_to_a_message (void **state)
{
    (void) state;
    static const struct {
        const char *update; //  Without braces; # stands for chat and sender
        const char *edits;  //  Of the message, "" = it is none
        const char *emoji;  //  Of the reaction, "" = it is none
        bool on;            //  Of the reaction
        const char *why;    //  It is nothing
    } rows[] = {
        { "'edited_message':{'message_id':5,#,'edit_date':9,'text':'new'}", "telegram.main:7:5", "",
            false, "" },
        { "'edited_message':{'message_id':5,#,'edit_date':9,'text':'/new'}", "", "", false,
            "edited" },
        { "'edited_message':{'message_id':5,#,'edit_date':9,'location':{'latitude':1,"
          "'longitude':2}}",
            "", "", false, "edited" },
        { "'edited_message':{'message_id':5,#,'edit_date':9,'caption':'a dog','photo':[{'file_id':"
          "'f'}]}",
            "telegram.main:7:5", "", false, "" },
        { "'message_reaction':{'message_id':5,#,'date':9,'old_reaction':[],'new_reaction':[{'type':"
          "'emoji','emoji':'x'}]}",
            "", "x", true, "" },
        { "'message_reaction':{'message_id':5,#,'date':9,'old_reaction':[{'type':'emoji','emoji':"
          "'x'}],'new_reaction':[]}",
            "", "x", false, "" },
        { "'message_reaction':{'message_id':5,#,'date':9,'old_reaction':[],'new_reaction':[]}", "",
            "", false, "no_reaction" },
        { "'message_reaction':{'message_id':5,'chat':{'id':7,'type':'private'},'date':9,"
          "'old_reaction':[],'new_reaction':[{'emoji':'x'}]}",
            "", "", false, "no_reaction" },
    };
    static const char who_and_where[] = "'chat':{'id':7,'type':'private'},'from':{'id':7},'user':"
                                        "{'id':7}";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        const char *mark = strchr (rows[i].update, '#');
        int before = mark ? (int) (mark - rows[i].update) : (int) strlen (rows[i].update);
        snprintf (text, sizeof text, "{'update_id':1,%.*s%s%s}", before, rows[i].update,
            mark ? who_and_where : "", mark ? mark + 1 : "");
        json_t *update = s_json (text);
        argos_tg_who_t who = { .account = "main", .id = 99, .username = "my_bot" };
        argos_tg_in_t in;
        argos_tg_read (update, &who, &in);
        const json_t *body = json_object_get (in.message, "body");
        const json_t *reaction = json_object_get (body, "reaction");
        const char *edits = json_string_value (json_object_get (body, "edits"));
        const char *emoji = json_string_value (json_object_get (reaction, "emoji"));
        assert_string_equal (in.kind == ARGOS_TG_NOTHING ? in.why : "", rows[i].why);
        assert_string_equal (edits ? edits : "", rows[i].edits);
        assert_string_equal (emoji ? emoji : "", rows[i].emoji);
        assert_int_equal (json_is_true (json_object_get (reaction, "on")), rows[i].on);
        assert_null (in.files);
        argos_tg_in_clear (&in);
        json_decref (update);
    }
}

//  The thread of a message in a private chat, "" = none.

static void
test_topics_of_private_chats (void **state)
{
    (void) state;
    static const struct {
        const char *more;   //  Members of the message
        bool topics;        //  The bot has them
        const char *thread; //  Expected
    } rows[] = {
        { "'message_thread_id':12,'is_topic_message':true", true, "12" },
        { "'message_thread_id':12,'is_topic_message':true", false, "12" },
        { "'message_thread_id':12", true, "12" }, //  The first one of a topic
        { "'message_thread_id':12", false, "" },
        { "'message_thread_id':12,'reply_to_message':{'message_id':12}", true, "" },
        { "'x':1", true, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf (text, sizeof text,
            "{'update_id':1,'message':{'message_id':13,'text':'hi','from':{'id':7},'chat':{'id':7,"
            "'type':'private'},%s}}",
            rows[i].more);
        json_t *update = s_json (text);
        argos_tg_who_t who = {
            .account = "main", .id = 99, .username = "my_bot", .topics = rows[i].topics
        };
        argos_tg_in_t in;
        argos_tg_read (update, &who, &in);
        const char *thread = json_string_value (json_object_get (
            json_object_get (json_object_get (in.message, "body"), "source"), "thread_id"));
        assert_string_equal (thread ? thread : "", rows[i].thread);
        argos_tg_in_clear (&in);
        json_decref (update);
    }
}

static void
test_what_refusals_mean (void **state)
{
    (void) state;
    static const struct {
        int code;
        const char *text;
        argos_tg_error_t meaning;
    } rows[] = {
        { 429, "Too Many Requests: retry after 27", ARGOS_TG_WAIT },
        { 401, "Unauthorized", ARGOS_TG_FATAL },
        { 409, "Conflict: terminated by other getUpdates request", ARGOS_TG_CONFLICT },
        { 409, "Conflict: can't use getUpdates method while webhook is active", ARGOS_TG_WEBHOOK },
        { 400, "Bad Request: can't parse entities: Character '.' is reserved",
            ARGOS_TG_NO_ENTITIES },
        { 400, "Bad Request: MESSAGE IS NOT MODIFIED: x", ARGOS_TG_SAME },
        { 400, "Bad Request: message to edit not found", ARGOS_TG_GONE },
        { 400, "Bad Request: message is too long", ARGOS_TG_TOO_LONG },
        { 400, "Bad Request: message text is empty", ARGOS_TG_EMPTY },
        { 400, "Bad Request: message to be replied not found", ARGOS_TG_NO_REPLY },
        { 400, "Bad Request: message thread not found", ARGOS_TG_NO_THREAD },
        { 400, "Bad Request: TOPIC_CLOSED", ARGOS_TG_CLOSED },
        { 400, "Bad Request: group chat was upgraded to a supergroup chat", ARGOS_TG_MIGRATED },
        { 403, "Forbidden: bot was blocked by the user", ARGOS_TG_DEAD },
        { 400, "Bad Request: chat not found", ARGOS_TG_DEAD },
        { 400, "Bad Request: PHOTO_INVALID_DIMENSIONS", ARGOS_TG_FILE },
        { 400, "Bad Request: query is too old", ARGOS_TG_IGNORE },
        { 400, "Bad Request: something new", ARGOS_TG_REFUSED },
        { 500, "Internal Server Error", ARGOS_TG_BROKEN },
        { 502, NULL, ARGOS_TG_BROKEN },
        { 404, NULL, ARGOS_TG_REFUSED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal (argos_tg_error (rows[i].code, rows[i].text), rows[i].meaning);
}

static void
test_places_in_a_text (void **state)
{
    (void) state;
    assert_int_equal (argos_tg_units ("a\u00E9\u20AC\U0001F44D"), 5);
    assert_int_equal (argos_tg_offset ("\U0001F44Dx", 2), 4);
    assert_int_equal (argos_tg_offset ("abc", 99), 3);
    assert_int_equal (argos_tg_offset ("abc", -3), 0);
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_whom_a_group_addresses),
        cmocka_unit_test (test_what_is_done_to_a_message),
        cmocka_unit_test (test_topics_of_private_chats), cmocka_unit_test (test_what_refusals_mean),
        cmocka_unit_test (test_places_in_a_text) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
