//! What a page or a program asks for, checked.

use std::time::SystemTime;

use portion_core::event::Outcome;
use portion_telemetry::read::{Endpoint, Filter, Notable, ReadError, Reader, Record};

use crate::query::{Query, Wrong, link};
use crate::range::Range;

/// Requests of a list, where nobody says how many, and at most.
const LIMIT: (usize, usize) = (100, 1_000);

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) range: Range,
    /// A name, `*` is anything.
    pub(crate) endpoint: Option<String>,
    /// One endpoint, and none of its namesakes.
    pub(crate) of: Option<Endpoint>,
    pub(crate) outcome: Option<Outcome>,
    /// What of it stands out so.
    pub(crate) noted: Option<Notable>,
    pub(crate) limit: usize,
}

/// Requests, the newest first.
pub(crate) struct Listed {
    pub(crate) records: Vec<Record>,
    /// Those after them are before that moment, in microseconds since 1970; `None`: there are none.
    pub(crate) rest: Option<u64>,
}

impl Asked {
    pub(crate) fn read(query: &Query, now: SystemTime) -> Result<Self, Wrong> {
        let outcome = query.get("outcome").map(|name| {
            let names = || Outcome::ALL.map(Outcome::name).join(", ");
            Outcome::named(name).ok_or_else(|| Wrong::new("outcome", format!("it is one of {}", names())))
        });
        let noted = query.get("only").map(|name| {
            let names = Notable::ALL.map(Notable::name).join(" or ");
            Notable::named(name).ok_or_else(|| Wrong::new("only", format!("it is {names}")))
        });
        let text = |name| query.get(name).map(str::to_owned);
        let of = query.get("kind").map(|kind| Endpoint {
            upstream: text("upstream"),
            kind: kind.to_owned(),
            name: text("endpoint").unwrap_or_default(),
        });
        let (usual, most) = LIMIT;
        let limit = query.get("limit").map(|text| {
            let limit = text.parse().ok().filter(|limit| (1..=most).contains(limit));
            limit.ok_or_else(|| Wrong::new("limit", format!("it is a number from 1 to {most}")))
        });
        Ok(Self {
            range: Range::read(query, now)?,
            endpoint: text("endpoint").filter(|_| of.is_none()),
            of,
            outcome: outcome.transpose()?,
            noted: noted.transpose()?,
            limit: limit.transpose()?.unwrap_or(usual),
        })
    }

    /// All that is asked for, but how many.
    pub(crate) fn filter(&self) -> Filter {
        let (endpoint, of, outcome) = (self.endpoint.clone(), self.of.clone(), self.outcome);
        Filter { endpoint, of, outcome, ..self.range.filter() }
    }

    /// The parameters that say again which requests are meant of the time.
    pub(crate) fn which(&self) -> [(&'static str, Option<&str>); 5] {
        let of = self.of.as_ref();
        [
            ("upstream", of.and_then(|of| of.upstream.as_deref())),
            ("kind", of.map(|of| of.kind.as_str())),
            ("endpoint", of.map(|of| of.name.as_str()).or(self.endpoint.as_deref())),
            ("outcome", self.outcome.map(Outcome::name)),
            ("only", self.noted.map(Notable::name)),
        ]
    }

    /// A path with all of them, and those of the time.
    pub(crate) fn link(&self, path: &str) -> String {
        link(path, &[self.range.parameters().as_slice(), &self.which()].concat())
    }

    /// The requests that are asked for.
    pub(crate) fn list(&self, reader: &Reader) -> Result<Listed, ReadError> {
        // One more tells whether there are more.
        let filter = Filter { limit: Some(self.limit + 1), ..self.filter() };
        let mut records = match self.noted {
            Some(noted) => reader.notable(&filter, noted)?,
            None => reader.requests(&filter)?,
        };
        let Some(edge) = records.get(self.limit).map(|record| record.at) else {
            return Ok(Listed { records, rest: None });
        };
        // What came in the same microsecond stays together.
        let whole = records.iter().take_while(|record| record.at > edge).count();
        records.truncate(if whole > 0 { whole } else { self.limit });
        Ok(Listed { records, rest: Some(if whole > 0 { edge + 1 } else { edge }) })
    }
}
