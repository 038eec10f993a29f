//! Text in chunks, and ranges of its lines.

use serde_json::Value;

use super::drawn::{Drawn, Spot, characters_for_names, names};
use super::room::Room;
use crate::chunk::{Limits, cut};
use crate::cursor::Place;
use crate::snapshot::Text;
use crate::span::Span;
use crate::tokens::approximate;
use crate::view::{Pace, sections};

/// Draws the chunk that begins at the spot, or as much of a range of lines as fits.
pub(super) fn draw(spot: &Spot<'_>, index: &Text, room: &Room<'_>) -> Drawn {
    let text: &str = &spot.subject.text;
    let window = spot.view.window.map_or(Span::new(0, text.len()), |window| window.span);
    let range = spot.view.window.is_some_and(|window| window.lines);
    let (start, to) = (window.start as usize, (window.end as usize).min(text.len()));
    let from = match spot.place {
        Place::Byte(at) => text.floor_char_boundary((at as usize).clamp(start.min(to), to)),
        Place::Item(_) => start,
    };
    let size = spot.view.limit.map(|size| size as usize);
    // Of pages by number each has to hold as many lines as the others.
    let of = spot.of.filter(|_| size.is_some() || spot.pace.is_some()).map(|of| of as usize);
    // Who said how large the reply may be gets a chunk of that size.
    let usual = !range && !spot.sized;
    let limits = Limits {
        counter: room.counter,
        tokens: if usual && of.is_none() { room.tokens.min(spot.policy.chunk_size) } else { room.tokens },
        lines: of.or(size).unwrap_or(if usual { spot.policy.chunk_lines } else { usize::MAX }),
        bytes: room.bytes,
    };
    let end = if from < to { cut(text, from, to, index.chunker, &limits) } else { to };
    let mut drawn = Drawn::new(if range { "range" } else { "chunk" }, text[from..end].to_owned());
    drawn.next = (end < to).then_some(Place::Byte(end as u32));
    // Said once, with the first chunk.
    let goes_on = usual && drawn.next.is_some() && spot.is_first();
    drawn.larger = Some(spot.policy.hard_cap).filter(|cap| goes_on && *cap > spot.policy.chunk_size);
    if !range {
        drawn.say("chunkIndex", spot.ordinal);
        drawn.say("totalChunks", total_chunks(spot, &limits, start, end, to));
    }
    drawn.say("startLine", index.line_at(text, from) + 1);
    drawn.say("endLine", index.line_at(text, end.max(from + 1) - 1) + 1);
    drawn.say("totalLines", index.line_count());
    if !range {
        let line = |byte: usize| index.line_at(text, byte);
        let left = line(to.max(1) - 1).saturating_sub(line(from)) + 1;
        let shown =
            if end < to { line(end).saturating_sub(line(from)).max(1) } else { left.max(limits.lines) };
        let (part, size) = (spot.part as u16, size.unwrap_or(shown) as u32);
        drawn.pace = (from < to).then_some(Pace { part, size, opened: None, keep: None });
        drawn.of = of.map(|of| of.min(left));
    }
    drawn.say("bytesInChunk", end - from);
    drawn.say("totalBytes", text.len());
    if from >= to {
        drawn.say("pastEnd", true);
    }
    if spot.is_first() {
        drawn.query = drawn.next.map(|_| "find");
        let size = approximate(room.counter, text);
        let told = if size.counted { size.tokens.into() } else { Value::from(size.to_string()) };
        drawn.say("totalTokens", told);
        // Finding headings reads the whole text, and a log's would be none.
        if !range && index.has_headings() {
            let headings: Vec<String> =
                sections(spot.subject).into_iter().map(|section| section.name).collect();
            if !headings.is_empty() {
                drawn.extras.push(("sections", names(headings, characters_for_names(room) * 2)));
            }
        }
    }
    drawn
}

/// Bytes up to which a text is walked to count its chunks.
const WALKED: usize = 128 << 10;

/// How many chunks there are: known at the end and where a chunk holds nearly as many lines as it may, else
/// reckoned from how far the chunks so far have come, and marked so.
fn total_chunks(spot: &Spot<'_>, limits: &Limits<'_>, start: usize, end: usize, to: usize) -> Value {
    let so_far = usize::from(spot.ordinal) + 1;
    if end >= to {
        return so_far.into();
    }
    let text: &str = &spot.subject.text;
    // Short texts are walked: exact, and cheaper than a reader's wrong guess.
    if to - start <= WALKED && spot.is_first() {
        let (mut at, mut chunks) = (end, so_far);
        let crate::snapshot::Form::Text(index) = &spot.subject.form else { return so_far.into() };
        while at < to {
            at = cut(text, at, to, index.chunker, limits);
            chunks += 1;
        }
        return chunks.into();
    }
    let done = (end - start).max(1);
    let all = (so_far * (to - start)).div_ceil(done);
    format!("≈{}", all.max(so_far + 1)).into()
}
