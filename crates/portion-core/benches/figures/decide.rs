//! Times the decision if a payload fits a budget.

use portion_tokens::Tokenizer;

use crate::measure::{median_of, told};
use crate::samples::{log, schools};
use crate::table::Table;

const BUDGET: usize = 4_000;
const BYTES: usize = 100_000;
const RUNS: usize = 101;

pub(crate) fn figures(table: &mut Table) {
    let prose = |i| format!("Day {i}. The quick brown fox jumps over the lazy dog. Naïve café, 東京タワー. ");
    let prose: String = (0..70_000).map(prose).collect();
    for (what, text) in [("records", schools(50 * BYTES)), ("a log", log(50 * BYTES)), ("prose", prose)] {
        for tokenizer in [Tokenizer::Auto, Tokenizer::O200k] {
            let counter = tokenizer.counter();
            // Another stretch each time, for counters remember words that they have seen.
            let mut start = 0;
            let time = median_of(RUNS, || {
                start = (start + 47 * BYTES / 100) % (text.len() - BYTES - 4);
                let from = text.floor_char_boundary(start);
                counter.count_within(&text[from..text.floor_char_boundary(from + BYTES)], BUDGET)
            });
            table.add(&format!("100 KB of {what} over {BUDGET} tokens, {tokenizer}"), "≤ 1 ms", told(time));
        }
    }
}
