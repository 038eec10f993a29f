//! Figures of the demo: `--json` prints them, `show` formats them.

use std::time::{Duration, Instant};

use portion_text::display::hex;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tour::{RecordsPage, ReplyNotice, TourError, cost, split_notice};
use crate::run::stdio_client::{Client, ToolResponse};

/// All figures of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The counter behind every `tokens`.
    pub(crate) tokenizer: &'static str,
    /// A tool that answers with a long list.
    pub(crate) list: Comparison,
    /// A tool that answers with a long text.
    pub(crate) log: Comparison,
    /// A tool that answers with a long list of nested records.
    pub(crate) bookings: Comparison,
    /// A tool that answers with chunks, and the budgeted client.
    pub(crate) rules: Retrieval,
}

/// One tool, called directly and through Portion.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison {
    /// The tool's name.
    pub(crate) tool: &'static str,
    /// Cost of the call without Portion.
    pub(crate) directly: Cost,
    /// The same call with Portion between.
    pub(crate) first: Step,
    /// Follow-ups that a model may send.
    pub(crate) next: Vec<Step>,
    /// All portions together against the original.
    pub(crate) proof: Proof,
}

/// A retrieval, and the chunks that the budgeted client keeps of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Retrieval {
    /// The call as one would write it down.
    pub(crate) call: String,
    /// Cost of the whole answer.
    pub(crate) directly: Cost,
    /// Budget of the chunks, counted by `len4`.
    pub(crate) budget: usize,
    /// Chunks in the answer.
    pub(crate) chunks: usize,
    /// Chunks that were kept, whole.
    pub(crate) kept: usize,
    /// Chunks that were left out.
    pub(crate) dropped: usize,
    /// Tokens of the texts that were kept, by `len4`.
    pub(crate) tokens: usize,
    /// Id and beginning of the best chunk.
    pub(crate) best: String,
}

/// Cost of one answer.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    /// Tokens of the text that a model reads, the notice included.
    pub(crate) tokens: usize,
    /// Bytes of the message on the wire.
    pub(crate) bytes: usize,
    /// From request to answer.
    pub(crate) milliseconds: f64,
}

/// One call through Portion and what came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    /// Its purpose.
    pub(crate) title: &'static str,
    /// The call as one would write it down, cursors abridged to `cursor`.
    pub(crate) call: String,
    /// Cost of the answer.
    #[serde(flatten)]
    pub(crate) cost: Cost,
    /// The content as the model sees it.
    #[serde(skip)]
    pub(crate) text: String,
    /// Notice of Portion.
    #[serde(skip)]
    pub(crate) notice: String,
}

/// Comparison of the joined portions with the original.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    /// Name of the portions: pages or chunks.
    pub(crate) portions_are: &'static str,
    /// Number of portions.
    pub(crate) portions: usize,
    /// Name of the counted units: schools or lines.
    pub(crate) units_are: &'static str,
    /// Number of units in all portions.
    pub(crate) units: usize,
    /// The tokens of the largest portion.
    pub(crate) largest_tokens: usize,
    /// Bytes of the portions joined.
    pub(crate) bytes: usize,
    /// SHA-256 of the portions joined, in hexadecimal digits.
    pub(crate) sha256: String,
    /// True if they equal the original, byte for byte.
    pub(crate) identical: bool,
    /// Time of all calls.
    pub(crate) milliseconds: f64,
}

impl Report {
    /// Returns true if no portion lost anything.
    pub(crate) fn is_lossless(&self) -> bool {
        [&self.list, &self.log, &self.bookings].iter().all(|part| part.proof.identical)
    }
}

/// Milliseconds with their fraction.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Formats a whole number with separators: `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    portion_telemetry::show::grouped(number as u64)
}

/// Formats a duration: `0.4 ms`, `27 ms`, `1.3 s`.
pub(super) fn duration_text(milliseconds: f64) -> String {
    match milliseconds {
        short if short < 10.0 => format!("{short:.1} ms"),
        middling if middling < 1_000.0 => format!("{middling:.0} ms"),
        long => format!("{:.1} s", long / 1_000.0),
    }
}

/// Walks all pages of whole records from `cursor` and compares them, record by record, with `original`.
pub(super) fn verify_list(
    client: &mut Client,
    cursor: &str,
    units_are: &'static str,
    original: &[&RawValue],
) -> Result<Proof, TourError> {
    let original: String = original.iter().map(|record| record.get()).collect();
    let whole = |cursor: &str| json!({"cursor": cursor, "fields": "all"});
    verify_walk(client, cursor, whole, ("pages", units_are), &original, |call, answer, joined| {
        let page = answer.texts.first().map_or("", String::as_str);
        let records = RecordsPage::parse(call, page)?.records;
        joined.extend(records.iter().map(|record| record.get()));
        Ok(records.len())
    })
}

/// Walks all chunks from `cursor` and compares them with `original`.
pub(super) fn verify_log(client: &mut Client, cursor: &str, original: &str) -> Result<Proof, TourError> {
    let plain = |cursor: &str| json!({"cursor": cursor});
    verify_walk(client, cursor, plain, ("chunks", "lines"), original, |_, answer, joined| {
        let before = joined.len();
        joined.extend(split_notice(answer).0.iter().map(String::as_str));
        Ok(joined[before..].lines().count())
    })
}

/// Follows `nextCursor` to its end; `join` appends what a portion holds and says how many units that was.
fn verify_walk(
    client: &mut Client,
    cursor: &str,
    arguments: impl Fn(&str) -> Value,
    (portions_are, units_are): (&'static str, &'static str),
    original: &str,
    join: impl Fn(&str, &ToolResponse, &mut String) -> Result<usize, TourError>,
) -> Result<Proof, TourError> {
    let since = Instant::now();

    let mut joined = String::with_capacity(original.len());
    let (mut portions, mut units, mut largest_tokens) = (0, 0, 0);
    let mut cursor = Some(cursor.to_owned());
    while let Some(here) = cursor {
        let answer = client.call("portion_read", &arguments(&here))?;
        let before = joined.len();
        portions += 1;
        units += join("portion_read", &answer, &mut joined)?;
        largest_tokens = largest_tokens.max(cost(&answer).tokens);
        // A walk that stands still or runs on is broken: end it, and let the comparison say so.
        let goes_on = joined.len() > before && joined.len() <= original.len();
        cursor = ReplyNotice::parse("portion_read", &answer).next_cursor().ok().filter(|_| goes_on);
    }
    Ok(Proof {
        portions_are,
        portions,
        units_are,
        units,
        largest_tokens,
        bytes: joined.len(),
        sha256: hex(&Sha256::digest(&joined)),
        identical: joined == original,
        milliseconds: milliseconds(since.elapsed()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        for (number, expect) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expect);
        }
        for (time, expect) in [(0.42, "0.4 ms"), (27.4, "27 ms"), (1_300.0, "1.3 s")] {
            assert_eq!(duration_text(time), expect);
        }
    }
}
