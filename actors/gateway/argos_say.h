//  argos_say - the texts of the gateway: what people read as an answer to what they do.
//
//  Formats of printf; the comment names what they are filled with. Some fragments are looked for by
//  programs and people (`⚡ Stopped`, `✨`, `⏳ Agent is running`, `⏩ Steer queued`): leave those.

#ifndef ARGOS_SAY_H
#define ARGOS_SAY_H

//  Commands as such
#define SAY_UNKNOWN                                                                                \
    "there is no command /%s; /commands lists them" //  Word, behind "Not accepted: "
#define SAY_ADMIN_ONLY "⛔ /%s is for admins here."  //  Command
#define SAY_BUSY "⏳ Agent is running — /%s can't run mid-turn. Wait for it, or /stop." //  Command
#define SAY_TERMINAL_ONLY "/%s is for chats; the terminal has no use for it."          //  Command
#define SAY_CONFIRM                                                                                \
    "/%s ends what can't be brought back by itself. Answer `approve` to do it once, `always` to "  \
    "do it without asking in this chat from now on, or `cancel`." //  Command
#define SAY_CANCELLED "❌ /%s is cancelled; nothing has changed."  //  Command
#define SAY_APPROVED "✅ Command approved%s%s."                    //  How far it goes, how many
#define SAY_DENIED "❌ Command denied%s."                          //  How many
#define SAY_NOT_YOURS "⛔ That question is for somebody else."
#define SAY_FASTER "Somebody was faster: that question has been answered."
#define SAY_CLOSED "That question is not open any more."
#define SAY_NOT_OFFERED "⚠️ \"%s\" is none of the choices here."       //  Choice
#define SAY_TASK_TOLD "↪ That is for background task %s, which has asked." //  Task
#define SAY_NOTHING_PENDING "Nothing is waiting for an approval here."
#define SAY_EXEC_NOT "⚠️ /%s does not run: %s."           //  Command, reason
#define SAY_EXEC_WORDS "⚠️ /%s takes no words behind it." //  Command
#define SAY_EXEC_UNKNOWN                                                                           \
    "⚠️ Nobody knows whether /%s has run, or how it ended. Say it again to run it (again)." // Command
#define SAY_EXEC_FAILED "⚠️ /%s has failed: %s%s%s"    //  Command, reason, newline, output
#define SAY_EXEC_CODE "⚠️ /%s has ended with %lld%s%s" //  Command, exit code, newline, output
#define SAY_EXEC_SILENT "✅ Done."
#define SAY_USAGE "Usage: /%s %s" //  Command, arguments
#define SAY_NO_SESSION "There is no session yet: say something first."

#define SAY_NO_HOME                                                                                \
    "📬 No home channel is set for %s yet: results that belong to no chat have nowhere to go. "  \
    "`/sethome`, said in a chat, makes it the home." //  Platform

//  Sessions
#define SAY_NEW "✨ New session %s"            //  Id
#define SAY_NEW_TITLED "✨ New session %s: %s" //  Id, title
#define SAY_TITLE_LONG "⚠️ A title has at most 100 characters."
#define SAY_TITLE_IS "This session is called \"%s\"." //  Title
#define SAY_TITLE_NONE "This session has no title; `/title TEXT` gives it one."
#define SAY_TITLE_SET "✏️ This session is called \"%s\" now."     //  Title
#define SAY_RESUMED "↻ Going on with session %s%s%s (%lld messages)." //  Id, blank, title, count
#define SAY_RESUME_SAME "That is the session you are in."
#define SAY_NOT_FOUND "There is no session \"%s\" of yours." //  What was asked for
#define SAY_NO_SESSIONS "You have no sessions yet."
#define SAY_RESUME_HOW "\n`/resume NUMBER` (or its id, or its title) goes on with one."
#define SAY_NO_HITS "Nothing is found for \"%s\"." //  What was looked for
#define SAY_NO_HITS_YET                                                                            \
    "Nothing is found for \"%s\" in the newest messages; the older ones are too many to look at. " \
    "Try rarer words."
#define SAY_BRANCHED                                                                               \
    "🌿 This is a copy of session %s: session %s. `/resume %s` goes back." //  From, to, from
#define SAY_NO_RETRY "No previous message to retry."
#define SAY_NO_UNDO "There is no message of yours to take back."
#define SAY_UNDONE                                                                                 \
    "↶ Took back %zu of your messages, and what followed. The first was:\n%s" //  Count, text
#define SAY_NO_COMPRESS "There is no conversation yet, so there is nothing to shorten."

//  Turns
#define SAY_STOPPED "⚡ Stopped. You can continue this session."
#define SAY_NOT_RUNNING "Nothing is running."
#define SAY_QUEUED "⏳ Queued: number %d in line, behind the running turn." //  Turns before it
#define SAY_STEERED                                                                                \
    "⏩ Steer queued: \"%s\". The running turn takes it in after its next tool, else it is "      \
    "answered in line." //  Preview
#define SAY_STEERING                                                                               \
    "⏩ Steered: the running turn takes it in after its next tool, else it is answered in line."
#define SAY_INTERRUPTING "⚡ Interrupting the running turn (%" PRId64 " min)." //  Its age
#define SAY_AGENTS_NONE "Nothing runs now."

//  Settings
#define SAY_MODEL_IS "Model of this session: %s"                             //  Model
#define SAY_MODEL_SET "This session uses model %s from its next message on." //  Model
#define SAY_MODEL_RESET "This session uses the configured model again."
#define SAY_MODEL_LONG "⚠️ The name of a model has at most 128 characters, and no blanks."
#define SAY_MODEL_GLOBAL                                                                           \
    "⚠️ The model of all sessions is `provider.model` of the configuration; a chat sets its "  \
    "own "                                                                                         \
    "session only."
#define SAY_REASONING_IS "Reasoning of this session: %s"                                //  Level
#define SAY_REASONING_SET "This session thinks with level %s from its next message on." //  Level
#define SAY_REASONING_RESET "This session thinks as the model does by itself."
#define SAY_VERBOSE_SET "Tools are shown in this chat: %s" //  Mode
#define SAY_YOLO_ON                                                                                \
    "⚠️ In this session nothing asks before it does dangerous things. /yolo again to be "      \
    "asked."
#define SAY_YOLO_OFF "This session asks before it does dangerous things."
#define SAY_HOME_SET "✅ Home channel set: what has no chat of its own goes here on %s." //  Platform
#define SAY_RESTART "♻ Restarting gateway: what runs goes on afterwards."

//  To the model
#define SAY_RESET_NOTE                                                                             \
    "This is a new session: the one before has ended by itself. You know nothing of what was "     \
    "said "                                                                                        \
    "in it."

#define SAY_MOVED                                                                                  \
    "➜ This conversation went on at %.32s. This is a new session; /resume %.256s brings the "    \
    "other "                                                                                       \
    "one back here."

#endif
