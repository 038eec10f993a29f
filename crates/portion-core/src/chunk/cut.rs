//! The cut itself: where, among the marks, a chunk ends.

use memchr::{memchr, memrchr};
use unicode_segmentation::GraphemeCursor;

use super::{Chunker, Limits, Mark, Rank, Window};

/// From this fill on a chunk ends before a heading, whatever else would still fit.
///
/// Measured on 47 documents: at 0.7 chunks were 87 % full, at this value 93 %.
const SECTION_FILL: f64 = 0.85;
/// From this fill on a chunk ends before something too large for one chunk, which then begins the
/// next one; below it the chunk takes the first part of it.
const SETTLED_FILL: f64 = 0.8;
/// The same for what is too large for the rest of the chunk and the whole next one: begun there it
/// would be split twice.
const SPARING_FILL: f64 = 0.5;
/// Below this fill what consists of items is split between them, though it would fit the next chunk.
const ITEM_FILL: f64 = 0.75;
/// Below this fill a chunk is not ended between words, but inside a long one.
const WORD_FILL: f64 = 0.5;
/// How often a cut is tried again where a counter finds a shorter text the costlier one.
const ATTEMPTS: usize = 4;
/// Bytes before a place that decide whether it is inside a grapheme.
const CLUSTER: usize = 64;

/// Where the chunk ends that begins at `from`, within `text[..to]`: a byte offset between two
/// characters, after `from` and at most at `to`.
///
/// What fits a chunk by itself is not split; what does not is split where something finer begins. A chunk
/// is beyond its limits only where its single character is. Offsets inside a character are taken as
/// its beginning, and where nothing is left of the text the answer is its end.
pub fn cut(text: &str, from: usize, to: usize, chunker: &dyn Chunker, limits: &Limits) -> usize {
    let (from, to) = (text.floor_char_boundary(from), text.floor_char_boundary(to));
    if from >= to {
        return to;
    }
    let mut edge = limits.edge(text, from, to);
    if edge == to && limits.fit(&text[from..to]) {
        return to;
    }
    let far = if edge == to { to } else { limits.edge(text, edge, to) };
    let mut marks = chunker.marks(&Window { text, from, to: far });
    marks.retain(|mark| mark.at > from && mark.at <= far);
    marks.sort_unstable();
    for _ in 0..ATTEMPTS {
        let end = Choice { text, from, edge, far, to, marks: &marks, limits }.end();
        if limits.fit(&text[from..end]) {
            return end;
        }
        // A prefix may cost more than the text that it begins: go on below it.
        edge = limits.edge(text, from, end);
        if edge == end {
            break;
        }
    }
    edge
}

/// All that the choice of an end depends on.
struct Choice<'a> {
    text: &'a str,
    from: usize,
    /// Where the limits are reached.
    edge: usize,
    /// Where a chunk that began at the edge would reach them.
    far: usize,
    to: usize,
    /// In order, after `from`, up to `far`.
    marks: &'a [Mark],
    limits: &'a Limits<'a>,
}

