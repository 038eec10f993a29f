//! Renders chunks and line ranges of a text.

use portion_json::span::Span;
use portion_text::chunk::{ChunkLimits, cut};
use portion_tokens::estimate_size;
use serde_json::Value;

use super::budget::RemainingBudget;
use super::portion::PortionKind;
use super::query_tables::QueryTables;
use super::rendering::{RenderTarget, Rendering, max_name_chars, name_list};
use super::upstream_paging::note_upstream_chunk;
use crate::cursor::PartOffset;
use crate::snapshot::LineIndex;
use crate::view::{Pagination, sections};

/// Renders the chunk that begins at the target, or as much of a line range as fits.
pub(super) fn render(spot: &RenderTarget<'_>, index: &LineIndex, room: &RemainingBudget<'_>) -> Rendering {
    let text: &str = &spot.subject.text;
    let window = spot.view.range.map_or(Span::new(0, text.len()), |window| window.span);
    let range = spot.view.range.is_some_and(|window| window.is_line_range);
    let (start, to) = (window.start as usize, (window.end as usize).min(text.len()));
    let from = match spot.start {
        PartOffset::Byte(at) => text.floor_char_boundary((at as usize).clamp(start.min(to), to)),
        PartOffset::Item(_) => start,
    };
    let size = spot.view.limit.map(|size| size as usize);
    // All numbered pages hold the same number of lines.
    let of =
        spot.required_count.filter(|_| size.is_some() || spot.pagination.is_some()).map(|of| of as usize);
    // If the caller gave the size of the reply, the chunk may use all of it.
    let usual = !range && !spot.has_explicit_size;
    let is_sample = usual && of.is_none() && size.is_none() && spot.is_sample();
    let tokens = ChunkTokens::new(spot, room.tokens, usual && of.is_none(), is_sample);
    let max_lines = of.or(size).unwrap_or(if usual { spot.policy.chunk_lines } else { usize::MAX });
    let limits =
        |max_tokens| ChunkLimits { counter: room.counter, max_tokens, max_lines, max_bytes: room.bytes };
    let end = if from < to { cut(text, from, to, index.chunker, &limits(tokens.this)) } else { to };
    let mut drawn = Rendering::new(
        if range { PortionKind::Range } else { PortionKind::Chunk },
        text[from..end].to_owned(),
    );
    drawn.next = (end < to).then_some(PartOffset::Byte(end as u32));
    // Reported once, with the first chunk.
    let goes_on = usual && drawn.next.is_some() && spot.is_first();
    drawn.larger_budget = Some(spot.policy.hard_cap).filter(|cap| goes_on && *cap > spot.policy.chunk_size);
    if !range {
        drawn.set_meta("chunkIndex", spot.portion_index);
        drawn.set_meta("totalChunks", total_chunks(spot, &limits(tokens.later), start, end, to));
    }
    if from < to {
        drawn.set_meta("startLine", index.line_at(text, from) + 1);
        drawn.set_meta("endLine", index.line_at(text, end.max(from + 1) - 1) + 1);
    }
    drawn.set_meta("totalLines", index.line_count());
    if !range {
        let line = |byte: usize| index.line_at(text, byte);
        let left = line(to.max(1) - 1).saturating_sub(line(from)) + 1;
        let shown = if end < to { line(end).saturating_sub(line(from)).max(1) } else { left.max(max_lines) };
        drawn.pagination = (from < to).then_some(Pagination {
            part_index: spot.part_index as u16,
            page_size: size.unwrap_or(shown) as u32,
            is_sample,
            first_page_count: None,
            kept_fields: None,
        });
        drawn.required_count = of.map(|of| of.min(left));
        note_upstream_chunk(spot, &mut drawn);
    }
    drawn.set_meta("bytesInChunk", end - from);
    drawn.set_meta("totalBytes", text.len());
    if from >= to {
        drawn.set_meta("pastEnd", true);
    }
    if spot.is_first() {
        describe_text(spot, index, room, &mut drawn);
    }
    drawn
}

/// Adds facts of the whole text: its tables for queries, its tokens and its headings.
fn describe_text(
    spot: &RenderTarget<'_>,
    index: &LineIndex,
    room: &RemainingBudget<'_>,
    drawn: &mut Rendering,
) {
    drawn.query_tables = drawn.next.map(|_| QueryTables::of_text(&spot.subject.text, index));
    let size = estimate_size(room.counter, &spot.subject.text);
    let tokens = if size.is_exact { size.tokens.into() } else { Value::from(size.to_string()) };
    drawn.set_meta("totalTokens", tokens);
    // Finding headings reads the whole text; logs have none.
    if drawn.kind == PortionKind::Chunk && index.has_headings() {
        let headings: Vec<String> = sections(spot.subject).into_iter().map(|section| section.name).collect();
        if !headings.is_empty() {
            drawn.extras.push(("sections", name_list(headings, max_name_chars(room) * 2)));
        }
    }
}

/// Part of the reply target that a sample of a text takes, as a divisor.
const SAMPLE_SHARE: usize = 8;

/// Tokens of a chunk, and of the chunks after it.
struct ChunkTokens {
    this: usize,
    later: usize,
}

impl ChunkTokens {
    /// Returns the tokens within those of the reply; `is_usual`: the caller gave no size.
    fn new(spot: &RenderTarget<'_>, most: usize, is_usual: bool, is_sample: bool) -> Self {
        let size = spot.policy.chunk_size;
        // The first chunk and the description of the whole take the tokens of a chunk together.
        let described = if spot.is_first() { spot.described_tokens } else { 0 };
        let (this, later) = match (is_sample, is_usual) {
            (true, _) => (spot.policy.reply_target / SAMPLE_SHARE, spot.policy.reply_target / SAMPLE_SHARE),
            (false, true) => (size.saturating_sub(described).max(size / 2), size),
            (false, false) => (most, most),
        };
        Self { this: this.min(most), later: later.min(most) }
    }
}

/// Longest text, in bytes, whose chunks are counted exactly.
const MAX_EXACT_COUNT_BYTES: usize = 128 << 10;
/// Most chunks that are counted. Each of them is cut, and a reply is rendered several times.
const MAX_COUNTED_CHUNKS: usize = 64;

/// Returns the number of chunks. It is exact at the last chunk and for short texts of few chunks; otherwise it is
/// estimated from the average size of the chunks so far, and marked `≈`.
fn total_chunks(
    spot: &RenderTarget<'_>,
    limits: &ChunkLimits<'_>,
    start: usize,
    end: usize,
    to: usize,
) -> Value {
    let (mut chunks, mut at) = (usize::from(spot.portion_index) + 1, end);
    if end >= to {
        return chunks.into();
    }
    let text: &str = &spot.subject.text;
    let estimate = |chunks: usize, at: usize| {
        (chunks.saturating_mul(to - start)).div_ceil((at - start).max(1)).max(chunks + 1)
    };
    // Few chunks are cut in advance: an exact count costs less than a reader's wrong estimate.
    if let crate::snapshot::Structure::Text(index) = &spot.subject.structure
        && to - start <= MAX_EXACT_COUNT_BYTES
        && spot.is_first()
        && estimate(chunks, at) <= MAX_COUNTED_CHUNKS
    {
        while at < to && chunks < MAX_COUNTED_CHUNKS {
            at = cut(text, at, to, index.chunker, limits);
            chunks += 1;
        }
        if at >= to {
            return chunks.into();
        }
    }
    format!("≈{}", estimate(chunks, at)).into()
}
