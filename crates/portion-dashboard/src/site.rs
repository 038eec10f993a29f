//! Routes paths to pages, API calls and static files.

use std::path::PathBuf;
use std::time::SystemTime;

use portion_telemetry::read::{ReadError, Reader};

use crate::answer::Answer;
use crate::assets::Asset;
use crate::query::{InvalidParameter, Query};
use crate::{api, page};

/// Location of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// Telemetry is off.
    Off,
    /// The telemetry file, which may not exist yet.
    At(PathBuf),
}

/// The dashboard of a telemetry file.
#[derive(Clone, Debug)]
pub struct Site {
    records: Records,
}

/// Reason why there are no records.
#[derive(Debug)]
pub(crate) enum NoRecords {
    /// Telemetry is off.
    Off,
    /// The file cannot be read.
    Unreadable(ReadError),
}

impl From<ReadError> for NoRecords {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

/// Reason why a request has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A parameter is invalid.
    Invalid(InvalidParameter),
    /// The path does not exist.
    NotFound(&'static str),
    /// There are no records.
    NoRecords(NoRecords),
}

impl From<InvalidParameter> for Failure {
    fn from(error: InvalidParameter) -> Self {
        Self::Invalid(error)
    }
}

impl From<NoRecords> for Failure {
    fn from(nothing: NoRecords) -> Self {
        Self::NoRecords(nothing)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::NoRecords(error.into())
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

impl Site {
    /// Creates the dashboard of these records.
    pub fn new(records: Records) -> Self {
        Self { records }
    }

    /// Answers a path; `query` is the part after the question mark. `lost` is the number of records known to be lost.
    /// Blocks while it reads the file.
    pub fn answer(&self, path: &str, query: Option<&str>, lost: Option<u64>, now: SystemTime) -> Answer {
        if let Some(asset) = Asset::at(path) {
            return asset;
        }
        let query = Query::read(query);
        match path.strip_prefix("/api/") {
            Some(path) => api::answer(self, path, &query, now),
            None => page::answer(self, path, &query, lost, now),
        }
    }

    /// Opens the file.
    pub(crate) fn reader(&self) -> Result<Reader, NoRecords> {
        match &self.records {
            Records::Off => Err(NoRecords::Off),
            Records::At(path) => Ok(Reader::open(path)?),
        }
    }
}
