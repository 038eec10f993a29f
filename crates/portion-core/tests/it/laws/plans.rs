//! Properties of the plan of a page.

use portion_core::policy::Policy;
use portion_core::view::Request;
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::lossless::text_payload;
use super::session::{Reply, Session};
use super::{cases, payloads};
use crate::laws::json::Json;

/// Generates a list of records that have the same fields, short and long.
fn list(dice: &mut Dice) -> String {
    let (count, width) = (dice.within(20, 90), dice.within(3, 30));
    let long = dice.within(1, 40);
    let names = ["id", "name", "status", "createdAt", "total", "message", "url", "flags", "note", "owner"];
    let record = |n: usize| {
        let field = |at: usize| {
            let name = format!(
                "\"{}{}\"",
                names[at % names.len()],
                if at < names.len() { "" } else { "X" }.repeat(at / 10)
            );
            let value = match at % 7 {
                0 => Json::Word(format!("{}", 1000 + n * 7 + at)),
                1 => Json::Text(format!("\"Name {} of {n}\"", at * n % 13)),
                2 => Json::Text(format!("\"2026-0{}-1{}\"", n % 9 + 1, n % 10)),
                3 => Json::Word(["true", "false", "null"][n % 3].to_owned()),
                4 => Json::Text(format!("\"{}\"", "word ".repeat(long + n % 5))),
                5 => Json::Array(vec![Json::Word("1".into()), Json::Text("\"a\"".into())]),
                _ => Json::Object(vec![("\"city\"".into(), Json::Text(format!("\"City {}\"", n % 4)))]),
            };
            (name, value)
        };
        Json::Object((0..width).map(field).collect())
    };
    Json::Array((0..count).map(record).collect()).minified()
}

fn first(text: &str, tokens: usize, request: &Request) -> Option<Reply> {
    let policy = Policy { token_budget_threshold: tokens, reply_target: tokens, ..Policy::default() };
    let policy = Policy { full_below: 300, ranked_target: 300, ..policy };
    let session = Session::new(text_payload(text.to_owned()), policy, Tokenizer::O200k.counter());
    session.call(request).expect("a plain request")
}

/// Returns the number of records, and of columns with the most for all of them.
fn extent(reply: &Reply) -> Option<(usize, usize)> {
    let plan = reply.portion.plan()?;
    Some((plan.item_count, plan.columns.as_ref().map_or(usize::MAX, Vec::len)))
}

fn check_growth(mut dice: Dice) -> TestCaseResult {
    let text = list(&mut dice);
    let limit = dice.once_in(2).then(|| dice.within(5, 60) as u32);
    let request = Request { limit, ..Request::default() };
    let budget = dice.within(600, 4_000);
    let more = budget + dice.within(1, 4_000);
    let both = (first(&text, budget, &request), first(&text, more, &request));
    let (Some(less), Some(more)) = both else { return Ok(()) };
    let (Some(less), Some(more)) = (extent(&less), extent(&more)) else { return Ok(()) };
    prop_assert!(more.0 > less.0 || more.1 >= less.1, "{less:?} became {more:?}");
    Ok(())
}

fn check_walk(mut dice: Dice) -> TestCaseResult {
    let text = list(&mut dice);
    let budget = dice.within(600, 4_000);
    let policy = Policy { token_budget_threshold: budget, reply_target: budget, ..Policy::default() };
    let policy = Policy { full_below: 300, ranked_target: 300, ..policy };
    let session = Session::new(text_payload(text), policy, Tokenizer::O200k.counter());
    let Some(first) = session.call(&Request::default()).expect("plain") else { return Ok(()) };
    let columns = |reply: &Reply| reply.portion.plan().map(|plan| plan.columns.clone());
    let expected = columns(&first);
    let (view, mut next) = (first.view.clone(), first.next());
    while let Some(position) = next {
        let page = session.read(&view, position, &Request::default()).expect("a page");
        if let Some(columns) = columns(&page) {
            prop_assert_eq!(Some(columns), expected.clone());
        }
        next = page.next();
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(300))]
    #[test]
    fn a_larger_budget_shows_more_records_or_as_many_columns(dice in dice()) {
        check_growth(dice)?;
    }

    #[test]
    fn all_pages_of_a_walk_have_the_same_columns(dice in dice()) {
        check_walk(dice)?;
    }
}

