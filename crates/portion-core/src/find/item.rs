//! One match as a JSON object.

use std::fmt::Write as _;

use crate::scan::escape;

/// An object that is being written; an empty one at first.
#[derive(Debug, Default)]
pub(super) struct Item {
    out: String,
}

impl Item {
    /// Adds text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.out.push('"');
        escape(text, &mut self.out);
        self.out.push('"');
    }

    /// Adds a number.
    pub(super) fn number(&mut self, name: &str, number: usize) {
        self.name(name);
        let _ = write!(self.out, "{number}");
    }

    /// Adds a value that is JSON.
    pub(super) fn json(&mut self, name: &str, json: &str) {
        self.name(name);
        self.out.push_str(json);
    }

    /// The object.
    pub(super) fn finish(mut self) -> String {
        if self.out.is_empty() {
            self.out.push('{');
        }
        self.out.push('}');
        self.out
    }

    fn name(&mut self, name: &str) {
        self.out.push(if self.out.is_empty() { '{' } else { ',' });
        self.out.push('"');
        escape(name, &mut self.out);
        self.out.push_str("\":");
    }
}
