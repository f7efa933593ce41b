--  What a model has cost: of each call the price when it was known, else the estimate.

ALTER TABLE session_usage ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0;

UPDATE session_usage SET cost_usd = ifnull (actual_usd, estimated_usd);
