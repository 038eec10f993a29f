//! What is shown around a match in text: lines before and after it, as many as there is room for.

use std::ops::Range;

use super::excerpt::{self, OF_LINE, chars_on};
use super::text::{Line, RUNNING};

/// Characters up to which a line is shown whole.
const WHOLE: usize = 600;
/// Characters of the beginning of a line that is not.
const HEAD: usize = 130;
/// Matches up to which each is shown with much around it, and up to which with the next line.
const FEW: usize = 3;
const SEVERAL: usize = 10;
/// Matches up to which those that are lines of their own are read on from.
const HEADINGS: usize = 50;
/// Characters and lines after a match where there are few, at least; and at most. The line itself counts.
const AMPLE: (usize, usize) = (300, 2);
const MOST: (usize, usize) = (800, 12);
/// Bytes of a line without its neighbours from which the line before tells little that it does not.
const ENOUGH: usize = 160;
/// Lines of neighbours that can be asked for on each side.
const NEIGHBOURS: usize = 100;
/// Characters up to which neighbours are shown whole, together.
pub(super) const ROOM: usize = 6_000;

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
pub(super) struct Shown {
    pub found: Range<usize>,
    /// The bytes shown.
    pub range: Range<usize>,
    /// Whether more of the line stands before them, and after.
    pub cut: (bool, bool),
    /// How the line begins, where that is apart: when it was, whose it is.
    pub head: Option<Range<usize>>,
}

impl Shown {
    /// Whether no line is cut.
    pub(super) fn whole(&self) -> bool {
        self.cut == (false, false)
    }
}

/// Whether a line says nothing but what was looked for, as headings do: what is wanted is what follows.
pub(super) fn reads_on(text: &str, found: &Range<usize>, matches: usize) -> bool {
    let line = Line::of(text, found.start).range;
    let said =
        |text: &str| text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | ':')).len();
    matches <= HEADINGS && found.end <= line.end && said(&text[line]) == said(&text[found.clone()])
}

/// What is shown of a match.
pub(super) fn show(text: &str, found: &Range<usize>, around: Around, prose: bool) -> Shown {
    let first = Line::of(text, found.start);
    let last = if found.end <= first.range.end { None } else { Some(Line::of(text, found.end)) };
    let end = last.as_ref().unwrap_or(&first);
    let (lines, open) = (first.range.start..end.range.end.max(first.range.end), (first.open.0, end.open.1));
    if open.0 || open.1 || text[lines.clone()].chars().nth(WHOLE).is_some() {
        let range = excerpt::around(text, lines.clone(), found.start, OF_LINE);
        let cut = (open.0 || range.start > lines.start, open.1 || range.end < lines.end);
        let head = lines.start..chars_on(text, lines.start, lines.end, HEAD);
        let head = Some(head).filter(|head| !first.runs() && head.end < range.start);
        return Shown { found: found.clone(), range, cut, head };
    }
    let (before, after) = match around {
        Around::Asked(lines) => ((lines, ROOM / 2), Until::Lines(lines)),
        Around::Ample => {
            let before = usize::from(lines.len() < ENOUGH);
            ((before, AMPLE.0), Until::Ample { prose, room: MOST.0.saturating_sub(2 * lines.len()) })
        }
        Around::Next => ((0, 0), Until::Lines(1)),
        Around::Alone => ((0, 0), Until::Lines(0)),
    };
    let start = lines_before(text, lines.start, before);
    let end = lines_after(text, lines.end, after);
    let range = trimmed(text, start..end, &lines);
    Shown { found: found.clone(), range, cut: (false, false), head: None }
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
    Ample { prose: bool, room: usize },
}

/// Where the lines after a line end.
fn lines_after(text: &str, end: usize, until: Until) -> usize {
    let (mut at, mut said) = (end, 0);
    let (most, room) = match until {
        Until::Lines(lines) => (lines, ROOM / 2),
        Until::Ample { room, .. } => (MOST.1, room),
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
        if let Until::Ample { prose, .. } = until {
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
