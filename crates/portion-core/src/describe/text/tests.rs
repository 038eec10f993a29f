//! Tests of descriptions of small texts, and properties of descriptions of any text.

use portion_text::chunk::CHUNKERS;
use portion_tokens::Tokenizer;
use serde_json::{Map, Value};

use crate::snapshot::LineIndex;

mod kinds;
mod laws;

fn described(text: &str, tokens: usize) -> Map<String, Value> {
    within(text, &LineIndex::new(text), tokens)
}

/// Describes a text and checks that the description keeps to its budget.
fn within(text: &str, index: &LineIndex, tokens: usize) -> Map<String, Value> {
    let counter = Tokenizer::O200k.counter();
    let description = super::describe(text, index, counter, tokens);
    let cost = counter.count(&Value::Object(description.clone()).to_string());
    assert!(description.is_empty() || cost <= tokens, "{cost} > {tokens}: {description:?}");
    description
}

/// Returns the index of a text with the chunker of another kind.
fn of_kind(text: &str, kind: usize) -> LineIndex {
    let mut index = LineIndex::new(text);
    index.chunker = CHUNKERS[kind % CHUNKERS.len()];
    index
}

/// Compares a description, one line per fact: its key and its value as JSON.
fn check(text: &str, tokens: usize, expect: &str) {
    let lines: Vec<_> =
        described(text, tokens).iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let expect: Vec<_> = expect.trim().lines().map(str::trim_start).collect();
    assert_eq!(lines, expect, "\n{}", lines.join("\n"));
}