impl Choice<'_> {
    fn end(&self) -> usize {
        let marked = self.section().or_else(|| self.ladder()).or_else(|| self.line());
        marked.or_else(|| self.field()).unwrap_or_else(|| self.word())
    }

    /// Before the heading of the highest level, the last of these, in a chunk that is full enough.
    fn section(&self) -> Option<usize> {
        let level = |mark: &Mark| match mark.rank {
            Rank::Section(level) if self.fill(mark.at) >= SECTION_FILL => Some((level, mark.at)),
            _ => None,
        };
        self.inside().iter().rev().filter_map(level).min_by_key(|(level, _)| *level).map(|(_, at)| at)
    }

    /// At the last mark of the coarsest rank whose bearer would otherwise be split though it fits.
    fn ladder(&self) -> Option<usize> {
        let items = (0..=Rank::DEEPEST).map(Rank::Item);
        let parts = (0..=Rank::DEEPEST).map(Rank::Part);
        let ranks = std::iter::once(Rank::Unit).chain(items).chain(parts).chain([Rank::Sentence]);
        let (mut seen, mut sparse) = (None, None);
        for rank in ranks {
            if sparse.is_some() && rank >= Rank::Part(0) {
                break;
            }
            let as_coarse = |mark: &&Mark| mark.rank <= rank;
            let start = self.inside().iter().rev().find(as_coarse).map(|mark| mark.at);
            let next = self.beyond().iter().find(as_coarse).map(|mark| mark.at);
            let next = next.or((self.far == self.to).then_some(self.to));
            let Some(start) = start.filter(|_| seen != Some((start, next))) else { continue };
            if self.is_end(start, next) {
                if self.fill(start) >= ITEM_FILL || rank >= Rank::Part(0) {
                    return Some(start);
                }
                sparse.get_or_insert(start);
            }
            seen = Some((Some(start), next));
        }
        sparse
    }

    /// After the last line feed.
    fn line(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let start = self.from + memrchr(b'\n', &bytes[self.from..self.edge])? + 1;
        let next = memchr(b'\n', &bytes[self.edge..self.far]).map(|feed| self.edge + feed + 1);
        self.is_end(start, next.or((self.far == self.to).then_some(self.to))).then_some(start)
    }

    /// At the last place of all, where some are marked for it.
    fn field(&self) -> Option<usize> {
        let last = self.inside().last().filter(|last| self.fill(last.at) >= WORD_FILL)?;
        self.inside().iter().rev().any(|mark| mark.rank == Rank::Word).then_some(last.at)
    }

    /// Between two words, else between two graphemes, else at the edge.
    fn word(&self) -> usize {
        let mut places =
            self.text[self.from..self.edge].char_indices().rev().map(|(at, c)| (self.from + at, c));
        let mut after = self.text[self.edge..].chars().next();
        let between =
            places.by_ref().take_while(|(at, _)| self.fill(*at) >= WORD_FILL).find_map(|(at, c)| {
                let next = after.replace(c);
                let parted = c.is_whitespace() && !next.is_some_and(char::is_whitespace) || is_clause_end(c);
                parted.then(|| at + c.len_utf8())
            });
        between.unwrap_or_else(|| self.grapheme())
    }

    fn grapheme(&self) -> usize {
        let base = self.text.floor_char_boundary(self.edge.saturating_sub(CLUSTER)).max(self.from);
        let end = self.text.ceil_char_boundary((self.edge + CLUSTER).min(self.text.len()));
        let piece = &self.text[base..end];
        let mut cursor = GraphemeCursor::new(self.edge - base, piece.len(), true);
        match cursor.is_boundary(piece, 0) {
            Ok(false) => match cursor.prev_boundary(piece, 0) {
                Ok(Some(at)) if at > 0 => base + at,
                _ => self.edge,
            },
            _ => self.edge,
        }
    }

    /// Whether the chunk may end at `start`, given that what begins there ends at `next`, or further
    /// away than can be seen: where that is too large for a chunk, only a chunk that is full enough does.
    fn is_end(&self, start: usize, next: Option<usize>) -> bool {
        let enough = if next.is_some() { SETTLED_FILL } else { SPARING_FILL };
        self.fill(start) >= enough
            || next.is_some_and(|next| self.limits.fit(self.text[start..next].trim_end()))
    }

    fn fill(&self, at: usize) -> f64 {
        (at - self.from) as f64 / (self.edge - self.from) as f64
    }

    /// The marks at which the chunk can end.
    fn inside(&self) -> &[Mark] {
        &self.marks[..self.marks.partition_point(|mark| mark.at <= self.edge)]
    }

    /// The marks after the edge.
    fn beyond(&self) -> &[Mark] {
        &self.marks[self.marks.partition_point(|mark| mark.at <= self.edge)..]
    }
}

/// Punctuation after which scripts without spaces can be parted.
fn is_clause_end(c: char) -> bool {
    matches!(c, '、' | '，' | '；' | '：' | '。' | '！' | '？' | '」' | '』' | '）' | '】' | '》')
}
