//! Laws of the selection, and its behaviour in tables.

use portion_json::scan::quote;
use portion_tokens::{TokenCounter, Tokenizer};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Fill, select};
use crate::read::{FieldNames, read_chunks};
use crate::{Chunk, DropReason, FetchResult};

fn chunk(position: usize, text: Option<String>, score: Option<f64>) -> Chunk {
    Chunk {
        text,
        score,
        id: Some(position.to_string()),
        position,
        record: "{}".into(),
        has_named_text: false,
    }
}

/// `chunks`: tokens and score.
fn of_sizes(chunks: &[(usize, Option<f64>)]) -> Vec<Chunk> {
    let place =
        |(n, (tokens, score)): (usize, &(usize, Option<f64>))| chunk(n, Some("x".repeat(tokens * 4)), *score);
    chunks.iter().enumerate().map(place).collect()
}

fn len4() -> &'static dyn TokenCounter {
    Tokenizer::Len4.counter()
}

fn positions(result: &FetchResult) -> Vec<usize> {
    result.chunks.iter().map(|chunk| chunk.position).collect()
}

/// `expect`: positions of the kept chunks, in order.
fn check(chunks: &[(usize, Option<f64>)], budget: usize, fill: Fill, expect: &[usize]) {
    let result = select(of_sizes(chunks), budget, len4(), fill);
    assert_eq!(positions(&result), expect, "{chunks:?} in {budget} by {fill}");
}

#[test]
fn chunks_are_kept_by_score_until_the_next_would_exceed() {
    let chunks = [(4, Some(0.1)), (5, Some(0.9)), (3, Some(0.9)), (1, None), (2, Some(-1.0))];
    check(&chunks, 100, Fill::Stop, &[1, 2, 0, 4, 3]);
    check(&chunks, 12, Fill::Stop, &[1, 2, 0]);
    check(&chunks, 11, Fill::Stop, &[1, 2]);
    check(&chunks, 11, Fill::Skip, &[1, 2, 4, 3]);
    check(&chunks, 0, Fill::Stop, &[]);
}

#[test]
fn a_first_chunk_that_cannot_fit_does_not_end_the_list() {
    let chunks = [(20, Some(0.9)), (5, Some(0.8)), (15, Some(0.7)), (1, Some(0.6))];
    check(&chunks, 10, Fill::Stop, &[1]);
    check(&chunks, 10, Fill::Skip, &[1, 3]);
    check(&[(20, Some(0.9)), (20, Some(0.8)), (1, Some(0.7))], 10, Fill::Stop, &[]);
    let result = select(of_sizes(&chunks), 10, len4(), Fill::Stop);
    let reasons: Vec<DropReason> = result.dropped.iter().map(|dropped| dropped.reason).collect();
    assert_eq!(reasons, [DropReason::Oversized, DropReason::Oversized, DropReason::AfterStop]);
}

#[test]
fn value_keeps_the_set_with_the_largest_total() {
    check(&[(9, Some(0.9)), (5, Some(0.8)), (5, Some(0.7)), (9, Some(0.1))], 10, Fill::Value, &[1, 2]);
    check(&[(9, Some(-1.0)), (5, Some(-2.0)), (5, Some(-2.1)), (1, Some(-9.0))], 10, Fill::Value, &[1, 2]);
    check(&[(6, None), (5, None), (4, None)], 10, Fill::Value, &[0, 2]);
    check(&[(6, Some(1.0)), (5, Some(1.0)), (4, Some(1.0))], 10, Fill::Value, &[0, 2]);
    check(&[(6, None), (5, Some(1.0)), (4, Some(2.0))], 10, Fill::Value, &[2, 1]);
}

#[test]
fn a_chunk_without_a_text_is_left_out_and_reported() {
    let chunks = vec![chunk(0, None, Some(2.0)), chunk(1, Some("abcd".into()), Some(1.0))];
    let result = select(chunks, 10, len4(), Fill::Stop);
    assert_eq!((positions(&result), result.tokens, result.is_truncated()), (vec![1], 1, true));
    assert_eq!(result.dropped[0].reason, DropReason::NoText);
    assert_eq!(
        result.to_json(),
        r#"{"chunks":[{"id":1,"text":"abcd","score":1}],"truncated":true,"dropped":1,"tokens":1}"#
    );
}

#[test]
fn nothing_dropped_is_not_truncated() {
    let result = select(of_sizes(&[(3, Some(1.0))]), 3, len4(), Fill::Stop);
    assert!(!result.is_truncated() && result.tokens == 3);
    assert_eq!(
        select(Vec::new(), 0, len4(), Fill::Value).to_json(),
        r#"{"chunks":[],"truncated":false,"dropped":0,"tokens":0}"#
    );
}

#[test]
fn names_round_trip() {
    for fill in Fill::ALL {
        assert_eq!(fill.to_string().parse(), Ok(fill));
    }
    assert_eq!(
        "all".parse::<Fill>().expect_err("unknown").to_string(),
        "unknown fill `all`: use stop, skip, value"
    );
}

