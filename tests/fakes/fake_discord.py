"""fake_discord - Discord's API v10 and gateway, as far as an adapter and the SDKs use them, with the rules they keep.

    fake = FakeDiscord().start();  fake.say(ANA, CHANNEL, "hi");  fake.until(lambda: fake.texts(CHANNEL))

Gateway: hello, heartbeats (a zombie takes them and says nothing), identify, sessions that are resumed from a number, close codes,
op 7 and 9 on demand, content only with its intent. API: messages with nonce, edits, deletions, reactions, threads (a thread of a message
has its id; 160004; without a type it is private), commands, interactions, typing, files; limits in headers. Faults: wire.py.
"""

import asyncio
import json
import os
import random
import re
import time
import uuid

import wire

#  Fresh in each process: on one host a token has one owner, and tests may run beside each other
TOKEN = os.environ.get("FAKE_TOKEN") or f"MTUwMDAwMDAwMDAwMDAwMDAwMQ.GfAkE1.{uuid.uuid4().hex}012345"
BOT, GUILD, CHANNEL, VOICE, FORUM = "1500000000000000001", "1200000000000000001", "1300000000000000001", "1300000000000000002", "1300000000000000003"
OWN_ROLE = "1200000000000000077"
ANA, BEN = "1100000000000000001", "1100000000000000002"
MESSAGE_CONTENT, GUILD_MESSAGES, DIRECT_MESSAGES = 1 << 15, 1 << 9, 1 << 12
GUILD_REACTIONS, DIRECT_REACTIONS = 1 << 10, 1 << 13


class Refused(Exception):
    def __init__(self, status, code, message, **more):
        super().__init__(message)
        self.answer = (status, {"message": message, "code": code, **more}, {})


class Session:
    def __init__(self, name, intents):
        self.name, self.intents, self.events, self.socket, self.seq, self.gone = name, intents, [], None, 0, False


