//! The proof that nothing is lost: every portion fetched, all of them joined, compared with the original.
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use portion_text::display::hex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::report::{Proof, milliseconds};
use super::tour::{RecordsPage, ReplyNotice, TourError, cost, split_notice};
use crate::run::stdio_client::{Client, ToolResponse};

/// Time after which a walk shows its progress.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

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
    let bar = ProgressBar::with_draw_target(Some(original.len() as u64), ProgressDrawTarget::hidden());
    bar.set_message(format!("joining all {portions_are}"));
    bar.set_style(
        ProgressStyle::with_template("  {msg} {wide_bar} {percent} %")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );

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
        if since.elapsed() > PROGRESS_DELAY && bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(joined.len() as u64);
    }
    bar.finish_and_clear();
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
