//! A stretch of a text around a match, cut where it hurts least.

use std::ops::Range;

use crate::chunk::sentence_starts;

/// What stands where something was cut away.
const CUT: char = '…';

/// How much is shown around a match, in characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Before it.
    pub before: usize,
    /// From its beginning on.
    pub after: usize,
}

/// Of a line that is too long to be shown.
pub(super) const OF_LINE: Size = Size { before: 200, after: 400 };
/// Of a value in JSON.
pub(super) const OF_VALUE: Size = Size { before: 50, after: 108 };

/// What is shown of a stretch of a text, the match lying in it: all of it, or as much as there is room for.
pub(super) fn around(text: &str, within: Range<usize>, found: usize, size: Size) -> Range<usize> {
    let found = found.clamp(within.start, within.end.max(within.start));
    let start = before(text, within.start, found, size.before);
    let end = after(text, found, within.end, size.after);
    start..end
}

/// A part of a text, with what says whether it was cut before it, and after.
pub(super) fn told(part: &str, (head, tail): (bool, bool)) -> String {
    let mut out = String::with_capacity(part.len() + 2 * CUT.len_utf8());
    out.extend(head.then_some(CUT));
    out.push_str(part);
    out.extend(tail.then_some(CUT));
    out
}

/// What is shown of a value in JSON, around a place in it.
pub(super) fn of_value(value: &str, found: usize) -> String {
    let whole = value.chars().nth(OF_VALUE.before + OF_VALUE.after).is_none();
    let shown = if whole { 0..value.len() } else { around(value, 0..value.len(), found, OF_VALUE) };
    let cut = (shown.start > 0, shown.end < value.len());
    told(&value[shown], cut)
}

/// The byte so many characters after another, at most `end`.
pub(super) fn chars_on(text: &str, from: usize, end: usize, chars: usize) -> usize {
    let rest = text.get(from..end).unwrap_or_default();
    rest.char_indices().nth(chars).map_or(end.max(from), |(at, _)| from + at)
}

/// The byte so many characters before another, at least `start`.
pub(super) fn chars_back(text: &str, start: usize, from: usize, chars: usize) -> usize {
    let rest = text.get(start..from).unwrap_or_default();
    match chars.checked_sub(1) {
        None => from,
        Some(chars) => rest.char_indices().rev().nth(chars).map_or(start, |(at, _)| start + at),
    }
}

/// Where what is shown before a match begins: with a sentence, or with a word.
fn before(text: &str, start: usize, found: usize, chars: usize) -> usize {
    let far = chars_back(text, start, found, chars);
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

/// Where what is shown from a match on ends: with a sentence that is near, or with a word.
fn after(text: &str, found: usize, end: usize, chars: usize) -> usize {
    let near = chars_on(text, found, end, chars);
    if near == end {
        return end;
    }
    // A sentence may go on for a third more.
    let far = chars_on(text, near, end, chars / 3);
    let shown = &text[found..far];
    let least = (near - found) / 2;
    if let Some(sentence) = sentence_starts(shown).into_iter().rfind(|at| *at >= least) {
        return found + shown[..sentence].trim_end().len();
    }
    let shown = &text[found..near];
    let word = shown.rfind(char::is_whitespace).filter(|at| *at > shown.len() * 2 / 3);
    word.map_or(near, |at| found + shown[..at].trim_end().len())
}
