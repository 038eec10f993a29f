//! Cuts an excerpt around a match, at sentence or word boundaries if possible.

use std::ops::Range;

use portion_text::chunk::sentence_starts;

/// Mark for omitted text.
const ELLIPSIS: char = '…';

/// Size of an excerpt, in characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExcerptSize {
    /// Characters before the match.
    pub chars_before: usize,
    /// Characters from the start of the match on.
    pub chars_after: usize,
}

/// Excerpt of a long line.
pub(super) const LINE_EXCERPT: ExcerptSize = ExcerptSize { chars_before: 200, chars_after: 400 };
/// Excerpt of a JSON value.
pub(super) const VALUE_EXCERPT: ExcerptSize = ExcerptSize { chars_before: 50, chars_after: 108 };

/// Returns the excerpt of a range around a match: all of it, or as much as fits.
pub(super) fn excerpt_range(
    text: &str,
    within: Range<usize>,
    found: usize,
    size: ExcerptSize,
) -> Range<usize> {
    let found = found.clamp(within.start, within.end.max(within.start));
    let start = excerpt_start(text, within.start, found, size.chars_before);
    let end = excerpt_end(text, found, within.end, size.chars_after);
    start..end
}

/// Returns a text with marks where it was cut, at its start and at its end.
pub(super) fn with_ellipses(part: &str, (head, tail): (bool, bool)) -> String {
    let mut out = String::with_capacity(part.len() + 2 * ELLIPSIS.len_utf8());
    out.extend(head.then_some(ELLIPSIS));
    out.push_str(part);
    out.extend(tail.then_some(ELLIPSIS));
    out
}

/// Returns the excerpt of a JSON value around an offset.
pub(super) fn value_excerpt(value: &str, found: usize) -> String {
    let whole = value.chars().nth(VALUE_EXCERPT.chars_before + VALUE_EXCERPT.chars_after).is_none();
    let shown =
        if whole { 0..value.len() } else { excerpt_range(value, 0..value.len(), found, VALUE_EXCERPT) };
    let cut = (shown.start > 0, shown.end < value.len());
    with_ellipses(&value[shown], cut)
}

/// Returns the offset `chars` characters after another, at most `end`.
pub(super) fn advance_chars(text: &str, from: usize, end: usize, chars: usize) -> usize {
    let rest = text.get(from..end).unwrap_or_default();
    rest.char_indices().nth(chars).map_or(end.max(from), |(at, _)| from + at)
}

/// Returns the offset `chars` characters before another, at least `start`.
pub(super) fn rewind_chars(text: &str, start: usize, from: usize, chars: usize) -> usize {
    let rest = text.get(start..from).unwrap_or_default();
    match chars.checked_sub(1) {
        None => from,
        Some(chars) => rest.char_indices().rev().nth(chars).map_or(start, |(at, _)| start + at),
    }
}

/// Returns the start of an excerpt: the beginning of a sentence or of a word.
fn excerpt_start(text: &str, start: usize, found: usize, chars: usize) -> usize {
    let far = rewind_chars(text, start, found, chars);
    if far == start {
        return start;
    }
    let shown = &text[far..found];
    if let Some(sentence) = sentence_starts(shown).first() {
        return far + sentence;
    }
    let word = shown.find(char::is_whitespace).filter(|at| *at < shown.len() / 3);
    word.map_or(far, |at| found - shown[at..].trim_start().len())
}

/// Returns the end of an excerpt: the end of a nearby sentence or of a word.
fn excerpt_end(text: &str, found: usize, end: usize, chars: usize) -> usize {
    let near = advance_chars(text, found, end, chars);
    if near == end {
        return end;
    }
    // A sentence may be a third longer.
    let far = advance_chars(text, near, end, chars / 3);
    let shown = &text[found..far];
    let least = (near - found) / 2;
    if let Some(sentence) = sentence_starts(shown).into_iter().rfind(|at| *at >= least) {
        return found + shown[..sentence].trim_end().len();
    }
    let shown = &text[found..near];
    let word = shown.rfind(char::is_whitespace).filter(|at| *at > shown.len() * 2 / 3);
    word.map_or(near, |at| found + shown[..at].trim_end().len())
}
