//! JSON that was found in a text: as the text, where that fits; in its string, where it was in one; and what is said of it.

use super::budget::RemainingBudget;
use super::rendering::{RenderTarget, Rendering};
use super::walk::{PartWalk, ReplyContent, render_subject, render_whole_if_small};
use crate::snapshot::Part;
use crate::view::Target;

/// Shares of a room, in twentieths, that are tried for JSON that is then put in a string.
const BUDGET_SHARES: [usize; 6] = [16, 14, 12, 10, 7, 4];

impl<'a> PartWalk<'a> {
    /// How the JSON that a reply shows was found in a text, where it was.
    pub(super) fn read_as(&self, channel: &ReplyContent<'_>) -> Option<&'a str> {
        let shaped = channel.notice_part.as_ref().filter(|shaped| shaped.rendering.kind != "raw")?;
        let origin = self.snapshot.parts().get(shaped.part_index)?.json_origin.as_ref()?;
        let told = match &self.request.view.target {
            // Of a value of it, only what is shown as another.
            Target::Value(node) if !node.pointer.is_empty() => {
                origin.has_replacements && *node.source != *node.subject.text
            }
            // A text that stands as it came says itself what it is.
            _ => shaped.rendering.kind != "whole" && self.request.start.offset.is_start(),
        };
        told.then_some(origin.description.as_str())
    }
}

/// A part as it came.
pub(super) fn render_as_received(
    part: &Part,
    spot: &RenderTarget<'_>,
    room: &RemainingBudget<'_>,
) -> Rendering {
    match part.json_origin {
        Some(_) => render_source_text(part),
        None => Rendering::whole(spot, room),
    }
}

fn render_source_text(part: &Part) -> Rendering {
    // An object or a string is JSON, whatever is in it.
    Rendering {
        is_json: part.enclosing_string().is_some(),
        ..Rendering::new("whole", part.text().to_owned())
    }
}

/// A text in which JSON was found, whole, where the JSON would be.
pub(super) fn render_source_if_fits(
    part: &Part,
    spot: &RenderTarget<'_>,
    room: RemainingBudget<'_>,
) -> Option<Rendering> {
    part.json_origin.as_ref()?;
    let drawn = render_whole_if_small(spot, room)?;
    let fits = room.fits(part.text());
    fits.then(|| render_source_text(part)).filter(|_| !drawn.omits_content())
}

/// Draws a part. What was found in a string stands in that string again, unless there is no room for what is around it.
pub(super) fn render_part(part: &Part, spot: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Rendering {
    if part.enclosing_string().is_none() {
        return render_subject(spot, room);
    }
    // Alone, it is not what stands there for programs.
    let alone = || Rendering { is_json: false, ..render_subject(spot, room) };
    render_in_string(part, room, |room| Some(render_subject(spot, room))).unwrap_or_else(alone)
}

/// What is drawn of JSON that was found in a string, in that string; `None` where there is no room for it.
pub(super) fn render_in_string(
    part: &Part,
    room: &RemainingBudget<'_>,
    draw: impl Fn(&RemainingBudget<'_>) -> Option<Rendering>,
) -> Option<Rendering> {
    let origin = part.json_origin.as_ref()?;
    // How much its escapes cost is seen only once it is drawn.
    BUDGET_SHARES.into_iter().find_map(|share| {
        let (tokens, bytes) = (room.tokens / 20 * share, room.bytes / 20 * share);
        let drawn = draw(&RemainingBudget { tokens, bytes, ..*room })?;
        let body = origin.with_replaced_string(&drawn.body).filter(|body| room.fits(body))?;
        Some(Rendering { body, is_json: true, ..drawn })
    })
}
