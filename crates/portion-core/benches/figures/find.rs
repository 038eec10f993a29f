//! Times searches: a thousand megabytes of text a second, with and without matches.

use portion_core::find::{SearchQuery, find};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::View;

use crate::measure::{median_of, told};
use crate::samples::{log, payload, schools};
use crate::table::Table;

const RUNS: usize = 9;

/// Searches through a long log and a long list.
pub(crate) fn figures(table: &mut Table) {
    let bytes = 50 << 20;
    let snapshot = capture(payload(log(bytes)));
    for pattern in
        ["no such thing", "7fffffff", "connection is closed", "ERROR", "/Pool\\.java:[0-9]+/", "/7ff.*7ff/"]
    {
        let took = median_of(RUNS, || matches(&snapshot, pattern));
        let speed = snapshot.payload_bytes() as f64 / took.as_secs_f64() / 1e9;
        let what = format!("50 MB log: find {pattern}, {} matches", matches(&snapshot, pattern));
        table.add(&what, "1 GB/s", format!("{speed:.2} GB/s"));
    }
    let snapshot = capture(payload(schools(12 << 20)));
    for pattern in ["nowhere", "no such words", "San José Academy 12", "Cedar Falls", "/^Lin.*Academy/"] {
        let what = format!("12 MB list: find {pattern}, {} matches", matches(&snapshot, pattern));
        table.add(&what, "", told(median_of(RUNS, || matches(&snapshot, pattern))));
    }
}

fn matches(snapshot: &Snapshot, pattern: &str) -> usize {
    find(snapshot, &View::root(), &SearchQuery::new(pattern)).map_or(0, |found| found.match_count)
}
