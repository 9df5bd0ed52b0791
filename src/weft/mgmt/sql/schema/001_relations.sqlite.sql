CREATE TRIGGER link_stays BEFORE DELETE ON link
BEGIN
    SELECT RAISE(ABORT, 'a link is never deleted');
END;

CREATE TRIGGER chunk_stays BEFORE DELETE ON chunk
BEGIN
    SELECT RAISE(ABORT, 'a chunk is never deleted');
END;
