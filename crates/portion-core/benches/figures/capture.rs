//! From a line to its first page: Portion, and `serde_json::Value` doing the same.

use portion_core::scan::{Reader, ScanError, decode};
use portion_core::snapshot::{Snapshot, capture};
use serde_json::Value;

use crate::HEAP;
use crate::follow::first_page;
use crate::measure::{median, median_of, once, told};
use crate::samples::{line, payload, schools};
use crate::table::Table;

const ROUNDS: usize = 15;

pub(crate) fn figures(table: &mut Table) {
    let records = schools(12 << 20);
    let message = line(&records);
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
    heap(table, &message, records.len());
    stages(table, &message);
}

fn heap(table: &mut Table, message: &str, bytes: usize) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let snapshot = captured(message);
    let page = first_page(&snapshot);
    let peak = HEAP.peak_usage() - before;
    drop(page);
    let resident = HEAP.current_usage() - before;
    let times = |heap: usize| format!("{:.2} ×", heap as f64 / bytes as f64);
    table.add("  peak heap beyond the message / payload", "≤ 1.5 ×", times(peak));
    table.add("  resident snapshot / payload", "≤ 1.1 ×", times(resident));
    table.add("  what the snapshot says it holds / payload", "", times(snapshot.heap_bytes()));
}

/// Where the time goes.
fn stages(table: &mut Table, message: &str) {
    let found = text_of(message).unwrap_or_default();
    let text = portion_core::scan::decoded(found);
    let snapshot = capture(payload(text.clone()));
    let scan = median_of(ROUNDS, || text_of(message).map(str::len));
    let decode = median_of(ROUNDS, || portion_core::scan::decoded(found));
    let skip = median_of(ROUNDS, || Reader::new(&text).skip());
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
        decode(quoted, &mut text);
    }
    capture(payload(text))
}

/// The text of the first block, quotes included. The whole line is validated.
fn text_of(message: &str) -> Result<&str, ScanError> {
    let mut line = Reader::new(message);
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
    line.end()?;
    Ok(text)
}

fn by_value(message: &str) -> Option<String> {
    let line: Value = serde_json::from_str(message).ok()?;
    let text = line.pointer("/result/content/0/text")?.as_str()?;
    let records: Value = serde_json::from_str(text).ok()?;
    let page = records.as_array()?.get(..50)?;
    serde_json::to_string(page).ok()
}
