//! Selects records.

use std::ops::Range;

use portion_core::event::{ExperimentArm, Outcome};
use rusqlite::types::Value;

use super::Endpoint;

/// Conditions on records. The default selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Inclusive start, in microseconds since 1970.
    pub since: Option<u64>,
    /// Exclusive end, in microseconds since 1970.
    pub until: Option<u64>,
    /// Glob on the endpoint's name or `upstream/name`: `*` matches any text, `?` one character, `[a-c]` one of a
    /// range.
    pub endpoint: Option<String>,
    /// Exactly this endpoint, not others of the same name.
    pub of: Option<Endpoint>,
    /// Name of the server.
    pub server: Option<String>,
    /// Name that the client gave itself.
    pub client: Option<String>,
    /// Outcome of the request.
    pub outcome: Option<Outcome>,
    /// Code of the error of the reply.
    pub error: Option<String>,
    /// Arm of an experiment.
    pub arm: Option<ExperimentArm>,
    /// Session hash.
    pub session: Option<u64>,
    /// Request number.
    pub request: Option<u128>,
    /// Payload that the request reads from.
    pub origin: Option<u64>,
    /// Maximum number of results.
    pub limit: Option<usize>,
}

impl Filter {
    /// Returns the `WHERE` clause, with `condition` added if it is not empty, and its bound values.
    pub(super) fn clause(&self, condition: &str) -> (String, Vec<Value>) {
        let mut terms: Vec<&str> = Vec::new();
        let mut values = Vec::new();
        let mut add = |term, value| {
            terms.push(term);
            values.push(value);
        };
        let timestamp = |at| Value::Integer(i64::try_from(at).unwrap_or(i64::MAX));
        if let Some(since) = self.since {
            add("at >= ?", timestamp(since));
        }
        if let Some(until) = self.until {
            add("at < ?", timestamp(until));
        }
        if let Some(outcome) = self.outcome {
            add("outcome = ?", Value::Text(outcome.name().to_owned()));
        }
        if let Some(server) = &self.server {
            add("endpoint IN (SELECT id FROM endpoints WHERE upstream = ?)", Value::Text(server.clone()));
        }
        if let Some(client) = &self.client {
            add("client = ?", Value::Text(client.clone()));
        }
        if let Some(error) = &self.error {
            add("error = ?", Value::Text(error.clone()));
        }
        if let Some(arm) = self.arm {
            add("arm = ?", Value::Text(arm.name().to_owned()));
        }
        if let Some(session) = self.session {
            add("session = ?", Value::Integer(session as i64));
        }
        if let Some(origin) = self.origin {
            add("origin = ?", Value::Integer(origin as i64));
        }
        if let Some(request) = self.request {
            add("request = ?", Value::Blob(request.to_be_bytes().to_vec()));
        }
        if let Some(glob) = &self.endpoint {
            terms.push(
                "endpoint IN (SELECT id FROM endpoints WHERE name GLOB ? OR upstream || '/' || name GLOB ?)",
            );
            values.extend([glob, glob].map(|text| Value::Text(text.clone())));
        }
        if let Some(Endpoint { upstream, kind, name }) = &self.of {
            terms.push("endpoint = (SELECT id FROM endpoints WHERE upstream = ? AND kind = ? AND name = ?)");
            let upstream = upstream.as_deref().unwrap_or_default();
            values.extend([upstream, kind, name].map(|text| Value::Text(text.to_owned())));
        }
        if !condition.is_empty() {
            terms.push(condition);
        }
        let clause = if terms.is_empty() { String::new() } else { format!("WHERE {}", terms.join(" AND ")) };
        (clause, values)
    }

    /// Returns true if only times and endpoints are restricted.
    pub(super) fn selects_by_time_and_endpoint_only(&self) -> bool {
        let Self {
            since: _,
            until: _,
            endpoint: _,
            of: _,
            server: _,
            client,
            outcome,
            error,
            arm,
            session,
            request,
            origin,
            limit: _,
        } = self;
        outcome.is_none()
            && client.is_none()
            && error.is_none()
            && arm.is_none()
            && session.is_none()
            && request.is_none()
            && origin.is_none()
    }

    /// Returns true if all endpoints are selected.
    pub(super) fn selects_all_endpoints(&self) -> bool {
        self.endpoint.is_none() && self.of.is_none() && self.server.is_none()
    }

    /// Returns the time range in the integer type of the file.
    pub(super) fn times(&self) -> Range<i64> {
        let timestamp = |at| i64::try_from(at).unwrap_or(i64::MAX);
        self.since.map_or(0, timestamp)..self.until.map_or(i64::MAX, timestamp)
    }

    /// Returns the value for `LIMIT`; −1 means no limit.
    pub(super) fn sql_limit(&self) -> i64 {
        self.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX))
    }
}

/// Returns a glob for [`Filter::endpoint`] that matches only `name`.
fn escape_glob(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '*' | '?' | '[' => pattern.extend(['[', character, ']']),
            plain => pattern.push(plain),
        }
    }
    pattern
}

/// Returns a glob for [`Filter::endpoint`] in which only `*` is a wildcard.
pub fn star_glob(name: &str) -> String {
    escape_glob(name).replace("[*]", "*")
}

#[cfg(test)]
mod tests {
    use super::{escape_glob, star_glob};

    #[test]
    fn names_mean_themselves() {
        assert_eq!(escape_glob("list_*[a]?"), "list_[*][[]a][?]");
        assert_eq!(star_glob("list_*[a]?"), "list_*[[]a][?]");
        assert_eq!(star_glob("a[*]b"), "a[[]*]b");
    }
}
