//! Collects matches in JSON, each written as an object.

use std::fmt::Write as _;

use portion_json::scan::escape_into;

/// Largest number of matches whose records are shown whole.
const MAX_WHOLE_RECORDS: usize = 3;

/// Result items of matches in JSON. Exact matches, in which the whole value is the pattern, come first.
#[derive(Debug)]
pub(super) struct Hits {
    /// Items of exact matches.
    exact: Vec<String>,
    /// Items of partial matches.
    partial: Vec<String>,
    /// Items of the first matches with their whole records, and true for exact ones.
    whole: Vec<(bool, String)>,
    /// Number of matches, kept or not.
    pub match_count: usize,
    /// Number of exact matches.
    pub exact_match_count: usize,
    /// Largest number of items kept of each kind.
    max_items: usize,
}

impl Hits {
    pub(super) fn new(max_items: usize) -> Self {
        let (exact, partial, whole) = (Vec::new(), Vec::new(), Vec::new());
        Self { exact, partial, whole, match_count: 0, exact_match_count: 0, max_items }
    }

    /// Counts a match, and keeps its item up to the limit.
    pub(super) fn add(&mut self, exact: bool, item: impl FnOnce() -> String) {
        self.match_count += 1;
        self.exact_match_count += usize::from(exact);
        let items = if exact { &mut self.exact } else { &mut self.partial };
        if items.len() < self.max_items {
            items.push(item());
        }
    }

    /// Counts a match in a record, and keeps its item: with the whole record, if there are few matches. `item` writes it, whole or
    /// not.
    pub(super) fn add_record(&mut self, exact: bool, item: impl Fn(bool) -> String) {
        if self.match_count < MAX_WHOLE_RECORDS {
            self.whole.push((exact, item(true)));
        }
        self.add(exact, || item(false));
    }

    /// Returns the items.
    pub(super) fn into_items(mut self) -> Vec<String> {
        if self.whole.len() == self.match_count {
            self.whole.sort_by_key(|(exact, _)| !exact);
            return self.whole.into_iter().map(|(_, item)| item).collect();
        }
        self.exact.append(&mut self.partial);
        self.exact
    }

    /// Returns the number of further items that can be kept.
    pub(super) fn remaining_capacity(&self) -> usize {
        self.max_items.saturating_sub(self.partial.len())
    }

    /// Counts matches whose items already exist.
    pub(super) fn add_all(&mut self, matches: usize, items: Vec<String>) {
        self.match_count += matches;
        let room = self.remaining_capacity();
        self.partial.extend(items.into_iter().take(room));
    }
}

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
