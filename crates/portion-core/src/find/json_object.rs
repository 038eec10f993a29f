//! Writes a match as a JSON object.

use std::fmt::Write as _;

use portion_json::scan::escape_into;

/// A JSON object under construction.
#[derive(Debug, Default)]
pub(super) struct JsonObjectWriter {
    out: String,
}

impl JsonObjectWriter {
    /// Adds a member with text.
    pub(super) fn add_text(&mut self, name: &str, text: &str) {
        self.write_name(name);
        self.out.push('"');
        escape_into(text, &mut self.out);
        self.out.push('"');
    }

    /// Adds a member with a number.
    pub(super) fn add_number(&mut self, name: &str, number: usize) {
        self.write_name(name);
        let _ = write!(self.out, "{number}");
    }

    /// Adds a member with JSON.
    pub(super) fn add_json(&mut self, name: &str, json: &str) {
        self.write_name(name);
        self.out.push_str(json);
    }

    /// Returns the object.
    pub(super) fn finish(mut self) -> String {
        if self.out.is_empty() {
            self.out.push('{');
        }
        self.out.push('}');
        self.out
    }

    fn write_name(&mut self, name: &str) {
        self.out.push(if self.out.is_empty() { '{' } else { ',' });
        self.out.push('"');
        escape_into(name, &mut self.out);
        self.out.push_str("\":");
    }
}
