//! What is being told, within the tokens that are left for it.

use serde_json::{Map, Value};

use crate::tokens::TokenCounter;

/// The telling part of a notice in the making.
///
/// What is said costs what it costs as JSON by itself, which is at least about what it costs among the rest.
pub(super) struct TextDescription<'a> {
    counter: &'a dyn TokenCounter,
    max_tokens: usize,
    remaining_tokens: usize,
    facts: Map<String, Value>,
}

impl<'a> TextDescription<'a> {
    pub(super) fn new(counter: &'a dyn TokenCounter, tokens: usize) -> Self {
        // The braces.
        Self { counter, max_tokens: tokens, remaining_tokens: tokens.saturating_sub(2), facts: Map::new() }
    }

    /// Tokens that are left.
    pub(super) fn left(&self) -> usize {
        self.remaining_tokens
    }

    /// Characters of a line that is quoted: a long one where there is room for several.
    pub(super) fn max_quote_chars(&self) -> usize {
        (self.max_tokens / 2).clamp(60, 160)
    }

    /// Tokens of a value, with the comma after it.
    pub(super) fn value_cost(&self, value: &Value) -> usize {
        self.counter.count(&value.to_string()).saturating_add(1)
    }

    /// Tokens of a text among others in a list: what stands between two is one token.
    pub(super) fn list_item_cost(&self, said: &str) -> usize {
        let json = Value::from(said).to_string();
        self.counter.count(json.trim_matches('"')).saturating_add(1)
    }

    /// Tokens of a value under its key.
    pub(super) fn member_cost(&self, key: &str, value: &Value) -> usize {
        self.counter.count(&format!("{key:?}:")).saturating_add(self.value_cost(value))
    }

    /// Says something if there is room for it.
    pub(super) fn add(&mut self, key: &str, value: impl Into<Value>) -> bool {
        let value = value.into();
        let cost = self.member_cost(key, &value);
        let fits = cost <= self.remaining_tokens;
        if fits {
            self.remaining_tokens -= cost;
            self.facts.insert(key.to_owned(), value);
        }
        fits
    }

    /// Says as many of the values as fit into so many tokens, the first ones; `+7 more` stands for the rest.
    pub(super) fn add_list(&mut self, key: &str, values: &[String], tokens: usize) -> bool {
        let mut left = tokens.min(self.remaining_tokens).saturating_sub(LIST_OVERHEAD_TOKENS);
        let mut shown: Vec<Value> = Vec::new();
        for value in values {
            let Some(rest) = left.checked_sub(self.list_item_cost(value)) else { break };
            left = rest;
            shown.push(value.as_str().into());
        }
        if shown.is_empty() {
            return false;
        }
        if shown.len() < values.len() {
            shown.push(more_marker(values.len() - shown.len()));
        }
        self.add(key, shown)
    }

    /// All that was said.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        while !self.facts.is_empty()
            && self.counter.count(&Value::Object(self.facts.clone()).to_string()) > self.max_tokens
        {
            let last = self.facts.keys().next_back().cloned().unwrap_or_default();
            self.facts.shift_remove(&last);
        }
        self.facts
    }
}

/// Tokens of a list's key, its brackets and the word on what is left out.
pub(super) const LIST_OVERHEAD_TOKENS: usize = 14;

/// Stands for so many more.
pub(super) fn more_marker(count: usize) -> Value {
    format!("+{count} more").into()
}

/// A line in at most so many characters, the white space around it apart.
pub(super) fn truncated_line(line: &str, width: usize) -> String {
    let said = line.trim();
    match said.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", said[..end].trim_end()),
        None => said.to_owned(),
    }
}

/// The last so many characters of a text, from the beginning of a word on, each run of white space as one space.
pub(super) fn closing_words(text: &str, width: usize) -> String {
    let said = text.trim_end();
    // White space may be all that is near the end of what is left out.
    let start = said.char_indices().rev().nth(2 * width).map_or(0, |(at, _)| at);
    let words: Vec<_> = said[start..].split_whitespace().collect();
    let near = words.join(" ");
    let Some((at, _)) = near.char_indices().rev().nth(width.saturating_sub(1)) else {
        return if start == 0 { near } else { format!("…{near}") };
    };
    if at == 0 && start == 0 {
        return near;
    }
    let tail = &near[at..];
    // Scripts without spaces have no word to begin with, and what is one long word is cut anywhere.
    let word = tail.find(' ').filter(|space| *space < tail.len() / 4).map_or(0, |space| space + 1);
    format!("…{}", &tail[word..])
}
