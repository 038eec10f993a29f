//! Renders byte ranges as the upstream wrote them.

use portion_json::span::Span;

use super::budget::RemainingBudget;
use super::portion::PortionKind;
use super::rendering::Rendering;
use crate::cursor::PartOffset;
use crate::snapshot::Slice;

/// Renders as much of a range of text as fits, beginning at `from`. Reported offsets are relative to the
/// start of the range.
pub(super) fn render(source: &Slice, stretch: Span, from: usize, room: &RemainingBudget<'_>) -> Rendering {
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
