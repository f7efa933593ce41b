"""The methods of the Bot API, and the chats and bots they are about; fake_telegram.py serves them."""
import asyncio
import json
import re
import time

import wire
from fake_telegram_marks import Refused, read, units

REACTIONS = set("👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 "
                "🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 😡".split())
ACTIONS = set("typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker find_location "
              "record_video_note upload_video_note".split())
UNKEPT = {"chat_member", "message_reaction", "message_reaction_count"}
COLORS = {7322096, 16766590, 13338331, 9367192, 16749490, 16478047}
DOWNLOAD_MAX = 20 << 20


def bad(text, **parameters):
    return Refused(400, "Bad Request: " + text, **parameters)


class Chat:
    """One chat: id, type, title, what was said, its topics."""

    def __init__(self, chat_id, kind, title=None, forum=False, user=None):
        self.id, self.kind, self.title, self.forum, self.user = chat_id, kind, title, forum, user
        #  The first message of a group is that it was made
        self.messages, self.topics, self.closed, self.next_id = {}, {}, set(), 1 if kind == "private" else 2
        self.blocked = self.kicked = False
        self.rights = True  # To make topics
        self.migrated = None

    def json(self):
        found = {"id": self.id, "type": self.kind}
        if self.title:
            found["title"] = self.title
        if self.user:
            found.update(first_name=self.user["first_name"])
        if self.forum and self.kind != "private":
            found["is_forum"] = True
        return found


class Bot:
    """One token: who it is, what waits for it."""

    def __init__(self, token, username):
        self.token, self.id, self.username = token, int(token.split(":")[0]), username
        self.updates, self.next_update = [], 1000
        self.allowed, self.webhook, self.secret = None, "", ""
        self.poll = None  # Future of the poll under way
        self.commands, self.topics = [], False
        self.actions, self.queries = [], {}

    def me(self):
        return {"id": self.id, "is_bot": True, "first_name": self.username, "username": self.username, "can_join_groups": True,
                "can_read_all_group_messages": True, "supports_inline_queries": False, "has_topics_enabled": self.topics}


