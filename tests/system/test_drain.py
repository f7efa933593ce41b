"""Stop and restart: what runs may end first, what comes meanwhile waits, who asked is told, and a loop is none."""
import signal
import time
import uuid

import pytest

from conftest import wait_until
from test_gateway import Chat


def restart(chat, **more):
    """Ask for a restart, as /restart does."""
    source = {"platform": "test", "account": "main", "chat_type": "dm", "chat_id": "42"}
    header = {"type": "daemon.restart", "to": "service:daemon", "id": uuid.uuid4().hex, "key": "daemon", "durable": True}
    assert chat.peer.ask(header, {"source": source, **more})[0]["type"] == "accepted"


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGUSR1, 75)])
def test_a_drain_lets_the_turn_end_and_keeps_what_comes(daemon, number, code):
    (daemon.home / "argos.yaml").write_text("gateway: {drain_timeout_s: 20}\n")
    daemon.start()
    chat = Chat(daemon)
    running = chat.say("!slow 120")
    chat.events(running)
    chat.event("turn.delta")
    daemon.signal(number)
    daemon.wait_log("event=stopping")
    waiting = chat.say("meanwhile")
    chat.event("run.completed")
    assert daemon.wait() == code
    daemon.wait_log("event=drained left=nothing")
    chat.peer.close()
    daemon.start()
    chat = Chat(daemon)
    assert chat.run(running)["state"] == "completed"
    wait_until(lambda: (chat.run(waiting) or {}).get("state") == "completed")
    chat.peer.close()


def test_a_drain_has_an_end(daemon):
    (daemon.home / "argos.yaml").write_text("gateway: {drain_timeout_s: 1}\n")
    daemon.start()
    chat = Chat(daemon)
    running = chat.say("!slow 2000")
    chat.events(running)
    chat.event("turn.delta")
    daemon.signal(signal.SIGTERM)
    assert daemon.wait() == 0
    daemon.wait_log("event=drained left=turns")
    chat.peer.close()


def test_who_asks_for_a_restart_is_told_after_it_and_a_loop_is_refused(daemon):
    daemon.start()
    for _ in range(3):
        chat = Chat(daemon)
        restart(chat)
        assert daemon.wait() == 75
        chat.peer.close()
        daemon.start()
        chat = Chat(daemon)
        assert chat.hear()["text"] == "♻ Gateway restarted successfully"
        chat.peer.close()
    # The fourth within a minute
    chat = Chat(daemon)
    restart(chat)
    refused = chat.hear()
    assert refused["kind"] == "error" and "three restarts within a minute" in refused["text"]
    # A turn that is interrupted now is not taken up again
    running = chat.say("!slow 2000")
    chat.events(running)
    chat.event("turn.delta")
    daemon.kill()
    chat.peer.close()
    daemon.start()
    chat = Chat(daemon)
    failed = chat.hear()
    assert failed["kind"] == "error" and "not taken up again" in failed["text"]
    assert chat.run(running)["state"] == "failed"
    assert "hello" in chat.ask("hello")["text"]
    # The minute ends for the process that has found the loop too: this one has five seconds left of it
    daemon.stop()
    chat.peer.close()
    first = int(time.time()) - 56
    (daemon.home / "run" / "restarts").write_text(f"{first} {first} {first}\n")
    daemon.start()
    chat = Chat(daemon)
    wait_until(lambda: time.time() > first + 61)
    restart(chat)
    assert daemon.wait() == 75
    chat.peer.close()


def test_a_turn_that_asks_is_not_waited_for(daemon):
    (daemon.home / "argos.yaml").write_text("gateway: {drain_timeout_s: 60}\n")
    daemon.start()
    chat = Chat(daemon)
    running = chat.say("!slow 4000")
    chat.events(running)
    chat.event("turn.delta")
    restart(chat, run_id=running)
    assert daemon.wait() == 75
    daemon.wait_log("event=drained left=nothing")
    chat.peer.close()
