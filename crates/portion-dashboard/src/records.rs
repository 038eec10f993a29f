//! Opens the telemetry file, and finds a request with those that read from the same payload.

use std::path::PathBuf;

use portion_telemetry::read::{Filter, ReadError, Reader, Record};

/// Message when telemetry is off.
pub(crate) const TELEMETRY_OFF: &str = "telemetry is off: nothing is recorded";

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
pub(crate) fn find(reader: &Reader, number: u128) -> Result<Option<(Record, Vec<Record>)>, ReadError> {
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
