--  A record may be of a run: it goes when the run goes.

ALTER TABLE records ADD COLUMN run_id TEXT;

CREATE INDEX records_run ON records (run_id) WHERE run_id IS NOT NULL;
