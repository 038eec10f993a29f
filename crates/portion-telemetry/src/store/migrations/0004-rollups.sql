-- What requests add up to, by the minute and by the hour, of each endpoint and of all of them (endpoint 0). A grain is
-- 0: a minute of an endpoint, 1: an hour of one, 2: a minute of all, 3: an hour of all. Moments are where they begin.
CREATE TABLE rollups (
    grain INTEGER NOT NULL,
    at INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    follow_ups INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    outcomes TEXT NOT NULL,
    sized INTEGER NOT NULL,
    oversized INTEGER NOT NULL,
    original_tokens INTEGER NOT NULL,
    served_tokens INTEGER NOT NULL,
    sampled INTEGER NOT NULL,
    near INTEGER NOT NULL,
    far INTEGER NOT NULL,
    deviation REAL NOT NULL,
    latency BLOB NOT NULL,
    overhead BLOB NOT NULL,
    PRIMARY KEY (grain, at, endpoint)
) STRICT, WITHOUT ROWID;

-- Which names are still needed.
CREATE INDEX rollups_endpoint ON rollups (endpoint) WHERE grain = 1;

-- The one row says how far that is done: up to which request, and since when minutes of single endpoints are kept.
CREATE TABLE rolled (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    request INTEGER NOT NULL,
    minutes INTEGER NOT NULL
) STRICT;

INSERT INTO rolled VALUES (1, 0, 0);

CREATE INDEX requests_session ON requests (session, at);
