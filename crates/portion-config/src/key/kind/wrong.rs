//! Why a value is not one of a key.

use crate::document::{Node, Spot, Tree};

/// Why a value is not one of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Where.
    pub spot: Spot,
    /// What was given, where it can be shown.
    pub given: Option<String>,
    /// What it is: `is no whole number`.
    pub is: String,
    /// The way on.
    pub fix: String,
}

impl Wrong {
    pub(crate) fn new(node: &Node, is: impl Into<String>, fix: impl Into<String>) -> Self {
        let given = match &node.tree {
            Tree::Scalar { text, .. } => Some(text.chars().take(60).collect()),
            _ => None,
        };
        Self { spot: node.spot, given, is: is.into(), fix: fix.into() }
    }

    /// In words, with what was given where that may be shown.
    pub fn message(&self, key: &str, shown: bool) -> String {
        match &self.given {
            Some(given) if shown => format!("{key} is `{}`, which {}", given.escape_debug(), self.is),
            _ => format!("{key} {}", self.is),
        }
    }

    /// The same with the way on.
    pub(crate) fn told(&self, key: &str, shown: bool) -> String {
        format!("{}; {}", self.message(key, shown), self.fix)
    }
}
