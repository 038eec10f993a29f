//! What was read, written down: a table for people, JSON and CSV for programs.

mod advice;
mod cell;
mod columns;
mod format;
mod table;
pub mod values;

use std::fmt::Write as _;

use crate::advise::Advice;
use crate::against::Forecast;
use crate::experiment::Comparison;
use crate::read::{Record, Traffic};

use format::Rows;

pub use cell::grouped;
pub use format::Format;
pub use table::shown;

/// Records, one a row, written down one by one: they may be more than memory holds.
#[derive(Debug)]
pub struct Requests(Rows<Record>);

impl Requests {
    /// None so far.
    pub fn new(format: Format) -> Self {
        Self(Rows::new(columns::REQUESTS, format))
    }

    /// What is to be written of a record now.
    pub fn row(&mut self, record: &Record) -> String {
        self.0.row(record)
    }

    /// What is to be written after all of them.
    pub fn end(self) -> String {
        self.0.end()
    }
}

/// Records, one a row.
pub fn requests(records: &[Record], format: Format) -> String {
    format::write(records, columns::REQUESTS, format)
}

/// Figures of endpoints, one a row.
pub fn endpoints(endpoints: &[Traffic], format: Format) -> String {
    format::write(endpoints, columns::ENDPOINTS, format)
}

/// What other limits would serve, one endpoint a row.
pub fn forecasts(forecasts: &[Forecast], format: Format) -> String {
    let mut text = format::write(forecasts, columns::FORECASTS, format);
    if format == Format::Table && !forecasts.is_empty() {
        text.push_str(
            "\nEstimates from recorded sizes; \"as served\" is how often they agree with what was served.\n",
        );
    }
    text
}

/// What page sizes are advised, one endpoint a row; for people with the reasons, and with what is to be configured.
pub fn advice(advice: &[Advice], format: Format) -> String {
    let text = format::write(advice, advice::ADVICE, format);
    match format {
        Format::Table if advice.is_empty() => advice::told(advice),
        Format::Table => text + &advice::told(advice),
        _ => text,
    }
}

/// Comparisons of arms, one measure a row.
pub fn comparisons(comparisons: &[Comparison], format: Format) -> String {
    let rows: Vec<_> = comparisons.iter().flat_map(columns::Compared::rows).collect();
    let mut text = format::write(&rows, columns::COMPARISONS, format);
    if format == Format::Table && !rows.is_empty() {
        let _ = writeln!(
            text,
            "\nMeans over sessions, with 95 % confidence intervals; verdicts from {} sessions an arm. \"Finished\" is a\n\
             proxy: sessions whose last request was no error, and that found no snapshot gone.",
            crate::experiment::LEAST_SESSIONS
        );
    }
    text
}
