--  A service can be paused by an operator; it stays so over a restart.

ALTER TABLE services ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
