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
//! heading for names, too. A hidden name there hides the values in its row. A table of one column has lines around its cells
//! and a rule below its name; those without are in `single_column`.

mod header;
mod single_column;

use std::sync::LazyLock;

use portion_text::row_ranges::{RowReader, is_rule, line_at};
use regex::Regex;

use super::edit::{REDACTED, TextEdit, add_name};
use super::pattern::regex;
use super::{Findings, RedactionRules};
use header::{Header, LinesAround};
pub(super) use single_column::may_be_single_column;

/// Maximum rows without the cells of the header between two rows that have them.
const MAX_GAP_ROWS: usize = 3;

/// Hides the columns of the tables of a text. The work is proportional to the text.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) {
    if single_column::redact(rules, text, found) {
        return;
    }
    let mut reader = RowReader { text, quotes_enabled: true };
    let (mut at, mut is_first, mut around) = (0, true, LinesAround::default());
    while at < text.len() {
        let line = line_at(text, at);
        at += line.len() + 1;
        if line.trim().is_empty() || is_rule(line) {
            around.has_gap |= line.trim().is_empty();
            continue;
        }
        around.next = line_at(text, at);
        let header = Header::detect(rules, line, std::mem::take(&mut is_first))
            .filter(|header| header.begins_table(&around) && has_complete_row(&mut reader, at, header));
        around = LinesAround { before_previous: around.previous, previous: Some(line), ..around };
        around.has_gap = false;
        let Some(header) = header else { continue };
        let last_row;
        (at, last_row) = redact_table(&mut reader, at, &header, found);
        around.previous = last_row.or(Some(line));
    }
}

/// Redacts the cells in quotes whose content has quotes itself, which are doubled: JSON, or a setting. `strings`: levels of strings
/// that are still searched.
pub(super) fn redact_quoted(rules: &RedactionRules, text: &str, strings: usize, found: &mut Findings) {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?:^|[,;\t\n])"((?:[^"]|"")*)""#));
    let Some(strings) = strings.checked_sub(1).filter(|_| text.contains("\"\"")) else { return };
    for cell in QUOTED.captures_iter(text).filter_map(|found| found.get(1)) {
        let content = cell.as_str().replace("\"\"", "\"");
        if content.len() < cell.len()
            && let Some((shown, names)) = rules.redact_within(&content, strings)
        {
            names.iter().for_each(|name| add_name(&mut found.names, name));
            found
                .edits
                .push(TextEdit { range: cell.range(), replacement: shown.replace('"', "\"\"").into() });
        }
    }
}

/// Hides the cells of the rows from `at` on. Returns the end of the table, and its last row.
fn redact_table<'t>(
    reader: &mut RowReader<'t>,
    mut at: usize,
    header: &Header<'t>,
    found: &mut Findings,
) -> (usize, Option<&'t str>) {
    let (text, mut last_row) = (reader.text, None);
    loop {
        let line = line_at(text, at);
        if is_rule(line) {
            at += line.len() + 1;
            continue;
        }
        if let Some((cells, next)) = header.read_row(reader, at) {
            if !header.is_repeated(text, &cells) {
                header.columns.redact_row(header.rules, text, &cells, found, |_| REDACTED.into());
            }
            last_row = text.get(at..next.min(text.len()));
            at = next;
            continue;
        }
        let row = find_row(reader, at, header).filter(|row| row.is_complete && !header.is_single());
        let Some(row) = row else { return (at, last_row) };
        at = row.start;
    }
}

/// A row with cells of the table.
struct FoundRow {
    start: usize,
    end: usize,
    /// True if it has as many cells as the header, and does not begin another table.
    is_complete: bool,
}

/// Finds the next row with cells of the table, after blank lines, rules, and few other rows.
fn find_row(reader: &mut RowReader<'_>, from: usize, header: &Header<'_>) -> Option<FoundRow> {
    let (text, mut start, mut gap_rows, mut has_gap) = (reader.text, from, 0, false);
    while start < text.len() && gap_rows <= MAX_GAP_ROWS {
        let line = line_at(text, start);
        let is_blank = line.chars().all(|c| c.is_whitespace() || c == header.delimiter);
        if is_blank || is_rule(line) {
            has_gap |= is_blank;
            start += line.len() + 1;
            continue;
        }
        if let Some((cells, end)) = header.read_row(reader, start) {
            let begins_table = || {
                header.detect_below(line).is_some_and(|below| {
                    is_rule(line_at(text, end)) || !header.has_value_heading() && below.is_certain()
                })
            };
            let is_complete = cells.len() == header.width() && !(has_gap && begins_table());
            return Some(FoundRow { start, end, is_complete });
        }
        (gap_rows, has_gap) = (gap_rows + 1, true);
        start = reader.read_row(start, header.delimiter)?.1;
    }
    None
}

/// Returns true if one of the next rows has as many cells as the header.
fn has_complete_row(reader: &mut RowReader<'_>, mut from: usize, header: &Header<'_>) -> bool {
    for _ in 0..=MAX_GAP_ROWS {
        let Some(row) = find_row(reader, from, header) else { break };
        if row.is_complete {
            let below = header.detect_below(line_at(reader.text, row.start));
            return !below.is_some_and(|below| below.is_certain() && below.is_below_title(header.line));
        }
        from = row.end;
    }
    false
}
