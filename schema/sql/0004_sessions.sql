--  Sessions as people know them: whose they are, what they continue, when something last happened in them, what they cost.

ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';     -- who may look them up; '' = nobody in particular
ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'root'   -- what it is to its parent
    CHECK (kind IN ('root', 'branch', 'compression', 'delegate'));
ALTER TABLE sessions ADD COLUMN platform TEXT NOT NULL DEFAULT '';  -- of the source
ALTER TABLE sessions ADD COLUMN model TEXT;
ALTER TABLE sessions ADD COLUMN title_source TEXT CHECK (title_source IN ('user', 'auto', 'branch'));
ALTER TABLE sessions ADD COLUMN last_activity_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN preview TEXT;                       -- beginning of the first message of the user
ALTER TABLE sessions ADD COLUMN tool_call_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN rewind_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN continued INTEGER NOT NULL DEFAULT 0 CHECK (continued IN (0, 1)); -- a child of kind compression goes on
ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1));
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1));
ALTER TABLE sessions ADD COLUMN listed INTEGER GENERATED ALWAYS AS
    (continued = 0 AND hidden = 0 AND archived = 0 AND kind <> 'delegate') VIRTUAL;

--  Live: active 1. Taken back by the user: both 0, hidden everywhere. Folded into a summary: compacted 1, not loaded but found by search

ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1));
ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0 CHECK (compacted IN (0, 1));
ALTER TABLE messages ADD COLUMN rewound INTEGER NOT NULL DEFAULT 0;    -- number of the rewind that took it back
ALTER TABLE messages ADD COLUMN client_id TEXT;                     -- of the writer; a repeat adds nothing

CREATE UNIQUE INDEX messages_client ON messages (session_id, client_id) WHERE client_id IS NOT NULL;

UPDATE sessions SET
    kind = iif (parent IS NULL, 'root', 'branch'),
    platform = ifnull (source ->> '$.platform', ''),
    owner = ifnull ((source ->> '$.platform') || ':' || (source ->> '$.account') || ':'
        || ifnull (source ->> '$.user_id_alt', ifnull (source ->> '$.user_id', ifnull (source ->> '$.chat_id', ''))), ''),
    last_activity_at = ifnull ((SELECT max (at) FROM messages WHERE session_id = sessions.id), started_at),
    preview = (SELECT replace (substr (content, 1, 60), char (10), ' ') || iif (length (content) > 60, '...', '') FROM messages
        WHERE session_id = sessions.id AND role = 'user' AND content > '' ORDER BY id LIMIT 1);

CREATE UNIQUE INDEX sessions_title ON sessions (owner, title) WHERE title IS NOT NULL;
CREATE INDEX sessions_recent ON sessions (listed, last_activity_at);
CREATE INDEX sessions_owner ON sessions (owner, listed, last_activity_at);
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;

--  What each model has done in a session

CREATE TABLE session_usage (
    session_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    base_url TEXT NOT NULL,
    mode TEXT NOT NULL,                 -- of billing
    task TEXT NOT NULL,                 -- '' = the turns themselves
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    estimated_usd REAL NOT NULL,
    actual_usd REAL,                    -- NULL = not known
    cost_status TEXT,
    cost_source TEXT,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, model, provider, base_url, mode, task)
) STRICT, WITHOUT ROWID;
