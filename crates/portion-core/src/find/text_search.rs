//! Searches text. Each match is shown as its line with context.

use std::ops::Range;

use portion_text::chunk::TextKind;

use super::context::{
    ContextSize, LINE_EXCERPT, MAX_CONTEXT_CHARS, MatchExcerpt, is_heading_match, match_excerpt,
};
use super::error::Fuel;
use super::hits::JsonObjectWriter;
use super::pattern::Matcher;
use super::{FindError, context};
use crate::snapshot::LineIndex;

/// Length in bytes from which a line is treated as running text, in which each occurrence counts.
pub(super) const MAX_LINE_BYTES: usize = 4_000;
/// Bytes of a unit of running text.
const RUNNING_TEXT_UNIT_BYTES: usize = 1 << 10;

/// Matches in one text.
#[derive(Debug, Default)]
pub(super) struct TextMatches {
    /// First occurrence of each match, up to the limit.
    pub ranges: Vec<Range<usize>>,
    /// Number of matches: lines in which the pattern begins, and in running text each occurrence.
    pub match_count: usize,
    /// Number of occurrences, if they are counted.
    pub occurrence_count: usize,
}

/// The place of a text in a result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextPlace<'a> {
    /// Its path; empty if none is needed.
    pub path: &'a str,
    /// Its name, if it is one of several: a URI or the path of a file.
    pub name: Option<&'a str>,
}

/// Searches a text.
pub(super) fn find_matches(
    text: &str,
    matcher: &mut Matcher,
    max: usize,
    fuel: &mut Fuel<'_>,
) -> Result<TextMatches, FindError> {
    let every = matcher.counts_occurrences();
    let mut places = TextMatches::default();
    let (mut from, mut counted) = (0, 0);
    while from <= text.len()
        && let Some(found) = matcher.find(text, from, fuel)?
    {
        // An empty match at the very end belongs to no line.
        if found.is_empty() && found.start == text.len() {
            break;
        }
        places.occurrence_count += 1;
        if found.start >= counted {
            places.match_count += 1;
            if places.ranges.len() < max {
                places.ranges.push(found.clone());
            }
            let line = LineRange::at(text, found.start);
            counted =
                if line.is_running_text() && !found.is_empty() { found.end } else { line.range.end + 1 };
        }
        from = if every { found.end } else { found.end.max(counted) };
        if found.is_empty() && from == found.start {
            from += 1;
        }
        from = text.ceil_char_boundary(from.min(text.len() + 1));
    }
    Ok(places)
}

/// A line, or the part of a very long line around an offset.
pub(super) struct LineRange {
    /// Range without the line break.
    pub range: Range<usize>,
    /// True if the line continues before this range, and after it.
    pub continues: (bool, bool),
}

impl LineRange {
    /// Returns the line that contains an offset.
    pub(super) fn at(text: &str, at: usize) -> Self {
        let bytes = text.as_bytes();
        let (low, high) = (at.saturating_sub(MAX_LINE_BYTES), text.len().min(at + MAX_LINE_BYTES));
        let start = memchr::memrchr(b'\n', &bytes[low..at]).map(|feed| low + feed + 1);
        let end = memchr::memchr(b'\n', &bytes[at..high]).map(|feed| at + feed);
        let open = (start.is_none() && low > 0, end.is_none() && high < text.len());
        let (start, end) = (start.unwrap_or(low), end.unwrap_or(high));
        Self { range: text.ceil_char_boundary(start)..text.floor_char_boundary(end), continues: open }
    }

    /// Returns true if the line is running text.
    pub(super) fn is_running_text(&self) -> bool {
        self.continues.0 || self.continues.1 || self.range.len() > MAX_LINE_BYTES
    }
}

