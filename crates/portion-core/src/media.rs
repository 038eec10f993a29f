//! Chooses the images and audio that a reply shows: they come first, and text takes what they leave.
//!
//! Media cannot be shortened. What a reply shows of it depends on the snapshot and the policy alone, so that later replies
//! know what the first one showed.

use crate::cursor::Position;
use crate::payload::Binary;
use crate::policy::{LEAST_BUDGET, Policy};
use crate::snapshot::{PartBody, Snapshot};
use crate::view::{Target, View};

/// Tokens that media leave to text and notice, at least.
const LEAST_TEXT: usize = 2 * LEAST_BUDGET;

/// Whether a part is media that may be shown as such.
pub(crate) fn is_shown(snapshot: &Snapshot, at: usize, policy: &Policy) -> bool {
    let body = snapshot.parts().get(at).map(|part| &part.body);
    matches!(
        body,
        Some(PartBody::Atomic { binary: Some(Binary { media: true, bytes, .. }), .. })
            if *bytes <= policy.media_byte_limit
    )
}

/// The media that stand in a first reply, in order: as many as leave room for text within the hard cap.
pub(crate) fn first(snapshot: &Snapshot, policy: &Policy) -> Vec<usize> {
    let all = (0..snapshot.parts().len()).filter(|at| is_shown(snapshot, *at, policy));
    all.take(most(snapshot, policy)).collect()
}

/// Tokens of the media that a reply shows.
pub(crate) fn due(snapshot: &Snapshot, view: &View, from: Position, policy: &Policy) -> usize {
    if view.raw {
        return 0;
    }
    let due = match &view.target {
        Target::Node(node) => {
            usize::from(node.pointer.is_empty() && is_shown(snapshot, usize::from(node.part), policy))
        }
        Target::Everything if from == Position::default() => first(snapshot, policy).len(),
        Target::Everything => {
            let here = usize::from(from.part)..snapshot.parts().len();
            here.take_while(|at| is_shown(snapshot, *at, policy)).count().min(most(snapshot, policy))
        }
    };
    due * policy.media_tokens
}

/// Tokens that a reply may cost for so many tokens of media, text included; 0 where there are none.
pub(crate) fn budget(due: usize, snapshot: &Snapshot, policy: &Policy) -> usize {
    if due == 0 { 0 } else { (due + least_text(cap(snapshot, policy))).min(policy.hard_cap) }
}

/// How many media one reply shows.
fn most(snapshot: &Snapshot, policy: &Policy) -> usize {
    let cap = cap(snapshot, policy);
    cap.saturating_sub(least_text(cap)) / policy.media_tokens.max(1)
}

/// What one form of a reply may cost.
fn cap(snapshot: &Snapshot, policy: &Policy) -> usize {
    if snapshot.structured().is_some() { policy.hard_cap / 2 } else { policy.hard_cap }
}

/// Tokens that text keeps beside media.
fn least_text(cap: usize) -> usize {
    LEAST_TEXT.min(cap / 5).max(LEAST_BUDGET)
}
