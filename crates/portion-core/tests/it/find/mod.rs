//! Tests of searches and their results: examples, comparison with a plain search, and hostile patterns.

mod hostile;
mod json;
mod laws;
mod text;

use portion_core::find::{FindError, SearchQuery, SearchResult, find};
use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::View;

/// Returns a snapshot of texts.
fn snapshot(texts: &[&str]) -> Snapshot {
    let block = |(i, text): (usize, &&str)| {
        Block::new(format!("/content/{i}/text"), Content::Text((*text).to_owned()))
    };
    capture(Payload { blocks: texts.iter().enumerate().map(block).collect(), ..Payload::default() })
}

fn ask(text: &str, ask: &SearchQuery<'_>) -> Result<SearchResult, FindError> {
    find(&snapshot(&[text]), &View::root(), ask)
}

/// Formats a result: the number of matches, the metadata and the items; or the code and message of an error.
fn told(found: Result<SearchResult, FindError>) -> String {
    match found {
        Ok(found) => {
            let also = serde_json::Value::Object(found.extra_meta);
            format!("{} {also} {}", found.match_count, found.items_json)
        }
        Err(error) => format!("{}: {error}; {}", error.code(), error.advice()),
    }
}

/// Checks the result of a search in a payload of one text.
fn check(payload: &str, pattern: &str, expect: &str) {
    assert_eq!(told(ask(payload, &SearchQuery::new(pattern))), expect, "{pattern} in {payload}");
}
