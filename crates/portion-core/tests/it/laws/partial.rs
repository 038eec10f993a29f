//! Replies from a snapshot with missing blocks are those of the whole snapshot, once the blocks that they need are there.
//! A page needs few of them.

use portion_core::cursor::{PartOffset, Position};
use portion_core::policy::Policy;
use portion_core::render::Portion;
use portion_core::snapshot::{EncodedSnapshot, Snapshot};
use portion_core::view::{Request, View};
use portion_tokens::Tokenizer;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::lossless::text_payload;
use super::session::{Session, is_same};
use super::{cases, payloads, reject, requests};

/// Follow-ups compared in each case.
const FOLLOW_UPS: usize = 8;

/// Decodes a snapshot of which only the chosen blocks are there.
fn partial(encoded: &EncodedSnapshot, mut is_there: impl FnMut() -> bool) -> Snapshot {
    let blocks: Vec<Option<&[u8]>> =
        encoded.blocks.iter().map(|block| is_there().then_some(&**block)).collect();
    EncodedSnapshot::decode_partial(&encoded.meta, &blocks).unwrap_or_else(|why| panic!("{why}"))
}

/// Renders until no missing block is needed. Returns the result and the number of blocks that were added.
fn completed<T>(
    session: &mut Session,
    encoded: &EncodedSnapshot,
    render: impl Fn(&Session) -> T,
) -> (T, usize) {
    let mut added = 0;
    loop {
        session.snapshot = session.snapshot.without_needs();
        let rendered = render(session);
        let needed = session.snapshot.needed_blocks();
        if needed.is_empty() {
            return (rendered, added);
        }
        added += needed.len();
        let blocks: Vec<_> =
            needed.into_iter().map(|number| (number, encoded.blocks[number as usize].clone())).collect();
        session.snapshot = session.snapshot.with_blocks(&blocks).unwrap_or_else(|why| panic!("{why}"));
    }
}

fn assert_same(here: &Portion, there: &Portion) {
    assert!(is_same(here, there), "{here:?}, but {there:?}");
}

pub(crate) fn check(mut dice: Dice) -> TestCaseResult {
    let policy = requests::policy(&mut dice);
    let counter = requests::counter(&mut dice);
    let here = Session::new(payloads::payload(&mut dice), policy.clone(), counter);
    let request = requests::request(&mut dice, &here.policy);
    let Ok(Some(mut reply)) = here.call(&request) else { return reject("no portion") };
    let encoded = EncodedSnapshot::with_block_size(&here.snapshot, dice.within(4, 300));
    let mut there = Session::new(text_payload(String::new()), policy, counter);
    there.snapshot = partial(&encoded, || dice.once_in(3));
    for _ in 0..FOLLOW_UPS {
        let Some(next) = reply.next() else { break };
        let (view, id) = (reply.view.encode(&here.snapshot), reply.view.id());
        let other =
            if dice.once_in(4) { requests::request(&mut dice, &here.policy) } else { Request::default() };
        let (portion, _) = completed(&mut there, &encoded, |there| {
            let view = View::decode(&there.snapshot, id, &view).unwrap_or_else(|why| panic!("{why}"));
            there.follow_up(&view, next, &other)
        });
        match (here.follow_up(&reply.view, next, &other), portion) {
            (Ok(here), Ok(there)) => assert_same(&here, &there),
            (Err(here), Err(there)) => assert_eq!(here.to_string(), there.to_string()),
            (here, there) => panic!("{here:?}, but {there:?}"),
        }
        reply = here.read(&reply.view, next, &Request::default()).expect("nothing new is asked");
        if dice.once_in(3) {
            there.snapshot = partial(&encoded, || dice.once_in(2));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(250))]
    #[test]
    fn replies_from_a_partial_snapshot_are_the_same(dice in dice()) {
        check(dice)?;
    }
}

/// The number of blocks that a page needs does not grow with the list.
#[test]
fn a_page_needs_few_blocks() {
    for count in [5_000, 50_000] {
        let records: Vec<String> = (0..count)
            .map(|id| {
                format!("{{\"id\":{id},\"name\":\"Booking {id}\",\"about\":\"{}\"}}", "word ".repeat(40))
            })
            .collect();
        let text = format!("{{\"data\":{{\"items\":[{}]}},\"total\":{count}}}", records.join(","));
        let here = Session::new(text_payload(text), Policy::default(), Tokenizer::Chars4.counter());
        let encoded = EncodedSnapshot::new(&here.snapshot);
        let first = here.call(&Request::default()).expect("nothing is asked").expect("it is long");
        let (mut there, max) =
            (Session::new(text_payload(String::new()), Policy::default(), Tokenizer::Chars4.counter()), 4);
        for item in [count / 3, count / 2, count - 200] {
            let position =
                Position { ordinal: 1, offset: PartOffset::Item(item), ..first.next().expect("it goes on") };
            for limit in [None, Some(20)] {
                let request = Request { limit, ..Request::default() };
                there.snapshot = partial(&encoded, || false);
                let (portion, added) =
                    completed(&mut there, &encoded, |there| there.follow_up(&first.view, position, &request));
                assert_same(
                    &here.follow_up(&first.view, position, &request).expect("a page"),
                    &portion.expect("a page"),
                );
                assert!(added <= max, "{added} of {} blocks", encoded.blocks.len());
            }
        }
    }
}