class FakeDiscord(wire.Fake):
    def __init__(self):
        super().__init__()
        self.next_id = 1400000000000000000
        self.users = {ANA: {"id": ANA, "username": "ana", "global_name": "Ana", "discriminator": "0", "avatar": None},
                      BEN: {"id": BEN, "username": "ben", "global_name": "Ben", "discriminator": "0", "avatar": None},
                      BOT: {"id": BOT, "username": "gw", "global_name": None, "discriminator": "1234", "bot": True, "avatar": None}}
        self.channels = {id_: {"id": id_, "type": kind, "guild_id": GUILD, "name": name, "position": 0, "permission_overwrites": [],
                               "parent_id": None, "nsfw": False}
                         for id_, kind, name in ((CHANNEL, 0, "lab"), (VOICE, 2, "talk"), (FORUM, 15, "forum"))}
        self.messages = {}       # (channel, id) -> message
        self.nonces = {}         # (channel, nonce) -> message
        self.order = []          # ids of all messages, as they were made
        self.reactions, self.typed, self.commands, self.callbacks, self.files = set(), [], [], {}, {}
        self.sessions, self.sockets, self.identifies = {}, [], []
        self.beat_ms, self.zombie, self.mute_ready, self.denied_intents, self.revoked = 41250, False, False, 0, False
        self.buckets, self.rate = {}, 0  # rate: messages of a channel in `window` seconds, 0 = no limit
        self.window = 1.0
        self.interactions, self.app_flags = {}, 1 << 18

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/api/v10"

    def new_id(self):
        self.next_id += 1
        return str(self.next_id)

    #  What people do

    def message(self, author, channel, text, **more):
        kind = self.channels.get(channel, {"type": 1})
        entry = {"id": self.new_id(), "channel_id": channel, "author": self.users[author], "content": text,
                 "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": None, "tts": False, "mention_everyone": "@everyone" in text,
                 "mentions": [self.users[i] for i in re.findall(r"<@!?(\d+)>", text) if i in self.users],
                 "mention_roles": re.findall(r"<@&(\d+)>", text), "attachments": [], "embeds": [], "pinned": False, "type": 0, "flags": 0,
                 "components": [], **more}
        if kind["type"] != 1:
            entry["guild_id"] = GUILD
            entry["member"] = {"nick": None, "roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": False, "mute": False, "flags": 0}
        self.messages[channel, entry["id"]] = entry
        self.order.append(entry["id"])
        return entry

    def direct(self, user):
        for channel in self.channels.values():
            if channel["type"] == 1 and channel["recipients"][0]["id"] == user:
                return channel["id"]
        id_ = self.new_id()
        self.channels[id_] = {"id": id_, "type": 1, "recipients": [self.users[user]], "last_message_id": None}
        return id_

    def say(self, author, channel, text, repeat=1, **more):
        async def run():
            entry = self.message(author, channel, text, **more)
            for _ in range(repeat):
                await self.dispatch("MESSAGE_CREATE", entry)
            return entry["id"]
        return self.call(run())

    def edit(self, channel, id_, text=None, times=1):
        """A person changes what was said; without a text only a preview of a link has come."""
        entry = self.messages[channel, id_]
        if text is not None:
            entry.update(content=text, edited_timestamp=f"2026-01-01T00:00:{len(self.messages) % 60:02}.000000+00:00")

        async def run():
            for _ in range(times):
                await self.dispatch("MESSAGE_UPDATE", entry)
        self.call(run())

    def put_emoji(self, user, channel, id_, emoji, on=True):
        entry = self.messages[channel, id_]
        event = {"user_id": user, "channel_id": channel, "message_id": id_, "emoji": {"id": None, "name": emoji}, "burst": False, "type": 0}
        if self.channels[channel]["type"] != 1:
            event["guild_id"] = GUILD
        if on:
            event.update(message_author_id=entry["author"]["id"], burst_colors=[])
            if "guild_id" in event:
                event["member"] = {"user": self.users[user], "roles": []}
        self.call(self.dispatch("MESSAGE_REACTION_ADD" if on else "MESSAGE_REACTION_REMOVE", event))

    def file(self, name, data, kind="text/plain"):
        id_ = self.new_id()
        self.files[id_] = data
        return {"id": id_, "filename": name, "size": len(data), "content_type": kind,
                "url": f"http://127.0.0.1:{self.port}/attachments/{id_}/{name}", "proxy_url": ""}

    def interact(self, user, channel, kind, data):
        async def run():
            id_, token = self.new_id(), f"secret{random.getrandbits(64):x}"
            self.interactions[id_] = {"token": token, "at": time.monotonic()}
            event = {"id": id_, "application_id": BOT, "type": kind, "token": token, "version": 1, "channel_id": channel, "data": data,
                     "locale": "en-US", "entitlements": [], "authorizing_integration_owners": {}, "context": 0, "attachment_size_limit": 10485760}
            if self.channels[channel]["type"] == 1:
                event["user"] = self.users[user]
            else:
                event.update(guild_id=GUILD, member={"user": self.users[user], "roles": [], "permissions": "0"})
            await self.dispatch("INTERACTION_CREATE", event)
            return id_
        return self.call(run())

    def texts(self, channel):
        return [m["content"] for (c, _), m in self.messages.copy().items() if c == channel and m["author"]["id"] == BOT]

    #  The gateway

    async def dispatch(self, kind, data):
        for session in self.sessions.values():
            if session.gone:
                continue
            shown = data
            if kind.startswith("MESSAGE_REACTION"):
                if not session.intents & (GUILD_REACTIONS if "guild_id" in data else DIRECT_REACTIONS):
                    continue
            elif kind in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
                if not session.intents & (GUILD_MESSAGES if "guild_id" in data else DIRECT_MESSAGES):
                    continue
                called = any(user["id"] == BOT for user in data["mentions"])
                if not session.intents & MESSAGE_CONTENT and "guild_id" in data and not called and data["author"]["id"] != BOT:
                    shown = {**data, "content": "", "attachments": [], "embeds": [], "components": []}
            await self.event(session, kind, shown)

    async def event(self, session, kind, data):
        session.seq += 1
        frame = {"op": 0, "s": session.seq, "t": kind, "d": data}
        session.events.append(frame)
        if session.socket and not self.zombie:
            try:
                await session.socket.send(frame)
            except (ConnectionError, OSError):
                session.socket = None

    def gateway(self, op, data=None):
        """Says this to all that are connected."""
        async def run():
            for session in self.sessions.values():
                if session.socket:
                    await session.socket.send({"op": op, "d": data, "s": None, "t": None})
                    if op == 9 and data is False:
                        session.gone = True
        self.call(run())

    def close_all(self, code, reason=""):
        async def run():
            for session in self.sessions.values():
                if session.socket:
                    await session.socket.close(code, reason)
                    if code in (4007, 4009):
                        session.gone = True
        self.call(run())

    def cut_all(self):
        async def run():
            for session in self.sessions.values():
                if session.socket:
                    session.socket.abort()
        self.call(run())

    async def socket(self, request):
        if request.query.get("v") != "10" or request.query.get("encoding") != "json":
            socket = await request.upgrade()
            await socket.close(4012, "Invalid API version")
            return
        socket = await request.upgrade()
        self.sockets.append(socket)
        session = None
        await socket.send({"op": 10, "s": None, "t": None, "d": {"heartbeat_interval": self.beat_ms, "_trace": []}})
        try:
            while (message := await socket.receive()) and message[0] != 8:
                try:
                    frame = json.loads(message[1])
                except ValueError:
                    await socket.close(4002, "Error while decoding payload.")
                    continue
                session = await self.frame(socket, session, frame)
                with self.lock:
                    self.lock.notify_all()
        finally:
            if session and session.socket is socket:
                session.socket = None
                if socket.closed in (1000, 1001):
                    session.gone = True

    async def frame(self, socket, session, frame):
        op, data = frame.get("op"), frame.get("d")
        if op == 1:
            if not self.zombie:
                await socket.send({"op": 11, "s": None, "t": None, "d": None})
        elif op == 2:
            if session:
                await socket.close(4005, "Already authenticated.")
            elif data.get("token") != TOKEN or self.revoked:
                await socket.close(4004, "Authentication failed.")
            elif data.get("intents", 0) & self.denied_intents:
                await socket.close(4014, "Disallowed intent(s).")
            elif not isinstance(data.get("properties"), dict):
                await socket.close(4002, "Error while decoding payload.")
            else:
                self.identifies.append(time.monotonic())
                session = Session(f"session{len(self.sessions) + 1}", data["intents"])
                self.sessions[session.name] = session
                session.socket = socket
                if not self.mute_ready:
                    await self.ready(session)
        elif op == 6:
            old = self.sessions.get(data.get("session_id"))
            if data.get("token") != TOKEN or self.revoked:
                await socket.close(4004, "Authentication failed.")
            elif not old or old.gone:
                await socket.send({"op": 9, "s": None, "t": None, "d": False})
            elif data.get("seq") > old.seq:
                await socket.close(4007, "Invalid seq.")
            else:
                session = old
                missed = [e for e in session.events if e["s"] > data["seq"]]
                session.socket = socket
                for event in missed:
                    await socket.send(event)
                await self.event(session, "RESUMED", {"_trace": []})
        elif op in (3, 4, 8):
            pass
        elif session is None:
            await socket.close(4003, "Not authenticated.")
        else:
            await socket.close(4001, "Unknown opcode.")
        return session

    async def ready(self, session):
        await self.event(session, "READY", {
            "v": 10, "user": {**self.users[BOT], "verified": True, "mfa_enabled": False, "email": None, "flags": 0},
            "guilds": [{"id": GUILD, "unavailable": True}], "session_id": session.name, "session_type": "normal", "private_channels": [],
            "resume_gateway_url": f"ws://127.0.0.1:{self.port}/gateway", "application": {"id": BOT, "flags": 1 << 18}, "_trace": []})
        threads = [c for c in self.channels.values() if c["type"] in (11, 12)]
        await self.event(session, "GUILD_CREATE", {
            "id": GUILD, "name": "Lab", "owner_id": ANA, "unavailable": False, "large": False, "member_count": 3, "members": [], "presences": [],
            "channels": [c for c in self.channels.values() if c.get("guild_id") and c["type"] < 20 and c["type"] not in (11, 12)],
            "threads": threads, "emojis": [], "stickers": [], "voice_states": [], "stage_instances": [], "guild_scheduled_events": [],
            "features": [], "premium_tier": 0, "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0,
            "mfa_level": 0, "system_channel_flags": 0, "preferred_locale": "en-US", "nsfw_level": 0, "afk_timeout": 60,
            "joined_at": "2026-01-01T00:00:00+00:00", "soundboard_sounds": [],
            "roles": [{"id": GUILD, "name": "@everyone", "permissions": "0", "position": 0, "color": 0, "hoist": False, "managed": False,
                       "mentionable": False, "flags": 0},
                      {"id": OWN_ROLE, "name": "gw", "permissions": "0", "position": 1, "color": 0, "hoist": False, "managed": True,
                       "mentionable": False, "flags": 0, "tags": {"bot_id": BOT}}]})

    #  The API

    async def answer(self, request):
        path = re.sub(r"^/api(/v10)?", "", request.path)
        if path in ("/gateway", "/gateway/") and "upgrade" in request.headers.get("connection", "").lower():
            await self.socket(request)
            return None
        if path.startswith("/attachments/"):
            return 200, self.files[path.split("/")[2]], {"Content-Type": "application/octet-stream"}
        try:
            return await self.route(request, path)
        except Refused as refused:
            return refused.answer

    async def route(self, request, path):
        if found := re.fullmatch(r"/interactions/(\d+)/([^/]+)/callback", path):
            return self.callback(found[1], found[2], request.params())
        if not re.match(r"DiscordBot \(", request.headers.get("user-agent", "")):
            raise Refused(403, 40333, "internal network error")
        if request.headers.get("authorization") != f"Bot {TOKEN}" or self.revoked:
            raise Refused(401, 0, "401: Unauthorized")
        for method, pattern, handler in ROUTES:
            found = re.fullmatch(pattern, path)
            if found and method == request.method:
                answer = getattr(self, handler)(request, *found.groups())
                return await answer if asyncio.iscoroutine(answer) else answer
        raise Refused(404, 0, "404: Not Found")

    def me(self, request):
        return 200, self.users[BOT], {}

    def application(self, request):
        return 200, {"id": BOT, "name": "gw", "flags": self.app_flags, "bot": self.users[BOT]}, {}

    def gateway_bot(self, request):
        return 200, {"url": f"ws://127.0.0.1:{self.port}/gateway", "shards": 1,
                     "session_start_limit": {"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}}, {}

    def channel(self, id_):
        if id_ not in self.channels:
            raise Refused(404, 10003, "Unknown Channel")
        return self.channels[id_]

    def get_channel(self, request, id_):
        return 200, self.channel(id_), {}

    def limit(self, channel):
        """Headers of the bucket, or a refusal."""
        if not self.rate:
            return {}
        now = time.monotonic()
        start, used = self.buckets.get(channel, (now, 0))
        if now - start >= self.window:
            start, used = now, 0
        left = self.window - (now - start)
        if used >= self.rate:
            raise Limited(left)
        self.buckets[channel] = (start, used + 1)
        return {"X-RateLimit-Limit": self.rate, "X-RateLimit-Remaining": self.rate - used - 1, "X-RateLimit-Reset-After": f"{left:.3f}",
                "X-RateLimit-Bucket": "abcd"}

    def check_content(self, body, files=None):
        text = body.get("content") or ""
        if not isinstance(text, str):
            raise Refused(400, 50035, "Invalid Form Body", errors={"content": {"_errors": [{"code": "BASE_TYPE_STRING"}]}})
        if len(text) > 2000:
            raise Refused(400, 50035, "Invalid Form Body",
                          errors={"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]}})
        if not text.strip() and not files and not body.get("embeds") and not body.get("components"):
            raise Refused(400, 50006, "Cannot send an empty message")
        rows = body.get("components") or []
        buttons = [button for row in rows for button in row.get("components", [])]
        if len(rows) > 5 or any(len(row.get("components", [])) > 5 for row in rows) or any(
                len(b.get("custom_id", "")) > 100 or not 0 < len(b.get("label", "x")) <= 80 for b in buttons):
            raise Refused(400, 50035, "Invalid Form Body", errors={"components": {"_errors": [{"code": "BASE_TYPE_BAD_LENGTH"}]}})
        if len({b.get("custom_id") for b in buttons}) < len(buttons):
            raise Refused(400, 50035, "Invalid Form Body", errors={"components": {"_errors": [{"code": "COMPONENT_CUSTOM_ID_DUPLICATED"}]}})
        mentions = body.get("allowed_mentions") or {}
        if "users" in (mentions.get("parse") or []) and mentions.get("users"):
            raise Refused(400, 50035, "Invalid Form Body", errors={"allowed_mentions": {"_errors": [{"code": "MUTUALLY_EXCLUSIVE"}]}})

    async def post_message(self, request, id_):
        channel = self.channel(id_)
        if channel["type"] in (4, 15, 16):
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        if channel.get("thread_metadata", {}).get("locked"):
            raise Refused(400, 160005, "Thread is locked")
        headers = self.limit(id_)
        files = {}
        if request.headers.get("content-type", "").startswith("multipart/"):
            parts = request.parts()
            body = json.loads(parts.pop("payload_json"))
            files = {name: (file.name, file.data) for name, file in parts.items()}
            if len(files) > 10 or any(len(data) > 10485760 for _, data in files.values()):
                raise Refused(413, 40005, "Request entity too large")
        else:
            try:
                body = request.json()
            except ValueError:
                raise Refused(400, 50109, "The request body contains invalid JSON.") from None
        self.check_content(body, files)
        nonce = body.get("nonce")
        if nonce is not None and len(str(nonce)) > 25:
            raise Refused(400, 50035, "Invalid Form Body", errors={"nonce": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH"}]}})
        if nonce and body.get("enforce_nonce") and (id_, nonce) in self.nonces:
            return 200, self.nonces[id_, nonce], headers
        reference = body.get("message_reference")
        if reference and (id_, reference["message_id"]) not in self.messages and reference.get("fail_if_not_exists", True):
            raise Refused(400, 50035, "Invalid Form Body", errors={"message_reference": {"_errors": [{"code": "REPLIES_UNKNOWN_MESSAGE"}]}})
        entry = self.message(BOT, id_, body.get("content") or "", nonce=nonce, components=body.get("components") or [],
                             type=19 if reference else 0)
        if reference:
            entry["message_reference"] = reference
        entry["attachments"] = [self.file(name, data) for name, data in files.values()]
        if nonce:
            self.nonces[id_, nonce] = entry
        await self.dispatch("MESSAGE_CREATE", entry)
        return 200, entry, headers

    def own(self, channel, id_):
        if (channel, id_) not in self.messages:
            raise Refused(404, 10008, "Unknown Message")
        entry = self.messages[channel, id_]
        if entry["author"]["id"] != BOT:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        return entry

    def get_messages(self, request, channel):
        self.channel(channel)
        limit = int(request.query.get("limit", 50))
        if not 1 <= limit <= 100:
            raise Refused(400, 50035, "Invalid Form Body", errors={"limit": {}})
        after = int(request.query.get("after", 0))
        return 200, [m for (c, i), m in list(self.messages.copy().items())[::-1] if c == channel and int(i) > after][:limit], {}

    async def patch_message(self, request, channel, id_):
        entry = self.own(channel, id_)
        body = request.json()
        self.check_content({"content": entry["content"], **body})
        entry.update({name: body[name] for name in ("content", "components") if name in body}, edited_timestamp="2026-01-01T00:00:01+00:00")
        await self.dispatch("MESSAGE_UPDATE", entry)
        return 200, entry, {}

    def delete_message(self, request, channel, id_):
        if (channel, id_) not in self.messages:
            raise Refused(404, 10008, "Unknown Message")
        del self.messages[channel, id_]
        return 204, None, {}

    def react(self, request, channel, id_, emoji):
        if (channel, id_) not in self.messages:
            raise Refused(404, 10008, "Unknown Message")
        (self.reactions.add if request.method == "PUT" else self.reactions.discard)((channel, id_, emoji))
        return 204, None, {}

    def typing(self, request, channel):
        self.channel(channel)
        self.typed.append(channel)
        return 204, None, {}

    def new_thread(self, id_, parent, kind, name):
        if not 1 <= len(name) <= 100:
            raise Refused(400, 50035, "Invalid Form Body", errors={"name": {"_errors": [{"code": "BASE_TYPE_BAD_LENGTH"}]}})
        self.channels[id_] = {"id": id_, "type": kind, "guild_id": GUILD, "parent_id": parent, "owner_id": BOT, "name": name,
                              "message_count": 0, "member_count": 1, "rate_limit_per_user": 0, "flags": 0, "total_message_sent": 0,
                              "thread_metadata": {"archived": False, "auto_archive_duration": 1440, "locked": False,
                                                  "archive_timestamp": "2026-01-01T00:00:01+00:00"}}
        return self.channels[id_]

    async def thread_of_message(self, request, channel, id_):
        if self.channel(channel)["type"] not in (0, 5):
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        if (channel, id_) not in self.messages:
            raise Refused(404, 10008, "Unknown Message")
        if id_ in self.channels:
            raise Refused(400, 160004, "A thread has already been created for this message")
        thread = self.new_thread(id_, channel, 11, request.json().get("name", ""))
        await self.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        return 201, thread, {}

    async def make_thread(self, request, channel):
        parent, body = self.channel(channel), request.json()
        if parent["type"] not in (0, 5, 15, 16):
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        forum = parent["type"] in (15, 16)
        if forum and not (body.get("message") or {}).get("content"):
            raise Refused(400, 50035, "Invalid Form Body", errors={"message": {"_errors": [{"code": "BASE_TYPE_REQUIRED"}]}})
        thread = self.new_thread(self.new_id(), channel, 11 if forum else body.get("type", 12), body.get("name", ""))
        if forum:
            self.message(BOT, thread["id"], body["message"]["content"])
        await self.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        return 201, thread, {}

    def open_direct(self, request):
        user = request.json().get("recipient_id")
        if user not in self.users:
            raise Refused(400, 50033, "Invalid Recipient(s)")
        return 200, self.channels[self.direct(user)], {}

    def get_commands(self, request, app):
        return 200, self.commands, {}

    def put_commands(self, request, app):
        rows = request.json()
        names = [row.get("name", "") for row in rows]
        if len(rows) > 100:
            raise Refused(400, 30032, "Maximum number of application commands reached (100).")
        if len(set(names)) < len(names) or not all(re.fullmatch(r"[-_'\w]{1,32}", n) and n == n.lower() for n in names):
            raise Refused(400, 50035, "Invalid Form Body", errors={"name": {"_errors": [{"code": "APPLICATION_COMMAND_INVALID_NAME"}]}})
        if not all(1 <= len(row.get("description", "")) <= 100 for row in rows):
            raise Refused(400, 50035, "Invalid Form Body", errors={"description": {"_errors": [{"code": "BASE_TYPE_BAD_LENGTH"}]}})
        self.commands = [{"id": self.new_id(), "application_id": app, "version": "1", "default_member_permissions": None, "type": 1,
                          **row} for row in rows]
        return 200, self.commands, {}

    def callback(self, id_, token, body):
        known = self.interactions.get(id_)
        if not known or known["token"] != token or time.monotonic() - known["at"] > 3:
            raise Refused(404, 10062, "Unknown interaction")
        if id_ in self.callbacks:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        if body.get("type") not in (1, 4, 5, 6, 7, 8, 9):
            raise Refused(400, 50035, "Invalid Form Body", errors={"type": {}})
        self.callbacks[id_] = body
        return 204, None, {}

    async def handle(self, request):
        try:
            return await super().handle(request)
        except Limited as limited:
            return 429, {"message": "You are being rate limited.", "retry_after": round(limited.wait, 3), "global": False}, {
                "Retry-After": int(limited.wait) + 1, "X-RateLimit-Scope": "user"}


class Limited(Exception):
    def __init__(self, wait):
        super().__init__()
        self.wait = wait


C, M = r"/channels/(\d+)", r"/messages/(\d+)"
ROUTES = [
    ("GET", "/users/@me", "me"), ("GET", "/gateway/bot", "gateway_bot"), ("GET", "/applications/@me", "application"),
    ("GET", "/oauth2/applications/@me", "application"), ("POST", "/users/@me/channels", "open_direct"),
    ("GET", C, "get_channel"), ("GET", C + "/messages", "get_messages"), ("POST", C + "/messages", "post_message"),
    ("PATCH", C + M, "patch_message"), ("DELETE", C + M, "delete_message"),
    ("PUT", C + M + "/reactions/([^/]+)/@me", "react"), ("DELETE", C + M + "/reactions/([^/]+)/@me", "react"),
    ("POST", C + "/typing", "typing"), ("POST", C + M + "/threads", "thread_of_message"), ("POST", C + "/threads", "make_thread"),
    ("GET", r"/applications/(\d+)/commands", "get_commands"), ("PUT", r"/applications/(\d+)/commands", "put_commands"),
]

if __name__ == "__main__":
    wire.main(FakeDiscord())
