//! Delimiter-separated values (RFC 4180) as the table `items`, one column per field.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_json::scan::quote;
use portion_json::span::Span;

use crate::cell::Cell;
use crate::column::{ColumnDef, UniqueNames};
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows, should_stop_at};
use crate::value_kinds::ValueKinds;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Source of the rows below the header of a delimited text.
pub(crate) struct CsvSource {
    pub(crate) text: Slice,
    pub(crate) delimiter: u8,
}

/// Rows and bytes that are sampled for detection, and the minimum number of rows.
const SAMPLE_ROWS: usize = 20;
const SAMPLE_BYTES: usize = 64 << 10;
const MIN_ROWS: usize = 2;
/// Maximum cells of a row.
const MAX_CELLS: usize = 1_900;

/// Detects the delimiter of a text whose first line has distinct column names, as many as the following
/// rows have cells.
pub(crate) fn detect_delimiter(text: &str) -> Option<u8> {
    // Samples whole lines only: an unclosed quote must not cause a scan of the whole text.
    let most = (0..=SAMPLE_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at))?;
    let sample = text.get(..most)?;
    let sample = if most < text.len() { &sample[..sample.rfind('\n')?] } else { sample };
    [b',', b'\t', b';', b'|'].into_iter().find(|delimiter| {
        let mut rows = CsvScanner::new(sample, *delimiter);
        let Some(header) = rows.next_record() else { return false };
        let mut names: Vec<&str> = header.cells().collect();
        let width = names.len();
        names.sort_unstable();
        names.dedup();
        let plain = |name: &&str| !name.trim().is_empty() && name.len() <= 64 && name.parse::<f64>().is_err();
        if width < 2 || names.len() != width || !names.iter().all(plain) {
            return false;
        }
        let mut matching_rows = 0;
        while matching_rows < SAMPLE_ROWS {
            let Some(row) = rows.next_record() else { break };
            if row.len() != width {
                return false;
            }
            matching_rows += 1;
        }
        matching_rows >= MIN_ROWS
    })
}

/// The unquoted cells of one row.
#[derive(Debug, Default)]
struct CsvRecord {
    text: Vec<u8>,
    ends: Vec<usize>,
    span: Span,
}

impl CsvRecord {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn cell(&self, at: usize) -> Option<&str> {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        // Cells are split at ASCII bytes, so each is valid UTF-8.
        std::str::from_utf8(self.text.get(start..*self.ends.get(at)?)?).ok()
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.cell(at).unwrap_or_default())
    }
}

/// Reads one row after another.
struct CsvScanner<'a> {
    text: &'a str,
    offset: usize,
    reader: Reader,
}

impl<'a> CsvScanner<'a> {
    fn new(text: &'a str, delimiter: u8) -> Self {
        Self { text, offset: 0, reader: ReaderBuilder::new().delimiter(delimiter).build() }
    }
}

impl CsvScanner<'_> {
    fn next_record(&mut self) -> Option<CsvRecord> {
        let mut record = CsvRecord { text: vec![0; 256], ends: vec![0; 32], span: Span::default() };
        let (start, mut written, mut ended) = (self.offset, 0, 0);
        loop {
            let input = self.text.as_bytes().get(self.offset..)?;
            let (result, read, wrote, ends) = self.reader.read_record(
                input,
                record.text.get_mut(written..)?,
                record.ends.get_mut(ended..)?,
            );
            (self.offset, written, ended) = (self.offset + read, written + wrote, ended + ends);
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::OutputFull => record.text.resize(record.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if ended > MAX_CELLS => return None,
                ReadRecordResult::OutputEndsFull => record.ends.resize(record.ends.len() * 2, 0),
                // An empty input signals the end to the reader.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::End => return None,
            }
        }
        record.text.truncate(written);
        record.ends.truncate(ended);
        record.span = Span::new(start, self.offset);
        Some(record)
    }
}

struct CsvRows {
    text: Slice,
    delimiter: u8,
    rows: Vec<Span>,
    columns: Vec<ColumnDef>,
}

