//! Routes paths to pages, API calls and static files.

use std::time::SystemTime;

use crate::answer::Answer;
use crate::assets::Asset;
use crate::query::Query;
use crate::records::Records;
use crate::{api, page};

/// The dashboard of a telemetry file.
#[derive(Clone, Debug)]
pub struct Site {
    records: Records,
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
            Some(path) => api::answer(&self.records, path, &query, now),
            None => page::answer(&self.records, path, &query, lost, now),
        }
    }
}
