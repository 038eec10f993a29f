//! Why a value is not one of a key.

use crate::document::{Node, NodeValue, TextPosition};

/// Why a value is not one of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    /// Where.
    pub position: TextPosition,
    /// What was given, where it can be shown.
    pub raw_value: Option<String>,
    /// What it is: `is no whole number`.
    pub problem: String,
    /// The way on.
    pub fix: String,
}

impl InvalidValue {
    pub(crate) fn new(node: &Node, is: impl Into<String>, fix: impl Into<String>) -> Self {
        let given = match &node.value {
            NodeValue::Scalar { text, .. } => Some(text.chars().take(60).collect()),
            _ => None,
        };
        Self { position: node.position, raw_value: given, problem: is.into(), fix: fix.into() }
    }

    /// In words, with what was given where that may be shown.
    pub fn message(&self, key: &str, shown: bool) -> String {
        match &self.raw_value {
            Some(given) if shown => format!("{key} is `{}`, which {}", given.escape_debug(), self.problem),
            _ => format!("{key} {}", self.problem),
        }
    }

    /// The same with the way on.
    pub(crate) fn message_with_fix(&self, key: &str, shown: bool) -> String {
        format!("{}; {}", self.message(key, shown), self.fix)
    }
}
