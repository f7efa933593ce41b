"""How soon a dead connection is noticed: all that an adapter has to its platform stands still, open and silent, and new connections work.

    zombies.py [telegram|discord|slack]...

The times are those of the product. In between somebody writes. `noticed_s` is when the adapter has made a new connection, `cured_s` when the fake
has the answer to what was written; the limit is 60 s for the first. A line for each platform; all three at once, for about a minute.
"""
import asyncio
import json
import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fakes"))
from conftest import Argosd, wait_until  # noqa: E402
from chaos_worlds import WORLDS  # noqa: E402

LIMIT_S = 60
#  What a connection that brings messages asks for first
ASKS = {"telegram": b"/getUpdates", "discord": b"/gateway/?", "slack": b"/link?"}


class Wire:
    """In front of a fake: passes on what comes, until `stall`; then on new connections only."""

    def __init__(self, port, asks):
        self.target, self.asks, self.epoch, self.asked = port, asks, 0, threading.Event()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.connection, "127.0.0.1", 0), self.loop).result()
        self.port = self.server.sockets[0].getsockname()[1]

    async def connection(self, reader, writer):
        epoch = self.epoch
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self.carry(epoch, reader, other_writer, True), self.carry(epoch, other_reader, writer, False), return_exceptions=True)

    async def carry(self, epoch, reader, writer, asks):
        while data := await reader.read(65536):
            if epoch != self.epoch:
                await asyncio.Event().wait()  # Open, and silent
            if asks and self.asks in data.split(b"\r\n", 1)[0]:
                self.asked.set()
            writer.write(data)
            await writer.drain()
        writer.close()

    def end(self):
        """Whatever still stands goes with its thread."""
        async def cancel():
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(cancel(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)

    def stall(self):
        self.asked.clear()
        self.epoch += 1


def measure(platform, home):
    world = WORLDS[platform](1, 0, 1)
    world.clear()
    wire = Wire(world.fake.port, ASKS[platform])
    settings = world.settings.replace(str(world.fake.port), str(wire.port))
    world.fake.port = wire.port  # The addresses that it names
    (pathlib.Path(home) / "argos.yaml").write_text(f"platforms:\n  {platform}:\n    drafts: false\n    {settings}")
    daemon = Argosd(home)
    daemon.start(env=world.env)
    try:
        daemon.wait_log("event=connected")
        world.say(0, "m0. before", False)
        wait_until(lambda: any("m0." in text for text in world.texts()), 60)
        wire.stall()
        begun = time.monotonic()
        world.say(1, "m1. into the void", False)
        assert wire.asked.wait(200), "nobody noticed"
        noticed = time.monotonic() - begun
        wait_until(lambda: any("m1." in text for text in world.texts()), 120)
        report = {"platform": platform, "noticed_s": round(noticed, 1), "cured_s": round(time.monotonic() - begun, 1)}
        report["good"] = noticed <= LIMIT_S and sum("m1." in text for text in world.texts()) == 1
        assert daemon.stop() == 0, daemon.text()
        return report
    finally:
        daemon.close()
        wire.end()
        world.end()


def main():
    names, reports = [word for word in sys.argv[1:] if word in WORLDS] or list(WORLDS), []

    def run(name):
        with tempfile.TemporaryDirectory(prefix="argos-") as home:
            reports.append(measure(name, home))
        print(json.dumps(reports[-1]), flush=True)

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(0 if len(reports) == len(names) and all(report["good"] for report in reports) else 1)


if __name__ == "__main__":
    main()
