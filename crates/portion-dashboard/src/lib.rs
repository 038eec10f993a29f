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
//! | `site` | routing |
//! | `assets` | style sheet, script and uPlot, each at a path with its hash |
//! | `answer` | HTTP responses, and reasons why a request has none |
//! | `records` | opens the telemetry file, if there is one |
//! | `query`, `selection` | URL queries and the time range; the selected records |
//! | `page` | one file per page or part of a page |
//! | `api` | JSON for programs; a test compares it with `openapi.json` |

mod answer;
mod api;
mod assets;
mod page;
mod query;
mod records;
mod selection;
mod site;

pub use answer::Answer;
pub use records::Records;
pub use site::Site;
