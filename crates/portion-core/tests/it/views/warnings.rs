//! Tests of the warning in notices of replies that come near the budget.

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::FirstReply;
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use serde_json::Value;

use super::reply;

/// Checks the call that the warning of a first reply names; empty if there is no warning.
fn check(text: &str, warn_at: f64, expect: &str) {
    let policy = Policy { warn_at, ..Policy::default() };
    let blocks = vec![Block::new("/content/0/text", Content::Text(text.to_owned()))];
    let snapshot = capture(Payload { blocks, ..Payload::default() });
    let resolved = resolve(&snapshot, None, &Request::default(), &policy).expect("plain");
    let FirstReply::Portion(portion) = reply(&snapshot, &resolved, &policy) else { panic!("untouched") };
    let notice: Value = serde_json::from_str(portion.notice()).expect("a notice is JSON");
    let warning = notice["meta"]["warning"].as_str().unwrap_or_default();
    let call = warning.strip_prefix("near the budget: ").and_then(|rest| rest.strip_suffix(" costs less"));
    assert_eq!(call.unwrap_or(warning), expect, "{notice}");
}

#[test]
fn a_warning_names_a_call_that_narrows_the_reply() {
    let record = |n: usize| format!(r#"{{"id":{n},"name":"n{n}","about":"{}"}}"#, "word ".repeat(30));
    let records = format!("[{}]", (0..200).map(record).collect::<Vec<_>>().join(","));
    check(&records, 0.1, "portion_read(cursor, fields=…)");
    let lines: String = (0..2_000).map(|n| format!("line {n} of a text\n")).collect::<Vec<_>>().concat();
    check(&lines, 0.1, "portion_read(cursor, startLine, endLine)");
    // Line numbers do not narrow a part of one line.
    check(&"word ".repeat(20_000), 0.1, "portion_read(cursor, maxTokens=…)");
    check(&records, 1.0, "");
}
