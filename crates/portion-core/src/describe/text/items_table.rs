//! Finds the table of records in a text: rows of separated values, tables of a document, or the files of a diff.

use std::sync::Arc;

use portion_json::scan::{escape_into, unescape};
use portion_json::span::Span;
use portion_text::chunk::TextKind;
use portion_text::column_form::{CellNumber, ColumnForm, FormLearner, is_missing};
use portion_text::delimited::{DelimitedFormat, detect};
use portion_text::diff::{FileChange, file_changes};
use portion_text::document_table::{DocumentTable, document_tables, largest_table};

use crate::missing_codes::MissingCodes;
use crate::snapshot::{
    IndexedText, ItemsTable, LineIndex, ListFacts, NamedRows, Slice, Structure, TableSource, TextTables,
};

/// Labels of a row of sums.
const TOTAL_LABELS: [&str; 4] = ["grand total", "sum", "total", "totals"];
/// Largest table whose columns are described, in bytes. Of larger ones, columns and rows are counted.
const MAX_DESCRIBED_BYTES: usize = 8 << 20;

impl LineIndex {
    /// Returns the tables of records of the text, found once.
    pub(crate) fn tables(&self, text: &str) -> &TextTables {
        self.tables.get_or_init(|| Arc::new(find(text, self)))
    }
}

fn find(text: &str, index: &LineIndex) -> TextTables {
    let changes = file_changes(text);
    if !changes.is_empty() {
        return TextTables { items: Some(diff_table(&changes)), further_count: 0 };
    }
    if index.chunker.kind() == TextKind::Log {
        return TextTables::default();
    }
    if let Some(format) = detect(text, index.chunker) {
        return TextTables { items: Some(delimited_table(text, format)), further_count: 0 };
    }
    let tables = document_tables(text);
    let items = largest_table(&tables).and_then(|at| document_table(text, &tables[at]));
    TextTables { further_count: tables.len().saturating_sub(1), items }
}

fn diff_table(changes: &[FileChange]) -> ItemsTable {
    let columns = ["path", "added", "removed", "start_line", "end_line", "text"].map(str::to_owned);
    let commit = changes.iter().any(|change| change.commit.is_some()).then(|| "commit".to_owned());
    ItemsTable {
        source: TableSource::Diff,
        row_count: changes.len(),
        columns: columns.into_iter().chain(commit).collect(),
        facts: ListFacts::default(),
        byte_count: changes.iter().map(|change| change.span.len()).sum(),
    }
}

fn delimited_table(text: &str, format: DelimitedFormat) -> ItemsTable {
    let (columns, rows) = format.columns_and_rows(text);
    let (row_count, facts) = if text.len() > MAX_DESCRIBED_BYTES {
        let count = count_rows(&text[format.start..]).saturating_sub(usize::from(format.has_header));
        (count, ListFacts::default())
    } else {
        let (mut row_count, mut cells) = (0, CellGrid::new(columns.len()));
        let mut rows = rows.peekable();
        while let Some(row) = rows.next() {
            row_count += 1;
            // Sums are no values.
            if rows.peek().is_some() || !is_total_row(row.cells()) {
                cells.push_row(row.cells());
            }
        }
        (row_count, cells.facts(&columns))
    };
    ItemsTable { source: TableSource::Delimited, row_count, facts, columns, byte_count: text.len() }
}

/// Returns true for a last row of sums.
fn is_total_row<'a>(mut cells: impl Iterator<Item = &'a str>) -> bool {
    let label = cells.find(|cell| !cell.trim().is_empty()).map(|label| label.trim().to_lowercase());
    label.is_some_and(|label| TOTAL_LABELS.contains(&label.as_str()))
}

/// Returns the table of JSON rows.
pub(in crate::describe) fn header_row_table(
    text: &str,
    spans: impl Iterator<Item = Span>,
    rows: NamedRows,
) -> ItemsTable {
    let mut row_count = 0;
    let mut cells = CellGrid::new(rows.names.len());
    let mut values = vec![Span::default(); rows.names.len()];
    for span in spans.skip(rows.skipped) {
        row_count += 1;
        rows.read_cells(text, span, &mut values);
        let row: Vec<String> = values
            .iter()
            .map(|cell| match cell.slice(text) {
                quoted if quoted.starts_with('"') => unescape(quoted),
                "null" => String::new(),
                plain => plain.to_owned(),
            })
            .collect();
        cells.push_row(row.iter().map(String::as_str));
    }
    ItemsTable {
        source: TableSource::Delimited,
        row_count,
        facts: cells.facts(&rows.names),
        columns: rows.names,
        byte_count: text.len(),
    }
}

