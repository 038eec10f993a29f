//! Selects what is shown around a match in a text or a value, within a size limit.

use std::ops::Range;

use portion_text::chunk::sentence_starts;

use super::text_search::{LineRange, MAX_LINE_BYTES};

/// Longest line that is shown whole, in characters.
const MAX_WHOLE_LINE_CHARS: usize = 600;
/// Characters shown of the beginning of a longer line.
const LINE_HEAD_CHARS: usize = 130;
/// Number of matches up to which each has extended context, and up to which each has the next line.
const MAX_EXTENDED_MATCHES: usize = 3;
const MAX_NEXT_LINE_MATCHES: usize = 10;
/// Number of matches up to which headings have extended context.
const MAX_HEADING_MATCHES: usize = 50;
/// Smallest and largest extended context after a match, in characters and lines. The line of the match
/// counts.
const MIN_EXTENDED_CONTEXT: (usize, usize) = (300, 2);
const MAX_EXTENDED_CONTEXT: (usize, usize) = (800, 12);
/// Length of a line in bytes from which the line before it is not shown.
const MIN_STANDALONE_BYTES: usize = 160;
/// Largest number of context lines on each side.
const MAX_CONTEXT_LINES: usize = 100;
/// Largest number of characters of an excerpt with context.
pub(super) const MAX_CONTEXT_CHARS: usize = 6_000;

/// Amount of context around each match.
#[derive(Clone, Copy, Debug)]
pub(super) enum ContextSize {
    /// This many lines on each side.
    Lines(usize),
    /// The line before, and several lines after.
    Extended,
    /// The next line.
    NextLine,
    /// No context.
    MatchOnly,
}

impl ContextSize {
    /// Returns the requested context, or the default for this number of matches.
    pub(super) fn new(requested: Option<u32>, matches: usize) -> Self {
        match requested {
            Some(lines) => Self::Lines((lines as usize).min(MAX_CONTEXT_LINES)),
            None if matches <= MAX_EXTENDED_MATCHES => Self::Extended,
            None if matches <= MAX_NEXT_LINE_MATCHES => Self::NextLine,
            None => Self::MatchOnly,
        }
    }
}

/// Excerpt of one match, or of several adjacent ones.
pub(super) struct MatchExcerpt {
    pub match_range: Range<usize>,
    /// Bytes shown.
    pub range: Range<usize>,
    /// True if the line continues before them, and after them.
    pub cut: (bool, bool),
    /// Beginning of the line, if it is shown separately: it often has the time or the author.
    pub line_head: Option<Range<usize>>,
}

impl MatchExcerpt {
    /// Returns true if no line is cut.
    pub(super) fn is_whole(&self) -> bool {
        self.cut == (false, false)
    }
}

/// Returns true if the line contains only the match, as headings do. Then the following text is wanted.
pub(super) fn is_heading_match(text: &str, found: &Range<usize>, matches: usize) -> bool {
    let line = LineRange::at(text, found.start).range;
    let bare_len =
        |text: &str| text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | ':')).len();
    matches <= MAX_HEADING_MATCHES
        && found.end <= line.end
        && bare_len(&text[line]) == bare_len(&text[found.clone()])
}

/// Returns the excerpt of a match.
pub(super) fn match_excerpt(
    text: &str,
    found: &Range<usize>,
    around: ContextSize,
    prose: bool,
) -> MatchExcerpt {
    let first = LineRange::at(text, found.start);
    let last = if found.end <= first.range.end { None } else { Some(LineRange::at(text, found.end)) };
    let end = last.as_ref().unwrap_or(&first);
    let (lines, open) =
        (first.range.start..end.range.end.max(first.range.end), (first.continues.0, end.continues.1));
    if open.0 || open.1 || text[lines.clone()].chars().nth(MAX_WHOLE_LINE_CHARS).is_some() {
        let range = excerpt_range(text, lines.clone(), found.start, LINE_EXCERPT);
        let cut = (open.0 || range.start > lines.start, open.1 || range.end < lines.end);
        let head = lines.start..advance_chars(text, lines.start, lines.end, LINE_HEAD_CHARS);
        let head = Some(head).filter(|head| !first.is_running_text() && head.end < range.start);
        return MatchExcerpt { match_range: found.clone(), range, cut, line_head: head };
    }
    let (before, after) = match around {
        ContextSize::Lines(lines) => ((lines, MAX_CONTEXT_CHARS / 2), ContextLimit::Lines(lines)),
        ContextSize::Extended => {
            let before = usize::from(lines.len() < MIN_STANDALONE_BYTES);
            (
                (before, MIN_EXTENDED_CONTEXT.0),
                ContextLimit::Extended {
                    prose,
                    room: MAX_EXTENDED_CONTEXT.0.saturating_sub(2 * lines.len()),
                },
            )
        }
        ContextSize::NextLine => ((0, 0), ContextLimit::Lines(1)),
        ContextSize::MatchOnly => ((0, 0), ContextLimit::Lines(0)),
    };
    let start = context_start(text, lines.start, before);
    let end = context_end(text, lines.end, after);
    let range = trim_blank_lines(text, start..end, &lines);
    MatchExcerpt { match_range: found.clone(), range, cut: (false, false), line_head: None }
}

