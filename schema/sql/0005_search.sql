--  Search. The texts stay where they are, the two indexes hold their words: of messages with a number up to meta.indexed; the rest is
--  looked through. The second one is of texts with Chinese, Japanese or Korean characters, by three. A text never changes: what leaves an
--  index, leaves it by the same expression by which it came.

CREATE VIEW message_texts (id, content, cjk) AS
    SELECT id, content, content GLOB '*[' || char (12288) || '-' || char (12543) || char (13312) || '-' || char (19903)
        || char (19968) || '-' || char (40959) || char (44032) || '-' || char (55215)
        || char (131072) || '-' || char (173791) || ']*'
    FROM (SELECT id, iif (role = 'tool', substr (ifnull (content, ''), 1, 8192), ifnull (content, '')) AS content
        FROM messages);

CREATE VIRTUAL TABLE message_words USING fts5 (content, content = 'message_texts', content_rowid = 'id');
CREATE VIRTUAL TABLE message_trigrams USING fts5 (content, content = 'message_texts', content_rowid = 'id',
    tokenize = 'trigram');
