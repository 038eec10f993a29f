//! What was served, shown: pages for people, and the same as JSON for programs.
//!
//! [`Site::answer`] is a function of the file of records, a path, a query and a moment. It reads, and may take as long as
//! that takes; whoever listens calls it beside its loop. Pages are whole without a script: one that is ours draws their
//! charts, with uPlot, from what stands in them. They ask for nothing from elsewhere, and are told not to.

mod answer;
mod api;
mod asked;
mod assets;
mod family;
mod page;
mod query;
mod range;
mod site;

pub use answer::Answer;
pub use site::{Records, Site};
