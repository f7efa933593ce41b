--  The tables of the store. Times are msec since 1970, wall clock; 0 = never where a time can be absent.
--  Small columns that change stand before the large ones that don't.

--  Single values: store_id, boot, lease (the last lease number given), uptime, prune

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE services (
    name TEXT PRIMARY KEY,
    declared_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

--  One row for each message that waits or is being worked on. A lane is the rows of one (service, key) in order of seq.
--  A number of this table is never used twice.

CREATE TABLE queue (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL,
    key TEXT NOT NULL,
    sender TEXT NOT NULL,               -- name without instance and node
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    side INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    at INTEGER NOT NULL,
    until INTEGER NOT NULL,             -- expires
    not_before INTEGER NOT NULL,        -- joins its lane
    delay_until INTEGER NOT NULL,       -- parked
    hops INTEGER NOT NULL,              -- length of the chain that led here
    cause TEXT NOT NULL,                -- id of the message whose commit made it
    origin INTEGER,                     -- seq before a redrive
    attempt INTEGER NOT NULL,           -- leases so far
    strikes INTEGER NOT NULL,
    lease INTEGER,                      -- number of the lease in force
    holder TEXT,                        -- session that has it: name/instance, in process name/instance/boot
    n INTEGER NOT NULL,                 -- commits made under it
    header BLOB NOT NULL,
    body BLOB
) STRICT;

--  An index ends with the row number, so these are in order of seq as well

CREATE INDEX queue_lane ON queue (service, key);
CREATE UNIQUE INDEX queue_lease ON queue (service, key) WHERE lease IS NOT NULL;
CREATE INDEX queue_holder ON queue (holder) WHERE holder IS NOT NULL;
CREATE INDEX queue_side ON queue (service, key) WHERE side = 1;
CREATE INDEX queue_parked ON queue (service, key) WHERE delay_until > 0;
CREATE INDEX queue_origin ON queue (origin) WHERE origin IS NOT NULL;

--  Leases that ended with `done`, so that a repeat of it, or a hello, gets the same answer

CREATE TABLE finished (
    lease INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    holder TEXT NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

--  Units accepted without a lease, in natural order of their ids

CREATE TABLE seen (
    sender TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,               -- first queued part, 0 = none
    last INTEGER NOT NULL,              -- no part has a greater one
    hash BLOB NOT NULL,                 -- of the content
    at INTEGER NOT NULL,
    PRIMARY KEY (sender, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead (
    seq INTEGER PRIMARY KEY,
    service TEXT NOT NULL,
    key TEXT NOT NULL,
    sender TEXT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    side INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    at INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    cause TEXT NOT NULL,
    origin INTEGER,
    attempt INTEGER NOT NULL,
    strikes INTEGER NOT NULL,
    code TEXT NOT NULL,                 -- why
    died_at INTEGER NOT NULL,
    header BLOB NOT NULL,
    body BLOB
) STRICT;

CREATE INDEX dead_origin ON dead (origin) WHERE origin IS NOT NULL;

--  Topics and their kept entries. Numbers begin at 0; each start since the making adds 2^32.

CREATE TABLE topics (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    boot INTEGER NOT NULL,              -- start in which it was made
    newest INTEGER NOT NULL,            -- newest number that was pruned, -1 = none
    closed_at INTEGER NOT NULL,
    made_at INTEGER NOT NULL
) STRICT;

CREATE TABLE journal (
    topic INTEGER NOT NULL,
    n INTEGER NOT NULL,
    type TEXT NOT NULL,
    sender TEXT NOT NULL,
    at INTEGER NOT NULL,
    header BLOB NOT NULL,
    body BLOB,
    PRIMARY KEY (topic, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT,
    source TEXT,                        -- JSON
    parent TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    end_reason TEXT,
    message_count INTEGER NOT NULL,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    role TEXT NOT NULL,
    at INTEGER NOT NULL,
    content TEXT,                       -- when it is a string
    extra TEXT                          -- the other members, JSON
) STRICT;

CREATE INDEX messages_session ON messages (session_id);

CREATE TABLE routes (
    key TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    source TEXT,                        -- JSON
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    session_id TEXT,
    state TEXT CHECK (state IN ('completed', 'failed', 'cancelled')), -- NULL = not finished
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    model TEXT,
    input TEXT,
    output TEXT,
    error TEXT,                         -- JSON
    usage TEXT                          -- JSON
) STRICT;

CREATE INDEX runs_owner ON runs (owner);

CREATE TABLE receipts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    seq INTEGER NOT NULL,               -- delivery that was leased, 0 = none
    sender TEXT NOT NULL,
    run_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('sent', 'refused', 'unknown')),
    platform_ids TEXT,                  -- JSON
    error TEXT,                         -- JSON
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE cursors (
    sender TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,                -- JSON
    at INTEGER NOT NULL,
    PRIMARY KEY (sender, name)
) STRICT, WITHOUT ROWID;
