//! Tables of one column: the first line of a text is the name of a hidden field, and each line below it is a value.
//!
//! A list of words looks like that, too. So each value must be one word, be in quotes or have no letters, and at least half of
//! them must differ from names: by a character, or because they are in quotes and the header is not. Each line may end with a
//! separator.

use std::ops::Range;

use super::super::columns::match_column_name;
use super::super::edit::BYTE_ORDER_MARK;
use super::super::value::Form;
use super::super::{Findings, NameMatch, RedactionRules};
use super::header::is_column_name;
use super::row::RowReader;

/// Maximum bytes of the first line.
const MAX_HEADER_BYTES: usize = 80;
/// Separators that may follow the only cell of each line.
const SEPARATORS: [char; 2] = [',', ';'];

/// Returns true if the first line of a text names a hidden field. `line_break`: how line breaks are written in the text.
pub(crate) fn may_be_single_column(rules: &RedactionRules, text: &str, line_break: &str) -> bool {
    let near = &text[..text.floor_char_boundary(MAX_HEADER_BYTES)];
    let Some(len) = near.find(line_break) else { return false };
    let line = near[..len].trim_end_matches("\\r").trim_start_matches(BYTE_ORDER_MARK);
    let cell = line.trim().trim_end_matches(SEPARATORS);
    hidden_name(rules, cell.trim_matches(['"', '\'', '\\'])).is_some()
}

/// Hides the values of a text that is a table of one column. Returns true if it is one.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) -> bool {
    if !may_be_single_column(rules, text, "\n") {
        return false;
    }
    // Between line breaks, the lines are the cells of one row.
    let lines = RowReader { text, quotes_enabled: true }.read_row(0, '\n');
    let Some((header, rows)) = lines.as_ref().and_then(|(cells, _)| cells.split_first()) else {
        return false;
    };
    let separator = text[header.clone()].chars().next_back().filter(|last| SEPARATORS.contains(last));
    let header = Cell::read(text, header, separator);
    let Some((name, verdict)) = hidden_name(rules, header.text) else { return false };
    let is_complete =
        |line: &str| line.is_empty() || separator.is_none_or(|separator| line.ends_with(separator));
    if !rows.iter().all(|line| is_complete(&text[line.clone()])) {
        return false;
    }
    let cells: Vec<Cell> = rows.iter().map(|line| Cell::read(text, line, separator)).collect();
    let values: Vec<&Cell> = cells.iter().filter(|cell| verdict.hides(name, cell.text, Form::Data)).collect();
    let name_count = values.iter().filter(|cell| cell.may_be_name(&header)).count();
    let is_table = cells.first().is_some_and(|first| first.quote.is_some() || !first.text.is_empty())
        && cells.iter().all(Cell::may_be_value)
        && !values.is_empty()
        && name_count <= values.len() / 2;
    for cell in values.into_iter().filter(|_| is_table) {
        found.hide(name, cell.start..cell.start + cell.text.len());
    }
    is_table
}

/// Returns the name of a hidden column. Values of a column are singular: `passwords` is rather a heading, or a folder.
pub(super) fn hidden_name<'t>(rules: &RedactionRules, cell: &'t str) -> Option<(&'t str, NameMatch)> {
    if !cell.starts_with(char::is_alphanumeric) || !is_column_name(cell) {
        return None;
    }
    let verdict = match_column_name(rules, cell);
    let is_hidden = verdict.is_named || verdict.is_secret && !cell.ends_with(['s', 'S']);
    is_hidden.then_some((cell, verdict))
}

/// The only cell of a line.
struct Cell<'t> {
    /// The value without quotes and separator, and its offset.
    text: &'t str,
    start: usize,
    quote: Option<char>,
}

impl<'t> Cell<'t> {
    fn read(text: &'t str, line: &Range<usize>, separator: Option<char>) -> Self {
        let (start, cell) = (line.start, &text[line.clone()]);
        if text[..start].ends_with('"') {
            return Self { text: cell, start, quote: Some('"') };
        }
        let cell = separator.and_then(|separator| cell.strip_suffix(separator)).unwrap_or(cell).trim_end();
        let in_quotes = |quote: char| Some((cell.strip_prefix(quote)?.strip_suffix(quote)?, quote));
        match in_quotes('"').or_else(|| in_quotes('\'')) {
            Some((text, quote)) => Self { text, start: start + 1, quote: Some(quote) },
            None => Self { text: cell, start, quote: None },
        }
    }

    /// Returns true for one word, a text in quotes, and a text without letters.
    fn may_be_value(&self) -> bool {
        let has = |is: fn(char) -> bool| self.text.contains(is);
        self.quote.is_some() || !has(char::is_whitespace) || !has(char::is_alphabetic)
    }

    /// Returns true if a value looks like a word of a list. Such lists are not in single quotes, and if their words are in
    /// quotes, the first one is, too.
    fn may_be_name(&self, header: &Self) -> bool {
        (self.quote.is_none() || self.quote == Some('"') && header.quote == Some('"'))
            && self.text.chars().all(|c| c.is_alphabetic() || "_-./".contains(c))
    }
}
