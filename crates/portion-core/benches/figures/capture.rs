//! From a line to its first page: Portion, and `serde_json::Value` doing the same.

use portion_core::snapshot::{Snapshot, capture};
use portion_json::scan::{JsonReader, ScanError, unescape_into};
use serde_json::Value;

use crate::HEAP;
use crate::follow::first_page;
use crate::measure::{median, median_of, once, told};
use crate::samples::{line_of_schools, payload};
use crate::table::Table;

const ROUNDS: usize = 15;

pub(crate) fn figures(table: &mut Table) {
    let message = line_of_schools(12 << 20);
    heap(table, &message);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(once(|| by_value(&message)));
        times[1].push(once(|| {
            let snapshot = captured(&message);
            let page = first_page(&snapshot);
            (snapshot, page)
        }));
    }
    let [theirs, ours] = times.map(median);
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    table.add("12 MB line to first page: serde_json::Value", "", told(theirs));
    table.add("12 MB line to first page: Portion", "", told(ours));
    table.add("  how many times faster", "≥ 2.5 ×", format!("{ratio:.1} ×"));
    stages(table, &message);
}

/// Measures the heap beyond the message. The peak is that of the process, so this comes first.
fn heap(table: &mut Table, message: &str) {
    // A counter keeps the words that it has seen, which is none of the snapshot's.
    drop(first_page(&captured(&line_of_schools(1 << 20))));
    let (before, peak_before) = (HEAP.allocated(), HEAP.max_allocated());
    let snapshot = captured(message);
    let page = first_page(&snapshot);
    let peak = HEAP.max_allocated();
    drop(page);
    let resident = HEAP.allocated();
    let times = |heap: usize| {
        format!("{:.2} ×", heap.saturating_sub(before) as f64 / snapshot.payload_bytes() as f64)
    };
    let hidden = if peak > peak_before { "" } else { "≤ " };
    table.add("12 MB line: peak heap beyond it / payload", "≤ 1.5 ×", format!("{hidden}{}", times(peak)));
    table.add("  resident snapshot / payload", "≤ 1.1 ×", times(resident));
    table.add("  what the snapshot says it holds / payload", "", times(before + snapshot.heap_bytes()));
}

/// Measures the time of each step.
fn stages(table: &mut Table, message: &str) {
    let found = text_of(message).unwrap_or_default();
    let text = portion_json::scan::unescape(found);
    let snapshot = capture(payload(text.clone()));
    let scan = median_of(ROUNDS, || text_of(message).map(str::len));
    let decode = median_of(ROUNDS, || portion_json::scan::unescape(found));
    let skip = median_of(ROUNDS, || JsonReader::new(&text).skip());
    let mut copies: Vec<String> = (0..ROUNDS).map(|_| text.clone()).collect();
    let take = median_of(ROUNDS, || capture(payload(copies.pop().unwrap_or_default())));
    let page = median_of(ROUNDS, || first_page(&snapshot));
    table.add("  of which: find the text in the line", "", told(scan));
    table.add("  of which: take it out of its escapes", "", told(decode));
    table.add("  of which: capture", "", told(take));
    table.add("    (pass it once, validating)", "", told(skip));
    table.add("  of which: first page", "", told(page));
}

fn captured(message: &str) -> Snapshot {
    let mut text = String::new();
    if let Ok(quoted) = text_of(message) {
        unescape_into(quoted, &mut text);
    }
    capture(payload(text))
}

/// The text of the first block, quotes included. The whole line is validated.
fn text_of(message: &str) -> Result<&str, ScanError> {
    let mut line = JsonReader::new(message);
    let mut text = "";
    line.enter_object()?;
    while let Some(key) = line.next_key()? {
        if line.text(key) != "\"result\"" {
            line.skip()?;
            continue;
        }
        line.enter_object()?;
        while let Some(key) = line.next_key()? {
            if line.text(key) != "\"content\"" {
                line.skip()?;
                continue;
            }
            line.enter_array()?;
            while line.next_item()? {
                line.enter_object()?;
                while let Some(key) = line.next_key()? {
                    let value = line.skip()?;
                    if line.text(key) == "\"text\"" {
                        text = line.text(value);
                    }
                }
            }
        }
    }
    line.expect_end()?;
    Ok(text)
}

fn by_value(message: &str) -> Option<String> {
    let line: Value = serde_json::from_str(message).ok()?;
    let text = line.pointer("/result/content/0/text")?.as_str()?;
    let records: Value = serde_json::from_str(text).ok()?;
    let page = records.as_array()?.get(..50)?;
    serde_json::to_string(page).ok()
}
