//! Reads the column names of a list whose first row has them: `[["name","age"],["Ann",31],…]`.

use std::collections::HashSet;

use portion_json::path::key_matches;
use portion_json::scan::{JsonKind, JsonReader, unescape};

use super::list::{Layout, List};

/// Rows that are looked at.
const SAMPLED_ROWS: usize = 200;
/// Members beside the rows of a spreadsheet (<https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values>).
const SPREADSHEET_KEYS: [&str; 2] = ["majorDimension", "range"];

/// Returns the column names in the first row of a list of arrays; `None` if the first row looks like the others.
///
/// The names are distinct texts, and no later row is longer. They are names if a column has only numbers below its name, or
/// if the list is the `values` of a spreadsheet.
pub fn header_row(text: &str, list: &List) -> Option<Vec<String>> {
    if list.layout != Layout::Array || list.len() < 3 {
        return None;
    }
    let mut rows = list.iter_from(text, 0).take(SAMPLED_ROWS).map(|item| cells(item.value.slice(text)));
    let names = names(&rows.next()??)?;
    let mut numbers = vec![0; names.len()];
    let mut others = vec![0; names.len()];
    for row in rows {
        let row = row.filter(|row| row.len() <= names.len())?;
        for (at, cell) in row.into_iter().enumerate() {
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
    (has_numbers || is_spreadsheet(text, list)).then_some(names)
}

fn is_spreadsheet(text: &str, list: &List) -> bool {
    let Some(level) = list.enclosing_objects.last() else { return false };
    let is_named = |name: &str| level.members.iter().any(|member| key_matches(text, member.key, name));
    list.pointer.ends_with("/values") && SPREADSHEET_KEYS.iter().any(|name| is_named(name))
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

/// Returns the names in a row; `None` if it has other values, or one of them twice.
fn names(row: &[&str]) -> Option<Vec<String>> {
    let is_name = |cell: &&&str| JsonKind::of_value(cell) == JsonKind::String && cell.len() > 2;
    let names: Vec<String> =
        row.iter().filter(|cell| is_name(cell) && !is_number(cell)).map(|cell| unescape(cell)).collect();
    let distinct: HashSet<&String> = names.iter().collect();
    (names.len() > 1 && names.len() == row.len() && distinct.len() == names.len()).then_some(names)
}

/// Returns true for a string with a number.
fn is_number(cell: &str) -> bool {
    cell.trim_matches('"').trim().parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::header_row;
    use crate::snapshot::{IndexedText, Slice, Structure};

    fn header(text: &str) -> Option<String> {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let Structure::List(list) = &subject.structure else { return None };
        header_row(text, list).map(|names| names.join(","))
    }

    #[test]
    fn the_first_row_may_name_the_columns() {
        for (text, expect) in [
            (r#"[["name","age"],["Ann",31],["Bob",4]]"#, Some("name,age")),
            (r#"[["name","age"],["Ann","31"],["Bob",""],["Eve","7"],[]]"#, Some("name,age")),
            (r#"{"range":"A1:B3","values":[["from","to"],["a","b"],["c","d"]]}"#, Some("from,to")),
            (r#"[["a","b"],["c","d"],["e","f"]]"#, None),
            (r#"[["name","age"],["Ann",31],["Bob",4,5]]"#, None),
            (r#"[["name","name"],["Ann",31],["Bob",4]]"#, None),
            (r#"[["Eve",1],["Ann",31],["Bob",4]]"#, None),
            (r#"[["name","age"],["Ann",31]]"#, None),
        ] {
            assert_eq!(header(text).as_deref(), expect, "{text}");
        }
    }
}
