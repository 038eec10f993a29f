//! Whether a payload fits a budget.

use portion_core::tokens::Tokenizer;

use crate::measure::{median_of, told};
use crate::samples::{log, schools};
use crate::table::Table;

const BUDGET: usize = 4_000;

pub(crate) fn figures(table: &mut Table) {
    let prose = "The quick brown fox jumps over the lazy dog. Naïve café, 東京タワー. ".repeat(1_400);
    for (what, text) in [("records", schools(100_000)), ("a log", log(100_000)), ("prose", prose)] {
        for tokenizer in [Tokenizer::Auto, Tokenizer::O200k] {
            let counter = tokenizer.counter();
            let time = median_of(101, || counter.count_within(&text, BUDGET));
            table.add(&format!("100 KB of {what} over {BUDGET} tokens, {tokenizer}"), "≤ 1 ms", told(time));
        }
    }
}
