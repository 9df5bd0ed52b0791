-- The batch is compressed already, and replaced several times a second: what it leaves behind is cleared away soon.
ALTER TABLE bucket ALTER COLUMN batch SET STORAGE EXTERNAL;
ALTER TABLE bucket SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000
);