/// Writes a result item for each match, or one for several adjacent ones.
///
/// If `byte` is set, items have byte offsets.
pub(super) fn match_items(
    text: &str,
    index: &LineIndex,
    places: &TextMatches,
    around: ContextSize,
    place: TextPlace<'_>,
    byte: bool,
) -> Vec<String> {
    let prose = matches!(index.chunker.kind(), TextKind::Prose | TextKind::Markdown);
    let is_log = index.chunker.kind() == TextKind::Log;
    let mut shown: Vec<MatchExcerpt> = Vec::new();
    for found in &places.ranges {
        let heads =
            !matches!(around, ContextSize::Lines(_)) && is_heading_match(text, found, places.match_count);
        let around = match around {
            _ if heads => ContextSize::Extended,
            // The line below may be that of another entry.
            ContextSize::NextLine if is_log && !is_continued(text, found.end) => ContextSize::MatchOnly,
            around => around,
        };
        let mut next = match_excerpt(text, found, around, prose);
        match shown.last_mut() {
            // A match in lines that are already shown extends them by its context, up to the limit.
            Some(last)
                if found.start < last.range.end
                    && last.is_whole()
                    && next.is_whole()
                    && next.range.end.saturating_sub(last.range.start) <= MAX_CONTEXT_CHARS =>
            {
                last.range.end = last.range.end.max(next.range.end);
            }
            Some(last) if found.end <= last.range.end => {}
            last => {
                if let Some(last) =
                    last.filter(|last| next.range.start < last.range.end && last.range.end <= found.start)
                {
                    // Text that is already shown is not repeated.
                    let whole = last.is_whole() && next.is_whole();
                    let feed = memchr::memchr(b'\n', &text.as_bytes()[last.range.end..found.start]);
                    next.range.start = last.range.end + feed.filter(|_| whole).map_or(0, |feed| feed + 1);
                    next.cut.0 |= !whole;
                }
                shown.push(next);
            }
        }
    }
    shown.iter().map(|shown| match_item(text, index, shown, place, byte)).collect()
}

/// Returns true if the line below an offset is indented, as the lines of an entry below its first one are.
fn is_continued(text: &str, at: usize) -> bool {
    let line = LineRange::at(text, at).range;
    text.get(line.end..).is_some_and(|rest| rest.trim_start_matches(['\r', '\n']).starts_with([' ', '\t']))
}

/// Writes a result item for a passage with a match.
pub(super) fn passage_item(
    text: &str,
    index: &LineIndex,
    passage: Range<usize>,
    found: usize,
    place: TextPlace<'_>,
    byte: bool,
) -> String {
    let range = context::excerpt_range(text, passage.clone(), found, LINE_EXCERPT);
    let cut = (range.start > passage.start, range.end < passage.end);
    match_item(
        text,
        index,
        &MatchExcerpt { match_range: found..found, range, cut, line_head: None },
        place,
        byte,
    )
}

/// Returns the range of the paragraph that contains an offset, or of the line in text without paragraphs, or
/// a fixed-size range of running text.
pub(super) fn unit_range(text: &str, at: usize, paragraphs: bool) -> Range<usize> {
    let line = LineRange::at(text, at);
    if line.is_running_text() {
        let start = at - at % RUNNING_TEXT_UNIT_BYTES;
        return text.floor_char_boundary(start)
            ..text.floor_char_boundary((start + RUNNING_TEXT_UNIT_BYTES).min(text.len()));
    }
    let Range { mut start, mut end } = line.range;
    while paragraphs && start > 0 && at - start < MAX_LINE_BYTES {
        let above = LineRange::at(text, start - 1);
        if above.is_running_text() || text[above.range.clone()].trim().is_empty() {
            break;
        }
        start = above.range.start;
    }
    while paragraphs && end + 1 < text.len() && end - at < MAX_LINE_BYTES {
        let below = LineRange::at(text, end + 1);
        if below.is_running_text() || text[below.range.clone()].trim().is_empty() {
            break;
        }
        end = below.range.end;
    }
    start..end
}

fn match_item(
    text: &str,
    index: &LineIndex,
    shown: &MatchExcerpt,
    place: TextPlace<'_>,
    byte: bool,
) -> String {
    let line = index.line_at(text, shown.match_range.start);
    let mut item = JsonObjectWriter::default();
    if !place.path.is_empty() {
        item.add_text("path", place.path);
    }
    if let Some(name) = place.name {
        item.add_text("name", name);
    }
    item.add_number("line", line + 1);
    let Range { start, end } = shown.range;
    let feeds = |from: usize, to: usize| memchr::memchr_iter(b'\n', &text.as_bytes()[from..to]).count();
    let first = line - feeds(start, shown.match_range.start.max(start)).min(line);
    let last = first + feeds(start, end);
    if last > first {
        item.add_number("startLine", first + 1);
        item.add_number("endLine", last + 1);
    }
    if byte && !shown.is_whole() {
        item.add_number("byte", shown.match_range.start);
    }
    let head = shown.line_head.clone().map(|head| context::with_ellipses(&text[head], (false, true)));
    let part = context::with_ellipses(&text[shown.range.clone()], shown.cut);
    item.add_text("text", &head.into_iter().chain([part]).collect::<Vec<_>>().join(" "));
    item.finish()
}
