//! JSON that was found in a text: as the text, where that fits; in its string, where it was in one; and what is said of it.

use super::drawn::{Drawn, Spot};
use super::room::Room;
use super::walk::{Channel, Walk, draw, whole};
use crate::snapshot::Part;
use crate::view::Target;

/// Shares of a room, in twentieths, that are tried for JSON that is then put in a string.
const SHARES: [usize; 6] = [16, 14, 12, 10, 7, 4];

impl<'a> Walk<'a> {
    /// How the JSON that a reply shows was found in a text, where it was.
    pub(super) fn read_as(&self, channel: &Channel<'_>) -> Option<&'a str> {
        let shaped = channel.shaped.as_ref().filter(|shaped| shaped.drawn.kind != "raw")?;
        let origin = self.snapshot.parts().get(shaped.part)?.origin.as_ref()?;
        let told = match &self.asked.view.target {
            // Of a value of it, only what is shown as another.
            Target::Node(node) if !node.pointer.is_empty() => {
                origin.replaced && *node.source != *node.subject.text
            }
            // A text that stands as it came says itself what it is.
            _ => shaped.drawn.kind != "whole" && self.asked.from.place.is_start(),
        };
        told.then_some(origin.told.as_str())
    }
}

/// A part as it came.
pub(super) fn came(part: &Part, spot: &Spot<'_>, room: &Room<'_>) -> Drawn {
    match part.origin {
        Some(_) => as_text(part),
        None => Drawn::whole(spot, room),
    }
}

fn as_text(part: &Part) -> Drawn {
    // An object or a string is JSON, whatever is in it.
    Drawn { json: part.holder().is_some(), ..Drawn::new("whole", part.text().to_owned()) }
}

/// A text in which JSON was found, whole, where the JSON would be.
pub(super) fn as_written(part: &Part, spot: &Spot<'_>, room: Room<'_>) -> Option<Drawn> {
    part.origin.as_ref()?;
    let drawn = whole(spot, room)?;
    let fits = room.fits(part.text());
    fits.then(|| as_text(part)).filter(|_| !drawn.leaves_out())
}

/// Draws a part. What was found in a string stands in that string again, unless there is no room for what is around it.
pub(super) fn draw_part(part: &Part, spot: &Spot<'_>, room: &Room<'_>) -> Drawn {
    if part.holder().is_none() {
        return draw(spot, room);
    }
    // Alone, it is not what stands there for programs.
    let alone = || Drawn { json: false, ..draw(spot, room) };
    in_string(part, room, |room| Some(draw(spot, room))).unwrap_or_else(alone)
}

/// What is drawn of JSON that was found in a string, in that string; `None` where there is no room for it.
pub(super) fn in_string(
    part: &Part,
    room: &Room<'_>,
    draw: impl Fn(&Room<'_>) -> Option<Drawn>,
) -> Option<Drawn> {
    let origin = part.origin.as_ref()?;
    // How much its escapes cost is seen only once it is drawn.
    SHARES.into_iter().find_map(|share| {
        let (tokens, bytes) = (room.tokens / 20 * share, room.bytes / 20 * share);
        let drawn = draw(&Room { tokens, bytes, ..*room })?;
        let body = origin.around(&drawn.body).filter(|body| room.fits(body))?;
        Some(Drawn { body, json: true, ..drawn })
    })
}
