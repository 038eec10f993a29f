//! Rows of separated values (CSV, TSV): a row is whole, line feeds in quotes included.

use super::{Chunker, Mark, Rank, Sample, Window, sentence, stamp};

mod row;

use row::{Rows, Shape};

/// Rows without which a text is no table.
const FEWEST: usize = 3;
/// Bytes looked back over to tell which quotes are open: there more rows are whole than if the others were.
const BACK: usize = 16 * 1024;

/// Chunks of whole rows.
#[derive(Debug)]
pub(super) struct Table;

impl Chunker for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    /// A first row that is no entry of a log and no row of markdown, and as many fields in nearly all of the rows.
    fn claims(&self, sample: &Sample) -> bool {
        let text = sample.text();
        let Some(shape) = Shape::of(text) else { return false };
        let first = text.lines().next().unwrap_or_default();
        let head = text.floor_char_boundary(48 * 1024);
        let rows: Vec<_> = Rows::new(text, 0..head, shape.separator, false).collect();
        // The last one may be cut off.
        let rows =
            if head < text.len() { rows.split_last().map_or(&[][..], |(_, rows)| rows) } else { &rows };
        let filled = rows.iter().filter(|row| row.fields > 1).count();
        let alike = rows.iter().filter(|row| row.fields == shape.fields).count();
        let is_other = first.starts_with('|') || stamp::stamp(first).is_some();
        !is_other && filled >= FEWEST && alike * 100 >= rows.len() * 95
    }

    fn marks(&self, window: &Window) -> Vec<Mark> {
        let mut marks = Vec::new();
        let Some(shape) = Shape::of(window.text) else { return marks };
        let back = window.text.ceil_char_boundary(window.from.saturating_sub(BACK)).min(window.from);
        let rows = |quoted| Rows::new(window.text, back..window.to, shape.separator, quoted);
        let alike = |quoted| rows(quoted).skip(1).filter(|row| row.fields == shape.fields).count();
        for row in rows(back > 0 && alike(true) > alike(false)) {
            marks.push(Mark { at: row.start, rank: Rank::Unit });
            marks.extend(row.separators.iter().map(|at| Mark { at: at + 1, rank: Rank::Word }));
        }
        sentence::mark_long_lines(window.lines(), window.text, &mut marks);
        marks
    }
}