/// Records of an identity and one long value show both.
#[test]
fn identities_are_not_shown_alone() {
    for (name, words, count) in
        [("trace", 800, 30), ("note", 60, 300), ("isNew", 1, 9_000), ("payload", 4_000, 12)]
    {
        let record =
            |id: usize| format!("{{\"id\":{id},\"{name}\":\"{}{id}\"}}", "seven words ".repeat(words));
        let text = format!("[{}]", (0..count).map(record).collect::<Vec<_>>().join(","));
        for budget in [1_000, 2_000, 4_000] {
            let reply = first(&text, budget, &Request::default()).expect("shaped");
            assert!(
                reply.text().contains(&format!("\"{name}\":\"seven")),
                "{name} at {budget}: {}",
                reply.text()
            );
        }
    }
}

/// A long text is shortened if that makes room for it.
#[test]
fn long_texts_are_shown_shortened() {
    let article = |id: usize| {
        let body = "A sentence about the house. ".repeat(30 + id % 20);
        format!(
            "{{\"id\":{id},\"title\":\"Article {id}\",\"date\":\"2026-01-0{}\",\"body\":\"{body}\"}}",
            id % 9 + 1
        )
    };
    let text = format!("[{}]", (0..120).map(article).collect::<Vec<_>>().join(","));
    let reply = first(&text, 4_000, &Request::default()).expect("shaped");
    assert!(reply.text().contains("\"body\":\"A sentence"), "{}", reply.text());
}

/// A limit that does not fit with the main fields serves fewer records rather than identities.
#[test]
fn a_large_limit_does_not_show_identities_alone() {
    let line = |n: usize| {
        let (time, message) = (format!("2026-01-02T03:04:{:02}Z", n % 60), "took a while ".repeat(4));
        format!("{{\"n\":{n},\"ts\":\"{time}\",\"level\":\"info\",\"msg\":\"{message}{n}\"}}")
    };
    let text = (0..400).map(line).collect::<Vec<_>>().join("\n");
    let request = Request { limit: Some(200), ..Request::default() };
    let reply = first(&text, 3_000, &request).expect("shaped");
    assert!(reply.text().contains("\"ts\":"), "{}", reply.text());
}

/// A second list beside the one that is served is not repeated on its pages.
#[test]
fn a_page_with_a_limit_does_not_repeat_another_list() {
    let records = |name: &str| {
        (0..150).map(|n| format!("{{\"{name}\":{n},\"total\":{n}.5}}")).collect::<Vec<_>>().join(",")
    };
    let text = format!("{{\"orders\":[{}],\"refunds\":[{}]}}", records("order"), records("refund"));
    let request = Request { limit: Some(7), ..Request::default() };
    let reply = first(&text, 4_000, &request).expect("shaped");
    assert!(reply.text().len() < 500, "{}", reply.text());
}

/// The records cost no more than planned, and little less.
#[test]
fn a_plan_is_close_to_the_cost() {
    let (mut planned, mut counted) = (0, 0);
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let text = if seed % 2 == 0 { list(&mut dice) } else { payloads::list(&mut dice) };
        let Some(reply) = first(&text, 3_000, &Request::default()) else { continue };
        let Some(plan) = reply.portion.plan() else { continue };
        let count = Tokenizer::O200k.counter().count(reply.text());
        // Records with repeated keys may cost more than their first values; the reply fits nevertheless.
        let max = if seed % 2 == 0 { plan.tokens } else { plan.budget };
        assert!(count <= max, "seed {seed}: {count} tokens of {plan:?}: {}", reply.text());
        (planned, counted) = (planned + plan.tokens, counted + count);
    }
    assert!(planned > 30_000 && planned * 100 <= counted * 103, "{planned} planned, {counted} counted");
}
