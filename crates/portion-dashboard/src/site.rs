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
    pub(crate) records: Records,
    /// Price of a million input tokens, in US dollars.
    pub(crate) token_price: Option<f64>,
}

impl Site {
    /// Creates the dashboard of these records.
    pub fn new(records: Records) -> Self {
        Self { records, token_price: None }
    }

    /// Sets the price of a million input tokens, in US dollars. The pages show what the tokens cost.
    #[must_use]
    pub fn with_token_price(self, token_price: Option<f64>) -> Self {
        Self { token_price, ..self }
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
            None => page::answer((&self.records, self.token_price, lost), path, &query, now),
        }
    }
}
