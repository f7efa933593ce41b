"""fake_slack - Slack's Web API and Socket Mode, as far as an adapter and the SDKs use them, with the rules they keep.

    fake = FakeSlack().start();  fake.say(ANA, CHANNEL, "hi");  fake.until(lambda: fake.texts(CHANNEL))

Socket Mode: tickets that are good once, hello, envelopes that come again until they are acknowledged, to one of the connections, the end
of a connection announced or not. API: messages, edits, deletions, history with metadata, reactions, files in three steps, users,
channels, limits. Faults: wire.py.
"""

import asyncio
import json
import os
import random
import time
import uuid

import wire

#  Fresh in each process: on one host a token has one owner, and tests may run beside each other
BOT_TOKEN = os.environ.get("FAKE_TOKEN") or f"xoxb-1-2-{uuid.uuid4().hex}"
APP_TOKEN = os.environ.get("FAKE_APP_TOKEN") or f"xapp-1-A1-2-{uuid.uuid4().hex}"
BOT, BOT_ID, APP, TEAM = "UBOT", "B1", "A1", "T1"
ANA, BEN, CHANNEL, OUTSIDE, ARCHIVED = "U1", "U2", "C1", "C2", "C3"


class Refused(Exception):
    pass


class Connection:
    def __init__(self, socket, number):
        self.socket, self.number, self.leaving = socket, number, False