fn scores() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        Just(None),
        (-20..20_i32).prop_map(|n| Some(f64::from(n) / 4.0)),
        any::<f64>().prop_filter("finite", |score| score.is_finite()).prop_map(Some),
    ]
}

fn chunks() -> impl Strategy<Value = Vec<Chunk>> {
    let text = prop_oneof![
        Just(None),
        "[ -~é日👍]{0,60}".prop_map(Some),
        (0..400_usize).prop_map(|n| Some("x".repeat(n)))
    ];
    vec((text, scores()), 0..24)
        .prop_map(|all| all.into_iter().enumerate().map(|(n, (text, score))| chunk(n, text, score)).collect())
}

/// Total of the scores above the lowest score of the list.
fn value(all: &[Chunk], kept: &[Chunk]) -> f64 {
    let scored = all.iter().filter(|chunk| chunk.text.is_some()).filter_map(|chunk| chunk.score);
    let lowest = scored.fold(f64::INFINITY, f64::min);
    kept.iter().filter_map(|chunk| chunk.score).map(|score| (score - lowest).min(f64::MAX)).sum()
}

proptest! {
    #[test]
    fn whole_chunks_within_the_budget_in_order(all in chunks(), budget in 0..300_usize, fill in prop::sample::select(&Fill::ALL)) {
        let result = select(all.clone(), budget, len4(), fill);
        let tokens: usize = result.chunks.iter().map(|chunk| len4().count(chunk.text.as_deref().unwrap_or_default())).sum();
        prop_assert_eq!(tokens, result.tokens);
        prop_assert!(tokens <= budget);
        // Kept chunks are those that came, unchanged, and with the dropped ones they are all.
        let mut seen: Vec<usize> = positions(&result);
        for kept in &result.chunks {
            prop_assert_eq!(kept, &all[kept.position]);
        }
        seen.extend(result.dropped.iter().map(|dropped| dropped.position));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..all.len()).collect::<Vec<_>>());
        prop_assert_eq!(result.is_truncated(), result.chunks.len() < all.len());
        // Descending scores, ties by position, chunks without a score last.
        for pair in result.chunks.windows(2) {
            // Adding zero makes -0 and 0 equal.
            let key = |chunk: &Chunk| chunk.score.map_or(f64::NEG_INFINITY, |score| score + 0.0);
            let order = key(&pair[1]).total_cmp(&key(&pair[0]));
            prop_assert!(order.then(pair[0].position.cmp(&pair[1].position)).is_lt());
        }
        prop_assert_eq!(&result, &select(all.clone(), budget, len4(), fill));
    }

    #[test]
    fn stop_keeps_a_prefix_of_the_order(all in chunks(), budget in 0..300_usize) {
        let order = select(all.clone(), usize::MAX, len4(), Fill::Stop).chunks;
        let kept = select(all, budget, len4(), Fill::Stop).chunks;
        let first_fits = order.first().is_none_or(|first| len4().count(first.text.as_deref().unwrap_or_default()) <= budget);
        let rest = if first_fits { &order[..] } else { &order[1..] };
        prop_assert_eq!(&kept[..], &rest[..kept.len()]);
        // The next one does not fit.
        if let Some(next) = rest.get(kept.len()) {
            let used: usize = kept.iter().map(|chunk| len4().count(chunk.text.as_deref().unwrap_or_default())).sum();
            prop_assert!(used + len4().count(next.text.as_deref().unwrap_or_default()) > budget);
        }
    }

    #[test]
    fn skip_keeps_what_stop_keeps_and_value_is_worth_no_less(all in chunks(), budget in 0..300_usize) {
        let kept = |fill| select(all.clone(), budget, len4(), fill).chunks;
        let (stop, skip, best) = (kept(Fill::Stop), kept(Fill::Skip), kept(Fill::Value));
        prop_assert!(stop.iter().all(|chunk| skip.contains(chunk)));
        prop_assert!(value(&all, &best) >= value(&all, &skip));
    }

    #[test]
    fn tokens_are_code_points_by_four_rounded_down(points in vec(any::<char>(), 0..200)) {
        let text: String = points.iter().collect();
        let result = format!(r#"{{"structuredContent":[{{"text":{}}}]}}"#, quote(&text));
        let chunks = read_chunks(&result, &FieldNames::default()).expect("a chunk");
        prop_assert_eq!(select(chunks, usize::MAX, len4(), Fill::Stop).tokens, points.len() / 4);
    }

    #[test]
    fn no_input_panics(result in "[\\[\\]{}\":,a-c0-9\\\\\\n tex]{0,200}") {
        let _ = read_chunks(&result, &FieldNames::default());
        let quoted = format!(r#"{{"content":[{{"text":{}}}]}}"#, quote(&result));
        let _ = read_chunks(&quoted, &FieldNames::default());
    }
}
