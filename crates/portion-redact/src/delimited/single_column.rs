//! Tables of one column: the first line of a text is the name of a hidden field, and each line below it is a value.
//!
//! A list of words looks like that, too. So each value must be one word, be in quotes or have no letters, and at least half of
//! them must differ from names: by a character, or because they are in quotes and the header is not. Each line may end with a
//! separator.

use std::ops::Range;

use portion_text::row_ranges::RowReader;

use super::super::columns::{is_column_name, match_column_name};
use super::super::edit::BYTE_ORDER_MARK;
use super::super::value::Form;
use super::super::{Findings, NameMatch, RedactionRules};

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
    let (name, name_quote) = cell_of(text, header, separator);
    let Some((name, verdict)) = hidden_name(rules, &text[name]) else { return false };
    let is_complete =
        |line: &str| line.is_empty() || separator.is_none_or(|separator| line.ends_with(separator));
    let cells: Vec<_> = rows.iter().map(|line| cell_of(text, line, separator)).collect();
    // One word, a text in quotes, or a text without letters.
    let may_be_value = |(cell, quote): &(Range<usize>, Option<char>)| {
        let has = |is: fn(char) -> bool| text[cell.clone()].contains(is);
        quote.is_some() || !has(char::is_whitespace) || !has(char::is_alphabetic)
    };
    // Lists of words are not in single quotes, and if their words are in quotes, the first one is, too.
    let may_be_name = |(cell, quote): &&(Range<usize>, Option<char>)| {
        (quote.is_none() || *quote == Some('"') && name_quote == Some('"'))
            && text[cell.clone()].chars().all(|c| c.is_alphabetic() || "_-./".contains(c))
    };
    let hides = |(cell, _): &&(Range<usize>, _)| verdict.hides(name, &text[cell.clone()], Form::Data);
    let values: Vec<_> = cells.iter().filter(hides).collect();
    let name_count = values.iter().copied().filter(may_be_name).count();
    let is_table = rows.iter().all(|line| is_complete(&text[line.clone()]))
        && cells.first().is_some_and(|(first, quote)| quote.is_some() || !first.is_empty())
        && cells.iter().all(may_be_value)
        && !values.is_empty()
        && name_count <= values.len() / 2;
    for (cell, _) in values.into_iter().filter(|_| is_table) {
        found.hide(name, cell.clone());
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

/// Returns the only cell of a line without quotes and separator, and its quote.
fn cell_of(text: &str, line: &Range<usize>, separator: Option<char>) -> (Range<usize>, Option<char>) {
    let (start, cell) = (line.start, &text[line.clone()]);
    if text[..start].ends_with('"') {
        return (line.clone(), Some('"'));
    }
    let cell = separator.and_then(|separator| cell.strip_suffix(separator)).unwrap_or(cell).trim_end();
    let quote = ['"', '\'']
        .into_iter()
        .find(|quote| cell.len() > 1 && cell.starts_with(*quote) && cell.ends_with(*quote));
    let width = usize::from(quote.is_some());
    (start + width..start + cell.len() - width, quote)
}
