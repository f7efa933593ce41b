--  A task has a home: the node whose files, shells and processes its tools work with. NULL = no tool of it has run yet.

ALTER TABLE sessions ADD COLUMN home TEXT;
