//! Counts the tokens of texts. Every size decision in Portion is made in tokens, through one trait.
//!
//! There are two families of counters. Counters with a vocabulary (`vocabulary`) sum the counts of pieces
//! of text that no token spans, so that they can stop early and find the end of a budget.
//! Counters by length (`length`) need no vocabulary and cannot fail. An operator chooses a counter with
//! [`Tokenizer`] and adjusts it to a model's bills with [`Factor`]; a [`ReferenceCounter`] shows how
//! close it comes.
//!
//! ```
//! use portion_tokens::{Factor, TokenCounter, Tokenizer, estimate_size};
//!
//! let tokenizer: Tokenizer = "o200k".parse().expect("a known name");
//! let counter = tokenizer.counter();
//! assert_eq!(counter.count("hello world"), 2);
//! assert!(counter.fits("hello world", 2));
//! assert!(!estimate_size(counter, &"hello world ".repeat(10_000)).is_exact);
//!
//! let factor = Factor::from_f64(1.5).expect("between 0.25 and 4");
//! assert_eq!(tokenizer.scaled_counter(factor).count("hello world"), 3);
//! ```
//!
//! # Modules
//!
//! The trait `TokenCounter` is in `lib.rs`. Counting stops at the limit. The build script lays out the published vocabularies as tables, so that
//! a process has them in milliseconds.
//!
//! | module | subject |
//! | --- | --- |
//! | `vocabulary`, `claude` | counters with a vocabulary, and the pieces of text that they count |
//! | `bpe` | the published vocabularies: words by their patterns (`words`), tokens by their bytes and merges (`ranks`), and the counts of recent words |
//! | `length` | counters and estimates by length |
//! | `tokenizer`, `factor` | the names of the counters; the factor that an operator adds |
//! | `accuracy` | exact counts that check the counters |

pub mod accuracy;
mod bpe;
mod claude;
mod factor;
mod length;
mod tokenizer;
mod vocabulary;

pub use accuracy::ReferenceCounter;
pub use factor::Factor;
pub use length::{BYTE_COUNTER, TextSize, estimate_size};
pub use tokenizer::{Tokenizer, UnknownTokenizer};

/// Counts the tokens that a model would be charged for a text.
///
/// Implementations never panic, and the same text always has the same count.
pub trait TokenCounter: Send + Sync {
    /// Returns the name that an operator configures, e.g. `o200k`.
    fn name(&self) -> &'static str;

    /// Counts the tokens of the whole text.
    fn count(&self, text: &str) -> usize;

    /// Returns `Some(count)` if the text has at most `limit` tokens, else `None`.
    ///
    /// The work is proportional to `limit`, not to the text.
    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        Some(self.count(text)).filter(|n| *n <= limit)
    }

    /// Returns true if the text has at most `limit` tokens, where the count itself is not needed.
    ///
    /// Never slower than [`count_within`](Self::count_within); nothing is counted if the text is so short
    /// that it fits in any case.
    fn fits(&self, text: &str, limit: usize) -> bool {
        self.count_within(text, limit).is_some()
    }

    /// Returns the byte length of a longest prefix with at most `limit` tokens, cut between characters.
    ///
    /// One more character would not fit. A prefix longer by up to a token (128 characters) still may,
    /// because characters can complete a word that has fewer tokens than its beginning.
    ///
    /// The work is proportional to `limit`, not to the text.
    fn prefix_within(&self, text: &str, limit: usize) -> usize;

    /// Returns what each part of a text costs, in thousandths of a token. The parts end at `ends`, ascending offsets of
    /// which the last is the length of the text.
    ///
    /// A word that spans an end counts for the part in which it ends. So the costs of parts add up to the count of the text,
    /// rounded up, and almost always to that of another text made of the same parts.
    fn part_costs(&self, text: &str, ends: &[usize]) -> Vec<u32> {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let part = |(start, end): (usize, &usize)| text.get(start..*end).unwrap_or_default();
        starts.zip(ends).map(part).map(|part| thousandths(self.count(part) as u64 * 1000)).collect()
    }
}

/// Returns a cost as it is kept. No part of a payload reaches the largest one.
fn thousandths(cost: u64) -> u32 {
    u32::try_from(cost).unwrap_or(u32::MAX)
}
