//! Tests which lists are recognised as retrieval results, and which keep their order.

use portion_core::policy::{OrderStrategy, Policy};

use super::material::{call, snapshot};

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
fn explicit_requests_are_not_ranked() {
    let record = r#"{"id":{i},"score":0.{i},"text":"{text}"}"#;
    for strategy in [OrderStrategy::Auto, OrderStrategy::Ranked] {
        for controls in
            [("limit", "5"), ("sort", "\"id\""), ("page", "2"), ("fields", "\"id\""), ("offset", "3")]
        {
            assert!(!is_ranked(record, strategy, &[controls]), "{controls:?}");
        }
        assert!(is_ranked(record, strategy, &[("maxTokens", "1000")]));
    }
}
