//! Renders JSON that was found in a text: as the source text if that fits, or inside its enclosing string.
//! Also reports how it was found.

use super::budget::RemainingBudget;
use super::portion::PortionKind;
use super::rendering::{RenderTarget, Rendering};
use super::subject::{render_subject, render_whole_if_small};
use super::walk::{PartWalk, ReplyContent};
use crate::snapshot::{JsonOrigin, Part};
use crate::view::Target;

/// Shares of a budget, in twentieths, tried for JSON that is then escaped into a string.
const BUDGET_SHARES: [usize; 6] = [16, 14, 12, 10, 7, 4];

impl<'a> PartWalk<'a> {
    /// Returns the origin of the shown JSON, if it was found in a text and the notice describes it.
    pub(super) fn read_as(&self, channel: &ReplyContent<'_>) -> Option<&'a JsonOrigin> {
        let shaped =
            channel.notice_part.as_ref().filter(|shaped| shaped.rendering.kind != PortionKind::Raw)?;
        let origin = self.snapshot.parts().get(shaped.part_index)?.json_origin.as_ref()?;
        let is_shown = match &self.request.view.target {
            // Values inside it are reported only if they are shown differently from the source.
            Target::Value(node) if !node.pointer.is_empty() => {
                origin.has_replacements && *node.source != *node.subject.text
            }
            // An unchanged text needs no such report.
            _ => shaped.rendering.kind != PortionKind::Whole && self.request.start.offset.is_start(),
        };
        is_shown.then_some(origin)
    }
}

/// Renders a part as received.
pub(super) fn render_as_received(
    part: &Part,
    target: &RenderTarget<'_>,
    room: &RemainingBudget<'_>,
) -> Rendering {
    match part.json_origin {
        Some(_) => render_source_text(part),
        None => Rendering::whole(target, room),
    }
}

fn render_source_text(part: &Part) -> Rendering {
    // An object or a string is JSON, whatever it contains.
    Rendering {
        is_json: part.enclosing_string().is_some(),
        ..Rendering::new(PortionKind::Whole, part.text().to_owned())
    }
}

/// Renders the source text of embedded JSON if the JSON would be shown whole and the text fits.
pub(super) fn render_source_if_fits(
    part: &Part,
    target: &RenderTarget<'_>,
    room: RemainingBudget<'_>,
) -> Option<Rendering> {
    part.json_origin.as_ref().filter(|_| target.upstream_list.is_none())?;
    let rendering = render_whole_if_small(target, room)?;
    let fits = room.fits(part.text());
    fits.then(|| render_source_text(part)).filter(|_| !rendering.omits_content())
}

/// Renders a part. JSON found in a string is escaped back into that string, unless the text around it does
/// not fit or an envelope takes its place.
pub(super) fn render_part(part: &Part, target: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Rendering {
    if part.enclosing_string().is_none() || target.uses_envelope() {
        return render_subject(target, room);
    }
    // Without its string it is not a valid value for `structuredContent`.
    let alone = || Rendering { is_json: false, ..render_subject(target, room) };
    render_in_string(part, room, |room| Some(render_subject(target, room))).unwrap_or_else(alone)
}

/// Renders JSON that was found in a string inside that string, or returns `None` if it does not fit.
pub(super) fn render_in_string(
    part: &Part,
    room: &RemainingBudget<'_>,
    draw: impl Fn(&RemainingBudget<'_>) -> Option<Rendering>,
) -> Option<Rendering> {
    let origin = part.json_origin.as_ref()?;
    // The cost of the escapes is known only after rendering.
    BUDGET_SHARES.into_iter().find_map(|share| {
        let (tokens, bytes) = (room.tokens / 20 * share, room.bytes / 20 * share);
        let rendering = draw(&RemainingBudget { tokens, bytes, ..*room })?;
        let body = origin.with_replaced_string(&rendering.body).filter(|body| room.fits(body))?;
        Some(Rendering { body, is_json: true, ..rendering })
    })
}
