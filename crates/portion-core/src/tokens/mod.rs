//! What text costs. Every decision in Portion is made in tokens, by one trait.

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

    /// Byte length of a longest prefix that costs at most `limit`, cut between characters.
    ///
    /// The work is in proportion to `limit`, not to the text.
    fn prefix_within(&self, text: &str, limit: usize) -> usize;
}
