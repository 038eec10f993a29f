//! Tables of one column: the first line of a text is the name of a hidden field, and each line below it is a value.
//!
//! A list of words looks like that, too. So each value must be one word, be in quotes or have no letters, and one of them
//! must have a character that names do not have.

use std::ops::Range;

use super::super::{BYTE_ORDER_MARK, NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit};
use super::header::{holds_secret, is_column_name, match_column_name};
use super::row::RowReader;

/// Maximum bytes of the first line.
const MAX_HEADER_BYTES: usize = 80;

/// Returns true if the first line of a text names a hidden field. `line_break`: how line breaks are written in the text.
pub(in crate::redact) fn may_be_single_column(redact: &RedactionRules, text: &str, line_break: &str) -> bool {
    let near = &text[..text.floor_char_boundary(MAX_HEADER_BYTES)];
    let Some(len) = near.find(line_break) else { return false };
    let line = near[..len].trim_end_matches("\\r").trim_start_matches(BYTE_ORDER_MARK);
    hidden_name(redact, line.trim().trim_matches(['"', '\\'])).is_some()
}

/// Adds the edits for a text that is a table of one column. Returns true if it is one.
pub(super) fn collect_edits(
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
    let Some((name, verdict)) = hidden_name(redact, &text[header.clone()]) else {
        return false;
    };
    let is_table = rows.first().is_some_and(|first| !first.is_empty())
        && rows.iter().all(|row| may_be_value(text, row))
        && rows.iter().any(|row| !may_be_name(&text[row.clone()]));
    if !is_table {
        return false;
    }
    for Range { start, end } in rows.iter().cloned() {
        if holds_secret(&text[start..end], verdict) {
            edits.push(TextEdit { start, end, replacement: REDACTED.into() });
            names.add(name.to_owned());
        }
    }
    true
}

/// Returns the name of a hidden column. Values of a column are singular: `passwords` is rather a heading, or a folder.
fn hidden_name<'t>(redact: &RedactionRules, cell: &'t str) -> Option<(&'t str, NameMatch)> {
    if !cell.starts_with(char::is_alphanumeric) || !is_column_name(cell) {
        return None;
    }
    let verdict = match_column_name(redact, cell);
    let is_hidden = verdict.is_named || verdict.is_secret && !cell.ends_with(['s', 'S']);
    is_hidden.then_some((cell, verdict))
}

/// Returns true for one word, a text in quotes, and a text without letters.
fn may_be_value(text: &str, cell: &Range<usize>) -> bool {
    let value = &text[cell.clone()];
    text[..cell.start].ends_with('"')
        || !value.contains(char::is_whitespace)
        || !value.contains(char::is_alphabetic)
}

fn may_be_name(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || "_-./".contains(c))
}
