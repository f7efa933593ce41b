"""The settings: shown, set, checked, read again while turns run; what is invalid changes nothing."""
import json
import signal
import subprocess

import pytest

from conftest import Argosd, BUILD, PLACEMENT, wait_until
from test_gateway import Chat


def argos(home, *words, env=None, json_=False):
    """Runs `argos config …`; (exit code, stdout, stderr)."""
    command = [str(BUILD / "argos"), "config", *words, "--home", str(home), *(["--json"] if json_ else [])]
    clean = {name: value for name, value in Argosd.clean_env().items() if not name.startswith(("HERMES_", "GATEWAY_"))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env={**clean, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def test_show_says_where_each_value_comes_from_and_hides_secrets(home):
    (home / "argos.yaml").write_text("display:\n  busy_input_mode: queue\nadapters:\n  line:\n    command: [x]\n"
                                     "    env: {LINE_TOKEN: abcdef, LINE_SECRET_FILE: \"file:x\"}\n")
    env = {"TELEGRAM_ALLOWED_USERS": "17,18", "TELEGRAM_BOT_TOKEN": "123:secret"}
    code, out, _ = argos(home, "show", env=env)
    lines = out.splitlines()
    assert code == 0
    assert 'display.busy_input_mode: "queue"  # argos.yaml:2' in lines
    assert "display.busy_ack_enabled: true  # default" in lines
    assert 'platforms.telegram.allowed_users: ["17","18"]  # TELEGRAM_ALLOWED_USERS' in lines
    assert 'platforms.telegram.token: "env:TELEGRAM_BOT_TOKEN"  # TELEGRAM_BOT_TOKEN' in lines
    assert "abcdef" not in out and "123:secret" not in out
    assert 'adapters.line.env.LINE_TOKEN: "***"  # argos.yaml:6' in lines
    code, out, _ = argos(home, "show", "display", json_=True)
    assert code == 0
    assert json.loads(out)["display.busy_input_mode"] == {"value": "queue", "from": "argos.yaml:2"}
    assert argos(home, "get", "adapters.line.env.LINE_TOKEN")[1] == '"***"\n'
    assert argos(home, "show", "no.such")[0] == 1


def test_set_writes_local_yaml_and_never_the_file_of_a_person(home):
    text = "# mine\nhttp:\n  port: 1  # keep\n"
    (home / "argos.yaml").write_text(text)
    assert argos(home, "set", "http.port", "2")[:2] == (0, "http.port: holds after a restart of argosd\n")
    assert argos(home, "set", "platforms.telegram.allowed_users", "[17, ann]")[0] == 0
    assert argos(home, "set", "quick_commands.df", "{type: exec, command: \"df -h: x\"}")[0] == 0
    assert argos(home, "get", "http.port")[1] == "2\n"
    assert argos(home, "get", "quick_commands.df.command")[1] == "df -h: x\n"
    assert (home / "argos.yaml").read_text() == text
    assert "  port: 2\n" in (home / "local.yaml").read_text()
    # What looks like a number may be a text
    assert argos(home, "set", "platforms.telegram.home_channel.name", "7")[0] == 0
    assert argos(home, "get", "platforms.telegram.home_channel.name")[1] == "7\n"
    before = (home / "local.yaml").read_text()
    code, _, err = argos(home, "set", "http.port", "70000")
    assert code == 1 and "http.port: expected an integer from 0 to 65535" in err and "local.yaml" not in err
    code, _, err = argos(home, "set", "http.prot", "1")
    assert code == 1 and "unknown key; did you mean http.port?" in err
    assert argos(home, "set", "http.port.x", "1")[0] == 1
    assert (home / "local.yaml").read_text() == before
    assert argos(home, "unset", "http.port")[0] == 0
    assert argos(home, "get", "http.port")[1] == "1\n"
    code, out, _ = argos(home, "set", "http.port", "3", env={"API_SERVER_PORT": "9"})
    assert (code, out) == (0, "http.port: nothing changes (API_SERVER_PORT)\n")
    assert argos(home, "set", "http.port")[0] == 2


def test_check_names_the_place(home):
    (home / "argos.yaml").write_text("htpp: {}\n")
    code, out, err = argos(home, "check")
    assert (code, out) == (0, "the settings are valid\n") and "argos.yaml:1: htpp: unknown key; did you mean http?" in err
    (home / "local.yaml").write_text("\nhttp: {port: x}\n")
    code, _, err = argos(home, "check")
    assert code == 1 and "local.yaml:2: http.port: expected an integer" in err


def test_settings_are_read_again_while_it_runs(argosd):
    chat = Chat(argosd)
    chat.ask("hello")
    running = chat.say("!slow 400")
    chat.events(running)
    chat.event("turn.delta")
    assert argos(argosd.home, "reload")[:2] == (0, "nothing has changed\n")
    # Room for the one that runs and one more
    assert argos(argosd.home, "set", "gateway.queue_max", "2")[0] == 0
    code, out, _ = argos(argosd.home, "reload", json_=True)
    answer = json.loads(out)
    assert code == 0 and answer["applied"] and answer["changed"] == ["gateway.queue_max"] and answer["restart"] == []
    if PLACEMENT == "isolate":
        wait_until(lambda: sum("event=settings" in (line or "") for line in argosd.log) >= 3)
    waiting = chat.say("one")
    wait_until(lambda: chat.run(waiting))
    refused = chat.ask("two")
    assert refused["kind"] == "error" and "too many messages" in refused["text"]
    # An invalid file keeps the old settings, and says why
    argosd.write_local("gateway: {queue_max: none}\n")
    code, _, err = argos(argosd.home, "reload")
    assert code == 1 and "the old settings stay: local.yaml:1: gateway.queue_max: expected an integer" in err
    argosd.wait_log('event="settings kept"')
    assert "too many messages" in chat.ask("three")["text"]
    # What needs a restart is named, each time until there is one
    argosd.write_local("")
    (argosd.home / "argos.yaml").write_text("http: {host: \"127.0.0.2\"}\nagent: {max_iterations: 7}\n")
    for changed in (["agent.max_iterations", "gateway.queue_max"], []):
        code, out, _ = argos(argosd.home, "reload", json_=True)
        answer = json.loads(out)
        assert code == 0 and answer["changed"] == changed and answer["restart"] == ["http.host"]
    (argosd.home / "argos.yaml").write_text("log: {level: debug}\n")
    argosd.signal(signal.SIGHUP)
    argosd.wait_log("log.level")
    assert argosd.process.poll() is None
    chat.say("/stop")
    chat.peer.close()


def test_sethome_writes_local_yaml(argosd):
    text = "# mine\nplatforms: {test: {home_channel: {chat_id: 7, name: old}}}\n"
    (argosd.home / "argos.yaml").write_text(text)
    chat = Chat(argosd)
    assert "✅ Home channel set" in chat.ask("/sethome")["text"]
    argosd.wait_log('changed="platforms.test')  # Read again
    code, out, _ = argos(argosd.home, "show", "platforms.test.home_channel")
    assert code == 0 and 'platforms.test.home_channel.chat_id: "42"  # local.yaml:' in out
    assert "old" not in out
    assert (argosd.home / "argos.yaml").read_text() == text
    # What can't be written is said in the log, and stays where it was said
    (argosd.home / "argos.yaml").write_text("http: 5\n")
    chat.chat = "43"
    assert "✅ Home channel set" in chat.ask("/sethome")["text"]
    assert "argos.yaml:1: http: expected an object" in argosd.wait_log('event="not written"')
    assert chat.read("record.get", {"space": "home", "key": "test"})["record"]["value"]["source"]["chat_id"] == "43"
    (argosd.home / "argos.yaml").write_text(text)
    chat.peer.close()


def test_who_says_last_where_the_home_is_wins(daemon):
    """/sethome over the environment, a setting of later over /sethome."""
    def home():
        command = [str(BUILD / "argos"), "channels", "--home", str(daemon.home), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=Argosd.clean_env())
        (found,) = json.loads(done.stdout)["homes"]
        return found["chat_id"]

    (daemon.home / "argos.yaml").write_text("platforms: {test: {}}\n")
    daemon.start(env={"TEST_HOME_CHANNEL": "-5"})
    chat = Chat(daemon)
    assert "✅ Home channel set" in chat.ask("/sethome")["text"] and home() == "42"
    local = daemon.home / "local.yaml"
    wait_until(lambda: local.exists() and '"42"' in local.read_text())
    chat.peer.close()
    for env, expected in ({"TEST_HOME_CHANNEL": "-6"}, "-6"), (None, "42"):
        daemon.stop()
        daemon.start(env=env)
        assert home() == expected
    assert argos(daemon.home, "set", "platforms.test.home_channel.chat_id", "-7")[0] == 0
    assert argos(daemon.home, "reload")[0] == 0
    assert home() == "-7"
    assert daemon.stop() == 0


def test_reload_without_a_daemon_says_so(home):
    assert argos(home, "reload")[0] == 69
