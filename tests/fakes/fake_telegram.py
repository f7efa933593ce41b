"""The Bot API of Telegram, as far as Argos and two SDKs of others use it: over HTTP, with its rules, refusals and faults.

As a module: FakeTelegram in a thread of its own (with). As a program: `fake_telegram.py --token T [--port N]` prints its address, and
`POST /control` {"do": name of a method of Control, ...} is how a test in another language acts for people.

What it keeps to: updates wait until they are confirmed by a greater offset; a second poll ends the first one with 409; allowed_updates is
remembered; ids of messages count per chat; text is counted in UTF-16 after its marks are read; a message that is not changed is refused.
Limits: one process, memory only; methods that are not in Api (fake_telegram_api.py) are unknown, as they are there.
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
from fake_telegram_api import HELPERS, UNKEPT, Api, Bot, Chat
from fake_telegram_marks import Refused, read, units


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
