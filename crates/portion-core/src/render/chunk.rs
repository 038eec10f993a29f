//! Renders chunks and line ranges of a text, and byte ranges as the upstream wrote them.

use portion_json::span::Span;
use portion_text::chunk::{ChunkLimits, TextKind, cut};
use portion_text::log_entry::entries;
use portion_tokens::{TextSize, TokenCounter, estimate_size};

use super::budget::RemainingBudget;
use super::meta::{ChunkCount, NameList};
use super::page::LineCosts;
use super::portion::PortionKind;
use super::query_tables::QueryTables;
use super::rendering::{NoticeExtra, RenderTarget, Rendering, max_name_chars};
use super::upstream_paging::note_upstream_chunk;
use crate::cursor::PartOffset;
use crate::snapshot::{LineIndex, Slice};
use crate::view::{Pagination, same_headings, sections};

/// Renders the chunk that begins at the target, or as much of a line range as fits.
pub(super) fn render(target: &RenderTarget<'_>, index: &LineIndex, room: &RemainingBudget<'_>) -> Rendering {
    let text: &str = &target.subject.text;
    let window = target.view.range.map_or(Span::new(0, text.len()), |window| window.span);
    let range = target.view.range.is_some_and(|window| window.is_line_range);
    let (start, to) = (window.start as usize, (window.end as usize).min(text.len()));
    let from = match target.start {
        PartOffset::Byte(at) => text.floor_char_boundary((at as usize).clamp(start.min(to), to)),
        PartOffset::Item(_) => start,
    };
    let size = target.view.limit.map(|size| size as usize);
    // All numbered pages hold the same number of lines.
    let of =
        target.required_count.filter(|_| size.is_some() || target.pagination.is_some()).map(|of| of as usize);
    // If the caller gave the size of the reply, the chunk may use all of it.
    let usual = !range && !target.has_explicit_size;
    // The lines of a log or a table are much alike: a few tell what they hold, and facts tell the rest.
    let is_repetitive = matches!(index.chunker.kind(), TextKind::Log | TextKind::Table);
    let is_sample = usual
        && of.is_none()
        && size.is_none()
        && (target.is_sample() || is_repetitive && target.may_be_sample());
    let tokens = ChunkTokens::new(target, room.tokens, usual && of.is_none(), is_sample);
    let max_lines = of.or(size).unwrap_or(if usual { target.policy.chunk_lines } else { usize::MAX });
    // A first reply states the size of the text and its number of chunks: both follow from the costs of its lines.
    let costs = (target.is_first() && text.len() <= MAX_EXACT_BYTES)
        .then(|| LineCosts::new(text, room.counter, target.measured.lines_of(text, room.counter)));
    let counter = costs.as_ref().map_or(room.counter, |costs| costs as &dyn TokenCounter);
    let limits = |max_tokens| ChunkLimits { counter, max_tokens, max_lines, max_bytes: room.bytes };
    let end = if from < to { cut(text, from, to, index.chunker, &limits(tokens.this)) } else { to };
    let end = if is_sample && !target.is_sample() {
        first_entry_end(text, index, &limits(tokens.later)).max(end)
    } else {
        end
    };
    let mut rendering = Rendering::new(
        if range { PortionKind::Range } else { PortionKind::Chunk },
        text[from..end].to_owned(),
    );
    rendering.next = (end < to).then_some(PartOffset::Byte(end as u32));
    // Reported once, with the first chunk.
    let goes_on = usual && rendering.next.is_some() && target.is_first();
    rendering.larger_budget =
        Some(target.policy.hard_cap).filter(|cap| goes_on && *cap > target.policy.chunk_size);
    rendering.meta.chunk_index = Some(target.portion_index.into());
    rendering.meta.total_chunks = Some(total_chunks(target, &limits(tokens.later), start, end, to));
    let line_number = |byte| index.line_at(text, byte) + 1;
    rendering.meta.lines = (from < to).then(|| (line_number(from), line_number(end.max(from + 1) - 1)));
    rendering.meta.total_lines = Some(index.line_count());
    if !range {
        let line = |byte: usize| index.line_at(text, byte);
        let left = line(to.max(1) - 1).saturating_sub(line(from)) + 1;
        let shown = if end < to { line(end).saturating_sub(line(from)).max(1) } else { left.max(max_lines) };
        // A page that is cut keeps the size of its walk.
        let of_walk = target.pagination.filter(|_| of.is_some()).map(|fixed| fixed.page_size as usize);
        let known_size = size.or(of_walk);
        rendering.pagination = (from < to).then_some(Pagination {
            is_sample,
            ..Pagination::of_size(target.part_index as u16, known_size.unwrap_or(shown) as u32)
        });
        rendering.required_count = of.map(|of| of.min(left));
        note_upstream_chunk(target, &mut rendering);
    }
    rendering.meta.chunk_bytes = Some(end - from);
    rendering.meta.total_bytes = Some(text.len());
    rendering.meta.is_past_end = from >= to;
    if target.is_first() {
        let exact = costs.map(|costs| TextSize { tokens: costs.total_tokens(), is_exact: true });
        rendering.meta.total_tokens = exact.or_else(|| Some(estimate_size(room.counter, text)));
        describe_text(target, index, room, &mut rendering);
    }
    rendering
}

