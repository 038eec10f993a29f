//! Which payloads pass as they came.

use super::block::weigh;
use super::left::is_left;
use super::{Context, ENVELOPE};
use crate::policy::Policy;
use crate::scan::escaped_len;
use crate::snapshot::{Form, Part, PartBody, STRUCTURED, Snapshot};
use crate::view::Asked;

/// Whether nothing of a payload is to be told that nobody asked for.
pub(super) fn is_silent(snapshot: &Snapshot) -> bool {
    snapshot.invalid_utf8() == 0 && snapshot.redacted().is_empty()
}

/// What a payload costs that passes whole.
pub(super) struct Passing {
    /// In the dearest of its forms; `None` where parts are left as they come, which nobody counts.
    pub tokens: Option<usize>,
}

/// What a payload costs if it passes whole: nothing was asked, every part is below the thresholds of its kind, and all
/// together below those of a reply. Parts that are left as they come do not count.
pub(super) fn passes(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>) -> Option<Passing> {
    if !asked.plain {
        return None;
    }
    let policy = cx.policy;
    let parts = snapshot.parts().iter().enumerate();
    let counted = parts.filter(|(at, _)| !is_left(snapshot, *at, policy)).map(|(_, part)| part);
    let mut bytes = ENVELOPE + snapshot.frame();
    for part in counted.clone() {
        bytes += wire_bytes(part, policy.hard_byte_limit);
        if bytes > policy.hard_byte_limit {
            return None;
        }
    }
    let (structured, content): (Vec<&Part>, Vec<&Part>) =
        counted.partition(|part| part.address == STRUCTURED);
    let most = most(snapshot, policy);
    let all = content.len() + structured.len() == snapshot.parts().len();
    let tokens = form_passes(&content, most, cx)?.max(form_passes(&structured, most, cx)?);
    Some(Passing { tokens: all.then_some(tokens) })
}

/// Tokens up to which a payload passes, in each of its forms.
pub(super) fn most(snapshot: &Snapshot, policy: &Policy) -> usize {
    let twice = snapshot.parts().iter().any(|part| part.address == STRUCTURED);
    let threshold = policy.token_budget_threshold;
    if twice { threshold.min(policy.hard_cap / 2) } else { threshold }
}

fn form_passes(parts: &[&Part], most: usize, cx: &Context<'_>) -> Option<usize> {
    let mut left = most;
    let mut below_all = true;
    for part in parts {
        let cost = cost_within(part, left, cx)?;
        left -= cost;
        below_all &= below_its_threshold(part, cost, cx);
    }
    let cost = most - left;
    (below_all || cost <= cx.policy.full_below).then_some(cost)
}

fn cost_within(part: &Part, left: usize, cx: &Context<'_>) -> Option<usize> {
    match &part.body {
        PartBody::Atomic { json, binary, .. } => {
            weigh(json, binary.as_ref(), left, cx.policy, cx.counter).map(|weight| weight.tokens)
        }
        PartBody::Readable(_) => cx.counter.count_within(part.text(), left),
    }
}

fn below_its_threshold(part: &Part, cost: usize, cx: &Context<'_>) -> bool {
    let policy = cx.policy;
    let Some(subject) = part.subject() else { return true };
    match &subject.form {
        Form::List(list) => list.len() <= policy.default_page_size && cost <= policy.token_budget_threshold,
        Form::Object(_) => cost <= policy.summarize_above,
        Form::Text(_) => cost <= policy.chunk_above,
    }
}

/// Wire bytes of a part, or any figure above the limit where they are. Media has a limit of its own.
fn wire_bytes(part: &Part, limit: usize) -> usize {
    let frame = part.label.frame;
    match &part.body {
        PartBody::Atomic { binary: Some(binary), .. } if binary.media => 0,
        PartBody::Atomic { json, .. } => json.len(),
        PartBody::Readable(_) if part.address == STRUCTURED => part.text().len(),
        // Escapes only add: what is too long without them need not be read.
        PartBody::Readable(_) if part.text().len() > limit => part.text().len(),
        PartBody::Readable(_) => frame + escaped_len(part.text()),
    }
}
