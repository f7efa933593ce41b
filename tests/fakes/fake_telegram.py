"""The Bot API of Telegram, as far as Argos and two SDKs of others use it: over HTTP, with its rules, refusals and faults.

As a module: FakeTelegram in a thread of its own (with). As a program: `fake_telegram.py --token T [--port N]` prints its address, and
`POST /control` {"do": name of a method of Control, ...} is how a test in another language acts for people.

What it keeps to: updates wait until they are confirmed by a greater offset; a second poll ends the first one with 409; allowed_updates is
remembered; ids of messages count per chat; text is counted in UTF-16 after its marks are read; a message that is not changed is refused.
Limits: one process, memory only; methods that are not in Api are unknown, as they are there.
"""
import argparse
import asyncio
import json
import random
import re
import secrets
import sys
import time
import urllib.parse

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
        self.drafts, self.actions, self.queries = {}, [], {}

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

    def sendmessagedraft(self, bot, params):
        chat = self.chat(bot, params)
        if chat.kind != "private":
            raise bad("drafts can be sent to private chats only")
        if not int(params.get("draft_id", 0)):
            raise bad("draft_id must be non-zero")
        bot.drafts[chat.id] = params.get("text", "")
        return True

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


def new_token():
    """One of its own for each test: a token has one owner on a host."""
    return f"{random.randrange(10 ** 8, 10 ** 9)}:AA{secrets.token_hex(16)}x"


class Faults:
    """The faults of wire by the names of methods: what this API says when it refuses.

        faults.add("sendMessage|editMessageText", "429:SECONDS", times=2, where=lambda params: ...)

    Actions: `429:SECONDS`, `500`, `502` (an answer that is no JSON), `drop_before` (nothing is applied), `drop_after`, `partial`, `delay:SECONDS`,
    `hang:SECONDS`, `slow`. `file` is the method of a download.
    """

    def __init__(self, fake):
        self.fake = fake

    @staticmethod
    def rule(action):
        do, _, number = action.partition(":")
        if do == "429":
            return {"do": "status", "status": 429, "headers": {"Retry-After": number},
                    "body": {"ok": False, "error_code": 429, "description": f"Too Many Requests: retry after {number}",
                             "parameters": {"retry_after": int(number)}}}
        if do == "500":
            return {"do": "status", "status": 500, "body": {"ok": False, "error_code": 500, "description": "Internal Server Error"}}
        return {"502": {"do": "html", "status": 502}, "drop_before": {"do": "drop"}}.get(do) or \
            {"do": do, **({"seconds": float(number)} if number else {})}

    def add(self, method, action="", times=None, where=None, rate=None, of=None, seed=0):
        """times None: for ever. where: a function of the parameters that has to be true. rate: one of these actions by chance."""
        methods = re.compile(method)
        rule = {"match": "*", "skip": 0, "times": times,
                "where": lambda request: methods.fullmatch(request.api_method) and (not where or where(request.params()))}
        rule.update({"rate": rate, "of": [self.rule(each) for each in of], "random": random.Random(seed)} if of else self.rule(action))
        rule["name"] = action
        self.fake.rules.append(rule)

    def clear(self):
        self.fake.rules.clear()


