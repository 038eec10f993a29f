//! Small payloads pass untouched, and paging does not change a list.

use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::snapshot::Structure;
use portion_core::view::Request;
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::lossless::text_payload;
use super::session::Session;
use super::{cases, payloads};

pub(crate) fn check_small(mut dice: Dice) {
    let counter = Tokenizer::Chars4.counter();
    let text = payloads::body(&mut dice);
    let session = Session::new(text_payload(text.clone()), Policy::default(), counter);
    let policy = &session.policy;
    let cost = counter.count(&text);
    let small = match &session.snapshot.parts()[0].indexed_text().expect("text").structure {
        Structure::List(list) => {
            list.len() <= policy.default_page_size && cost <= policy.token_budget_threshold
        }
        Structure::Object(_) => cost <= policy.summarize_above,
        Structure::Text(_) => cost <= policy.chunk_above,
    };
    let small = small || cost <= policy.full_below;
    let untouched = session.call(&Request::default()).expect("plain").is_none();
    assert_eq!(untouched, small, "{cost} tokens");
}

/// Checks that page n begins at (n-1) times the limit.
pub(crate) fn check_page(mut dice: Dice) -> TestCaseResult {
    let text = payloads::list(&mut dice);
    let session = Session::new(text_payload(text), Policy::default(), Tokenizer::Chars4.counter());
    let (limit, page) = (dice.within(1, 60) as u32, dice.within(1, 6) as u32);
    let structure = &session.snapshot.parts()[0].indexed_text().expect("text").structure;
    prop_assume!(matches!(structure, Structure::List(_)));
    let plain = Request { limit: Some(limit), ..Request::default() };
    let by_page = session.call(&Request { page: Some(page), ..plain.clone() }).expect("a page");
    let by_offset = session.call(&Request { offset: Some((page - 1) * limit), ..plain }).expect("an offset");
    let (by_page, by_offset) = (by_page.expect("asked for"), by_offset.expect("asked for"));
    assert_eq!(by_page.text(), by_offset.text());
    assert_eq!(by_page.next().map(|at| at.offset), by_offset.next().map(|at| at.offset));
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_500))]
    #[test]
    fn small_payloads_are_untouched(dice in dice()) {
        check_small(dice);
    }

    #[test]
    fn a_page_number_is_an_offset(dice in dice()) {
        check_page(dice)?;
    }
}

#[test]
fn replaced_bytes_are_reported_unless_they_pass() {
    for passes_as_bytes in [true, false] {
        let told = |text: String| {
            let payload = Payload { invalid_utf8_count: 2, passes_as_bytes, ..text_payload(text) };
            let session = Session::new(payload, Policy::default(), Tokenizer::Chars4.counter());
            let reply = session.call(&Request::default()).expect("plain")?;
            Some(reply.notice["meta"]["replaced"].to_string())
        };
        let report = "\"2 invalid sequences are shown as U+FFFD\"";
        assert_eq!(told("[1]".to_owned()).as_deref(), (!passes_as_bytes).then_some(report));
        assert_eq!(told("a line\n".repeat(20_000)).as_deref(), Some(report));
    }
}
