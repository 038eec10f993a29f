-- One row a request that had content to answer with. Times are microseconds, moments since 1970.
CREATE TABLE endpoints (
    id INTEGER PRIMARY KEY,
    upstream TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (upstream, kind, name)
) STRICT;

CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    request BLOB NOT NULL,
    at INTEGER NOT NULL,
    endpoint INTEGER NOT NULL REFERENCES endpoints (id),
    outcome TEXT NOT NULL,
    error TEXT,
    follow_up INTEGER NOT NULL,
    arguments TEXT NOT NULL,
    estimated_tokens INTEGER,
    actual_tokens INTEGER,
    original_tokens INTEGER,
    budget INTEGER,
    response_bytes INTEGER NOT NULL,
    original_bytes INTEGER NOT NULL,
    form TEXT,
    items INTEGER,
    total_items INTEGER,
    latency INTEGER NOT NULL,
    overhead INTEGER NOT NULL,
    stages TEXT NOT NULL,
    arm TEXT,
    shadow_outcome TEXT,
    shadow_tokens INTEGER,
    shadow_bytes INTEGER,
    shadow_overhead INTEGER,
    session INTEGER NOT NULL,
    config INTEGER NOT NULL,
    tokens_per_item REAL AS (estimated_tokens * 1.0 / nullif(items, 0))
) STRICT;

CREATE INDEX requests_at ON requests (at);
CREATE INDEX requests_endpoint ON requests (endpoint, at);
CREATE INDEX requests_outcome ON requests (outcome, at);
CREATE INDEX requests_compared ON requests (at) WHERE arm IS NOT NULL OR shadow_outcome IS NOT NULL;
