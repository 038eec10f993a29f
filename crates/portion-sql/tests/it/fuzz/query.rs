//! Fuzz target: any question about any payload has an answer that is JSON, or an error with advice.

use std::time::Duration;

use portion_core::find::{self, find};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, View, resolve};
use portion_sql::{QueryLimits, SqlQuery, query};
use serde_json::Value;
use serde_json::value::RawValue;

/// Input: a line with the question, then the payload. The question is SQL, or a pattern after `?`; a number before it is that
/// of the lines of context. A path to a part may precede all that, with `|` after it.
pub(crate) fn check(input: &[u8]) {
    let Ok(input) = str::from_utf8(input) else { return };
    let (question, text) = input.split_once('\n').unwrap_or((input, ""));
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
    let (path, question) =
        question.split_once('|').map_or((None, question), |(path, question)| (Some(path), question));
    let request = Request { path: path.map(str::to_owned), ..Request::default() };
    let Ok(view) = resolve(&snapshot, None, &request, &Policy::default()) else { return };
    match question.split_once('?') {
        Some((context, pattern)) if context.bytes().all(|byte| byte.is_ascii_digit()) => {
            check_search(&snapshot, &view.view, pattern, context.parse().ok());
        }
        _ => check_sql(&snapshot, &view.view, question),
    }
}

fn check_search(snapshot: &Snapshot, view: &View, pattern: &str, context_lines: Option<u32>) {
    let search = find::SearchQuery { context_lines, ..find::SearchQuery::new(pattern) };
    match find(snapshot, view, &search) {
        Ok(found) => {
            let items = serde_json::from_str::<Vec<Value>>(&found.items_json).expect("a list");
            // Single words are only listed if nothing matches the whole pattern.
            assert!(items.len() <= found.match_count.max(found.word_match_count));
        }
        Err(error) => assert!(!error.advice().is_empty(), "{error}"),
    }
}

fn check_sql(snapshot: &Snapshot, view: &View, sql: &str) {
    let params = [("a".to_owned(), "\"text\"".to_owned()), ("n".to_owned(), "-1.5e3".to_owned())];
    let question = SqlQuery { sql, params: &params };
    let timeout = Duration::from_millis(200);
    let limits = QueryLimits { timeout, max_rows: 1_000, max_heap_bytes: 32 << 20, ..QueryLimits::default() };
    match query(snapshot, view, &question, &limits) {
        Ok(answer) => {
            let rows = serde_json::from_str::<Vec<&RawValue>>(&answer.json).expect("a list");
            assert_eq!(rows.len(), answer.row_count);
        }
        Err(error) => assert!(!error.advice().is_empty(), "{error}"),
    }
}
