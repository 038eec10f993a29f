//! What remains of the limits of a reply while it is assembled.

use portion_json::scan::escaped_len;
use portion_tokens::TokenCounter;

/// Wire bytes of a reply beside its texts and notices.
pub(super) const ENVELOPE_BYTES: usize = 512;

/// Tokens and wire bytes that may still be spent.
#[derive(Clone, Copy)]
pub(crate) struct RemainingBudget<'a> {
    /// Counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// Tokens left.
    pub tokens: usize,
    /// Wire bytes left. Texts count as they are escaped inside a JSON string.
    pub bytes: usize,
}

impl RemainingBudget<'_> {
    /// Returns true if a text fits.
    pub(crate) fn fits(&self, text: &str) -> bool {
        text.len() <= self.bytes
            && escaped_len(text) <= self.bytes
            && self.counter.count_within(text, self.tokens).is_some()
    }

    /// Spends the cost of a text. If it does not fit, returns `false` and spends nothing.
    pub(crate) fn spend(&mut self, text: &str) -> bool {
        if text.len() > self.bytes {
            return false;
        }
        let bytes = escaped_len(text);
        if bytes > self.bytes {
            return false;
        }
        let Some(tokens) = self.counter.count_within(text, self.tokens) else { return false };
        self.tokens -= tokens;
        self.bytes -= bytes;
        true
    }

    /// Spends a cost that is known, or what is left.
    pub(crate) fn charge(&mut self, tokens: usize, bytes: usize) {
        self.tokens = self.tokens.saturating_sub(tokens);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Returns the same budget with at most this many tokens.
    #[must_use]
    pub(crate) fn with_max_tokens(self, tokens: usize) -> Self {
        Self { tokens: self.tokens.min(tokens), ..self }
    }
}
