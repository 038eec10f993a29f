//! Chooses the images and audio that a reply shows: they come first, and text gets the rest of the
//! budget.
//!
//! Media cannot be shortened. Which media a reply shows depends only on the snapshot and the policy, so
//! that later replies can tell which ones the first reply showed.

use super::{Target, View};
use crate::cursor::Position;
use crate::payload::BinaryInfo;
use crate::policy::{MIN_BUDGET, Policy};
use crate::snapshot::{PartBody, Snapshot};

/// Minimum tokens that media leave for text and notice.
const MIN_TEXT_TOKENS: usize = 2 * MIN_BUDGET;

/// Returns true if a part is an image or audio that a reply can show.
pub(crate) fn is_displayable(snapshot: &Snapshot, at: usize, policy: &Policy) -> bool {
    let body = snapshot.parts().get(at).map(|part| &part.body);
    matches!(
        body,
        Some(PartBody::Atomic { binary: Some(BinaryInfo { is_media: true, decoded_bytes, .. }), .. })
            if policy.can_show_media(*decoded_bytes)
    )
}

/// Returns the media of a first reply, in order: as many as leave enough of the hard cap for text.
pub(crate) fn in_first_reply(snapshot: &Snapshot, policy: &Policy) -> Vec<usize> {
    let all = (0..snapshot.parts().len()).filter(|at| is_displayable(snapshot, *at, policy));
    all.take(max_media_count(snapshot, policy)).collect()
}

/// Counts the tokens of the media that a reply shows.
pub(crate) fn token_cost(snapshot: &Snapshot, view: &View, from: Position, policy: &Policy) -> usize {
    if view.raw {
        return 0;
    }
    let due = match &view.target {
        Target::Value(value) => {
            usize::from(value.pointer.is_empty() && is_displayable(snapshot, usize::from(value.part), policy))
        }
        Target::Everything if from == Position::default() => in_first_reply(snapshot, policy).len(),
        Target::Everything => {
            let here = usize::from(from.part)..snapshot.parts().len();
            here.take_while(|at| is_displayable(snapshot, *at, policy))
                .count()
                .min(max_media_count(snapshot, policy))
        }
    };
    due * policy.media_tokens
}

/// Returns the token budget of a reply with `due` tokens of media, text included; 0 if it has no media.
pub(crate) fn reply_budget(due: usize, snapshot: &Snapshot, policy: &Policy) -> usize {
    if due == 0 { 0 } else { (due + min_text_tokens(form_hard_cap(snapshot, policy))).min(policy.hard_cap) }
}

/// Returns the maximum number of media in one reply.
fn max_media_count(snapshot: &Snapshot, policy: &Policy) -> usize {
    let cap = form_hard_cap(snapshot, policy);
    cap.saturating_sub(min_text_tokens(cap)) / policy.media_tokens.max(1)
}

/// Returns the token limit for one form of a reply.
fn form_hard_cap(snapshot: &Snapshot, policy: &Policy) -> usize {
    if snapshot.structured_part().is_some() { policy.hard_cap / 2 } else { policy.hard_cap }
}

/// Returns the tokens reserved for text beside media.
fn min_text_tokens(cap: usize) -> usize {
    MIN_TEXT_TOKENS.min(cap / 5).max(MIN_BUDGET)
}
