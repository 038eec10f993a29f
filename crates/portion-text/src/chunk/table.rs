//! Finds boundaries in delimiter-separated values (CSV, TSV): a row stays whole, including line feeds in
//! quotes.

use std::ops::Range;

use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, sentence, stamp};

/// Minimum rows of a table.
const MIN_ROWS: usize = 3;
/// Bytes to look back to find out if the window begins inside quotes: the assumption with more complete
/// rows wins.
const LOOKBACK_BYTES: usize = 16 * 1024;

/// Cuts between rows.
#[derive(Debug)]
pub(super) struct TableChunker;

impl Chunker for TableChunker {
    fn kind(&self) -> TextKind {
        TextKind::Table
    }

    /// Matches text whose first row is neither a log entry nor a row of Markdown, with the same number of
    /// fields in nearly all rows.
    fn matches(&self, sample: &TextSample) -> bool {
        let text = sample.text();
        let Some(shape) = TableFormat::detect(text) else { return false };
        let start = first_row_start(text);
        let first = text[start..].lines().next().unwrap_or_default();
        let head = text.floor_char_boundary(48 * 1024);
        let rows: Vec<_> = RowReader::new(text, start..head, shape.separator, false).collect();
        // The last row may be cut off.
        let rows =
            if head < text.len() { rows.split_last().map_or(&[][..], |(_, rows)| rows) } else { &rows };
        let filled = rows.iter().filter(|row| row.field_count > 1).count();
        let alike = rows.iter().filter(|row| row.field_count == shape.field_count).count();
        let is_other = first.starts_with('|') || stamp::find_stamp(first).is_some();
        !is_other && filled >= MIN_ROWS && alike * 100 >= rows.len() * 95
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries = Vec::new();
        let Some(shape) = TableFormat::detect(window.text) else { return boundaries };
        let back =
            window.text.ceil_char_boundary(window.from.saturating_sub(LOOKBACK_BYTES)).min(window.from);
        let rows = |quoted| RowReader::new(window.text, back..window.to, shape.separator, quoted);
        let alike = |quoted| rows(quoted).skip(1).filter(|row| row.field_count == shape.field_count).count();
        for row in rows(back > 0 && alike(true) > alike(false)) {
            boundaries.push(Boundary { offset: row.start, level: BoundaryLevel::Unit });
            boundaries.extend(
                row.separators.iter().map(|at| Boundary { offset: at + 1, level: BoundaryLevel::Word }),
            );
        }
        sentence::mark_long_lines(window.lines(), window.text, &mut boundaries);
        boundaries
    }
}

/// Longest line that introduces rows, in bytes.
const MAX_INTRODUCTION_BYTES: usize = 200;
/// Largest preamble, in bytes.
const MAX_PREAMBLE_BYTES: usize = 16 << 10;
const DELIMITERS: [char; 4] = [',', '\t', ';', '|'];

/// Returns the offset of the first row: after lines that begin with `#`, `sep=` or a fence, a line that ends with a colon, a first
/// line with a blank one below it, and blank ones among them. It is 0 without such lines.
///
/// A line `#id,name` right above the rows is their header.
///
/// ```
/// use portion_text::chunk::first_row_start;
///
/// let text = "# exported 2025\nid,name,city\n1,Ann,Oslo\n";
/// assert_eq!(&text[first_row_start(text)..], "id,name,city\n1,Ann,Oslo\n");
/// assert_eq!(first_row_start("#id,name\n1,Ann\n"), 0);
/// ```
pub fn first_row_start(text: &str) -> usize {
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut comment = None;
    for line in text[at..].split_inclusive('\n') {
        let is_comment = line.starts_with('#')
            || is_introduction(line)
            || comment.is_none() && is_title(line, &text[at..]);
        let is_blank = comment.is_some() && line.trim().is_empty();
        if !is_comment && !is_blank {
            return match comment {
                Some((start, above)) if start + str::len(above) == at && is_header(above, line) => start,
                Some(_) => at,
                None => 0,
            };
        }
        if is_comment {
            comment = Some((at, line));
        }
        at += line.len();
        if at > MAX_PREAMBLE_BYTES {
            return 0;
        }
    }
    0
}

/// Returns true for a line that introduces the rows below it: `sep=;`, `Query returned 40 rows:`, or the start of a block of code.
fn is_introduction(line: &str) -> bool {
    let line = line.trim_end();
    line.len() <= MAX_INTRODUCTION_BYTES
        && (line.starts_with("sep=")
            || line.starts_with("```")
            || line.ends_with(':') && !line.contains(DELIMITERS))
}

/// Returns true for a line with a blank one below it, and a row of other cells below that.
fn is_title(line: &str, rest: &str) -> bool {
    let mut below = rest.lines().skip(1);
    let is_apart =
        line.len() <= MAX_INTRODUCTION_BYTES && below.next().is_some_and(|line| line.trim().is_empty());
    let row = below.find(|line| !line.trim().is_empty()).filter(|_| is_apart);
    row.is_some_and(|row| {
        DELIMITERS
            .iter()
            .all(|at| row.matches(*at).count() == 0 || row.matches(*at).count() != line.matches(*at).count())
    })
}

