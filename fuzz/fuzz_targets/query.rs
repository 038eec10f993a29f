//! Whatever is asked about whatever payload has an answer that is JSON, or an error that says what to do.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portion_core::find::{self, find};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use portion_sql::{QueryLimits, SqlQuery, query};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

// A question in its first line: `?` before a pattern, a path before a `|`, else SQL. Then the payload.
fuzz_target!(|input: (&str, &str, u8)| {
    let (asked, text, context) = input;
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
    let (path, asked) = asked.split_once('|').map_or((None, asked), |(path, asked)| (Some(path), asked));
    let request = Request { path: path.map(str::to_owned), ..Request::default() };
    let Ok(view) = resolve(&snapshot, None, &request, &Policy::default()) else { return };
    if let Some(pattern) = asked.strip_prefix('?') {
        let context = (context < 100).then(|| context.into());
        let ask = find::SearchQuery { context_lines: context, ..find::SearchQuery::new(pattern) };
        match find(&snapshot, &view.view, &ask) {
            Ok(found) => {
                let shown = serde_json::from_str::<Vec<Value>>(&found.items_json).expect("a list");
                assert!(shown.len() <= found.match_count);
            }
            Err(error) => assert!(!error.advice().is_empty(), "{error}"),
        }
        return;
    }
    let params = [("a".to_owned(), "\"text\"".to_owned()), ("n".to_owned(), "-1.5e3".to_owned())];
    let question = SqlQuery { sql: asked, params: &params };
    let limits = QueryLimits { timeout: Duration::from_millis(200), max_rows: 1_000, max_heap_bytes: 32 << 20, ..QueryLimits::default() };
    match query(&snapshot, &view.view, &question, &limits) {
        Ok(answer) => {
            let rows = serde_json::from_str::<Vec<&RawValue>>(&answer.json).expect("a list");
            assert_eq!(rows.len(), answer.row_count);
        }
        Err(error) => assert!(!error.advice().is_empty(), "{error}"),
    }
});
