//! Redacts tables in text: delimiter-separated values (CSV, TSV) and tables of Markdown. Their column names stand once,
//! in a line above the rows.
//!
//! A line is a header if all its cells look like names (in the first line of a text, only the hidden ones must), at least
//! one of them is hidden or there are columns of names and of values, and one of the next rows has as many cells. Blank lines and rows of one cell end the table, unless a row with as many cells follows. Rules
//! (`---+---`) do not count. In a faulty row, with another number of cells, the hidden columns are counted from both ends.
//!
//! A table of names and values has a header of two cells, the second of which is `Value` or the like, or of more, with a
//! heading for names, too. A hidden name there hides the values in its row.

use std::ops::Range;

use super::pair::{PairColumns, may_be_pair_secret};
use super::{NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit};

/// Mark that some programs write before the first name.
const BYTE_ORDER_MARK: char = '\u{feff}';
const DELIMITERS: [char; 4] = [',', '\t', ';', '|'];
/// Maximum bytes of a header line.
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Maximum bytes of a column name, and maximum words.
const MAX_NAME_BYTES: usize = 64;
const MAX_NAME_WORDS: usize = 8;
/// Maximum words of the name of a secret in text. More words are a sentence that mentions one.
pub(super) const MAX_SECRET_NAME_WORDS: usize = 4;
/// Words of sentences that column names do not have.
const FUNCTION_WORDS: [&str; 22] = [
    "a", "already", "an", "any", "are", "be", "begins", "between", "her", "his", "is", "it", "its", "may",
    "must", "out", "shall", "should", "that", "the", "this", "was",
];
/// Names of the second of two columns that make the first one a column of names.
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
    let (mut at, mut is_first) = (0, true);
    while at < text.len() {
        let line = &text[at..line_end(text, at)];
        at += line.len() + 1;
        if line.trim().is_empty() {
            continue;
        }
        let header = Header::detect(redact, line, std::mem::take(&mut is_first));
        let Some(header) = header else { continue };
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
            if !is_rule(&text[at..next.min(text.len())]) {
                header.collect_row_edits(redact, text, &cells, edits, names);
            }
            at = next;
        }
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
    header: &Header<'_>,
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
            let is_complete = cells.len() == header.width()
                && (header.has_value_heading || Header::detect(redact, line, false).is_none());
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
    header: &Header<'_>,
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

/// A header with hidden columns, or with columns of names and values.
struct Header<'a> {
    delimiter: char,
    names: Vec<&'a str>,
    hidden: Vec<HiddenColumn>,
    pairs: Option<PairColumns>,
    /// True if a heading says that there are values, so that names in the next rows are no headings.
    has_value_heading: bool,
}

struct HiddenColumn {
    index: usize,
    name: String,
    verdict: NameMatch,
}

impl<'a> Header<'a> {
    /// Reads a line as a header; `None` if it is none, or if it hides nothing.
    fn detect(redact: &RedactionRules, line: &'a str, is_first_line: bool) -> Option<Self> {
        if line.len() > MAX_HEADER_BYTES {
            return None;
        }
        DELIMITERS.into_iter().filter(|delimiter| line.contains(*delimiter)).find_map(|delimiter| {
            let (cells, _) = RowReader { text: line, quotes_enabled: true }.read_row(0, delimiter)?;
            let names: Vec<&str> =
                cells.iter().map(|cell| line[cell.clone()].trim_start_matches(BYTE_ORDER_MARK)).collect();
            // A line of pretty-printed JSON ends with a comma.
            let is_line_of_list = names.len() == 2 && names[1].is_empty();
            // A sentence is no header.
            let may_be_heading = |name: &&str| {
                is_column_name(name) || is_first_line && (line.contains('"') || !name.ends_with('.'))
            };
            if names.len() < 2 || is_line_of_list || !names.iter().all(may_be_heading) {
                return None;
            }
            let hidden = names.iter().enumerate().filter(|(_, name)| is_column_name(name));
            let hidden = hidden.filter_map(|(index, name)| {
                let verdict = match_column_name(redact, name);
                verdict.is_hidden().then(|| HiddenColumn { index, name: (*name).to_owned(), verdict })
            });
            let hidden: Vec<_> = hidden.collect();
            let is_only_first_hidden = names.len() == 2 && matches!(&*hidden, [only] if only.index == 0);
            let is_value =
                |name: &str| VALUE_HEADINGS.iter().any(|heading| name.eq_ignore_ascii_case(heading));
            let of_headings = match &*names {
                [_, second] => is_value(second).then(PairColumns::of_two),
                _ => PairColumns::detect(names.iter().copied()),
            };
            let has_value_heading = of_headings.is_some();
            let pairs = of_headings.or_else(|| is_only_first_hidden.then(PairColumns::of_two));
            let hides = !hidden.is_empty() || pairs.is_some();
            hides.then_some(Self { delimiter, names, hidden, pairs, has_value_heading })
        })
    }

