//! Describes rows of values separated by commas, tabs, semicolons or bars: columns and number of rows.

use serde_json::Value;

use super::ending::last_line;
use super::text_description::{TextDescription, truncated_line};

/// Bytes read to recognise a table.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Rows read to recognise a table. Nine in ten must have as many values as the first.
const MAX_SAMPLED_ROWS: usize = 50;

/// Columns of a table.
pub(super) struct TableHeader<'a> {
    columns: Vec<&'a str>,
    /// True if the first row has the names of the columns.
    has_header: bool,
}

/// Recognises a text as a table.
pub(super) fn find(text: &str) -> Option<TableHeader<'_>> {
    let head = &text[..text.floor_char_boundary(MAX_HEAD_BYTES)];
    let mut rows: Vec<_> = rows(head).take(MAX_SAMPLED_ROWS + 1).collect();
    // The last row may be incomplete.
    if head.len() < text.len() || rows.len() > MAX_SAMPLED_ROWS {
        rows.pop();
    }
    let first = rows.first()?.trim_start_matches('\u{feff}');
    [',', '\t', ';', '|'].into_iter().find_map(|separator| {
        let columns: Vec<_> = split_row(first, separator);
        let alike = rows.iter().filter(|row| split_row(row, separator).len() == columns.len()).count();
        let is_table = columns.len() > 1 && rows.len() > 2 && alike * 10 >= rows.len() * 9;
        let is_name =
            |column: &&str| !column.is_empty() && column.len() <= 60 && column.parse::<f64>().is_err();
        // Running text contains commas too.
        let spaced = columns.iter().skip(1).filter(|column| column.starts_with(' ')).count();
        let is_running = separator == ',' && spaced * 2 > columns.len();
        let is_new = |(at, column): (usize, &&str)| !columns[..at].contains(column);
        let named = columns.iter().all(is_name) && columns.iter().enumerate().all(is_new);
        let is_empty = |column: &&str| column.trim().is_empty();
        let has_header = columns.iter().all(|column| column.is_empty() || is_name(column))
            && !columns.iter().all(is_empty);
        (is_table && !is_running && (named || columns.len() > 2))
            .then_some(TableHeader { columns, has_header })
    })
}

/// Returns the values of a row without surrounding quotes.
fn split_row(row: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    row.split(|c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
    .map(|value| value.trim_end().trim_matches('"'))
    .collect()
}

/// Returns the rows that are not blank. Line feeds in quotes do not end a row.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut at = 0;
    let all = std::iter::from_fn(move || {
        let start = at;
        let rest = text.as_bytes().get(start..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr2_iter(b'"', b'\n', rest).find(|place| {
            let is_quote = rest[*place] == b'"';
            quoted ^= is_quote;
            !is_quote && !quoted
        });
        at = end.map_or(text.len(), |end| start + end + 1);
        text.get(start..at)
    });
    all.filter(|row| !row.trim().is_empty())
}

pub(super) fn describe(text: &str, table: &TableHeader, description: &mut TextDescription) {
    description.add("rows", rows(text).count().saturating_sub(usize::from(table.has_header)));
    let last = Value::from(truncated_line(last_line(text), description.max_quote_chars()));
    let listed = if table.has_header {
        let columns: Vec<_> = table.columns.iter().map(|column| (*column).to_owned()).collect();
        description.add_list(
            "columns",
            &columns,
            description.remaining().saturating_sub(description.member_cost("last", &last)),
        )
    } else {
        false
    };
    if !listed {
        description.add("columns", table.columns.len());
    }
    description.add("last", last);
}
