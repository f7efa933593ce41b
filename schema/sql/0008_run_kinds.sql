--  A run that a person watches from elsewhere has a kind (background) and the key of the conversation that asked for it.

ALTER TABLE runs ADD COLUMN kind TEXT;
ALTER TABLE runs ADD COLUMN origin TEXT;

CREATE INDEX runs_open ON runs (kind) WHERE kind IS NOT NULL AND state IS NULL;
CREATE INDEX runs_origin ON runs (origin) WHERE origin IS NOT NULL;
