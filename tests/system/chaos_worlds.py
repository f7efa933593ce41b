"""The platforms of chaos.py: the same words for the people and the faults of each fake.

A world has: `settings` (of argos.yaml) and `env`; `target(number)`, the id of that chat; `lock`, notified when something has changed; `clear` and `faults_met`; `say(number, text)`: the person of
that chat writes, sometimes so that the platform tells it twice; `texts()`: what the bot's messages say now. `mark`: what is in front of a repetition, None:
there must not be one.
"""
from fake_discord import ANA as DISCORD_ANA
from fake_discord import BOT as DISCORD_BOT
from fake_discord import TOKEN, FakeDiscord
from fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from fake_slack import BOT as SLACK_BOT
from fake_telegram import FakeTelegram

HTTP_FAULTS = [{"do": "drop"}, {"do": "drop_after"}, {"do": "partial"}, {"do": "html", "status": 502}, {"do": "delay", "seconds": 0.2},
               {"do": "status", "status": 500}]


class Telegram:
    """Private chats, and each fifth a group, where a draft is a message: one whose answer is lost, or whose adapter is killed then, stays."""
    mark = "♻️"
    drafts_stay = ("kills", "faults")

    def __init__(self, chats, rate, seed):
        self.fake = FakeTelegram().__enter__()
        self.fake.previews = True
        self.lock, self.chats = self.fake.changed, []
        for number in range(chats):
            group = number % 5 == 4
            self.chats.append(self.fake.group(-1001000000000 - number) if group else self.fake.private(5000 + number, f"P{number}"))
        for method in ("sendMessage|editMessageText|sendChatAction", "getUpdates|getMe|setMyCommands|deleteWebhook"):
            self.fake.faults.add(method, rate=rate, seed=seed,
                                 of=["429:1", "500", "502", "drop_before", "drop_after", "partial", "delay:0.2", "slow"])
        self.settings = f"token: env:TELEGRAM_BOT_TOKEN\n    base_url: {self.fake.url}\n    require_mention: false\n"
        self.env = {"TELEGRAM_BOT_TOKEN": self.fake.bot.token}

    def target(self, number):
        return str(self.chats[number % len(self.chats)])

    def say(self, number, text, twice):
        self.fake.duplicate = int(twice)
        self.fake.say(self.chats[number % len(self.chats)], text)

    def texts(self):
        return [message["text"] for chat in self.chats for message in self.fake.chats[chat].messages.copy().values()
                if message["from"]["is_bot"] and "text" in message]

    def clear(self):
        self.fake.rules.clear()

    def faults_met(self):
        return self.fake.met

    def end(self):
        self.fake.__exit__()


class Sockets:
    """Discord and Slack: what people say comes by a connection that is also cut now and then."""
    mark = None
    drafts_stay = ()

    def __init__(self, fake, limited, rate, seed):
        self.fake = fake.start()
        self.lock = fake.lock
        fake.chance("* /api/*", rate, [*HTTP_FAULTS, limited], seed)

    def target(self, number):
        return str(self.chats[number % len(self.chats)][1])

    def say(self, number, text, twice):
        if number % 97 == 96:
            self.fake.cut_all()
        self.tell(self.chats[number % len(self.chats)], text, 2 if twice else 1)

    def clear(self):
        self.fake.rules.clear()

    def faults_met(self):
        return self.fake.met

    def end(self):
        self.fake.stop()


class Discord(Sockets):
    def __init__(self, chats, rate, seed):
        super().__init__(FakeDiscord(), {"do": "status", "status": 429, "body": {"message": "", "retry_after": 0.5, "global": False}}, rate, seed)
        self.chats, people = [], self.fake.users
        for number in range(chats):
            id_ = str(int(DISCORD_ANA) + 100 + number)
            people[id_] = {**people[DISCORD_ANA], "id": id_, "username": f"p{number}"}
            self.chats.append((id_, self.fake.direct(id_)))
        self.settings = f"token: env:DISCORD_BOT_TOKEN\n    base_url: {self.fake.url}\n"
        self.env = {"DISCORD_BOT_TOKEN": TOKEN}

    def tell(self, chat, text, times):
        self.fake.say(*chat, text, repeat=times)

    def texts(self):
        return [message["content"] for message in self.fake.messages.copy().values() if message["author"]["id"] == DISCORD_BOT]


class Slack(Sockets):
    drafts_stay = ("kills",)

    def __init__(self, chats, rate, seed):
        super().__init__(FakeSlack(), {"do": "status", "status": 429, "headers": {"Retry-After": "1"}}, rate, seed)
        self.chats = []
        for number in range(chats):
            self.fake.users[f"U{100 + number}"] = f"P{number}"
            self.chats.append((f"U{100 + number}", self.fake.direct(f"U{100 + number}")))
        self.settings = f"token: env:SLACK_BOT_TOKEN\n    app_token: env:SLACK_APP_TOKEN\n    base_url: {self.fake.url}\n"
        self.env = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}

    def tell(self, chat, text, times):
        self.fake.say(*chat, text, repeat=times)

    def texts(self):
        return [message["text"] for message in self.fake.messages.copy().values() if message.get("user") == SLACK_BOT]


WORLDS = {"telegram": Telegram, "discord": Discord, "slack": Slack}
