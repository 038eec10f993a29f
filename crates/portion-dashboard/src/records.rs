//! Opens the telemetry file.

use std::path::PathBuf;

use portion_telemetry::read::{ReadError, Reader};

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
