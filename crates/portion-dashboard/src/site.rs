//! From a path to what is sent.

use std::path::PathBuf;
use std::time::SystemTime;

use portion_telemetry::read::{ReadError, Reader};

use crate::answer::Answer;
use crate::assets::Asset;
use crate::query::{Query, Wrong};
use crate::{api, page};

/// Where records are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// Nowhere: telemetry is off.
    Off,
    /// In that file, which need not be there yet.
    At(PathBuf),
}

/// What is shown of a file of records.
#[derive(Clone, Debug)]
pub struct Site {
    records: Records,
}

/// Why there are no records to show.
#[derive(Debug)]
pub(crate) enum Nothing {
    /// Nobody writes any.
    Off,
    /// They cannot be read.
    Unread(ReadError),
}

impl From<ReadError> for Nothing {
    fn from(error: ReadError) -> Self {
        Self::Unread(error)
    }
}

/// Why a question has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be understood.
    Wrong(Wrong),
    /// There is nothing of that name.
    Unknown(&'static str),
    /// There are no records.
    Nothing(Nothing),
}

impl From<Wrong> for Failure {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<Nothing> for Failure {
    fn from(nothing: Nothing) -> Self {
        Self::Nothing(nothing)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Nothing(error.into())
    }
}

impl Nothing {
    /// The status of an answer without them: none so far is not a failure.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Off | Self::Unread(ReadError::Missing(_)) => 200,
            Self::Unread(_) => 503,
        }
    }
}

impl Site {
    /// What is shown of these.
    pub fn new(records: Records) -> Self {
        Self { records }
    }

    /// What is sent to whoever asks for a path, `query` being what stands after its question mark. `lost` is how many
    /// records are known not to have been written.
    pub fn answer(&self, path: &str, query: Option<&str>, lost: Option<u64>, now: SystemTime) -> Answer {
        if let Some(asset) = Asset::at(path) {
            return asset;
        }
        let query = Query::read(query);
        match path.strip_prefix("/api/") {
            Some(question) => api::answer(self, question, &query, now),
            None => page::answer(self, path, &query, lost, now),
        }
    }

    /// Opens the file.
    pub(crate) fn reader(&self) -> Result<Reader, Nothing> {
        match &self.records {
            Records::Off => Err(Nothing::Off),
            Records::At(path) => Ok(Reader::open(path)?),
        }
    }
}
