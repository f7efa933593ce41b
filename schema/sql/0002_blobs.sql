--  Files, by their content. One that is complete belongs to nobody; one under way to who sends it, so that nobody can spoil it.

CREATE TABLE blobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    blob TEXT NOT NULL,                 -- sha256: and 64 hex digits
    sender TEXT NOT NULL,               -- base name of who sends it, '' = complete
    size INTEGER NOT NULL,
    have INTEGER NOT NULL,              -- bytes that are there, without a gap
    touched INTEGER NOT NULL,           -- uptime of the store at the last chunk, msec: no clock can age it
    media_type TEXT,
    name TEXT,
    state BLOB,                         -- of SHA-256 after those bytes, NULL = complete
    UNIQUE (blob, sender)
) STRICT;

--  Their bytes, in pieces as they came

CREATE TABLE blob_chunks (
    id INTEGER PRIMARY KEY,
    blob INTEGER NOT NULL,              -- number
    at INTEGER NOT NULL,                -- offset of the first byte
    data BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX blob_chunks_at ON blob_chunks (blob, at);

--  What a run needs is kept as long as its row

CREATE TABLE blob_refs (
    run_id TEXT NOT NULL,
    blob INTEGER NOT NULL,
    PRIMARY KEY (run_id, blob)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_refs_blob ON blob_refs (blob);

--  Numbers whose chunks are still to be removed

CREATE TABLE blob_trash (
    number INTEGER PRIMARY KEY
) STRICT;
