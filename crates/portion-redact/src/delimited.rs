//! Redacts tables in text: delimiter-separated values (CSV, TSV) and tables of Markdown. Their column names stand once,
//! in a line above the rows.
//!
//! A line is a header if all its cells look like names (in the first line of a text, only the hidden ones must), at least
//! one of them is hidden or there are columns of names and of values, and one of the next rows has as many cells. The line
//! before it has another number of cells: below a line with as many, only a line below a title, or after a gap and with a
//! rule below it, is a header. Blank lines and rows of one cell end the table, unless a row with as many cells follows.
//! Rules (`---+---`) do not count. In a faulty row, with another number of cells, the hidden columns are counted from both
//! ends.
//!
//! A table of names and values has a header of two cells, the second of which is `Value` or the like, or of more, with a
//! heading for names, too. A hidden name there hides the values in its row. Tables of one column are in `single_column` and
//! `framed_column`.

mod framed_column;
mod header;
mod row;
mod single_column;

use super::code::is_source_code;
use super::{RedactedNames, RedactionRules, TextEdit};
use header::{Header, LinesAround};
pub(super) use header::{MAX_SECRET_NAME_WORDS, match_column_name};
use row::{RowReader, is_rule, line_at, line_end};
pub(super) use single_column::may_be_single_column;

/// Maximum rows without the cells of the header between two rows that have them.
const MAX_GAP_ROWS: usize = 3;

/// Adds the edits for the tables of a text. The work is proportional to the text.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    if single_column::collect_edits(redact, text, edits, names) {
        return;
    }
    let mut reader = RowReader { text, quotes_enabled: true };
    let (mut at, mut is_first, mut around) = (0, true, LinesAround::default());
    while at < text.len() {
        let line = &text[at..line_end(text, at)];
        at += line.len() + 1;
        if line.trim().is_empty() || is_rule(line) {
            around.has_gap |= line.trim().is_empty();
            continue;
        }
        around.next = line_at(text, at);
        let header = Header::detect(redact, line, std::mem::take(&mut is_first)).filter(|header| {
            header.begins_table(&around) && has_complete_row(redact, &mut reader, at, header)
        });
        around = LinesAround { before_previous: around.previous, previous: Some(line), ..around };
        around.has_gap = false;
        if header.as_ref().is_some_and(|header| header.delimiter == ',') && is_source_code(text) {
            return;
        }
        if let Some(header) = header {
            let mut table = Table { redact, header, last_row: line };
            at = table.collect_edits(&mut reader, at, edits, names);
            around.previous = Some(table.last_row);
        } else if let Some(end) = framed_column::collect_edits(redact, text, (line, at), edits, names) {
            at = end;
        }
    }
}

/// A table whose rows are being read.
struct Table<'t, 'r> {
    redact: &'r RedactionRules,
    header: Header<'t>,
    last_row: &'t str,
}

impl<'t> Table<'t, '_> {
    /// Adds the edits for the rows from `at` on, and returns the end of the table.
    fn collect_edits(
        &mut self,
        reader: &mut RowReader<'t>,
        mut at: usize,
        edits: &mut Vec<TextEdit>,
        names: &mut RedactedNames,
    ) -> usize {
        let text = reader.text;
        loop {
            let row = reader.read_row(at, self.header.delimiter);
            if let Some((cells, next)) = row.filter(|(cells, _)| cells.len() > 1) {
                let row = &text[at..next.min(text.len())];
                if !is_rule(row) {
                    if !self.header.is_repeated(text, &cells) {
                        self.header.collect_row_edits(self.redact, text, &cells, edits, names);
                    }
                    self.last_row = row;
                }
                at = next;
                continue;
            }
            let Some(row) = find_row(self.redact, reader, at, &self.header).filter(|row| row.is_complete)
            else {
                return at;
            };
            at = row.start;
            if let Some(later) = self.header_after_gap(at, text) {
                let above = self.header.add_columns(&later);
                if let Some((cells, next)) = reader.read_row(at, self.header.delimiter) {
                    above.collect_row_edits(self.redact, text, &cells, edits, names);
                    at = next;
                }
            }
        }
    }

    /// Returns the header in a row after a gap, if its cells are certainly names. It may still be a row, so the columns of
    /// the header above stay hidden.
    fn header_after_gap(&self, start: usize, text: &'t str) -> Option<Header<'t>> {
        let later = Header::detect(self.redact, line_at(text, start), false)?;
        let may_be_header = !self.header.has_value_heading && later.delimiter == self.header.delimiter;
        (may_be_header && later.width() == self.header.width() && later.is_certain()).then_some(later)
    }
}

/// A row of several cells.
struct FoundRow {
    start: usize,
    end: usize,
    /// True if it has as many cells as the header, and does not begin another table.
    is_complete: bool,
}

/// Finds the next row of several cells, after blank lines, rules, and few rows of one cell.
fn find_row(
    redact: &RedactionRules,
    reader: &mut RowReader<'_>,
    from: usize,
    header: &Header<'_>,
) -> Option<FoundRow> {
    let (text, mut start, mut gap_rows, mut has_gap) = (reader.text, from, 0, false);
    while start < text.len() && gap_rows <= MAX_GAP_ROWS {
        let end = line_end(text, start);
        let line = &text[start..end];
        let is_blank = line.chars().all(|c| c.is_whitespace() || c == header.delimiter);
        if is_blank || is_rule(line) {
            has_gap |= is_blank;
            start = end + 1;
            continue;
        }
        let (cells, end) = reader.read_row(start, header.delimiter)?;
        if cells.len() > 1 {
            let begins_table =
                || is_rule(line_at(text, end)) && Header::detect(redact, line, false).is_some();
            let is_complete = cells.len() == header.width() && !(has_gap && begins_table());
            return Some(FoundRow { start, end, is_complete });
        }
        (gap_rows, has_gap) = (gap_rows + 1, true);
        start = end;
    }
    None
}

/// Returns true if one of the next rows has as many cells as the header.
fn has_complete_row(
    redact: &RedactionRules,
    reader: &mut RowReader<'_>,
    mut from: usize,
    header: &Header<'_>,
) -> bool {
    for _ in 0..=MAX_GAP_ROWS {
        match find_row(redact, reader, from, header) {
            Some(row) if row.is_complete => {
                let below = Header::detect(redact, line_at(reader.text, row.start), false);
                let is_title = |below: Header<'_>| below.is_certain() && below.is_below_title(header.line);
                return !below.is_some_and(is_title);
            }
            Some(row) => from = row.end,
            None => return false,
        }
    }
    false
}
