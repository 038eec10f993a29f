//! Finds boundaries in delimiter-separated values (CSV, TSV): a row stays whole, including line feeds in
//! quotes.

use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, sentence, stamp};

mod preamble;
mod row;

pub use preamble::first_row_start;
use row::{RowReader, TableFormat};

/// Minimum rows of a table.
const MIN_ROWS: usize = 3;
/// Bytes to look back to find out if the window begins inside quotes: the assumption with more complete
/// rows wins.
const LOOKBACK_BYTES: usize = 16 * 1024;

/// Cuts between rows.
#[derive(Debug)]
pub(super) struct TableChunker;

impl Chunker for TableChunker {
    fn kind(&self) -> TextKind {
        TextKind::Table
    }

    /// Matches text whose first row is neither a log entry nor a row of Markdown, with the same number of
    /// fields in nearly all rows.
    fn matches(&self, sample: &TextSample) -> bool {
        let text = sample.text();
        let Some(shape) = TableFormat::detect(text) else { return false };
        let start = first_row_start(text);
        let first = text[start..].lines().next().unwrap_or_default();
        let head = text.floor_char_boundary(48 * 1024);
        let rows: Vec<_> = RowReader::new(text, start..head, shape.separator, false).collect();
        // The last row may be cut off.
        let rows =
            if head < text.len() { rows.split_last().map_or(&[][..], |(_, rows)| rows) } else { &rows };
        let filled = rows.iter().filter(|row| row.field_count > 1).count();
        let alike = rows.iter().filter(|row| row.field_count == shape.field_count).count();
        let is_other = first.starts_with('|') || stamp::find_stamp(first).is_some();
        !is_other && filled >= MIN_ROWS && alike * 100 >= rows.len() * 95
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries = Vec::new();
        let Some(shape) = TableFormat::detect(window.text) else { return boundaries };
        let back =
            window.text.ceil_char_boundary(window.from.saturating_sub(LOOKBACK_BYTES)).min(window.from);
        let rows = |quoted| RowReader::new(window.text, back..window.to, shape.separator, quoted);
        let alike = |quoted| rows(quoted).skip(1).filter(|row| row.field_count == shape.field_count).count();
        for row in rows(back > 0 && alike(true) > alike(false)) {
            boundaries.push(Boundary { offset: row.start, level: BoundaryLevel::Unit });
            boundaries.extend(
                row.separators.iter().map(|at| Boundary { offset: at + 1, level: BoundaryLevel::Word }),
            );
        }
        sentence::mark_long_lines(window.lines(), window.text, &mut boundaries);
        boundaries
    }
}
