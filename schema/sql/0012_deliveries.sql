--  A receipt says where the delivery went and what it said, as people look at it; what was not sent for certain is kept
--  whole, so that it can be sent again.

ALTER TABLE receipts ADD COLUMN service TEXT;    -- the account that delivers, NULL = no delivery
ALTER TABLE receipts ADD COLUMN key TEXT;        -- its lane: chat and thread
ALTER TABLE receipts ADD COLUMN kind TEXT;       -- answer, notice, error
ALTER TABLE receipts ADD COLUMN preview TEXT;    -- the first 200 characters
ALTER TABLE receipts ADD COLUMN body TEXT;       -- JSON of the request, unless it was sent

--  Found by id alone as well

DROP INDEX receipts_delivery;
CREATE INDEX receipts_delivery ON receipts (delivery, requester) WHERE delivery IS NOT NULL;
CREATE INDEX receipts_target ON receipts (service, key, number) WHERE service IS NOT NULL;
