CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a % is never deleted', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER link_stays BEFORE DELETE OR TRUNCATE ON link EXECUTE FUNCTION stays();
CREATE TRIGGER chunk_stays BEFORE DELETE OR TRUNCATE ON chunk EXECUTE FUNCTION stays();

-- One row per connected process: `mark` is the number of its last committed call, so that a process whose connection
-- broke during a COMMIT can ask whether it happened.
CREATE TABLE client (
    id   {serial},
    mark BIGINT NOT NULL,
    seen BIGINT NOT NULL
);
