//! Decides which payloads and parts pass as received, and which pieces are not charged to a reply.

use portion_json::scan::{escaped_len, minified};

use super::budget::{ENVELOPE_BYTES, block_cost};
use super::context::Context;
use super::page::Measured;
use super::portion::Piece;
use crate::policy::{Policy, StructuredMode, Techniques};
use crate::snapshot::{IndexedText, Part, PartBody, STRUCTURED_CONTENT, Snapshot, Structure};
use crate::view::ResolvedRequest;

/// Returns true if the payload needs no notice about replaced bytes or redacted fields, and is what the upstream sent: a list
/// of several of its pages is not.
pub(crate) fn needs_no_notice(snapshot: &Snapshot) -> bool {
    let has_replaced = snapshot.invalid_utf8() > 0 && !snapshot.passes_as_bytes();
    !has_replaced && snapshot.redacted().is_empty() && snapshot.upstream_list().is_none()
}

/// Returns true if a JSON part has white space between its tokens.
pub(super) fn has_white_space(snapshot: &Snapshot) -> bool {
    let mut texts =
        snapshot.parts().iter().filter_map(Part::indexed_text).filter(|subject| subject.is_json());
    texts.any(|subject| minified(&subject.text).len() != subject.text.len())
}

/// Cost of a payload that passes whole.
pub(super) struct PassThroughCost {
    /// Tokens of the more expensive form; `None` if the payload has exempt parts, which are not counted.
    pub tokens: Option<usize>,
}

/// Returns the cost of a payload if it passes whole: the request is plain, every part is below the thresholds
/// of its kind, and all parts together are below those of a reply. Exempt parts do not count.
pub(super) fn pass_through_cost(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    cx: &Context<'_>,
    measured: &Measured,
) -> Option<PassThroughCost> {
    if !request.is_plain {
        return None;
    }
    let policy = cx.policy;
    let parts = snapshot.parts().iter().enumerate();
    let counted: Vec<(usize, &Part)> = parts.filter(|(at, _)| !is_exempt(snapshot, *at, policy)).collect();
    let all = counted.len() == snapshot.parts().len();
    // A model that is shown both forms reads both. Where there is no `structuredContent`, nothing repeats a text.
    let apart = snapshot.structured_part();
    let is_shown_both = policy.render_options.structured == StructuredMode::InPlaceOfText;
    let is_repeated = |part: &Part| apart.is_none() && part.duplicate.is_some();
    let (structured, content): (Vec<_>, Vec<_>) = counted
        .iter()
        .copied()
        .filter(|(_, part)| !is_repeated(part))
        .partition(|(at, _)| Some(*at) == apart && !is_shown_both);
    let max = max_pass_through_tokens(snapshot, policy);
    let tokens = form_cost(&content, max, cx, measured)?.max(form_cost(&structured, max, cx, measured)?);
    let mut bytes = ENVELOPE_BYTES + snapshot.frame();
    let mut is_within = |(_, part): &(usize, &Part)| {
        bytes += part_wire_bytes(part, policy.hard_byte_limit);
        bytes <= policy.hard_byte_limit
    };
    counted.iter().all(&mut is_within).then_some(PassThroughCost { tokens: all.then_some(tokens) })
}

/// Returns true if a payload passes whole.
pub(crate) fn passes_through(snapshot: &Snapshot, request: &ResolvedRequest, cx: &Context<'_>) -> bool {
    pass_through_cost(snapshot, request, cx, &Measured::default()).is_some()
}

/// Returns the tokens up to which a payload passes, in each of its forms.
pub(super) fn max_pass_through_tokens(snapshot: &Snapshot, policy: &Policy) -> usize {
    let twice = snapshot.structured_part().is_some();
    let threshold = policy.token_budget_threshold;
    if twice { threshold.min(policy.hard_cap / 2) } else { threshold }
}

fn form_cost(parts: &[(usize, &Part)], max: usize, cx: &Context<'_>, measured: &Measured) -> Option<usize> {
    let mut left = max;
    let mut below_all = true;
    for (_, part) in parts {
        let threshold =
            part.indexed_text().map_or(usize::MAX, |subject| max_whole_tokens(subject, cx.policy));
        // A part above its threshold passes only in a small payload, so no more of it is counted.
        let cost = cost_within(part, left.min(threshold.max(cx.policy.full_below)), cx, measured)?;
        left -= cost;
        below_all &= cost <= threshold;
    }
    let cost = max - left;
    (below_all || cost <= cx.policy.full_below).then_some(cost)
}

fn cost_within(part: &Part, left: usize, cx: &Context<'_>, measured: &Measured) -> Option<usize> {
    match &part.body {
        PartBody::Atomic { json, binary, .. } => {
            block_cost(json, binary.as_ref(), left, cx.policy, cx.counter).map(|weight| weight.tokens)
        }
        PartBody::Indexed(_) => measured.count_within(part.text(), left, cx.counter),
    }
}

/// Returns the tokens up to which a part is shown whole, by its kind.
pub(super) fn max_whole_tokens(subject: &IndexedText, policy: &Policy) -> usize {
    match &subject.structure {
        Structure::List(list) if list.len() > policy.default_page_size => policy.full_below,
        Structure::List(_) => policy.token_budget_threshold,
        Structure::Object(_) => policy.summarize_above,
        Structure::Text(_) => policy.chunk_above,
    }
}

/// Returns the wire bytes of a part, or a lower bound above `limit`. Media have their own limit and count as
/// 0.
fn part_wire_bytes(part: &Part, limit: usize) -> usize {
    let frame = part.label.frame_bytes;
    match &part.body {
        PartBody::Atomic { binary: Some(binary), .. } if binary.is_media => 0,
        PartBody::Atomic { json, .. } => json.len(),
        PartBody::Indexed(_) if part.address == STRUCTURED_CONTENT => part.text_len(),
        // Escapes only add bytes, so a text that is too long is not scanned.
        PartBody::Indexed(_) if part.text_len() > limit => part.text_len(),
        PartBody::Indexed(_) => frame + escaped_len(part.text()),
    }
}

/// Returns true if shaping of a part is off, so that a plain call gets it as received, whatever it costs. A
/// duplicate follows the part that it duplicates.
pub fn is_exempt(snapshot: &Snapshot, at: usize, policy: &Policy) -> bool {
    let Techniques { pagination, summarization, chunking, .. } = policy.render_options.techniques;
    let part = snapshot.parts().get(at);
    let of = part.and_then(|part| part.duplicate).and_then(|twin| snapshot.parts().get(twin.part));
    match of.or(part).and_then(Part::indexed_text).map(|subject| &subject.structure) {
        Some(Structure::List(_)) => !pagination,
        Some(Structure::Object(_)) => !summarization,
        Some(Structure::Text(_)) => !chunking,
        None => false,
    }
}

/// Returns true if a piece shows a part, or an item of it.
pub(super) fn shows_part(piece: &Piece, part: &Part) -> bool {
    let inside = piece.address.strip_prefix(part.address.as_str());
    inside.is_some_and(|rest| rest.is_empty() || part.item_blocks && rest.starts_with('/'))
}
