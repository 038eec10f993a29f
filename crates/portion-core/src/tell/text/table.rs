//! What is told of rows of values, separated by commas, tabs, semicolons or bars: its columns, and how many rows.

use serde_json::Value;

use super::last_line;
use super::telling::{Telling, quoted};

/// Bytes by which it is judged.
const HEAD: usize = 16 * 1024;
/// Rows, of which nine in ten must have as many values as the first.
const ROWS: usize = 50;

/// What is known of a table.
pub(super) struct Table<'a> {
    columns: Vec<&'a str>,
    /// Whether the first row names the columns.
    named: bool,
}

/// The table that a text is.
pub(super) fn find(text: &str) -> Option<Table<'_>> {
    let head = &text[..text.floor_char_boundary(HEAD)];
    let mut rows: Vec<_> = rows(head).take(ROWS + 1).collect();
    // The last one may go on behind the head.
    if head.len() < text.len() || rows.len() > ROWS {
        rows.pop();
    }
    let first = rows.first()?.trim_start_matches('\u{feff}');
    [',', '\t', ';', '|'].into_iter().find_map(|separator| {
        let columns: Vec<_> = values(first, separator);
        let alike = rows.iter().filter(|row| values(row, separator).len() == columns.len()).count();
        let is_table = columns.len() > 1 && rows.len() > 2 && alike * 10 >= rows.len() * 9;
        let is_name =
            |column: &&str| !column.is_empty() && column.len() <= 60 && column.parse::<f64>().is_err();
        // Sentences have commas too.
        let spaced = columns.iter().skip(1).filter(|column| column.starts_with(' ')).count();
        let is_running = separator == ',' && spaced * 2 > columns.len();
        let is_new = |(at, column): (usize, &&str)| !columns[..at].contains(column);
        let named = columns.iter().all(is_name) && columns.iter().enumerate().all(is_new);
        (is_table && !is_running && (named || columns.len() > 2)).then_some(Table { columns, named })
    })
}

/// The values of a row, without the quotes around them.
fn values(row: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    row.split(|c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
    .map(|value| value.trim_end().trim_matches('"'))
    .collect()
}

/// The rows that are not blank; line feeds in quotes end none.
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

pub(super) fn tell(text: &str, table: &Table, telling: &mut Telling) {
    telling.say("rows", rows(text).count().saturating_sub(usize::from(table.named)));
    let last = Value::from(quoted(last_line(text), telling.width()));
    let told = if table.named {
        let columns: Vec<_> = table.columns.iter().map(|column| (*column).to_owned()).collect();
        telling.say_list("columns", &columns, telling.left().saturating_sub(telling.cost_of("last", &last)))
    } else {
        false
    };
    if !told {
        telling.say("columns", table.columns.len());
    }
    telling.say("last", last);
}
