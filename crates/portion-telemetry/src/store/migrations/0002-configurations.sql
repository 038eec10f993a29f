-- What was configured when, and what was refused. Moments are microseconds since 1970; values are JSON.
CREATE TABLE configurations (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    source TEXT NOT NULL
) STRICT;

CREATE TABLE changes (
    configuration INTEGER NOT NULL REFERENCES configurations (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    old TEXT,
    new TEXT
) STRICT;

CREATE TABLE misconfigurations (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    source TEXT NOT NULL,
    errors TEXT NOT NULL
) STRICT;

CREATE INDEX configurations_at ON configurations (at);
CREATE INDEX changes_configuration ON changes (configuration);
CREATE INDEX misconfigurations_at ON misconfigurations (at);