    fn width(&self) -> usize {
        self.names.len()
    }

    /// Returns the places of a column in a row: in a faulty row, with another number of cells, it is counted from both
    /// ends.
    fn places(&self, column: usize, cell_count: usize) -> impl Iterator<Item = usize> {
        let from_end = (column + cell_count).checked_sub(self.width()).filter(|place| *place != column);
        [Some(column), from_end].into_iter().flatten().filter(move |place| *place < cell_count)
    }

    /// Adds the edits for a row.
    fn collect_row_edits(
        &self,
        redact: &RedactionRules,
        text: &str,
        cells: &[Range<usize>],
        edits: &mut Vec<TextEdit>,
        names: &mut RedactedNames,
    ) {
        let mut hide = |value: &Range<usize>, name: &str| {
            let Range { start, end } = *value;
            edits.push(TextEdit { start, end, replacement: REDACTED.into() });
            names.add(name.to_owned());
        };
        for column in &self.hidden {
            for place in self.places(column.index, cells.len()) {
                if holds_secret(&text[cells[place].clone()], column.verdict) {
                    hide(&cells[place], &column.name);
                }
            }
        }
        let Some(pairs) = &self.pairs else { return };
        for place in self.places(pairs.name, cells.len()) {
            let name = &text[cells[place].clone()];
            if !is_column_name(name) {
                continue;
            }
            let verdict = redact.match_pair_name(name);
            for (index, role) in pairs.values() {
                for value in self.places(index, cells.len()).map(|place| &cells[place]) {
                    let shown = &text[value.clone()];
                    let is_secret =
                        verdict.is_secret && may_be_pair_secret((pairs.name_role, name), (role, shown));
                    if (is_secret || verdict.is_named) && holds_secret(shown, verdict) {
                        // Without a heading of values, the cells of the first row are values, too.
                        let heading = self.names.get(index).copied().filter(|_| self.has_value_heading);
                        hide(value, heading.unwrap_or(name));
                    }
                }
            }
        }
    }
}

/// Matches the name of a column: `Door code?` is the name `Door_code`.
pub(super) fn match_column_name(redact: &RedactionRules, name: &str) -> NameMatch {
    let verdict = redact.match_name(&name.trim_matches(['?', ':', '*', '`', '_']).replace(' ', "_"));
    NameMatch { is_secret: verdict.is_secret && !is_part_of_sentence(name), ..verdict }
}

/// Returns true for words that are a part of a sentence rather than a name: `this token SHOULD`.
fn is_part_of_sentence(name: &str) -> bool {
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_function_word = |word: &&str| FUNCTION_WORDS.iter().any(|other| word.eq_ignore_ascii_case(other));
    words.len() > MAX_SECRET_NAME_WORDS || words.len() > 2 && words.iter().any(is_function_word)
}

/// Returns true for a name of a few words; an empty one is that of an index column, and it may be a year.
fn is_column_name(name: &str) -> bool {
    let is_year = name.len() == 4
        && (name.starts_with("19") || name.starts_with("20"))
        && name.bytes().all(|byte| byte.is_ascii_digit());
    name.len() <= MAX_NAME_BYTES
        && !name.ends_with('.')
        && name.split(' ').count() <= MAX_NAME_WORDS
        && name.chars().all(|c| c.is_alphanumeric() || " _-./()[]#%*&'’?@+$€£°`".contains(c))
        && (matches!(name, "" | "#") || is_year || name.contains(|c: char| c.is_alphabetic()))
}

/// Returns true for a line between a header and its rows.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| "-+:=| \t\r\n".contains(c))
}

/// Returns true unless a cell is empty or a value that says that there is no secret.
pub(super) fn holds_secret(value: &str, verdict: NameMatch) -> bool {
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
