//! What text costs. Every decision in Portion is made in tokens, by one trait.
//!
//! Two families stand behind it. Counters over a vocabulary (`vocabulary`) add up pieces of
//! text that no token spans (`pieces`), so that they stop early and find a budget's edge; counters
//! by length (`length`) need no vocabulary and cannot fail. [`Tokenizer`] is how an operator picks one, [`Factor`] fits
//! it to a model's bills, and a [`ReferenceCounter`] tells how near it comes.

pub mod accuracy;
mod bpe;
mod claude;
mod factor;
mod length;
mod pieces;
mod reference;
mod size;
mod tokenizer;
mod vocabulary;

pub use factor::Factor;
pub use length::BYTE_COUNTER;
pub use reference::ReferenceCounter;
pub use size::{TextSize, estimate_size};
pub use tokenizer::{Tokenizer, UnknownTokenizer};

/// Counts what a model would be charged for a text.
///
/// Total: never panics, whatever the text. Pure: the same text always costs the same.
pub trait TokenCounter: Send + Sync {
    /// The name an operator configures, e.g. `o200k`.
    fn name(&self) -> &'static str;

    /// Tokens of the whole text.
    fn count(&self, text: &str) -> usize;

    /// `Some(count)` where the text costs at most `limit`, else `None`.
    ///
    /// The work is in proportion to `limit`, not to the text.
    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        Some(self.count(text)).filter(|n| *n <= limit)
    }

    /// Whether the text costs at most `limit`, where the count itself is of no interest.
    ///
    /// Never dearer than [`count_within`](Self::count_within), and nothing is counted where the
    /// text is so short that it fits whatever it says.
    fn fits(&self, text: &str, limit: usize) -> bool {
        self.count_within(text, limit).is_some()
    }

    /// Byte length of a longest prefix that costs at most `limit`, cut between characters.
    ///
    /// One more character would not fit. A prefix that is longer by up to a token (128 characters) still
    /// may, for characters can complete a word that is cheaper than its beginnings.
    ///
    /// The work is in proportion to `limit`, not to the text.
    fn prefix_within(&self, text: &str, limit: usize) -> usize;
}
