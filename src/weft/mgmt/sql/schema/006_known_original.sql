-- The capture that a link's validators came with, as JSON: what the record of a 304 refers to.
ALTER TABLE link ADD COLUMN known_original TEXT NOT NULL DEFAULT '';
