//! Finds the names of columns in the first row of a list of arrays.

use std::collections::HashSet;

use portion_json::containers::items;
use portion_json::path::key_matches;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;
use portion_text::names::are_years;

/// Rows of a title above the names in a spreadsheet.
const MAX_TITLES: usize = 5;
/// Rows that are looked at.
const SAMPLED_ROWS: usize = 200;
/// Members beside the rows of a spreadsheet (<https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values>).
const SPREADSHEET_KEYS: [&str; 2] = ["majorDimension", "range"];

/// Returns the names in the first row of a list of arrays, and the number of rows up to it; `None` if it looks like the others. In a
/// spreadsheet, rows of one cell stand above it, and a column may have no name.
///
/// The names are distinct words, and no later row is longer. They are names if a column has only numbers below its name, or
/// if the list is the `values` of a spreadsheet. A value that occurs again in its own column, or is there in another
/// number (`ORDER-1` above `ORDER-2`), is no name.
pub(super) fn names_in_first_row(
    text: &str,
    list: Span,
    is_spreadsheet: bool,
) -> Option<(Vec<String>, usize)> {
    let rows = |start| items(text, list).skip(start).take(SAMPLED_ROWS).map(|item| cells(item.slice(text)));
    let is_title = |row: &Option<Vec<&str>>| row.as_ref().is_some_and(|row| row.len() < 2);
    let titles = if is_spreadsheet { rows(0).take_while(is_title).take(MAX_TITLES).count() } else { 0 };
    items(text, list).nth(titles + 2)?;
    let mut rows = rows(titles);
    let names = names(&rows.next()??, is_spreadsheet)?;
    let mut numbers = vec![0; names.len()];
    let mut others = vec![0; names.len()];
    let shapes: Vec<String> = names.iter().map(|name| shape(name)).collect();
    let year_columns: Vec<usize> = (0..names.len()).filter(|at| !is_word(&names[*at])).collect();
    for row in rows {
        let row = row.filter(|row| row.len() <= names.len())?;
        let years = year_columns.iter().filter_map(|at| row.get(*at)).map(|cell| cell.trim_matches('"'));
        if are_years(years) {
            return None;
        }
        for (at, cell) in row.into_iter().enumerate() {
            if JsonKind::of_value(cell) == JsonKind::String
                && shape(&unescape(cell)) == shapes[at]
                && !year_columns.contains(&at)
            {
                return None;
            }
            match JsonKind::of_value(cell) {
                JsonKind::Object | JsonKind::Array => return None,
                JsonKind::Null => {}
                JsonKind::Number => numbers[at] += 1,
                JsonKind::String if is_number(cell) => numbers[at] += 1,
                JsonKind::String if cell.len() == 2 => {}
                JsonKind::String | JsonKind::Bool => others[at] += 1,
            }
        }
    }
    let has_numbers = numbers.iter().zip(&others).any(|(numbers, others)| *numbers > 1 && *others == 0);
    (has_numbers || is_spreadsheet).then_some((names, titles + 1))
}

/// Returns true for a list of this name in an object with keys of a spreadsheet.
pub(super) fn is_spreadsheet(text: &str, name: &str, mut keys: impl Iterator<Item = Span>) -> bool {
    name == "values" && keys.any(|key| SPREADSHEET_KEYS.iter().any(|name| key_matches(text, key, name)))
}

/// Returns the cells of a row; `None` if it is no array.
fn cells(row: &str) -> Option<Vec<&str>> {
    let mut reader = JsonReader::new(row);
    reader.enter_array().ok()?;
    let mut cells = Vec::new();
    while reader.next_item().ok()? {
        let cell = reader.skip().ok()?;
        cells.push(cell.slice(row));
    }
    Some(cells)
}

/// Returns a text with one mark for each run of digits.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars() {
        let mark = if c.is_ascii_digit() { '#' } else { c };
        if !(mark == '#' && shape.ends_with('#')) {
            shape.push(mark);
        }
    }
    shape
}

