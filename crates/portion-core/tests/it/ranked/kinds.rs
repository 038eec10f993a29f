//! Tests which lists are recognised as retrieval results, and which keep their order.

use portion_core::payload::{Block, Content, Payload, QueryAnswer};
use portion_core::policy::{OrderStrategy, Policy, RowStyle};
use portion_core::snapshot::capture;

use super::material::{self, call, snapshot};

/// Returns true if a list of such records, made distinct by `{i}`, is ranked.
fn is_ranked(record: &str, strategy: OrderStrategy, controls: &[(&str, &str)]) -> bool {
    let text = "the flow over a thin wing ".repeat(20);
    let record = |i: usize| record.replace("{i}", &format!("{i}")).replace("{text}", &text);
    let records: Vec<String> = (10..90).map(record).collect();
    let policy = Policy { strategy, ..Policy::default() };
    let reply = call(&snapshot(&format!("[{}]", records.join(","))), controls, &policy).expect("large");
    let first = reply.text().contains("{\"id\":89") || reply.text().contains("{\"id\":10,\"distance");
    let ranked = reply.meta["strategy"] == "ranked";
    assert!(!ranked || first || !controls.is_empty(), "{}", &reply.text()[..200]);
    ranked
}

fn check(record: &str, auto: bool, ranked: bool) {
    let results = [OrderStrategy::Auto, OrderStrategy::Ranked, OrderStrategy::Plain]
        .map(|how| is_ranked(record, how, &[]));
    assert_eq!(results, [auto, ranked, false], "{record}");
}

#[test]
fn passages_with_scores_are_ranked() {
    check(r#"{"id":{i},"score":0.{i},"text":"{text}"}"#, true, true);
    check(r#"{"id":{i},"_score":1.{i},"title":"x","page_content":"{text}"}"#, true, true);
    check(r#"{"id":{i},"relevance_score":0.{i},"document":{"text":"{text}"}}"#, true, true);
    check(r#"{"id":{i},"@search.score":3.{i},"content":"{text}"}"#, true, true);
    check(r#"{"id":{i},"similarity":0.{i},"chunk":"{text}"}"#, true, true);
    check(r#"{"id":{i},"metadata":{"score":0.{i}},"pageContent":"{text}"}"#, true, true);
    check(r#"{"id":{i},"distance":0.{i},"body":"{text}"}"#, true, true);
    // The score of the last ranking step counts.
    check(r#"{"id":{i},"score":0.5,"rerank_score":0.{i},"text":"{text}"}"#, true, true);
}

#[test]
fn other_lists_keep_their_order() {
    // No passage, no score, votes, one score for all, a score that some records lack.
    check(r#"{"id":{i},"score":0.{i},"title":"a film"}"#, false, true);
    check(r#"{"id":{i},"rating":0.{i},"text":"{text}"}"#, false, false);
    check(r#"{"id":{i},"score":{i},"text":"{text}"}"#, false, true);
    check(r#"{"id":{i},"score":"0.{i}","text":"{text}"}"#, false, false);
    check(r#"{"id":{i},"score":0.{i},"description":"{text}"}"#, false, true);
}

#[test]
fn only_another_order_keeps_a_list_from_being_ranked() {
    let record = r#"{"id":{i},"score":0.{i},"text":"{text}"}"#;
    for strategy in [OrderStrategy::Auto, OrderStrategy::Ranked] {
        assert!(!is_ranked(record, strategy, &[("sort", "\"id\"")]));
        for controls in [
            ("limit", "5"),
            ("page", "2"),
            ("fields", "\"id\""),
            ("fields", "\"all\""),
            ("offset", "3"),
            ("maxTokens", "1000"),
        ] {
            assert!(is_ranked(record, strategy, &[controls]), "{controls:?}");
        }
    }
}

/// The plain call shows a small list as received, so that other requests show it in the same order.
#[test]
fn a_list_that_passes_as_received_keeps_its_order() {
    let records: Vec<String> = (0..9)
        .map(|i| format!("{{\"id\":{i},\"score\":0.{i},\"text\":\"{}\"}}", "a thin wing ".repeat(30)))
        .collect();
    let snapshot = snapshot(&format!("[{}]", records.join(",")));
    let policy = Policy::default();
    assert!(call(&snapshot, &[], &policy).is_none());
    for controls in [("fields", "\"all\""), ("limit", "5"), ("offset", "0")] {
        let reply = call(&snapshot, &[controls], &policy).expect("asked for");
        assert!(reply.text().starts_with("[{\"id\":0,"), "{controls:?}: {}", reply.text());
    }
    // Less than the whole is the best of it.
    let reply = call(&snapshot, &[("maxTokens", "600")], &policy).expect("asked for");
    assert!(reply.text().starts_with("[{\"id\":8,"), "{}", reply.text());
}

/// No column of `SELECT *` was asked for.
#[test]
fn answers_with_all_columns_shorten_long_strings_before_rows_are_left_out() {
    let row = |n: usize| format!(r#"{{"id":{n},"body":"{}"}}"#, "some words ".repeat(600));
    let shown = |selects_all_columns: bool| {
        let text = format!("[{}]", (0..5).map(row).collect::<Vec<_>>().join(","));
        let block = Block::new("/content/0/text", Content::Text(text));
        let answer = QueryAnswer { match_count: 5, selects_all_columns, ..QueryAnswer::default() };
        let payload = Payload { blocks: vec![block], query_answer: Some(answer), ..Payload::default() };
        let reply = call(&capture(payload), &[], &Policy::default()).expect("large");
        reply.text().matches("\"id\":").count()
    };
    assert!(shown(true) == 5 && (1..5).contains(&shown(false)), "{} {}", shown(true), shown(false));
}

/// A page with the last few rows would cost another call.
#[test]
fn an_answer_takes_a_quarter_more_if_that_shows_all_rows() {
    let shown = |count: usize, words: usize, controls: &[(&str, &str)]| {
        let row = |n: usize| format!(r#"{{"id":{n},"note":"{}"}}"#, "several words ".repeat(words));
        let text = format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(","));
        let block = Block::new("/content/0/text", Content::Text(text));
        let answer = QueryAnswer { match_count: count, ..QueryAnswer::default() };
        let payload = Payload { blocks: vec![block], query_answer: Some(answer), ..Payload::default() };
        let policy = Policy { rows: RowStyle::Objects, ..Policy::default() };
        let reply = call(&capture(payload), controls, &policy).expect("large");
        reply.text().matches("\"id\":").count()
    };
    // By the number of rows, and by their tokens: about 200 each, of 4,000.
    assert_eq!([62, 63].map(|count| shown(count, 1, &[])), [62, 50]);
    assert_eq!(shown(62, 1, &[("limit", "50")]), 50);
    assert_eq!(shown(22, 45, &[]), 22);
    assert!((15..20).contains(&shown(30, 45, &[])) && shown(22, 45, &[("maxTokens", "4000")]) < 20);
}

/// The order of the rows of an answer is that of its query.
#[test]
fn answers_keep_their_order() {
    let text = material::passages(90);
    let block = Block::new("/content/0/text", Content::Text(text));
    let answer = QueryAnswer { match_count: 90, ..QueryAnswer::default() };
    let snapshot = capture(Payload { blocks: vec![block], query_answer: Some(answer), ..Payload::default() });
    let reply = call(&snapshot, &[], &Policy::default()).expect("large");
    assert!(reply.text().contains("\"chunks\":[{\"id\":\"p0\""), "{}", &reply.text()[..200]);
}