/// Counts the rows that are not blank. Line feeds in quotes do not end a row.
fn count_rows(text: &str) -> usize {
    let (mut quoted, mut start, mut count) = (false, 0, 0);
    let is_row = |start: usize, end: usize| text.get(start..end).is_some_and(|row| !row.trim().is_empty());
    for at in memchr::memchr2_iter(b'"', b'\n', text.as_bytes()) {
        if text.as_bytes()[at] == b'"' {
            quoted = !quoted;
        } else if !quoted {
            count += usize::from(is_row(start, at));
            start = at + 1;
        }
    }
    count + usize::from(is_row(start, text.len()))
}

fn document_table(text: &str, table: &DocumentTable) -> Option<ItemsTable> {
    let mut rows = table.rows(text, &|_| false)?;
    let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
    let columns = DocumentTable::column_names(&header, &rows);
    let mut cells = CellGrid::new(columns.len());
    rows.iter().for_each(|row| cells.push_row(row.iter().map(String::as_str)));
    Some(ItemsTable {
        source: TableSource::Document,
        row_count: rows.len(),
        facts: cells.facts(&columns),
        columns,
        byte_count: table.span.len(),
    })
}

/// The cells of a table, one after the other.
struct CellGrid {
    text: String,
    ends: Vec<usize>,
    columns: Vec<FormLearner>,
}

impl CellGrid {
    fn new(width: usize) -> Self {
        Self { text: String::new(), ends: Vec::new(), columns: vec![FormLearner::default(); width] }
    }

    /// Adds a row. Missing cells are empty, and cells beyond the columns are left out.
    fn push_row<'a>(&mut self, cells: impl Iterator<Item = &'a str>) {
        let cells = cells.chain(std::iter::repeat(""));
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.insert(cell);
            self.text.push_str(cell);
            self.ends.push(self.text.len());
        }
    }

    /// Returns facts about the columns. Each cell has the type that it has in a query; an empty one is `null`.
    fn facts(&self, names: &[String]) -> ListFacts {
        let forms = FormLearner::forms(self.columns.iter());
        let mut json = String::with_capacity(self.text.len() * 5 / 4);
        json.push_str("{\"columns\":");
        json.push_str(&serde_json::Value::from(names).to_string());
        json.push_str(",\"rows\":[");
        let mut start = 0;
        for (at, end) in self.ends.iter().enumerate() {
            let column = at % names.len();
            json.push_str(match (at, column) {
                (0, _) => "[",
                (_, 0) => "],[",
                _ => ",",
            });
            let cell = &self.text[start..*end];
            start = *end;
            if cell.is_empty() || forms[column] != ColumnForm::Text && is_missing(cell) {
                json.push_str("null");
                continue;
            }
            match (forms[column], forms[column].number(cell)) {
                (ColumnForm::Number, Some(_)) => json.push_str(cell),
                (ColumnForm::Boolean, Some(number)) => {
                    json.push_str(if number == CellNumber::Integer(1) { "true" } else { "false" });
                }
                (_, Some(CellNumber::Integer(n))) => json.push_str(&n.to_string()),
                (_, Some(CellNumber::Real(n))) => json.push_str(&serde_json::Value::from(n).to_string()),
                (_, None) => {
                    json.push('"');
                    escape_into(cell, &mut json);
                    json.push('"');
                }
            }
        }
        json.push_str("]]}");
        let subject = IndexedText::from_payload(Slice::new(json));
        match &subject.structure {
            Structure::List(list) => ListFacts::from_list(&subject.text, list, &MissingCodes::default()),
            Structure::Object(_) | Structure::Text(_) => ListFacts::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::count_rows;

    #[test]
    fn rows_are_counted() {
        for (text, rows) in [("", 0), ("a,b\n1,\"x\ny\"\n\n2,z", 3), ("a\r\n\r\nb\r\n", 2)] {
            assert_eq!(count_rows(text), rows, "{text:?}");
        }
    }
}
