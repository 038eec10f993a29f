//! Numbered pages skip no item without reporting it, whatever page size a client assumes.

use portion_core::cursor::{PartOffset, Position};
use portion_core::policy::{MetadataStyle, Policy};
use portion_core::snapshot::Structure;
use portion_core::view::{Request, View};
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use super::choices::{Dice, dice};
use super::lossless::text_payload;
use super::session::{Reply, Session};
use super::{cases, payloads, reject, requests};

/// Largest number of replies that a client reads.
const FAR: usize = 30;

/// Items that a client was shown, or that were reported as not shown.
struct Seen {
    items: Vec<bool>,
    /// End of the last reply.
    end: usize,
}

impl Seen {
    fn take(&mut self, reply: &Reply) {
        let notice = &reply.notice;
        let offset = number(&notice["meta"]["offset"]).expect("an offset");
        let served = number(&notice["meta"]["served"]).unwrap_or(0);
        self.end = offset + served;
        self.mark(offset, served);
        if reply.kind() == "raw" {
            // A part of one item is shown, and the cursor returns the others.
            self.mark(offset, 1);
            self.end =
                offset + usize::from(reply.next().is_none_or(|at| matches!(at.offset, PartOffset::Item(_))));
        }
        let number_in = |object: &Value, key: &str| number(&object[key]).expect("it is a number");
        if let Some(cut) = notice.get("cut") {
            assert!(notice.to_string().starts_with("{\"cut\":"), "{notice}");
            assert_eq!(number_in(cut, "served"), served, "{notice}");
            assert!(number_in(cut, "of") > served && reply.next().is_some(), "{notice}");
            assert!(cut["next"].is_string(), "{notice}");
            self.mark(offset, number_in(cut, "of"));
        }
        if let Some(not_shown) = notice.get("notShown") {
            self.mark(number_in(not_shown, "offset"), number_in(not_shown, "items"));
        }
    }

    fn mark(&mut self, from: usize, count: usize) {
        self.items.iter_mut().skip(from).take(count).for_each(|is_seen| *is_seen = true);
    }

    fn all_before(&self, end: usize) -> bool {
        self.items.iter().take(end).all(|is_seen| *is_seen)
    }
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().map(|number| number as usize)
}

/// Requests the next numbered page, with the same arguments, or by the cursor of the first reply.
fn page(session: &Session, first: &Reply, request: &Request, recalled: bool) -> Reply {
    if recalled {
        session.recall(&first.view.root_with_pagination(), request).expect("the same was asked before")
    } else {
        let only = Request { page: request.page, ..Request::default() };
        session.read(&first.view, first.start(), &only).expect("a page")
    }
}

pub(crate) fn check(mut dice: Dice) -> TestCaseResult {
    let text = payloads::list(&mut dice);
    let mut policy = requests::policy(&mut dice);
    policy.render_options.has_fixed_page_size = dice.once_in(3);
    let numbers = dice.once_in(3);
    if numbers {
        policy.render_options.metadata_style = MetadataStyle::Snake;
    }
    let counter = requests::counter(&mut dice);
    let session = Session::new(text_payload(text), policy, counter);
    let Structure::List(list) = &session.snapshot.parts()[0].indexed_text().expect("text").structure else {
        return reject("no list");
    };
    let limit = dice.pick(&[None, None, Some(1), Some(7), Some(20), Some(50)]);
    let limit = limit.filter(|limit| *limit as usize <= session.policy.max_page_size);
    let fields = dice.pick(&[None, None, None, Some("all")]).filter(|_| !list.profile.fields.is_empty());
    let opening = Request { limit, fields: fields.map(str::to_owned), ..Request::default() };
    let Ok(Some(first)) = session.call(&opening) else { return reject("the list passes untouched") };
    prop_assume!(matches!(first.kind(), "page" | "raw"));
    let mut shown = Seen { items: vec![false; list.len()], end: 0 };
    shown.take(&first);
    let size = number(&first.notice["meta"]["pageSize"]).unwrap_or(1);
    let recalled = dice.once_in(2);
    let mut onward = first.next().map(|next| (first.view.clone(), next));
    let mut next_page = number(&first.notice["meta"]["nextPage"]);
    let mut turn = 1;
    let mut notices = vec![first.notice.to_string()];
    let mix = dice.once_in(2);
    while turn < FAR && (onward.is_some() || !mix) {
        turn += 1;
        let by_cursor = if numbers { next_page.is_none() } else { mix && dice.once_in(2) };
        let by_number = |page| Request { page: Some(page), ..opening.clone() };
        let reply = match (&onward, by_cursor) {
            (Some((view, at)), true) => session.read(view, *at, &Request::default()).expect("it goes on"),
            (None, true) => break,
            _ => {
                let follows = if mix { shown.end / size + 1 } else { turn };
                let wanted = next_page.filter(|_| numbers).unwrap_or(follows) as u32;
                page(&session, &first, &by_number(wanted), recalled)
            }
        };
        shown.take(&reply);
        notices.push(reply.notice.to_string());
        let from = number(&reply.notice["meta"]["offset"]).expect("an offset");
        let is_complete = shown.all_before(from.min(list.len()));
        assert!(is_complete, "passed over before {from}: {:?}\n{}", shown.items, notices.join("\n"));
        if from >= list.len() {
            assert!(list.is_empty() || reply.notice["meta"]["pastEnd"] == true, "{reply:?}");
            break;
        }
        onward = reply.next().map(|next: Position| (reply.view.clone(), next));
        next_page = number(&reply.notice["meta"]["nextPage"]);
    }
    if turn < FAR {
        assert!(shown.all_before(list.len()), "not all: {:?}\n{}", shown.items, notices.join("\n"));
    }
    Ok(())
}

