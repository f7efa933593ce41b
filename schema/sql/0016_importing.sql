--  A session that is brought in is not there before it is whole.

ALTER TABLE sessions ADD COLUMN importing INTEGER NOT NULL DEFAULT 0 CHECK (importing IN (0, 1));

UPDATE sessions SET importing = 1 WHERE end_reason = 'importing' AND hidden = 1;
