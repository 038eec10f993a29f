//! Fit, valid, never silent, repeatable, and an end: whatever is asked of whatever payload. [`Session`] checks
//! every reply that it gets; here it is made to get many.

use proptest::prelude::*;

use super::dice::Dice;
use super::session::Session;
use super::{cases, payloads, requests};

/// Bytes of payloads that are read through for one case, a reply costing as much as its payload.
const WORK: usize = 8 << 20;

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
    // Walks to the end are for other laws; here what is large is read for a while.
    session.walk_for(reply, (WORK / session.snapshot.payload_bytes().max(1)).clamp(8, 200));
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
