//! Redacts columnar tables: names once, then rows of cells. A cell cannot be removed, so a cell that is
//! not a string becomes `null`.

use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::edit::{REDACTED_STRING, TextEdit};
use crate::snapshot::{COLUMN_KEYS, ROW_KEYS, column_names};

/// The columns of a table, and the offset of its rows.
pub(super) struct TableColumns {
    pub(super) names: Vec<String>,
    rows_start: usize,
}

impl TableColumns {
    /// Detects a table of which one member begins at the reader and the other one follows.
    pub(super) fn detect(name: &str, reader: &JsonReader<'_>, text: &str) -> Option<Self> {
        let is = |among: &[&str], name: &str| among.iter().any(|known| known.eq_ignore_ascii_case(name));
        let (header, rows) = (is(&COLUMN_KEYS, name), is(&ROW_KEYS, name));
        if !(header || rows && is_array_of_arrays(reader)) {
            return None;
        }
        let mut ahead = reader.clone();
        let first = ahead.skip().ok()?;
        let other = find_array_member(&mut ahead, text, if header { &ROW_KEYS } else { &COLUMN_KEYS })?;
        let (header, rows) = if header { (first, other) } else { (other, first) };
        let names = column_names(header.slice(text))?;
        Some(Self { names, rows_start: rows.start as usize })
    }

    /// Returns the edits for the cells of hidden columns, with the column index. Each column has two
    /// flags: hidden in general, and hidden for booleans.
    pub(super) fn cell_edits(&self, text: &str, hidden: &[(bool, bool)]) -> Vec<(usize, TextEdit)> {
        let mut edits = Vec::new();
        let mut reader = JsonReader::resume(text, self.rows_start);
        if reader.enter_array().is_err() {
            return edits;
        }
        while reader.next_item() == Ok(true) {
            if reader.peek() != Ok(JsonKind::Array) {
                if reader.skip().is_err() {
                    break;
                }
                continue;
            }
            let mut index = 0;
            let _ = reader.enter_array();
            while reader.next_item() == Ok(true) {
                let (kind, cell) = (reader.peek(), reader.skip());
                let (Ok(kind), Ok(cell)) = (kind, cell) else { return edits };
                let (always, never_secret) = hidden.get(index).copied().unwrap_or_default();
                let put = match kind {
                    JsonKind::String if always && cell.len() > 2 => Some(REDACTED_STRING),
                    JsonKind::String | JsonKind::Null => None,
                    JsonKind::Bool | JsonKind::Object => never_secret.then_some("null"),
                    _ => always.then_some("null"),
                };
                let (start, end) = (cell.start as usize, cell.end as usize);
                edits.extend(put.map(|put| (index, TextEdit { start, end, replacement: put.into() })));
                index += 1;
            }
        }
        edits
    }
}

/// Returns true if the array at the reader holds arrays.
fn is_array_of_arrays(reader: &JsonReader<'_>) -> bool {
    let mut ahead = reader.clone();
    ahead.enter_array().is_ok() && ahead.next_item() == Ok(true) && ahead.peek() == Ok(JsonKind::Array)
}

/// Finds the array with one of these names among the members that follow.
fn find_array_member(ahead: &mut JsonReader<'_>, text: &str, names: &[&str]) -> Option<Span> {
    while let Some(key) = ahead.next_key().ok()? {
        let (kind, value) = (ahead.peek().ok()?, ahead.skip().ok()?);
        let name = unescape(key.slice(text));
        if kind == JsonKind::Array && names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            return Some(value);
        }
    }
    None
}
