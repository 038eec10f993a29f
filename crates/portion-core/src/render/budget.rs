//! What is left of a budget while a reply is put together.

use crate::scan::escaped_len;
use crate::tokens::TokenCounter;

/// Tokens and wire bytes that may still be spent.
#[derive(Clone, Copy)]
pub(crate) struct RemainingBudget<'a> {
    /// What counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// Tokens left.
    pub tokens: usize,
    /// Wire bytes left, texts being counted as they stand inside a JSON string.
    pub bytes: usize,
}

impl RemainingBudget<'_> {
    /// Whether a text still fits.
    pub(crate) fn fits(&self, text: &str) -> bool {
        text.len() <= self.bytes
            && escaped_len(text) <= self.bytes
            && self.counter.count_within(text, self.tokens).is_some()
    }

    /// Spends what a text costs; `false`, spending nothing, where it does not fit.
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

    /// The same with only so many tokens.
    #[must_use]
    pub(crate) fn with_max_tokens(self, tokens: usize) -> Self {
        Self { tokens: self.tokens.min(tokens), ..self }
    }
}
