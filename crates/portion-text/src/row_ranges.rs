//! Reads the rows of separated values and of tables with lines between the cells, as ranges of the text.
//!
//! ```
//! use portion_text::row_ranges::cells_of;
//!
//! assert_eq!(cells_of("1,\"Lee, Ann\"", ','), ["1", "Lee, Ann"]);
//! assert_eq!(cells_of("| a | b |", '|'), ["a", "b"]);
//! ```

use std::ops::Range;

/// Returns true for a line between a header and its rows, or between rows.
pub fn is_rule(line: &str) -> bool {
    let is_box = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    (line.contains("--") || line.contains(is_box))
        && line.chars().all(|c| "-+:=| \t\r\n".contains(c) || is_box(c))
}

/// Returns the line that begins at an offset.
pub fn line_at(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    &rest[..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())]
}

/// Returns the cells of a line.
pub fn cells_of(line: &str, delimiter: char) -> Vec<&str> {
    let row = RowReader { text: line, quotes_enabled: true }.read_row(0, delimiter);
    row.map_or_else(Vec::new, |(cells, _)| cells.into_iter().map(|cell| &line[cell]).collect())
}

/// Reads rows as of RFC 4180, with any delimiter. The outer delimiters of a row of Markdown are ignored.
#[derive(Clone, Copy, Debug)]
pub struct RowReader<'a> {
    /// The text with the rows.
    pub text: &'a str,
    /// False once a quote is not closed: then quotes have no special meaning.
    pub quotes_enabled: bool,
}

impl RowReader<'_> {
    /// Returns the values of a row, without white space and quotes around them, and the offset after the row; `None` at a
    /// blank line and at the end.
    pub fn read_row(&mut self, start: usize, delimiter: char) -> Option<(Vec<Range<usize>>, usize)> {
        self.text.get(start..)?;
        let mut cells = Vec::new();
        let mut at = start;
        let end = loop {
            let cell_start = at;
            let content = at + leading_blanks(&self.text[at..], delimiter);
            let quoted = self.quoted_end(content);
            let from = quoted.map_or(content, |closing| closing + 1);
            let rest = self.text.get(from..)?;
            // Between bars, a backslash makes a bar a part of its cell.
            let is_end =
                |(at, end): &(usize, &str)| delimiter != '|' || *end != "|" || !rest[..*at].ends_with('\\');
            let len = rest.match_indices([delimiter, '\n']).find(is_end).map_or(rest.len(), |(at, _)| at);
            let cell_end = from + len;
            // `"a": 1` is no quoted value.
            let quoted = quoted.filter(|_| self.text[from..cell_end].trim().is_empty());
            cells.push(match quoted {
                Some(closing) => content + 1..closing,
                None => trimmed(self.text, cell_start..cell_end),
            });
            if !self.text[cell_end..].starts_with(delimiter) {
                break cell_end;
            }
            at = cell_end + delimiter.len_utf8();
        };
        if !matches!(delimiter, ',' | ';' | '\t' | '\n') {
            let row = self.text[start..end].trim();
            if row.len() > delimiter.len_utf8() && row.ends_with(delimiter) {
                cells.pop();
            }
            if row.starts_with(delimiter) && !cells.is_empty() {
                cells.remove(0);
            }
        }
        let is_blank = cells.iter().all(Range::is_empty);
        (!is_blank).then_some((cells, end + 1))
    }

    /// Returns the offset of the quote that closes the cell at `start`, if the cell is quoted.
    fn quoted_end(&mut self, start: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if !self.quotes_enabled || bytes.get(start) != Some(&b'"') {
            return None;
        }
        let mut at = start + 1;
        loop {
            let Some(len) = memchr::memchr(b'"', bytes.get(at..)?) else {
                self.quotes_enabled = false;
                return None;
            };
            at += len;
            if bytes.get(at + 1) != Some(&b'"') {
                return Some(at);
            }
            at += 2;
        }
    }
}

/// Returns the length of the white space before a value on its line.
fn leading_blanks(text: &str, delimiter: char) -> usize {
    text.len() - text.trim_start_matches(|c| matches!(c, ' ' | '\t') && c != delimiter).len()
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let value = &text[range.clone()];
    let start = range.start + (value.len() - value.trim_start().len());
    start..start + value.trim().len()
}
