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
        let timestamp = |at| Value::Integer(i64::try_from(at).unwrap_or(i64::MAX));
        let text = |text: &str| Value::Text(text.to_owned());
        let hash = |hash: u64| Value::Integer(hash as i64);
        let given = [
            ("at >= ?", self.since.map(timestamp)),
            ("at < ?", self.until.map(timestamp)),
            ("outcome = ?", self.outcome.map(|outcome| text(outcome.name()))),
            ("endpoint IN (SELECT id FROM endpoints WHERE upstream = ?)", self.server.as_deref().map(text)),
            ("client = ?", self.client.as_deref().map(text)),
            ("error = ?", self.error.as_deref().map(text)),
            ("arm = ?", self.arm.map(|arm| text(arm.name()))),
            ("session = ?", self.session.map(hash)),
            ("origin = ?", self.origin.map(hash)),
            ("request = ?", self.request.map(|request| Value::Blob(request.to_be_bytes().to_vec()))),
        ];
        let given = given.into_iter().filter_map(|(term, value)| Some((term, value?)));
        let (mut terms, mut values): (Vec<&str>, Vec<Value>) = given.unzip();
        if let Some(glob) = &self.endpoint {
            terms.push(
                "endpoint IN (SELECT id FROM endpoints WHERE name GLOB ? OR upstream || '/' || name GLOB ?)",
            );
            values.extend([glob, glob].map(|glob| text(glob)));
        }
        if let Some(Endpoint { upstream, kind, name }) = &self.of {
            terms.push("endpoint = (SELECT id FROM endpoints WHERE upstream = ? AND kind = ? AND name = ?)");
            let upstream = upstream.as_deref().unwrap_or_default();
            values.extend([upstream, kind, name].map(text));
        }
        if !condition.is_empty() {
            terms.push(condition);
        }
        let clause = if terms.is_empty() { String::new() } else { format!("WHERE {}", terms.join(" AND ")) };
        (clause, values)
    }

    /// Returns true if only times and endpoints are restricted.
    pub(super) fn selects_by_time_and_endpoint_only(&self) -> bool {
        let Self { since, until, endpoint, of, server, limit, .. } = self.clone();
        *self == Self { since, until, endpoint, of, server, limit, ..Self::default() }
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
