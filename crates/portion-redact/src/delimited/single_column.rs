//! Tables of one column: the first line of a text is the name of a hidden field, and each line below it is a value.
//!
//! A list of words looks like that, too. So each value must be one word, be in quotes or have no letters, and at least half of
//! them must differ from names: by a character, or because they are in quotes and the header is not. Each line may end with a
//! separator.

use std::ops::Range;

use super::super::edit::BYTE_ORDER_MARK;
use super::super::value::Form;
use super::super::{NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit};
use super::header::{is_column_name, match_column_name};
use super::row::RowReader;

/// Maximum bytes of the first line.
const MAX_HEADER_BYTES: usize = 80;
/// Separators that may follow the only cell of each line.
const SEPARATORS: [char; 2] = [',', ';'];

/// Returns true if the first line of a text names a hidden field. `line_break`: how line breaks are written in the text.
pub(crate) fn may_be_single_column(redact: &RedactionRules, text: &str, line_break: &str) -> bool {
    let near = &text[..text.floor_char_boundary(MAX_HEADER_BYTES)];
    let Some(len) = near.find(line_break) else { return false };
    let line = near[..len].trim_end_matches("\\r").trim_start_matches(BYTE_ORDER_MARK);
    let cell = line.trim().trim_end_matches(SEPARATORS);
    hidden_name(redact, cell.trim_matches(['"', '\'', '\\'])).is_some()
}

/// Adds the edits for a text that is a table of one column. Returns true if it is one.
pub(crate) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) -> bool {
    if !may_be_single_column(redact, text, "\n") {
        return false;
    }
    // Between line breaks, the lines are the cells of one row.
    let lines = RowReader { text, quotes_enabled: true }.read_row(0, '\n');
    let Some((header, rows)) = lines.as_ref().and_then(|(cells, _)| cells.split_first()) else {
        return false;
    };
    let separator = text[header.clone()].chars().next_back().filter(|last| SEPARATORS.contains(last));
    let header = Cell::read(text, header, separator);
    let Some((name, verdict)) = hidden_name(redact, &text[header.value.clone()]) else {
        return false;
    };
    let is_complete = |line: &Range<usize>| {
        line.is_empty() || separator.is_none_or(|separator| text[line.clone()].ends_with(separator))
    };
    if !rows.iter().all(is_complete) {
        return false;
    }
    let cells: Vec<Cell> = rows.iter().map(|line| Cell::read(text, line, separator)).collect();
    let values = cells.iter().filter(|cell| verdict.hides(name, &text[cell.value.clone()], Form::Data));
    let name_count = values.clone().filter(|cell| cell.may_be_name(text, &header)).count();
    let value_count = values.count();
    let is_table = cells.first().is_some_and(|first| first.quote.is_some() || !first.value.is_empty())
        && cells.iter().all(|cell| cell.may_be_value(text))
        && value_count > 0
        && name_count <= value_count / 2;
    if !is_table {
        return false;
    }
    for Range { start, end } in cells.into_iter().map(|cell| cell.value) {
        if verdict.hides(name, &text[start..end], Form::Data) {
            edits.push(TextEdit { start, end, replacement: REDACTED.into() });
            names.add(name.to_owned());
        }
    }
    true
}

/// Returns the name of a hidden column. Values of a column are singular: `passwords` is rather a heading, or a folder.
pub(super) fn hidden_name<'t>(redact: &RedactionRules, cell: &'t str) -> Option<(&'t str, NameMatch)> {
    if !cell.starts_with(char::is_alphanumeric) || !is_column_name(cell) {
        return None;
    }
    let verdict = match_column_name(redact, cell);
    let is_hidden = verdict.is_named || verdict.is_secret && !cell.ends_with(['s', 'S']);
    is_hidden.then_some((cell, verdict))
}

/// The only cell of a line.
struct Cell {
    /// The value without quotes and separator.
    value: Range<usize>,
    quote: Option<char>,
}

impl Cell {
    fn read(text: &str, line: &Range<usize>, separator: Option<char>) -> Self {
        if text[..line.start].ends_with('"') {
            return Self { value: line.clone(), quote: Some('"') };
        }
        let line_text = &text[line.clone()];
        let cell = separator.and_then(|separator| line_text.strip_suffix(separator)).unwrap_or(line_text);
        let cell = cell.trim_end();
        let in_quotes = |quote: char| Some((cell.strip_prefix(quote)?.strip_suffix(quote)?, quote));
        match in_quotes('"').or_else(|| in_quotes('\'')) {
            Some((value, quote)) => {
                Self { value: line.start + 1..line.start + 1 + value.len(), quote: Some(quote) }
            }
            None => Self { value: line.start..line.start + cell.len(), quote: None },
        }
    }

    /// Returns true for one word, a text in quotes, and a text without letters.
    fn may_be_value(&self, text: &str) -> bool {
        let value = &text[self.value.clone()];
        self.quote.is_some() || !value.contains(char::is_whitespace) || !value.contains(char::is_alphabetic)
    }

    /// Returns true if a value looks like a word of a list. Such lists are not in single quotes, and if their words are in
    /// quotes, the first one is, too.
    fn may_be_name(&self, text: &str, header: &Self) -> bool {
        let mut chars = text[self.value.clone()].chars();
        (self.quote.is_none() || self.quote == Some('"') && header.quote == Some('"'))
            && chars.all(|c| c.is_alphabetic() || "_-./".contains(c))
    }
}
