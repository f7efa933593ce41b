"""Makes a state.db as a Hermes agent has it, of schema 14, 23 or 30: the columns that an import looks at and some that it does not."""
import json
import sqlite3

T0 = 1_760_000_000.25  # Seconds

SESSIONS = """id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
parent_session_id TEXT REFERENCES sessions(id), started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
tool_call_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0,
cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, billing_provider TEXT, billing_base_url TEXT, billing_mode TEXT,
estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT, cost_source TEXT, pricing_version TEXT, title TEXT,
api_call_count INTEGER DEFAULT 0, handoff_state TEXT, handoff_platform TEXT, handoff_error TEXT"""
SESSIONS_23 = """, session_key TEXT, chat_id TEXT, chat_type TEXT, thread_id TEXT, display_name TEXT, origin_json TEXT, cwd TEXT,
profile_name TEXT, rewind_count INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0"""
SESSIONS_30 = """, system_prompt_hash TEXT, title_source TEXT, last_activity_at REAL, pinned INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0"""
MESSAGES = """id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content TEXT,
tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT,
reasoning_content TEXT, reasoning_details TEXT, codex_reasoning_items TEXT, codex_message_items TEXT, platform_message_id TEXT,
observed INTEGER DEFAULT 0"""
MESSAGES_23 = ", active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT, display_kind TEXT"


def insert(db, table, **columns):
    there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    columns = {name: value for name, value in columns.items() if name in there}
    db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", list(columns.values()))


def origin(chat, kind="dm", **more):
    return {"platform": "telegram", "chat_id": chat, "chat_type": kind, "user_id": "42", **more}


def entries():
    return {
        "agent:main:telegram:dm:42": {"session_id": "tip", "origin": origin("42")},
        "agent:main:telegram:group:-7:3:42": {"session_id": "group", "origin": origin("-7", "group", thread_id="3")},
        "lost": {"session_id": "nobody", "origin": origin("9")}, "broken": "{not json", "nowhere": {"session_id": "tip"},
    }


def make(folder, schema):
    """The path of a new file in folder."""
    path = folder / "state.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
    db.execute("INSERT INTO schema_version VALUES (?)", [schema])
    new, newer = schema >= 23, schema >= 30
    db.execute(f"CREATE TABLE sessions ({SESSIONS}{SESSIONS_23 if new else ''}{SESSIONS_30 if newer else ''})")
    db.execute(f"CREATE TABLE messages ({MESSAGES}{MESSAGES_23 if new else ''})")
    db.execute("CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT)")
    session(db, "tip", parent_session_id="root", title="Plan #2", started_at=T0 - 50)  # Before its parent: the clock went back
    session(db, "root", ended_at=T0 + 60, end_reason="compression", title="Plan", input_tokens=100, output_tokens=20, api_call_count=2,
            billing_provider="openrouter", estimated_cost_usd=0.5, actual_cost_usd=0.25)
    session(db, "twig", parent_session_id="tip", model_config=json.dumps({"_branched_from": "tip"}), archived=1, rewind_count=1)
    session(db, "helper", source="subagent", parent_session_id="tip")
    session(db, "group", chat_id="-7", chat_type="group", title_source="llm", title="Weekend")
    session(db, "ring-a", parent_session_id="ring-b")
    session(db, "ring-b", parent_session_id="ring-a")
    session(db, "", title="no id")
    session(db, "Wei\u00dfe B\u00e4ren", source="My Platform!", started_at="yesterday")
    message(db, "root", "user", "hello")
    message(db, "root", "assistant", None, tool_calls=json.dumps([{"id": "c1", "function": {"name": "terminal", "arguments": "{}"}}]))
    message(db, "root", "tool", "done", tool_call_id="c1", tool_name="terminal")
    message(db, "root", "assistant", "all good", finish_reason="stop", reasoning="because", timestamp=T0 - 1000)
    message(db, "tip", "user", "\x00json:" + json.dumps([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}]))
    message(db, "tip", "assistant", "broken", tool_calls="{not json")
    message(db, "tip", "function", "a role that is none")
    message(db, "tip", "user", "x" * 300_000)
    message(db, "twig", "user", "taken back", active=0)
    message(db, "twig", "assistant", "folded", active=0, compacted=1)
    db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('group', 'user', CAST(x'61ff00edb2a962' AS TEXT), ?)", [T0])
    if new:
        db.execute("""CREATE TABLE session_model_usage (session_id TEXT, model TEXT, billing_provider TEXT DEFAULT '', billing_base_url TEXT
            DEFAULT '', billing_mode TEXT DEFAULT '', task TEXT DEFAULT '', api_call_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0,
            output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER
            DEFAULT 0, estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT, cost_source TEXT, first_seen REAL, last_seen REAL)""")
        for task in ["", "title"]:
            insert(db, "session_model_usage", session_id="root", model="m1", billing_provider="openrouter", task=task, api_call_count=1,
                   input_tokens=50, output_tokens=10, first_seen=T0, last_seen=T0 + 1)
        db.execute("CREATE TABLE gateway_routing (scope TEXT DEFAULT '', session_key TEXT, entry_json TEXT NOT NULL, updated_at REAL)")
        for key, entry in entries().items():
            insert(db, "gateway_routing", session_key=key, entry_json=entry if isinstance(entry, str) else json.dumps(entry))
    else:
        (folder / "sessions").mkdir()
        (folder / "sessions" / "sessions.json").write_text(json.dumps({"_README": {}, **entries()}))
    db.close()
    return path


def session(db, name, **columns):
    insert(db, "sessions", **{"id": name, "source": "telegram", "user_id": "42", "model": "m1", "started_at": T0, **columns})


def message(db, name, role, content, **columns):
    insert(db, "messages", **{"session_id": name, "role": role, "content": content, "timestamp": T0 + 1, **columns})
