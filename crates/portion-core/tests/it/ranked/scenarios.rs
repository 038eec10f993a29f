//! Expectations of callers of retrieval tools.

use portion_core::policy::{FillStrategy, MetadataStyle, OrderStrategy, Policy, RenderOptions};
use proptest::prelude::*;
use serde_json::Value;

use super::material::{Reply, call, counter, passages, recall, scores, snapshot, told, walk};

const FILLS: [FillStrategy; 3] = [FillStrategy::Stop, FillStrategy::Skip, FillStrategy::Value];

fn policy(fill: FillStrategy) -> Policy {
    Policy { fill, ..Policy::default() }
}

/// R1: passages of a retrieval tool come in descending order of their scores.
#[test]
fn the_best_come_first() {
    for fill in FILLS {
        let reply = call(&snapshot(&passages(90)), &[], &policy(fill)).expect("large");
        let scores = scores(&reply.records());
        assert!(scores.len() > 5 && scores.is_sorted_by(|a, b| a >= b), "{fill:?}: {scores:?}");
        assert_eq!(reply.meta["strategy"], "ranked");
        assert!(scores[0] > 22.7);
    }
}

/// R2: whole passages until the next would exceed the budget, none split.
#[test]
fn whole_passages_until_the_next_would_exceed_the_budget() {
    let text = passages(90);
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let mut all: Vec<String> =
        whole["chunks"].as_array().expect("a list").iter().map(Value::to_string).collect();
    let by_score = |a: &String, b: &String| {
        scores(std::slice::from_ref(b))[0].total_cmp(&scores(std::slice::from_ref(a))[0])
    };
    all.sort_by(by_score);
    let reply = call(&snapshot(&text), &[], &policy(FillStrategy::Stop)).expect("large");
    let shown = reply.records();
    assert_eq!(shown, all[..shown.len()], "{}", told(&shown));
    let next = counter().count(&all[shown.len()]);
    let spare = reply.meta["budgetRemaining"].as_u64().expect("a number") as usize;
    assert!(spare < next + 200, "{spare} tokens are left, and the next takes {next}");
}

/// R3: dropped passages are reported and counted.
#[test]
fn dropped_passages_are_reported() {
    for fill in FILLS {
        let reply = call(&snapshot(&passages(90)), &[], &policy(fill)).expect("large");
        assert_eq!(reply.meta["truncated"], true);
        assert_eq!(reply.meta["dropped"], 90 - reply.records().len());
        assert!(reply.portion.notice().contains("nextCursor"));
    }
}

/// R4: the notice also reports that nothing was dropped.
#[test]
fn zero_dropped_passages_are_reported() {
    let policy = Policy { strategy: OrderStrategy::Ranked, ..policy(FillStrategy::Stop) };
    let reply = call(&snapshot(&passages(9)), &[], &policy).expect("an operator wants it in order");
    assert_eq!((&reply.meta["truncated"], &reply.meta["dropped"]), (&false.into(), &0.into()));
    assert_eq!(reply.records().len(), 9);
    assert!(!reply.portion.notice().contains("nextCursor"));
}

/// R5: another budget is kept, and used up.
#[test]
fn another_budget_is_kept() {
    let snapshot = snapshot(&passages(200));
    for fill in FILLS {
        for budget in [600, 2_000, 8_192] {
            let max_tokens = budget.to_string();
            let reply = call(&snapshot, &[("maxTokens", &max_tokens)], &policy(fill)).expect("large");
            assert_eq!(reply.meta["strategy"], "ranked");
            assert!(reply.portion.tokens() <= budget);
            // A passage takes up to 500 tokens, so less than one passage of the budget remains.
            assert!(
                reply.portion.tokens() + 500 > budget,
                "{fill:?}: {} of {budget}",
                reply.portion.tokens()
            );
        }
    }
}

/// The cursor leads to the dropped passages: a walk shows every record once, and whole.
#[test]
fn a_walk_shows_every_record_once() {
    let text = passages(150);
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let mut all: Vec<String> =
        whole["chunks"].as_array().expect("a list").iter().map(Value::to_string).collect();
    all.sort();
    for fill in FILLS {
        let replies = walk(&snapshot(&text), &[], &policy(fill));
        let mut shown: Vec<String> = replies.iter().flat_map(Reply::records).collect();
        shown.sort();
        assert!(replies.len() > 2 && shown == all, "{fill:?}: {} of {}", shown.len(), all.len());
        // After the selected passages, the others come by score as well.
        let rest: Vec<String> = replies[1..].iter().flat_map(Reply::records).collect();
        assert!(scores(&rest).is_sorted_by(|a, b| a >= b), "{fill:?}");
    }
}

/// Returns all records of a walk, in order.
fn all_records(replies: &[Reply]) -> Vec<String> {
    replies.iter().flat_map(Reply::records).collect()
}

