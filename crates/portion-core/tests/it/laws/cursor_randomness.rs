//! The random bytes of cursors change neither the content of a reply nor the cost that it reports.

use std::cell::RefCell;

use portion_core::cursor::{CursorTarget, CursorToken, Keyring, Position, Scope};
use portion_core::policy::Policy;
use portion_core::ranking::rank;
use portion_core::render::{self, Context, FirstReply, Portion};
use portion_core::view::{Request, ResolvedRequest, View, resolve};
use portion_json::scan::quote;
use portion_tokens::{TokenCounter, Tokenizer};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::session::Session;
use super::{cases, payloads, reject, requests};

/// Replies per request, each with different cursors.
const TIMES: u64 = 6;
/// Smallest budget, in tokens, that holds cursors at their charge.
const LEAST: usize = 400;
/// Replies per walk.
const REPLIES: usize = 3;

/// Next step of a walk: a view and a position.
type Next = (View, Position);

/// Content of a reply, with each cursor replaced by its position.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    pieces: Vec<String>,
    structured: Option<String>,
    notice: String,
    reported_tokens: usize,
}

/// Renders with a random secret and snapshot id. Returns the portion and the cursors in it.
fn rendered(
    session: &Session,
    resolved: &ResolvedRequest,
    fresh: bool,
    chance: u64,
) -> Option<(Portion, Vec<(CursorToken, Position)>)> {
    let mut dice = Dice::new(chance);
    let keyring = Keyring::new(&std::array::from_fn(|_| dice.roll() as u8));
    let snapshot = std::array::from_fn(|_| dice.roll() as u8);
    let minted = RefCell::new(Vec::new());
    let mint = |position| {
        let pointer = CursorTarget { snapshot, view: resolved.view.id(), position };
        let token = keyring.sign(&pointer, &Scope::from_principal("caller"));
        minted.borrow_mut().push((token.clone(), position));
        Some(token)
    };
    let cx = Context {
        policy: &session.policy,
        counter: session.counter,
        issue_cursor: &mint,
        read_call: "portion_read".into(),
        query_tool: Some("portion_query"),
        read_uri: session.read_uri,
    };
    let portion = if fresh {
        match render::first_reply(&session.snapshot, resolved, &cx) {
            FirstReply::Portion(portion) => portion,
            FirstReply::Untouched { .. } => return None,
        }
    } else {
        render::follow_up_reply(&session.snapshot, resolved, &cx)
    };
    Some((portion, minted.into_inner()))
}

fn content(portion: &Portion, minted: &[(CursorToken, Position)]) -> Content {
    let masked = |text: &str| {
        let mask = |text: String, (token, at): &(CursorToken, Position)| {
            text.replace(token.as_str(), &format!("<{at:?}>"))
        };
        minted.iter().fold(text.to_owned(), mask)
    };
    Content {
        pieces: portion.pieces().iter().map(|piece| masked(piece.body.as_str())).collect(),
        structured: portion.structured().map(masked),
        notice: masked(portion.notice()),
        reported_tokens: portion.tokens(),
    }
}

/// Renders one request several times, asserts equal content, and returns where the walk continues.
fn check_equal(
    session: &Session,
    resolved: &ResolvedRequest,
    (fresh, plain): (bool, bool),
    dice: &mut Dice,
) -> Option<Next> {
    // Smaller budgets hold a notice only if its cursors are charged what they really cost.
    if resolved.token_budget < LEAST {
        return None;
    }
    let (portion, minted) = rendered(session, resolved, fresh, dice.roll())?;
    let expect = content(&portion, &minted);
    for _ in 1..TIMES {
        let (other, minted) = rendered(session, resolved, fresh, dice.roll()).expect("as before");
        assert_eq!(content(&other, &minted), expect);
        session.costs_no_more(resolved, &other, (fresh, plain));
    }
    let next = portion.next_cursor()?;
    let at = minted.iter().find(|(token, _)| token == next).expect("its own cursor").1;
    Some((render::view_with_pagination(resolved.view.clone(), &portion), at))
}

fn check(mut dice: Dice, counter: &'static dyn TokenCounter) -> TestCaseResult {
    let policy = requests::policy(&mut dice);
    let uri = dice.pick(&[None, None, Some("portion://read/")]);
    let mut session = Session::new(payloads::payload(&mut dice), policy, counter);
    session.read_uri = uri;
    let request = requests::request(&mut dice, &session.policy);
    let Ok(resolved) = resolve(&session.snapshot, None, &request, &session.policy) else {
        return reject("an error");
    };
    let resolved = rank(&session.snapshot, resolved, &session.policy, session.counter);
    let plain = request == Request::default();
    let mut next = check_equal(&session, &resolved, (true, plain), &mut dice);
    prop_assume!(next.is_some());
    for _ in 1..REPLIES {
        let Some((view, at)) = next else { break };
        let request =
            if dice.once_in(3) { requests::request(&mut dice, &session.policy) } else { Request::default() };
        let Ok(resolved) = resolve(&session.snapshot, Some((&view, at)), &request, &session.policy) else {
            return reject("an error in a follow-up");
        };
        let resolved = rank(&session.snapshot, resolved, &session.policy, session.counter);
        next = check_equal(&session, &resolved, (false, false), &mut dice);
    }
    Ok(())
}

/// Most requests of this property are invalid.
fn cases_with_rejects() -> ProptestConfig {
    let config = cases(40);
    ProptestConfig { max_global_rejects: 25 * config.cases.max(40), ..config }
}

proptest! {
    #![proptest_config(cases_with_rejects())]
    #[test]
    fn no_byte_of_a_cursor_changes_a_reply(mut dice in dice()) {
        let counter = requests::counter(&mut dice);
        check(dice, counter)?;
    }

    #[test]
    fn no_byte_of_a_cursor_changes_a_reply_that_a_vocabulary_counts(mut dice in dice()) {
        let counter = dice.pick(&[Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Auto]);
        check(dice, counter.counter())?;
    }
}

/// A list of similar records, whose pages end close to their budget.
#[test]
fn equal_calls_serve_equal_pages() {
    for (seed, records) in (0..10).zip((20..).step_by(18)) {
        let mut dice = Dice::new(seed);
        let items: Vec<String> = (0..records + 100)
            .map(|i| {
                let (name, notes) = (
                    quote(&payloads::prose(&mut dice, 2)),
                    quote(&payloads::prose(&mut dice, 4 + records / 20)),
                );
                format!("{{\"id\":{i},\"name\":{name},\"status\":\"open\",\"notes\":{notes}}}")
            })
            .collect();
        let list = format!("{{\"items\":[{}]}}", items.join(","));
        for policy in [Policy::default(), Policy::default().lean()] {
            for tokenizer in [Tokenizer::Auto, Tokenizer::O200k, Tokenizer::Cl100k] {
                let payload = super::lossless::text_payload(list.clone());
                let session = Session::new(payload, policy.clone(), tokenizer.counter());
                let resolved =
                    resolve(&session.snapshot, None, &Request::default(), &session.policy).expect("plain");
                let next = check_equal(&session, &resolved, (true, true), &mut dice);
                let (view, at) = next.expect("it is long");
                let resolved =
                    resolve(&session.snapshot, Some((&view, at)), &Request::default(), &session.policy)
                        .expect("plain");
                check_equal(&session, &resolved, (false, false), &mut dice);
            }
        }
    }
}
