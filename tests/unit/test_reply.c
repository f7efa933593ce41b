//  From what a model has said to what a chat gets: silence, error pages, files, and which files may
//  leave.

#include "argos_reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *said, *text; //  What the model has said; what is left of it
    const char *media;       //  "path kind" of each file, comma between them
} s_rows[] = {
    { "hello", "hello", "" },
    { "Here it is:\nMEDIA:/tmp/a.png\nEnjoy.", "Here it is:\nEnjoy.", "/tmp/a.png image" },
    { "MEDIA:/tmp/a.png", "", "/tmp/a.png image" },
    { "MEDIA: /tmp/a.png", "", "/tmp/a.png image" },
    { "See MEDIA:/tmp/a.pdf, please.", "See , please.", "/tmp/a.pdf document" },
    { "MEDIA:\"/tmp/my file.mp4\" done", "done", "/tmp/my file.mp4 video" },
    { "MEDIA:'/tmp/my file.csv'", "", "/tmp/my file.csv document" },
    { "MEDIA:`/tmp/a b`", "", "/tmp/a b document" },
    { "MEDIA:~/x.ogg", "", "~/x.ogg audio" },
    { "[[audio_as_voice]]\nMEDIA:/tmp/a.ogg", "", "/tmp/a.ogg voice" },
    { "[[as_document]] MEDIA:/tmp/a.png", "", "/tmp/a.png document" },
    { "MEDIA:/a.png\nMEDIA:/b.mp3", "", "/a.png image,/b.mp3 audio" },
    //  Examples are no directives
    { "Write `MEDIA:/tmp/a.png` then", "Write `MEDIA:/tmp/a.png` then", "" },
    { "``MEDIA:/a.png `x` ``", "``MEDIA:/a.png `x` ``", "" },
    { "```\nMEDIA:/tmp/a.png\n```", "```\nMEDIA:/tmp/a.png\n```", "" },
    { "~~~\n```\nMEDIA:/a.png\n~~~\nMEDIA:/b.png", "~~~\n```\nMEDIA:/a.png\n~~~", "/b.png image" },
    { "> MEDIA:/tmp/a.png", "> MEDIA:/tmp/a.png", "" },
    { "{\"file\":\"MEDIA:/tmp/a.png\"}", "{\"file\":\"MEDIA:/tmp/a.png\"}", "" },
    { "MULTIMEDIA:/tmp/a.png", "MULTIMEDIA:/tmp/a.png", "" },
    { "MEDIA:relative.png", "MEDIA:relative.png", "" },
    { "MEDIA:", "MEDIA:", "" },
    { "MEDIA:\"/tmp/open", "MEDIA:\"/tmp/open", "" },
    { "a `tick MEDIA:/tmp/a.png", "a `tick", "/tmp/a.png image" },
    //  What says something never disappears
    { "[[as_document]]", "[[as_document]]", "" },
    { "  \n hello \n\n", "hello", "" },
    { "keep  \ntwo blanks", "keep  \ntwo blanks", "" },
    { "", "", "" },
};

static void
files_are_taken_out_of_the_text_and_examples_are_not (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        argos_reply_t self;
        char media[512] = "";
        size_t index, length = 0;
        json_t *file;
        argos_reply_read (&self, s_rows[i].said);
        json_array_foreach (self.media, index, file)
            length += (size_t) snprintf (media + length, sizeof media - length, "%s%s %s",
                index ? "," : "", json_string_value (json_object_get (file, "path")),
                json_string_value (json_object_get (file, "kind")));
        if (strcmp (self.text, s_rows[i].text) != 0 || strcmp (media, s_rows[i].media) != 0)
            fail_msg ("%s: \"%s\" and \"%s\"", s_rows[i].said, self.text, media);
        assert_false (self.silent);
        argos_reply_clear (&self);
        argos_reply_clear (&self);
    }
}

static void
more_than_sixteen_files_stay_as_they_are_written (void **state)
{
    (void) state;
    char text[1024] = "";
    size_t length = 0;
    for (int i = 0; i < 20; i++)
        length += (size_t) snprintf (text + length, sizeof text - length, "MEDIA:/%d.png\n", i);
    argos_reply_t self;
    argos_reply_read (&self, text);
    assert_int_equal (json_array_size (self.media), ARGOS_REPLY_MEDIA_MAX);
    assert_string_equal (self.text, "MEDIA:/16.png\nMEDIA:/17.png\nMEDIA:/18.png\nMEDIA:/19.png");
    argos_reply_clear (&self);
}

