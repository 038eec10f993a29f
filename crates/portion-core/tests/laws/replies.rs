//! Fit, valid, never silent, repeatable, and an end: whatever is asked of whatever payload. [`Session`] checks
//! every reply that it gets; here it is made to get many.

use proptest::prelude::*;

use super::dice::Dice;
use super::session::Session;
use super::{cases, payloads, requests};

/// One case: a payload, limits, a call, and what follows.
pub(crate) fn check(seed: u64) {
    let mut dice = Dice::new(seed);
    let policy = requests::policy(&mut dice);
    let session = Session::new(payloads::payload(&mut dice), policy, requests::counter(&mut dice));
    let request = requests::request(&mut dice, &session.policy);
    let Ok(Some(reply)) = session.call(&request) else { return };
    // The view of any reply can be asked for something else.
    let other = requests::request(&mut dice, &session.policy);
    let _ = session.read(&reply.view, reply.start(), &other);
    session.walk_on(reply);
}

proptest! {
    #![proptest_config(cases(1_500))]
    #[test]
    fn every_reply_obeys_the_laws(seed in any::<u64>()) {
        check(seed);
    }
}

/// Past the end of a list, where not even the keys that lead to it fit.
#[test]
fn an_empty_list_may_stand_alone() {
    check(12_641_685_522_912_046_430);
}