/// Removes blank lines at both ends, and a carriage return at the end.
fn trim_blank_lines(text: &str, range: Range<usize>, keep: &Range<usize>) -> Range<usize> {
    let head = &text[range.start..keep.start];
    let start = keep.start - head.trim_start_matches(['\n', '\r']).len();
    let tail = &text[keep.end..range.end];
    let end = keep.end + tail.trim_end().len();
    let end = start + text[start..end].trim_end_matches('\r').len();
    start..end.max(start)
}

/// Returns the start of the context before a line, limited in lines and characters.
fn context_start(text: &str, start: usize, (lines, room): (usize, usize)) -> usize {
    let mut at = start;
    for _ in 0..lines {
        let Some(above) = at.checked_sub(1) else { break };
        let near = above.saturating_sub(MAX_LINE_BYTES);
        let Some(begins) = memchr::memrchr(b'\n', &text.as_bytes()[near..above])
            .map(|feed| near + feed + 1)
            .or((near == 0).then_some(0))
        else {
            break;
        };
        if text[begins..start].chars().nth(room).is_some() {
            break;
        }
        at = begins;
    }
    at
}

/// Limit of the context after a match.
#[derive(Clone, Copy)]
enum ContextLimit {
    /// This many lines.
    Lines(usize),
    /// Enough lines to be informative; in prose, up to the end of a sentence.
    Extended { prose: bool, room: usize },
}

/// Returns the end of the context after a line.
fn context_end(text: &str, end: usize, until: ContextLimit) -> usize {
    let (mut at, mut shown_lines) = (end, 0);
    let (max, room) = match until {
        ContextLimit::Lines(lines) => (lines, MAX_CONTEXT_CHARS / 2),
        ContextLimit::Extended { room, .. } => (MAX_EXTENDED_CONTEXT.1, room),
    };
    for _ in 0..max {
        // Skips the line break.
        if at >= text.len() {
            break;
        }
        let begins = at + 1;
        let near = text.len().min(begins + MAX_LINE_BYTES);
        let feed = memchr::memchr(b'\n', &text.as_bytes()[begins..near]).map(|feed| begins + feed);
        let Some(ends) = feed.or((near == text.len()).then_some(near)) else { break };
        if text[end..ends].chars().nth(room).is_some() {
            break;
        }
        let line = text[begins..ends].trim();
        if let ContextLimit::Extended { prose, .. } = until {
            shown_lines += usize::from(!line.is_empty());
            let enough = shown_lines > MIN_EXTENDED_CONTEXT.1
                && advance_chars(text, end, at, MIN_EXTENDED_CONTEXT.0) < at
                || shown_lines > MIN_EXTENDED_CONTEXT.1 + 3;
            let complete = text[..at].trim_end().ends_with(is_sentence_end) || line.is_empty();
            if enough && (!prose || complete) {
                break;
            }
        }
        at = ends;
    }
    at
}

fn is_sentence_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '؟' | '۔' | '।' | '”' | '"' | '」')
}

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
    let min = (near - found) / 2;
    if let Some(sentence) = sentence_starts(shown).into_iter().rfind(|at| *at >= min) {
        return found + shown[..sentence].trim_end().len();
    }
    let shown = &text[found..near];
    let word = shown.rfind(char::is_whitespace).filter(|at| *at > shown.len() * 2 / 3);
    word.map_or(near, |at| found + shown[..at].trim_end().len())
}
