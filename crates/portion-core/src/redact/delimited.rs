//! Redacts tables in text: delimiter-separated values (CSV, TSV) and tables of Markdown. Their column names stand once,
//! in a line above the rows.
//!
//! A line is a header if all its cells look like names, at least one of them is hidden, and one of the next rows has as
//! many cells. Blank lines and rows of one cell end the table, unless a row with as many cells follows. Rules
//! (`---+---`) do not count. In a faulty row, with another number of cells, the hidden columns are counted from both ends.
//!
//! A table of names and values has a header of two cells, the second of which is `Value` or the like. A hidden name there
//! hides the cell after it.

use std::ops::Range;

use super::{NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit};

/// Mark that some programs write before the first name.
const BYTE_ORDER_MARK: char = '\u{feff}';
const DELIMITERS: [char; 4] = [',', '\t', ';', '|'];
/// Maximum bytes of a header line.
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Maximum bytes of a column name, and maximum words.
const MAX_NAME_BYTES: usize = 64;
const MAX_NAME_WORDS: usize = 8;
/// Names of the second column in a table of names and values.
const VALUE_HEADINGS: [&str; 6] = ["value", "values", "val", "setting", "content", "data"];
/// Maximum rows without the cells of the header between two rows that have them.
const MAX_GAP_ROWS: usize = 3;

/// Adds the edits for the tables of a text. The work is proportional to the text.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    let mut reader = RowReader { text, quotes_enabled: true };
    let (mut at, mut pair_delimiter) = (0, None);
    while at < text.len() {
        let (start, line_end) = (at, line_end(text, at));
        let line = &text[start..line_end];
        if let Some(next) =
            pair_delimiter.and_then(|by| collect_pair_edit(redact, &mut reader, start, by, edits, names))
        {
            at = next;
            continue;
        }
        at = line_end + 1;
        pair_delimiter = pair_delimiter.filter(|_| is_rule(line)).or_else(|| delimiter_of_pairs(line));
        let Some(header) = Header::detect(redact, line) else { continue };
        if !has_complete_row(redact, &mut reader, at, &header) {
            continue;
        }
        loop {
            let row = reader.read_row(at, header.delimiter);
            let Some((cells, next)) = row.filter(|(cells, _)| cells.len() > 1) else {
                match find_row(redact, &mut reader, at, &header) {
                    Some(row) if row.is_complete => at = row.start,
                    _ => break,
                }
                continue;
            };
            if is_rule(&text[at..next.min(text.len())]) {
                at = next;
                continue;
            }
            let is_faulty = cells.len() != header.width;
            at = next;
            if header.width == 2 && header.hidden.iter().all(|column| column.index == 0) {
                collect_value_edit(redact, text, &cells, edits, names);
            }
            for column in &header.hidden {
                let from_end = (column.index + cells.len()).checked_sub(header.width).filter(|_| is_faulty);
                for value in
                    [Some(column.index), from_end].into_iter().flatten().filter_map(|at| cells.get(at))
                {
                    hide_value(text, value, (&*column.name, column.verdict), edits, names);
                }
            }
        }
    }
}

/// Returns the delimiter of a table of names and values if this is its header: `Field | Value`.
fn delimiter_of_pairs(line: &str) -> Option<char> {
    let is_heading = |delimiter: &char| {
        let row = RowReader { text: line, quotes_enabled: true }.read_row(0, *delimiter);
        row.is_some_and(|(cells, _)| {
            let [_, second] = &*cells else { return false };
            VALUE_HEADINGS.iter().any(|heading| line[second.clone()].eq_ignore_ascii_case(heading))
        })
    };
    DELIMITERS.into_iter().filter(|_| line.len() <= MAX_NAME_BYTES).find(is_heading)
}

/// Adds the edit for a row of a table of names and values: `| Door code | 4711 |`. Returns the position after the row, or
/// `None` if the line is no such row.
fn collect_pair_edit(
    redact: &RedactionRules,
    reader: &mut RowReader<'_>,
    start: usize,
    delimiter: char,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) -> Option<usize> {
    let (cells, next) = reader.read_row(start, delimiter).filter(|(cells, _)| cells.len() == 2)?;
    if is_rule(&reader.text[start..next.min(reader.text.len())]) {
        return None;
    }
    collect_value_edit(redact, reader.text, &cells, edits, names);
    Some(next)
}

/// Adds an edit for the second of two cells if the first is a hidden name.
fn collect_value_edit(
    redact: &RedactionRules,
    text: &str,
    cells: &[Range<usize>],
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    let [name, value] = cells else { return };
    let name = &text[name.clone()];
    let verdict = is_column_name(name).then(|| match_column_name(redact, name));
    if let Some(verdict) = verdict.filter(|verdict| verdict.is_hidden()) {
        hide_value(text, value, (name, verdict), edits, names);
    }
}

/// Adds an edit for a cell below or after a hidden name, unless it says that there is no secret.
fn hide_value(
    text: &str,
    cell: &Range<usize>,
    (name, verdict): (&str, NameMatch),
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    if holds_secret(&text[cell.clone()], verdict) {
        edits.push(TextEdit { start: cell.start, end: cell.end, replacement: REDACTED.into() });
        names.add(name.to_owned());
    }
}

/// A row of several cells.
struct FoundRow {
    start: usize,
    end: usize,
    /// True if it has as many cells as the header, and is no header itself.
    is_complete: bool,
}