/// A page by number reports exactly what the page before it, requested by number, did not show.
pub(crate) fn check_reported(mut dice: Dice) -> TestCaseResult {
    let (text, policy) = (payloads::list(&mut dice), requests::policy(&mut dice));
    // Counts by length, because the cost of a cursor must not depend on its content.
    let session = Session::new(text_payload(text), policy, Tokenizer::Chars4.counter());
    let Structure::List(list) = &session.snapshot.parts()[0].indexed_text().expect("text").structure else {
        return reject("no list");
    };
    let limit = dice.pick(&[None, Some(7), Some(20), Some(50)]);
    let limit = limit.filter(|limit| *limit as usize <= session.policy.max_page_size);
    let opening = Request { limit, ..Request::default() };
    let Ok(Some(first)) = session.call(&opening) else { return reject("the list passes untouched") };
    prop_assume!(first.kind() == "page");
    let (recalled, mut end) = (dice.once_in(2), 0);
    let mut notices = Vec::new();
    for turn in 1..FAR {
        let reply = page(&session, &first, &Request { page: Some(turn as u32), ..opening.clone() }, recalled);
        let Some(from) = number(&reply.notice["meta"]["offset"]).filter(|from| *from < list.len()) else {
            break;
        };
        notices.push(reply.notice.to_string());
        let told = &reply.notice["notShown"];
        let (offset, items) = (number(&told["offset"]).unwrap_or(from), number(&told["items"]).unwrap_or(0));
        // Fewer items of the first page may have been shown without a number.
        if turn > 2 || items < from - end {
            assert_eq!((offset, items), (end, from - end), "page {turn}: {}", notices.join("\n"));
        }
        let Some(served) = number(&reply.notice["meta"]["served"]) else {
            return reject("a part of an item");
        };
        end = from + served;
    }
    Ok(())
}

/// Pages of other fields have the size of the first walk, of which their first page may show less.
pub(crate) fn check_other_fields(mut dice: Dice) -> TestCaseResult {
    let session = Session::new(
        text_payload(payloads::list(&mut dice)),
        requests::policy(&mut dice),
        requests::counter(&mut dice),
    );
    let Structure::List(list) = &session.snapshot.parts()[0].indexed_text().expect("text").structure else {
        return reject("no list");
    };
    prop_assume!(!list.profile.fields.is_empty());
    let limit = dice.pick(&[None, Some(7), Some(20)]);
    let limit = limit.filter(|limit| *limit as usize <= session.policy.max_page_size);
    let opening = Request { limit, page: dice.pick(&[None, Some(1)]), ..Request::default() };
    let Ok(Some(first)) = session.call(&opening) else { return reject("the list passes untouched") };
    prop_assume!(first.kind() == "page");
    let root = first.view.root_with_pagination();
    let mut shown = Seen { items: vec![false; list.len()], end: 0 };
    let mut notices = vec![first.notice.to_string()];
    for turn in 1..FAR {
        let page = Some(turn as u32).filter(|page| *page > 1 || dice.once_in(2));
        let request = Request { fields: Some("all".to_owned()), page, ..Request::default() };
        let reply = session.recall(&root, &request).expect("the same was asked before");
        if reply.notice["meta"]["offset"].is_null() {
            assert_ne!(reply.kind(), "page", "{reply:?}");
            return reject("the list is shown as bytes");
        }
        shown.take(&reply);
        notices.push(format!("{page:?} {}", reply.notice));
        let from = number(&reply.notice["meta"]["offset"]).expect("an offset");
        let is_complete = shown.all_before(from.min(list.len()));
        assert!(is_complete, "passed over before {from}: {:?}\n{}", shown.items, notices.join("\n"));
        if from >= list.len() {
            break;
        }
    }
    Ok(())
}