/// Returns the end of the first entry of a log, or 0 if it is no log or the entry is too long.
fn first_entry_end(text: &str, index: &LineIndex, limits: &ChunkLimits<'_>) -> usize {
    let first = entries(text, index.chunker).and_then(|mut entries| entries.next());
    let end = first.map_or(0, |entry| entry.span.end as usize);
    let is_within = end <= limits.max_bytes / 2 && limits.counter.fits(&text[..end], limits.max_tokens);
    if is_within { end } else { 0 }
}

/// Adds facts of the whole text: its tables for queries and its headings.
fn describe_text(
    target: &RenderTarget<'_>,
    index: &LineIndex,
    room: &RemainingBudget<'_>,
    rendering: &mut Rendering,
) {
    rendering.query_tables = rendering.next.map(|_| QueryTables::of_text(&target.subject.text, index));
    if let Some(range) = target.view.range.filter(|range| !range.is_line_range) {
        let others = same_headings(target.subject, range.span);
        let names = NameList::new(others, max_name_chars(room));
        rendering.meta.same_headings = Some(names).filter(|names| names.total_count() > 0);
    }
    // Finding headings reads the whole text; logs have none.
    if rendering.kind == PortionKind::Chunk && index.has_headings(&target.subject.text) {
        let headings: Vec<String> =
            sections(target.subject).into_iter().map(|section| section.name).collect();
        if !headings.is_empty() {
            let names = NameList::new(headings, max_name_chars(room) * 2);
            rendering.extras.push(NoticeExtra::Headings(names));
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
    fn new(target: &RenderTarget<'_>, max: usize, is_usual: bool, is_sample: bool) -> Self {
        let size = target.policy.chunk_size;
        // The first chunk and the description of the whole take the tokens of a chunk together.
        let described = if target.is_first() { target.described_tokens } else { 0 };
        let (this, later) = match (is_sample, is_usual) {
            (true, _) => (target.policy.reply_target / SAMPLE_SHARE, size),
            (false, true) => (size.saturating_sub(described).max(size / 2), size),
            (false, false) => (max, max),
        };
        Self { this: this.min(max), later: later.min(max) }
    }
}

/// Longest text, in bytes, whose tokens and chunks are counted exactly.
const MAX_EXACT_BYTES: usize = 128 << 10;
/// Most chunks that are counted. Each of them is cut.
const MAX_COUNTED_CHUNKS: usize = 64;

/// Returns the number of chunks. It is exact at the last chunk and for short texts of few chunks; otherwise it is
/// estimated from the average size of the chunks so far.
fn total_chunks(
    target: &RenderTarget<'_>,
    limits: &ChunkLimits<'_>,
    start: usize,
    end: usize,
    to: usize,
) -> ChunkCount {
    let exact = |count| ChunkCount { count, is_estimate: false };
    let (mut chunks, mut at) = (usize::from(target.portion_index) + 1, end);
    if end >= to {
        return exact(chunks);
    }
    let text: &str = &target.subject.text;
    let estimate = |chunks: usize, at: usize| {
        (chunks.saturating_mul(to - start)).div_ceil((at - start).max(1)).max(chunks + 1)
    };
    // Few chunks are cut in advance: an exact count costs less than a reader's wrong estimate.
    if let crate::snapshot::Structure::Text(index) = &target.subject.structure
        && to - start <= MAX_EXACT_BYTES
        && target.is_first()
        && estimate(chunks, at) <= MAX_COUNTED_CHUNKS
    {
        while at < to && chunks < MAX_COUNTED_CHUNKS {
            at = cut(text, at, to, index.chunker, limits);
            chunks += 1;
        }
        if at >= to {
            return exact(chunks);
        }
    }
    ChunkCount { count: estimate(chunks, at), is_estimate: true }
}

/// Renders as much of a range of text as fits, beginning at `from`. Reported offsets are relative to the
/// start of the range.
pub(super) fn render_bytes(
    source: &Slice,
    stretch: Span,
    from: usize,
    room: &RemainingBudget<'_>,
) -> Rendering {
    let text = source.loaded();
    let (start, end) = (stretch.start as usize, (stretch.end as usize).min(text.len()));
    let from = text.floor_char_boundary(from.clamp(start.min(end), end));
    // At most the byte budget is read, and one character more.
    source.need(Span::new(from, (from + room.bytes).saturating_add(char::MAX.len_utf8()).min(end)));
    render_range(source, stretch, from, fitting_end(text, from, end, room))
}

fn render_range(source: &Slice, stretch: Span, from: usize, to: usize) -> Rendering {
    let text = source.loaded();
    let (start, end) = (stretch.start as usize, (stretch.end as usize).min(text.len()));
    let mut rendering = Rendering::new(PortionKind::Raw, text[from..to].to_owned());
    rendering.next = (to < end).then_some(PartOffset::Byte(to as u32));
    rendering.meta.start_byte = Some(from - start);
    rendering.meta.end_byte = Some(to - start);
    rendering.meta.total_bytes = Some(end - start);
    rendering.source = Some((source.clone(), stretch));
    rendering
}

/// Renders as much of a base64 text as fits, beginning at `from`, so that the result can be decoded on its
/// own. `flat` is the token count of any amount of it, if the reply marks it as base64.
pub(super) fn render_base64(
    text: &Slice,
    from: usize,
    room: &RemainingBudget<'_>,
    flat: Option<usize>,
) -> Rendering {
    let from = from.min(text.len()) / BASE64_GROUP * BASE64_GROUP;
    let left = &text[from..];
    let within = left.len().min(room.bytes);
    let fits = match flat {
        Some(tokens) if tokens <= room.tokens => within,
        _ => room.counter.prefix_within(&left[..within], room.tokens),
    };
    let fits = if fits < left.len() {
        (fits / BASE64_GROUP * BASE64_GROUP).max(BASE64_GROUP).min(left.len())
    } else {
        fits
    };
    render_range(text, Span::new(0, text.len()), from, from + fits)
}

/// Characters of a base64 group, which decodes on its own.
const BASE64_GROUP: usize = 4;

/// Returns the end of the range that fits: at least one character after `from`.
fn fitting_end(text: &str, from: usize, end: usize, room: &RemainingBudget<'_>) -> usize {
    // A text takes at least as many wire bytes as it has bytes.
    let window = text.floor_char_boundary((from + room.bytes).min(end)).max(from);
    let window = &text[from..window];
    let mut to = room.counter.prefix_within(window, room.tokens).min(window.len());
    let mut bytes = 0;
    for (i, c) in window[..to].char_indices() {
        bytes += match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            _ => c.len_utf8(),
        };
        if bytes > room.bytes {
            to = i;
            break;
        }
    }
    if to > 0 || from >= end { from + to } else { text.ceil_char_boundary(from + 1).min(end) }
}
