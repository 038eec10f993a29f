//! Tables for terminals.
//!
//! ```
//! use portion_telemetry::show::{TextCell, TextTable};
//!
//! let mut table = TextTable::new(0, 2);
//! table.row([TextCell::left("name"), TextCell::right("n")]);
//! table.row([TextCell::left("a"), TextCell::right("12")]);
//! assert_eq!(table.to_string(), "name   n\na     12\n");
//! ```

use std::fmt;

use portion_text::display::display_width;

/// A cell: its text, its style, and its alignment.
#[derive(Clone, Debug)]
pub struct TextCell {
    text: String,
    is_right: bool,
    /// Control sequences before and after the text. They have no width.
    style: (String, String),
}

/// Rows of cells. Each column is as wide as its widest cell.
#[derive(Clone, Debug, Default)]
pub struct TextTable {
    rows: Vec<Vec<TextCell>>,
    margin: usize,
    gap: usize,
}

impl TextCell {
    /// Creates a left-aligned cell.
    pub fn left(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_right: false, style: Default::default() }
    }

    /// Creates a right-aligned cell.
    pub fn right(text: impl Into<String>) -> Self {
        Self { is_right: true, ..Self::left(text) }
    }

    /// Sets the control sequences before and after the text.
    #[must_use]
    pub fn styled(self, before: impl fmt::Display, after: impl fmt::Display) -> Self {
        Self { style: (before.to_string(), after.to_string()), ..self }
    }

    fn width(&self) -> usize {
        display_width(&self.text)
    }
}

impl TextTable {
    /// Creates a table with spaces before the first column (`margin`) and between columns (`gap`).
    pub fn new(margin: usize, gap: usize) -> Self {
        Self { rows: Vec::new(), margin, gap }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TextCell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(TextCell::width).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or_default()).collect();
        for row in &self.rows {
            let mut spaces = self.margin;
            for (cell, width) in row.iter().zip(&widths) {
                // Spaces are outside of the style, and are written only if text follows.
                let padding = width - cell.width();
                let (before, after) = if cell.is_right { (padding, 0) } else { (0, padding) };
                spaces += before;
                if !cell.text.is_empty() {
                    write!(f, "{:spaces$}{}{}{}", "", cell.style.0, cell.text, cell.style.1)?;
                    spaces = 0;
                }
                spaces += after + self.gap;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_have_no_width() {
        let mut table = TextTable::new(2, 3);
        table.row([TextCell::left("name"), TextCell::right("n").styled("<", ">"), TextCell::left("")]);
        table.row([TextCell::left("a"), TextCell::right("1,000"), TextCell::left("end")]);
        assert_eq!(table.to_string(), "  name       <n>\n  a      1,000   end\n");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = TextTable::new(0, 2);
        table.row([TextCell::left("name"), TextCell::right("n")]);
        table.row([TextCell::left("客房🏨"), TextCell::right("12")]);
        assert_eq!(table.to_string(), "name     n\n客房🏨  12\n");
    }
}
