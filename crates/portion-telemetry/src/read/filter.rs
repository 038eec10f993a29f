//! Which records are meant.

use std::ops::Range;

use portion_core::event::{Arm, Outcome};
use rusqlite::types::Value;

use super::Endpoint;

/// Which records are meant; the default means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// From that moment on, in microseconds since 1970.
    pub since: Option<u64>,
    /// Before that moment, in microseconds since 1970.
    pub until: Option<u64>,
    /// Whose name, or `upstream/name`, is like that: `*` is anything, `?` a character, `[a-c]` one of those.
    pub endpoint: Option<String>,
    /// That endpoint, and none of its namesakes.
    pub of: Option<Endpoint>,
    /// What became of them.
    pub outcome: Option<Outcome>,
    /// The arm of an experiment.
    pub arm: Option<Arm>,
    /// Whose they were.
    pub session: Option<u64>,
    /// The one of that number.
    pub request: Option<u128>,
    /// What goes back to one payload.
    pub origin: Option<u64>,
    /// How many at most.
    pub limit: Option<usize>,
}

impl Filter {
    /// The `WHERE` of records that pass, with another condition where one is given, and the values in it.
    pub(super) fn clause(&self, besides: &str) -> (String, Vec<Value>) {
        let mut terms: Vec<&str> = Vec::new();
        let mut values = Vec::new();
        let mut add = |term, value| {
            terms.push(term);
            values.push(value);
        };
        let moment = |at| Value::Integer(i64::try_from(at).unwrap_or(i64::MAX));
        if let Some(since) = self.since {
            add("at >= ?", moment(since));
        }
        if let Some(until) = self.until {
            add("at < ?", moment(until));
        }
        if let Some(outcome) = self.outcome {
            add("outcome = ?", Value::Text(outcome.name().to_owned()));
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
        if !besides.is_empty() {
            terms.push(besides);
        }
        let clause = if terms.is_empty() { String::new() } else { format!("WHERE {}", terms.join(" AND ")) };
        (clause, values)
    }

    /// Whether times and endpoints are all that it says.
    pub(super) fn is_of_time_and_endpoint(&self) -> bool {
        let Self { since: _, until: _, endpoint: _, of: _, outcome, arm, session, request, origin, limit: _ } =
            self;
        outcome.is_none() && arm.is_none() && session.is_none() && request.is_none() && origin.is_none()
    }

    /// Whether it means all endpoints.
    pub(super) fn is_of_all(&self) -> bool {
        self.endpoint.is_none() && self.of.is_none()
    }

    /// The moments that it says, as the file has them.
    pub(super) fn times(&self) -> Range<i64> {
        let moment = |at| i64::try_from(at).unwrap_or(i64::MAX);
        self.since.map_or(0, moment)..self.until.map_or(i64::MAX, moment)
    }

    /// What `LIMIT` says: −1 is none.
    pub(super) fn sql_limit(&self) -> i64 {
        self.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX))
    }
}

/// What of [`Filter::endpoint`] only that name is like: the characters that mean others stand for themselves.
fn exactly(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '*' | '?' | '[' => pattern.extend(['[', character, ']']),
            plain => pattern.push(plain),
        }
    }
    pattern
}

/// What of [`Filter::endpoint`] a name is like in which only `*` means others.
pub fn like(name: &str) -> String {
    exactly(name).replace("[*]", "*")
}

#[cfg(test)]
mod tests {
    use super::{exactly, like};

    #[test]
    fn names_mean_themselves() {
        assert_eq!(exactly("list_*[a]?"), "list_[*][[]a][?]");
        assert_eq!(like("list_*[a]?"), "list_*[[]a][?]");
        assert_eq!(like("a[*]b"), "a[[]*]b");
    }
}