/// Finds the next row of several cells, after blank lines, rules, and few rows of one cell.
fn find_row(
    redact: &RedactionRules,
    reader: &mut RowReader<'_>,
    from: usize,
    header: &Header,
) -> Option<FoundRow> {
    let (text, mut start, mut gap_rows) = (reader.text, from, 0);
    while start < text.len() && gap_rows <= MAX_GAP_ROWS {
        let end = line_end(text, start);
        let line = &text[start..end];
        let is_blank = line.chars().all(|c| c.is_whitespace() || c == header.delimiter);
        if is_blank || is_rule(line) {
            start = end + 1;
            continue;
        }
        let (cells, end) = reader.read_row(start, header.delimiter)?;
        if cells.len() > 1 {
            let is_complete = cells.len() == header.width && Header::detect(redact, line).is_none();
            return Some(FoundRow { start, end, is_complete });
        }
        gap_rows += 1;
        start = end;
    }
    None
}

/// Returns true if one of the next rows has as many cells as the header.
fn has_complete_row(
    redact: &RedactionRules,
    reader: &mut RowReader<'_>,
    mut from: usize,
    header: &Header,
) -> bool {
    for _ in 0..=MAX_GAP_ROWS {
        match find_row(redact, reader, from, header) {
            Some(row) if row.is_complete => return true,
            Some(row) => from = row.end,
            None => return false,
        }
    }
    false
}

/// A header with hidden columns.
struct Header {
    delimiter: char,
    width: usize,
    hidden: Vec<HiddenColumn>,
}

struct HiddenColumn {
    index: usize,
    name: String,
    verdict: NameMatch,
}

impl Header {
    /// Reads a line as a header; `None` if it is none, or if no column is hidden.
    fn detect(redact: &RedactionRules, line: &str) -> Option<Self> {
        if line.len() > MAX_HEADER_BYTES {
            return None;
        }
        DELIMITERS.into_iter().filter(|delimiter| line.contains(*delimiter)).find_map(|delimiter| {
            let (cells, _) = RowReader { text: line, quotes_enabled: true }.read_row(0, delimiter)?;
            let names: Vec<&str> =
                cells.iter().map(|cell| line[cell.clone()].trim_start_matches(BYTE_ORDER_MARK)).collect();
            // A line of pretty-printed JSON ends with a comma.
            let is_line_of_list = names.len() == 2 && names[1].is_empty();
            if names.len() < 2 || is_line_of_list || !names.iter().all(|name| is_column_name(name)) {
                return None;
            }
            let hidden = names.iter().enumerate().filter_map(|(index, name)| {
                let verdict = match_column_name(redact, name);
                verdict.is_hidden().then(|| HiddenColumn { index, name: (*name).to_owned(), verdict })
            });
            let hidden: Vec<_> = hidden.collect();
            (!hidden.is_empty()).then_some(Self { delimiter, width: names.len(), hidden })
        })
    }
}

/// Matches the name of a column: `Door code?` is the name `Door_code`.
fn match_column_name(redact: &RedactionRules, name: &str) -> NameMatch {
    redact.match_name(&name.trim_end_matches(['?', ':', '*']).replace(' ', "_"))
}

/// Returns true for a name of a few words; an empty one is that of an index column, and it may be a year.
fn is_column_name(name: &str) -> bool {
    let is_year = name.len() == 4
        && (name.starts_with("19") || name.starts_with("20"))
        && name.bytes().all(|byte| byte.is_ascii_digit());
    name.len() <= MAX_NAME_BYTES
        && !name.ends_with('.')
        && name.split(' ').count() <= MAX_NAME_WORDS
        && name.chars().all(|c| c.is_alphanumeric() || " _-./()[]#%*&'’?@+$€£°".contains(c))
        && (name.is_empty() || is_year || name.contains(|c: char| c.is_alphabetic()))
}

/// Returns true for a line between a header and its rows.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| "-+:=| \t\r\n".contains(c))
}

/// Returns true unless a cell is empty or a value that says that there is no secret.
fn holds_secret(value: &str, verdict: NameMatch) -> bool {
    let is_boolean = value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false");
    let is_missing =
        ["null", "none", "nil", "n/a", "nan", REDACTED].iter().any(|word| value.eq_ignore_ascii_case(word));
    !value.is_empty() && !is_missing && (verdict.is_named || !is_boolean)
}

fn line_end(text: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |len| at + len)
}

/// Reads rows as of RFC 4180, with any delimiter. The outer delimiters of a row of Markdown are ignored.
struct RowReader<'a> {
    text: &'a str,
    /// False once a quote is not closed: then quotes have no special meaning.
    quotes_enabled: bool,
}

impl RowReader<'_> {
    /// Returns the values of a row, without white space and quotes around them, and the offset after the row; `None` at a
    /// blank line and at the end.
    fn read_row(&mut self, start: usize, delimiter: char) -> Option<(Vec<Range<usize>>, usize)> {
        self.text.get(start..)?;
        let mut cells = Vec::new();
        let mut at = start;
        let end = loop {
            let cell_start = at;
            let content = at + leading_blanks(&self.text[at..], delimiter);
            let quoted = self.quoted_end(content);
            let from = quoted.map_or(content, |closing| closing + 1);
            let len = self.text.get(from..)?.find([delimiter, '\n']).unwrap_or(self.text.len() - from);
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
            at = cell_end + 1;
        };
        if delimiter == '|' {
            let row = self.text[start..end].trim();
            if row.len() > 1 && row.ends_with('|') {
                cells.pop();
            }
            if row.starts_with('|') && !cells.is_empty() {
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
