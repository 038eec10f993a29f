-- The name that a client gave itself.
ALTER TABLE requests ADD COLUMN client TEXT;
