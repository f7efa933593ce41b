--  A receipt is the answer to who asked for the delivery: it is found by the id of that message.

ALTER TABLE receipts ADD COLUMN op TEXT;
ALTER TABLE receipts ADD COLUMN requester TEXT;  -- base name of who sent the delivery
ALTER TABLE receipts ADD COLUMN delivery TEXT;   -- its id

CREATE INDEX receipts_delivery ON receipts (requester, delivery) WHERE delivery IS NOT NULL;
