//! A table that reads well in 80 columns: words to the left, figures to the right, no rules.
use std::io::{self, Write};

use anstyle::Style;

/// A cell: its text, the style that it is printed in, and the side that it keeps to.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    style: Style,
    alignment: Alignment,
}

#[derive(Clone, Copy, Debug)]
enum Alignment {
    Left,
    Right,
}

/// Blanks before the first column.
const MARGIN: usize = 2;
/// Blanks between two columns.
const GAP: usize = 3;

/// Rows of cells.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Cell {
    /// A cell that keeps to the left.
    pub(super) fn left(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, alignment: Alignment::Left }
    }

    /// A cell that keeps to the right.
    pub(super) fn right(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, alignment: Alignment::Right }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl Table {
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints the rows, each column as wide as its widest cell.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or_default()).collect();
        for row in &self.rows {
            let mut blank = MARGIN;
            for (cell, width) in row.iter().zip(&widths) {
                // Blanks stay outside the style, and are held back until something follows them.
                let Cell { text, style, alignment: side } = cell;
                let padding = width - cell.width();
                let (before, after) = match side {
                    Alignment::Left => (0, padding),
                    Alignment::Right => (padding, 0),
                };
                blank += before;
                if !text.is_empty() {
                    write!(out, "{:blank$}{style}{text}{style:#}", "")?;
                    blank = 0;
                }
                blank += after + GAP;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// A whole number with its thousands apart: `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    portion_telemetry::show::grouped(number as u64)
}

/// A time as one would say it: `0.42 ms`, `27 ms`, `1.3 s`.
pub(super) fn duration_text(milliseconds: f64) -> String {
    match milliseconds {
        short if short < 10.0 => format!("{short:.1} ms"),
        middling if middling < 1_000.0 => format!("{middling:.0} ms"),
        long => format!("{:.1} s", long / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_left_and_figures_right() {
        let mut table = Table::default();
        let (words, figure) = (|text| Cell::left(text, Style::new()), |text| Cell::right(text, Style::new()));
        table.row([words("name"), figure("n"), words("")]);
        table.row([words("a"), figure("1,000"), words("end")]);
        let mut out = Vec::new();
        table.write(&mut out).expect("memory can be written");
        assert_eq!(String::from_utf8_lossy(&out), "  name       n\n  a      1,000   end\n");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        for (number, expect) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expect);
        }
        for (time, expect) in [(0.42, "0.4 ms"), (27.4, "27 ms"), (1_300.0, "1.3 s")] {
            assert_eq!(duration_text(time), expect);
        }
    }
}
