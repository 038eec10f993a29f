//! Columnar tables: names once, then rows of cells. A cell cannot be left out, so one that is no string becomes `null`.

use super::Edit;
use super::json::STRING;
use crate::scan::{Kind, Reader, decoded};
use crate::snapshot::{HEADERS, ROWS, column_names};
use crate::span::Span;

/// The columns of a table, and where its rows are.
pub(super) struct Columns {
    pub(super) names: Vec<String>,
    rows: usize,
}

impl Columns {
    /// Those of the table of which a member begins, the reader before its value, and another one follows.
    pub(super) fn beside(name: &str, reader: &Reader<'_>, text: &str) -> Option<Self> {
        let is = |among: &[&str], name: &str| among.iter().any(|known| known.eq_ignore_ascii_case(name));
        let (header, rows) = (is(&HEADERS, name), is(&ROWS, name));
        if !(header || rows && holds_arrays(reader)) {
            return None;
        }
        let mut ahead = reader.clone();
        let first = ahead.skip().ok()?;
        let other = other(&mut ahead, text, if header { &ROWS } else { &HEADERS })?;
        let (header, rows) = if header { (first, other) } else { (other, first) };
        let names = column_names(header.of(text))?;
        Some(Self { names, rows: rows.start as usize })
    }

    /// The edits of the cells of hidden columns, by column; a column is hidden in general, and for booleans.
    pub(super) fn cells(&self, text: &str, hidden: &[(bool, bool)]) -> Vec<(usize, Edit)> {
        let mut edits = Vec::new();
        let mut reader = Reader::resume(text, self.rows);
        if reader.enter_array().is_err() {
            return edits;
        }
        while reader.next_item() == Ok(true) {
            if reader.peek() != Ok(Kind::Array) {
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
                    Kind::String if always && cell.len() > 2 => Some(STRING),
                    Kind::String | Kind::Null => None,
                    Kind::Bool | Kind::Object => never_secret.then_some("null"),
                    _ => always.then_some("null"),
                };
                let (start, end) = (cell.start as usize, cell.end as usize);
                edits.extend(put.map(|put| (index, Edit { start, end, put: put.into() })));
                index += 1;
            }
        }
        edits
    }
}

/// Whether the array before which a reader is holds arrays.
fn holds_arrays(reader: &Reader<'_>) -> bool {
    let mut ahead = reader.clone();
    ahead.enter_array().is_ok() && ahead.next_item() == Ok(true) && ahead.peek() == Ok(Kind::Array)
}

/// The array among the members that follow that has one of these names.
fn other(ahead: &mut Reader<'_>, text: &str, names: &[&str]) -> Option<Span> {
    while let Some(key) = ahead.next_key().ok()? {
        let (kind, value) = (ahead.peek().ok()?, ahead.skip().ok()?);
        let name = decoded(key.of(text));
        if kind == Kind::Array && names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            return Some(value);
        }
    }
    None
}