/// Returns true for a word as columns are named: it begins with a letter, and stands neither for a missing value nor for an
/// address.
fn is_word(name: &str) -> bool {
    let is_missing = ["n/a", "na", "none", "null", "nil", "unknown", "true", "false"]
        .iter()
        .any(|word| name.eq_ignore_ascii_case(word));
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_missing && !name.contains("://")
}

/// Returns the names in a row; `None` if it has other values, or one of them twice. With `numbers_empty`, an empty cell has the name of
/// its place.
fn names(row: &[&str], numbers_empty: bool) -> Option<Vec<String>> {
    let is_text = |kind| matches!(kind, JsonKind::String | JsonKind::Number);
    let texts = row.iter().enumerate().filter(|(_, cell)| is_text(JsonKind::of_value(cell)));
    let name = |(at, cell): (usize, &&str)| match unescape(cell) {
        name if name.is_empty() && numbers_empty => format!("column_{}", at + 1),
        name => name,
    };
    let names: Vec<String> = texts.map(name).collect();
    let (words, others): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| is_word(name));
    let are_names = others.is_empty() || are_years(others.into_iter().map(String::as_str));
    let distinct: HashSet<&String> = names.iter().collect();
    (are_names
        && !words.is_empty()
        && names.len() > 1
        && names.len() == row.len()
        && distinct.len() == names.len())
    .then_some(names)
}

/// Returns true for a string with a number.
fn is_number(cell: &str) -> bool {
    cell.trim_matches('"').trim().parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use crate::snapshot::{IndexedText, Slice, Structure, header_row};

    fn header(text: &str) -> Option<String> {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let Structure::List(list) = &subject.structure else { return None };
        header_row(text, list).map(|rows| rows.names.join(","))
    }

    #[test]
    fn the_first_row_may_name_the_columns() {
        for (text, expect) in [
            (r#"[["name","age"],["Ann",31],["Bob",4]]"#, Some("name,age")),
            (r#"[["name","age"],["Ann","31"],["Bob",""],["Eve","7"],[]]"#, Some("name,age")),
            (r#"{"range":"A1:B3","values":[["from","to"],["a","b"],["c","d"]]}"#, Some("from,to")),
            (
                r#"{"range":"A1:B3","values":[["Sales"],[],["","to"],["a","b"],["c","d"]]}"#,
                Some("column_1,to"),
            ),
            (r#"[["a","b"],["c","d"],["e","f"]]"#, None),
            (r#"[["name","age"],["Ann",31],["Bob",4,5]]"#, None),
            (r#"[["name","name"],["Ann",31],["Bob",4]]"#, None),
            (r#"[["Eve",1],["Ann",31],["Bob",4]]"#, None),
            (r#"[["10.0.0.1","timeout"],["10.0.0.2",0],["10.0.0.3",1]]"#, None),
            (r#"[["ORDER-1","free"],["ORDER-2",0],["ORDER-3",5]]"#, None),
            (r#"[["Jan","-"],["Feb",0],["Mar",5]]"#, None),
            (r#"[["open","high"],["closed",0],["open",1]]"#, None),
            (r#"[["N/A","level"],["a",0],["b",1]]"#, None),
            (r#"[["https://a.b/c","error"],["https://a.b/d",0],["x",1]]"#, None),
            (r#"[["name",2023,2024],["Ann",31,4],["Bob",4,5]]"#, Some("name,2023,2024")),
            (r#"[["name","2023","2024"],["Ann","31","4"],["Bob","4","5"]]"#, Some("name,2023,2024")),
            (r#"[["Eve",2023,2025],["Ann",31,4],["Bob",4,5]]"#, None),
            (r#"[["Eve",2023,2024],["Ann",2020,2021],["Bob",2010,2011]]"#, None),
            (r#"[["Eve",2023],["Ann",31],["Bob",4]]"#, None),
            (r#"[["name","age"],["Ann",31]]"#, None),
        ] {
            assert_eq!(header(text).as_deref(), expect, "{text}");
        }
    }
}
