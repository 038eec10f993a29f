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
    pub(crate) format: CsvFormat,
}

/// Rows and bytes that are sampled for detection, and the minimum number of rows.
const SAMPLE_ROWS: usize = 20;
const SAMPLE_BYTES: usize = 64 << 10;
const MIN_ROWS: usize = 2;
/// Maximum columns. Further cells of a row are in `item` only.
const MAX_COLUMNS: usize = 1_900;

/// The format of delimited text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CsvFormat {
    delimiter: u8,
    /// True if the first row has the names of the columns.
    has_header: bool,
}

/// Detects delimited text: nine in ten rows have as many cells as the first one. Two columns need a row of
/// distinct names.
pub(crate) fn detect_csv(text: &str) -> Option<CsvFormat> {
    // Samples whole lines only: an unclosed quote must not cause a scan of the whole text.
    let most = (0..=SAMPLE_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at))?;
    let sample = text.get(..most)?;
    let sample = if most < text.len() { &sample[..sample.rfind('\n')?] } else { sample };
    [b',', b'\t', b';', b'|'].into_iter().find_map(|delimiter| {
        let mut rows = CsvScanner::new(sample, delimiter);
        let header = rows.next_record()?;
        let names: Vec<&str> = header.cells().collect();
        let width = names.len();
        let is_number = |name: &&str| name.trim().parse::<f64>().is_ok();
        let has_header = !names.iter().any(is_number) && names.iter().any(|name| !name.trim().is_empty());
        let mut distinct: Vec<&str> = names.iter().map(|name| name.trim()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let is_named = has_header
            && distinct.len() == width
            && distinct.iter().all(|name| !name.is_empty() && name.len() <= 64);
        // Running text contains commas too.
        let spaced = names.iter().skip(1).filter(|name| name.starts_with(' ')).count();
        let is_running = delimiter == b',' && spaced * 2 > width;
        if width < 2 || !is_named && (width < 3 || is_running || names.iter().any(|name| name.len() > 64)) {
            return None;
        }
        let (mut row_count, mut alike) = (0, 0);
        while row_count < SAMPLE_ROWS {
            let Some(row) = rows.next_record() else { break };
            let has_empty_end = row.len() == width + 1 && row.cell(width) == Some("");
            row_count += 1;
            alike += usize::from(row.len() == width || has_empty_end);
        }
        (alike >= MIN_ROWS && alike * 10 >= row_count * 9).then_some(CsvFormat { delimiter, has_header })
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
    keeps_text: Vec<bool>,
    /// Number of cells of the longest row.
    max_width: usize,
}

impl RowSource for CsvSource {
    fn open(&self, clock: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut scan = CsvScanner::new(&self.text, self.format.delimiter);
        let first = scan.next_record().unwrap_or_default();
        let mut names = UniqueNames::default();
        let header = first.cells().take(MAX_COLUMNS).enumerate();
        let mut columns: Vec<ColumnDef> = header
            .map(|(at, name)| {
                let name = name.trim().trim_start_matches('\u{feff}');
                let is_named = self.format.has_header && !name.is_empty();
                let name = if is_named { name.to_owned() } else { format!("column_{}", at + 1) };
                ColumnDef::new(names.unique(&name), ValueKinds::default(), 0)
            })
            .collect();
        // A delimiter at the end of every row begins no column.
        if self.format.has_header
            && first.len() == columns.len()
            && first.cells().last().is_some_and(str::is_empty)
        {
            columns.pop();
        }
        let mut kinds = vec![CellKinds::default(); columns.len()];
        let (mut rows, mut max_width) = (Vec::new(), first.len());
        let mut next = if self.format.has_header { scan.next_record() } else { Some(first) };
        while let Some(record) = next {
            for ((column, kinds), cell) in columns.iter_mut().zip(&mut kinds).zip(record.cells()) {
                column.present_count += usize::from(!cell.is_empty());
                kinds.insert(cell);
            }
            let has_empty_end = record.len() == columns.len() + 1 && record.cell(columns.len()) == Some("");
            max_width = max_width.max(record.len() - usize::from(has_empty_end));
            rows.push(record.span);
            if should_stop_at(rows.len(), clock) {
                return None;
            }
            next = scan.next_record();
        }
        for (column, kinds) in columns.iter_mut().zip(&kinds) {
            column.kinds = kinds.value_kinds();
        }
        let mut record =
            ColumnDef::new(names.unique_builtin("item"), ValueKinds::OBJECT, rows.len()).into_hidden();
        record.is_record = true;
        columns.push(record);
        columns.push(
            ColumnDef::new(names.unique_builtin("_index"), ValueKinds::INTEGER, rows.len()).into_hidden(),
        );
        let keeps_text = kinds.iter().map(CellKinds::keeps_text).collect();
        let (text, delimiter) = (self.text.clone(), self.format.delimiter);
        Some(Arc::new(CsvRows { text, delimiter, rows, columns, keeps_text, max_width }))
    }
}

/// The kinds of the cells of a column.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellKinds {
    kinds: ValueKinds,
    number_count: usize,
    word_count: usize,
    /// True if a cell begins with a digit but is no canonical number: `007`, `1.2.3`, `1,400`.
    has_codes: bool,
}

impl CellKinds {
    pub(super) fn insert(&mut self, cell: &str) {
        let kind = cell_kinds(cell);
        self.kinds.insert(kind);
        self.number_count += usize::from(kind.intersects(ValueKinds::NUMERIC));
        if kind.intersects(ValueKinds::TEXT) {
            self.word_count += 1;
            self.has_codes |= cell.contains(|c: char| c.is_ascii_digit());
        }
    }

    /// Returns true if all cells stay texts: codes and versions are no numbers, nor are a few numbers among words.
    pub(super) fn keeps_text(&self) -> bool {
        self.has_codes || self.word_count > self.number_count
    }

    pub(super) fn value_kinds(&self) -> ValueKinds {
        if !self.keeps_text() {
            return self.kinds;
        }
        let null =
            if self.kinds.intersects(ValueKinds::NULL) { ValueKinds::NULL } else { ValueKinds::default() };
        ValueKinds::TEXT.union(null)
    }
}

/// Returns the kind of a cell: a number only if it is written in canonical form, so that `007` stays
/// text.
fn cell_kinds(cell: &str) -> ValueKinds {
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

    fn unlisted_field_count(&self) -> usize {
        self.max_width.saturating_sub(self.field_count())
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
        let keeps_text = self.keeps_text.get(column).copied().unwrap_or(true);
        match Self::cell_text(row, column).unwrap_or_default() {
            "" => Cell::Null,
            cell if keeps_text => Cell::text(cell),
            cell => parse_number(cell).unwrap_or(Cell::text(cell)),
        }
    }

    fn cell_text(row: &RowBuffer, column: usize) -> Option<&str> {
        std::str::from_utf8(row.owned_text.get(row.spans.get(column)?.range())?).ok()
    }

    /// Returns a row as a JSON object. Cells beyond the columns are named by their number.
    fn row_as_object(&self, row: &RowBuffer) -> String {
        let mut object = String::from("{");
        for (at, column) in self.columns.iter().take(self.field_count()).enumerate() {
            if at > 0 {
                object.push(',');
            }
            object.push_str(&quote(&column.name));
            object.push(':');
            match self.field_cell(row, at) {
                Cell::Null => object.push_str("null"),
                Cell::Text(text) => object.push_str(&quote(&text)),
                // Numbers keep their original text.
                Cell::Integer(_) | Cell::Real(_) => {
                    object.push_str(Self::cell_text(row, at).unwrap_or("null"));
                }
            }
        }
        for at in self.field_count()..row.spans.len() {
            let text = Self::cell_text(row, at).unwrap_or_default();
            if at + 1 < row.spans.len() || !text.is_empty() {
                object.push(',');
                object.push_str(&quote(&format!("column_{}", at + 1)));
                object.push(':');
                object.push_str(&quote(text));
            }
        }
        object.push('}');
        object
    }
}
