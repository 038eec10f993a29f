//! Matches in text: the line of each, with its neighbours.

use std::ops::Range;

use super::FindError;
use super::excerpt::{self, OF_LINE, chars_on};
use super::fuel::Fuel;
use super::item::Item;
use super::pattern::Matcher;
use crate::snapshot::Text;

/// Bytes from which a line is no line of a file but running text, in which each place counts.
const RUNNING: usize = 4_000;
/// Bytes of running text that are a unit of it.
const STRETCH: usize = 1 << 10;
/// Characters up to which a line is shown whole.
const WHOLE: usize = 600;
/// Matches up to which each is shown with much around it, and up to which with the next line.
const FEW: usize = 3;
const SEVERAL: usize = 10;
/// Matches up to which those that are lines of their own are read on from.
const HEADINGS: usize = 50;
/// Characters and lines after a match where there are few, at least; and at most.
const AMPLE: (usize, usize) = (300, 2);
const MOST: (usize, usize) = (800, 12);
/// Lines of neighbours that can be asked for on each side.
const NEIGHBOURS: usize = 100;
/// Characters up to which neighbours are shown whole, together.
const ROOM: usize = 6_000;

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
    fuel: &mut Fuel,
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
struct Line {
    /// Without its line break.
    range: Range<usize>,
    /// Whether it goes on before that, and after.
    open: (bool, bool),
}

impl Line {
    /// The line of a byte.
    fn of(text: &str, at: usize) -> Self {
        let bytes = text.as_bytes();
        let (low, high) = (at.saturating_sub(RUNNING), text.len().min(at + RUNNING));
        let start = memchr::memrchr(b'\n', &bytes[low..at]).map(|feed| low + feed + 1);
        let end = memchr::memchr(b'\n', &bytes[at..high]).map(|feed| at + feed);
        let open = (start.is_none() && low > 0, end.is_none() && high < text.len());
        let (start, end) = (start.unwrap_or(low), end.unwrap_or(high));
        Self { range: text.ceil_char_boundary(start)..text.floor_char_boundary(end), open }
    }

    /// Whether it is running text.
    fn runs(&self) -> bool {
        self.open.0 || self.open.1 || self.range.len() > RUNNING
    }
}

/// How much is shown around each match.
#[derive(Clone, Copy, Debug)]
pub(super) enum Around {
    /// So many lines each side.
    Asked(usize),
    /// The line before, and enough after it to be read.
    Ample,
    /// The next line.
    Next,
    /// Nothing.
    Alone,
}

impl Around {
    /// What was asked for, or what so many matches leave room for.
    pub(super) fn of(asked: Option<u32>, matches: usize) -> Self {
        match asked {
            Some(lines) => Self::Asked((lines as usize).min(NEIGHBOURS)),
            None if matches <= FEW => Self::Ample,
            None if matches <= SEVERAL => Self::Next,
            None => Self::Alone,
        }
    }
}

/// What is shown of one match, or of several that lie together.
struct Shown {
    found: Range<usize>,
    /// The bytes shown.
    range: Range<usize>,
    /// Whether more of the line stands before them, and after.
    cut: (bool, bool),
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
    item(text, index, &Shown { found: found..found, range, cut }, path, byte)
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

impl Shown {
    fn whole(&self) -> bool {
        self.cut == (false, false)
    }
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
    item.text("text", &excerpt::told(&text[shown.range.clone()], shown.cut));
    item.finish()
}

/// Whether a line says nothing but what was looked for, as headings do: what is wanted is what follows.
fn reads_on(text: &str, found: &Range<usize>, matches: usize) -> bool {
    let line = Line::of(text, found.start).range;
    let said =
        |text: &str| text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | ':')).len();
    matches <= HEADINGS && found.end <= line.end && said(&text[line]) == said(&text[found.clone()])
}

/// What is shown of a match.
fn show(text: &str, found: &Range<usize>, around: Around, prose: bool) -> Shown {
    let first = Line::of(text, found.start);
    let last = if found.end <= first.range.end { None } else { Some(Line::of(text, found.end)) };
    let end = last.as_ref().unwrap_or(&first);
    let (lines, open) = (first.range.start..end.range.end.max(first.range.end), (first.open.0, end.open.1));
    if open.0 || open.1 || text[lines.clone()].chars().nth(WHOLE).is_some() {
        let range = excerpt::around(text, lines.clone(), found.start, OF_LINE);
        let cut = (open.0 || range.start > lines.start, open.1 || range.end < lines.end);
        return Shown { found: found.clone(), range, cut };
    }
    let (before, after) = match around {
        Around::Asked(lines) => ((lines, ROOM / 2), Until::Lines(lines)),
        Around::Ample => ((1, WHOLE), Until::Ample { prose }),
        Around::Next => ((0, 0), Until::Lines(1)),
        Around::Alone => ((0, 0), Until::Lines(0)),
    };
    let start = lines_before(text, lines.start, before);
    let end = lines_after(text, lines.end, after);
    let range = trimmed(text, start..end, &lines);
    Shown { found: found.clone(), range, cut: (false, false) }
}

/// Without the blank lines around, and the carriage return at the end.
fn trimmed(text: &str, range: Range<usize>, keep: &Range<usize>) -> Range<usize> {
    let head = &text[range.start..keep.start];
    let start = keep.start - head.trim_start_matches(['\n', '\r']).len();
    let tail = &text[keep.end..range.end];
    let end = keep.end + tail.trim_end().len();
    let end = start + text[start..end].trim_end_matches('\r').len();
    start..end.max(start)
}

/// Where the lines before a line begin: so many, in so many characters.
fn lines_before(text: &str, start: usize, (lines, room): (usize, usize)) -> usize {
    let mut at = start;
    for _ in 0..lines {
        let Some(above) = at.checked_sub(1) else { break };
        let near = above.saturating_sub(RUNNING);
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

/// How far the lines after a match are shown.
#[derive(Clone, Copy)]
enum Until {
    /// So many.
    Lines(usize),
    /// As many as tell something; in prose to where a sentence ends.
    Ample { prose: bool },
}

/// Where the lines after a line end.
fn lines_after(text: &str, end: usize, until: Until) -> usize {
    let (mut at, mut said) = (end, 0);
    let (most, room) = match until {
        Until::Lines(lines) => (lines, ROOM / 2),
        Until::Ample { .. } => (MOST.1, MOST.0),
    };
    for _ in 0..most {
        // The break of the line before.
        if at >= text.len() {
            break;
        }
        let begins = at + 1;
        let near = text.len().min(begins + RUNNING);
        let feed = memchr::memchr(b'\n', &text.as_bytes()[begins..near]).map(|feed| begins + feed);
        let Some(ends) = feed.or((near == text.len()).then_some(near)) else { break };
        if text[end..ends].chars().nth(room).is_some() {
            break;
        }
        let line = text[begins..ends].trim();
        if let Until::Ample { prose } = until {
            said += usize::from(!line.is_empty());
            let told = said > AMPLE.1 && chars_on(text, end, at, AMPLE.0) < at || said > AMPLE.1 + 3;
            let complete = text[..at].trim_end().ends_with(is_stop) || line.is_empty();
            if told && (!prose || complete) {
                break;
            }
        }
        at = ends;
    }
    at
}

fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '؟' | '۔' | '।' | '”' | '"' | '」')
}
