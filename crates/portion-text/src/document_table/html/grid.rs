//! Repeats cells in the columns and rows that they span.

use std::collections::BTreeMap;

use super::super::MAX_CELLS;
use super::cells::HtmlRow;
use crate::html::plain_text;

/// Largest number of bytes of the repeated cells of a table.
const MAX_REPEATED_BYTES: usize = 32 << 20;

/// The cells of earlier rows that span further ones.
pub(super) struct Grid {
    /// The last row that a cell spans, by column, and its text.
    spanning: BTreeMap<usize, (usize, String)>,
    /// Group of the last row.
    group: usize,
    /// Number of the next row.
    row: usize,
    /// Bytes of repeated cells that are left.
    budget: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Self { spanning: BTreeMap::new(), group: 0, row: 0, budget: MAX_REPEATED_BYTES }
    }
}

impl Grid {
    /// Returns the texts of the next row, one for each column; `None` if too many cells are repeated. `is_heading`: the only cell
    /// is not repeated.
    pub(super) fn expand(&mut self, text: &str, row: &HtmlRow, is_heading: bool) -> Option<Vec<String>> {
        if self.group != row.group {
            self.spanning.clear();
            self.group = row.group;
        }
        let number = self.row;
        self.row += 1;
        let is_heading = is_heading && self.spanning.values().all(|(last, _)| *last < number);
        let mut cells = Vec::new();
        for cell in &row.cells {
            let plain = plain_text(text.get(cell.content.clone()).unwrap_or_default());
            self.take_spanning(number, &mut cells)?;
            for repeat in 0..if is_heading { 1 } else { cell.column_count } {
                if cells.len() >= MAX_CELLS {
                    break;
                }
                if repeat > 0 {
                    self.spend(plain.len())?;
                }
                if cell.row_count > 1 {
                    self.spanning.insert(cells.len(), (number + cell.row_count - 1, plain.clone()));
                }
                cells.push(plain.clone());
            }
        }
        self.take_spanning(number, &mut cells)?;
        Some(cells)
    }

    /// Appends the cells of earlier rows that span this row at its next columns. Returns `None` if too many cells are repeated.
    fn take_spanning(&mut self, row: usize, cells: &mut Vec<String>) -> Option<()> {
        while let Some((last, plain)) = self.spanning.get(&cells.len()) {
            if *last < row {
                self.spanning.remove(&cells.len());
                break;
            }
            let plain = plain.clone();
            self.spend(plain.len())?;
            cells.push(plain);
        }
        Some(())
    }

    /// Takes the bytes of a repeated cell from the budget; `None` if it is spent.
    fn spend(&mut self, len: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(len + size_of::<String>())?;
        Some(())
    }
}