/// Without a `limit`, the second page begins where the first reply ended, even for a fresh payload.
pub(crate) fn check_second(mut dice: Dice) -> TestCaseResult {
    let text = payloads::list(&mut dice);
    let policy = requests::policy(&mut dice);
    // Counts by length, because the cost of a cursor must not depend on its content.
    let session = Session::new(text_payload(text), policy, Tokenizer::Chars4.counter());
    let Structure::List(list) = &session.snapshot.parts()[0].indexed_text().expect("text").structure else {
        return reject("no list");
    };
    let second = Request { page: Some(2), ..Request::default() };
    let first = session.call(&Request::default()).expect("plain");
    let fresh = session.call(&second).expect("a page").expect("asked for");
    let offset = number(&fresh.notice["meta"]["offset"]).expect("an offset");
    match first.filter(|first| first.kind() == "page" && first.portion.structured().is_none()) {
        Some(first) if first.next().is_some() => {
            let served = number(&first.notice["meta"]["served"]).expect("a count");
            assert_eq!(offset, served.max(1), "{first:?}");
            let again = page(&session, &first, &second, true);
            assert_eq!(again.notice["meta"]["offset"], fresh.notice["meta"]["offset"]);
        }
        _ => assert!(offset >= list.len().min(1), "{fresh:?}"),
    }
    Ok(())
}

/// Pages of a text follow each other, even if each is rendered for a fresh payload.
#[test]
fn pages_of_a_text_are_as_large_as_its_first_reply() {
    let lines: Vec<String> =
        (0..900).map(|n| format!("2026-03-01T06:00:00Z INFO request {n} {}", "x".repeat(n % 90))).collect();
    let text = lines.join("\n");
    let session = Session::new(text_payload(text), Policy::default(), Tokenizer::Chars4.counter());
    let range = |page| {
        let reply = session.call(&Request { page, ..Request::default() }).expect("valid").expect("a page");
        ["startLine", "endLine"].map(|key| number(&reply.notice["meta"][key]).expect("a line"))
    };
    let [first, size] = range(None);
    assert_eq!(first, 1);
    for page in 2..5 {
        let last = size * (page - 1);
        assert_eq!(range(Some(page as u32)), [last + 1, last + size], "page {page}");
    }
}

/// The root view has no pagination of its own: its pages have the size of its walk.
#[test]
fn a_root_view_has_no_pagination_of_its_own() {
    assert_eq!(View::root().id(), View::root().root_with_pagination().id());
}

#[test]
fn payloads_that_once_failed_pass() {
    for seed in [9_150_535_395_935_534_066, 16_392_414_934_077_688_732] {
        check(Dice::new(seed)).expect("it is checked");
    }
    for seed in [18_123_644_090_090_118_479, 5_640_334_865_821_080_948, 12_405_859_640_759_757_036] {
        check_second(Dice::new(seed)).expect("it is checked");
    }
}

proptest! {
    #![proptest_config(cases(1_000))]
    #[test]
    fn no_item_is_skipped(dice in dice()) {
        check(dice)?;
    }

    #[test]
    fn what_the_page_before_did_not_show_is_reported(dice in dice()) {
        check_reported(dice)?;
    }

    #[test]
    fn other_fields_skip_no_item(dice in dice()) {
        check_other_fields(dice)?;
    }

    #[test]
    fn the_second_page_continues_where_the_first_ended(dice in dice()) {
        check_second(dice)?;
    }
}
