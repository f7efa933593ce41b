--  Whether a text has Chinese, Japanese or Korean is asked only of those that are not plain ASCII: GLOB looks at each
--  character anew for each set, which was a third of the work of appending.

DROP VIEW message_texts;
CREATE VIEW message_texts (id, content, cjk) AS
    SELECT id, content, length (content) < length (CAST (content AS BLOB)) AND
        content GLOB '*[' || char (12288) || '-' || char (12543) || char (13312) || '-' || char (19903)
        || char (19968) || '-' || char (40959) || char (44032) || '-' || char (55215)
        || char (131072) || '-' || char (173791) || ']*'
    FROM (SELECT id, iif (role = 'tool', substr (ifnull (content, ''), 1, 8192), ifnull (content, ''))
        || ifnull (' ' || tools, '') AS content FROM messages);
