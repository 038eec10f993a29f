//! Redacts columnar tables: names once, then rows of cells. A cell cannot be removed, so a cell that is
//! not a string becomes `null`.

use portion_json::scan::{JsonKind, JsonReader, ScanError, unescape};
use portion_json::span::Span;

use super::NameMatch;
use super::edit::{REDACTED_STRING, TextEdit};
use super::pair::{PairColumns, may_be_pair_secret};
use crate::snapshot::{COLUMN_KEYS, ROW_KEYS, column_names};

/// The columns of a table, and the offset of its rows.
pub(super) struct TableColumns {
    pub(super) names: Vec<String>,
    pub(super) rows_start: usize,
    /// True if the first row has the names.
    has_header_row: bool,
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
        Some(Self { names, rows_start: rows.start as usize, has_header_row: false })
    }

    /// Detects a table at the reader: rows, the first of which has the names of the columns.
    pub(super) fn detect_header_row(reader: &JsonReader<'_>, text: &str) -> Option<Self> {
        let rows_start = reader.at();
        let mut ahead = reader.clone();
        ahead.enter_array().ok()?;
        if ahead.next_item() != Ok(true) || ahead.peek() != Ok(JsonKind::Array) {
            return None;
        }
        let mut cells = Vec::new();
        read_cells(&mut ahead, &mut cells).ok()?;
        let is_header = cells.len() > 1 && cells.iter().all(|(kind, _)| *kind == JsonKind::String);
        let names = || cells.iter().map(|(_, cell)| unescape(cell.slice(text))).collect();
        is_header.then(|| Self { names: names(), rows_start, has_header_row: true })
    }

    /// Returns the edits for the cells of hidden columns, and of values whose name in the same row is hidden, with the
    /// column index. `match_name` matches names of pairs. Each column has two flags: hidden in general, and hidden for booleans.
    pub(super) fn cell_edits(
        &self,
        text: &str,
        match_name: &dyn Fn(&str) -> NameMatch,
        hidden: &[(bool, bool)],
    ) -> Vec<(usize, TextEdit)> {
        let pairs = PairColumns::detect(self.names.iter().map(String::as_str));
        let (mut edits, mut cells) = (Vec::new(), Vec::new());
        if pairs.is_none() && !hidden.iter().any(|(hidden, _)| *hidden) {
            return edits;
        }
        let mut reader = JsonReader::resume(text, self.rows_start);
        if reader.enter_array().is_err() {
            return edits;
        }
        let mut is_header = self.has_header_row;
        while reader.next_item() == Ok(true) {
            if std::mem::take(&mut is_header) || reader.peek() != Ok(JsonKind::Array) {
                if reader.skip().is_err() {
                    break;
                }
                continue;
            }
            let is_complete = read_cells(&mut reader, &mut cells).is_ok();
            let pair = pairs.as_ref().and_then(|pairs| HiddenPair::detect(text, match_name, pairs, &cells));
            for (index, (kind, cell)) in cells.iter().enumerate() {
                let flags = hidden.get(index).copied().unwrap_or_default();
                let flags =
                    pair.as_ref().map_or(flags, |pair| pair.add_flags(text, index, (*kind, *cell), flags));
                let put = match kind {
                    JsonKind::String if flags.0 && cell.len() > 2 => Some(REDACTED_STRING),
                    JsonKind::String | JsonKind::Null => None,
                    JsonKind::Bool | JsonKind::Object => flags.1.then_some("null"),
                    _ => flags.0.then_some("null"),
                };
                let (start, end) = (cell.start as usize, cell.end as usize);
                edits.extend(put.map(|put| (index, TextEdit { start, end, replacement: put.into() })));
            }
            if !is_complete {
                break;
            }
        }
        edits
    }
}

/// A row with a hidden name.
struct HiddenPair<'p> {
    columns: &'p PairColumns,
    name: String,
    verdict: NameMatch,
}

impl<'p> HiddenPair<'p> {
    fn detect(
        text: &str,
        match_name: &dyn Fn(&str) -> NameMatch,
        columns: &'p PairColumns,
        cells: &[(JsonKind, Span)],
    ) -> Option<Self> {
        let (kind, cell) = cells.get(columns.name)?;
        let name = (*kind == JsonKind::String).then(|| unescape(cell.slice(text)))?;
        let verdict = match_name(&name);
        verdict.is_hidden().then_some(Self { columns, name, verdict })
    }

    /// Adds the flags of a cell that is a value of this name.
    fn add_flags(
        &self,
        text: &str,
        index: usize,
        (kind, cell): (JsonKind, Span),
        (hidden, always): (bool, bool),
    ) -> (bool, bool) {
        let Some(role) = self.columns.value_role(index) else { return (hidden, always) };
        let name = (self.columns.name_role, self.name.as_str());
        let may_be_secret =
            || kind != JsonKind::String || may_be_pair_secret(name, (role, &unescape(cell.slice(text))));
        (hidden || self.verdict.is_named || may_be_secret(), always || self.verdict.is_named)
    }
}

/// Reads the cells of the row at the reader, as far as they are valid.
fn read_cells(reader: &mut JsonReader<'_>, cells: &mut Vec<(JsonKind, Span)>) -> Result<(), ScanError> {
    cells.clear();
    reader.enter_array()?;
    while reader.next_item()? {
        cells.push((reader.peek()?, reader.skip()?));
    }
    Ok(())
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
