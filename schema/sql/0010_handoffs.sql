--  Handoffs: a session is to go on at another platform. One row for each session, the latest request; it moves by (id, state, epoch),
--  so that of two who want it one gets it, and who has lost it changes nothing.

CREATE TABLE handoffs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    platform TEXT NOT NULL,
    target TEXT,                        -- where there, NULL = its home
    cwd TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'completed', 'failed')),
    epoch INTEGER NOT NULL,             -- counts claims and their ends
    claims INTEGER NOT NULL,            -- so far
    sent INTEGER NOT NULL CHECK (sent IN (0, 1)),
    requested_at INTEGER NOT NULL,
    claim_until INTEGER NOT NULL,       -- fails when nobody has claimed it by then
    claimed_at INTEGER,
    claimed_by TEXT,                    -- base name
    lease_until INTEGER,
    ended_at INTEGER,
    error TEXT,
    key TEXT,                           -- route that was bound at the end
    previous TEXT                       -- session to which it was bound before, NULL = none
) STRICT;

CREATE INDEX handoffs_state ON handoffs (state, requested_at);

--  The three columns under which others know them

ALTER TABLE sessions ADD COLUMN handoff_state TEXT;
ALTER TABLE sessions ADD COLUMN handoff_platform TEXT;
ALTER TABLE sessions ADD COLUMN handoff_error TEXT;

CREATE TRIGGER handoffs_added AFTER INSERT ON handoffs BEGIN
    UPDATE sessions SET handoff_state = NEW.state, handoff_platform = NEW.platform, handoff_error = NEW.error
        WHERE id = NEW.session_id;
END;

CREATE TRIGGER handoffs_moved AFTER UPDATE OF state ON handoffs BEGIN
    UPDATE sessions SET handoff_state = NEW.state, handoff_error = NEW.error WHERE id = NEW.session_id;
END;
