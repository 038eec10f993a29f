//! Comma-separated values (RFC 4180) as `items`, a column each.

use std::sync::Arc;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use portion_core::snapshot::Slice;
use portion_core::span::Span;

use crate::cell::Cell;
use crate::column::{Column, Kinds, Names};
use crate::limits::Clock;
use crate::table::{Row, Rows, Source, every};

/// The rows under the header of a text that is comma-separated, by that delimiter.
pub(crate) struct CsvOf {
    pub(crate) text: Slice,
    pub(crate) delimiter: u8,
}

/// Rows that are looked at to tell.
const SAMPLE: usize = 20;
/// Cells of a row at most.
const WIDEST: usize = 1_900;

/// The delimiter of a text whose first line names as many columns, each once, as the rows after it have cells.
pub(crate) fn looks_like(text: &str) -> Option<u8> {
    [b',', b'\t', b';', b'|'].into_iter().find(|delimiter| {
        let mut rows = Scan::new(text, *delimiter);
        let Some(header) = rows.next() else { return false };
        let mut names: Vec<&str> = header.cells().collect();
        let width = names.len();
        names.sort_unstable();
        names.dedup();
        let plain = |name: &&str| !name.trim().is_empty() && name.len() <= 64 && name.parse::<f64>().is_err();
        if width < 2 || names.len() != width || !names.iter().all(plain) {
            return false;
        }
        let mut some = false;
        for _ in 0..SAMPLE {
            let Some(row) = rows.next() else { break };
            if row.len() != width {
                return false;
            }
            some = true;
        }
        some
    })
}

/// The cells of one row, out of their quotes.
#[derive(Debug, Default)]
struct Record {
    text: Vec<u8>,
    ends: Vec<usize>,
    span: Span,
}

impl Record {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn cell(&self, at: usize) -> Option<&str> {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        // Cells are cut out at ASCII bytes, so each is text as the whole is.
        std::str::from_utf8(self.text.get(start..*self.ends.get(at)?)?).ok()
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.cell(at).unwrap_or_default())
    }
}

/// One row after another.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    reader: Reader,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, delimiter: u8) -> Self {
        Self { text, at: 0, reader: ReaderBuilder::new().delimiter(delimiter).build() }
    }
}

impl Scan<'_> {
    fn next(&mut self) -> Option<Record> {
        let mut record = Record { text: vec![0; 256], ends: vec![0; 32], span: Span::default() };
        let (start, mut written, mut ended) = (self.at, 0, 0);
        loop {
            let input = self.text.as_bytes().get(self.at..)?;
            let (result, read, wrote, ends) = self.reader.read_record(
                input,
                record.text.get_mut(written..)?,
                record.ends.get_mut(ended..)?,
            );
            (self.at, written, ended) = (self.at + read, written + wrote, ended + ends);
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::OutputFull => record.text.resize(record.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if ended > WIDEST => return None,
                ReadRecordResult::OutputEndsFull => record.ends.resize(record.ends.len() * 2, 0),
                // The reader is told of the end by an empty input.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::End => return None,
            }
        }
        record.text.truncate(written);
        record.ends.truncate(ended);
        record.span = Span::new(start, self.at);
        Some(record)
    }
}

struct Csv {
    text: Slice,
    delimiter: u8,
    rows: Vec<Span>,
    columns: Vec<Column>,
}

impl Source for CsvOf {
    fn open(&self, clock: &Clock) -> Option<Arc<dyn Rows>> {
        let mut scan = Scan::new(&self.text, self.delimiter);
        let mut names = Names::default();
        let header = scan.next().unwrap_or_default();
        let mut columns: Vec<Column> =
            header.cells().map(|name| Column::new(names.unique(name.trim()), Kinds::default(), 0)).collect();
        let mut rows = Vec::new();
        while let Some(record) = scan.next() {
            for (column, cell) in columns.iter_mut().zip(record.cells()) {
                column.present += usize::from(!cell.is_empty());
                column.kinds.add(kinds(cell));
            }
            rows.push(record.span);
            if every(rows.len(), clock) {
                return None;
            }
        }
        let mut record = Column::new(names.ours("item"), Kinds::TEXT, rows.len()).hidden();
        record.present = rows.len();
        columns.push(record);
        columns.push(Column::new(names.ours("_index"), Kinds::INTEGER, rows.len()).hidden());
        Some(Arc::new(Csv { text: self.text.clone(), delimiter: self.delimiter, rows, columns }))
    }
}

/// What a cell is: a number only where its text is what the number is written as, so that `007` stays text.
fn kinds(cell: &str) -> Kinds {
    match number(cell) {
        _ if cell.is_empty() => Kinds::NULL,
        Some(Cell::Integer(_)) => Kinds::INTEGER,
        Some(_) => Kinds::REAL,
        None => Kinds::TEXT,
    }
}

fn number(cell: &str) -> Option<Cell<'static>> {
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

impl Rows for Csv {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn read(&self, at: usize, row: &mut Row) {
        row.at = at;
        row.spans.clear();
        let Some(span) = self.rows.get(at) else { return };
        let record = Scan::new(span.of(&self.text), self.delimiter).next().unwrap_or_default();
        let mut start = 0;
        for end in &record.ends {
            row.spans.push(Span::new(start, *end));
            start = *end;
        }
        row.own = record.text;
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        let fields = self.columns.len().saturating_sub(2);
        if column == fields + 1 {
            return Cell::count(row.at);
        }
        if column == fields {
            let line = self.rows.get(row.at).map_or("", |span| span.of(&self.text));
            return Cell::text(line.trim_end_matches(['\r', '\n']).trim_start_matches(['\r', '\n']));
        }
        let Some(span) = row.spans.get(column) else { return Cell::Null };
        let text = row.own.get(span.range()).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let kinds = self.columns.get(column).map_or(Kinds::default(), |column| column.kinds);
        match text.unwrap_or_default() {
            "" => Cell::Null,
            cell if kinds.any(Kinds::TEXT) => Cell::text(cell),
            cell => number(cell).unwrap_or(Cell::text(cell)),
        }
    }
}
