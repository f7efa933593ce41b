--  What is to happen at the next message of a route, and what has happened to it last.

ALTER TABLE routes ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0 CHECK (suspended IN (0, 1)); -- the next message gets a new session
ALTER TABLE routes ADD COLUMN resume_reason TEXT;   -- a turn was interrupted: the session goes on, whatever the rules of resetting say
ALTER TABLE routes ADD COLUMN resume_at INTEGER;    -- when that was noted, NULL = nothing was
ALTER TABLE routes ADD COLUMN previous TEXT;        -- session before this one
ALTER TABLE routes ADD COLUMN reset_reason TEXT;    -- why this one was begun, NULL = otherwise than by a reset
ALTER TABLE routes ADD COLUMN reset_at INTEGER;

CREATE INDEX routes_session ON routes (session_id);

--  A route that is forgotten and made again goes on counting: what was decided on its earlier life is refused.

CREATE TRIGGER routes_gone AFTER DELETE ON routes BEGIN
    INSERT INTO meta (name, value) VALUES ('route_version', OLD.version)
        ON CONFLICT (name) DO UPDATE SET value = max (value, excluded.value);
END;
