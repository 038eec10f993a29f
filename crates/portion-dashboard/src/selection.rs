//! Selection of records, read from the query of a URL.

use std::path::PathBuf;
use std::time::SystemTime;

use portion_core::event::{Outcome, ServedError};
use portion_telemetry::read::{Endpoint, Filter, Notable, ReadError, Reader, Record};

use crate::query::{InvalidParameter, Query, Range, link};

/// Default and maximum number of requests in a list.
const DEFAULT_AND_MAX_LIMIT: (usize, usize) = (100, 1_000);

/// Message when telemetry is off.
pub(crate) const TELEMETRY_OFF: &str = "telemetry is off: nothing is recorded";

/// Records that a page or API call is about.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) range: Range,
    /// Name of an endpoint; `*` is a wildcard.
    pub(crate) endpoint: Option<String>,
    /// Exactly this endpoint, not others of the same name.
    pub(crate) of: Option<Endpoint>,
    /// Name of the server.
    pub(crate) server: Option<String>,
    /// Name that the client gave itself.
    pub(crate) client: Option<String>,
    pub(crate) outcome: Option<Outcome>,
    /// Code of the error of the reply.
    pub(crate) error: Option<String>,
    /// Only requests that are notable in this way.
    pub(crate) notable: Option<Notable>,
    pub(crate) limit: usize,
}

/// Requests, the newest first.
pub(crate) struct Page {
    pub(crate) records: Vec<Record>,
    /// Exclusive end, in microseconds since 1970, of the range with the older requests. `None` if there are none.
    pub(crate) older_than: Option<u64>,
}

impl Selection {
    pub(crate) fn read(query: &Query, now: SystemTime) -> Result<Self, InvalidParameter> {
        let outcome = query.get("outcome").map(|name| {
            let names = || Outcome::ALL.map(Outcome::name).join(", ");
            Outcome::from_name(name)
                .ok_or_else(|| InvalidParameter::new("outcome", format!("expected one of {}", names())))
        });
        let notable = query.get("only").map(|name| {
            let names = Notable::ALL.map(Notable::name).join(" or ");
            Notable::named(name).ok_or_else(|| InvalidParameter::new("only", format!("expected {names}")))
        });
        let error = query.get("error").map(|name| {
            let expected = "expected the code of an error, such as path_unknown, or upstream";
            let error = ServedError::from_name(name).map(|error| error.name().to_owned());
            error.ok_or_else(|| InvalidParameter::new("error", expected.to_owned()))
        });
        let text = |name| query.get(name).map(str::to_owned);
        let of = query.get("kind").map(|kind| Endpoint {
            upstream: text("upstream"),
            kind: kind.to_owned(),
            name: text("endpoint").unwrap_or_default(),
        });
        let (default, max) = DEFAULT_AND_MAX_LIMIT;
        let limit = query.get("limit").map(|text| {
            let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit));
            limit.ok_or_else(|| InvalidParameter::new("limit", format!("expected a number from 1 to {max}")))
        });
        Ok(Self {
            range: Range::read(query, now)?,
            endpoint: text("endpoint").filter(|_| of.is_none()),
            of,
            server: text("server"),
            client: text("client"),
            outcome: outcome.transpose()?,
            error: error.transpose()?,
            notable: notable.transpose()?,
            limit: limit.transpose()?.unwrap_or(default),
        })
    }

    /// Returns the selection as a filter, without its limit.
    pub(crate) fn filter(&self) -> Filter {
        let Self { endpoint, of, server, client, outcome, error, .. } = self.clone();
        Filter { endpoint, of, server, client, outcome, error, ..self.range.filter() }
    }

    /// Returns what selects servers and clients, for pages that show all of their requests.
    pub(crate) fn participants(&self) -> Self {
        Self { endpoint: None, of: None, outcome: None, error: None, notable: None, ..self.clone() }
    }

    /// Returns the URL parameters of the selection, without its time range.
    pub(crate) fn which(&self) -> [(&'static str, Option<&str>); 8] {
        let of = self.of.as_ref();
        [
            ("upstream", of.and_then(|of| of.upstream.as_deref())),
            ("kind", of.map(|of| of.kind.as_str())),
            ("endpoint", of.map(|of| of.name.as_str()).or(self.endpoint.as_deref())),
            ("outcome", self.outcome.map(Outcome::name)),
            ("only", self.notable.map(Notable::name)),
            ("error", self.error.as_deref()),
            ("server", self.server.as_deref()),
            ("client", self.client.as_deref()),
        ]
    }

    /// Returns a link to `path` with all parameters of the selection and its time range.
    pub(crate) fn link(&self, path: &str) -> String {
        link(path, &[self.range.parameters().as_slice(), &self.which()].concat())
    }

    /// Reads the selected requests.
    pub(crate) fn list(&self, reader: &Reader) -> Result<Page, ReadError> {
        // One extra record tells whether there are more.
        let filter = Filter { limit: Some(self.limit + 1), ..self.filter() };
        let mut records = match self.notable {
            Some(notable) => reader.notable(&filter, notable)?,
            None => reader.requests(&filter)?,
        };
        let Some(edge) = records.get(self.limit).map(|record| record.at) else {
            return Ok(Page { records, older_than: None });
        };
        // Requests of the same microsecond stay on one page.
        let whole = records.iter().take_while(|record| record.at > edge).count();
        records.truncate(if whole > 0 { whole } else { self.limit });
        Ok(Page { records, older_than: Some(if whole > 0 { edge + 1 } else { edge }) })
    }
}

/// Location of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// Telemetry is off.
    Off,
    /// The telemetry file, which may not exist yet.
    At(PathBuf),
}

/// Reason why there are no records.
#[derive(Debug)]
pub(crate) enum NoRecords {
    /// Telemetry is off.
    Off,
    /// The file cannot be read.
    Unreadable(ReadError),
}

impl Records {
    /// Opens the file.
    pub(crate) fn reader(&self) -> Result<Reader, NoRecords> {
        match self {
            Self::Off => Err(NoRecords::Off),
            Self::At(path) => Ok(Reader::open(path)?),
        }
    }
}

impl NoRecords {
    /// Returns the status of a page without records: 200 if none are recorded yet, else 503.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Off | Self::Unreadable(ReadError::Missing(_)) => 200,
            Self::Unreadable(_) => 503,
        }
    }
}

impl From<ReadError> for NoRecords {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

/// Maximum number of related requests, the newest first.
pub(crate) const MAX_RELATED: usize = 1_000;

/// Returns the request of that number, if it is recorded, and all requests on the same payload, the newest first. The
/// list includes the request itself.
pub(crate) fn find_request(
    reader: &Reader,
    number: u128,
) -> Result<Option<(Record, Vec<Record>)>, ReadError> {
    let found = reader.requests(&Filter { request: Some(number), ..Filter::default() })?;
    let Some(record) = found.into_iter().next() else { return Ok(None) };
    let related = match record.origin {
        Some(_) => reader.requests(&Filter {
            origin: record.origin,
            limit: Some(MAX_RELATED),
            ..Filter::default()
        })?,
        None => Vec::new(),
    };
    Ok(Some((record, related)))
}
