//! The error for an invalid value of a key.

use crate::document::{Node, NodeValue, TextPosition};

/// Longest value that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// The error for an invalid value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    /// Position of the value.
    pub position: TextPosition,
    /// The given value, if it may be shown.
    pub raw_value: Option<String>,
    /// Description of the problem: `is not a whole number`.
    pub problem: String,
    /// Remedy.
    pub fix: String,
}

impl InvalidValue {
    pub(crate) fn new(node: &Node, is: impl Into<String>, fix: impl Into<String>) -> Self {
        let given = match &node.value {
            NodeValue::Scalar { text, .. } => Some(shorten(text)),
            _ => None,
        };
        Self { position: node.position, raw_value: given, problem: is.into(), fix: fix.into() }
    }

    /// Shows another text in place of the given value.
    pub(crate) fn showing(self, text: &str) -> Self {
        Self { raw_value: Some(shorten(text)), ..self }
    }

    /// Returns the message, with the given value if `shown` is true.
    pub fn message(&self, key: &str, shown: bool) -> String {
        match &self.raw_value {
            Some(given) if shown => format!("{key} is `{}`, which {}", given.escape_debug(), self.problem),
            _ => format!("{key} {}", self.problem),
        }
    }

    /// Returns the message with the remedy.
    pub(crate) fn message_with_fix(&self, key: &str, shown: bool) -> String {
        format!("{}; {}", self.message(key, shown), self.fix)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}
