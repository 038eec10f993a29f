//! Renders a list, an object or a text by its structure.

use super::budget::RemainingBudget;
use super::pass_through::max_whole_tokens;
use super::rendering::{RenderTarget, Rendering};
use super::{chunk, page, summary};
use crate::snapshot::Structure;
use crate::view::RequestedFields;

/// Renders a list, object or text by its structure.
pub(super) fn render_subject(target: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Rendering {
    match &target.subject.structure {
        Structure::List(list) => page::render(target, list, room),
        Structure::Object(members) => summary::render(target, members, room),
        Structure::Text(text) => chunk::render(target, text, room),
    }
}

/// Renders a part whole if it is below the thresholds of its kind, or if it is a section that fits.
pub(super) fn render_whole_if_small(
    target: &RenderTarget<'_>,
    room: RemainingBudget<'_>,
) -> Option<Rendering> {
    let view = target.view;
    let asked = view.limit.is_some()
        || matches!(view.field_selection, RequestedFields::Only(_))
        || target.order.is_some();
    if asked || !target.is_first() || target.wanted_count.is_some() {
        return None;
    }
    let threshold =
        if view.is_section { usize::MAX } else { max_whole_tokens(target.subject, target.policy) };
    // A long text cannot fit, and is not read.
    if target.subject.text.len() > room.bytes || !room.with_max_tokens(threshold).fits(&target.subject.text) {
        return None;
    }
    let table = match &target.subject.structure {
        Structure::List(list) if target.allows_table && !target.is_one_object() => {
            Some(page::render(&RenderTarget { allows_sample: false, ..*target }, list, &room))
        }
        _ => None,
    };
    let table = table.filter(|table| table.meta.is_dense && table.next.is_none() && !table.omits_content());
    Some(table.unwrap_or_else(|| Rendering::whole(target, &room)))
}