impl RowSource for CsvSource {
    fn open(&self, clock: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut scan = CsvScanner::new(&self.text, self.delimiter);
        let mut names = UniqueNames::default();
        let header = scan.next_record().unwrap_or_default();
        let mut columns: Vec<ColumnDef> = header
            .cells()
            .map(|name| ColumnDef::new(names.unique(name.trim()), ValueKinds::default(), 0))
            .collect();
        let mut rows = Vec::new();
        while let Some(record) = scan.next_record() {
            for (column, cell) in columns.iter_mut().zip(record.cells()) {
                column.present_count += usize::from(!cell.is_empty());
                column.kinds.insert(cell_kinds(cell));
            }
            rows.push(record.span);
            if should_stop_at(rows.len(), clock) {
                return None;
            }
        }
        let mut record =
            ColumnDef::new(names.unique_builtin("item"), ValueKinds::OBJECT, rows.len()).into_hidden();
        record.is_record = true;
        columns.push(record);
        columns.push(
            ColumnDef::new(names.unique_builtin("_index"), ValueKinds::INTEGER, rows.len()).into_hidden(),
        );
        Some(Arc::new(CsvRows { text: self.text.clone(), delimiter: self.delimiter, rows, columns }))
    }
}

/// Returns the kind of a cell: a number only if it is written in canonical form, so that `007` stays
/// text.
pub(super) fn cell_kinds(cell: &str) -> ValueKinds {
    match parse_number(cell) {
        _ if cell.is_empty() => ValueKinds::NULL,
        Some(Cell::Integer(_)) => ValueKinds::INTEGER,
        Some(_) => ValueKinds::REAL,
        None => ValueKinds::TEXT,
    }
}

pub(super) fn parse_number(cell: &str) -> Option<Cell<'static>> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let json = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.'))
        && !digits.ends_with('.')
        && (digits == "0" || digits.starts_with("0.") || !digits.starts_with('0'));
    if !json || digits.len() > 17 {
        return None;
    }
    match cell.parse() {
        Ok(integer) => Some(Cell::Integer(integer)),
        Err(_) => cell.parse().ok().map(Cell::Real),
    }
}

impl TableRows for CsvRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
        row.spans.clear();
        let Some(span) = self.rows.get(at) else { return };
        let record =
            CsvScanner::new(span.slice(&self.text), self.delimiter).next_record().unwrap_or_default();
        let mut start = 0;
        for end in &record.ends {
            row.spans.push(Span::new(start, *end));
            start = *end;
        }
        row.owned_text = record.text;
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match column.checked_sub(self.field_count()) {
            None => self.field_cell(row, column),
            Some(0) => Cell::Text(self.row_as_object(row).into()),
            Some(_) => Cell::from_count(row.index),
        }
    }
}

impl CsvRows {
    /// Returns the number of columns that are fields.
    fn field_count(&self) -> usize {
        self.columns.len().saturating_sub(2)
    }

    fn field_cell<'a>(&self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let Some(span) = row.spans.get(column) else { return Cell::Null };
        let text = row.owned_text.get(span.range()).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let kinds = self.columns.get(column).map_or(ValueKinds::default(), |column| column.kinds);
        match text.unwrap_or_default() {
            "" => Cell::Null,
            cell if kinds.intersects(ValueKinds::TEXT) => Cell::text(cell),
            cell => parse_number(cell).unwrap_or(Cell::text(cell)),
        }
    }

    /// Returns a row as a JSON object.
    fn row_as_object(&self, row: &RowBuffer) -> String {
        let mut object = String::from("{");
        for (at, column) in self.columns.iter().take(self.field_count()).enumerate() {
            if at > 0 {
                object.push(',');
            }
            object.push_str(&quote(&column.name));
            object.push(':');
            let cell = row
                .spans
                .get(at)
                .and_then(|span| std::str::from_utf8(row.owned_text.get(span.range())?).ok());
            match self.field_cell(row, at) {
                Cell::Null => object.push_str("null"),
                Cell::Text(text) => object.push_str(&quote(&text)),
                // Numbers keep their original text.
                Cell::Integer(_) | Cell::Real(_) => object.push_str(cell.unwrap_or("null")),
            }
        }
        object.push('}');
        object
    }
}
