--  Small rows that belong to an actor, by space and key. The number is the version: each change makes a new row, and a
--  number is never used twice.

CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,        -- 0 = never; behind it the row counts as absent
    value TEXT NOT NULL,                -- JSON object
    UNIQUE (space, key)
) STRICT;
