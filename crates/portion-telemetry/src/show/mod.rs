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

mod cell;
mod columns;
mod format;
mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portion_text::display::{counted, yaml_scalar};
use serde_json::Value;

use crate::advise::{Advice, MIN_CALLS, MIN_READ_ON_SHARE, Verdict};
use crate::experiment::Comparison;
use crate::read::{Record, Traffic};
use crate::what_if::Forecast;
use cell::Cell;
use format::{Column, Rows};

pub use cell::grouped;
pub use format::{Format, Output};
pub use table::printable;
pub use table::{TextCell, TextTable};

const ADVICE: &[Column<Advice>] = &[
    Column::machine("upstream", |advice| Cell::maybe(advice.endpoint.upstream.clone(), Cell::Text)),
    Column::machine("kind", |advice| Cell::text(&advice.endpoint.kind)),
    Column::machine("endpoint", |advice| Cell::text(&advice.endpoint.name)),
    Column::human("endpoint", |advice| Cell::text(advice.endpoint.to_string())),
    Column::both("calls", "calls", |advice| Cell::Count(advice.calls)),
    Column::both("followUps", "follow-ups", |advice| Cell::Count(advice.follow_ups)),
    Column::both("readOnShare", "read on", |advice| Cell::Share(advice.read_on)),
    Column::both("itemsNeeded", "needed", |advice| Cell::Count(advice.needed)),
    Column::both("tokensPerItem", "tokens/item", |advice| Cell::Number(advice.tokens_per_item)),
    Column::both("pageSize", "page size", |advice| Cell::Count(advice.page_size)),
    Column::machine("verdict", |advice| Cell::text(advice.verdict.name())),
    Column::both("betterPageSize", "better", |advice| Cell::maybe(advice.verdict.page_size(), Cell::Count)),
    Column::machine("budgetNeeded", |advice| match advice.verdict {
        Verdict::Bounded { budget, .. } => Cell::maybe(budget, Cell::Count),
        _ => Cell::Empty,
    }),
    Column::both("savedFollowUps", "saves pages", |advice| {
        Cell::maybe(advice.verdict.page_size(), |_| Cell::Count(advice.saved_follow_ups))
    }),
    Column::both("savedTokens", "tokens", |advice| {
        Cell::maybe(advice.verdict.page_size(), |_| Cell::Number(advice.saved_tokens as f64))
    }),
];

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
    let text = format::write(advice, ADVICE, output);
    match output.format {
        Format::Table if advice.is_empty() => explanation(advice),
        Format::Table => text + &explanation(advice),
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

/// Explains the advice in words and as configuration.
fn explanation(advice: &[Advice]) -> String {
    let mut text = String::new();
    if advice.is_empty() {
        return "no list was paged in that time: no advice\n".to_owned();
    }
    for one in advice {
        if let Some(words) = words(one) {
            let _ = writeln!(text, "\n{}: {words}", printable(&one.endpoint.to_string()));
        }
    }
    text.push_str(&configuration(advice));
    text.push_str(
        "\nEstimates. \"needed\" is the number of items that covers four calls in five. A\n\
         follow-up is taken to cost 160 tokens besides its items; items that nobody reads\n\
         count against the tokens saved. Among the sizes that save tokens, \"better\" saves\n\
         the most, each avoided call counted as 500 more tokens.\n",
    );
    text
}

fn words(advice: &Advice) -> Option<String> {
    let needed = advice.needed;
    Some(match advice.verdict {
        Verdict::Fits if advice.read_on < MIN_READ_ON_SHARE => return None,
        Verdict::Fits => "no larger page would have saved tokens".to_owned(),
        Verdict::TooFew => {
            format!("{}; advice needs {MIN_CALLS}", counted(advice.calls as usize, "call"))
        }
        Verdict::Larger { page_size, bounded: false } => {
            format!("with a page size of {page_size}, most calls need one reply")
        }
        Verdict::Larger { page_size, bounded: true } => {
            format!("{page_size} is the largest page that maxPageSize allows; callers read {needed} items")
        }
        Verdict::Bounded { budget, .. } => {
            let items = format!("the token budget holds fewer than the {needed} items that callers read");
            match budget {
                Some(budget) => format!(
                    "{items}; raise tokenBudgetThreshold and replyTarget to {}, or make items \
                     smaller: summaryFields, stripFields, profile: lean",
                    grouped(budget)
                ),
                None => format!(
                    "{items}, and a budget that holds them would exceed the hardCap; make items smaller: summaryFields, \
                     stripFields, profile: lean"
                ),
            }
        }
    })
}

/// Returns the configuration keys to set, as YAML.
fn configuration(advice: &[Advice]) -> String {
    let mut upstreams: BTreeMap<Option<&str>, String> = BTreeMap::new();
    for one in advice {
        let Some(size) = one.verdict.page_size() else { continue };
        let upstream = one.endpoint.upstream.as_deref();
        let indent = if upstream.is_some() { "      " } else { "  " };
        let rules = upstreams.entry(upstream).or_default();
        let _ = writeln!(rules, "{indent}{}:\n{indent}  pageSize: {size}", yaml_scalar(&one.endpoint.name));
    }
    let mut text = String::new();
    for (at, (upstream, rules)) in upstreams.iter().enumerate() {
        let _ = match (upstream, at) {
            (None, _) => write!(text, "\nendpoints:\n{rules}"),
            (Some(name), 0 | 1) if !text.contains("\nupstreams:\n") => {
                write!(text, "\nupstreams:\n  {}:\n    endpoints:\n{rules}", yaml_scalar(name))
            }
            (Some(name), _) => write!(text, "  {}:\n    endpoints:\n{rules}", yaml_scalar(name)),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Endpoint;

    fn advice(upstream: Option<&str>, name: &str, verdict: Verdict) -> Advice {
        let endpoint =
            Endpoint { upstream: upstream.map(str::to_owned), name: name.to_owned(), ..Endpoint::default() };
        Advice {
            endpoint,
            calls: 40,
            follow_ups: 80,
            read_on: 1.0,
            needed: 150,
            tokens_per_item: 20.0,
            page_size: 50,
            verdict,
            saved_follow_ups: 80,
            saved_tokens: 12_800,
        }
    }

    #[test]
    fn keys_stand_where_the_configuration_has_them() {
        let larger = Verdict::Larger { page_size: 150, bounded: false };
        let found = configuration(&[
            advice(Some("hotel"), "list_rooms", larger),
            advice(None, "file:///a \"b\"\n", larger),
            advice(None, "list_bookings", larger),
            advice(Some("docs"), "search", Verdict::Bounded { page_size: Some(90), budget: None }),
            advice(None, "list_guests", Verdict::Fits),
        ]);
        let expect = r#"
endpoints:
  "file:///a \"b\"\n":
    pageSize: 150
  list_bookings:
    pageSize: 150

upstreams:
  docs:
    endpoints:
      search:
        pageSize: 90
  hotel:
    endpoints:
      list_rooms:
        pageSize: 150
"#;
        assert_eq!(found, expect);
        assert_eq!(configuration(&[]), "");
    }

    #[test]
    fn what_bounds_is_named() {
        let check = |verdict, expect: &str| {
            let text = explanation(&[advice(None, "list_bookings", verdict)]);
            assert!(text.contains(expect), "{text}");
        };
        check(Verdict::TooFew, "list_bookings: 40 calls; advice needs 20");
        check(Verdict::Larger { page_size: 200, bounded: true }, "that maxPageSize allows");
        check(Verdict::Bounded { page_size: None, budget: Some(7_200) }, "replyTarget to 7,200");
        check(Verdict::Bounded { page_size: None, budget: None }, "would exceed the hardCap");
        check(Verdict::Fits, "list_bookings: no larger page would have saved tokens");
        assert!(explanation(&[]).contains("no advice"));
    }
}
