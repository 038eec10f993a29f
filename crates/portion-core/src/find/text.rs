//! Matches in text: the line of each, with its neighbours.

use std::ops::Range;

use super::FindError;
use super::excerpt::{self, OF_LINE};
use super::fuel::Fuel;
use super::item::Item;
use super::neighbours::{Around, ROOM, Shown, reads_on, show};
use super::pattern::Matcher;
use crate::snapshot::Text;

/// Bytes from which a line is no line of a file but running text, in which each place counts.
pub(super) const RUNNING: usize = 4_000;
/// Bytes of running text that are a unit of it.
const STRETCH: usize = 1 << 10;
/// The matches in one text.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The first of them, each by its first place, no more than are kept.
    pub kept: Vec<Range<usize>>,
    /// All of them: lines in which the pattern begins, and in running text each place.
    pub matches: usize,
    /// All places, where they were counted.
    pub occurrences: usize,
}

/// Looks through a text.
pub(super) fn places(
    text: &str,
    matcher: &mut Matcher,
    most: usize,
    fuel: &mut Fuel<'_>,
) -> Result<Places, FindError> {
    let every = matcher.counts_occurrences();
    let mut places = Places::default();
    let (mut from, mut counted) = (0, 0);
    while from <= text.len()
        && let Some(found) = matcher.find(text, from, fuel)?
    {
        // A place at the very end stands for no line.
        if found.is_empty() && found.start == text.len() {
            break;
        }
        places.occurrences += 1;
        if found.start >= counted {
            places.matches += 1;
            if places.kept.len() < most {
                places.kept.push(found.clone());
            }
            let line = Line::of(text, found.start);
            counted = if line.runs() && !found.is_empty() { found.end } else { line.range.end + 1 };
        }
        from = if every { found.end } else { found.end.max(counted) };
        if found.is_empty() && from == found.start {
            from += 1;
        }
        from = text.ceil_char_boundary(from.min(text.len() + 1));
    }
    Ok(places)
}

/// A line, or what is near in one that is longer than lines are.
pub(super) struct Line {
    /// Without its line break.
    pub range: Range<usize>,
    /// Whether it goes on before that, and after.
    pub open: (bool, bool),
}

impl Line {
    /// The line of a byte.
    pub(super) fn of(text: &str, at: usize) -> Self {
        let bytes = text.as_bytes();
        let (low, high) = (at.saturating_sub(RUNNING), text.len().min(at + RUNNING));
        let start = memchr::memrchr(b'\n', &bytes[low..at]).map(|feed| low + feed + 1);
        let end = memchr::memchr(b'\n', &bytes[at..high]).map(|feed| at + feed);
        let open = (start.is_none() && low > 0, end.is_none() && high < text.len());
        let (start, end) = (start.unwrap_or(low), end.unwrap_or(high));
        Self { range: text.ceil_char_boundary(start)..text.floor_char_boundary(end), open }
    }

    /// Whether it is running text.
    pub(super) fn runs(&self) -> bool {
        self.open.0 || self.open.1 || self.range.len() > RUNNING
    }
}

/// Writes an item for each match, or one for several that lie together.
///
/// `path` is what leads to the text, empty where nothing need; `byte` whether places in it are told by byte.
pub(super) fn items(
    text: &str,
    index: &Text,
    places: &Places,
    around: Around,
    path: &str,
    byte: bool,
) -> Vec<String> {
    let prose = matches!(index.chunker.name(), "prose" | "markdown");
    let mut shown: Vec<Shown> = Vec::new();
    for found in &places.kept {
        let heads = !matches!(around, Around::Asked(_)) && reads_on(text, found, places.matches);
        let around = if heads { Around::Ample } else { around };
        let mut next = show(text, found, around, prose);
        match shown.last_mut() {
            // Lines that are shown already bring what is around them along, as long as there is room.
            Some(last)
                if found.start < last.range.end
                    && last.whole()
                    && next.whole()
                    && next.range.end.saturating_sub(last.range.start) <= ROOM =>
            {
                last.range.end = last.range.end.max(next.range.end);
            }
            Some(last) if found.end <= last.range.end => {}
            last => {
                if let Some(last) =
                    last.filter(|last| next.range.start < last.range.end && last.range.end <= found.start)
                {
                    // What is shown once is not shown again.
                    let whole = last.whole() && next.whole();
                    let feed = memchr::memchr(b'\n', &text.as_bytes()[last.range.end..found.start]);
                    next.range.start = last.range.end + feed.filter(|_| whole).map_or(0, |feed| feed + 1);
                    next.cut.0 |= !whole;
                }
                shown.push(next);
            }
        }
    }
    shown.iter().map(|shown| item(text, index, shown, path, byte)).collect()
}

/// Writes an item for a passage in which something was found.
pub(super) fn passage(
    text: &str,
    index: &Text,
    passage: Range<usize>,
    found: usize,
    path: &str,
    byte: bool,
) -> String {
    let range = excerpt::around(text, passage.clone(), found, OF_LINE);
    let cut = (range.start > passage.start, range.end < passage.end);
    item(text, index, &Shown { found: found..found, range, cut, head: None }, path, byte)
}

/// The paragraph of a byte, or its line where lines are what there is; of running text a stretch.
pub(super) fn unit(text: &str, at: usize, paragraphs: bool) -> Range<usize> {
    let line = Line::of(text, at);
    if line.runs() {
        let start = at - at % STRETCH;
        return text.floor_char_boundary(start)..text.floor_char_boundary((start + STRETCH).min(text.len()));
    }
    let Range { mut start, mut end } = line.range;
    while paragraphs && start > 0 && at - start < RUNNING {
        let above = Line::of(text, start - 1);
        if above.runs() || text[above.range.clone()].trim().is_empty() {
            break;
        }
        start = above.range.start;
    }
    while paragraphs && end + 1 < text.len() && end - at < RUNNING {
        let below = Line::of(text, end + 1);
        if below.runs() || text[below.range.clone()].trim().is_empty() {
            break;
        }
        end = below.range.end;
    }
    start..end
}

fn item(text: &str, index: &Text, shown: &Shown, path: &str, byte: bool) -> String {
    let line = index.line_at(text, shown.found.start);
    let mut item = Item::default();
    if !path.is_empty() {
        item.text("path", path);
    }
    item.number("line", line + 1);
    let Range { start, end } = shown.range;
    let feeds = |from: usize, to: usize| memchr::memchr_iter(b'\n', &text.as_bytes()[from..to]).count();
    let first = line - feeds(start, shown.found.start.max(start)).min(line);
    let last = first + feeds(start, end);
    if last > first {
        item.number("startLine", first + 1);
        item.number("endLine", last + 1);
    }
    if byte && !shown.whole() {
        item.number("byte", shown.found.start);
    }
    let head = shown.head.clone().map(|head| excerpt::told(&text[head], (false, true)));
    let part = excerpt::told(&text[shown.range.clone()], shown.cut);
    item.text("text", &head.into_iter().chain([part]).collect::<Vec<_>>().join(" "));
    item.finish()
}
