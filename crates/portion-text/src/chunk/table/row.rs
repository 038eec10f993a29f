//! Reads rows of delimiter-separated values: RFC 4180, with any separator and any line endings.

use std::ops::Range;

use super::preamble::first_row_start;

/// Possible separators, the most likely first.
const SEPARATORS: &[u8] = b",\t;|";
/// Bytes of the first row that are read.
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// Maximum separators stored per row, for rows that no chunk can hold.
const MAX_SEPARATORS: usize = 64 * 1024;

/// Properties that all rows of a table share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableFormat {
    pub(super) separator: u8,
    pub(super) field_count: usize,
}

/// Longest name of a column that makes a line a header, in bytes.
const MAX_NAME_BYTES: usize = 32;

impl TableFormat {
    /// Detects the format from the first row below comments: the separator that makes the most fields, at least three,
    /// or two if it is a tab or if both are names.
    pub(super) fn detect(text: &str) -> Option<Self> {
        let start = first_row_start(text);
        let head = start..text.floor_char_boundary(start + MAX_HEADER_BYTES);
        let shapes = SEPARATORS.iter().filter_map(|separator| {
            let row = RowReader::new(text, head.clone(), *separator, false).next()?;
            let line = text[start..].lines().next().unwrap_or_default();
            let least = if *separator == b'\t' || are_names(line, char::from(*separator)) { 2 } else { 3 };
            (row.field_count >= least).then_some(Self { separator: *separator, field_count: row.field_count })
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
pub(super) struct Row {
    /// Offset of its first byte.
    pub(super) start: usize,
    pub(super) field_count: usize,
    /// Offsets of its separators.
    pub(super) separators: Vec<usize>,
}

/// Yields the rows in a range, without blank lines.
pub(super) struct RowReader<'a> {
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
    pub(super) fn new(text: &'a str, range: Range<usize>, separator: u8, quoted: bool) -> Self {
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
