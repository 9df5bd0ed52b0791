-- How often a web host may be asked, as it was learned, in requests per 1000 s; 0: as often as the settings allow.
ALTER TABLE pending_host ADD COLUMN rate BIGINT NOT NULL DEFAULT 0;

-- Answers with an error status are counted next to the pages by state; those of before are counted here.
INSERT INTO tally (part, name, count)
SELECT 0, 'status:' || status, count(*) FROM link
WHERE kind = 'page' AND state = 'crawled' AND status >= 400 GROUP BY status;
