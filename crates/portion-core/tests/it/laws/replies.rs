//! Every reply fits, is valid, reports what is missing, is repeatable, and walks end, for any payload and
//! request. [`Session`] checks every reply; this module makes it render many.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::session::Session;
use super::{cases, payloads, reject, requests};

/// Bytes of payloads read for one case. A reply costs as much as its payload.
const WORK: usize = 8 << 20;

/// Checks one case: a payload, limits, a call, and its follow-ups.
pub(crate) fn check(mut dice: Dice) -> TestCaseResult {
    let policy = requests::policy(&mut dice);
    let session = Session::new(payloads::payload(&mut dice), policy, requests::counter(&mut dice));
    let request = requests::request(&mut dice, &session.policy);
    let Ok(Some(reply)) = session.call(&request) else { return reject("untouched, or an error") };
    // The view of any reply accepts further requests.
    let other = requests::request(&mut dice, &session.policy);
    let _ = session.read(&reply.view, reply.start(), &other);
    // Complete walks are checked elsewhere; here large payloads are read only in part.
    session.walk_for(reply, (WORK / session.snapshot.payload_bytes().max(1)).clamp(8, 200));
    Ok(())
}

proptest! {
    #![proptest_config(cases(800))]
    #[test]
    fn every_reply_obeys_the_laws(dice in dice()) {
        check(dice)?;
    }
}

/// Past the end of a list, if not even the keys that lead to it fit.
#[test]
fn an_empty_list_may_lose_its_wrapper() {
    check(Dice::new(12_641_685_522_912_046_430)).expect("it is checked");
}

/// The minimum budget holds two cursors at their charge, and some content.
#[test]
fn the_least_budget_holds_cursors_at_their_charge() {
    check(Dice::new(18_131_236_861_490_426_402)).expect("it is checked");
}

/// An empty text before an image that does not fit: the reply describes the image, because the text shows nothing.
#[test]
fn an_empty_text_does_not_postpone_an_image() {
    let mut choices = [0; 38];
    (choices[6], choices[30], choices[33], choices[34], choices[37]) = (1, 6, 1, 8, 1);
    super::stored::check(Dice::replay(&choices)).expect("it is checked");
}