class Api:
    """The methods, by name in lower case: (bot, parameters) -> result."""

    def __init__(self, world):
        self.world = world

    #  What parameters mean

    def chat(self, bot, params):
        try:
            chat = self.world.chats[int(params.get("chat_id", ""))]
        except (ValueError, KeyError):
            raise bad("chat_id is empty" if "chat_id" not in params else "chat not found") from None
        if chat.migrated:
            raise bad("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated)
        if chat.blocked:
            raise Refused(403, "Forbidden: bot was blocked by the user")
        if chat.kicked:
            raise Refused(403, f"Forbidden: bot was kicked from the {chat.kind} chat")
        return chat

    def message(self, chat, params, what):
        try:
            number = int(params["message_id"])
        except (KeyError, ValueError):
            raise bad("message identifier is not specified") from None
        if number not in chat.messages:
            raise bad(f"message to {what} not found")
        return chat.messages[number]

    def thread(self, chat, params):
        """Id of the topic, None = none."""
        if "message_thread_id" not in params:
            return None
        number = int(params["message_thread_id"])
        if number not in chat.topics:
            raise bad("message thread not found")
        if number in chat.closed:
            raise bad("TOPIC_CLOSED")
        return number

    def text(self, params, name, limit, what, empty="message text is empty"):
        given = params.get(name, "")
        if not isinstance(given, str):
            raise bad(f"{name} must be a string")
        if len(given.encode()) > 32768:
            raise bad("text is too long")
        entities = params.get("entities" if name == "text" else name + "_entities")
        text, entities = read(given, params.get("parse_mode"), json.loads(entities) if isinstance(entities, str) else entities)
        if not text.strip("\u200b\u2060 \n\t") and empty:
            raise bad(empty)
        if units(text) > limit:
            raise bad(what + " is too long")
        return text, entities

    def markup(self, params):
        markup = params.get("reply_markup")
        if isinstance(markup, str):
            markup = json.loads(markup)
        for row in (markup or {}).get("inline_keyboard", []):
            for button in row:
                if not button.get("text"):
                    raise bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
                if "callback_data" in button and not 0 < len(button["callback_data"].encode()) <= 64:
                    raise bad("BUTTON_DATA_INVALID")
        return markup

    def reply(self, chat, params):
        given = params.get("reply_parameters")
        given = json.loads(given) if isinstance(given, str) else given
        number = int(given["message_id"]) if given else int(params.get("reply_to_message_id", 0))
        lenient = (given or params).get("allow_sending_without_reply") in (True, "true")
        if not number:
            return None
        if number in chat.messages:
            return chat.messages[number]
        if lenient:
            return None
        raise bad("message to be replied not found")

    def post(self, bot, chat, params, **content):
        thread, answered, markup = self.thread(chat, params), self.reply(chat, params), self.markup(params)
        message = self.world.store(chat, {"from": {key: bot.me()[key] for key in ("id", "is_bot", "first_name", "username")}, **content}, thread)
        if answered:
            message["reply_to_message"] = {key: value for key, value in answered.items() if key != "reply_to_message"}
        if markup and "inline_keyboard" in markup:
            message["reply_markup"] = markup
        return message

    #  Updates

    def getme(self, bot, params):
        return bot.me()

    def setwebhook(self, bot, params):
        url, secret = params.get("url", ""), params.get("secret_token", "")
        if url and not url.startswith("https://"):
            raise bad("bad webhook: An HTTPS URL must be provided for webhook")
        if not re.fullmatch(r"[A-Za-z0-9_-]{0,256}", secret):
            raise bad("secret token contains unallowed characters")
        bot.webhook, bot.secret = url, secret
        if bot.poll and not bot.poll.done():
            bot.poll.set_exception(Refused(409, "Conflict: terminated by setWebhook request"))
        return True

    def deletewebhook(self, bot, params):
        bot.webhook = ""
        if params.get("drop_pending_updates") in (True, "true"):
            bot.updates.clear()
        return True

    def getwebhookinfo(self, bot, params):
        return {"url": bot.webhook, "has_custom_certificate": False, "pending_update_count": len(bot.updates)}

    async def getupdates(self, bot, params):
        if bot.webhook:
            raise Refused(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
        offset, limit = int(params.get("offset", 0)), int(params.get("limit", 100))
        timeout = min(max(int(params.get("timeout", 0)), 0), 50)
        if not 1 <= limit <= 100:
            raise bad("LIMIT_INVALID")
        if params.get("allowed_updates") is not None:
            given = params["allowed_updates"]
            bot.allowed = (json.loads(given) if isinstance(given, str) else given) or None
        if offset > 0:
            bot.updates = [update for update in bot.updates if update["update_id"] >= offset]
        elif offset < 0:
            bot.updates = bot.updates[offset:]
        if bot.poll and not bot.poll.done():
            bot.poll.set_exception(Refused(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"))
        poll = bot.poll = asyncio.get_running_loop().create_future()
        if not bot.updates and timeout:
            try:
                await asyncio.wait_for(asyncio.shield(poll), timeout)
            except asyncio.TimeoutError:
                pass
        if bot.poll is poll:
            bot.poll = None
        if poll.done() and poll.exception():
            raise poll.exception()
        return bot.updates[:limit]

    #  Messages

    def sendmessage(self, bot, params):
        chat = self.chat(bot, params)
        text, entities = self.text(params, "text", 4096, "message")
        return self.post(bot, chat, params, text=text, **({"entities": entities} if entities else {}))

    def own(self, bot, chat, params, what):
        message = self.message(chat, params, what)
        if message.get("from", {}).get("id") != bot.id:
            raise bad(f"message can't be {what}ed")
        return message

    def editmessagetext(self, bot, params):
        chat = self.chat(bot, params)
        message = self.own(bot, chat, params, "edit")
        text, entities = self.text(params, "text", 4096, "message")
        markup = self.markup(params)
        if (text, entities, markup) == (message.get("text"), message.get("entities", []), message.get("reply_markup")):
            raise bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and "
                      "reply markup of the message")
        message.update(text=text, entities=entities, edit_date=int(time.time()))
        message.pop("reply_markup", None)
        if markup:
            message["reply_markup"] = markup
        self.world.said("edit", chat, message)
        return message

    def editmessagereplymarkup(self, bot, params):
        chat = self.chat(bot, params)
        message, markup = self.own(bot, chat, params, "edit"), self.markup(params)
        if markup == message.get("reply_markup"):
            raise bad("message is not modified")
        message.pop("reply_markup", None)
        if markup:
            message["reply_markup"] = markup
        return message

    def editmessagecaption(self, bot, params):
        chat = self.chat(bot, params)
        message = self.own(bot, chat, params, "edit")
        message["caption"], message["caption_entities"] = self.text(params, "caption", 1024, "message caption", empty=None)
        return message

    def deletemessage(self, bot, params):
        chat = self.chat(bot, params)
        message = self.message(chat, params, "delete")
        if message.get("from", {}).get("id") != bot.id and chat.kind == "private":
            raise bad("message can't be deleted")
        del chat.messages[message["message_id"]]
        self.world.said("delete", chat, message)
        return True

    def deletemessages(self, bot, params):
        ids = params.get("message_ids", [])
        ids = json.loads(ids) if isinstance(ids, str) else ids
        if not 1 <= len(ids) <= 100:
            raise bad("message identifiers are not specified")
        for number in ids:
            self.chat(bot, params).messages.pop(int(number), None)
        return True

    def sendchataction(self, bot, params):
        chat = self.chat(bot, params)
        if params.get("action") not in ACTIONS:
            raise bad("wrong parameter action in request")
        if int(params.get("message_thread_id", 1)) != 1:
            self.thread(chat, params)
        bot.actions.append((chat.id, params["action"], params.get("message_thread_id")))
        return True

    def setmessagereaction(self, bot, params):
        chat = self.chat(bot, params)
        message = self.message(chat, params, "react")
        given = params.get("reaction", [])
        given = json.loads(given) if isinstance(given, str) else given
        if len(given) > 1 or any(item.get("type") == "emoji" and item.get("emoji") not in REACTIONS for item in given):
            raise bad("REACTION_INVALID")
        message["reactions"] = given
        return True

    #  Files

    def upload(self, params, name):
        value = params.get(name)
        if isinstance(value, str) and value.startswith("attach://"):
            value = params.get(value.removeprefix("attach://"))
        if isinstance(value, wire.Upload):
            if len(value.data) > 50 << 20:
                raise Refused(413, "Request Entity Too Large")
            return self.world.keep_file(value.data, value.name, value.media_type)
        if value in self.world.files:
            return value
        if not value:
            raise bad(f"there is no {name} in the request")
        raise bad("wrong file identifier/HTTP URL specified" if not value.startswith("http") else "failed to get HTTP URL content")

    def content(self, kind, file_id, params):
        data, name, media_type = self.world.files[file_id]
        file = {"file_id": file_id, "file_unique_id": "u" + file_id, "file_size": len(data)}
        if kind == "photo":
            if not data.startswith((b"\xff\xd8", b"\x89PNG")):
                raise bad("IMAGE_PROCESS_FAILED")
            return {"photo": [{**file, "width": 90, "height": 60}]}
        return {kind: {**file, "file_name": name, "mime_type": media_type, **({} if kind == "document" else {"duration": 1})}}

    def send_file(self, bot, params, kind):
        chat = self.chat(bot, params)
        content = self.content(kind, self.upload(params, kind), params)
        caption, entities = self.text(params, "caption", 1024, "message caption", empty=None)
        if caption:
            content["caption"] = caption
        if entities:
            content["caption_entities"] = entities
        return self.post(bot, chat, params, **content)

    def sendphoto(self, bot, params):
        return self.send_file(bot, params, "photo")

    def senddocument(self, bot, params):
        return self.send_file(bot, params, "document")

    def sendvoice(self, bot, params):
        return self.send_file(bot, params, "voice")

    def sendaudio(self, bot, params):
        return self.send_file(bot, params, "audio")

    def sendvideo(self, bot, params):
        return self.send_file(bot, params, "video")

    def sendanimation(self, bot, params):
        return self.send_file(bot, params, "animation")

    def sendmediagroup(self, bot, params):
        chat, media = self.chat(bot, params), params.get("media", [])
        media = json.loads(media) if isinstance(media, str) else media
        if not 2 <= len(media) <= 10:
            raise bad("wrong number of messages in the album: 2-10 are needed")
        kinds = {item["type"] for item in media}
        if kinds & {"document", "audio"} and len(kinds) > 1:
            raise bad("can't mix documents and audio with other media in an album")
        sent, group = [], str(self.world.count())
        for item in media:
            name = item["media"].removeprefix("attach://")
            content = self.content(item["type"], self.upload(params, name) if item["media"].startswith("attach://") else item["media"], item)
            if item.get("caption"):
                content["caption"], _ = self.text(item, "caption", 1024, "message caption")
            sent.append(self.post(bot, chat, params, media_group_id=group, **content))
        return sent

    def getfile(self, bot, params):
        file_id = params.get("file_id")
        if file_id not in self.world.files:
            raise bad("wrong file_id or the file is temporarily unavailable")
        size = len(self.world.files[file_id][0])
        if size > DOWNLOAD_MAX:
            raise bad("file is too big")
        return {"file_id": file_id, "file_unique_id": "u" + file_id, "file_size": size, "file_path": f"files/{file_id}"}

    #  Commands and buttons

    def setmycommands(self, bot, params):
        given = params.get("commands", [])
        given = json.loads(given) if isinstance(given, str) else given
        if len(given) > 100:
            raise bad("BOT_COMMANDS_TOO_MUCH")
        for row in given:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", row["command"]):
                raise bad("BOT_COMMAND_INVALID")
            if not 1 <= len(row["description"]) <= 256:
                raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
        bot.commands = given
        return True

    def getmycommands(self, bot, params):
        return bot.commands

    def deletemycommands(self, bot, params):
        bot.commands = []
        return True

    def answercallbackquery(self, bot, params):
        if units(params.get("text", "")) > 200:
            raise bad("MESSAGE_TOO_LONG")
        if bot.queries.get(params.get("callback_query_id")) is not False:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        bot.queries[params["callback_query_id"]] = True
        return True

    #  Topics

    def forum(self, bot, params):
        chat = self.chat(bot, params)
        if not chat.forum:
            raise bad("the chat is not a forum")
        if not chat.rights:
            raise bad("not enough rights to create a topic")
        return chat

    def createforumtopic(self, bot, params):
        chat, name = self.forum(bot, params), params.get("name", "")
        if not 1 <= units(name) <= 128:
            raise bad("TOPIC_TITLE_EMPTY" if not name else "topic name is too long")
        if "icon_color" in params and int(params["icon_color"]) not in COLORS:
            raise bad("invalid forum topic icon color specified")
        message = self.world.store(chat, {"from": bot.me(), "forum_topic_created": {"name": name, "icon_color": 7322096}}, None)
        chat.topics[message["message_id"]] = name
        return {"message_thread_id": message["message_id"], "name": name, "icon_color": 7322096}

    def topic(self, bot, params):
        chat = self.forum(bot, params)
        number = int(params.get("message_thread_id", 0))
        if number not in chat.topics:
            raise bad("message thread not found")
        return chat, number

    def editforumtopic(self, bot, params):
        chat, number = self.topic(bot, params)
        chat.topics[number] = params.get("name") or chat.topics[number]
        return True

    def closeforumtopic(self, bot, params):
        chat, number = self.topic(bot, params)
        chat.closed.add(number)
        return True

    def reopenforumtopic(self, bot, params):
        chat, number = self.topic(bot, params)
        if number not in chat.closed:
            raise bad("TOPIC_NOT_MODIFIED")
        chat.closed.discard(number)
        return True

    def deleteforumtopic(self, bot, params):
        chat, number = self.topic(bot, params)
        del chat.topics[number]
        return True

    #  Chats

    def getchat(self, bot, params):
        chat = self.chat(bot, params)
        return {**chat.json(), "accent_color_id": 0, "max_reaction_count": 11}

    def getchatmember(self, bot, params):
        chat = self.chat(bot, params)
        if "user_id" not in params:
            raise bad("invalid user_id specified")
        return {"status": "left" if chat.kicked else "member", "user": {"id": int(params["user_id"]), "is_bot": False, "first_name": "U"}}

    def getchatmembercount(self, bot, params):
        self.chat(bot, params)
        return 3

    def sendmessagedraft(self, bot, params):
        """A preview: shown for a while, no message. A server before 9.3 does not know it."""
        if not self.world.previews:
            raise Refused(404, "Not Found: method not found")
        chat = self.chat(bot, params)
        if chat.kind != "private":
            raise bad("method is available only in private chats")
        if not int(params.get("draft_id", 0)):
            raise bad("draft_id must be non-zero")
        if units(str(params.get("text", ""))) > 4096:
            raise bad("text is too long")
        self.world.drafts[chat.id, int(params["draft_id"])] = params.get("text", "")
        return True

    def leavechat(self, bot, params):
        chat = self.chat(bot, params)
        if chat.kind == "private":
            raise bad("chat member status can't be changed in private chats")
        chat.kicked = True
        return True


HELPERS = {"chat", "message", "thread", "text", "markup", "reply", "post", "own", "upload", "content", "forum", "topic"}