//  Each of so many backticks may begin code that ends nowhere.

static void
a_text_of_backticks_is_read_once (void **state)
{
    (void) state;
    static char text[400000];
    argos_reply_t reply;
    memset (text, '`', sizeof text - 1);
    text[0] = 'x'; //  No fence
    argos_reply_read (&reply, text);
    assert_string_equal (reply.text, text);
    argos_reply_clear (&reply);
    argos_reply_read (&reply, "``a` MEDIA:/tmp/a.png");
    assert_string_equal (reply.text, "``a`");
    argos_reply_clear (&reply);
}

static void
silence_is_a_whole_text (void **state)
{
    (void) state;
    static const char *const silent[] = { "[SILENT]", "SILENT", "silent.", "NO_REPLY", "NO REPLY",
        "(no_reply)", "  **NO REPLY**\n" };
    static const char *const spoken[] = { "Silent night", "NO_REPLY because", "", "no",
        "[SILENT] ok", "ŚILENT",
        "[SILENT]                                                               ." };
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        assert_true (argos_reply_is_silent (silent[i]));
    for (size_t i = 0; i < sizeof spoken / sizeof *spoken; i++)
        assert_false (argos_reply_is_silent (spoken[i]));
}

static void
an_error_page_is_no_answer (void **state)
{
    (void) state;
    static const char *const pages[] = { "{\"error\":{\"message\":\"x\"}}", " {\"error\":\"x\"}",
        "<!DOCTYPE html><title>502</title>", "<html>" };
    static const char *const answers[] = { "The error was {\"error\":\"x\"}", "{\"a\":1}", "{", "",
        "<b>error</b>", "{\"output\":\"\",\"error\":\"none\"}", "{\"error\":null}",
        "<html>\n\n\n\n\n</html>" };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        assert_true (argos_reply_is_error_page (pages[i]));
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        assert_false (argos_reply_is_error_page (answers[i]));
}

static void
which_files_may_leave (void **state)
{
    (void) state;
    static const struct {
        const char *path; //  With all links followed
        bool may, strict; //  In general; when only allowed folders are open
    } rows[] = { { "/tmp/a.png", true, false }, { "/srv/share/a.png", true, true },
        { "/srv/shared/a.png", true, false }, { "/home/ann/work/a.png", true, false },
        { "/home/ann/.ssh/id", false, false }, { "/home/ann/.config/x", false, false },
        { "/home/ann/.env", false, false }, { "/home/ann/.envelope", true, false },
        { "/etc/passwd", false, false }, { "/etc", false, false }, { "/etcetera", true, false },
        { "/proc/1/environ", false, false }, { "/var/lib/x", false, false },
        { "/root/x", false, false }, { "/home/ann/.argos/argos.yaml", false, false },
        { "/home/ann/.argos/api-key", false, false }, { "/home/ann/.argos/files/s1/a", true, true },
        { "/home/ann/.argos/filesystem", false, false }, { "relative", false, false },
        { "/tmp/../etc/passwd", false, false } };
    json_t *allowed = json_pack ("[s]", "/srv/share/");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int strict = 0; strict < 2; strict++) {
            const char *problem = argos_reply_path_problem (
                rows[i].path, "/home/ann/.argos", "/home/ann", allowed, strict);
            if ((problem == NULL) != (strict ? rows[i].strict : rows[i].may))
                fail_msg ("%s: %s", rows[i].path, problem ? problem : "may");
        }
    assert_null (argos_reply_path_problem ("/root/a", "/root/.argos", "/root", NULL, false));
    json_decref (allowed);
}

static void
a_failure_has_a_hint_by_its_class (void **state)
{
    (void) state;
    assert_string_equal (
        argos_reply_hint ("The turn failed: model_not_found: no such model (HTTP 404)"),
        "`/model` chooses another one.");
    assert_string_equal (argos_reply_hint ("The turn failed: policy"), "");
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (files_are_taken_out_of_the_text_and_examples_are_not),
        cmocka_unit_test (more_than_sixteen_files_stay_as_they_are_written),
        cmocka_unit_test (a_text_of_backticks_is_read_once),
        cmocka_unit_test (silence_is_a_whole_text),
        cmocka_unit_test (an_error_page_is_no_answer),
        cmocka_unit_test (which_files_may_leave),
        cmocka_unit_test (a_failure_has_a_hint_by_its_class),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