class FakeTelegram(wire.Fake):
    """The server, and the people. Use as a context: a thread of its own, `url` is where it is."""

    def __init__(self, tokens=None, port=0):
        super().__init__()
        tokens = tokens or [new_token()]
        self.bots = {token: Bot(token, f"fake{i or ''}_bot") for i, token in enumerate(tokens)}
        self.faults = Faults(self)
        self.chats, self.gone, self.files = {}, {}, {}
        self.requests = []  # (time, token, method, parameters without files, the fault)
        self.events = []    # ("send"|"edit"|"delete", chat id, message as it was)
        self.refusals = []  # Descriptions
        self.previews, self.drafts = False, {}  # Whether sendMessageDraft is known; (chat, number) -> text
        self.port, self._counter, self.duplicate = port, 0, 0
        self.changed = self.lock
        self.api = Api(self)

    def __enter__(self):
        return self.start(self.port)

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def bot(self):
        return next(iter(self.bots.values()))

    def _do(self, function):
        """Run it in the thread of the server; its result."""
        async def call():
            return function()
        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(10)

    def count(self):
        self._counter += 1
        return self._counter

    def keep_file(self, data, name, media_type):
        file_id = f"file{self.count()}"
        self.files[file_id] = (data, name, media_type)
        return file_id

    def said(self, what, chat, message):
        with self.changed:
            self.events.append((what, chat.id, json.loads(json.dumps(message))))
            self.changed.notify_all()

    def wait(self, condition, deadline_s=30):
        """Wait until condition() is true; returns it."""
        with self.changed:
            assert self.changed.wait_for(condition, deadline_s), \
                f"it did not happen; the last: {self.events[-5:]} {[(r[2], r[4]) for r in self.requests[-8:]]}"
            return condition()

    def sent(self, chat_id, what="send"):
        """Messages of bots to that chat, in order."""
        return [message for kind, chat, message in self.events if kind == what and chat == chat_id and message["from"]["is_bot"]]

    def texts(self, chat_id):
        """What the bots' messages in that chat say now."""
        chat = self.chats[chat_id]
        return [message.get("text", message.get("caption", "")) for _, message in sorted(chat.messages.copy().items()) if message["from"]["is_bot"]]

    def wait_text(self, chat_id, text, deadline_s=30):
        """Wait for a message of a bot whose text holds this; returns it as it is now."""
        def found():
            return next((m for _, m in sorted(self.chats[chat_id].messages.copy().items())
                         if m["from"]["is_bot"] and text in m.get("text", m.get("caption", ""))), None)
        return self.wait(found, deadline_s)

    def store(self, chat, message, thread):
        number = chat.next_id
        chat.next_id += 1
        full = {"message_id": number, "date": int(time.time()), "chat": chat.json(), **message}
        if thread:
            full.update(message_thread_id=thread, is_topic_message=True)
        chat.messages[number] = full
        self.said("send", chat, full)
        return full

    #  The people

    def private(self, user_id, name="Ana", forum=False):
        user = {"id": user_id, "is_bot": False, "first_name": name, "username": name.lower()}
        return self._chat(Chat(user_id, "private", user=user, forum=forum))

    def group(self, chat_id=-1001000000001, title="Lab", kind="supergroup", forum=False):
        return self._chat(Chat(chat_id, kind, title, forum))

    def _chat(self, chat):
        """Numbers of messages go on where an earlier chat of that id has ended."""
        before = self.chats.get(chat.id) or self.gone.get(chat.id)
        chat.next_id = max(chat.next_id, before.next_id if before else 0)
        self.chats[chat.id] = chat
        return chat.id

    def forget(self):
        """Nothing was said, and nothing goes wrong any more; who fetches updates stays."""
        self.gone.update(self.chats)
        self.chats.clear()
        self.faults.clear()
        for known in (self.drafts, self.requests, self.events, self.refusals, self.bot.actions, self.bot.updates):
            known.clear()
        self.duplicate, self.api = 0, Api(self)

    def update(self, kind, body, bot=None):
        """One more update for a bot; returns its number."""
        def do():
            whose = bot or self.bot
            number = whose.next_update
            whose.next_update += 1
            if whose.allowed is not None and kind not in whose.allowed or whose.allowed is None and kind in UNKEPT:
                return number
            whose.updates += [{"update_id": number, kind: body}] * (1 + self.duplicate)
            if whose.poll and not whose.poll.done():
                whose.poll.set_result(None)
            return number
        return self._do(do)

    def say(self, chat_id, text=None, user_id=None, thread=None, entities=None, reply_to=None, bot=None, **content):
        """A person writes; returns the message."""
        chat = self.chats[chat_id]
        user = chat.user if user_id is None and chat.user else {"id": user_id or 5001, "is_bot": False, "first_name": "Ana", "username": "ana"}
        body = {"from": user, **({"text": text} if text is not None else {}), **({"entities": entities} if entities else {}), **content}
        if text and text.startswith("/") and not entities:
            body["entities"] = [{"type": "bot_command", "offset": 0, "length": units(text.split()[0])}]
        if reply_to:
            body["reply_to_message"] = chat.messages[reply_to]
        message = self._do(lambda: self.store(chat, body, thread))
        self.update("message", message, bot)
        return message

    def edit(self, chat_id, message, text, edit_date=1767225700):
        """A person changes what was said; text may be as it was (a preview of a link has come)."""
        changed = {**message, "text": text, "edit_date": edit_date}
        self.chats[chat_id].messages[message["message_id"]] = changed
        self.update("edited_message", changed)
        return changed

    def react(self, chat_id, message_id, old, new, user_id=None):
        """A person's emojis on a message were these, and are those now."""
        chat = self.chats[chat_id]
        user = chat.user or {"id": user_id or 5001, "is_bot": False, "first_name": "Ana"}
        emojis = lambda names: [{"type": "emoji", "emoji": name} for name in names]  # noqa: E731
        self.update("message_reaction", {"chat": chat.json(), "message_id": message_id, "user": user, "date": 1767225800,
                                         "old_reaction": emojis(old), "new_reaction": emojis(new)})

    def press(self, chat_id, message_id, data, user_id=None, bot=None):
        """A person presses a button of a message; returns the id of the query."""
        chat, query = self.chats[chat_id], f"q{self.count()}"
        user = chat.user or {"id": user_id or 5001, "is_bot": False, "first_name": "Ana"}
        (bot or self.bot).queries[query] = False
        self.update("callback_query", {"id": query, "from": user, "message": chat.messages[message_id], "chat_instance": "1", "data": data}, bot)
        return query

    def migrate(self, old_id, new_id):
        old = self.chats[old_id]
        self.group(new_id, old.title)
        old.migrated = new_id
        message = self._do(lambda: self.store(old, {"from": {"id": 5001, "is_bot": False, "first_name": "Ana"}, "migrate_to_chat_id": new_id}, None))
        self.update("message", message)

    #  HTTP

    async def handle(self, request):
        found = re.fullmatch(r"(/file)?/bot([^/]+)/(.+)", urllib.parse.unquote(request.path))
        request.token, request.api_path = (found.group(2), found.group(3)) if found else ("", request.path)
        request.api_method = "file" if found and found.group(1) else request.api_path
        return await super().handle(request)

    def heard(self, request, rule):
        if request.api_method not in ("file", "/control"):
            with self.changed:
                self.requests.append((time.monotonic(), request.token, request.api_method,
                                      {name: value for name, value in request.params().items() if not isinstance(value, wire.Upload)}, rule and rule["do"]))
                self.changed.notify_all()

    async def answer(self, request):
        if request.path == "/control":
            return 200, json.dumps(self.order(json.loads(request.body))).encode()
        bot, method = self.bots.get(request.token), request.api_method.lower()
        if method == "file":
            data = self.files.get(request.api_path.removeprefix("files/")) if bot else None
            return (200, data[0], {"Content-Type": "application/octet-stream"}) if data else (404, {})
        try:
            if not bot:
                raise Refused(401, "Unauthorized") if ":" in request.token else Refused(404, "Not Found")
            function = getattr(self.api, method, None) if re.fullmatch(r"[a-z]+", method) and method not in HELPERS else None
            if not function:
                raise Refused(404, "Not Found: method not found")
            result = function(bot, request.params())
            if asyncio.iscoroutine(result):
                result = await result
            return 200, {"ok": True, "result": result}
        except Refused as refused:
            body = {"ok": False, "error_code": refused.code, "description": refused.description}
            if refused.parameters:
                body["parameters"] = refused.parameters
            self.refusals.append(refused.description)
            return refused.code, body, {"Retry-After": refused.parameters["retry_after"]} if "retry_after" in refused.parameters else {}

    def order(self, body):
        """For tests in another language: {"do": "say", ...} and the like."""
        do = body.pop("do")
        if do == "fault":
            self.faults.add(**body)
        elif do in ("block", "kick", "rights"):
            setattr(self.chats[body["chat_id"]], {"block": "blocked", "kick": "kicked", "rights": "rights"}[do], body.get("value", True))
        elif do == "refusals":
            return self.refusals
        elif do == "say":
            return self._said(body)
        elif do == "press":
            chat, query = self.chats[body["chat_id"]], f"q{self.count()}"
            self.bot.queries[query] = False
            self._push("callback_query", {"id": query, "from": chat.user, "message": chat.messages[body["message_id"]], "chat_instance": "1",
                                          "data": body["data"]})
            return query
        elif do == "file":
            return self.keep_file(b"x" * body["size"], "big", "")
        elif do == "migrated":
            self.chats[body["chat_id"]].migrated = body["to"]
        else:
            return getattr(self, {"private": "private", "group": "group"}[do])(**body)
        return True

    def _push(self, kind, body):
        self.bot.updates.append({"update_id": self.bot.next_update, kind: body})
        self.bot.next_update += 1
        if self.bot.poll and not self.bot.poll.done():
            self.bot.poll.set_result(None)

    def _said(self, body):
        chat = self.chats[body["chat_id"]]
        message = {"from": chat.user or {"id": 5001, "is_bot": False, "first_name": "Ana"}, "text": body["text"]}
        if body["text"].startswith("/"):
            message["entities"] = [{"type": "bot_command", "offset": 0, "length": units(body["text"].split()[0])}]
        message = self.store(chat, message, None)
        self._push("message", message)
        return message


HELPERS = {"chat", "message", "thread", "text", "markup", "reply", "post", "own", "upload", "content", "forum", "topic"}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--token", action="append", required=True)
    arguments.add_argument("--port", type=int, default=0)
    options = arguments.parse_args()
    with FakeTelegram(options.token, options.port) as fake:
        print(fake.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