/// Returns true if a comment has a name for each cell of the row below it.
fn is_header(comment: &str, row: &str) -> bool {
    let count = |line: &str, delimiter: char| line.matches(delimiter).count();
    let delimiter = DELIMITERS.into_iter().max_by_key(|delimiter| count(row, *delimiter)).unwrap_or(',');
    let has_number = row.split(delimiter).any(|cell| cell.trim().parse::<f64>().is_ok());
    count(row, delimiter) > 0
        && count(row, delimiter) == count(comment, delimiter)
        && (has_number || !comment.starts_with("# "))
}

/// Possible separators, the most likely first.
const SEPARATORS: &[u8] = b",\t;|";
/// Bytes of the first row that are read.
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// Maximum separators stored per row, for rows that no chunk can hold.
const MAX_SEPARATORS: usize = 64 * 1024;

/// Properties that all rows of a table share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TableFormat {
    separator: u8,
    field_count: usize,
}

/// Longest name of a column that makes a line a header, in bytes.
const MAX_NAME_BYTES: usize = 32;

impl TableFormat {
    /// Detects the format from the first row below comments: the separator that makes the most fields, at least three,
    /// or two if it is a tab or if both are names.
    fn detect(text: &str) -> Option<Self> {
        let start = first_row_start(text);
        let head = start..text.floor_char_boundary(start + MAX_HEADER_BYTES);
        let shapes = SEPARATORS.iter().filter_map(|separator| {
            let row = RowReader::new(text, head.clone(), *separator, false).next()?;
            let line = text[start..].lines().next().unwrap_or_default();
            let min = if *separator == b'\t' || are_names(line, char::from(*separator)) { 2 } else { 3 };
            (row.field_count >= min).then_some(Self { separator: *separator, field_count: row.field_count })
        });
        shapes.max_by_key(|shape| shape.field_count)
    }
}

/// Returns true if a line is names of columns: `date,value`.
fn are_names(line: &str, separator: char) -> bool {
    line.split(separator).all(|name| {
        let is_word = |c: char| c.is_alphanumeric() || "_- ".contains(c);
        name.starts_with(char::is_alphabetic) && name.len() <= MAX_NAME_BYTES && name.chars().all(is_word)
    })
}

/// One row.
#[derive(Debug)]
struct Row {
    /// Offset of its first byte.
    start: usize,
    field_count: usize,
    /// Offsets of its separators.
    separators: Vec<usize>,
}

/// Yields the rows in a range, without blank lines.
struct RowReader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    separator: u8,
    /// True if the range begins inside quotes.
    starts_quoted: bool,
    /// False once a quote is not closed: then quotes have no special meaning.
    quotes_enabled: bool,
}

impl<'a> RowReader<'a> {
    fn new(text: &'a str, range: Range<usize>, separator: u8, quoted: bool) -> Self {
        Self {
            bytes: text.as_bytes(),
            at: range.start,
            end: range.end,
            separator,
            starts_quoted: quoted,
            quotes_enabled: true,
        }
    }

    /// Returns the offset after the closing quote of a field, if there is one.
    fn closing_quote(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at += memchr::memchr(b'"', self.bytes.get(at..self.end)?)?;
            if self.bytes.get(at + 1) != Some(&b'"') || at + 1 >= self.end {
                return Some(at + 1);
            }
            at += 2;
        }
    }

    fn skip_blank(&mut self) {
        while self.at < self.end && matches!(self.bytes[self.at], b'\r' | b'\n') {
            self.at += 1;
        }
    }
}

impl Iterator for RowReader<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let mut opened = std::mem::take(&mut self.starts_quoted).then_some(self.at);
        if opened.is_none() {
            self.skip_blank();
        }
        if self.at >= self.end {
            return None;
        }
        let mut row = Row { start: self.at, field_count: 1, separators: Vec::new() };
        let mut begins = opened.is_none();
        while self.at < self.end {
            if let Some(from) = opened.take() {
                match self.closing_quote(from) {
                    Some(end) => self.at = end,
                    None => self.quotes_enabled = false,
                }
            }
            let Some(byte) = self.bytes[..self.end].get(self.at).copied() else { break };
            self.at += 1;
            if byte == b'"' && begins && self.quotes_enabled {
                opened = Some(self.at);
            } else if byte == self.separator {
                row.field_count += 1;
                if row.separators.len() < MAX_SEPARATORS {
                    row.separators.push(self.at - 1);
                }
            } else if byte == b'\n' {
                break;
            }
            begins = byte == self.separator;
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::first_row_start;

    #[test]
    fn comments_come_before_the_rows() {
        for (text, rows) in [
            ("# by a tool\n#\n\nid,a\n1,b\n", "id,a\n1,b\n"),
            ("##format=1\n#CHROM\tPOS\nchr1\t5\n", "#CHROM\tPOS\nchr1\t5\n"),
            ("#name,city\nAnn,Oslo\n", "#name,city\nAnn,Oslo\n"),
            ("# one, two\nname,city\nAnn,Oslo\n", "name,city\nAnn,Oslo\n"),
            ("id,a\n# no comment\n", "id,a\n# no comment\n"),
            ("# only\n# comments\n", "# only\n# comments\n"),
            ("[2 rows, 1 more]\n\nid,a,b\n1,b,c\n", "id,a,b\n1,b,c\n"),
            ("id,a\n\n1,b\n", "id,a\n\n1,b\n"),
            ("", ""),
        ] {
            assert_eq!(&text[first_row_start(text)..], rows, "{text}");
        }
    }
}
