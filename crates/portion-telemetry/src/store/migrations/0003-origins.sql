-- What goes back to the same payload, what counted, and alerts. A trace is its id, the caller's span and ours, 32 bytes.
ALTER TABLE requests ADD COLUMN origin INTEGER;
ALTER TABLE requests ADD COLUMN counter TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN trace BLOB;

CREATE INDEX requests_origin ON requests (origin) WHERE origin IS NOT NULL;
CREATE INDEX requests_request ON requests (request);

CREATE TABLE alerts (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    process INTEGER NOT NULL,
    alert TEXT NOT NULL,
    raised INTEGER NOT NULL,
    share REAL NOT NULL,
    threshold REAL NOT NULL,
    requests INTEGER NOT NULL,
    counted INTEGER NOT NULL,
    span INTEGER NOT NULL
) STRICT;

CREATE INDEX alerts_at ON alerts (at);
