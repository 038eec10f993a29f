//! Formats query results: a table for people, JSON and CSV for programs.
//!
//! ```
//! use portion_telemetry::show::{TextCell, TextTable};
//!
//! let mut table = TextTable::new(0, 2);
//! table.row([TextCell::left("endpoint"), TextCell::right("requests")]);
//! table.row([TextCell::left("list_bookings"), TextCell::right("12")]);
//! assert_eq!(table.to_string(), "endpoint       requests\nlist_bookings        12\n");
//! ```

mod advice;
mod cell;
mod columns;
mod format;
mod table;

use std::fmt::Write as _;

use serde_json::Value;

use crate::advise::Advice;
use crate::experiment::Comparison;
use crate::read::{Record, Traffic};
use crate::what_if::Forecast;
pub use cell::grouped;
use format::Rows;
pub use format::{Format, Output};
pub use table::printable;
pub use table::{TextCell, TextTable};

/// Formats records one by one, for results larger than memory.
#[derive(Debug)]
pub struct Requests(Rows<Record>);

impl Requests {
    /// Starts an output without rows.
    pub fn new(output: impl Into<Output>) -> Self {
        Self(Rows::new(columns::REQUESTS, output))
    }

    /// Starts an output of telemetry records of the data model of rental servers.
    pub fn of_model(output: impl Into<Output>) -> Self {
        Self(Rows::new(columns::MODEL, output))
    }

    /// Returns the text to write for a record now.
    pub fn row(&mut self, record: &Record) -> String {
        self.0.row(record)
    }

    /// Returns the text to write after the last record.
    pub fn end(self) -> String {
        self.0.end()
    }
}

/// Formats records, one per row.
pub fn requests(records: &[Record], format: Format) -> String {
    format::write(records, columns::REQUESTS, format)
}

/// Formats endpoint statistics, one endpoint per row.
pub fn endpoints(endpoints: &[Traffic], output: impl Into<Output>) -> String {
    format::write(endpoints, columns::ENDPOINTS, output)
}

/// Formats forecasts under other limits, one endpoint per row.
pub fn forecasts(forecasts: &[Forecast], output: impl Into<Output>) -> String {
    let output = output.into();
    let mut text = format::write(forecasts, columns::FORECASTS, output);
    if output.format == Format::Table && !forecasts.is_empty() {
        text.push_str(
            "\nEstimates from recorded sizes; \"as served\" is how often they agree with what\nwas served.\n",
        );
    }
    text
}

/// Formats page-size advice, one endpoint per row. The table is followed by reasons and configuration.
pub fn advice(advice: &[Advice], output: impl Into<Output>) -> String {
    let output = output.into();
    let text = format::write(advice, advice::ADVICE, output);
    match output.format {
        Format::Table if advice.is_empty() => advice::explanation(advice),
        Format::Table => text + &advice::explanation(advice),
        _ => text,
    }
}

/// Formats comparisons of arms, one measure per row.
pub fn comparisons(comparisons: &[Comparison], output: impl Into<Output>) -> String {
    let output = output.into();
    let rows: Vec<_> = comparisons.iter().flat_map(columns::ComparisonRow::rows).collect();
    let mut text = format::write(&rows, columns::COMPARISONS, output);
    if output.format == Format::Table && !rows.is_empty() {
        let _ = writeln!(
            text,
            "\nMeans over sessions, with 95 % confidence intervals; verdicts from {} sessions\n\
             an arm. \"Finished\" is a proxy: the last request of the session was not an\n\
             error, and no snapshot was gone.",
            crate::experiment::MIN_SESSIONS
        );
    }
    text
}

/// Returns records, one object each.
pub fn request_values(records: &[Record]) -> Value {
    format::values(records, columns::REQUESTS)
}

/// Returns endpoint statistics, one object each.
pub fn endpoint_values(endpoints: &[Traffic]) -> Value {
    format::values(endpoints, columns::ENDPOINTS)
}

/// Returns comparisons of arms, one object per measure.
pub fn comparison_values(comparisons: &[Comparison]) -> Value {
    let rows: Vec<_> = comparisons.iter().flat_map(columns::ComparisonRow::rows).collect();
    format::values(&rows, columns::COMPARISONS)
}

/// Returns forecasts under other limits, one object per endpoint.
pub fn forecast_values(forecasts: &[Forecast]) -> Value {
    format::values(forecasts, columns::FORECASTS)
}