/// Records have the same positions with all fields, with a limit, and by page numbers.
#[test]
fn every_request_shows_the_same_order() {
    let snapshot = snapshot(&passages(150));
    for fill in FILLS {
        let policy = policy(fill);
        let plain = walk(&snapshot, &[], &policy);
        let all = all_records(&plain);
        for controls in [("fields", "\"all\""), ("limit", "7"), ("fields", "\"id,score,text\"")] {
            let replies = walk(&snapshot, &[controls], &policy);
            assert!(all_records(&replies) == all, "{fill:?} {controls:?}");
        }
        // A numbered page continues where the first reply ended.
        let second = recall(&snapshot, &plain[0], &[("page", "2")], &policy);
        let served = plain[0].records().len();
        assert_eq!(second.meta["offset"], served, "{fill:?}");
        assert_eq!(second.records()[0], all[served], "{fill:?}");
        let fresh = call(&snapshot, &[("page", "2")], &policy).expect("large");
        assert_eq!(fresh.records(), second.records(), "{fill:?}");
        let from = recall(&snapshot, &plain[0], &[("offset", "3"), ("fields", "\"all\"")], &policy);
        assert_eq!(from.records()[0], all[3], "{fill:?}");
    }
}

/// Numbered pages report the size by which they are numbered.
#[test]
fn numbered_pages_report_their_size() {
    let snapshot = snapshot(&passages(150));
    for fill in FILLS {
        let render_options =
            RenderOptions { metadata_style: MetadataStyle::Snake, ..RenderOptions::default() };
        let policy = Policy { render_options, ..policy(fill) };
        let first = call(&snapshot, &[], &policy).expect("large");
        let size = first.records().len();
        for page in [2, 3] {
            let reply = recall(&snapshot, &first, &[("page", &page.to_string())], &policy);
            let meta = &reply.meta;
            assert_eq!((&meta["page_size"], &meta["offset"]), (&size.into(), &((page - 1) * size).into()));
            assert_eq!(meta["current_page"], page, "{fill:?} {meta}");
            if reply.records().len() == size {
                assert_eq!(meta["next_page"], page + 1, "{fill:?} {meta}");
            }
        }
    }
}

/// Numbered pages have all of their records, also where the records that are shown first end.
#[test]
fn numbered_pages_hold_all_their_records() {
    let snapshot = snapshot(&passages(150));
    for fill in FILLS {
        for page in 1..=25 {
            let controls = [("limit", "6"), ("page", &*page.to_string())];
            let reply = call(&snapshot, &controls, &policy(fill)).expect("large");
            assert_eq!(reply.records().len(), 6, "{fill:?} page {page}");
        }
    }
}

/// Skipping passages that do not fit selects more of them.
#[test]
fn skipping_selects_more() {
    let snapshot = snapshot(&passages(90));
    let kept = FILLS.map(|fill| call(&snapshot, &[], &policy(fill)).expect("large").records().len());
    assert!(kept[0] <= kept[1] && kept[1] < kept[2], "{kept:?}");
}

/// A passage too large for any budget is shown like any record that is too large: as a summary.
#[test]
fn a_passage_that_does_not_fit_is_summarized() {
    let huge = format!(
        "[{{\"id\":\"a\",\"score\":0.9,\"text\":\"{}\"}},{{\"id\":\"b\",\"score\":0.1,\"text\":\"{}\"}}]",
        "words upon words. ".repeat(3_000),
        "a few words. ".repeat(20),
    );
    let snapshot = snapshot(&huge);
    let replies = walk(&snapshot, &[], &policy(FillStrategy::Stop));
    assert!(replies[0].text().contains("\"id\":\"a\"") && !replies[0].text().contains("\"id\":\"b\""));
    assert!(replies.iter().any(|reply| reply.text().contains("\"id\":\"b\"")));
}

proptest! {
    /// For all scores, lengths and limits: every record once, whole, within the budget, nothing unreported.
    #[test]
    fn no_choice_loses_a_record(
        records in proptest::collection::vec((0_u32..40, 0_usize..40), 2..120),
        target in 600_usize..4_000,
        fill in proptest::sample::select(FILLS.to_vec()),
    ) {
        let record = |(i, (score, length)): (usize, &(u32, usize))| {
            let text = "a thin wing ".repeat(*length);
            format!("{{\"id\":{i},\"score\":-0.{score},\"text\":\"{text}\"}}")
        };
        let records: Vec<String> = records.iter().enumerate().map(record).collect();
        let policy = Policy { reply_target: target, ranked_target: target.min(2_000), strategy: OrderStrategy::Ranked, ..policy(fill) };
        let replies = walk(&snapshot(&format!("[{}]", records.join(","))), &[], &policy);
        let mut shown = Vec::new();
        for reply in &replies {
            prop_assert!(reply.portion.tokens() <= 4_000);
            shown.extend(reply.records());
            let left = records.len() - shown.len();
            prop_assert_eq!(&reply.meta["dropped"], left);
            prop_assert_eq!(&reply.meta["truncated"], left > 0);
        }
        let mut all: Vec<String> = records.iter().map(|record| {
            serde_json::from_str::<Value>(record).expect("JSON").to_string()
        }).collect();
        all.sort();
        shown.sort();
        prop_assert_eq!(shown, all);
    }
}