class FakeSlack(wire.Fake):
    def __init__(self):
        super().__init__()
        self.users = {ANA: "Ana", BEN: "Ben", BOT: "gw"}
        self.channels = {CHANNEL: {"name": "lab", "member": True}, OUTSIDE: {"name": "other", "member": False},
                         ARCHIVED: {"name": "old", "member": True, "archived": True}}
        self.messages = {}  # (channel, ts) -> message
        self.clock = 1767225600
        self.tickets, self.connections, self.opened, self.numbers = set(), [], 0, 0
        self.acks, self.delivered, self.told, self.redeliver_s = {}, {}, {}, 1.0
        self.reactions, self.files, self.pending, self.statuses = set(), {}, {}, []
        self.revoked, self.no_hello, self.deaf = False, False, False
        self.envelopes = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/api"

    def ts(self):
        self.clock += 1
        return f"{self.clock}.{random.randrange(1000000):06d}"

    #  What people do

    def direct(self, user):
        id_ = "D" + user
        self.channels.setdefault(id_, {"name": "", "member": True, "user": user})
        return id_

    def texts(self, channel, thread=None):
        return [m["text"] for (c, _), m in list(self.messages.copy().items())
                if c == channel and m.get("user") == BOT and (thread is None or m.get("thread_ts") == thread)]

    def say(self, user, channel, text, thread=None, mention_too=None, repeat=1, **more):
        """A message; when it mentions us, also as app_mention, in any order."""
        ts = self.ts()
        core = {"channel": channel, "user": user, "text": text, "ts": ts, "client_msg_id": f"c-{ts}", "team": TEAM, **more}
        if thread:
            core["thread_ts"] = thread
        self.messages[channel, ts] = dict(core, type="message")
        kind = "im" if channel.startswith("D") else "channel"
        events = [{"type": "message", "channel_type": kind, **core}] * repeat
        if mention_too is None:
            mention_too = f"<@{BOT}>" in text and kind == "channel"
        if mention_too:
            events.append({"type": "app_mention", **core})
        random.shuffle(events)

        async def run():
            for event in events:
                await self.event(event)
        self.call(run())
        return ts

    async def event(self, event):
        self.envelopes += 1
        await self.envelope("events_api", {
            "team_id": TEAM, "api_app_id": APP, "type": "event_callback", "event_id": f"Ev{self.envelopes}", "event_time": self.clock,
            "authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True, "enterprise_id": None, "is_enterprise_install": False}],
            "event": event}, False)

    def command(self, user, channel, command, text=""):
        self.call(self.envelope("slash_commands", {
            "command": command, "text": text, "channel_id": channel, "channel_name": "x", "user_id": user, "user_name": "x", "team_id": TEAM,
            "api_app_id": APP, "response_url": f"{self.url}/response", "trigger_id": f"{self.ts()}.x"}, True))

    async def changed(self, channel, before, message):
        await self.event({"type": "message", "subtype": "message_changed", "hidden": True, "channel": channel, "ts": self.ts(),
                          "channel_type": "im" if channel.startswith("D") else "channel", "message": dict(message), "previous_message": before})

    def edit(self, channel, ts, text, edited=True, times=1):
        """A person changes what was said; the same text: a preview of a link has come."""
        message = self.messages[channel, ts]
        before = dict(message)
        message["text"] = text
        if edited:
            message["edited"] = {"user": message["user"], "ts": self.ts()}

        async def run():
            for _ in range(times):
                await self.changed(channel, before, message)
        self.call(run())

    def react(self, user, channel, ts, name, on=True):
        self.tell({"type": "reaction_added" if on else "reaction_removed", "user": user, "reaction": name, "event_ts": self.ts(),
                   "item": {"type": "message", "channel": channel, "ts": ts}, "item_user": self.messages[channel, ts]["user"]})

    def press(self, user, channel, message, value):
        self.call(self.envelope("interactive", {
            "type": "block_actions", "user": {"id": user, "team_id": TEAM}, "team": {"id": TEAM}, "api_app_id": APP,
            "channel": {"id": channel}, "message": message, "container": {"type": "message"}, "trigger_id": self.ts(),
            "actions": [{"type": "button", "action_id": "option0", "block_id": "b", "value": value, "action_ts": self.ts()}],
            "response_url": f"{self.url}/response"}, False))

    def tell(self, event):
        self.call(self.event(event))

    def file(self, name, data, mime="text/plain"):
        id_ = f"F{len(self.files) + 100}"
        self.files[id_] = data
        return {"id": id_, "name": name, "mimetype": mime, "size": len(data),
                "url_private_download": f"http://127.0.0.1:{self.port}/files/{id_}/{name}"}

    #  Socket Mode

    async def envelope(self, kind, payload, answers):
        id_ = f"e-{len(self.delivered) + 1}"
        self.delivered[id_] = 0
        task = asyncio.ensure_future(self.deliver(id_, kind, payload, answers))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def deliver(self, id_, kind, payload, answers):
        """Again and again until it is acknowledged, each time to any of the connections."""
        while id_ not in self.acks and self.delivered[id_] < 60:
            ready = [c for c in self.connections if not self.deaf]
            if ready:
                connection = random.choice(ready)
                self.delivered[id_] += 1
                self.told.setdefault(id_, time.monotonic())
                try:
                    await connection.socket.send({"envelope_id": id_, "type": kind, "accepts_response_payload": answers, "payload": payload,
                                                  "retry_attempt": self.delivered[id_] - 1, "retry_reason": "" if self.delivered[id_] == 1 else "timeout"})
                except (ConnectionError, OSError):
                    pass
            deadline = time.monotonic() + self.redeliver_s
            while id_ not in self.acks and time.monotonic() < deadline:
                await asyncio.sleep(0.02)

    async def socket(self, request):
        if request.query.get("ticket") not in self.tickets:
            return 401, {}, {}
        self.tickets.discard(request.query["ticket"])
        socket = await request.upgrade()
        self.numbers += 1
        connection = Connection(socket, self.numbers)
        if not self.no_hello:
            await socket.send({"type": "hello", "num_connections": len(self.connections) + 1, "connection_info": {"app_id": APP},
                               "debug_info": {"host": "fake", "build_number": 1, "approximate_connection_time": 18060}})
            self.connections.append(connection)
        with self.lock:
            self.lock.notify_all()
        try:
            while (message := await socket.receive()) and message[0] != 8:
                if message[0] != 1:
                    continue
                answer = json.loads(message[1])
                if answer.get("envelope_id"):
                    self.acks.setdefault(answer["envelope_id"], (time.monotonic(), connection.number, answer.get("payload")))
                with self.lock:
                    self.lock.notify_all()
        finally:
            if connection in self.connections:
                self.connections.remove(connection)
        return None

    def announce(self, reason="warning"):
        async def run():
            for connection in list(self.connections):
                connection.leaving = True
                await connection.socket.send({"type": "disconnect", "reason": reason, "debug_info": {"host": "fake"}})
        self.call(run())

    def cut_all(self):
        async def run():
            for connection in list(self.connections):
                connection.socket.abort()
        self.call(run())

    #  The API

    async def answer(self, request):
        if request.path == "/link":
            return await self.socket(request)
        if request.path.startswith("/files/"):
            if request.headers.get("authorization") != f"Bearer {BOT_TOKEN}":
                return 200, b"<html>log in</html>", {"Content-Type": "text/html"}
            return 200, self.files[request.path.split("/")[2]], {"Content-Type": "application/octet-stream"}
        if request.path.startswith("/upload/"):
            id_ = request.path.split("/")[2]
            parts = request.parts() if request.headers.get("content-type", "").startswith("multipart/") else {"": wire.Upload("", "", request.body)}
            self.pending[id_]["data"] = next(iter(parts.values())).data
            return 200, b"OK", {"Content-Type": "text/plain"}
        method = request.path.rsplit("/api/", 1)[-1].strip("/")
        handler = getattr(self, "api_" + method.replace(".", "_"), None)
        try:
            if handler is None:
                raise Refused("unknown_method")
            args = {name: self.value(text) for name, text in request.params().items()}
            token = request.headers.get("authorization", "").removeprefix("Bearer ") or args.pop("token", "")
            if not token:
                raise Refused("not_authed")
            if self.revoked:
                raise Refused("token_revoked")
            if token not in (BOT_TOKEN, APP_TOKEN):
                raise Refused("invalid_auth")
            if (method == "apps.connections.open") != (token == APP_TOKEN):
                raise Refused("not_allowed_token_type")
            return 200, {"ok": True, **(await handler(args) or {})}, {"x-oauth-scopes": "chat:write"}
        except Refused as refused:
            return 200, {"ok": False, "error": str(refused)}, {}

    @staticmethod
    def value(text):
        if isinstance(text, str) and text[:1] in "[{":
            try:
                return json.loads(text)
            except ValueError:
                return text
        return text

    async def api_auth_test(self, args):
        return {"url": "https://lab.slack.com/", "team": "Lab", "user": "gw", "team_id": TEAM, "user_id": BOT, "bot_id": BOT_ID}

    async def api_apps_connections_open(self, args):
        ticket = f"t{random.getrandbits(64):x}"
        self.tickets.add(ticket)
        self.opened += 1
        return {"url": f"ws://127.0.0.1:{self.port}/link?ticket={ticket}&app_id={APP}"}

    def channel(self, id_, member=True):
        if id_ in self.users:
            id_ = self.direct(id_)
        if id_ not in self.channels:
            raise Refused("channel_not_found")
        if self.channels[id_].get("archived") and member:
            raise Refused("is_archived")
        if member and not self.channels[id_]["member"]:
            raise Refused("not_in_channel")
        return id_

    @staticmethod
    def check_blocks(args):
        blocks = args.get("blocks") or []
        if len(blocks) > 50:
            raise Refused("invalid_blocks")
        for block in blocks:
            if block.get("type") == "section" and len(block.get("text", {}).get("text", "")) > 3000:
                raise Refused("invalid_blocks")
            if block.get("type") == "actions":
                elements = block.get("elements", [])
                if not 1 <= len(elements) <= 25 or any(len(e["text"]["text"]) > 75 or len(e.get("value", "")) > 2000 for e in elements):
                    raise Refused("invalid_blocks")
                if len({e.get("action_id") for e in elements}) < len(elements):
                    raise Refused("invalid_blocks")

    async def api_chat_postMessage(self, args):
        channel = self.channel(args.get("channel", ""))
        if not args.get("text") and not args.get("blocks"):
            raise Refused("no_text")
        if args.get("thread_ts") and (channel, args["thread_ts"]) not in self.messages:
            raise Refused("thread_not_found")
        if args.get("metadata") and not args["metadata"].get("event_type"):
            raise Refused("invalid_metadata_format")
        self.check_blocks(args)
        ts = self.ts()
        message = {"type": "message", "user": BOT, "bot_id": BOT_ID, "ts": ts, "text": args.get("text", "")[:40000], "team": TEAM,
                   **{name: args[name] for name in ("thread_ts", "metadata", "blocks") if args.get(name)}}
        self.messages[channel, ts] = message
        await self.event({"channel": channel, "channel_type": "channel", "subtype": "bot_message", **message})
        return {"channel": channel, "ts": ts, "message": message}

    async def api_chat_update(self, args):
        channel = self.channel(args.get("channel", ""))
        message = self.messages.get((channel, args.get("ts")))
        if not message:
            raise Refused("message_not_found")
        if message.get("user") != BOT:
            raise Refused("cant_update_message")
        if len(args.get("text", "")) > 4000:
            raise Refused("msg_too_long")
        before = dict(message)
        message.update(text=args.get("text", ""), edited={"user": BOT, "ts": self.ts()})
        await self.changed(channel, before, message)
        return {"channel": channel, "ts": args["ts"], "text": message["text"]}

    async def api_chat_delete(self, args):
        channel = self.channel(args.get("channel", ""))
        if (channel, args.get("ts")) not in self.messages:
            raise Refused("message_not_found")
        if self.messages[channel, args["ts"]].get("user") != BOT:
            raise Refused("cant_delete_message")
        del self.messages[channel, args["ts"]]
        return {"channel": channel, "ts": args["ts"]}

    def shown(self, message, args):
        return message if args.get("include_all_metadata") in (True, "true", "1") else {k: v for k, v in message.items() if k != "metadata"}

    async def api_conversations_history(self, args):
        channel = self.channel(args.get("channel", ""))
        found = [self.shown(m, args) for (c, _), m in self.messages.copy().items() if c == channel and not m.get("thread_ts")]
        return {"messages": found[::-1][:int(args.get("limit", 100))], "has_more": False}

    async def api_conversations_replies(self, args):
        channel, ts = self.channel(args.get("channel", "")), args.get("ts")
        if (channel, ts) not in self.messages:
            raise Refused("thread_not_found")
        found = [self.shown(m, args) for (c, t), m in self.messages.copy().items() if c == channel and ts in (t, m.get("thread_ts"))]
        return {"messages": found[-int(args.get("limit", 100)):], "has_more": False}

    async def api_conversations_info(self, args):
        id_ = self.channel(args.get("channel", ""), member=False)
        row = self.channels[id_]
        return {"channel": {"id": id_, "name": row["name"], "is_channel": id_[0] == "C", "is_im": id_[0] == "D", "is_member": row["member"],
                            "topic": {"value": "what it is about"}}}

    async def api_conversations_open(self, args):
        if args.get("users") not in self.users:
            raise Refused("user_not_found")
        return {"channel": {"id": self.direct(args["users"])}}

    async def api_users_info(self, args):
        if args.get("user") not in self.users:
            raise Refused("user_not_found")
        name = self.users[args["user"]]
        return {"user": {"id": args["user"], "name": name.lower(), "real_name": name, "is_bot": args["user"] == BOT,
                         "profile": {"display_name": name, "real_name": name}}}

    async def api_reactions_add(self, args):
        key = (self.channel(args.get("channel", "")), args.get("timestamp"), args.get("name"))
        if key[:2] not in self.messages:
            raise Refused("message_not_found")
        if not key[2] or ":" in key[2]:
            raise Refused("invalid_name")
        if key in self.reactions:
            raise Refused("already_reacted")
        self.reactions.add(key)

    async def api_reactions_remove(self, args):
        key = (self.channel(args.get("channel", "")), args.get("timestamp"), args.get("name"))
        if key not in self.reactions:
            raise Refused("no_reaction")
        self.reactions.discard(key)

    async def api_assistant_threads_setStatus(self, args):
        if not args.get("thread_ts"):
            raise Refused("invalid_arguments")
        self.statuses.append((args["channel_id"], args["thread_ts"], args.get("status")))

    async def api_files_getUploadURLExternal(self, args):
        if not args.get("filename") or not str(args.get("length", "")).isdigit() or int(args["length"]) == 0:
            raise Refused("invalid_arguments")
        id_ = f"F{len(self.pending) + 1}"
        self.pending[id_] = {"name": args["filename"], "length": int(args["length"])}
        return {"upload_url": f"http://127.0.0.1:{self.port}/upload/{id_}", "file_id": id_}

    async def api_files_completeUploadExternal(self, args):
        files = args.get("files") or []
        if not files or any(f["id"] not in self.pending or len(self.pending[f["id"]].get("data", b"")) != self.pending[f["id"]]["length"]
                            for f in files):
            raise Refused("file_not_found")
        channel = self.channel(args.get("channel_id", ""))
        ts = self.ts()
        self.messages[channel, ts] = {"type": "message", "user": BOT, "ts": ts, "text": args.get("initial_comment", ""),
                                      "files": [{"id": f["id"], "name": self.pending[f["id"]]["name"]} for f in files],
                                      **({"thread_ts": args["thread_ts"]} if args.get("thread_ts") else {})}
        return {"files": [{"id": f["id"]} for f in files]}


if __name__ == "__main__":
    wire.main(FakeSlack())
