--  Search finds the calls of tools too: the names and what they were called with. Both indexes are made anew, in slices.

ALTER TABLE messages ADD COLUMN tools TEXT;     -- names of tools and what they were called with, NULL = no tool

UPDATE messages SET tools = nullif (trim (ifnull (extra ->> '$.tool_name', '')
        || ifnull ((SELECT group_concat (' ' || ifnull (value ->> '$.function.name', '') || ' '
            || ifnull (substr (value ->> '$.function.arguments', 1, 8192), ''), '')
            FROM json_each (extra, '$.tool_calls') WHERE type = 'object'), '')), '')
    WHERE extra IS NOT NULL AND json_valid (extra);

DROP VIEW message_texts;
CREATE VIEW message_texts (id, content, cjk) AS
    SELECT id, content, content GLOB '*[' || char (12288) || '-' || char (12543) || char (13312) || '-' || char (19903)
        || char (19968) || '-' || char (40959) || char (44032) || '-' || char (55215)
        || char (131072) || '-' || char (173791) || ']*'
    FROM (SELECT id, iif (role = 'tool', substr (ifnull (content, ''), 1, 8192), ifnull (content, ''))
        || ifnull (' ' || tools, '') AS content FROM messages);

INSERT INTO message_words (message_words) VALUES ('delete-all');
INSERT INTO message_trigrams (message_trigrams) VALUES ('delete-all');
DELETE FROM meta WHERE name = 'indexed';
