//! Dashboard over recorded requests: HTML pages for people and JSON for programs.
//!
//! [`Site::answer`] is a function of the telemetry file, a path, a query and a time. It reads the file and may block,
//! so servers call it on a blocking thread. Pages are complete without scripts. A script draws charts with uPlot from
//! data in the page. Pages load nothing from other origins; the content security policy enforces that.
//!
//! ```
//! use std::time::SystemTime;
//!
//! use portion_dashboard::{Records, Site};
//!
//! let site = Site::new(Records::Off);
//! let page = site.answer("/", None, None, SystemTime::now());
//! assert_eq!((page.status, page.headers[0].1), (200, "text/html; charset=utf-8"));
//! ```
//!
//! # Modules
//!
//! `Site::answer` is a function of the telemetry file, a path, a query and a time. The binary serves it over HTTP.
//!
//! | module | subject |
//! | --- | --- |
//! | `answer` | HTTP responses, and reasons why a request has none; style sheet, script and uPlot, each at a path with its hash |
//! | `query`, `selection` | URL queries and the time range; the selected records, and the telemetry file, if there is one |
//! | `page` | one file per page or part of a page |
//! | `api` | JSON for programs; a test compares it with `openapi.json` |

mod answer;
mod api;
mod page;
mod query;
mod selection;

use std::time::SystemTime;

use answer::Asset;
use query::Query;

pub use answer::Answer;
pub use selection::Records;

/// The dashboard of a telemetry file.
#[derive(Clone, Debug)]
pub struct Site {
    records: Records,
    /// Price of a million input tokens, in US dollars.
    token_price: Option<f64>,
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
